/*
 * What recording costs the workload's processes from outside, where no agent can
 * count it.  See drain_state.h.
 *
 * - The kernel's samples interrupt a thread: what one takes is measured at the start.
 * - To read a thread's memory is to take its cache lines from its CPU.
 * - The recorder needs a CPU itself.  While another one is idle that is nobody's loss.
 *   The time that a thread has waited for a CPU (schedstat) is due to us as far as
 *   CPUs that were busy with others than this thread were busy with us.
 *
 * The agents deduct it from their budget, and the sampler looks less often.
 */
#include <time.h>

#include "capture/cpus.h"
#include "capture/drain_state.h"

#define WINDOW_NS 200000000 /* /proc/stat counts in hundredths of a second */

/*
 * A look at a running thread: some 80 cache lines that its CPU has to fetch again, and
 * the locks on its memory that the kernel takes for us.  bench/workloads/asyncio_echo.py, looked
 * at from another CPU and not, in turns, in one process: 4 to 10 us of CPU time.
 */
#define LOOK_NS 8000u

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The CPUs that the workload or we may run on: whoever is alone on the rest disturbs nobody. */
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

static void tell_taken(struct drain *d, double share)
{
	atomic_store_explicit(&d->area->header->taken_ppm,
			      (uint32_t)(1e6 * (share < 1 ? share : 1)), memory_order_relaxed);
}

static void begin_window(struct drain *d, int64_t now_ns)
{
	struct drain_costs *c = &d->costs;

	find_cpus(d, &c->cpus);
	c->idle_known = cpus_idle(&c->cpus, &c->idle_ns);
	c->own_ns = own_cpu_ns();
	c->since_ns = now_ns;
}

void drain_costs_cycle(struct drain *d, int64_t now_ns)
{
	struct drain_costs *c = &d->costs;
	double passed_ns = (double)(now_ns - c->since_ns);
	cpu_set_t before = c->cpus;
	uint64_t idle_before = c->idle_ns, own_before = c->own_ns;
	bool known = c->idle_known;

	if (c->since_ns && passed_ns < WINDOW_NS)
		return;
	begin_window(d, now_ns);
	if (!own_before) { /* the first: until it is known */
		c->busy = CPU_COUNT(&c->cpus);
		tell_taken(d, CPU_COUNT(&c->cpus) == 1);
		return;
	}
	c->own = (double)(c->own_ns - own_before) / passed_ns;
	c->busy = CPU_COUNT(&c->cpus);
	if (known && c->idle_known && CPU_EQUAL(&before, &c->cpus) && c->idle_ns > idle_before)
		c->busy -= (double)(c->idle_ns - idle_before) / passed_ns;
	c->used_ns = c->used_ns / 2 + c->own * passed_ns;
	if (c->used_ns > 0)
		tell_taken(d, c->taken_ns / c->used_ns);
	c->taken_ns /= 2;
}

static void add(struct drain_process *p, double ns)
{
	p->outside_ns += (uint64_t)ns;
}

void drain_costs_waited(struct drain *d, struct drain_process *p, int64_t passed_ns,
			uint64_t ran_ns, uint64_t queued_ns)
{
	struct drain_costs *c = &d->costs;
	double ours = c->own * (double)passed_ns;
	double others = c->busy * (double)passed_ns - (double)ran_ns;
	double ns = (double)queued_ns * (others > ours ? ours / others : 1);

	if (passed_ns <= 0 || ours <= 0)
		return;
	if (ns > ours)
		ns = ours;
	c->taken_ns += ns;
	add(p, ns);
}

static struct drain_process *find(struct drain *d, uint32_t id)
{
	for (uint32_t i = 0; i < d->process_limit; i++) {
		if (d->processes[i].known && d->processes[i].entry.id == id)
			return &d->processes[i];
	}
	return NULL;
}

/* CPU time of its own: with others on the CPUs it loses more than that. */
static void add_cpu(struct drain_process *p, double ns)
{
	if (p && p->ran_ns)
		ns *= 1 + (double)p->queued_ns / (double)p->ran_ns;
	if (p)
		add(p, ns);
}

void drain_costs_looks(struct drain *d, uint32_t process, const struct sample *s)
{
	if (sample_state(s) == SAMPLE_RUNNING)
		add_cpu(find(d, process), (double)s->count * LOOK_NS);
}

void drain_costs_interrupt(struct drain *d, uint32_t process)
{
	add_cpu(find(d, process), native_interrupt_ns(d->native));
}
