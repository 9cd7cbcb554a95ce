#include "agent/python/calls.h"

#include <stdio.h>

#include "agent/core/ring.h"
#include "agent/core/session.h"
#include "agent/python/frames.h"
#include "agent/python/pyapi.h"
#include "agent/python/text.h"

/*
 * The names that Python's threading module gives its threads.  With the GIL.
 */

static PyObject *lookup_thread(void)
{
	PyObject *threading = py_module("threading");
	PyObject *active = threading ? py.GetAttr(threading, "_active") : NULL;
	PyObject *ident = py.Long_FromUnsigned(py.ThreadIdent());
	PyObject *thread = active && ident ? py.Dict_Get(active, ident) : NULL;

	if (thread)
		py.IncRef(thread);
	py_drop(active);
	py_drop(ident);
	return thread;
}

/*
 * Finds the calling thread in threading and names its ring.  threading registers a thread some
 * calls after its first one, so a miss is retried with growing intervals.
 */
static void thread_name_update(struct ring *r)
{
	PyObject *type, *value, *traceback, *thread, *name = NULL;

	r->name_at = r->name_at < UINT64_MAX / 8 ? r->name_at * 8 : UINT64_MAX;
	py.Err_Fetch(&type, &value, &traceback);
	thread = lookup_thread();
	if (thread)
		name = py.GetAttr(thread, "_name");
	if (name) {
		struct text t = text_of(name, 63);
		char text[64];

		snprintf(text, sizeof(text), "%.*s", (int)t.bytes, t.data);
		session_name_thread(r, text);
		text_release(&t);
		r->name_at = UINT64_MAX;
	}
	py_drop(name);
	py_drop(thread);
	py.Err_Clear();
	py.Err_Restore(type, value, traceback);
}

#define RUNNING_MAX 512 /* the innermost; deeper recursion is cut */

static const struct calls_hook *hook_for_this_python(void)
{
	return py.version >= 0x030c0000 ? &calls_monitoring : &calls_profile;
}

/* The functions that the thread is in: named, and recorded so that their ends have a beginning. */
static void see_running(struct ring *r, bool record)
{
	PyObject *frame = py_current_frame();
	PyObject *codes[RUNNING_MAX];
	size_t n = 0;

	while (frame && frame != py.None && n < RUNNING_MAX) {
		PyObject *outer = py.GetAttr(frame, "f_back");

		codes[n] = py.GetAttr(frame, "f_code");
		n += codes[n] != NULL;
		py_drop(frame);
		frame = outer;
	}
	while (n--) {
		struct code_note *note = codes_note(r, codes[n]);

		if (record)
			ring_push(r, RECORD_RUNNING, note ? note->id : 0);
		py_drop(codes[n]);
	}
	r->in_step = record;
	py_drop(frame);
	py.Err_Clear();
}

static bool is_entry(uint8_t kind)
{
	return kind == RECORD_CALL || kind == RECORD_RESUME || kind == RECORD_THROW;
}

/*
 * In a hook: neither the GIL nor a pending exception may be touched, so frames are
 * read as they lie.  Those of a thread that began after us are entered one by one,
 * and this is its first: there is nothing below it.
 */
void calls_record_stack(struct ring *r, bool entering)
{
	struct frame_ref frames[FRAMES_MAX];
	size_t n = frames_read(frames), entered = entering ? 1 : 0;

	while (n-- > entered) {
		struct code_note *note = codes_note(r, (PyObject *)(uintptr_t)frames[n].code);

		if (note && note->throttled) /* its end will not be seen */
			continue;
		ring_push(r, RECORD_RUNNING, note ? note->id : 0);
	}
	r->in_step = true;
}

void calls_prepare_thread(struct ring *r, uint8_t kind)
{
	if (r->name_at) {
		thread_name_update(r);
		return;
	}
	r->name_at = RING_NAME_FIRST;
	if (!r->in_step)
		calls_record_stack(r, is_entry(kind));
	if (r->produced) /* it has run for a while: its name is there */
		thread_name_update(r);
}

void calls_prepare(void)
{
	const struct calls_hook *hook = hook_for_this_python();

	if (hook->prepare)
		hook->prepare();
}

enum shm_refusal calls_start(void)
{
	enum shm_refusal refusal = codes_init() ? SHM_REFUSED_API : SHM_OK;
	struct ring *r = session_ring();

	if (!refusal)
		codes_name_loaded();
	if (!refusal && r)
		see_running(r, true);
	return refusal ? refusal : hook_for_this_python()->start(false);
}

enum shm_refusal calls_discover(void)
{
	struct ring *r = session_ring();

	if (codes_init())
		return SHM_REFUSED_API;
	if (r)
		see_running(r, false);
	return hook_for_this_python()->start(true);
}

void calls_stop(void)
{
	hook_for_this_python()->stop();
}
