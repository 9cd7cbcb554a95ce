/* Processes and threads: which joined, which ended, what they reported.  See drain.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/secrets.h"
#include "capture/drain/drain_state.h"

/* Texts for enum shm_refusal; %u.%u is the Python version. */
static const char *const refusals[] = {
	[SHM_REFUSED_API] = "CPython %u.%u (process %u) lacks a function that the agent needs: "
			    "its calls are not recorded",
	[SHM_REFUSED_NO_TOOL_ID] = "CPython %u.%u (process %u): other tools use all the free "
				   "sys.monitoring ids: its calls are not recorded",
	[SHM_REFUSED_LAYOUT] = "CPython %u.%u (process %u) has an unknown memory layout: its calls "
			       "are not recorded",
	[SHM_REFUSED_LEFT_OUT] = "CPython %u.%u (process %u) did not load the agent: its calls are "
				 "not recorded; -I, -E, -S and a PYTHONPATH of its own (as for "
				 "torch.compile's workers) prevent loading",
};

#define NO_LINES                                                                             \
	"the frames of CPython %u.%u (process %u) have a layout unknown to this version of " \
	"InferScope: GPU work has no Python lines"

#define SCAN_AHEAD 64u
#define OVERHEAD_MAX_NS (1ull << 62) /* longer than any time in a trace */
#define NOTE_BYTES_MAX 65536         /* a shim has a line to say; more is not read */

static void close_pidfd(struct drain_process *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
}

void drain_free(struct drain *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; d->processes && i < d->owner->process_count; i++) {
		if (d->processes[i].known)
			close_pidfd(&d->processes[i]);
	}
	free(d->processes);
	free(d->threads);
	free(d->cursors);
	free(d->list);
	free(d->copies);
	frameworks_release(&d->frameworks);
	drain_samples_release(d);
	drain_series_release(d);
	free(d);
}

/* A stamp that was there before this call; see ticks_sync(). */
static int64_t stamp_ns(struct drain *d, uint64_t stamp)
{
	ticks_sync(d->ticks);
	return ticks_ns(d->ticks, stamp);
}

/* A word that its writer may change at any moment is read once, whatever the compiler thinks. */
static uint32_t read_once(const uint32_t *word)
{
	return *(const volatile uint32_t *)word;
}

/* Copies a text that its writer may still be changing. */
static void copy_text(char *to, const char *from, size_t bytes)
{
	memcpy(to, from, bytes);
	to[bytes] = '\0';
}

/* A text that fills its room was cut.  Half a credential has not its form: the last word goes. */
static void drop_cut_word(char *text, size_t room)
{
	size_t n = strlen(text);

	if (n + 1 < room)
		return;
	while (n && text[n - 1] != ' ' && text[n - 1] != '\n')
		n--;
	if (n)
		text[n - 1] = '\0';
}

/* The command line that the agent gave (shm.h), as the trace has it: see base/secrets.h. */
static void copy_command_line(const struct drain *d, char *to, size_t bytes, const char *shared)
{
	char words[sizeof(((struct shm_process *)0)->name) + 1], *word, *next = words;
	struct secrets secrets = { 0 };
	struct buf line;

	copy_text(words, shared, sizeof(words) - 1);
	if (!d->keep_secrets)
		drop_cut_word(words, sizeof(words) - 1);
	buf_init(&line);
	while ((word = strsep(&next, "\n"))) {
		buf_add_str(&line, word == words ? "" : " ");
		if (d->keep_secrets)
			buf_add_str(&line, word);
		else
			secrets_add_word(&secrets, &line, word);
	}
	snprintf(to, bytes, "%s", buf_string(&line));
	buf_release(&line);
}

/* A process that called exec() is here twice: what it was before is over. */
static void supersede(struct drain *d, uint32_t pid)
{
	for (uint32_t i = 0; i < d->process_limit; i++) {
		struct drain_process *p = &d->processes[i];

		if (p->known && !p->dead && p->entry.pid == pid)
			p->dead = true;
	}
}

static int process_joined(struct drain *d, uint32_t slot, struct err *err)
{
	const struct shm_process *shared = &d->owner->processes[slot];
	struct drain_process *p = &d->processes[slot];
	uint32_t pid = read_once(&shared->pid);

	supersede(d, pid);
	memset(p, 0, sizeof(*p));
	p->known = true;
	p->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	p->dead = p->pidfd < 0 && errno == ESRCH;
	copy_command_line(d, p->name, sizeof(p->name), shared->name);
	p->entry.id = d->next_process++;
	p->entry.pid = pid;
	p->entry.parent_pid = shared->parent_pid;
	p->entry.python_version =
		atomic_load_explicit(&shared->python_version, memory_order_relaxed);
	p->entry.start_ns = stamp_ns(d, shared->start_stamp);
	p->entry.end_ns = TRACE_UNKNOWN_NS;
	p->entry.name = p->name;
	d->totals.processes++;
	drain_series_begin(d, slot);
	return trace_write_process(d->writer, &p->entry, err);
}

static bool process_lives(const struct drain_process *p)
{
	struct pollfd ended = { p->pidfd, POLLIN, 0 };

	if (p->dead)
		return false;
	if (p->pidfd >= 0)
		return poll(&ended, 1, 0) == 0;
	return kill((pid_t)p->entry.pid, 0) == 0 || errno != ESRCH;
}

static int write_refusal(struct drain *d, const char *text, struct err *err)
{
	if (!*d->refusal)
		snprintf(d->refusal, sizeof(d->refusal), "%s", text);
	return trace_write_note(d->writer, text, err);
}

/* Lines that start-up shims left: "PID text". */
static int read_notes(struct drain *d, struct err *err)
{
	char text[4096];
	ssize_t n;

	while (d->notes_read < NOTE_BYTES_MAX &&
	       (n = pread(d->owner->note_fd, text, sizeof(text) - 1, d->notes_read)) > 0) {
		char *end, *line = text;

		text[n] = '\0';
		while ((end = strchr(line, '\n'))) {
			unsigned long pid = strtoul(line, &line, 10);
			char note[1024];

			*end = '\0';
			snprintf(note, sizeof(note), "process %lu:%s", pid, line);
			if (d->reported < DRAIN_REPORTED_MAX)
				d->reported_pids[d->reported++] = (uint32_t)pid;
			/* A process may have many interpreters that say the same. */
			if (strcmp(note, d->last_note) != 0 && write_refusal(d, note, err))
				return -1;
			snprintf(d->last_note, sizeof(d->last_note), "%s", note);
			line = end + 1;
		}
		if (line == text) /* no whole line yet, or one that is too long */
			return 0;
		d->notes_read += line - text;
	}
	return 0;
}

static bool was_reported(const struct drain *d, uint32_t pid)
{
	for (unsigned i = 0; i < d->reported; i++) {
		if (d->reported_pids[i] == pid)
			return true;
	}
	return false;
}

static int note_refusal(struct drain *d, struct drain_process *p, uint32_t refusal, struct err *err)
{
	uint32_t version = p->entry.python_version;
	char text[256];

	p->noted_refusal = true;
	if (refusal == SHM_REFUSED_LEFT_OUT) {
		/* A shim that kept the agent out said why before CUDA could load it. */
		if (read_notes(d, err))
			return -1;
		/* A pool of workers would say the same again and again. */
		if (was_reported(d, p->entry.pid) || d->kept_out++)
			return 0;
	}
	snprintf(text, sizeof(text), refusals[refusal], version >> 24, version >> 16 & 0xff,
		 p->entry.pid);
	return write_refusal(d, text, err);
}

/* Once each: why no calls come from a process, or come no more. */
static int process_notes(struct drain *d, uint32_t slot, struct err *err)
{
	struct shm_process *shared = &d->owner->processes[slot];
	struct drain_process *p = &d->processes[slot];
	uint32_t refusal = atomic_load_explicit(&shared->refusal, memory_order_relaxed);
	uint32_t version = atomic_load_explicit(&shared->python_version, memory_order_relaxed);
	unsigned major = version >> 24, minor = version >> 16 & 0xff;
	uint32_t why;
	char text[256];

	p->entry.python_version = version; /* written again when the process ends */
	if (!p->noted_refusal && refusal < sizeof(refusals) / sizeof(refusals[0]) &&
	    refusals[refusal] && note_refusal(d, p, refusal, err))
		return -1;
	if (!p->noted_no_lines && atomic_load_explicit(&shared->no_lines, memory_order_relaxed)) {
		p->noted_no_lines = true;
		snprintf(text, sizeof(text), NO_LINES, major, minor, p->entry.pid);
		if (trace_write_note(d->writer, text, err))
			return -1;
	}
	why = atomic_load_explicit(&shared->layers_given_up, memory_order_relaxed);
	if (!p->noted_layers && why) {
		p->noted_layers = true;
		snprintf(text, sizeof(text),
			 why == SHM_LAYERS_COMPILED
				 ? "process %u uses torch.compile, which does not work with layer "
				   "hooks: before Python 3.12 its layers are %s"
				 : "process %u uses PyTorch, whose hooks cost "
				   "more than max_overhead allows: "
				   "before Python 3.12 its layers are %s; "
				   "--max-overhead 100 records all",
			 p->entry.pid,
			 minor < 11 ? "not recorded then" : "recorded only while its calls are");
		if (trace_write_note(d->writer, text, err))
			return -1;
	}
	if (!p->noted_displaced && atomic_load_explicit(&shared->displaced, memory_order_relaxed)) {
		p->noted_displaced = true;
		snprintf(text, sizeof(text),
			 "process %u: another tool uses the profile function of a thread: "
			 "its calls are not recorded during that time",
			 p->entry.pid);
		if (trace_write_note(d->writer, text, err))
			return -1;
	}
	return 0;
}

static int thread_joined(struct drain *d, uint32_t slot, struct err *err)
{
	const struct shm_thread *shared = &d->owner->threads[slot];
	struct drain_thread *t = &d->threads[slot];
	uint32_t process = read_once(&shared->process);

	if (process >= d->owner->process_count || !d->processes[process].known)
		return 0; /* not yet, or never */
	memset(t, 0, sizeof(*t));
	t->known = true;
	t->slot = process;
	t->entry.process = d->processes[process].entry.id;
	t->entry.tid = read_once(&shared->tid);
	t->entry.id = drain_samples_adopt(d, t->entry.process, t->entry.tid);
	t->cpu_begin_ns = shared->cpu_begin_ns;
	t->entry.start_ns = stamp_ns(d, shared->start_stamp);
	t->entry.end_ns = TRACE_UNKNOWN_NS;
	t->entry.name = t->name;
	if (t->entry.tid == d->processes[process].entry.pid)
		snprintf(t->name, sizeof(t->name), "MainThread");
	d->totals.threads++;
	/* With --ring, only those of which something is left at the end get into the trace. */
	return d->keep_newest ? 0 : trace_write_thread(d->writer, &t->entry, err);
}

/* Agents claim the lowest unused entry, so only the entries up to here are checked. */
static uint32_t raise_limit(uint32_t limit, uint32_t used, uint32_t count)
{
	uint32_t ahead = used + SCAN_AHEAD;

	if (ahead > count)
		ahead = count;
	return ahead > limit ? ahead : limit;
}

static int update_processes(struct drain *d, struct err *err)
{
	d->process_limit = raise_limit(d->process_limit, 0, d->owner->process_count);
	for (uint32_t i = 0; i < d->process_limit; i++) {
		/* Acquire: pairs with register_process(). */
		uint32_t state =
			atomic_load_explicit(&d->owner->processes[i].state, memory_order_acquire);

		if (state != SHM_LIVE && state != SHM_ENDED)
			continue;
		d->process_limit = raise_limit(d->process_limit, i, d->owner->process_count);
		if (!d->processes[i].known && process_joined(d, i, err))
			return -1;
		if (process_notes(d, i, err) || drain_samples_begin(d, i, err))
			return -1;
		d->processes[i].gone = !process_lives(&d->processes[i]);
	}
	return 0;
}

static int update_threads(struct drain *d, struct err *err)
{
	d->thread_limit = raise_limit(d->thread_limit, 0, d->owner->thread_count);
	for (uint32_t i = 0; i < d->thread_limit; i++) {
		struct shm_thread *shared = &d->owner->threads[i];
		struct drain_thread *t = &d->threads[i];
		/* Acquire: pairs with session_ring_slow() and at_thread_end(). */
		uint32_t state = atomic_load_explicit(&shared->state, memory_order_acquire);

		if (state != SHM_LIVE && state != SHM_ENDED)
			continue;
		d->thread_limit = raise_limit(d->thread_limit, i, d->owner->thread_count);
		if (!t->known && thread_joined(d, i, err))
			return -1;
		/* Acquire: pairs with session_name_thread(). */
		if (t->known && !t->named &&
		    atomic_load_explicit(&shared->name_set, memory_order_acquire)) {
			copy_text(t->name, shared->name, sizeof(shared->name));
			t->named = true;
		}
		t->ended = t->known && (state == SHM_ENDED || d->processes[t->slot].gone);
	}
	return 0;
}

int drain_tables_finish(struct drain *d, struct err *err)
{
	char text[128];

	if (d->kept_out < 2)
		return 0;
	snprintf(text, sizeof(text), "%u more Python process%s did not load the agent either",
		 d->kept_out - 1, d->kept_out == 2 ? "" : "es");
	return trace_write_note(d->writer, text, err);
}

int drain_tables_update(struct drain *d, struct err *err)
{
	return update_processes(d, err) || update_threads(d, err) || read_notes(d, err) ? -1 : 0;
}

/* A thread without a writer: its blocks, whatever state it left them in, go back to the pool. */
static void free_blocks_of(struct drain *d, uint32_t thread)
{
	for (uint32_t i = 0; i < d->owner->block_count; i++) {
		uint64_t state =
			atomic_load_explicit(&d->owner->block_state[i], memory_order_relaxed);

		if (shm_block_phase(state) != SHM_BLOCK_FREE && shm_block_thread(state) == thread)
			drain_free_block(d, i, state);
	}
}

void drain_free_thread(struct drain *d, uint32_t slot)
{
	d->threads[slot].known = false;
	free_blocks_of(d, slot);
	/* Pairs with the acquire in claim(). */
	atomic_store_explicit(&d->owner->threads[slot].state, SHM_UNUSED, memory_order_release);
}

uint64_t drain_produced(const struct drain *d, uint32_t slot)
{
	uint64_t decision_count =
		atomic_load_explicit(&d->owner->threads[slot].produced, memory_order_relaxed);
	uint64_t seen = d->threads[slot].next_index;

	/* What a hostile writer says is believed only as far as it can be true. */
	return decision_count > seen && decision_count - seen <= GAP_MAX ? decision_count : seen;
}

static int retire_thread(struct drain *d, uint32_t slot, bool over, struct err *err)
{
	struct shm_thread *shared = &d->owner->threads[slot];
	struct drain_thread *t = &d->threads[slot];
	uint64_t end = atomic_load_explicit(&shared->end_stamp, memory_order_relaxed);

	t->entry.produced = drain_produced(d, slot);
	t->entry.lost = t->entry.produced - t->stored;
	if (end)
		t->entry.end_ns = stamp_ns(d, end);
	drain_times_finish(d, slot);
	d->totals.lost += t->entry.lost;
	if (trace_write_thread(d->writer, &t->entry, err) ||
	    trace_writer_forget(d->writer, t->entry.id, err))
		return -1;
	t->known = false;
	drain_samples_remember(d, &t->entry);
	if (!over)
		drain_free_thread(d, slot);
	return 0;
}

/* --ring: one entry accounts for all threads of which nothing is left. */
static int write_faded(struct drain *d, const struct drain_process *p, struct err *err)
{
	char name[64];
	struct trace_thread all = {
		.process = p->entry.id,
		.start_ns = p->entry.start_ns,
		.end_ns = p->entry.end_ns,
		.produced = p->faded_events,
		.lost = p->faded_events,
		.name = name,
	};

	if (!p->faded_threads)
		return 0;
	all.id = d->next_thread++;
	snprintf(name, sizeof(name), "(%llu thread%s that ended before)",
		 (unsigned long long)p->faded_threads, p->faded_threads == 1 ? "" : "s");
	return trace_write_thread(d->writer, &all, err) ||
			       trace_writer_forget(d->writer, all.id, err)
		       ? -1
		       : 0;
}

/* Losses that no ring could count. */
static int process_losses(struct drain *d, uint32_t slot, struct err *err)
{
	struct shm_process *shared = &d->owner->processes[slot];
	unsigned long long names = atomic_load_explicit(&shared->defs_lost, memory_order_relaxed);
	unsigned long long homeless =
		atomic_load_explicit(&shared->no_thread, memory_order_relaxed);
	char text[256];

	if (names) {
		snprintf(text, sizeof(text),
			 "process %u: %llu names did not fit into the trace buffer; raise "
			 "--trace-size-mb",
			 d->processes[slot].entry.pid, names);
		if (trace_write_note(d->writer, text, err))
			return -1;
	}
	if (homeless) {
		snprintf(text, sizeof(text),
			 "process %u: %llu events of threads beyond the first %u were not recorded",
			 d->processes[slot].entry.pid, homeless, d->owner->thread_count);
		return trace_write_note(d->writer, text, err);
	}
	return 0;
}

/* What its agent says, and what we know besides; a time that no process can have is none. */
static void read_account(struct drain *d, struct drain_process *p, const struct shm_process *shared)
{
	uint64_t overhead = atomic_load_explicit(&shared->overhead_ns, memory_order_relaxed);
	uint64_t gpu = atomic_load_explicit(&shared->gpu_overhead_ns, memory_order_relaxed);
	uint64_t graphs = atomic_load_explicit(&shared->graph_overhead_ns, memory_order_relaxed);
	uint64_t functions =
		atomic_load_explicit(&shared->throttled_functions, memory_order_relaxed);

	p->entry.accounted = overhead < OVERHEAD_MAX_NS && gpu < OVERHEAD_MAX_NS &&
			     graphs < OVERHEAD_MAX_NS && functions < UINT32_MAX;
	p->entry.gpu_overhead_ns = (int64_t)gpu;
	p->entry.graph_overhead_ns = (int64_t)graphs;
	p->entry.overhead_ns = (int64_t)(overhead + drain_costs_end(d, p));
	p->entry.event_cost_ps = atomic_load_explicit(&shared->event_cost_ps, memory_order_relaxed);
	p->entry.throttled_functions = functions;
}

int drain_retire_process(struct drain *d, uint32_t slot, bool over, struct err *err)
{
	struct drain_process *p = &d->processes[slot];

	if (process_losses(d, slot, err))
		return -1;
	if (p->gone)
		p->entry.end_ns = ticks_now_ns(d->ticks);
	read_account(d, p, &d->owner->processes[slot]);
	close_pidfd(p);
	drain_samples_end(d, slot);
	drain_native_end(d, slot);
	drain_series_end(d, slot);
	p->known = false;
	if (trace_write_process(d->writer, &p->entry, err) || write_faded(d, p, err))
		return -1;
	if (!over)
		atomic_store_explicit(&d->owner->processes[slot].state, SHM_UNUSED,
				      memory_order_release);
	return 0;
}

/*
 * `ended` and `gone` were read before the cycle drained the events, so nothing
 * can be left in those rings.
 */
int drain_tables_retire(struct drain *d, bool everything, struct err *err)
{
	for (uint32_t i = 0; i < d->thread_limit; i++) {
		struct drain_thread *t = &d->threads[i];

		if (t->known && (everything || t->ended) && retire_thread(d, i, everything, err))
			return -1;
	}
	for (uint32_t i = 0; i < d->process_limit; i++) {
		struct drain_process *p = &d->processes[i];

		if (p->known && (everything || p->gone) &&
		    drain_retire_process(d, i, everything, err))
			return -1;
	}
	return 0;
}

void drain_process_died(struct drain *d, uint32_t pid)
{
	for (uint32_t i = 0; i < d->process_limit; i++) {
		if (d->processes[i].known && d->processes[i].entry.pid == pid)
			d->processes[i].dead = true;
	}
}

const struct trace_process *drain_find_process(const struct drain *d, uint32_t pid)
{
	for (uint32_t i = 0; i < d->process_limit; i++) {
		if (d->processes[i].known && d->processes[i].entry.pid == pid)
			return &d->processes[i].entry;
	}
	return NULL;
}

uint32_t drain_living(const struct drain *d, uint32_t except)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->process_limit; i++) {
		if (d->processes[i].known && d->processes[i].entry.pid != except &&
		    process_lives(&d->processes[i]))
			n++;
	}
	return n;
}
