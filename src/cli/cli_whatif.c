/* inferscope whatif: how long would a step take with something changed? */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/figure_text.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/read_limit.h"
#include "cli/report_output.h"
#include "import/import.h"
#include "replay/replay.h"

#define WHATIF_SCHEMA 1
#define EDITS_MOST 100u
#define FACTOR_MOST 1e9

/* An edit with the words that it was asked for with. */
struct asked {
	const struct setting *setting;
	const char *text;
	char *target; /* of "TARGET=2" what stands before it; owned */
	double times; /* the 2; 0: none */
};

struct whatif {
	const struct config *config;
	struct asked asked[EDITS_MOST];
	struct replay_edit edits[EDITS_MOST];
	size_t count;
};

static const struct {
	const struct setting *setting;
	enum replay_edit_kind kind;
	bool has_factor;
} options[] = {
	{ &setting_free, REPLAY_FASTER, false },
	{ &setting_faster, REPLAY_FASTER, true },
	{ &setting_remove, REPLAY_FASTER, false },
	{ &setting_graph, REPLAY_GRAPH, false },
	{ &setting_pin, REPLAY_PIN, false },
	{ &setting_async_copy, REPLAY_ASYNC_COPY, false },
	{ &setting_remove_sync, REPLAY_REMOVE_SYNC, false },
	{ &setting_overlap, REPLAY_OVERLAP, false },
	{ &setting_speedup, REPLAY_KERNEL, true },
};

static const struct {
	const char *name;
	uint32_t classes;
} removable[] = {
	{ "allocation", 1u << TIME_ALLOCATION },
	{ "compile", 1u << TIME_COMPILE | 1u << TIME_MODEL_LOAD },
	{ "gc", 1u << TIME_GC },
	{ "gil", 1u << TIME_GIL_WAIT },
	{ "io", 1u << TIME_IO_WAIT },
	{ "locks", 1u << TIME_LOCK_WAIT },
	{ "sleep", 1u << TIME_SLEEP },
};

static int set_removed(struct replay_edit *e, const char *text, struct err *err)
{
	for (size_t i = 0; i < sizeof(removable) / sizeof(*removable); i++) {
		if (!strcmp(removable[i].name, text)) {
			e->classes = removable[i].classes;
			return 0;
		}
	}
	return err_set(err,
		       "--remove: expected allocation, compile, gc, gil, io, locks or sleep, "
		       "not '%.100s'",
		       text);
}

/* "TARGET=2.5" */
static int split_factor(struct asked *a, struct replay_edit *e, struct err *err)
{
	char *equals = strrchr(a->target, '='), *end;

	if (equals) {
		a->times = strtod(equals + 1, &end);
		if (end != equals + 1 && !*end && a->times > 0 && a->times <= FACTOR_MOST &&
		    equals > a->target) {
			*equals = 0;
			e->factor = 1 / a->times;
			return 0;
		}
	}
	return err_set(err,
		       "%s: expected a name and how many times faster, such as %s=2, not "
		       "'%.100s'",
		       a->setting->flag, e->kind == REPLAY_KERNEL ? "gemm" : "preprocess", a->text);
}

/* "all", "41", "serve.py", "serve.py:41" or "preprocess" */
static void set_target(struct replay_edit *e, char *target)
{
	char *colon = strrchr(target, ':');

	if (!strcmp(target, "all"))
		return;
	if (target[strspn(target, "0123456789")] == 0) {
		e->line = (uint32_t)strtoul(target, NULL, 10);
	} else if (colon && colon[1] && colon[1 + strspn(colon + 1, "0123456789")] == 0) {
		*colon = 0;
		e->file = target;
		e->line = (uint32_t)strtoul(colon + 1, NULL, 10);
	} else if (strlen(target) > 3 && !strcmp(target + strlen(target) - 3, ".py")) {
		e->file = target;
	} else {
		e->name = target;
	}
}

static int add_edit(struct whatif *w, size_t option, const char *text, struct err *err)
{
	struct asked *a = &w->asked[w->count];
	struct replay_edit *e = &w->edits[w->count];

	if (w->count == EDITS_MOST)
		return err_set(err, "whatif: more than %u changes at once", EDITS_MOST);
	*a = (struct asked){ options[option].setting, text, strdup(text), 0 };
	*e = (struct replay_edit){ .kind = options[option].kind };
	w->count++;
	if (!a->target)
		return err_set(err, "out of memory");
	if (a->setting == &setting_remove)
		return set_removed(e, text, err);
	if (options[option].has_factor && split_factor(a, e, err))
		return -1;
	if (!*a->target)
		return err_set(err, "%s: expected a function, a line or all", a->setting->flag);
	if (e->kind == REPLAY_KERNEL)
		e->name = strcmp(a->target, "all") ? a->target : NULL;
	else
		set_target(e, a->target);
	return 0;
}

static int parse_edits(struct whatif *w, struct err *err)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		for (size_t k = 0; k < config_list_count(w->config, options[i].setting); k++)
			if (add_edit(w, i, config_list(w->config, options[i].setting, k), err))
				return -1;
	if (!w->count)
		return err_set(err, "whatif: nothing to change; for example --free FUNCTION or "
				    "--remove-sync LINE");
	return 0;
}

static void release_edits(struct whatif *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->asked[i].target);
}

static void suggest(void *ctx, const char *name)
{
	const char *dot = name ? strrchr(name, '.') : NULL;

	suggest_push(ctx, name);
	if (dot)
		suggest_push(ctx, dot + 1);
}

/* Why an edit applied to nothing, and what may have been meant. */
static int complain_of_edit(const struct whatif *w, const struct replay *r, size_t at)
{
	const struct asked *a = &w->asked[at];
	const struct replay_edit *e = &w->edits[at];
	struct suggest near;

	if (a->setting == &setting_remove)
		return complain(EXIT_USAGE, "--remove: the steps have no time of '%s'", a->text);
	if (e->kind == REPLAY_KERNEL && !replay_quality(r)->gpu)
		return complain(EXIT_USAGE, "--speedup: the steps have no GPU work");
	if (!e->name && !e->file && !e->line)
		return complain(EXIT_USAGE, "%s: the steps contain nothing of this kind",
				a->setting->flag);
	if (!e->name)
		return complain(EXIT_USAGE, "%s: nothing in the steps applies at '%s'",
				a->setting->flag, a->text);
	suggest_init(&near, e->name);
	replay_names(r, e->kind, suggest, &near);
	if (near.best && strcmp(near.best, e->name) != 0)
		return complain(EXIT_USAGE, "%s: no %s '%s' in the steps; did you mean '%s'?",
				a->setting->flag, e->kind == REPLAY_KERNEL ? "kernel" : "function",
				e->name, near.best);
	return complain(EXIT_USAGE, "%s: %s '%s' in the steps%s", a->setting->flag,
			near.best                  ? "nothing of this kind in"
			: e->kind == REPLAY_KERNEL ? "no kernel"
						   : "no function",
			e->name, near.best ? "" : "; `inferscope analyze` lists them");
}

static bool is_reliable(const struct replay_quality *q)
{
	return q->step_error <= REPLAY_STEP_ERROR && q->idle_error <= REPLAY_IDLE_ERROR;
}

static void put_ms(struct json *j, const char *key, double ns)
{
	json_key(j, key);
	json_fixed(j, ns / 1e6, 6);
}

static void put_edit(struct json *j, const struct asked *a, const struct replay_edit *e)
{
	json_object_begin(j);
	json_key(j, "edit");
	json_string(j, a->setting->flag + 2);
	json_key(j, "where");
	json_string(j, a->text);
	json_key(j, "factor");
	if (a->times > 0)
		json_double(j, a->times);
	else
		json_null(j);
	json_key(j, "assumes");
	json_string(j, replay_edit_assumption(e->kind));
	json_object_end(j);
}

static void put_quality(struct json *j, const struct replay_quality *q)
{
	json_key(j, "replay");
	json_object_begin(j);
	json_key(j, "step_error_share");
	json_fixed(j, q->step_error, 6);
	json_key(j, "gpu_idle_error_share");
	if (q->gpu)
		json_fixed(j, q->idle_error, 6);
	else
		json_null(j);
	json_key(j, "unknown_share");
	json_fixed(j, q->unknown_share, 6);
	json_key(j, "with_work_left");
	json_bool(j, q->behind);
	json_key(j, "reliable");
	json_bool(j, is_reliable(q));
	json_object_end(j);
}

static void put_json(struct buf *out, const struct whatif *w, const char *step,
		     const struct replay_quality *q, const struct replay_result *r)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_object_begin(&j);
	json_key(&j, "schema");
	json_uint(&j, WHATIF_SCHEMA);
	json_key(&j, "step");
	json_string(&j, step);
	json_key(&j, "steps");
	json_uint(&j, r->steps);
	json_key(&j, "edits");
	json_array_begin(&j);
	for (size_t i = 0; i < w->count; i++)
		put_edit(&j, &w->asked[i], &w->edits[i]);
	json_array_end(&j);
	put_ms(&j, "measured_ms", r->measured_ns);
	put_ms(&j, "replayed_ms", r->unchanged_ns);
	put_ms(&j, "predicted_ms", r->predicted_ns);
	put_ms(&j, "saving_ms", r->saving_ns);
	put_ms(&j, "saving_low_ms", r->low_ns);
	put_ms(&j, "saving_high_ms", r->high_ns);
	json_key(&j, "saving_share");
	json_fixed(&j, r->unchanged_ns > 0 ? r->saving_ns / r->unchanged_ns : 0, 6);
	put_ms(&j, "gpu_idle_ms", q->gpu ? r->idle_ns : NAN);
	put_ms(&j, "gpu_idle_predicted_ms", q->gpu ? r->idle_predicted_ns : NAN);
	put_quality(&j, q);
	json_object_end(&j);
	buf_add_str(out, "\n");
}

static void put_text(struct buf *out, const struct whatif *w, const char *step,
		     const struct replay_quality *q, const struct replay_result *r)
{
	char before[TEXT_FIGURE], after[TEXT_FIGURE], saving[TEXT_FIGURE], low[TEXT_FIGURE];
	char high[TEXT_FIGURE], share[TEXT_FIGURE];
	bool slower = r->saving_ns < 0;

	buf_add_str(out, step);
	buf_printf(out, ": %s -> %s a step, %s (%s) %s", text_duration(before, r->unchanged_ns),
		   text_duration(after, r->predicted_ns), text_duration(saving, fabs(r->saving_ns)),
		   text_share(share, fabs(r->saving_ns), r->unchanged_ns),
		   slower ? "slower" : "saved");
	if (q->behind)
		buf_add_str(out, ", with the work that steps leave to the GPU");
	if (!slower)
		buf_printf(out, "; 80 %% interval %s to %s",
			   text_duration(low, r->low_ns > 0 ? r->low_ns : 0),
			   text_duration(high, r->high_ns > 0 ? r->high_ns : 0));
	if (q->gpu)
		buf_printf(out, "; GPU idle %s -> %s", text_duration(before, r->idle_ns),
			   text_duration(after, r->idle_predicted_ns));
	buf_add_str(out, "\n");
	for (size_t i = 0; i < w->count; i++)
		buf_printf(out, "  %s %s assumes: %s\n", w->asked[i].setting->flag,
			   w->asked[i].text, replay_edit_assumption(w->edits[i].kind));
	if (!is_reliable(q))
		buf_printf(out,
			   "  Not reliable: an unchanged replay is off by %.1f %% of the step and "
			   "%.1f %% of the GPU's idle time\n",
			   100 * q->step_error, 100 * q->idle_error);
}

static int answer(const struct whatif *w, const struct analysis *a, const struct replay *r,
		  const char *path, struct err *err)
{
	const struct replay_quality *q = replay_quality(r);
	struct replay_result result;
	struct buf out;
	int status;

	if (!q->steps)
		return complain(EXIT_INPUT,
				"%s: no steps were recorded completely; mark them with "
				"inferscope.scope() (docs/USAGE.md), or choose others with --step",
				path);
	if (replay_predict(r, w->edits, w->count, &result, err))
		return complain(EXIT_INPUT, "%s", err->text);
	if (result.missed < w->count)
		return complain_of_edit(w, r, result.missed);
	buf_init(&out);
	if (config_flag(w->config, &setting_json))
		put_json(&out, w, a->steps[0].name, q, &result);
	else
		put_text(&out, w, a->steps[0].name, q, &result);
	if (out.failed) {
		status = complain(EXIT_INPUT, "out of memory");
	} else {
		fwrite(out.data, 1, out.len, stdout);
		status = report_output_stdout(EXIT_OK);
	}
	buf_release(&out);
	return status;
}

static int replay_trace(const struct whatif *w, const char *path)
{
	const struct analysis_options of = { .step = config_text(w->config, &setting_step),
					     .undrawn = true };
	struct analysis *a = NULL;
	struct trace *trace = NULL;
	struct replay *r = NULL;
	struct read_limit limit;
	struct err err;
	int status;

	read_limit_begin(&limit, w->config);
	if (import_open(&trace, path, UINT64_MAX, &err) ||
	    analysis_new_with(&a, trace, &of, &err) || replay_new(&r, a, &err))
		status = complain(report_output_misses_step(&err) ? EXIT_USAGE : EXIT_INPUT, "%s",
				  err.text);
	else
		status = answer(w, a, r, path, &err);
	replay_free(r);
	analysis_free(a);
	trace_close(trace);
	read_limit_end(&limit);
	return status;
}

static int run_whatif(const struct command *self, int argc, char **argv)
{
	struct whatif w = { 0 };
	struct config *c;
	struct err err;
	bool dashes;
	int first, status;

	if (config_load(&c, self->scope, argc, argv, &first, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	w.config = c;
	if (first == argc)
		status = complain(EXIT_USAGE,
				  "whatif: no trace given; whatif TRACE --free FUNCTION");
	else if (argc - first > 1)
		status = complain(EXIT_USAGE, "whatif: one trace at a time; unexpected '%s'",
				  argv[first + 1]);
	else if (parse_edits(&w, &err))
		status = complain(EXIT_USAGE, "%s", err.text);
	else {
		print_used_files(c, NULL);
		status = replay_trace(&w, argv[first]);
	}
	release_edits(&w);
	config_free(c);
	return status;
}

const struct command command_whatif = {
	.name = "whatif",
	.operands = "TRACE --free WHERE [options]",
	.summary = "how long a step would take with something changed",
	.details =
		"Replays the steps of TRACE with changes and prints how long they would take, "
		"with\n"
		"an 80 % interval. Several changes are replayed together, which is not the sum of\n"
		"each alone. docs/WHATIF.md lists the assumptions of each.\n\n"
		"WHERE is a function (preprocess, Pipeline.run), a line (41, serve.py:41), a file\n"
		"(serve.py) or all. A function includes what it calls.\n\n"
		"Exit status 2: a change applies to nothing in the steps; 1: the trace cannot be\n"
		"read, or has no steps.",
	.scope = SETTING_FOR_WHATIF,
	.run = run_whatif,
};
