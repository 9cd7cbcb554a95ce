/*
 * The graph of dependencies, private to replay/.
 *
 * A node is a stretch of a thread's time, or an activity of the device.  Nodes are in an order in
 * which each comes after all that it depends on, in every replay: edits add dependencies only on
 * earlier nodes.  So a replay is one pass over the array.
 *
 *   host    begins when the node before it in its thread ended; ends own_ns later, or when what
 *           it waits for has ended and lag_ns have passed
 *   device  begins when the one before it in its stream ended and gap_ns have passed, and all
 *           that it depends on has ended and its lag_ns have passed; takes own_ns
 */
#ifndef REPLAY_REPLAY_GRAPH_H
#define REPLAY_REPLAY_GRAPH_H

#include "replay/replay.h"
#include "timeline/gpu.h"

#define NODE_NONE UINT32_MAX

/* 36 years: what is further away is of a hostile file, and no time. */
#define TIME_MOST ((int64_t)1 << 60)

static inline bool is_time(int64_t ns)
{
	return ns >= -TIME_MOST && ns <= TIME_MOST;
}

static inline bool is_span(int64_t start_ns, int64_t end_ns)
{
	return start_ns >= -TIME_MOST && start_ns <= end_ns && end_ns <= TIME_MOST;
}

/* Of times and durations; stays one. */
static inline int64_t time_add(int64_t a, int64_t b)
{
	int64_t sum = a + b;

	return sum > TIME_MOST ? TIME_MOST : sum < -TIME_MOST ? -TIME_MOST : sum;
}

static inline int64_t time_scale(int64_t ns, double factor)
{
	double scaled = (double)ns * factor;

	return scaled < (double)TIME_MOST ? (int64_t)scaled : TIME_MOST;
}

enum node_kind {
	NODE_ANCHOR, /* a thread at the begin of a window: at the time that was measured */
	NODE_HOST,
	NODE_DEVICE,
	NODE_GIVEN, /* of the device, its launch unknown: begins no earlier than measured */
};

/* Which of its dependencies a node has where. */
enum node_dep {
	DEP_WAIT = 0,   /* host: the device or thread it waits for */
	DEP_LAUNCH = 0, /* device: what its thread did before the call that launched it */
	DEP_QUEUE = 1,  /* host: room in the queue of launches, or another stream it waits for */
	DEP_ORDER = 1,  /* device: the copy engine, or work of another stream */
	DEP_EDIT = 2,   /* put there by an edit */
	NODE_DEPS,
};

struct node {
	int64_t start_ns, end_ns; /* as measured */
	int64_t own_ns, gap_ns;
	int64_t lag_ns[NODE_DEPS];
	uint32_t deps[NODE_DEPS];
	uint32_t prev;     /* in its thread or stream */
	uint32_t place;    /* of the host: index of the log's places */
	uint32_t call;     /* that it is a part of, or that launched it; GPU_NONE */
	uint32_t activity; /* of the device; else GPU_NONE */
	enum node_kind kind : 8;
	bool waits;   /* host: for the device */
	bool unknown; /* host: it waits for what is not known */
};

struct graph_step {
	uint32_t begin, end; /* nodes that end with the step's begin, and with its end */
	uint32_t window;
	bool counted; /* else it is only there for the one behind it */
};

struct graph_window {
	uint32_t first, count; /* nodes */
	uint32_t first_step, step_count;
};

/* What the machine takes, in this trace; medians. */
struct graph_costs {
	int64_t launch_ns;         /* from a call's begin until an idle stream begins its work */
	int64_t gap_ns;            /* between two activities that wait in one stream */
	int64_t return_ns;         /* from the end of work until the call that waits for it ends */
	int64_t call_ns;           /* a call that launches and does not wait */
	int64_t graph_ns;          /* a call that launches a graph, */
	int64_t graph_start_ns;    /* and from its begin until an idle stream begins that */
	double h2d_ns_b, d2h_ns_b; /* pinned memory, ns for a byte; 0: none was seen */
};

struct graph {
	const struct analysis *analysis;
	const struct host_log *log;
	const struct gpu_timeline *gpu;
	struct node *nodes;
	size_t node_count, node_cap;
	struct graph_step *steps;
	size_t step_count;
	struct graph_window *windows;
	size_t window_count;
	struct graph_costs costs;
	size_t broken; /* dependencies that went round in a circle and were left out */
};

/* -1: no memory; release it nevertheless. */
int graph_build(struct graph *g, const struct analysis *a);
void graph_release(struct graph *g);

/* Of the windows of the log.  -1: no memory. */
int graph_costs_measure(struct graph_costs *c, const struct graph *g);

/* Is it a call that returns when the device has done something? */
bool graph_call_waits(enum cuda_call what);

/* The activities of the log's process that begin in [start, end): indices. */
void graph_activities(const struct graph *g, int64_t start_ns, int64_t end_ns, size_t *first,
		      size_t *last);

/*
 * What the nodes of one window were made from.
 */
struct stream_nodes {
	uint32_t device, context, stream;
	uint32_t *items;
	size_t count, cap;
};

/* A thread of the log: its nodes follow each other, the anchor first. */
struct thread_nodes {
	size_t thread; /* position */
	uint32_t first, count;
	size_t first_call, call_count; /* of gpu_call() */
	/* By call: the node of no length that it begins with, its last one; NODE_NONE. */
	uint32_t *before, *last;
};

struct window_build {
	struct graph *graph;
	const struct host_window *window;
	struct thread_nodes *threads; /* as the log has them */
	struct stream_nodes *streams;
	size_t stream_count, stream_cap;
	int64_t tolerance_ns; /* of the device's times */
};

/* The nodes of the device.  -1: no memory. */
int graph_device_add(struct window_build *b);
/* Calls that wait for the device: those nodes are there. */
void graph_waits_add(struct window_build *b);
/* The node of a thread that ends at a time; NODE_NONE. */
uint32_t graph_node_at(const struct window_build *b, const struct thread_nodes *t, int64_t time_ns);
struct thread_nodes *graph_thread(struct window_build *b, size_t thread); /* NULL: none */

/* A new node, all of whose dependencies are missing; NULL: no memory. */
struct node *graph_node_push(struct graph *g, enum node_kind kind, int64_t start_ns,
			     int64_t end_ns);

/*
 * Puts the nodes from `first` on into an order of their dependencies; renamed[old - first] is the
 * new number.  -1: no memory.
 */
int graph_sort(struct graph *g, uint32_t first, uint32_t *renamed);

/* When everything happens in a replay. */
struct replay_times {
	int64_t *start_ns, *end_ns; /* by node */
	uint8_t *bound; /* which dependency determined it; NODE_DEPS: the one before, or nothing */
};

int replay_times_init(struct replay_times *t, size_t count);
void replay_times_release(struct replay_times *t);
/* nodes are the graph's, perhaps changed. */
void replay_times_run(struct replay_times *t, const struct node *nodes, size_t count);

/*
 * By how much more the device is behind the host at the end of a window's counted steps than at
 * their begin, for each of them: steps that wait for nothing leave their work to it.  *last, if not
 * NULL: the work that ends last, if it is behind.
 */
double graph_backlog_ns(const struct graph *g, const struct replay_times *t,
			const struct graph_window *w, uint32_t *last);
/* Is that a part of the steps' time that matters? */
bool graph_is_behind(const struct graph *g, const struct replay_times *t);

/* Idle time of the device in the counted steps, all together; -1: no memory. */
int replay_idle(const struct graph *g, const int64_t *start_ns, const int64_t *end_ns,
		const int64_t *step_begin_ns, const int64_t *step_end_ns, double *idle_ns);

/* Fills in all but the errors; -1: no memory. */
int graph_path_find(const struct graph *g, const struct replay_times *t,
		    struct analysis_critical_path *out);

/* An edit in progress: the nodes are a copy that it may change. */
struct plan {
	const struct graph *graph; /* as it was */
	struct node *nodes;
	bool *matched; /* by place: the edit applies there */
	double touched_ns;
	bool failed; /* no memory */
};

/* Which places an edit is about. */
void edit_match_places(struct plan *p, const struct replay_edit *e);
/* ... and whether it is about the kernel of an activity. */
bool edit_matches_kernel(const struct graph *g, const struct replay_edit *e,
			 const struct gpu_work *w);

static inline bool edit_matches(const struct plan *p, const struct node *n)
{
	return n->kind == NODE_HOST && p->matched[n->place];
}

void edit_apply(struct plan *p, const struct replay_edit *e);

/* The nodes of a step's thread, from its begin to its end: the caller's to free. */
uint32_t *plan_chain(struct plan *p, const struct graph_step *s, size_t *count);

/*
 * By node of the host: the step that it is in, or with `between` the one behind it; NODE_NONE.
 * The caller's to free.
 */
uint32_t *plan_steps(struct plan *p, bool between);
/* The node that ends with the begin of the step before one in its window; NODE_NONE. */
uint32_t plan_step_before(const struct plan *p, uint32_t step);

void graph_names(const struct graph *g, enum replay_edit_kind kind,
		 void (*tell)(void *ctx, const char *name), void *ctx);

/* Each applies one kind of edit, once p->matched is filled. */
void edit_faster(struct plan *p, const struct replay_edit *e);
void edit_overlap(struct plan *p, const struct replay_edit *e);
void edit_remove_sync(struct plan *p, const struct replay_edit *e);
void edit_pin(struct plan *p, const struct replay_edit *e);
void edit_async_copy(struct plan *p, const struct replay_edit *e);
void edit_graph(struct plan *p, const struct replay_edit *e);
void edit_kernel(struct plan *p, const struct replay_edit *e);

#endif
