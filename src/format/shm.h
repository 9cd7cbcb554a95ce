/*
 * The shared memory between the workload's processes and the recorder: one
 * memfd that the recorder creates and every agent maps through
 * /proc/RECORDER/fd/N.
 *
 *   struct shm_header | struct shm_process[] | struct shm_thread[] | struct shm_window[]
 *   | uint64_t free_map[] | uint64_t block_state[] | uint64_t block_begun[]
 *   | struct shm_block[]
 *
 * A thread's ring is the sequence of the blocks it owns, oldest first; all
 * rings draw on one pool, so that a busy thread may use what idle ones leave.
 *
 * Who writes what
 *   header        the recorder, before the first agent; what is atomic also later,
 *                 by those the field names
 *   process       claimed by an agent (state CAS), freed by the recorder
 *   thread        claimed by its thread (state CAS), freed by the recorder
 *   window        the recorder and the one process that it is lent to, in turn
 *   free_map      where to look for a free block: every free one has its bit set,
 *                 though not every set bit is a free block.  Cleared by the agent
 *                 that took the block, set by the recorder, which takes some
 *                 itself while memory is scarce
 *   block_state   see below: the only word that several parties compete for
 *   block_begun   stamp of when the block was begun, by the thread that did
 *   block         the owning thread, while block_state says WRITING
 *
 * Block states
 *   FREE --agent--> TAKEN --agent--> WRITING(seq) --agent--> FULL(seq) --recorder--> FREE
 *                     ^------------------ agent ------------------/
 *   The arrow back is the overflow: no block is free, so a thread takes its own
 *   oldest FULL one; or, while it has next to nothing, the oldest one of the
 *   thread that has most, so that a flood in one thread cannot silence the
 *   others.  All arrows out of FREE and FULL are compare-and-swap: exactly one
 *   party gets it.  TAKEN covers the moment in which the block's header is reset:
 *   it names the thread, so that the recorder finds the block if that one is
 *   killed, and its sequence is 0, so that it is never mistaken for the contents
 *   that were there.
 *
 * Reading a block that may be rewritten meanwhile: the reader loads the state,
 * copies words up to `head`, and loads the state again; another seq means the
 * copy is void.  Every word of a record is stored with release and loaded with
 * acquire: a reader that saw a word of seq' therefore sees the state of seq'
 * as well.  (Plain moves on x86; no fence, which the thread sanitizer could
 * not follow.)
 *
 * Counting: a block says how many records its thread had produced before it
 * (`first_index`).  What the recorder misses shows as a gap: lost = gap, exact
 * without any counter on the hot path.
 *
 * Windows: where the kernel does not let the recorder read the memory of a process,
 * it asks the agent there.  It lends the process a window (shm_process.window), puts
 * down what it wants to read, raises `asked` and wakes who sleeps on it; the
 * agent's thread puts the bytes into the window, sets `answered` to the same number
 * and wakes the recorder.  All but those two words belongs to the recorder while they are
 * equal and to the agent while they are not, however long that takes.
 *
 * The recorder treats all of it as hostile input: every index is checked and
 * every record is parsed from a private copy.
 */
#ifndef FORMAT_SHM_H
#define FORMAT_SHM_H

#include <stdatomic.h>
#include <stdint.h>

#define SHM_MAGIC 0x314d485343534e49ull /* "INSCSHM1" read as bytes, little endian */
#define SHM_VERSION 4u
#define SHM_ENV "INFERSCOPE_SESSION"                 /* "PID.FD.NOTEFD.TOKEN", TOKEN in hex */
#define SHM_AGENT_VERSION "inferscope_agent_version" /* its symbol: a text, for doctor */
#define SHM_AGENT_ENV "INFERSCOPE_AGENT" /* where the agent lies, for include/inferscope.h */

/* The names of the two memfds; agents check them before they open anything. */
#define SHM_MEMFD "inferscope"
#define SHM_MEMFD_NOTES "inferscope-notes"

#define SHM_BLOCK_BYTES 32768u
#define SHM_MAX_PROCESSES 1024u
#define SHM_MAX_THREADS 4096u
#define SHM_MAX_BLOCKS (1u << 20)
#define SHM_MAX_WINDOWS 32u

enum shm_clock {
	SHM_CLOCK_MONOTONIC = 0, /* ticks are CLOCK_MONOTONIC nanoseconds */
	SHM_CLOCK_COUNTER = 1,   /* ticks of the CPU's invariant counter */
};

/* What the agent is asked to record besides the calls (enum shm_cpu). */
enum shm_collect {
	SHM_COLLECT_GC = 1u << 1,
	SHM_COLLECT_GPU = 1u << 2,
	SHM_COLLECT_NVTX = 1u << 3,
	SHM_COLLECT_TORCH_MEMORY = 1u << 4,
	SHM_COLLECT_GRAPH_NODES = 1u << 5, /* of CUDA graphs; else whole replays */
};

/* How Python functions are recorded. */
enum shm_cpu {
	SHM_CPU_OFF = 0,
	SHM_CPU_AUTO = 1,   /* calls, as many as the budget allows, and samples */
	SHM_CPU_TRACE = 2,  /* every call */
	SHM_CPU_SAMPLE = 3, /* samples only */
};

#define SHM_NO_BUDGET UINT32_MAX

/* Of shm_header.active. */
enum shm_active {
	SHM_OVER = 0,
	SHM_ON = 1,
	SHM_DELAYED = 2, /* --delay: not begun; agents sleep on this word, a futex */
	/*
	 * On, and a process does not know yet that it has a window: all check at their next event.
	 */
	SHM_ASKING = 3,
};

struct shm_header {
	uint64_t magic;
	uint32_t version;
	uint32_t clock;   /* enum shm_clock */
	uint32_t collect; /* enum shm_collect bits */
	uint32_t recorder_pid;
	uint64_t token; /* equals the one in SHM_ENV, or this is not the session meant */
	uint64_t total_bytes;
	uint32_t processes, threads, blocks; /* table sizes */
	uint32_t cpu_mode;                   /* enum shm_cpu */
	uint32_t budget_ppm; /* of elapsed time, for SHM_CPU_AUTO; SHM_NO_BUDGET: no bound */
	uint32_t sample_hz;  /* asked for */
	uint64_t processes_at, threads_at, free_map_at; /* offsets */
	uint64_t block_state_at, block_begun_at, blocks_at, windows_at;
	uint32_t windows; /* table size */
	/* The recorder reads no process by itself: agents are to be ready for its questions. */
	uint32_t refused;

	/*
	 * enum shm_active.  The recorder changes it; to SHM_OVER: agents unhook and
	 * write no more.  Read relaxed, on every event.
	 */
	_Alignas(64) _Atomic uint32_t active;
	/* Ids of definitions; agents take them with fetch_add.  Starts at 1. */
	_Alignas(64) _Atomic uint32_t next_id;
	/* Processes that found no entry; counted by themselves. */
	_Alignas(64) _Atomic uint32_t no_process;
	/* By the recorder, for its sampler: shm_outside_share(). */
	_Alignas(64) _Atomic uint64_t outside_share;
};

/*
 * What recording has cost the process that it cost most, from outside, in a window of some
 * tenths of a second: of that time, in millionths, and which window it was.
 */
static inline uint64_t shm_outside_share(uint32_t window, double share)
{
	return (uint64_t)window << 32 | (uint32_t)(1e6 * (share < 1 ? share : 1));
}

/* Of a process or thread entry. */
enum shm_phase {
	SHM_UNUSED = 0,
	SHM_CLAIMED = 1, /* being filled in by its owner */
	SHM_LIVE = 2,
	SHM_ENDED = 3, /* said so itself; a killed one stays LIVE and the recorder finds out */
};

/* Why an agent records no calls in this process. */
enum shm_refusal {
	SHM_OK = 0,
	SHM_REFUSED_API = 4,        /* a symbol the agent needs is missing */
	SHM_REFUSED_NO_TOOL_ID = 5, /* all sys.monitoring tool ids are taken */
	SHM_REFUSED_LAYOUT = 6,     /* the interpreter's structures are not as expected */
	SHM_REFUSED_LEFT_OUT = 7,   /* CUDA loaded the agent, Python did not */
};

/* Whether the recorder can make out the threads of a Python. */
enum shm_python_readable {
	SHM_PYTHON_UNKNOWN = 0, /* it is laid out in an unknown way */
	SHM_PYTHON_READABLE = 1,
	SHM_PYTHON_ELSEWHERE = 2, /* its threads have other numbers than here: a PID namespace */
};

/*
 * Where the Python of a process keeps its threads, for the recorder, which reads
 * their stacks from outside by format/py_layout.h: addresses in that process.
 */
struct shm_python {
	uint32_t readable;     /* enum shm_python_readable */
	uint32_t thread_id_at; /* where pthread_self() points to; 0: thread states have the id */
	uint64_t interpreter;
	uint64_t code_type; /* the type of code objects */
	uint64_t gil;       /* 0: unknown */
};

/* Why a process before CPython 3.12 has fewer layers than calls of modules: see torch_hooks.h. */
enum shm_layers {
	SHM_LAYERS_ALL,
	SHM_LAYERS_COMPILED, /* torch.compile is used, which must not meet hooks of ours */
	SHM_LAYERS_BOUNDED,  /* the hooks cost more than a budget allows */
};

/* 768 bytes */
struct shm_process {
	_Atomic uint32_t state; /* enum shm_phase; LIVE is stored with release */
	uint32_t pid;           /* as /proc has it where the recorder is */
	uint32_t parent_pid;    /* likewise; 0: unknown */
	/* PY_VERSION_HEX, 0 for a native program; set later where that starts a Python */
	_Atomic uint32_t python_version;
	uint64_t start_stamp;
	_Atomic uint32_t refusal;   /* enum shm_refusal */
	_Atomic uint32_t displaced; /* at the start another tool had a profile slot */
	_Atomic uint64_t defs_lost; /* definitions that found no room */
	_Atomic uint64_t no_thread; /* events of threads that found no thread entry */
	char name[448];             /* command line, words separated by '\n', NUL-terminated */
	_Atomic uint32_t no_lines;  /* GPU work has no Python lines: unknown frames */

	_Atomic uint32_t event_cost_ps;       /* of one call event; 0: it was not measured */
	_Atomic uint64_t overhead_ns;         /* what recording has cost, by its own account; */
	_Atomic uint64_t outside_ns;          /* by the recorder's: from outside, in addition */
	_Atomic uint64_t throttled_functions; /* no longer traced, for the budget's sake */
	/*
	 * By the recorder: how long its threads have to wait for a CPU, and run, in percent
	 * of running; 0: not known.  Others have the CPUs, and whatever recording takes
	 * delays the program by so much more.
	 */
	_Atomic uint32_t contention_percent;
	_Atomic uint32_t python_set; /* release after `python` is complete */
	struct shm_python python;
	/*
	 * By the recorder: 1 + the index of the window that is lent to it, and a multiple of
	 * SHM_MAX_WINDOWS, each time another one; 0: none.  A futex.
	 */
	_Atomic uint32_t window;
	_Atomic uint32_t layers_given_up; /* enum shm_layers */
	char padding[4];
	/* Of overhead_ns: launches, copies and memsets; nodes of CUDA graphs. */
	_Atomic uint64_t gpu_overhead_ns, graph_overhead_ns;
	char spare[168];
};

#define SHM_WINDOW_PIECES 512u
#define SHM_WINDOW_BYTES (65536u - 64u - 16u * SHM_WINDOW_PIECES)
#define SHM_WINDOW_OVER UINT32_MAX /* of `asked`: nothing will be asked any more */

struct shm_piece {
	uint64_t at, bytes;
};

/* 64 kB */
struct shm_window {
	_Atomic uint32_t asked;    /* by the recorder: number of the question; a futex */
	_Atomic uint32_t answered; /* by the agent: of the last one answered; a futex */
	uint32_t pid;              /* by the recorder: of the process that it is lent to */
	uint32_t count;            /* likewise, as are the pieces */
	/* By the agent. */
	int32_t error;    /* an errno, 0: all of it was read */
	uint64_t read_ns; /* when: CLOCK_MONOTONIC */
	uint64_t cpu_ns;  /* that its thread has taken so far */
	char spare[24];
	struct shm_piece pieces[SHM_WINDOW_PIECES];
	uint8_t data[SHM_WINDOW_BYTES]; /* of the pieces, one behind the other */
};

/* 128 bytes */
struct shm_thread {
	_Atomic uint32_t state; /* enum shm_phase; LIVE and ENDED are stored with release */
	uint32_t process;       /* index */
	uint32_t tid;
	_Atomic uint32_t name_set; /* release after `name` is complete; set once */
	uint64_t start_stamp;
	_Atomic uint64_t end_stamp;
	/*
	 * Records produced, written whenever the ring changes blocks and for each
	 * record that found no block at all; the newest block knows the rest.
	 */
	_Atomic uint64_t produced;
	char name[64];               /* UTF-8, NUL-terminated */
	uint64_t cpu_begin_ns;       /* the thread's own CPU clock at start_stamp */
	_Atomic uint64_t cpu_end_ns; /* at end_stamp; 0: it has not ended, or was killed */
	char spare[8];
};

/*
 * block_state: phase (2 bits) | definitions (1) | thread index (16) | sequence (45).
 * The sequence counts a thread's event blocks, or its definition blocks, from 1.
 */
enum shm_block_phase {
	SHM_BLOCK_FREE = 0,
	SHM_BLOCK_WRITING = 1,
	SHM_BLOCK_FULL = 2,
	SHM_BLOCK_TAKEN = 3,
};

#define SHM_BLOCK_DEFS (1ull << 2)

static inline uint64_t shm_block_state(enum shm_block_phase phase, uint64_t defs, uint32_t thread,
				       uint64_t seq)
{
	return (uint64_t)phase | defs | (uint64_t)(thread & 0xffffu) << 3 | seq << 19;
}

/* Of a block that the recorder keeps from the agents: no thread has this index. */
#define SHM_BLOCK_KEPT shm_block_state(SHM_BLOCK_TAKEN, 0, 0xffffu, 0)

static inline enum shm_block_phase shm_block_phase(uint64_t state)
{
	return (enum shm_block_phase)(state & 3u);
}

static inline uint32_t shm_block_thread(uint64_t state)
{
	return (uint32_t)(state >> 3) & 0xffffu;
}

static inline uint64_t shm_block_seq(uint64_t state)
{
	return state >> 19;
}

#define SHM_BLOCK_WORDS ((SHM_BLOCK_BYTES - 64u) / 8u)

struct shm_block {
	_Atomic uint64_t first_index; /* records this thread produced before this block */
	_Atomic uint32_t head;        /* bytes of `words` that hold complete records */
	uint32_t pad[13];
	_Atomic uint64_t words[SHM_BLOCK_WORDS];
};

_Static_assert(sizeof(struct shm_process) == 768, "layout is shared");
_Static_assert(sizeof(struct shm_thread) == 128, "layout is shared");
_Static_assert(sizeof(struct shm_window) == 65536, "layout is shared");
_Static_assert(sizeof(struct shm_block) == SHM_BLOCK_BYTES, "layout is shared");

#endif
