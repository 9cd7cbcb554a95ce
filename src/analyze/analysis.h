/*
 * The result of an analysis: a pure function of the trace.  Reports read this and nothing else, so
 * all formats agree.
 *
 * Strings are borrowed from the trace unless stated otherwise; the trace must outlive the
 * analysis.  Lists are in the order in which they are shown, which depends on nothing but their
 * content.
 */
#ifndef ANALYZE_ANALYSIS_H
#define ANALYZE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cpu/step_functions.h"
#include "analyze/cpu/torch_figures.h"
#include "analyze/figures/breakdown.h"
#include "analyze/figures/critical_path.h"
#include "analyze/figures/curve.h"
#include "analyze/cpu/crowd.h"
#include "analyze/figures/finding_figures.h"
#include "analyze/figures/gpu_figures.h"
#include "analyze/figures/host_log.h"
#include "analyze/figures/layer_figures.h"
#include "analyze/figures/memory_figures.h"
#include "analyze/figures/wait_figures.h"
#include "analyze/gpu/gpu_sections.h"
#include "analyze/gpu/step_gpu_usage.h"
#include "base/err.h"
#include "format/trace.h"

#define FRAMEWORKS_SHOWN 64u /* a hostile file may claim any number */

/* A package that the workload ran, of those that make models run. */
struct analysis_framework {
	char name[40];       /* as it is imported; longer ones are cut */
	const char *version; /* NULL: not known */
};

struct analysis_run {
	size_t command_count;
	const char **command; /* argv */
	const char *cwd;      /* NULL: not recorded, as for all of these */
	char *root;           /* that paths are relative to: analysis.h; owned */
	const char *python;   /* of the first Python process where the recorder did not say */
	const char *started;  /* RFC 3339, UTC */
	const char *clock;
	const char *recorder; /* version of inferscope that recorded */
	bool exit_known;
	int exit_status;
	bool gpu_recorded; /* what used a GPU would be here: it was asked for, and possible */
	double cpus;       /* that it might use; 0: not recorded */
	int64_t wall_ns;   /* of the recording; the latest time seen where its end is missing */
	char python_text[16];
	size_t framework_count;
	/* Each once; those that run models first, numpy last. */
	struct analysis_framework frameworks[FRAMEWORKS_SHOWN];
};

struct analysis_process {
	uint32_t pid;
	const char *name;
	bool is_main; /* the first to be recorded */
	size_t threads;
	uint64_t events; /* stored */
};

struct analysis_thread {
	uint32_t pid, tid;
	const char *name; /* "" where it has none */
	int64_t start_ns, end_ns;
	int64_t covered_ns; /* inside Python functions or collections: running or waiting there */
	bool timed;         /* the kernel's figures are known */
	int64_t on_cpu_ns;
	int64_t queued_ns;             /* ready, while another thread had the CPU */
	struct analysis_states states; /* by samples */
	struct analysis_absences absences;
	uint64_t events, lost, gaps;
};

/* All code with this name, file and line, in all processes. */
struct analysis_function {
	const char *name, *file;
	uint32_t line;
	uint64_t calls;     /* a generator's further segments are not calls */
	int64_t total_ns;   /* a recursive call inside another one is not counted twice */
	int64_t self_ns;    /* without called functions and collections */
	int64_t longest_ns; /* activation, or segment of a generator; 0: no call was recorded */
	bool waits;         /* its self time is waiting, see code_kind.h */
	bool throttled; /* of the trace, after so many calls: the rest is in its callers' time */
	/*
	 * Its calls, or those of functions that it called, were not recorded, or not all: its
	 * self time and, where its own were not, its total time are by samples, and chance
	 * moves the former by so much either way (95 %).
	 */
	bool sampled;
	int64_t self_error_ns;
	uint64_t samples; /* samples in which it was innermost and running */
	const struct analysis_line *lines;
	size_t line_count;
};

/* Of a function: where it was found running itself. */
struct analysis_line {
	uint32_t line;
	uint64_t samples;
	int64_t self_ns;
};

enum step_source { STEP_SCOPE, STEP_NVTX, STEP_LOOP, STEP_MODULE, STEP_WHOLE_RUN, STEP_REQUEST };

const char *step_source_name(enum step_source s); /* "whole-run": as in report.json */

/* How many steps there were at a time, of those without warm-up. */
struct step_service {
	double per_second;       /* from the begin of the first to the end of the last */
	double concurrency_mean; /* in flight, on average over that time */
	size_t concurrency_most;
	double busy_share; /* of that time: at least one was in flight */
};

/* The scopes or NVTX ranges of one name in one process; or, without any, a part of the run. */
struct analysis_step {
	const char *name;
	const char *domain; /* of NVTX, "": the default one; NULL: it is none of NVTX's */
	enum step_source source;
	uint32_t pid;     /* of several processes the first one's */
	size_t processes; /* that they are of */
	uint32_t depth;   /* typical number of scopes around it; of loops */
	bool has_steps;   /* it was found, and others lie inside it */
	bool piped;       /* it was found in a library's pipeline */
	uint32_t call_of; /* a found one begins with a call of this function: index + 1; 0: of none
			   */
	uint32_t loop_of; /* ... that this one makes: index + 1; 0: none does, or unknown */
	/* Without steps: a model was seen in so many of INTERVAL_PARTS of it, steps.h; 0:
	 * none
	 */
	unsigned model_parts;
	size_t count;     /* with begin and end, warm-up included */
	size_t unended;   /* without an end: not in any figure */
	size_t warmup;    /* the first ones, omitted from the figures below */
	int64_t first_ns; /* the begin of the first one that ended, warm-up included */
	int64_t begin_ns; /* of the first one that is not */
	int64_t until_ns; /* the end of the last one */
	int64_t total_ns; /* of all that ended */
	double mean_ns;
	int64_t p50_ns, p95_ns, p99_ns, max_ns; /* stats.h defines percentiles */
	struct step_service service;
	struct gpu_step_figures gpu;
	struct step_breakdown breakdown;
	struct memory_step_figures memory;
	size_t first_item, item_count; /* private: of the struct step_items */
};

/* What a program does before its first step (steps/startup.h). */
enum startup_part {
	STARTUP_IMPORTS,
	STARTUP_WEIGHTS,
	STARTUP_COMPILE,
	STARTUP_DEVICE,
	STARTUP_NETWORK,
	STARTUP_OTHER,
	STARTUP_UNKNOWN,
};

#define STARTUP_PARTS (STARTUP_UNKNOWN + 1)

/* The user's function in which it was, imports and all that it calls included. */
struct startup_place {
	const char *name, *file;
	uint32_t line;
	int64_t ns;
};

struct analysis_startup {
	bool known;
	int64_t from_ns, until_ns;       /* the process began, its first step did */
	int64_t parts_ns[STARTUP_PARTS]; /* that add up to it */
	size_t place_count;
	struct startup_place *places; /* most time first */
};

enum candidate_outcome { CANDIDATE_LEADS, CANDIDATE_SHOWN, CANDIDATE_LOST };

/* What may have been the step, and why it is or is not (steps/step_choice.c). */
struct analysis_candidate {
	const char *name;
	const char *domain;   /* as in analysis_step */
	const char *found_by; /* "marks", "models", ... */
	const char *because;
	uint32_t pid;
	size_t count;
	double mean_ns;
	double score; /* the most leads, unless `because` says otherwise */
	enum candidate_outcome outcome;
};

/* NVTX ranges of one name, domain, category and kind, in all processes. */
struct analysis_nvtx_range {
	const struct trace_nvtx *what;
	uint64_t count;   /* that ended */
	uint64_t unended; /* not in any figure */
	int64_t total_ns; /* of all that ended */
	int64_t self_ns;  /* without the ranges and scopes inside it */
	int64_t longest_ns;
	/* Device time of what was launched inside, of those of which it is known; 0: of none. */
	uint64_t gpu_count;
	int64_t gpu_ns;
	bool throttled; /* of the trace, for the budget's sake, after so many or now and then */
};

struct analysis_mark {
	const char *name;
	const char *domain; /* as in analysis_step */
	uint64_t count;
};

/* The values of one name in one process; those that are no numbers are omitted. */
struct analysis_counter {
	const char *name;
	uint32_t pid;
	uint64_t count;
	double min, mean, max;
	double last; /* by time */
};

#define GC_GENERATIONS 3

struct analysis_gc {
	uint64_t count;
	uint64_t by_generation[GC_GENERATIONS]; /* unknown generations count as the last */
	uint64_t collected;                     /* objects */
	int64_t total_ns, longest_ns;
};

/* --verify-overhead */
struct analysis_verified {
	size_t pairs;            /* of runs with and without recording; 0: it was not asked for */
	double ratio, low, high; /* of their times: the median, the extremes */
};

struct analysis_trust {
	struct analysis_verified verified;
	uint64_t events, dropped;
	uint64_t gaps;
	uint64_t displaced; /* times that another tool took a thread's calls */
	int64_t gap_ns;     /* of all threads: their functions are unknown */
	bool overhead_known;
	double overhead_share;       /* of the time without it, for the process that it cost most */
	double gpu_overhead_share;   /* of it: launches, copies and memsets */
	double graph_overhead_share; /* of it: nodes of CUDA graphs */
	double untraced_share;       /* of the time of all threads that they take; by samples */
	uint64_t throttled_functions; /* traced no longer, for the budget's sake */
	uint64_t throttled_nvtx;      /* kinds of NVTX ranges and marks, likewise */
	uint64_t unwound; /* spans whose end by an exception was not recorded, likewise */
	uint64_t pauses;  /* of the recording of a thread's calls, for the budget's sake */
	double calls_recorded_share; /* of the threads' time: without those pauses */
	uint64_t samples;            /* samples of threads that run Python */
	double sample_hz;            /* samples per second and thread, on average; 0: none */
	double unstable_share;       /* of the samples: the innermost function is uncertain */
	uint64_t repaired, open_start, open_end; /* spans, see timeline.h */
	uint64_t backwards;
	uint64_t unknown_names;
	uint64_t lost_scope_begins, unended_scopes;
	int64_t clock_error_ns; /* between host and GPU, the worst process'; -1: no bound is known
				 */
	uint64_t causality_violations_before, causality_violations; /* by merging the clocks */
	uint64_t unmatched_launches, unmatched_activities, untimed_activities;
	uint64_t ambiguous_activities, malformed_gpu_records;
	uint64_t cupti_dropped;
	int64_t cupti_overhead_ns; /* as CUPTI says */
	double read_share;         /* of the file; below 1 where the memory limit ended reading */
	bool partial;              /* a part of the file could not be read, or its end is missing */
	size_t note_count;
	size_t serious_notes; /* the first ones; the others say what most runs leave out, to be
				 cheap */
	char **notes;         /* for the user: the recorder's first, then the analysis' own */
};

/* What pages that draw single events may show: set by who writes them, before that. */
struct analysis_drawing {
	size_t timeline_bytes; /* of a page; 0: no timeline */
	bool source;           /* lines of the user's source files */
};

struct analysis {
	struct analysis_drawing drawing;
	const struct trace *trace; /* borrowed: for what is drawn event by event */
	struct analysis_run run;
	struct analysis_verdict verdict; /* these two: rules/judge.h fills them in */
	struct analysis_findings findings;
	struct analysis_critical_path critical_path; /* likewise */
	size_t process_count;
	struct analysis_process *processes; /* in order of appearance */
	size_t thread_count;
	struct analysis_thread *threads; /* in order of appearance */
	size_t function_count;
	size_t working_count;                /* the first ones; the others wait */
	struct analysis_function *functions; /* most self time first, those that wait last */
	struct analysis_line *lines;         /* of all functions; those of one most samples first */
	struct step_functions in_steps;      /* by samples */
	struct crowd crowd;
	size_t step_count;
	/* Most important first: outermost, those found innermost, longest in total. */
	struct analysis_step *steps;
	/* The single steps that the figures are made of: kind by kind, in order of time. */
	struct step_items step_items;
	struct host_log host_log; /* what a replay of the leading steps is made from */
	struct arena step_names;  /* of steps that were detected, not marked */
	size_t candidate_count;
	struct analysis_candidate *candidates; /* the one that leads first, shown ones, others */
	const char *steps_are; /* what the first kind of step is; NULL: none was found */
	struct analysis_startup startup;
	struct step_gpu_usage use; /* what the first kind of steps did with its GPU */
	size_t nvtx_count;
	struct analysis_nvtx_range *nvtx; /* most time first */
	size_t mark_count;
	struct analysis_mark *marks; /* most frequent first */
	size_t counter_count;
	struct analysis_counter *counters; /* by name, then in order of the processes */
	struct analysis_waits gil;         /* for the interpreter's lock */
	struct analysis_waits locks;       /* for other locks; not for conditions and the like */
	struct analysis_native native;
	struct analysis_gc gc;
	struct analysis_gpu gpu;
	struct analysis_layers layers;
	struct analysis_torch torch;
	struct analysis_memory memory;
	struct analysis_curves *curves; /* for drawing; NULL: none */
	bool undrawn;                   /* as in the options */
	struct analysis_trust trust;
};

int analysis_new(struct analysis **out, const struct trace *t, struct err *err);

struct analysis_options {
	const char *step; /* the name of the step that is to lead; NULL: the best candidate */
	bool undrawn;     /* no timeline will be drawn: what only that needs is not kept */
};

/* Likewise; -1 also where there is no such step: the text lists those there are. */
int analysis_new_with(struct analysis **out, const struct trace *t,
		      const struct analysis_options *options, struct err *err);
void analysis_free(struct analysis *a); /* NULL is a no-op */

/* The folder that the paths of a program's own files are relative to. */

/*
 * The working directory (may be NULL); where the script lies elsewhere, the script's folder, for
 * its modules lie beside it.  *root is the caller's to free, NULL: neither is known.  One folder
 * and no more: two files below it never look the same.  -1: no memory.
 */
int source_root(char **root, const char *const *command, size_t count, const char *cwd);

#endif
