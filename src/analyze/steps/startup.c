#include "analyze/steps/startup.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "analyze/figures/stats.h"
#include "base/array.h"
#include "base/idmap.h"
#include "timeline/functions.h"
#include "timeline/line_tables.h"
#include "timeline/pair_map.h"
#include "timeline/sample_walk.h"

static const struct {
	const char *name, *title;
} parts[STARTUP_PARTS] = {
	[STARTUP_IMPORTS] = { "imports", "importing modules" },
	[STARTUP_WEIGHTS] = { "weights", "loading models and weights" },
	[STARTUP_COMPILE] = { "compile", "compiling" },
	[STARTUP_DEVICE] = { "device", "starting CUDA" },
	[STARTUP_NETWORK] = { "network", "fetching files" },
	[STARTUP_OTHER] = { "other", "other code" },
	[STARTUP_UNKNOWN] = { "unknown", "before or between samples" },
};

const char *startup_part_title(enum startup_part p)
{
	return parts[p].title;
}

const char *startup_part_name(enum startup_part p)
{
	return parts[p].name;
}

/* What a function is there for; its name is the last part of the qualified one. */
static const struct {
	const char *file; /* a part of it */
	const char *name;
	enum startup_part part;
} purposes[] = {
	{ "<frozen importlib._bootstrap>", "_find_and_load", STARTUP_IMPORTS },
	{ "/torch/serialization.py", "load", STARTUP_WEIGHTS },
	{ "/torch/nn/modules/module.py", "load_state_dict", STARTUP_WEIGHTS },
	{ "/torch/nn/modules/module.py", "to", STARTUP_WEIGHTS },
	{ "/torch/nn/modules/module.py", "cuda", STARTUP_WEIGHTS },
	{ "/torch/nn/init.py", "", STARTUP_WEIGHTS },
	{ "/torch/jit/_serialization.py", "load", STARTUP_WEIGHTS },
	{ "/transformers/", "from_pretrained", STARTUP_WEIGHTS },
	{ "/diffusers/", "from_pretrained", STARTUP_WEIGHTS },
	{ "/safetensors/", "load_file", STARTUP_WEIGHTS },
	{ "/sentence_transformers/", "__init__", STARTUP_WEIGHTS },
	{ "/onnxruntime/capi/", "_create_inference_session", STARTUP_WEIGHTS },
	{ "/keras/", "load_model", STARTUP_WEIGHTS },
	{ "/keras/", "load_weights", STARTUP_WEIGHTS },
	{ "/tensorflow/python/saved_model/", "load", STARTUP_WEIGHTS },
	{ "/joblib/", "load", STARTUP_WEIGHTS },
	{ "/ctranslate2/", "__init__", STARTUP_WEIGHTS },
	{ "/llama_cpp/llama.py", "__init__", STARTUP_WEIGHTS },
	{ "/xgboost/", "load_model", STARTUP_WEIGHTS },
	{ "/torch/cuda/__init__.py", "_lazy_init", STARTUP_DEVICE },
	{ "/cupy/", "_get_device", STARTUP_DEVICE },
	{ "/huggingface_hub/", "", STARTUP_NETWORK },
	{ "/urllib/request.py", "urlopen", STARTUP_NETWORK },
	{ "/requests/sessions.py", "send", STARTUP_NETWORK },
};

struct collect {
	struct analysis_startup *out;
	struct timeline *timeline;
	const struct trace *trace;
	size_t thread, cap;
	struct idmap known;       /* stack -> part + 1 */
	struct pair_map place_at; /* (function, line) -> its place in out->places */
	bool failed;
};

static enum startup_part part_of_function(const struct place *f)
{
	const char *last = strrchr(f->name, '.');

	last = last ? last + 1 : f->name;
	for (size_t i = 0; i < sizeof(purposes) / sizeof(purposes[0]); i++) {
		if (strstr(f->file, purposes[i].file) &&
		    (!*purposes[i].name || !strcmp(last, purposes[i].name)))
			return purposes[i].part;
	}
	return code_kind(f->name, f->file) == CODE_COMPILES ? STARTUP_COMPILE : STARTUP_OTHER;
}

/* Of the innermost function that has one. */
static enum startup_part part_of_stack(struct collect *c, uint32_t stack)
{
	uint32_t known = idmap_find(&c->known, stack);
	enum startup_part part = STARTUP_OTHER;
	const struct trace_frame *frames;
	size_t count;

	if (known != IDMAP_NONE)
		return (enum startup_part)known;
	frames = trace_stack(c->trace, stack, &count);
	for (size_t i = 0; frames && i < count && part == STARTUP_OTHER; i++) {
		uint32_t function = timeline_function_of(c->timeline, frames[i].code);

		if (function != UINT32_MAX)
			part = part_of_function(timeline_function(c->timeline, function));
	}
	c->failed |= idmap_put(&c->known, stack, (uint32_t)part) != 0;
	return part;
}

static uint32_t line_of(const struct collect *c, const struct trace_frame *f)
{
	const struct trace_lines *lines = trace_lines(c->trace, f->code);
	const struct trace_code *code = trace_code(c->trace, f->code);

	return lines && code ? line_table_find(lines->python_minor, lines->table, lines->bytes,
					       code->line, f->offset)
			     : 0;
}

/* The innermost of the user's code that is more than a module's body, if there is one; NULL. */
static const struct trace_frame *users_frame(struct collect *c, uint32_t stack, uint32_t *function)
{
	const struct trace_frame *body = NULL;
	size_t count;
	const struct trace_frame *frames = trace_stack(c->trace, stack, &count);

	for (size_t i = 0; frames && i < count; i++) {
		uint32_t at = timeline_function_of(c->timeline, frames[i].code);
		const struct place *f =
			at == UINT32_MAX ? NULL : timeline_function(c->timeline, at);

		if (!f || !*f->file || !user_code(f->file))
			continue;
		if (body && !strcmp(f->name, "<module>"))
			continue;
		*function = at;
		body = &frames[i];
		if (strcmp(f->name, "<module>") != 0)
			return body;
	}
	return body;
}

static void add_place(struct collect *c, const struct trace_frame *frame, uint32_t function,
		      int64_t ns)
{
	const struct place *f = timeline_function(c->timeline, function);
	uint32_t line = line_of(c, frame);
	size_t at = pair_map_find(&c->place_at, function, line);
	struct startup_place *grown;

	if (at == PAIR_NONE) {
		grown = array_grow(c->out->places, &c->cap, c->out->place_count + 1,
				   sizeof(*grown));
		if (grown)
			c->out->places = grown;
		at = c->out->place_count;
		if (!grown || pair_map_put(&c->place_at, function, line, at)) {
			c->failed = true;
			return;
		}
		c->out->place_count++;
		grown[at] = (struct startup_place){
			.name = f->name,
			.file = f->file,
			.line = line ? line : f->line,
		};
	}
	c->out->places[at].ns = stats_add(c->out->places[at].ns, ns);
}

static void take_sample(void *ctx, const struct timed_sample *s)
{
	struct collect *c = ctx;
	const struct trace_frame *frame;
	uint32_t function = 0;
	int64_t end_ns = s->end_ns < c->out->until_ns ? s->end_ns : c->out->until_ns;
	int64_t ns = end_ns - (s->start_ns > c->out->from_ns ? s->start_ns : c->out->from_ns);

	if (s->thread != c->thread || ns <= 0 || c->failed)
		return;
	c->out->parts_ns[part_of_stack(c, s->sample->stack)] += ns;
	frame = users_frame(c, s->sample->stack, &function);
	if (frame)
		add_place(c, frame, function, ns);
}

static int most_first(const void *a, const void *b)
{
	const struct startup_place *x = a, *y = b;
	int order;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->file, y->file);
	return order ? order : x->line < y->line ? -1 : 1;
}

/* The first thread of the process of the leading steps. */
static size_t first_thread(const struct analysis *a, const struct trace *t)
{
	size_t i = 0;

	while (i < trace_thread_count(t)) {
		size_t at = process_position(t, trace_thread(t, i)->process);

		if (at < trace_process_count(t) && trace_process(t, at)->pid == a->steps[0].pid)
			break;
		i++;
	}
	return i;
}

int startup_collect(struct analysis *a, struct timeline *tl, const struct trace *t, struct err *err)
{
	struct collect c = { .out = &a->startup, .timeline = tl, .trace = t };
	const struct sample_visitor visitor = { .ctx = &c, .sample = take_sample };
	const struct analysis_step *first = a->step_count ? &a->steps[0] : NULL;
	struct sample_walk walk; /* what is damaged is counted by sample_totals.c */
	int64_t known_ns = 0;
	int rc;

	if (!first)
		return 0;
	c.thread = first_thread(a, t);
	if (c.thread == trace_thread_count(t))
		return 0;
	a->startup.from_ns = timeline_thread(tl, c.thread)->start_ns;
	a->startup.until_ns = first->source == STEP_WHOLE_RUN ? first->begin_ns : first->first_ns;
	if (a->startup.until_ns <= a->startup.from_ns)
		return 0;
	idmap_init(&c.known);
	pair_map_init(&c.place_at);
	rc = sample_walk(&walk, t, &visitor, err);
	idmap_release(&c.known);
	pair_map_release(&c.place_at);
	if (rc || c.failed)
		return err_set(err, "out of memory");
	for (int i = 0; i < STARTUP_UNKNOWN; i++)
		known_ns += a->startup.parts_ns[i];
	if (!known_ns) /* no samples: nothing is known of it */
		return 0;
	a->startup.known = true;
	a->startup.parts_ns[STARTUP_UNKNOWN] = a->startup.until_ns - a->startup.from_ns - known_ns;
	if (a->startup.parts_ns[STARTUP_UNKNOWN] < 0)
		a->startup.parts_ns[STARTUP_UNKNOWN] = 0;
	if (a->startup.place_count)
		qsort(a->startup.places, a->startup.place_count, sizeof(*a->startup.places),
		      most_first);
	return 0;
}
