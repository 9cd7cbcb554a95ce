/* Facts about an opened trace; all of them were decoded by trace_open(). */
#include <string.h>

#include "base/varint.h"
#include "format/trace.h"
#include "format/trace_layout.h"
#include "format/trace_reader.h"

void trace_args_init(struct trace_args *a, const uint8_t *args, size_t bytes)
{
	a->at = args;
	a->end = args ? args + bytes : args;
}

static bool take_text(struct trace_args *a, const char **text, size_t *bytes)
{
	uint64_t n;
	const uint8_t *from = varint_get(a->at, a->end, &n);

	if (!from || n > (uint64_t)(a->end - from))
		return false;
	*text = (const char *)from;
	*bytes = (size_t)n;
	a->at = from + n;
	return true;
}

static bool take_integer(struct trace_args *a, int64_t *value)
{
	uint64_t coded;
	const uint8_t *behind = varint_get(a->at, a->end, &coded);

	if (!behind)
		return false;
	*value = unzigzag(coded);
	a->at = behind;
	return true;
}

static bool take_real(struct trace_args *a, double *value)
{
	uint64_t bits;

	if (a->end - a->at < 8)
		return false;
	bits = get_le(a->at, 8);
	memcpy(value, &bits, sizeof(bits));
	a->at += 8;
	return true;
}

static bool take_value(struct trace_args *a, struct trace_arg *out)
{
	switch (out->type) {
	case ARG_NONE:
	case ARG_FALSE:
	case ARG_TRUE:
	case ARG_CUT:
		return true;
	case ARG_INT:
		return take_integer(a, &out->integer);
	case ARG_FLOAT:
		return take_real(a, &out->real);
	case ARG_STRING:
	case ARG_OBJECT:
		return take_text(a, &out->text, &out->text_bytes);
	}
	return false;
}

bool trace_args_next(struct trace_args *a, struct trace_arg *out)
{
	memset(out, 0, sizeof(*out));
	if (a->at == a->end)
		return false;
	out->type = *a->at++;
	if (take_text(a, &out->key, &out->key_bytes) && take_value(a, out))
		return true;
	a->at = a->end;
	return false;
}

const char *trace_damage(const struct trace *t)
{
	return t->damage;
}

const struct trace_start *trace_start(const struct trace *t)
{
	return &t->start;
}

const struct trace_end *trace_end(const struct trace *t)
{
	return t->has_end ? &t->end : NULL;
}

size_t trace_info_count(const struct trace *t)
{
	return t->infos.count;
}

const char *trace_info_key(const struct trace *t, size_t i)
{
	return ((const struct info_entry *)t->infos.items)[i].key;
}

const char *trace_info_value(const struct trace *t, size_t i)
{
	return ((const struct info_entry *)t->infos.items)[i].value;
}

const char *trace_info(const struct trace *t, const char *key, size_t nth)
{
	for (size_t i = 0; i < t->infos.count; i++) {
		if (!strcmp(trace_info_key(t, i), key) && !nth--)
			return trace_info_value(t, i);
	}
	return NULL;
}

size_t trace_note_count(const struct trace *t)
{
	return t->notes.count;
}

const char *trace_note(const struct trace *t, size_t i)
{
	return ((const char *const *)t->notes.items)[i];
}

size_t trace_process_count(const struct trace *t)
{
	return t->processes.count;
}

const struct trace_process *trace_process(const struct trace *t, size_t i)
{
	return (const struct trace_process *)t->processes.items + i;
}

size_t trace_observed_count(const struct trace *t)
{
	return t->watched.count;
}

const struct trace_process *trace_observed(const struct trace *t, size_t i)
{
	return (const struct trace_process *)t->watched.items + i;
}

size_t trace_thread_count(const struct trace *t)
{
	return t->threads.count;
}

const struct trace_thread *trace_thread(const struct trace *t, size_t i)
{
	return &((const struct thread_entry *)t->threads.items)[i].public;
}

size_t trace_thread_find(const struct trace *t, uint32_t id)
{
	size_t low = 0, high = t->threads.count;

	while (low < high) { /* they are in order of their ids */
		size_t mid = low + (high - low) / 2;
		uint32_t there = trace_thread(t, mid)->id;

		if (there == id)
			return mid;
		if (there < id)
			low = mid + 1;
		else
			high = mid;
	}
	return t->threads.count;
}

static const struct def_entry *def_find(const struct trace *t, uint32_t id, uint8_t kind)
{
	uint32_t at = idmap_find(&t->def_at, id);
	const struct def_entry *defs = t->defs.items;

	return at != IDMAP_NONE && defs[at].kind == kind ? &defs[at] : NULL;
}

const char *trace_string(const struct trace *t, uint32_t id)
{
	const struct def_entry *e = def_find(t, id, DEF_STRING);
	const struct trace_nvtx *nvtx = e ? NULL : trace_nvtx(t, id);

	return e ? e->code.name : nvtx ? nvtx->name : NULL;
}

const struct trace_nvtx *trace_nvtx(const struct trace *t, uint32_t id)
{
	const struct def_entry *e = def_find(t, id, DEF_NVTX);

	return e ? e->nvtx : NULL;
}

const struct trace_layer *trace_layer(const struct trace *t, uint32_t id)
{
	const struct def_entry *e = def_find(t, id, DEF_LAYER);

	return e ? &e->layer : NULL;
}

const struct trace_code *trace_code(const struct trace *t, uint32_t id)
{
	const struct def_entry *e = def_find(t, id, DEF_CODE);

	return e ? &e->code : NULL;
}

const struct trace_frame *trace_stack(const struct trace *t, uint32_t id, size_t *count)
{
	const struct def_entry *e = def_find(t, id, DEF_STACK);

	*count = e ? e->stack.count : 0;
	return e ? e->stack.frames : NULL;
}

const struct trace_native *trace_native(const struct trace *t, uint32_t id)
{
	const struct def_entry *e = def_find(t, id, DEF_NATIVE);

	return e ? &e->native : NULL;
}

const struct trace_lines *trace_lines(const struct trace *t, uint32_t code)
{
	uint32_t at = idmap_find(&t->lines_at, code);

	return at != IDMAP_NONE ? (const struct trace_lines *)t->lines.items + at : NULL;
}

bool trace_has_layers(const struct trace *t)
{
	return t->has_layers;
}

uint64_t trace_event_count(const struct trace *t)
{
	return t->event_count;
}

double trace_read_share(const struct trace *t)
{
	return t->read_bytes < t->file_bytes ? (double)t->read_bytes / (double)t->file_bytes : 1;
}

uint64_t trace_byte_count(const struct trace *t)
{
	return t->file_bytes;
}

const char *cuda_call_name(enum cuda_call what)
{
	static const char *const names[] = {
		[CUDA_CALL_OTHER] = "other",
		[CUDA_CALL_LAUNCH] = "launch",
		[CUDA_CALL_GRAPH_LAUNCH] = "graph_launch",
		[CUDA_CALL_COPY] = "copy",
		[CUDA_CALL_MEMSET] = "memset",
		[CUDA_CALL_SYNC_DEVICE] = "sync_device",
		[CUDA_CALL_SYNC_STREAM] = "sync_stream",
		[CUDA_CALL_SYNC_EVENT] = "sync_event",
		[CUDA_CALL_ALLOC] = "alloc",
		[CUDA_CALL_FREE] = "free",
		[CUDA_CALL_HOST_ALLOC] = "host_alloc",
		[CUDA_CALL_HOST_FREE] = "host_free",
		[CUDA_CALL_STREAM_CREATE] = "stream_create",
		[CUDA_CALL_CONTEXT_CREATE] = "context_create",
		[CUDA_CALL_MODULE_LOAD] = "module_load",
		[CUDA_CALL_GRAPH_BUILD] = "graph_build",
	};

	return (size_t)what < sizeof(names) / sizeof(*names) ? names[what] : "other";
}
