/*
 * Assigns every moment of the time of each thread to one class (breakdown.h defines them), for the
 * steps in progress and for the gaps of the GPU that the thread ended.
 *
 * Tracks and Python calls are all in order of time: one cursor moves through each, and between two
 * changes of any of them nothing changes.  Steps take differences of running sums, so memory grows
 * with the number of concurrent steps.
 */
#ifndef ANALYZE_BREAKDOWN_STEP_SWEEP_H
#define ANALYZE_BREAKDOWN_STEP_SWEEP_H

#include "analyze/analysis.h"
#include "analyze/breakdown/thread_tracks.h"
#include "analyze/breakdown/timed_waits.h"
#include "analyze/classes/stack_class.h"
#include "analyze/figures/breakdown.h"
#include "analyze/figures/host_log.h"
#include "analyze/figures/track.h"
#include "analyze/gpu/gpu_busy.h"
#include "analyze/gpu/gpu_sections.h"
#include "timeline/pair_map.h"
#include "timeline/timeline.h"

/*
 * Places in the code where time was spent, numbered in order of appearance; the caller that
 * requested a number counts the time spent there.
 */

struct time_place {
	enum time_class what : 8;
	uint32_t stack;       /* id; 0: only functions are known */
	uint32_t user, inner; /* indices of functions; NO_FUNCTION */
	uint32_t waited_for;  /* stack id of another thread; 0: unknown */
};

#define PLACES_RECENT 1024u /* a power of two */
#define TOTALS_RECENT 64u   /* likewise */

struct time_places {
	struct time_place *items;
	size_t count, cap;
	struct pair_map at;
	uint32_t recent[PLACES_RECENT]; /* number + 1 of one that was asked for; 0: none */
};

void time_places_init(struct time_places *p);
void time_places_release(struct time_places *p);

/* SIZE_MAX: no memory. */
size_t time_places_find(struct time_places *p, const struct time_place *wanted);

/* The place by its names; `analysis` knows its waits. */
struct time_cause time_place_name(const struct time_place *p, const struct analysis *a,
				  const struct timeline *tl);

/* By class, then by where; 0: they are the same cause. */
int time_cause_compare(const struct time_cause *x, const struct time_cause *y);
/* By what was called then, whatever its line; 0: the same cause by the same function. */
int time_cause_compare_called(const struct time_cause *x, const struct time_cause *y);
/*
 * For qsort(), total orders: by what was called, or by the cause, the most time first among equals;
 * the most time first.
 */
int time_cause_called(const void *a, const void *b);
int time_cause_identity(const void *a, const void *b);
int time_cause_order(const void *a, const void *b);

/*
 * The gaps in a GPU's work with the threads that ended them, and the sums of what those threads
 * did in the gaps.
 */

/* What a place has to do with the gaps of a section. */
struct idle_totals {
	size_t place; /* of the time_places */
	struct idle_cause sum;
	int64_t last_gap_ns; /* when the gap began that was counted last, */
	int64_t last_ns;     /* and what of it is this place's */
};

struct idle_section {
	struct idle_totals *items;
	size_t count, cap;
	struct pair_map at;             /* (place, latency) */
	uint32_t recent[TOTALS_RECENT]; /* position + 1 of one that was asked for; 0: none */
	int64_t no_load_ns;
	bool keep_parts;
	struct idle_part *parts; /* cause: index of items, or IDLE_NO_LOAD */
	size_t part_count, part_cap;
	struct track steps; /* when one of the most important kind lasted */
	bool marked;        /* by the user: they are requests, and not found by us */
};

/* The gaps that ended with work that one thread launched. */
struct gap_list {
	uint32_t *items; /* the activities that ended them */
	size_t count, cap;
	int64_t first_ns, last_ns; /* from the begin of the first to the end of the last piece */
	uint32_t section;          /* index: one for all of a thread */
};

struct idle_gaps {
	const struct analysis_gpu *gpu;
	struct gap_list *threads; /* by the position of the thread that launched */
	size_t thread_count;
	struct idle_section *sections; /* as the analysis has them */
	size_t section_count;
};

/*
 * From the end of the work before a gap until the call that launched the next work returned.  id:
 * index of the section; more: their number, so that adjacent ones stay separate.  It is a window;
 * the source must stay where it is.
 */
struct gap_source {
	const struct analysis_gpu *gpu;
	const struct gap_list *list;
	size_t next;
	uint32_t number;
	/* When the first of the section's activities had ended: gpu_busy.h. */
	struct gpu_busy_cursor busy;
};

void gaps_open(struct track *t, struct gap_source *s, const struct idle_gaps *g, size_t thread);

/* -1: no memory; release it nevertheless. */
int idle_gaps_init(struct idle_gaps *g, const struct analysis_gpu *gpu, size_t threads,
		   bool keep_parts);
void idle_gaps_release(struct idle_gaps *g);

/*
 * Finds the gaps, and assigns the launch latency of the device.  The sections' steps are known.
 * -1: no memory.
 */
int idle_gaps_find(struct idle_gaps *g, struct time_places *places);

/* A part of a gap that a place causes.  -1: no memory. */
int idle_section_add(struct idle_section *s, size_t place, bool latency, int64_t gap_start_ns,
		     int64_t ns, int64_t in_steps_ns);

/*
 * Where that part lies; after idle_section_add().  Of no load: the place is SIZE_MAX.  -1: no
 * memory.
 */
int idle_section_part(struct idle_section *s, size_t place, bool latency, int64_t start_ns,
		      int64_t end_ns);

/* Time that is known as a sum only, not as a part of a certain gap.  -1: no memory. */
int idle_section_put(struct idle_section *s, size_t place, const struct idle_cause *sum);

/* Names and orders all causes: fills in the sections' blame.  -1: no memory. */
int idle_gaps_finish(struct idle_gaps *g, struct analysis *a, const struct time_places *places,
		     const struct timeline *tl);

/*
 * What the device did, as tracks: of a process, for all its threads, or of one thread.  The lists
 * behind them contain activities that no earlier one hides.
 */

/* Kernels hide copies: the tracks of the device are in this order of precedence. */
enum device_track { DEVICE_COMPUTE, DEVICE_H2D, DEVICE_D2H, DEVICE_TRACKS };

struct device_list {
	uint32_t *items; /* indices */
	size_t count, cap;
};

struct device_source {
	const struct gpu_timeline *gpu;
	const struct device_list *list;
	size_t next;
};

/* id: stack; more: enum time_class.  Windows: the whole must stay where it is. */
struct device_tracks {
	struct track tracks[DEVICE_TRACKS];
	struct device_source sources[DEVICE_TRACKS];
	struct device_list own[DEVICE_TRACKS]; /* of a thread */
};

void device_tracks_release(struct device_tracks *d);

/* Sets all cursors to a time. */
void device_tracks_seek(struct device_tracks *d, int64_t time_ns);

struct device_process {
	bool filled;
	struct device_list all[DEVICE_TRACKS];
	struct device_list
		strays; /* activities without a known launch: they count for all threads */
};

struct device_work {
	const struct analysis_gpu *gpu;
	struct device_process *processes; /* as the sections */
};

int device_work_init(struct device_work *d, const struct analysis_gpu *gpu); /* -1: no memory */
void device_work_release(struct device_work *d);

/* All that was done for a process; only what one of its threads started.  -1: no memory; release
 * what was opened nevertheless, and before the device_work. */
int device_work_all(struct device_work *d, uint32_t process, struct device_tracks *out);
int device_work_of_thread(struct device_work *d, uint32_t process, size_t thread,
			  struct device_tracks *out);

/* Time at a place, in the steps of one kind. */
struct place_sum {
	int64_t ns[STEP_GROUPS];      /* of the steps of each group */
	uint64_t faults[FAULT_KINDS]; /* that were seen there */
};

struct kind_sum {
	struct time_part parts[TIME_CLASSES];
	int64_t alone_ns; /* step_breakdown */
	size_t open[STEP_GROUPS];
	struct place_sum *places; /* by number */
	size_t place_cap;
	uint64_t faults[FAULT_KINDS]; /* of the process, that were seen while they lasted */
	struct step_samples samples;  /* of the first kind */
};

struct step_sweep {
	const struct trace *trace;
	struct timeline *timeline;
	const struct analysis *analysis;
	const struct step_items *items; /* by thread, then by start */
	struct sample_tracks *samples;
	struct timed_waits *timed_waits;
	struct device_work *device;
	struct idle_gaps *gaps;
	struct time_places *places;
	struct stack_classes *classes;
	struct host_log *log; /* of the process that it names, in its windows */
	bool crowded;         /* the program itself causes waits for a CPU: a class of their own */
	struct kind_sum *kinds;
	size_t kind_count, placed_count; /* the places of the first ones are counted */
};

/*
 * The items [first, last) are the thread's, perhaps none.  `own` omits what other threads
 * launched.  -1: no memory.
 */
int step_sweep_thread(struct step_sweep *s, size_t thread, size_t first, size_t last, bool own,
		      struct err *err);

/*
 * Chooses the windows of a->host_log among the steps of the leading kind, in the process of the
 * first one, and adds busy threads of that process to those that are swept.  -1: no memory.
 */
int log_windows_choose(struct analysis *a, const struct trace *t, bool *wanted);

/*
 * Page faults as a part of steps, and as a cause of idle time.
 *
 * The kernel counts the faults of a process; their cost follows from its CPU time in the kernel.
 * That much of the host's running time is moved to this class: at the places where faults were
 * recorded, in proportion to their number; without recorded faults at all places alike.  A fault
 * that waits for a disk is taken from waits for data first.  No place gives up more time than was
 * spent there, so the parts still add up.
 */

/*
 * Of a kind of step whose places are counted: `step` has its faults, `alone` is the share of them
 * that its thread can have had if none was recorded with a place, `idle` the section of its
 * process whose steps these are (NULL: none).  -1: no memory.
 */
int fault_parts_move(struct kind_sum *kind, const struct analysis_step *step, double alone,
		     struct idle_section *idle, struct time_places *places);

/* For parts that are known by sums alone. */

/* The place with another class; SIZE_MAX: no memory. */
size_t place_as(struct time_places *places, size_t place, enum time_class what);
/* Moves a share of all that the kind's steps spent at a place to another one.  -1: no memory. */
int place_move(struct kind_sum *kind, size_t from, size_t to, double share);
/* Likewise of a class' sum. */
void part_move(struct kind_sum *kind, enum time_class from, enum time_class to, double ns);

/*
 * If the kernel reported not when a thread had no CPU but only for how long in all: that share of
 * the time in which it seemed to run was spent waiting for a CPU, evenly distributed.  -1: no
 * memory.
 */
int queue_parts_move(struct kind_sum *kind, double share, struct time_places *places);

#endif
