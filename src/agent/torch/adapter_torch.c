/*
 * PyTorch: the modules of a model as layers, loading of data and compilation as scopes.
 *
 * From 3.12 on modules are seen by the function that calls them, and PyTorch has nothing of
 * ours in it: torch.compile, torch.export, torch.fx, torch.jit, pickle and copy find what
 * they always find.  Before 3.12 torch_hooks.h reports them, until torch.compile is used.
 */
#include "agent/torch/torch_hooks.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/session.h"
#include "agent/gpu/gpu_recording.h"
#include "agent/overhead/profile_throttle.h"
#include "agent/python/adapter.h"
#include "agent/python/args.h"
#include "agent/python/frames.h"
#include "agent/python/tasks.h"
#include "agent/python/text.h"
#include "agent/torch/layer_throttle.h"
#include "agent/torch/layers.h"
#include "agent/torch/model_calls.h"
#include "agent/torch/torch_memory.h"
#include "base/varint.h"
#include "format/torch_scopes.h"

/*
 * CUPTI serves one tool at a time.  When the program starts torch.profiler, it gets CUPTI before
 * PyTorch asks for it, or its own trace would have no GPU in it.
 */

static void profiler_begins(struct ring *r)
{
	(void)r;
	gpu_hand_over("the program started torch.profiler, which needs CUPTI for itself; to record "
		      "the GPU to the end, run it without");
}

static const struct adapter_function profiler_functions[] = {
	{ .file = "torch/autograd/profiler.py",
	  .name = "profile._prepare_trace",
	  .begins = profiler_begins },
};

const struct adapter adapter_torch_profiler = {
	.functions = profiler_functions,
	.count = sizeof(profiler_functions) / sizeof(profiler_functions[0]),
};

/*
 * Stretches of work that an adapter names, such as a wait for data: scopes like the user's,
 * which begin and end with a watched function.
 *
 * In the thread that calls the function, with the GIL, while its frame is the newest.  The end
 * of a function that an exception leaves may not be reported: it is detected by its frame, which is
 * gone, at the latest when adapter_scopes_close_stale() is called.  Before 3.12, where
 * calls are recorded only part of the time, ends would be missed for good: nothing is recorded
 * there.
 */

static void adapter_scopes_close_stale_slow(struct ring *r);

static inline void adapter_scopes_close_stale(struct ring *r)
{
	if (r->scopes)
		adapter_scopes_close_stale_slow(r);
}

#define OPEN_MAX 8u

struct adapter_scope {
	struct frame_mark frame;
	uint64_t instance;
	uint32_t name_id;
	uint32_t note;
};

struct adapter_scopes {
	uint32_t epoch; /* the recording that these are open in */
	unsigned depth;
	struct adapter_scope open[OPEN_MAX];
};

static struct adapter_scopes *scopes_of(struct ring *r)
{
	if (!r->scopes)
		r->scopes = calloc(1, sizeof(*r->scopes));
	if (r->scopes && r->scopes->epoch != session_epoch) {
		r->scopes->epoch = session_epoch;
		r->scopes->depth = 0;
	}
	return r->scopes;
}

static void end_newest(struct ring *r, struct adapter_scopes *s, const struct args *args)
{
	const struct adapter_scope *o = &s->open[--s->depth];
	uint8_t payload[VARINT_MAX + ARGS_MAX_BYTES];
	size_t n = varint_put(payload, o->instance);

	if (args) {
		memcpy(payload + n, args->data, args->bytes);
		n += args->bytes;
	}
	ring_push_payload(r, RECORD_SCOPE_END, o->name_id, payload, (uint32_t)n);
}

static void end_dead(struct ring *r, struct adapter_scopes *s, bool outer)
{
	while (s->depth && !frames_is_inside(&s->open[s->depth - 1].frame, outer))
		end_newest(r, s, NULL);
}

static void adapter_scopes_close_stale_slow(struct ring *r)
{
	struct adapter_scopes *s = scopes_of(r);

	if (s)
		end_dead(r, s, true);
}

/* name: a str, for ever; args: may be NULL. */
static void adapter_scope_begin(struct ring *r, PyObject *name, const struct args *args)
{
	const struct frame_mark frame = frames_newest();
	struct adapter_scopes *s = scopes_of(r);
	uint8_t payload[2 * VARINT_MAX + ARGS_MAX_BYTES];
	struct adapter_scope o;
	size_t n;

	if (!s || !frame.frame || !name || (py.version < 0x030c0000 && profile_throttle_bounded()))
		return;
	/* What was begun in this very frame, or rather one in its place, is over. */
	end_dead(r, s, true);
	if (s->depth == OPEN_MAX)
		return;
	o = (struct adapter_scope){ frame, session_next_instance(r), names_id(r, name), 0 };
	n = varint_put(payload, o.instance);
	n += varint_put(payload + n, tasks_current());
	if (args) {
		memcpy(payload + n, args->data, args->bytes);
		n += args->bytes;
	}
	s->open[s->depth++] = o;
	ring_push_payload(r, RECORD_SCOPE_BEGIN, o.name_id, payload, (uint32_t)n);
}

/* The scope that the newest frame began; NULL: it did not, or there was no room. */
static struct adapter_scope *open_here(struct ring *r)
{
	struct adapter_scopes *s = scopes_of(r);
	struct adapter_scope *newest;

	if (!s)
		return NULL;
	end_dead(r, s, false);
	newest = s->depth ? &s->open[s->depth - 1] : NULL;
	return newest && newest->frame.frame == frames_newest().frame ? newest : NULL;
}

/*
 * A number for the owner of the scope in the newest frame, 0 at first; valid until the next call
 * of any of these.  NULL: there is no such scope.
 */
static uint32_t *adapter_scope_note(struct ring *r)
{
	struct adapter_scope *o = open_here(r);

	return o ? &o->note : NULL;
}

/* known only now */
static void adapter_scope_end_with(struct ring *r, const struct args *args)
{
	if (open_here(r))
		end_newest(r, r->scopes, args);
}

static void adapter_scope_end(struct ring *r)
{
	adapter_scope_end_with(r, NULL);
}

/*
 * nn.Module keeps its parts in a dict that it has under this name.  TorchScript has something else
 * there, and runs the parts without Python: its modules are layers without parts.
 */
static PyObject *parts_of(PyObject *module)
{
	static PyObject *key;
	PyObject *attributes = py.Object_Dict(module, NULL), *parts = NULL;

	if (!key)
		key = py.Unicode_Intern("_modules");
	if (attributes && key && py_is(attributes, py.DictType))
		parts = py.Dict_Get(attributes, key);
	if (parts)
		parts = py_is(parts, py.DictType) ? py_new_ref(parts) : py.Dict_New();
	py_drop(attributes);
	py.Err_Clear();
	return parts;
}

const struct layer_kind torch_modules = { parts_of };

static void module_begins(struct ring *r)
{
	PyObject *module = torch_hooks_audit ? NULL : frames_argument("self");

	adapter_scopes_close_stale(r);
	if (!module)
		return;
	model_calls_hook(module->type);
	layers_begin(r, module, &torch_modules);
}

static void module_ends(struct ring *r)
{
	if (!torch_hooks_audit)
		layers_end_here(r);
	torch_memory_poll_seldom(r);
}

static void forward_begins(struct ring *r, uint16_t number)
{
	PyObject *module = frames_argument_of(0);

	adapter_scopes_close_stale(r);
	if (module)
		layers_begin_forward(r, module, number, &torch_modules);
}

static void forward(struct ring *r, uint16_t number, uint8_t kind)
{
	if (kind == RECORD_CALL)
		forward_begins(r, number);
	else if (kind == RECORD_RETURN || kind == RECORD_UNWIND)
		module_ends(r);
}

static PyObject *text_for_ever(PyObject **kept, const char *text)
{
	if (!*kept)
		*kept = py.Unicode_Intern(text);
	return *kept;
}

/* The main process waits for its workers. */
static void wait_begins(struct ring *r)
{
	static PyObject *name;

	adapter_scope_begin(r, text_for_ever(&name, TORCH_WAIT), NULL);
}

/* In a worker; in a program without workers, where it is needed. */
static void load_begins(struct ring *r)
{
	static PyObject *name;

	adapter_scope_begin(r, text_for_ever(&name, TORCH_LOAD), NULL);
}

static const struct {
	const char *key, *attribute; /* of a code object */
} compiled[] = {
	{ TORCH_COMPILE_FUNCTION, "co_name" },
	{ TORCH_COMPILE_FILE, "co_filename" },
	{ TORCH_COMPILE_LINE, "co_firstlineno" },
};

static void put_fact(struct args *args, const char *key, PyObject *fact)
{
	const struct text name = { key, (uint32_t)strlen(key), NULL };

	args_put(args, &name, fact);
}

/* What is compiled; borrowed, NULL where it cannot be read. */
static PyObject *code_here(void)
{
	PyObject *code = frames_argument("code");

	return code && code->type == py.CodeType ? code : NULL;
}

/*
 * What PyTorch, from 2.2 on, puts down for itself while it compiles a function again: of each way
 * in which it was compiled before, newest first, what the guards refused.  Borrowed, NULL where
 * there is nothing.  To find a code object in a dict runs no Python code.
 */
static PyObject *failures_of(PyObject *code)
{
	PyObject *all = code ? py_held("torch._dynamo.utils", "guard_failures") : NULL;

	return all && py_is(all, py.DictType) ? py.Dict_Get(all, code) : NULL;
}

/* Once for each graph: what is compiled again for other arguments comes again. */
static void compile_begins(struct ring *r)
{
	static PyObject *name;
	PyObject *type, *value, *traceback, *code, *failures;
	struct args args = { 0 };
	ssize_t known = 0;
	uint32_t *note;

	py.Err_Fetch(&type, &value, &traceback);
	code = code_here();
	for (size_t i = 0; code && i < sizeof(compiled) / sizeof(compiled[0]); i++) {
		PyObject *fact = py.GetAttr(code, compiled[i].attribute);

		if (fact)
			put_fact(&args, compiled[i].key, fact);
		py_drop(fact);
	}
	failures = failures_of(code);
	if (failures)
		known = py.List_Size(failures);
	adapter_scope_begin(r, text_for_ever(&name, TORCH_COMPILE), &args);
	note = adapter_scope_note(r);
	if (note)
		*note = known > 0 ? (uint32_t)known : 0;
	py.Err_Clear();
	py.Err_Restore(type, value, traceback);
}

static void compile_ends(struct ring *r)
{
	const uint32_t *known = adapter_scope_note(r);
	PyObject *type, *value, *traceback, *failures, *reason = NULL;
	struct args args = { 0 };

	py.Err_Fetch(&type, &value, &traceback);
	failures = known ? failures_of(code_here()) : NULL;
	if (failures && py.List_Size(failures) > (ssize_t)*known)
		reason = py.List_GetItem(failures, (ssize_t)*known);
	if (reason && py_is(reason, py.UnicodeType))
		put_fact(&args, TORCH_COMPILE_REASON, reason);
	adapter_scope_end_with(r, &args);
	py.Err_Clear();
	py.Err_Restore(type, value, traceback);
}

/* Not a layer: a graph may be made of several, or of a part of one. */
static void graph_begins(struct ring *r)
{
	static PyObject *name;

	adapter_scope_begin(r, text_for_ever(&name, TORCH_GRAPH), NULL);
}

static const struct adapter_function functions[] = {
	{ .file = "torch/nn/modules/module.py",
	  .name = "Module._wrapped_call_impl",
	  .begins = module_begins,
	  .ends = module_ends,
	  .calls_modules = true,
	  .rests = &layer_throttle.unheard },
	{ .file = "torch/utils/data/dataloader.py",
	  .name = "_MultiProcessingDataLoaderIter._get_data",
	  .begins = wait_begins,
	  .ends = adapter_scope_end },
	{ .file = "torch/utils/data/_utils/fetch.py",
	  .name = "_MapDatasetFetcher.fetch",
	  .begins = load_begins,
	  .ends = adapter_scope_end },
	{ .file = "torch/utils/data/_utils/fetch.py",
	  .name = "_IterableDatasetFetcher.fetch",
	  .begins = load_begins,
	  .ends = adapter_scope_end },
	{ .file = "torch/_dynamo/convert_frame.py",
	  .name = "_compile",
	  .begins = compile_begins,
	  .ends = compile_ends },
	{ .file = "torch/_inductor/output_code.py",
	  .name = "CompiledFxGraph.__call__",
	  .begins = graph_begins,
	  .ends = adapter_scope_end },
	/* Until 2.5. */
	{ .file = "torch/_inductor/codecache.py",
	  .name = "CompiledFxGraph.__call__",
	  .begins = graph_begins,
	  .ends = adapter_scope_end },
	/* Once in a process; 1.13 to 2.13 have it. */
	{ .file = "torch/cuda/__init__.py",
	  .name = "_check_capability",
	  .begins = torch_memory_poll_at_exit },
};

static const struct adapter_passage passages[] = {
	{ "torch/nn/modules/module.py", "Module._call_impl" },
	{ "torch/nn/modules/module.py", "Module._call_impl.<locals>.inner" },
};

const struct adapter adapter_torch = {
	.functions = functions,
	.count = sizeof(functions) / sizeof(functions[0]),
	.passages = passages,
	.passage_count = sizeof(passages) / sizeof(passages[0]),
	.forward = forward,
};
