/*
 * The Python frames of the calling thread, read without the GIL.
 *
 * A thread inside C code may read its own frames: no other thread changes them.
 * The layouts are a table, one row for each minor version, checked against
 * what Python itself says when the agent starts; on any difference nothing is
 * read at all.
 */
#ifndef AGENT_PYTHON_FRAMES_H
#define AGENT_PYTHON_FRAMES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/ring.h"
#include <sys/uio.h>
#include <unistd.h>

struct frame_ref {
	const void *code;
	uint32_t offset; /* of the instruction, in bytes */
};

/* With the GIL, from a function that Python called.  -1: this interpreter is laid out otherwise. */
int frames_init(void);

/* Did frames_init() succeed? */
bool frames_known(void);

/*
 * Innermost first, at most FRAMES_MAX; returns how many.  0 in threads that run no
 * Python, and without frames_init().
 */
size_t frames_read(struct frame_ref out[FRAMES_MAX]);

/*
 * Equal fingerprints mean equal results of frames_read(), as long as no code object is freed; 0 if
 * there is nothing to read.  Many times as fast, because it reads the frames only, not their code.
 * `last` is the calling thread's own.
 */
uint64_t frames_fingerprint(struct frames_path *last);

/* A frame; what it runs distinguishes it from another one at the same address. */
struct frame_mark {
	const void *frame; /* NULL: none, or unknown */
	const void *code;
};

struct frame_mark frames_newest(void); /* of the calling thread */

/*
 * Is the newest frame, or (if `outer`) the one that called it, this one, or was it called by it?
 * Also true if too many frames lie between to decide.
 */
bool frames_is_inside(const struct frame_mark *mark, bool outer);

/*
 * The first argument of the function in the newest frame, which Python calls `name`: a
 * borrowed reference, NULL where it cannot be read.  With the GIL, when the function begins or
 * ends.  The first time Python itself is asked, and if it says otherwise nothing is ever read.
 */
struct PyObject *frames_argument(const char *name);

/* Likewise of the function so many calls further out; once frames_argument() has read one. */
struct PyObject *frames_argument_of(unsigned depth);

/* The raw line table of a code object in a frame; NULL: not a bytes object where one should be. */
const uint8_t *frames_line_table(const void *code, uint32_t *bytes);

/* Asking the kernel whether memory of ours can be read, where a mistake would be a crash. */

/*
 * At most 256 bytes.  False: reading there would be a crash.  True also where the
 * kernel does not let us ask.
 */
static inline bool memory_readable(const char *at, size_t bytes)
{
	char copy[256];
	struct iovec local = { copy, bytes }, remote = { (void *)(uintptr_t)at, bytes };
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return n == (ssize_t)bytes || (n < 0 && errno != EFAULT);
}

/*
 * Publishes where this process keeps its Python threads, so that the recorder can read their
 * stacks from outside.
 */

/*
 * With the GIL, from a function that Python called, after frames_init().  Compares
 * format/py_layout.h with this interpreter.
 */
void layout_export_check(void);

/* Publishes the outcome in this process's entry, and in those of its forked children. */
void layout_export_publish(void);

#endif
