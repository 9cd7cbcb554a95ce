/*
 * What recording costs the workload's processes from outside, where no agent can
 * count it.  See drain_state.h.
 *
 * - The kernel's samples interrupt a thread: what one takes is measured at the start.
 * - Page faults that are counted take longer, and so does changing threads that are watched.
 * - To read a thread's memory is to take its cache lines from its CPU.
 * - The recorder needs a CPU itself.  While another one is idle this costs the workload nothing.
 *   The time that a thread has waited for a CPU (schedstat) is due to us as far as
 *   CPUs that were busy with others than this thread were busy with us.
 * - In a virtual machine our CPU and the workload's may be one core, which is slower while we work.
 *
 * The agents deduct it from their budget, and the sampler looks less often.
 */

#include "capture/drain/drain_state.h"
#include "capture/system/cpu_usage.h"
#include "format/stamp.h"

#define WINDOW_NS 200000000 /* /proc/stat counts in hundredths of a second */
#define FIRST_WINDOW_NS 50000000
#define NEARLY_NONE 0.1 /* of a CPU that was idle */
#define CROWDED_WAIT_MS 40
#define ONLY_CPU_WAIT_MS 100 /* the kernel's memory for native samples holds as much */
#define SCARCELY_USED                                                               \
	32 /* part of the memory: there is room for all events until the next cycle \
	    */
#define FIRST_JOINS_NS 1000000000 /* so long after the beginning a first process is waited for */
#define SETTLES_NS 100000000      /* and one that has joined, until it says where its Python is */

/*
 * A sample of a running thread: the locks on its memory that the kernel takes for us, and each
 * cache line that its CPU has to fetch again.  Measured in turns, in one process:
 * bench/workloads/asyncio_echo.py, some 80 lines, 4 to 10 us of CPU time; GPT-2 on an H200's
 * machine (bench/model_turns.py recorder), 660 lines, 17 to 40 us, with 155 of them 1 to 19.
 */
#define SAMPLE_COST_NS 2000u
#define LINE_NS 50u

#define FAULT_NS 120u /* a program that does nothing but fault, events on and off in turns: 8 % */

/*
 * If no CPU is idle, the workload loses more than the CPU time of the recorder: the switches to it
 * and back, and cache contents.  bench/workloads/asyncio_echo.py on one CPU, 10 and 90 samples per
 * second in turns: 1.8 % of wall time for 0.9 % of CPU time.
 */
#define CROWDED_TIMES 2

/*
 * Of our CPU time, what the workload loses of its own where the machine has two CPUs and is a
 * virtual one: bench/model_turns.py neighbour, 0.09 to 0.2 on average, by the hour.  With more of
 * them it is as likely that we are beside another one.
 */
#define SHARED_LOSS 0.17

/* The CPUs that the workload or we may run on; load on other CPUs does not matter. */
static void find_cpus(const struct drain *d, cpu_set_t *out)
{
	cpu_set_t theirs;

	if (sched_getaffinity(0, sizeof(*out), out))
		CPU_ZERO(out);
	for (uint32_t i = 0; i < d->process_limit; i++) {
		const struct drain_process *p = &d->processes[i];

		if (p->known && !p->gone &&
		    !sched_getaffinity((pid_t)p->entry.pid, sizeof(theirs), &theirs))
			CPU_OR(out, out, &theirs);
	}
}

/* Threads that run side by side lose it side by side: the process loses what one of them does. */
static double at_once(uint64_t times, double hz, double passed_ns)
{
	double most = hz * passed_ns / 1e9;

	return (double)times < most ? (double)times : most;
}

bool drain_is_crowded(const struct drain *d)
{
	int cpus = CPU_COUNT(&d->costs.cpus);

	return cpus == 1 || (d->costs.windows && d->costs.busy > cpus - NEARLY_NONE);
}

/* With so many of its threads running at a time: one of them at most is on our core. */
static double beside_us(const struct drain *d, double at_a_time, double passed_ns)
{
	int others = CPU_COUNT(&d->costs.cpus) - 1;
	double lost_ns = d->costs.own * passed_ns * SHARED_LOSS / (others > 1 ? others : 1);

	if (!d->costs.virtual)
		return 0;
	return at_a_time > 1 ? lost_ns / at_a_time : lost_ns * at_a_time;
}

static double samples_cost_ns(const struct drain *d, const struct drain_process *p,
			      double passed_ns)
{
	double samples = at_once(p->samples, d->owner->header->sample_hz, passed_ns);

	return samples ? samples *
				 (SAMPLE_COST_NS + LINE_NS * (double)p->lines / (double)p->samples)
		       : 0;
}

/* What it lost in the window that is over: CPU time of its own, and while it waited. */
static void settle(struct drain *d, struct drain_process *p, double passed_ns)
{
	double ns = samples_cost_ns(d, p, passed_ns);
	double at_a_time = (double)p->runnable_ns / passed_ns;
	double waited = p->blamed_ns / (at_a_time > 1 ? at_a_time : 1);
	double ours = d->costs.own * passed_ns;

	if (drain_is_crowded(d)) {
		waited *= CROWDED_TIMES;
		ours *= CROWDED_TIMES;
	} else {
		ns += beside_us(d, at_a_time, passed_ns);
	}
	ns += (double)(FAULT_NS * p->faults);
	if (p->turns)
		ns += (double)native_turn_ns(d->native) * (double)p->turns;
	if (p->interrupts)
		ns += native_interrupt_ns(d->native) *
		      at_once(p->interrupts, native_hz(d->native), passed_ns);
	/* With others on the CPUs it loses more than what it does not have of its own. */
	if (p->ran_ns)
		ns *= 1 + (double)p->queued_ns / (double)p->ran_ns;
	p->outside_ns += (uint64_t)(ns + (waited < ours ? waited : ours));
	p->samples = p->lines = p->interrupts = p->faults = p->turns = p->runnable_ns = 0;
	p->blamed_ns = 0;
}

/* What the process that suffers most has lost in the window that is over, for the sampler. */
static void publish_to_sampler(struct drain *d, double passed_ns)
{
	struct drain_costs *c = &d->costs;
	uint64_t most_ns = 0;

	for (uint32_t i = 0; i < d->process_limit; i++) {
		struct drain_process *p = &d->processes[i];

		if (!p->known)
			continue;
		settle(d, p, passed_ns);
		if (p->outside_ns - p->outside_before_ns > most_ns)
			most_ns = p->outside_ns - p->outside_before_ns;
		p->outside_before_ns = p->outside_ns;
	}
	atomic_store_explicit(&d->owner->header->outside_share,
			      shm_outside_share(++c->windows, (double)most_ns / passed_ns),
			      memory_order_relaxed);
}

static void begin_window(struct drain *d, int64_t now_ns)
{
	struct drain_costs *c = &d->costs;

	find_cpus(d, &c->cpus);
	c->idle_known = cpus_idle(&c->cpus, &c->idle_ns);
	c->own_ns = stamp_process_cpu();
	c->since_ns = now_ns;
}

/* A process that has just begun, or is about to, is to be sampled soon. */
static bool is_settled(const struct drain *d)
{
	int64_t now_ns = ticks_now_ns(d->ticks);

	if (!d->totals.processes)
		return now_ns > FIRST_JOINS_NS;
	for (uint32_t i = 0; i < d->process_limit; i++) {
		const struct drain_process *p = &d->processes[i];

		if (p->known && !p->gone && !p->sampled && now_ns - p->entry.start_ns < SETTLES_NS)
			return false;
	}
	return true;
}

int drain_wait_ms(const struct drain *d)
{
	uint64_t room =
		(uint64_t)shm_owner_size(d->owner) * SHM_BLOCK_BYTES / sizeof(struct record);
	bool calm = d->newly_stored < room / SCARCELY_USED &&
		    d->newly_joined < d->owner->thread_count / SCARCELY_USED && is_settled(d);

	if (!calm || !drain_is_crowded(d))
		return DRAIN_WAIT_MS;
	/* Elsewhere others may be switched away from, and no more than the workload. */
	return CPU_COUNT(&d->costs.cpus) == 1 ? ONLY_CPU_WAIT_MS : CROWDED_WAIT_MS;
}

void drain_costs_cycle(struct drain *d, int64_t now_ns)
{
	struct drain_costs *c = &d->costs;
	double passed_ns = (double)(now_ns - c->since_ns);
	cpu_set_t before = c->cpus;
	uint64_t idle_before = c->idle_ns, own_before = c->own_ns;
	bool known = c->idle_known;

	if (own_before && passed_ns < (c->windows ? WINDOW_NS : FIRST_WINDOW_NS))
		return;
	begin_window(d, now_ns);
	c->busy = CPU_COUNT(&c->cpus);
	if (!own_before) {
		c->virtual = cpus_virtual();
		return;
	}
	c->own = (double)(c->own_ns - own_before) / passed_ns;
	if (known && c->idle_known && CPU_EQUAL(&before, &c->cpus) && c->idle_ns > idle_before)
		c->busy -= (double)(c->idle_ns - idle_before) / passed_ns;
	publish_to_sampler(d, passed_ns);
}

void drain_costs_waited(struct drain *d, struct drain_process *p, int64_t passed_ns,
			uint64_t ran_ns, uint64_t queued_ns)
{
	const struct drain_costs *c = &d->costs;
	double ours = c->own * (double)passed_ns;
	double others = c->busy * (double)passed_ns - (double)ran_ns;
	double ns = (double)queued_ns * (others > ours ? ours / others : 1);

	if (passed_ns <= 0 || ours <= 0)
		return;
	p->blamed_ns += ns;
	p->runnable_ns += ran_ns + queued_ns;
}

static struct drain_process *find(struct drain *d, uint32_t id)
{
	for (uint32_t i = 0; i < d->process_limit; i++) {
		if (d->processes[i].known && d->processes[i].entry.id == id)
			return &d->processes[i];
	}
	return NULL;
}

void drain_costs_samples(struct drain *d, const struct sampler_sample *l)
{
	bool runs = sample_state(&l->sample) == SAMPLE_RUNNING;
	struct drain_process *p = runs ? find(d, l->process) : NULL;

	if (!p)
		return;
	p->samples += l->sample.count;
	p->lines += l->lines;
}

void drain_costs_interrupts(struct drain *d, uint32_t process, uint64_t count)
{
	struct drain_process *p = find(d, process);

	if (p)
		p->interrupts += count;
}

void drain_costs_faults(struct drain *d, uint32_t process, uint32_t count)
{
	struct drain_process *p = find(d, process);

	if (p)
		p->faults += count;
}

void drain_costs_turns(struct drain *d, uint32_t process, uint64_t count)
{
	struct drain_process *p = find(d, process);

	if (p)
		p->turns += count;
}

uint64_t drain_costs_end(struct drain *d, struct drain_process *p)
{
	int64_t passed_ns = ticks_now_ns(d->ticks) - d->costs.since_ns;

	settle(d, p, passed_ns > 0 ? (double)passed_ns : 1);
	return p->outside_ns;
}
