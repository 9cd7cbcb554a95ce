/*
 * A CUDA driver and runtime with no device behind them, for tests of the agent.
 *
 * Like the real one it loads the library that CUDA_INJECTION64_PATH names when it
 * is initialised.  Devices are a model: a piece of work starts when its stream
 * has done the one before, and takes as long as the caller says.  Every call
 * that starts work returns its correlation id, 0 where CUDA would return an
 * error: before fake_init(), and in a forked child.
 *
 * Any thread may call, from C or through ctypes.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "fake_driver.h"
#include "fake_work.h"

#define STREAMS 256u
#define LAUNCH_NS 2000u /* from the call to the start on an idle stream */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t stream_done_at[STREAMS];
static _Atomic int initialised_pid;
static _Atomic uint32_t next_correlation = 1;
static _Atomic(const struct fake_ears *) ears;
static __thread uint32_t device, context = 1;

uint64_t fake_monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t end)
{
	struct timespec t = { (time_t)(end / 1000000000u), (long)(end % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

/* Whoever loads CUPTI, and whenever, hears from the next call on. */
const struct fake_ears *fake_find_ears(void)
{
	const struct fake_ears *found = atomic_load(&ears);
	const char *path = getenv("CUPTI_TAP_REAL");
	void *library;

	if (!path)
		path = getenv("INFERSCOPE_CUPTI");
	if (found || !path)
		return found;
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (library) {
		found = dlsym(library, "fake_cupti_ears");
		atomic_store(&ears, found);
	}
	return found;
}

int fake_is_ready(void)
{
	return atomic_load(&initialised_pid) == getpid();
}

static void tell(struct fake_call *c, int leaving)
{
	const struct fake_ears *e = fake_find_ears();

	c->leaving = leaving;
	if (e)
		e->call(c);
}

/* CUPTI's records point to names that live as long as the process.  Under the lock. */
static const char *keep_name(const char *name)
{
	static struct kept {
		struct kept *next;
		char text[];
	} * all;
	size_t bytes = strlen(name) + 1;
	struct kept *k = all;

	while (k && strcmp(k->text, name) != 0)
		k = k->next;
	if (k)
		return k->text;
	k = malloc(sizeof(*k) + bytes);
	if (!k)
		abort();
	memcpy(k->text, name, bytes);
	k->next = all;
	all = k;
	return k->text;
}

uint64_t fake_start_work(struct fake_activity *a, uint64_t duration)
{
	const struct fake_ears *e = fake_find_ears();
	uint64_t earliest = fake_monotonic() + LAUNCH_NS,
		 *done_at = &stream_done_at[a->stream % STREAMS];

	if (fake_graph_takes(a, duration))
		return 0;
	a->device = device;
	a->context = context;
	pthread_mutex_lock(&lock);
	if (a->name)
		a->name = keep_name(a->name);
	a->start = *done_at > earliest ? *done_at : earliest;
	a->end = a->start + duration;
	*done_at = a->end;
	pthread_mutex_unlock(&lock);
	if (e)
		e->did(a);
	return a->end;
}

void fake_enter(struct call_pair *p)
{
	p->runtime.domain = FAKE_RUNTIME_API;
	p->driver.domain = FAKE_DRIVER_API;
	p->runtime.correlation = p->driver.correlation = atomic_fetch_add(&next_correlation, 1);
	if (p->runtime.id)
		tell(&p->runtime, 0);
	if (p->driver.id)
		tell(&p->driver, 0);
}

uint32_t fake_leave(struct call_pair *p)
{
	if (p->driver.id)
		tell(&p->driver, 1);
	if (p->runtime.id)
		tell(&p->runtime, 1);
	return p->runtime.correlation;
}

int fake_init(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*injection)(void) = NULL;

	if (library)
		*(void **)&injection = dlsym(library, "InitializeInjection");
	if (injection && injection() != 1)
		return 1;
	atomic_store(&initialised_pid, getpid());
	return 0;
}

void fake_set_device(uint32_t number, uint32_t context_number)
{
	device = number;
	context = context_number;
}

struct fake_activity fake_kernel(const struct fake_shape *s, const char *name, uint32_t stream,
				 uint32_t correlation)
{
	struct fake_activity a = { .kind = FAKE_KERNEL, .name = name };

	a.stream = stream;
	a.correlation = correlation;
	for (int i = 0; s && i < 3; i++) {
		a.grid[i] = s->grid[i];
		a.block[i] = s->block[i];
	}
	if (s) {
		a.registers = s->registers;
		a.static_shared = s->static_shared;
		a.dynamic_shared = s->dynamic_shared;
	}
	return a;
}

static uint32_t launch(struct call_pair *p, const char *name, const struct fake_shape *shape,
		       uint32_t stream, uint64_t duration_ns)
{
	struct fake_activity a;

	if (!fake_is_ready())
		return 0;
	fake_enter(p);
	a = fake_kernel(shape, name, stream, p->runtime.correlation);
	fake_start_work(&a, duration_ns);
	return fake_leave(p);
}

uint32_t fake_launch(const char *name, const struct fake_shape *shape, uint32_t stream,
		     uint64_t duration_ns)
{
	struct call_pair p = { { .id = 211, .function = "cudaLaunchKernel" },
			       { .id = 307, .function = "cuLaunchKernel" } };

	return launch(&p, name, shape, stream, duration_ns);
}

uint32_t fake_launch_driver(const char *name, const struct fake_shape *shape, uint32_t stream,
			    uint64_t duration_ns)
{
	struct call_pair p = { { 0 }, { .id = 307, .function = "cuLaunchKernel" } };

	return launch(&p, name, shape, stream, duration_ns);
}

uint32_t fake_copy(const struct fake_transfer *t, uint32_t stream, uint64_t duration_ns)
{
	struct call_pair p = { { .id = t->asynchronous ? 41 : 31,
				 .function = t->asynchronous ? "cudaMemcpyAsync" : "cudaMemcpy" },
			       { .id = 306, .function = "cuMemcpyAsync" } };
	struct fake_activity a = { .kind = t->copy == 10 ? FAKE_PEER_COPY : FAKE_COPY };
	uint64_t end;

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	a.stream = stream;
	a.correlation = p.runtime.correlation;
	a.bytes = t->bytes;
	a.copy = t->copy;
	a.source = t->source;
	a.destination = t->destination;
	a.asynchronous = t->asynchronous;
	end = fake_start_work(&a, duration_ns);
	if (!t->asynchronous)
		sleep_until(end);
	return fake_leave(&p);
}

uint32_t fake_memset(uint64_t bytes, uint32_t value, uint32_t stream, uint64_t duration_ns)
{
	struct call_pair p = { { .id = 51, .function = "cudaMemsetAsync" },
			       { .id = 216, .function = "cuMemsetD8Async" } };
	struct fake_activity a = { .kind = FAKE_MEMSET, .memory = 3, .asynchronous = 1 };

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	a.stream = stream;
	a.correlation = p.runtime.correlation;
	a.bytes = bytes;
	a.value = value;
	fake_start_work(&a, duration_ns);
	return fake_leave(&p);
}

uint32_t fake_sync_stream(uint32_t stream)
{
	struct call_pair p = { { .id = 131, .function = "cudaStreamSynchronize" },
			       { .id = 126, .function = "cuStreamSynchronize" } };
	uint64_t end;

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	pthread_mutex_lock(&lock);
	end = stream_done_at[stream % STREAMS];
	pthread_mutex_unlock(&lock);
	sleep_until(end);
	return fake_leave(&p);
}

uint32_t fake_sync_device(void)
{
	struct call_pair p = { { .id = 165, .function = "cudaDeviceSynchronize" },
			       { .id = 17, .function = "cuCtxSynchronize" } };
	uint64_t end = 0;

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < STREAMS; i++)
		end = stream_done_at[i] > end ? stream_done_at[i] : end;
	pthread_mutex_unlock(&lock);
	sleep_until(end);
	return fake_leave(&p);
}

struct allocation {
	void **pointer;
	size_t bytes;
	unsigned flags; /* of the host's */
};

uint32_t fake_malloc(uint64_t bytes)
{
	struct allocation params = { NULL, bytes, 0 };
	struct call_pair p = { { .id = 20, .function = "cudaMalloc", .params = &params },
			       { .id = 243, .function = "cuMemAlloc_v2", .params = &params } };

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	return fake_leave(&p);
}

uint32_t fake_host_alloc(uint64_t bytes)
{
	struct allocation params = { NULL, bytes, 1 };
	struct call_pair p = { { .id = 27, .function = "cudaHostAlloc", .params = &params },
			       { .id = 271, .function = "cuMemHostAlloc_v2", .params = &params } };

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	return fake_leave(&p);
}

uint32_t fake_free(void)
{
	struct call_pair p = { { .id = 22, .function = "cudaFree" },
			       { .id = 245, .function = "cuMemFree_v2" } };

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	return fake_leave(&p);
}

/* A call that nobody is interested in: cudaGetDevice. */
uint32_t fake_uninteresting(void)
{
	struct call_pair p = { { .id = 17, .function = "cudaGetDevice" }, { 0 } };

	if (!fake_is_ready())
		return 0;
	fake_enter(&p);
	return fake_leave(&p);
}

int fake_other_tool_subscribes(void)
{
	const struct fake_ears *e = fake_find_ears();

	return e ? e->other_tool_subscribes() : -1;
}

void fake_other_tool_leaves(void)
{
	const struct fake_ears *e = fake_find_ears();

	if (e)
		e->other_tool_leaves();
}

int fake_records_kernels(void)
{
	const struct fake_ears *e = fake_find_ears();

	return e ? e->records_kernels() : -1;
}

/* 11.8, unless FAKE_CUDA_VERSION says another, as "13000". */
FAKE_EXPORT int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	const char *asked = getenv("FAKE_CUDA_VERSION");

	*version = asked ? atoi(asked) : 11080;
	return 0;
}
