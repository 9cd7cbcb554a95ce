/* links: is_agent_core is_capture is_timeline */
/*
 * The agent's reader of CUPTI's records: a CUPTI of our own hands out buffers
 * whose records hold any bytes, each in memory of exactly the size that the
 * agent may assume, and any errors.  What the agent makes of them goes through
 * the drain into a trace, from which the GPU's timeline is built.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/core/session.h"
#include "agent/gpu/cupti.h"
#include "agent/gpu/gpu_recording.h"
#include "capture/drain/drain.h"
#include "timeline/gpu.h"

struct input {
	const uint8_t *p, *end;
};

struct cupti cupti;

static struct input input;
static cupti_buffer_request request;
static cupti_buffer_complete complete;
static void *record; /* the one handed out last */
static char *name;
static bool on;
static uint64_t served;

static void require(int ok)
{
	if (!ok)
		abort();
}

static uint8_t next(void)
{
	return input.p < input.end ? *input.p++ : 0;
}

static void fill(void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = next();
}

/* What the agent's other files would do. */

bool gpu_is_on(void)
{
	return on;
}

void gpu_cost_count(uint64_t activities, uint64_t nodes, uint64_t device_ns)
{
	(void)activities;
	(void)nodes;
	(void)device_ns;
}

void gpu_stop(const char *text)
{
	require(*text);
	on = false;
}

void gpu_stop_for(const char *what, int result)
{
	require(result);
	gpu_stop(what);
}

static int register_callbacks(cupti_buffer_request r, cupti_buffer_complete c)
{
	request = r;
	complete = c;
	return CUPTI_OK;
}

static int register_timestamp(cupti_timestamp t)
{
	return t() ? CUPTI_OK : 1;
}

static int activity_enable(int kind)
{
	return kind ? CUPTI_OK : 1;
}

/* Names end where CUPTI ends them; the memory does, too. */
static const char *next_name(void)
{
	size_t n = next();

	free(name);
	name = NULL;
	if (n == 255)
		return NULL;
	if (n == 254)
		n = 5000; /* longer than is kept */
	name = malloc(n + 1);
	require(name != NULL);
	for (size_t i = 0; i < n; i++)
		name[i] = (char)(n == 5000 ? 'n' : next());
	name[n] = '\0';
	return name;
}

static const struct {
	uint32_t kind;
	size_t bytes, name_at; /* 0: no name */
} records[] = {
	{ CUPTI_KIND_CONCURRENT_KERNEL, sizeof(struct cupti_kernel),
	  offsetof(struct cupti_kernel, name) },
	{ CUPTI_KIND_COPY, sizeof(struct cupti_copy), 0 },
	{ CUPTI_KIND_PEER_COPY, sizeof(struct cupti_peer_copy), 0 },
	{ CUPTI_KIND_MEMSET, sizeof(struct cupti_memset), 0 },
	{ CUPTI_KIND_OVERHEAD, sizeof(struct cupti_overhead), 0 },
	{ CUPTI_KIND_DEVICE, sizeof(struct cupti_device), offsetof(struct cupti_device, name) },
	{ 77, sizeof(struct cupti_activity), 0 },
};

#define KINDS (sizeof(records) / sizeof(records[0]))

static int get_next_record(uint8_t *buffer, size_t valid, struct cupti_activity **a)
{
	uint8_t which;
	size_t i;

	require(buffer && valid);
	if (input.p >= input.end)
		return CUPTI_NO_MORE_RECORDS;
	which = next();
	if (which == 255)
		return 1 + next() % 100;
	i = which % KINDS;
	free(record);
	record = calloc(1, records[i].bytes);
	require(record != NULL);
	/* Mostly one device: a second one ends the recording. */
	if (which & 64)
		fill(record, records[i].bytes);
	else
		fill((char *)record + 4, records[i].bytes < 40 ? records[i].bytes - 4 : 20);
	memcpy(record, &records[i].kind, 4);
	if (records[i].name_at) {
		const char *text = next_name();

		memcpy((char *)record + records[i].name_at, &text, sizeof(text));
	}
	*a = record;
	served += records[i].kind != 77;
	return CUPTI_OK;
}

static int get_dropped(void *context, uint32_t stream, size_t *dropped)
{
	(void)context;
	(void)stream;
	*dropped = next() < 16 ? next() : 0;
	return next() < 8;
}

static void serve_buffers(void)
{
	while (input.p < input.end && on) {
		size_t bytes = 0, max_records = 1;
		uint8_t *buffer = NULL;

		request(&buffer, &bytes, &max_records);
		require(buffer && bytes && !max_records);
		complete(NULL, next(), buffer, bytes, next() % 4 ? bytes : 0);
	}
}

static void check_timeline(int fd)
{
	struct gpu_timeline *g;
	struct trace *t;
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(!trace_open(&t, path, &err) && !trace_damage(t));
	require(!gpu_timeline_new(&g, t, &err));
	require(gpu_activity_count(g) <= served);
	gpu_timeline_free(g);
	trace_close(t);
}

/* One area for all runs: a session that was joined stays mapped (agent/core/session.h). */
static struct shm_owner owner;
static struct ticks ticks;

static void set_up(void)
{
	struct err err;

	ticks_init(&ticks, SHM_CLOCK_MONOTONIC, 0);
	require(!shm_owner_init(&owner, 0, SHM_CLOCK_MONOTONIC, SHM_COLLECT_GPU, &err));
	require(!session_join(owner.where, 0));
	cupti.RegisterCallbacks = register_callbacks;
	cupti.RegisterTimestamp = register_timestamp;
	cupti.ActivityEnable = activity_enable;
	cupti.GetNextRecord = get_next_record;
	cupti.GetDropped = get_dropped;
	require(!gpu_activity_start(true));
}

static void drain_all(int fd)
{
	const struct trace_end end = { .wall_ns = 1 };
	struct trace_writer *w;
	struct drain *d;
	struct err err;

	if (session_my_ring)
		ring_seal(session_my_ring);
	require(!trace_writer_new(&w, fd, &err));
	require(!drain_new(&d, &owner, &ticks, w, false, &err));
	require(!drain_cycle(d, &err) && !drain_finish(d, &err) && !trace_write_end(w, &end, &err));
	drain_free(d);
	trace_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	require(fd >= 0);
	if (!owner.header)
		set_up();
	input = (struct input){ data, data + size };
	served = 0;
	on = true;
	serve_buffers();
	drain_all(fd);
	check_timeline(fd);
	close(fd);
	return 0;
}
