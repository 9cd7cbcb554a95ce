#include "capture/session/recording.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/native/native_sampler.h"
#include "capture/sampler/remote.h"
#include "capture/session/memory_pressure.h"
#include "capture/system/system_reader.h"

struct recording {
	struct recording_options options; /* the workload can write to the header */
	uint32_t clock;                   /* likewise: enum shm_clock */
	struct shm_owner owner;
	struct ticks ticks;
	struct trace_writer *writer;
	struct drain *drain;
	struct sampler *sampler; /* NULL: nothing is sampled */
	struct native *native;   /* likewise */
	const char *root;
	struct system_reader *system; /* NULL: memory is not recorded */
	pid_t workload;               /* 0: it is not known yet, or not our child */
	struct shrink shrink;
	bool stopped;
	int64_t wall_ns; /* when it was stopped */
	bool failed;
	struct err trouble;
};

/* An event that is being written while the agents are switched off takes this long at most. */
#define SETTLE_NS 2000000

/* A limit that the workload has too leaves less for the buffer: a note reports it. */
static int note_limit(struct recording *r, uint64_t wanted, uint64_t bytes, const char *option,
		      struct err *err)
{
	char text[128];

	if (!option)
		return 0;
	snprintf(text, sizeof(text),
		 "the trace buffer has %.1f instead of %.0f MB because memory or files are limited "
		 "(%s)",
		 (double)bytes / 1048576, (double)wanted / 1048576, option);
	return trace_write_note(r->writer, text, err);
}

static bool wants_samples(const struct recording_options *o)
{
	return o->cpu_mode == SHM_CPU_AUTO || o->cpu_mode == SHM_CPU_SAMPLE;
}

/* Before any process gets the address of the memory. */
static void publish_options(struct shm_header *h, const struct recording_options *options)
{
	h->cpu_mode = options->cpu_mode;
	h->budget_ppm = options->budget_ppm;
	h->sample_hz = options->sample_hz;
	h->refused = wants_samples(options) && permission_is_refused(permission_to_read());
	if (options->ahead)
		atomic_store_explicit(&h->active, SHM_DELAYED, memory_order_relaxed);
}

static int sampler_start(struct recording *r, struct err *err)
{
	const struct recording_options *o = &r->options;

	if (!wants_samples(o))
		return 0;
	if (sampler_new(&r->sampler, o->sample_hz, o->budget_ppm, r->owner.header, r->owner.windows,
			trace_writer_start(r->writer)->monotonic_ns, err))
		return -1;
	drain_sample(r->drain, r->sampler);
	r->native = native_new(o->budget_ppm, o->memory);
	if (!r->native)
		return err_set(err, "out of memory");
	drain_sample_native(r->drain, r->native);
	return 0;
}

static int system_start(struct recording *r, struct err *err)
{
	if (!r->options.memory)
		return 0;
	if (system_reader_new(&r->system, r->root, trace_writer_start(r->writer)->monotonic_ns,
			      err))
		return -1;
	drain_read_system(r->drain, r->system);
	if (r->workload)
		system_reader_follow(r->system, r->workload);
	return 0;
}

int recording_new(struct recording **out, int trace_fd, const struct recording_options *options,
		  struct err *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	uint32_t clock = ticks_choose_clock(options->root ? options->root : "");
	const char *limit;
	uint64_t bytes = pressure_limit(options->buffer_bytes, &limit);

	if (!r)
		return err_set(err, "out of memory");
	r->options = *options;
	r->clock = clock;
	r->owner.fd = r->owner.note_fd = -1;
	if (shm_owner_init(&r->owner, bytes, clock, options->collect, err) ||
	    trace_writer_new(&r->writer, trace_fd, err) ||
	    note_limit(r, options->buffer_bytes, bytes, limit, err))
		goto fail;
	publish_options(r->owner.header, options);
	r->root = options->root ? options->root : "";
	shrink_init(&r->shrink, &r->owner, r->root);
	ticks_init(&r->ticks, clock, trace_writer_start(r->writer)->monotonic_ns);
	if (trace_write_info(r->writer, "inferscope.version", INFERSCOPE_VERSION, err) ||
	    trace_write_info(r->writer, "clock", clock == SHM_CLOCK_COUNTER ? "tsc" : "monotonic",
			     err) ||
	    drain_new(&r->drain, &r->owner, &r->ticks, r->writer, options->keep_newest, err))
		goto fail;
	if (options->keep_secrets)
		drain_keep_secrets(r->drain);
	if (!options->ahead && (sampler_start(r, err) || system_start(r, err)))
		goto fail;
	*out = r;
	return 0;
fail:
	recording_free(r);
	return -1;
}

void recording_free(struct recording *r)
{
	if (!r)
		return;
	sampler_free(r->sampler);
	native_free(r->native);
	system_reader_free(r->system);
	drain_free(r->drain);
	trace_writer_free(r->writer);
	shm_owner_release(&r->owner);
	free(r);
}

const char *recording_where(const struct recording *r)
{
	return r->owner.where;
}

struct trace_writer *recording_writer(struct recording *r)
{
	return r->writer;
}

struct drain *recording_drain(struct recording *r)
{
	return r->drain;
}

static void switch_agents(struct recording *r, enum shm_active active)
{
	/* Pairs with the acquire in join() and wait_for_it() of the agent. */
	uint32_t before =
		atomic_exchange_explicit(&r->owner.header->active, active, memory_order_acq_rel);

	if (before == SHM_DELAYED)
		syscall(SYS_futex, &r->owner.header->active, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void switch_agents_off(struct recording *r)
{
	switch_agents(r, SHM_OVER);
}

static void fail(struct recording *r)
{
	r->failed = true;
	switch_agents_off(r);
}

void recording_follow(struct recording *r, pid_t workload)
{
	r->workload = workload;
	if (r->system)
		system_reader_follow(r->system, workload);
}

void recording_begin(struct recording *r)
{
	if (trace_writer_restart(r->writer, &r->trouble)) {
		fail(r);
		return;
	}
	ticks_init(&r->ticks, r->clock, trace_writer_start(r->writer)->monotonic_ns);
	if (sampler_start(r, &r->trouble) || system_start(r, &r->trouble)) {
		fail(r);
		return;
	}
	switch_agents(r, SHM_ON);
}

void recording_cycle(struct recording *r)
{
	if (!r->failed &&
	    (drain_cycle(r->drain, &r->trouble) ||
	     shrink_cycle(&r->shrink, ticks_now_ns(&r->ticks), r->writer, &r->trouble)))
		fail(r);
}

/* Losses that belong to no process or thread. */
static int write_losses(struct recording *r)
{
	unsigned damaged = drain_totals(r->drain).damaged_blocks;
	unsigned long long unread = r->native ? native_lost(r->native) : 0;
	unsigned homeless =
		atomic_load_explicit(&r->owner.header->no_process, memory_order_relaxed);
	char text[128];

	if (damaged) {
		snprintf(text, sizeof(text),
			 "%u blocks of the trace buffer were overwritten by the workload: "
			 "their events are lost",
			 damaged);
		if (trace_write_note(r->writer, text, &r->trouble))
			return -1;
	}
	if (unread) {
		snprintf(text, sizeof(text),
			 "%llu samples of native code were lost: the kernel's buffer was full",
			 unread);
		if (trace_write_note(r->writer, text, &r->trouble))
			return -1;
	}
	if (homeless) {
		snprintf(text, sizeof(text), "%u processes beyond the first %u were not recorded",
			 homeless, r->owner.process_count);
		return trace_write_note(r->writer, text, &r->trouble);
	}
	return 0;
}

static double rate_hz(const struct sampler_reach *r)
{
	return r->ns > 0 ? (double)r->rounds * 1e9 / (double)r->ns : 0;
}

/* For the analysis, "KEY number". */
struct fact {
	const char *key;
	double value;
	bool if_any; /* 0 need not be written */
};

static int write_facts(struct recording *r, const struct fact *facts, size_t count)
{
	char text[64];

	for (size_t i = 0; i < count; i++) {
		if (facts[i].if_any && facts[i].value <= 0)
			continue;
		snprintf(text, sizeof(text), "%.9g", facts[i].value);
		if (trace_write_info(r->writer, facts[i].key, text, &r->trouble))
			return -1;
	}
	return 0;
}

/* What was asked for and what came of it. */
static int write_sampling(struct recording *r)
{
	const struct sampler_totals t =
		r->sampler ? sampler_totals(r->sampler) : (struct sampler_totals){ 0 };
	const struct sampler_reach all = { 0, t.outside.rounds + t.inside.rounds,
					   t.outside.ns + t.inside.ns };
	const struct fact facts[] = {
		{ "sampler.asked_hz", r->options.sample_hz, false },
		{ "sampler.hz", rate_hz(&all), false },
		{ "sampler.cpu_share", t.active_ns ? (double)t.cpu_ns / (double)t.active_ns : 0,
		  false },
		{ "sampler.looks", (double)t.samples, false },
		{ "sampler.unstable", (double)t.unstable, false },
		{ "sampler.failed", (double)t.failed, false },
		{ "sampler.dropped", (double)t.dropped, false },
		{ "sampler.held_back", t.held_back && t.outside.rounds, false },
	};

	return t.rounds ? write_facts(r, facts, sizeof(facts) / sizeof(facts[0])) : 0;
}

/* What could not be read, and what reading the rest took. */
static int write_system(struct recording *r)
{
	const struct system_reader_totals t =
		r->system ? system_reader_totals(r->system) : (struct system_reader_totals){ 0 };
	const struct fact facts[] = {
		{ "memory.cpu_share", t.active_ns ? (double)t.cpu_ns / (double)t.active_ns : 0,
		  false },
		{ "memory.gpu_start_ms", (double)t.gpu_start_ns * 1e-6, true },
		{ "memory.held_back", t.held_back, false },
		{ "memory.unwatched", t.unwatched, true },
	};
	const char *text;

	if (!r->system)
		return 0;
	for (size_t i = 0; (text = system_reader_missing(r->system, i)); i++) {
		if (trace_write_info(r->writer, "memory.missing", text, &r->trouble))
			return -1;
	}
	return write_facts(r, facts, sizeof(facts) / sizeof(facts[0]));
}

#define HIDDEN                                                                                \
	"the kernel does not show the system calls of threads (/proc/PID/task/TID/syscall): " \
	"waits were detected, but not what the threads waited for"

#define INSIDE                                                                                  \
	"%u process%s sampled from inside, by a thread of the agent, at %.0f Hz%s: the kernel " \
	"does not let the recorder read the memory (%s; %s)"
#define UNREAD                                                                            \
	"%u process%s not sampled: the kernel does not let the recorder read the memory " \
	"(%s; %s), and the agent in the process could not sample either"
#define SILENT_WORTH_TELLING_NS 500000000

static const char *plural(uint32_t processes)
{
	return processes == 1 ? "" : "es";
}

/* Processes whose memory we were not permitted to read. */
static int write_unreadable(struct recording *r)
{
	const struct sampler_totals t = sampler_totals(r->sampler);
	const struct permission_refusal why = permission_refusal("", t.refusal);
	char text[512], late[64] = "";

	if (t.silent_ns > SILENT_WORTH_TELLING_NS)
		snprintf(late, sizeof(late), ", starting %.1f s after it was refused",
			 (double)t.silent_ns * 1e-9);
	if (t.inside.processes) {
		snprintf(text, sizeof(text), INSIDE, t.inside.processes, plural(t.inside.processes),
			 rate_hz(&t.inside), late, why.why, why.fix);
		if (trace_write_note(r->writer, text, &r->trouble))
			return -1;
	}
	if (!t.unread)
		return 0;
	snprintf(text, sizeof(text), UNREAD, t.unread, plural(t.unread), why.why, why.fix);
	return trace_write_note(r->writer, text, &r->trouble);
}

/* What the kernel did not permit.  That it permits no perf events is for doctor to say. */
static int write_refusals(struct recording *r)
{
	int refused = r->native ? native_refused(r->native) : 0;
	char text[64];

	if (refused) {
		snprintf(text, sizeof(text), "refused: %s", strerror(refused));
		if (trace_write_info(r->writer, "native", text, &r->trouble))
			return -1;
	}
	if (!r->sampler)
		return 0;
	if (write_unreadable(r))
		return -1;
	return sampler_totals(r->sampler).hidden ? trace_write_note(r->writer, HIDDEN, &r->trouble)
						 : 0;
}

static int write_end(struct recording *r, int exit_status)
{
	struct trace_end end = { r->wall_ns, exit_status };

	return drain_finish(r->drain, &r->trouble) || write_losses(r) || write_sampling(r) ||
			       write_refusals(r) || write_system(r) ||
			       shrink_finish(&r->shrink, r->writer, &r->trouble) ||
			       trace_write_end(r->writer, &end, &r->trouble)
		       ? -1
		       : 0;
}

void recording_stop(struct recording *r)
{
	struct timespec settle = { 0, SETTLE_NS };

	if (r->stopped)
		return;
	r->stopped = true;
	switch_agents_off(r);
	/* Processes that live on may be in the middle of an event. */
	if (!r->failed && drain_living(r->drain, 0))
		nanosleep(&settle, NULL);
	if (r->sampler)
		sampler_stop(r->sampler);
	if (r->system)
		system_reader_stop(r->system);
	r->wall_ns = ticks_now_ns(&r->ticks);
}

/*
 * The trace could not be written to its end, for want of room most likely: what each thread made is
 * written over its newest events, so that a report can count what is missing.
 */
static void account_for_losses(struct recording *r)
{
	struct err ignored; /* the trouble that led here is the one to report */

	if (!trace_writer_make_room(r->writer) &&
	    !trace_write_info(r->writer, "trace.unwritten", r->trouble.text, &ignored))
		(void)drain_finish(r->drain, &ignored);
}

void recording_end(struct recording *r, int exit_status)
{
	recording_stop(r);
	if (!r->failed && write_end(r, exit_status))
		fail(r);
	if (r->failed)
		account_for_losses(r);
}

const char *recording_trouble(const struct recording *r)
{
	return r->failed ? r->trouble.text : NULL;
}
