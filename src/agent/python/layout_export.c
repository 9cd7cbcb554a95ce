#include "agent/python/frames.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/session.h"
#include "agent/python/pyapi.h"
#include "format/py_layout.h"

#define ANCESTORS_MAX 64
#define PTHREAD_SEARCH 1024u /* the thread's id lies in the first part of the C library's entry */

/* 0 where it cannot be read: no field that is compared here is 0. */
static uint64_t word_at(const void *base, size_t offset)
{
	uint64_t word = 0;

	if (memory_readable((const char *)base + offset, sizeof(word)))
		memcpy(&word, (const char *)base + offset, sizeof(word));
	return word;
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static const void *pointer(uint64_t word)
{
	return (const void *)(uintptr_t)word;
}

static bool threads_agree(const struct py_layout *l, const PyObject *interpreter)
{
	const char *self = py.ThreadState_Get();
	char *at = py.Interpreter_ThreadHead((PyObject *)(uintptr_t)interpreter);
	bool found = false;

	if (word_at(interpreter, l->threads) != address(at))
		return false;
	for (; at; at = py.ThreadState_Next(at)) {
		found |= at == self;
		if (word_at(at, l->next) != address(py.ThreadState_Next(at)))
			return false;
	}
	return found && word_at(self, l->ident) == py.ThreadIdent() &&
	       (!l->native || word_at(self, l->native) == (uint64_t)syscall(SYS_gettid));
}

static uint64_t frame_bytes(const struct py_layout *l, uint64_t frame)
{
	const void *code = pointer(word_at(pointer(frame), l->code) & ~(uint64_t)l->tags);
	uint64_t words = l->frame_size_fixed;

	for (int i = 0; i < 2; i++)
		words += l->frame_size[i] ? (uint32_t)word_at(code, l->frame_size[i]) : 0;
	return 8 * words;
}

/*
 * The newest frame must lie in the newest piece of their stack, end where that is
 * filled up to, and say that it runs.
 */
static bool chunk_agrees(const struct py_layout *l)
{
	const char *self = py.ThreadState_Get();
	uint64_t chunk = l->chunk ? word_at(self, l->chunk) : 0;
	uint64_t bytes = chunk ? word_at(pointer(chunk), PY_CHUNK_BYTES) : 0;
	uint64_t at = word_at(self, l->frame);

	if (!l->chunk)
		return true;
	if (l->has_cframe)
		at = word_at(pointer(at), l->cframe_frame);
	return at >= chunk + PY_CHUNK_DATA && at < chunk + bytes &&
	       at + frame_bytes(l, at) == word_at(self, l->chunk + 8u) &&
	       (int32_t)word_at(pointer(at), l->depth) == -1;
}

/* Frames that run are marked so. */
static bool states_agree(const struct py_layout *l)
{
	uint64_t at = l->state ? word_at(py.ThreadState_Get(), l->frame) : 0;
	uint8_t state;

	for (unsigned n = 0; at && n < FRAMES_MAX; n++) {
		state = (uint8_t)word_at(pointer(at), l->state);
		if (state > 7 || !(l->runs >> state & 1))
			return false;
		at = word_at(pointer(at), l->previous);
	}
	return true;
}

static bool attribute_is(const void *code, const char *name, uint64_t expected)
{
	PyObject *value = py.GetAttr((PyObject *)(uintptr_t)code, name);
	bool same = value && address(value) == expected;

	py_drop(value);
	py.Err_Clear();
	return same;
}

static bool line_is(const void *code, uint64_t expected)
{
	PyObject *value = py.GetAttr((PyObject *)(uintptr_t)code, "co_firstlineno");
	bool same = value && py.Long_As(value) == (long)(int32_t)expected;

	py_drop(value);
	py.Err_Clear();
	return same;
}

/* Is the text of a str where it is expected?  Strings of other kinds follow the same head. */
static bool text_agrees(const struct py_layout *l)
{
	static const char sample[] = "inferscope";
	PyObject *text = py.Unicode_From(sample);
	uint32_t state = (uint32_t)word_at(text, PY_TEXT_STATE);
	bool agree = text && word_at(text, PY_TEXT_LENGTH) == sizeof(sample) - 1 &&
		     py_text_kind(state) == 1 && py_text_is_compact(state) &&
		     py_text_is_ascii(state) &&
		     memory_readable((const char *)text + l->text, sizeof(sample)) &&
		     !memcmp((const char *)text + l->text, sample, sizeof(sample));

	py_drop(text);
	py.Err_Clear();
	return agree;
}

static bool code_agrees(const struct py_layout *l)
{
	struct frame_ref frames[FRAMES_MAX];
	const void *code = frames_read(frames) ? frames[0].code : NULL;

	return code &&
	       attribute_is(code, py.version >= 0x030b0000 ? "co_qualname" : "co_name",
			    word_at(code, l->name)) &&
	       attribute_is(code, "co_filename", word_at(code, l->file)) &&
	       line_is(code, word_at(code, l->first_line)) && text_agrees(l);
}

/* We have the GIL, so it must report it. */
static uint64_t find_gil(const struct py_layout *l, const PyObject *interpreter)
{
	uint64_t at = l->gil_is_global ? (py.Runtime ? address(py.Runtime) + l->gil : 0)
				       : word_at(interpreter, l->gil);

	if (!at || word_at(pointer(at), PY_GIL_HOLDER) != address(py.ThreadState_Get()) ||
	    (uint32_t)word_at(pointer(at), PY_GIL_LOCKED) != 1)
		return 0;
	return at;
}

/*
 * Before 3.11 Python knows its threads by pthread_self() alone; what that points to
 * holds the kernel's id.  The recorder asks the kernel whether there is such a thread.
 */
static uint32_t find_thread_id(void)
{
	const char *self = (const char *)(uintptr_t)pthread_self(); /* a pointer in every libc */
	int32_t tid = (int32_t)syscall(SYS_gettid), word;

	for (uint32_t at = 0; at < PTHREAD_SEARCH; at += sizeof(word)) {
		if (!memory_readable(self + at, sizeof(word)))
			return 0;
		memcpy(&word, self + at, sizeof(word));
		if (word == tid)
			return at;
	}
	return 0;
}

static struct shm_python where;

void layout_export_check(void)
{
	const struct py_layout *l = py_layout_find(py.version);
	PyObject *interpreter = py.Interpreter_Main();

	memset(&where, 0, sizeof(where));
	if (l && l->threads && frames_known() && threads_agree(l, interpreter) && chunk_agrees(l) &&
	    states_agree(l) && code_agrees(l)) {
		where.interpreter = address(interpreter);
		where.code_type = address(py.CodeType);
		where.gil = find_gil(l, interpreter);
		where.thread_id_at = l->native ? 0 : find_thread_id();
		where.readable =
			l->native || where.thread_id_at ? SHM_PYTHON_READABLE : SHM_PYTHON_UNKNOWN;
	}
}

/* 0 if unknown. */
static pid_t parent_of(pid_t pid)
{
	char path[32], text[512] = "", *name_end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	name_end = n > 0 ? strrchr(text, ')') : NULL; /* "PID (NAME) STATE PARENT ..." */
	/* Behind ") S "; where there is nothing, strtol() says 0. */
	return name_end && strlen(name_end) > 4 ? (pid_t)strtol(name_end + 4, NULL, 10) : 0;
}

static bool is_ancestor(uint32_t pid)
{
	pid_t at = getppid();

	for (int i = 0; i < ANCESTORS_MAX && at > 1; i++) {
		if ((uint32_t)at == pid)
			return true;
		at = parent_of(at);
	}
	return false;
}

/* Yama's level 1, the default of many distributions: only ancestors may read a process. */
static bool only_ancestors_may(void)
{
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	char level = '0';

	if (fd < 0)
		return false;
	if (read(fd, &level, 1) != 1)
		level = '0';
	close(fd);
	return level == '1';
}

/*
 * A recorder that this process started is not one of its ancestors, so it must be permitted
 * explicitly.  There is one such permission per process, which a crash handler of the program may
 * need as well; the last caller has it.
 */
static void let_recorder_read(void)
{
	struct session *s = session_on();

	if (s && only_ancestors_may() && !is_ancestor(s->header->recorder_pid))
		prctl(PR_SET_PTRACER, (unsigned long)s->header->recorder_pid, 0, 0, 0);
}

void layout_export_publish(void)
{
	const struct shm_process *self = session_process();

	/* Python knows its threads by the numbers that they have there. */
	if (where.readable && self && self->pid != (uint32_t)getpid())
		where.readable = SHM_PYTHON_ELSEWHERE;
	if (where.readable == SHM_PYTHON_READABLE)
		let_recorder_read();
	session_publish_python(&where);
}
