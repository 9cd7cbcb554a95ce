/*
 * A clock inside a Python program: at each tick it writes down the stack of the
 * thread that it interrupts, at that very instruction.  No time passes between two
 * frames, so this is the truth that looks from outside are compared with.
 *
 * Loaded with ctypes.  In the handler memory is read by the kernel: a frame that is being made
 * may link to anything.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/py_layout.h"

#define TICKS_MAX 32768
#define FRAMES_MAX 96 /* the innermost */

static struct {
	uint32_t count;
	uint64_t codes[FRAMES_MAX]; /* innermost first */
} ticks[TICKS_MAX];
static volatile sig_atomic_t tick_count;
static const struct py_layout *layout;
static void *(*thread_state)(void);
static pid_t self;

static int copy(void *to, uint64_t from, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };

	return process_vm_readv(self, &local, 1, &remote, 1, 0) == (ssize_t)bytes ? 0 : -1;
}

static void on_tick(int number)
{
	uint64_t at = 0, state = (uint64_t)(uintptr_t)thread_state();
	uint8_t frame[PY_FRAME_BYTES];
	uint32_t n = 0;

	(void)number;
	if (tick_count == TICKS_MAX || !state || copy(&at, state + layout->frame, sizeof(at)) ||
	    (layout->has_cframe && copy(&at, at + layout->cframe_frame, sizeof(at))))
		return;
	while (at && n < FRAMES_MAX && !copy(frame, at, sizeof(frame))) {
		uint64_t code;

		memcpy(&code, frame + layout->code, sizeof(code));
		memcpy(&at, frame + layout->previous, sizeof(at));
		if (!layout->owner || frame[layout->owner] != PY_OWNED_BY_C_STACK)
			ticks[tick_count].codes[n++] = code & ~(uint64_t)layout->tags;
	}
	ticks[tick_count].count = n;
	tick_count++;
}

/* Every `us` microseconds; 0: no more.  -1: not for this version. */
int clock_set(uint32_t version, long us)
{
	struct sigaction act = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, us }, { 0, us } };

	layout = py_layout_find(version);
	thread_state = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	self = getpid();
	if (!layout || !thread_state)
		return -1;
	return sigaction(SIGALRM, &act, NULL) || setitimer(ITIMER_REAL, &every, NULL) ? -1 : 0;
}

int clock_ticks(void)
{
	return tick_count;
}

/* The addresses of its code objects, innermost first; returns how many. */
int clock_stack(int tick, uint64_t *codes)
{
	memcpy(codes, ticks[tick].codes, ticks[tick].count * sizeof(*codes));
	return (int)ticks[tick].count;
}
