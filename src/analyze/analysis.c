#include "analyze/analysis.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/breakdown/breakdown_collect.h"
#include "analyze/cpu/function_totals.h"
#include "analyze/cpu/nvtx_figures.h"
#include "analyze/cpu/sample_totals.h"
#include "analyze/cpu/step_functions.h"
#include "analyze/cpu/thread_states.h"
#include "analyze/figures/curve.h"
#include "analyze/gpu/gpu_steps.h"
#include "analyze/memory/memory_collect.h"
#include "analyze/steps/startup.h"
#include "analyze/steps/steps.h"
#include "analyze/trust.h"
#include "base/figure_text.h"
#include "timeline/functions.h"
#include "timeline/timeline.h"

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !memcmp(text + n - m, end, m);
}

static bool lies_in(const char *file, const char *folder, size_t n)
{
	return n && !strncmp(file, folder, n) && file[n] == '/';
}

/* The first argument that is a program of the user's. */
static const char *find_script(struct buf *path, const char *const *command, size_t count,
			       const char *cwd)
{
	const char *found = NULL;
	struct buf whole;

	buf_init(&whole);
	for (size_t i = 0; i < count && !found; i++) {
		if (!ends_with(command[i], ".py") || (command[i][0] != '/' && !cwd))
			continue;
		buf_clear(&whole);
		if (command[i][0] != '/')
			buf_printf(&whole, "%s/", cwd);
		buf_add_str(&whole, command[i]);
		buf_clear(path);
		plain_path_add(path, buf_string(&whole));
		if (user_code(buf_string(path)))
			found = buf_string(path);
	}
	path->failed |= whole.failed;
	buf_release(&whole);
	return found;
}

int source_root(char **root, const char *const *command, size_t count, const char *cwd)
{
	size_t n = cwd ? strlen(cwd) : 0;
	struct buf path;
	const char *script;
	int rc;

	*root = NULL;
	buf_init(&path);
	script = find_script(&path, command, count, cwd);
	while (n && cwd[n - 1] == '/')
		n--;
	if (script && !lies_in(script, cwd, n))
		*root = strndup(script, (size_t)(strrchr(script, '/') - script));
	else if (cwd)
		*root = strdup(cwd);
	rc = path.failed || ((script || cwd) && !*root) ? -1 : 0;
	buf_release(&path);
	return rc;
}

#define COMMAND_MAX 4096 /* arguments shown; a hostile file may claim any number */

/* PY_VERSION_HEX without its release level: 0x030c01f0 is 3.12.1. */
static const char *python_of(struct analysis_run *run, const struct trace *t)
{
	for (size_t i = 0; i < trace_process_count(t); i++) {
		uint32_t v = trace_process(t, i)->python_version;

		if (!v)
			continue;
		snprintf(run->python_text, sizeof(run->python_text), "%u.%u.%u", v >> 24,
			 v >> 16 & 0xff, v >> 8 & 0xff);
		return run->python_text;
	}
	return NULL;
}

/* What runs models comes first, what nearly every program has comes last. */
static int framework_rank(const char *name)
{
	static const char *const runs_models[] = {
		"ctranslate2", "diffusers",    "jax",          "keras",  "llama_cpp",
		"onnxruntime", "openvino",     "paddle",       "sglang", "tensorflow",
		"tensorrt",    "tensorrt_llm", "transformers", "torch",  "vllm",
	};

	for (size_t i = 0; i < sizeof(runs_models) / sizeof(*runs_models); i++)
		if (!strcmp(name, runs_models[i]))
			return 0;
	return !strcmp(name, "numpy") ? 2 : 1;
}

static int by_framework(const void *a, const void *b)
{
	const struct analysis_framework *x = a, *y = b;
	int order = framework_rank(x->name) - framework_rank(y->name);

	return order ? order : strcmp(x->name, y->name);
}

/* "torch 2.11.0", or "torch" where the version is not known.  The first of a name counts. */
static void collect_frameworks(struct analysis_run *run, const struct trace *t)
{
	for (size_t i = 0; i < trace_info_count(t) && run->framework_count < FRAMEWORKS_SHOWN;
	     i++) {
		struct analysis_framework *f = &run->frameworks[run->framework_count];
		const char *fact = trace_info_value(t, i);
		size_t at = 0, n = strcspn(fact, " ");

		if (strcmp(trace_info_key(t, i), "framework") != 0)
			continue;
		snprintf(f->name, sizeof(f->name), "%.*s", (int)(n < 100 ? n : 100), fact);
		f->version = fact[n] && fact[n + 1] ? fact + n + 1 : NULL;
		while (strcmp(run->frameworks[at].name, f->name) != 0)
			at++;
		run->framework_count += at == run->framework_count;
	}
	qsort(run->frameworks, run->framework_count, sizeof(*run->frameworks), by_framework);
}

static double cpus_recorded(const struct trace *t)
{
	const char *text = trace_info(t, "cpus", 0);
	double cpus = text ? strtod(text, NULL) : 0;

	return isfinite(cpus) && cpus > 0 ? cpus : 0;
}

static int collect_run(struct analysis_run *run, const struct trace *t)
{
	const struct trace_end *end = trace_end(t);
	const char *gpu;

	run->command = calloc(COMMAND_MAX, sizeof(*run->command));
	if (!run->command)
		return -1;
	for (size_t i = 0; i < trace_info_count(t) && run->command_count < COMMAND_MAX; i++)
		if (!strcmp(trace_info_key(t, i), "command"))
			run->command[run->command_count++] = trace_info_value(t, i);
	run->cpus = cpus_recorded(t);
	run->cwd = trace_info(t, "cwd", 0);
	if (source_root(&run->root, run->command, run->command_count, run->cwd))
		return -1;
	run->python = trace_info(t, "python", 0);
	if (!run->python)
		run->python = python_of(run, t);
	collect_frameworks(run, t);
	run->started = trace_info(t, "started", 0);
	run->clock = trace_info(t, "clock", 0);
	run->recorder = trace_info(t, "inferscope.version", 0);
	gpu = trace_info(t, "gpu", 0);
	run->gpu_recorded = gpu && !strcmp(gpu, "on");
	run->exit_known = end && end->exit_status >= 0 && end->exit_status <= 255;
	run->exit_status = run->exit_known ? end->exit_status : 0;
	run->wall_ns = end && end->wall_ns > 0 ? end->wall_ns : 0;
	return 0;
}

static int collect_processes(struct analysis *a, const struct trace *t)
{
	size_t n = trace_process_count(t);

	a->processes = calloc(n + 1, sizeof(*a->processes));
	if (!a->processes)
		return -1;
	a->process_count = n;
	for (size_t i = 0; i < n; i++) {
		const struct trace_process *p = trace_process(t, i);

		a->processes[i].pid = p->pid;
		a->processes[i].name = p->name;
		a->processes[i].is_main = i == 0;
	}
	return 0;
}

static int collect_threads(struct analysis *a, const struct timeline *tl,
			   const struct sample_totals *samples, const struct trace *t)
{
	size_t n = trace_thread_count(t);
	bool ended = trace_end(t) != NULL;

	a->threads = calloc(n + 1, sizeof(*a->threads));
	if (!a->threads)
		return -1;
	a->thread_count = n;
	for (size_t i = 0; i < n; i++) {
		const struct thread_counts *totals = timeline_thread(tl, i);
		const struct trace_thread *thread = trace_thread(t, i);
		size_t process = process_position(t, thread->process);
		struct analysis_process *p =
			process < a->process_count ? &a->processes[process] : NULL;

		a->threads[i] = (struct analysis_thread){
			.pid = p ? p->pid : 0,
			.tid = thread->tid,
			.name = thread->name,
			.start_ns = totals->start_ns,
			.end_ns = totals->end_ns,
			/* Samples do not see when calls pause. */
			.covered_ns = totals->covered_ns > samples->thread_ns[i]
					      ? totals->covered_ns
					      : samples->thread_ns[i],
			.timed = thread->timed,
			.on_cpu_ns = thread->on_cpu_ns,
			.queued_ns = thread->queued_ns,
			.events = totals->events,
			.lost = totals->lost,
			.gaps = totals->gaps,
		};
		if (p) {
			p->threads++;
			p->events += totals->events;
		}
		if (!ended && totals->end_ns > a->run.wall_ns)
			a->run.wall_ns = totals->end_ns;
	}
	return 0;
}

static const struct analysis_verdict not_judged = {
	.bound = "unknown",
	.because = "not judged",
};

int analysis_new(struct analysis **out, const struct trace *t, struct err *err)
{
	return analysis_new_with(out, t, &(struct analysis_options){ 0 }, err);
}

int analysis_new_with(struct analysis **out, const struct trace *t,
		      const struct analysis_options *options, struct err *err)
{
	struct analysis *a = calloc(1, sizeof(*a));
	struct timeline *tl = NULL;
	struct timeline_visitor visitor;
	struct sample_totals samples = { 0 };
	struct gpu_steps gpu_steps = { 0 };
	struct step_items items = { 0 }; /* in the order and number that the breakdown needs */
	struct series_table series = { 0 };
	struct cuda_memory_calls calls = { 0 };
	struct memory_sources memory = { &series, &calls, NULL };
	struct batching_sleeps sleeps = { 0 };
	const struct step_sources from = { &gpu_steps, &memory, &sleeps };
	struct function_totals function_totals;
	struct gpu_reader *gpu_reader;
	int rc = -1;

	if (!a)
		return err_set(err, "out of memory");
	a->undrawn = options->undrawn;
	function_totals_init(&function_totals, t, &a->gpu);
	memory.gpu = &a->gpu;
	/* The walk hands what was launched to the layers; where there are none, it reads the GPU
	 * too. */
	if ((trace_has_layers(t) ? gpu_sections_collect(&a->gpu, t, err)
				 : gpu_reader_new(&function_totals.gpu_reader, t, err)) ||
	    timeline_new(&tl, t, err))
		goto out;
	visitor = function_totals_visitor(&function_totals, tl);
	if (timeline_walk(tl, &visitor, err))
		goto out;
	gpu_reader = function_totals.gpu_reader;
	function_totals.gpu_reader = NULL;
	if ((gpu_reader && gpu_sections_take(&a->gpu, t, gpu_reader, err)) ||
	    sample_totals_take(&samples, t, tl, NULL, function_totals.functions,
			       function_totals.function_cap, err) ||
	    series_table_read(&series, t, err) || batching_sleeps_find(&sleeps, tl, t, err))
		goto out;
	err_set(err, "out of memory");
	if (gpu_steps_init(&gpu_steps, &a->gpu, tl) ||
	    cuda_memory_calls_init(&calls, a->gpu.timeline))
		goto out;
	if (collect_run(&a->run, t) || collect_processes(a, t) ||
	    collect_threads(a, tl, &samples, t) ||
	    function_totals_finish(&function_totals, a, tl, &samples, t) ||
	    steps_collect(a, tl, &function_totals.finder, &from, t, options->step, &a->step_items,
			  err) ||
	    startup_collect(a, tl, t, err) || thread_states_collect(a, t, err) ||
	    step_gpu_usage_collect(a, &a->step_items) || memory_collect(a, &memory, t) ||
	    curves_collect(a, &a->step_items, &series))
		goto out;
	crowd_measure(&a->crowd, a);
	if (nvtx_figures_collect(a, tl, &gpu_steps) ||
	    torch_figures_collect(&a->torch, tl, &gpu_steps, t) ||
	    trust_collect(a, tl, &samples, &series, t) ||
	    breakdown_collect(a, tl, &items, &samples, &sleeps, t, err) ||
	    step_functions_collect(&a->in_steps, a, t, tl, &samples, err))
		goto out;
	a->verdict = not_judged;
	a->trace = t;
	*out = a;
	a = NULL; /* the caller owns it now */
	rc = 0;
out:
	function_totals_release(&function_totals);
	gpu_steps_release(&gpu_steps);
	free(items.items);
	batching_sleeps_release(&sleeps);
	cuda_memory_calls_release(&calls);
	series_table_release(&series);
	sample_totals_release(&samples);
	timeline_free(tl);
	analysis_free(a);
	return rc;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->trust.note_count; i++)
		free(a->trust.notes[i]);
	free(a->trust.notes);
	free(a->run.command);
	free(a->run.root);
	free(a->processes);
	free(a->threads);
	free(a->functions);
	free(a->lines);
	step_functions_release(&a->in_steps);
	for (size_t i = 0; i < a->step_count; i++)
		step_breakdown_release(&a->steps[i].breakdown);
	free(a->steps);
	free(a->step_items.items);
	host_log_release(&a->host_log);
	critical_path_release(&a->critical_path);
	arena_release(&a->step_names);
	free(a->candidates);
	free(a->startup.places);
	free(a->nvtx);
	free(a->marks);
	free(a->counters);
	free(a->gil.items);
	free(a->locks.items);
	free(a->native.rows);
	arena_release(&a->native.texts);
	analysis_layers_release(&a->layers);
	torch_figures_release(&a->torch);
	gpu_sections_release(&a->gpu);
	analysis_memory_release(&a->memory);
	analysis_findings_release(&a->findings);
	free(a->curves);
	free(a);
}
