/*
 * inferscope._agent: the agent as a Python extension module.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/agent_threads.h"
#include "agent/core/bounded_wait.h"
#include "agent/core/delayed_start.h"
#include "agent/core/self_reader.h"
#include "agent/core/session.h"
#include "agent/gpu/gpu_recording.h"
#include "agent/hooks/hooks.h"
#include "agent/python/calls.h"
#include "agent/python/frames.h"
#include "agent/python/pyapi.h"
#include "agent/python/text.h"
#include "agent/torch/torch_memory.h"

/* To a thread that has begun, for what it does without Python. */
#define DELAYED_START_ENDS_MS 10u

__attribute__((visibility("default"))) PyObject *PyInit__agent(void);

static char session_text[257]; /* of the recording that was asked for last */
static bool starts_later;      /* and it has not begun: --delay */
static bool exit_hook_is_set;  /* Py_AtExit() has our function */
static bool exit_hook_works;   /* and Python's atexit */

static bool wants_samples(const struct session *s)
{
	return s->header->cpu_mode == SHM_CPU_AUTO || s->header->cpu_mode == SHM_CPU_SAMPLE;
}

/* Joins it and starts the hooks that it asks for; false: it is not there or over. */
static bool join(void)
{
	struct shm_process *self;
	struct session *s;
	uint32_t collect;

	/* A native program with a Python inside has joined before. */
	if (session_join(session_text, py.version | 0xf0) &&
	    !session_becomes_python(py.version | 0xf0))
		return false;
	s = session_on();
	if (!s) /* over already */
		return false;
	collect = s->header->collect;
	if (s->header->cpu_mode == SHM_CPU_AUTO || s->header->cpu_mode == SHM_CPU_TRACE) {
		enum shm_refusal refusal = calls_start();

		self = session_process();
		if (self)
			atomic_store_explicit(&self->refusal, refusal, memory_order_relaxed);
	} else {
		calls_discover();
	}
	if (collect & SHM_COLLECT_GC)
		gc_pauses_start();
	if (wants_samples(s)) {
		layout_export_publish();
		self_reader_start();
	}
	return true;
}

/* The recording begins (--delay); in the thread of delayed_start.c. */
static void begin(void)
{
	struct ring *r;
	int gil;

	/* on_exit() may not have been called: a thread that asks for the GIL of an ending Python
	 * does not return. */
	if (py.IsFinalizing && py.IsFinalizing())
		return;
	gil = py.GILState_Ensure();
	/* Other threads may run before all is hooked: it lies ahead until then. */
	join();
	starts_later = false;
	r = session_ring();
	if (r)
		session_name_thread(r, "inferscope");
	py.GILState_Release(gil);
}

static bool python_has_begun(void *unused)
{
	(void)unused;
	return !delayed_start_is_starting(DELAYED_START_PYTHON);
}

static bool delayed_start_has_ended(void *unused)
{
	(void)unused;
	return !delayed_start_is_counted();
}

/*
 * The thread that waits for the recording is gone; or, if that has just begun, done with Python,
 * and gone if it has nothing else to do: CUPTI may take it long.
 */
static void settle_delayed_start(void)
{
	char *state;

	if (!delayed_start_is_counted())
		return;
	state = py.Eval_SaveThread();
	delayed_start_pause();
	bounded_wait(python_has_begun, NULL, WAIT_WITHOUT_GIL_MS);
	bounded_wait(delayed_start_has_ended, NULL, DELAYED_START_ENDS_MS);
	py.Eval_RestoreThread(state);
}

static bool pause_inside(void)
{
	bool paused = false;
	char *state;

	if (inside_is_running()) {
		state = py.Eval_SaveThread();
		paused = self_reader_pause();
		py.Eval_RestoreThread(state);
	}
	return paused;
}

/* Python's atexit: it is about to end, but whole. */
static PyObject *on_exit(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	settle_delayed_start();
	starts_later = false;
	delayed_start_cancel();
	return py_new_ref(py.None);
}

static bool register_at_exit(void)
{
	static struct py_method method = { "inferscope_exit", on_exit, PY_NO_ARGS, NULL };
	PyObject *module = py.Import("atexit");
	PyObject *enrol = module ? py.GetAttr(module, "register") : NULL;
	PyObject *function = enrol ? py.CFunction(&method, NULL, NULL) : NULL;
	PyObject *done = function ? py.CallWith(enrol, function, NULL) : NULL;

	py_drop(done);
	py_drop(function);
	py_drop(enrol);
	py_drop(module);
	py.Err_Clear();
	return done != NULL;
}

/* Python has ended; its libraries are still there. */
static void at_python_end(void)
{
	exit_hook_is_set = exit_hook_works = false; /* CPython calls each once */
	delayed_start_pause();
	delayed_start_cancel();
	gpu_end();
}

/*
 * attach(session: str) -> bool: join a recording and start the hooks it asks
 * for, at once or when it begins.  MemoryError: there is one, but this process
 * cannot map it.
 */
static PyObject *attach(PyObject *module, PyObject *where)
{
	struct text t = text_of(where, 256);

	(void)module;
	snprintf(session_text, sizeof(session_text), "%.*s", (int)t.bytes, t.data);
	text_release(&t);
	/* Here, where Python has a frame to compare with.  Where it fails there are no lines. */
	frames_init();
	layout_export_check();
	if (!exit_hook_is_set)
		exit_hook_is_set = !py.AtExit(at_python_end);
	starts_later = delayed_start_wait(DELAYED_START_PYTHON, session_text, begin);
	if (starts_later) {
		calls_prepare();
		if (!exit_hook_works)
			exit_hook_works = register_at_exit();
		py_drop(py.Import("gc")); /* its import is not the program's to see in the report */
		py.Err_Clear();
		return py.Bool_From(1);
	}
	errno = 0;
	if (join())
		return py.Bool_From(1);
	if (errno != ENOMEM)
		return py.Bool_From(0);
	py.Err_SetString(py.MemoryError, "no room to map the trace buffer (ulimit -v?)");
	return NULL;
}

/*
 * fork_begins(), fork_ends(), forked(): for os.register_at_fork(), before and after, in
 * the parent and in the child.  Threads of ours do not live on in forks, and Python warns of a fork
 * with several threads, from 3.12 on: so they are gone before it.  Some versions (3.12.2 to 3.14)
 * count behind fork_ends(): threads are back when Python goes on where it forked.
 */
static struct frame_mark forking; /* the function that forks */
static bool threads_are_due;      /* behind the fork */

static PyObject *fork_begins(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	settle_delayed_start();
	threads_are_due |= pause_inside() || starts_later;
	forking = frames_newest();
	return py_new_ref(py.None);
}

static void bring_threads_back(void)
{
	threads_are_due = false;
	if (starts_later)
		starts_later = delayed_start_wait(DELAYED_START_PYTHON, session_text, begin);
	self_reader_resume();
}

/*
 * In Python's main thread, at its next opportunity: perhaps inside a function of
 * os.register_at_fork().
 */
static int check_fork(void *unused)
{
	if (!threads_are_due)
		return 0;
	if (frames_newest().frame != forking.frame && frames_is_inside(&forking, true))
		py.PendingCall_Add(check_fork, unused);
	else
		bring_threads_back();
	return 0;
}

static PyObject *fork_ends(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	/* Where another thread forks there are several, whatever we do. */
	if (threads_are_due && (py.version < 0x030c0000 || !is_first_thread()))
		bring_threads_back();
	else if (threads_are_due)
		py.PendingCall_Add(check_fork, NULL);
	return py_new_ref(py.None);
}

/*
 * A child joins with its first event; where calls are not recorded it may have none, and
 * the recorder could neither sample it nor ask it for its memory.
 */
static PyObject *forked(PyObject *module, PyObject *unused)
{
	struct session *s = session_on();

	(void)module;
	(void)unused;
	if (s && wants_samples(s) &&
	    (s->header->cpu_mode == SHM_CPU_SAMPLE || self_reader_is_needed()) && session_ring())
		self_reader_start();
	bring_threads_back();
	return py_new_ref(py.None);
}

/* detach(): stop the hooks and leave the recording. */
static PyObject *detach(PyObject *module, PyObject *unused)
{
	struct session *s = atomic_load_explicit(&session_current, memory_order_acquire);

	(void)module;
	(void)unused;
	starts_later = false;
	settle_delayed_start();
	delayed_start_cancel();
	pause_inside();
	self_reader_stop();
	if (s) {
		struct ring *r = session_ring();
		char *state;

		if (r)
			torch_memory_poll_last(r);
		calls_stop();
		if (s->header->collect & SHM_COLLECT_GC)
			gc_pauses_stop();
		state = py.Eval_SaveThread(); /* a device that hangs is waited for */
		gpu_fetch_last();
		py.Eval_RestoreThread(state);
		session_leave();
	}
	return py_new_ref(py.None);
}

static PyObject *is_recording(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return py.Bool_From(session_on() && !starts_later);
}

#define FUNCTION(f) ((py_function)(void (*)(void))(f))

static struct py_method methods[] = {
	{ "attach", attach, PY_ONE_ARG,
	  "Join the recording that the text names; True on success." },
	{ "detach", detach, PY_NO_ARGS, "Leave the recording." },
	{ "forked", forked, PY_NO_ARGS, "This process is the child of a fork." },
	{ "fork_begins", fork_begins, PY_NO_ARGS, "This process is about to fork." },
	{ "fork_ends", fork_ends, PY_NO_ARGS, "This process has forked." },
	{ "is_recording", is_recording, PY_NO_ARGS, "Whether this process is being recorded." },
	{ "scope", FUNCTION(scope_new), PY_FAST | PY_KEYWORDS,
	  "scope(name, /, **metadata)\n--\n\nA named section of work on the timeline." },
	{ "mark_event", FUNCTION(scope_mark_event), PY_FAST | PY_KEYWORDS,
	  "mark_event(name, /, **metadata)\n--\n\nPut a mark on the timeline." },
	{ "counter", FUNCTION(scope_counter), PY_FAST,
	  "counter(name, value, /)\n--\n\nSet a counter to a value." },
	{ 0 },
};

static struct py_module_def definition = {
	.head = { 1, NULL },
	.name = "inferscope._agent",
	.size = -1,
	.methods = methods,
};

/*
 * The shim says the same with the reason (_refusal() in sitecustomize.py); this is for a program
 * that imports the package by itself.  No layout of ours was compared with a debug build, and
 * without the GIL nothing here would be safe.
 */
static bool build_is_supported(void)
{
	PyObject *sys = py.Import("sys");
	PyObject *debug = sys ? py.GetAttr(sys, "gettotalrefcount") : NULL;
	PyObject *flags = sys ? py.GetAttr(sys, "abiflags") : NULL;
	struct text t = text_of(flags, 16);
	bool supported = !debug && !memchr(t.data, 't', t.bytes);

	text_release(&t);
	py_drop(flags);
	py_drop(debug);
	py_drop(sys);
	py.Err_Clear();
	return supported;
}

PyObject *PyInit__agent(void)
{
	if (pyapi_load(__builtin_return_address(0))) {
		if (py.Err_SetString && py.ImportError)
			py.Err_SetString(py.ImportError, "inferscope needs CPython 3.8 or newer");
		return NULL;
	}
	if (!build_is_supported()) {
		py.Err_SetString(py.ImportError,
				 "inferscope does not record debug and free-threaded builds");
		return NULL;
	}
	if (scope_init())
		return NULL;
	return py.Module_Create(&definition, PY_ABI_VERSION);
}
