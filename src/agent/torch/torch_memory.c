#include "agent/torch/torch_memory.h"

#include <string.h>

#include "agent/core/session.h"
#include "agent/overhead/budget.h"
#include "agent/python/pyapi.h"
#include "agent/python/text.h"
#include "base/varint.h"
#include "format/series.h"

#define PERIOD_NS 1000000000u
#define UNREADY_NS 50000000u /* to find out that there is nothing to ask takes next to nothing */
#define REST_TIMES                                                                    \
	5000u /* so many times as long as a reading took: two hundredths of a percent \
	       */
#define REST_MOST_NS 5000000000u /* what took longer than a millisecond was interrupted, likely */
#define PASSES 16u               /* between two readings of the clock */
#define DEVICES_MAX 16
#define UNUSED_EVERY 16u /* of the readings: a device that has no memory is asked again */
#define BUILT_IN "builtin_function_or_method"

/* Where the figures are in what PyTorch answers; "all" is its word for both of its pools. */
static const struct figure {
	enum series_kind kind;
	const char *key[3]; /* NULL: the number is there */
} figures[] = {
	{ SERIES_TORCH_RESERVED_PEAK,
	  { "reserved_bytes", "all", "peak" } }, /* see push_figures() */
	{ SERIES_TORCH_ALLOCATED, { "allocated_bytes", "all", "current" } },
	{ SERIES_TORCH_ALLOCATED_PEAK, { "allocated_bytes", "all", "peak" } },
	{ SERIES_TORCH_RESERVED, { "reserved_bytes", "all", "current" } },
	{ SERIES_TORCH_SPLIT, { "inactive_split_bytes", "all", "current" } },
	{ SERIES_TORCH_RETRIES, { "num_alloc_retries" } },
	{ SERIES_TORCH_OOMS, { "num_ooms" } },
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

static uint64_t due_ns;       /* CLOCK_MONOTONIC */
static uint32_t epoch;        /* the recording that all this is about */
static bool refused;          /* PyTorch has another allocator, or answered with an exception */
static bool looking;          /* objects are made, which may collect garbage, which comes here */
static bool exit_hook_is_set; /* Python's atexit has our function */
static uint64_t samples;      /* so far */
static bool in_use[DEVICES_MAX];

/* A function of PyTorch's that is C and nothing else; borrowed. */
static PyObject *built_in(const char *name)
{
	PyObject *f = py_held("torch._C", name);

	return f && !strcmp(py_type_name(f->type), BUILT_IN) ? f : NULL;
}

/* Is CUDA PyTorch's in this very process?  In a fork of it the cache's lock may be held for ever.
 */
static bool is_ready(void)
{
	PyObject *is_fork = built_in("_cuda_isInBadFork"), *answer;
	bool ready;

	if (py_held("torch.cuda", "_initialized") != py.True || !is_fork)
		return false;
	answer = py.Call(is_fork, NULL);
	ready = answer == py.False;
	py_drop(answer);
	py.Err_Clear();
	return ready;
}

/* Others than PyTorch's own would ask CUDA, or have no such figures.  Old ones have no choice. */
static bool is_native(void)
{
	PyObject *read_allocator = built_in("_cuda_getAllocatorBackend");
	PyObject *answer = read_allocator ? py.Call(read_allocator, NULL) : NULL;
	struct text name = text_of(answer, 16);
	bool native = !read_allocator || (name.bytes == 6 && !memcmp(name.data, "native", 6));

	text_release(&name);
	py_drop(answer);
	py.Err_Clear();
	return native;
}

/* The number at the end of a chain of keys; false: there is none. */
static bool find(PyObject *answer, const struct figure *f, uint64_t *out)
{
	int overflow = 0;
	long long value;

	for (size_t i = 0; i < 3 && f->key[i]; i++) {
		if (!answer || !py_is(answer, py.DictType))
			return false;
		answer = py.Dict_GetString(answer, f->key[i]); /* borrowed, as the whole chain */
	}
	if (!answer || !py_is(answer, py.LongType))
		return false;
	value = py.Long_AsOverflow(answer, &overflow);
	*out = (uint64_t)value;
	return !overflow && value >= 0;
}

static void push_figures(struct ring *r, ssize_t device, PyObject *answer)
{
	uint8_t payload[FIGURES * 2 * VARINT_MAX];
	uint64_t value;
	size_t n = 0;

	in_use[device] = find(answer, &figures[0], &value) && value; /* it has had memory */
	if (!in_use[device])
		return;
	for (size_t i = 0; i < FIGURES; i++) {
		if (!find(answer, &figures[i], &value))
			continue;
		n += varint_put(payload + n, (uint64_t)figures[i].kind);
		n += varint_put(payload + n, value);
	}
	ring_push_payload(r, RECORD_SERIES, (uint32_t)device, payload, (uint32_t)n);
	budget_count(r, 1);
}

static void read_allocator(struct ring *r, PyObject *function, ssize_t device)
{
	PyObject *index = py.Long_From((long)device);
	PyObject *answer = index ? py.CallWith(function, index, NULL) : NULL;

	if (answer)
		push_figures(r, device, answer);
	else
		refused = true;
	py_drop(index);
	py_drop(answer);
	py.Err_Clear();
}

static PyObject *on_exit(PyObject *self, PyObject *unused)
{
	struct ring *r = session_ring();

	(void)self;
	(void)unused;
	if (r)
		torch_memory_poll_last(r);
	return py_new_ref(py.None);
}

/*
 * A program that ends for lack of memory has no further event, and one that only computes has none
 * at all.  A program that does not use torch.cuda has nothing of ours in atexit, which PyTorch has
 * imported.
 */
static void register_at_exit(void)
{
	static struct py_method method = { "inferscope_memory", on_exit, PY_NO_ARGS, NULL };
	PyObject *enrol = py_held("atexit", "register");
	PyObject *function = enrol ? py.CFunction(&method, NULL, NULL) : NULL;
	PyObject *done = function ? py.CallWith(enrol, function, NULL) : NULL;

	exit_hook_is_set = true;
	py_drop(done);
	py_drop(function);
	py.Err_Clear();
}

void torch_memory_poll_at_exit(struct ring *r)
{
	PyObject *type, *value, *traceback;

	if (!(r->session->header->collect & SHM_COLLECT_TORCH_MEMORY) || exit_hook_is_set)
		return;
	py.Err_Fetch(&type, &value, &traceback);
	register_at_exit();
	py.Err_Restore(type, value, traceback);
}

static void poll_devices(struct ring *r)
{
	PyObject *function = built_in("_cuda_memoryStats");
	/* A tuple of as many as there are devices, since CUDA was initialised. */
	PyObject *generators = py_held("torch.cuda", "default_generators");
	ssize_t devices = generators ? py.Tuple_Size(generators) : 0;

	py.Err_Clear();
	if (!function || devices <= 0)
		return;
	if (!samples && !is_native()) {
		refused = true;
		return;
	}
	if (!exit_hook_is_set)
		register_at_exit();
	py.IncRef(function); /* a collection on the way may run anything */
	for (ssize_t i = 0; i < devices && i < DEVICES_MAX && !refused; i++) {
		if (in_use[i] || samples % UNUSED_EVERY == 0)
			read_allocator(r, function, i);
	}
	py.DecRef(function);
	samples++;
}

static void begin(void)
{
	epoch = session_epoch;
	due_ns = samples = 0;
	refused = false;
}

void torch_memory_poll(struct ring *r)
{
	PyObject *type, *value, *traceback;
	uint64_t start_ns, took_ns, rest_ns;
	bool ready;

	if (!(r->session->header->collect & SHM_COLLECT_TORCH_MEMORY) || looking)
		return;
	if (epoch != session_epoch)
		begin();
	start_ns = stamp_monotonic();
	if (refused || start_ns < due_ns || (py.IsFinalizing && py.IsFinalizing()))
		return;
	looking = true;
	py.Err_Fetch(&type, &value, &traceback);
	ready = is_ready();
	if (ready)
		poll_devices(r);
	py.Err_Restore(type, value, traceback);
	looking = false;
	took_ns = stamp_monotonic() - start_ns;
	rest_ns = took_ns * REST_TIMES < REST_MOST_NS ? took_ns * REST_TIMES : REST_MOST_NS;
	if (!ready)
		rest_ns = UNREADY_NS;
	else if (rest_ns < PERIOD_NS)
		rest_ns = PERIOD_NS;
	due_ns = start_ns + rest_ns;
	budget_spend_ns(took_ns);
}

void torch_memory_poll_last(struct ring *r)
{
	due_ns = 0;
	torch_memory_poll(r);
}

void torch_memory_poll_seldom(struct ring *r)
{
	static uint32_t passes;

	if (++passes % PASSES == 0)
		torch_memory_poll(r);
}
