#include "capture/sampler/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/system/fd_budget.h"

#define WATCHES_MAX 1024u
#define ARGUMENTS 6 /* then the stack pointer and the program counter */

/* A waiter that parks does so in its own frames, not farther than this above its stack pointer. */
#define PARKED_WITHIN (64u << 10)

/*
 * System calls in which a thread waits for data or a device.  What is
 * missing on an architecture has no number there.
 */
static const int waiting_calls[] = {
	SYS_read,
	SYS_write,
	SYS_pread64,
	SYS_pwrite64,
	SYS_readv,
	SYS_writev,
	SYS_preadv,
	SYS_pwritev,
	SYS_preadv2,
	SYS_pwritev2,
	SYS_sendfile,
	SYS_splice,
	SYS_tee,
	SYS_vmsplice,
	SYS_copy_file_range,
	SYS_fsync,
	SYS_fdatasync,
	SYS_sync,
	SYS_syncfs,
	SYS_sync_file_range,
	SYS_msync,
	SYS_openat,
	SYS_close,
	SYS_ppoll,
	SYS_pselect6,
	SYS_epoll_pwait,
	SYS_accept,
	SYS_accept4,
	SYS_connect,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_recvmmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_sendmmsg,
	SYS_io_getevents,
	SYS_wait4,
	SYS_waitid,
	SYS_rt_sigtimedwait,
	SYS_flock,
	SYS_fcntl,
	SYS_ioctl,
	SYS_mq_timedsend,
	SYS_semtimedop,
	SYS_mq_timedreceive,
	SYS_rt_sigsuspend,
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_select
	SYS_select,
#endif
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
#ifdef SYS_open
	SYS_open,
#endif
#ifdef SYS_pause
	SYS_pause,
#endif
#ifdef SYS_io_uring_enter
	SYS_io_uring_enter,
#endif
};

/*
 * Those that wait for a time, and those that do if there is no file to wait for: so Python's
 * time.sleep() did it before 3.11.
 */
static const int sleeping_calls[] = { SYS_nanosleep, SYS_clock_nanosleep };

static const struct {
	int number;
	size_t files; /* the argument that is their number */
} selecting_calls[] = {
	{ SYS_pselect6, 0 },
	{ SYS_ppoll, 1 },
#ifdef SYS_select
	{ SYS_select, 0 },
#endif
#ifdef SYS_poll
	{ SYS_poll, 1 },
#endif
};

/* The operations of futex(2) that wait. */
static const int waiting_operations[] = {
	FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_LOCK_PI, FUTEX_WAIT_REQUEUE_PI, 13 /* FUTEX_LOCK_PI2 */
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool contains(const int *numbers, size_t count, long wanted)
{
	for (size_t i = 0; i < count; i++) {
		if (numbers[i] == wanted)
			return true;
	}
	return false;
}

static int open_file(const char *root, pid_t pid, pid_t tid, const char *name)
{
	char path[4096 + 64];

	if (snprintf(path, sizeof(path), "%s/proc/%d/task/%d/%s", root, pid, tid, name) >=
	    (int)sizeof(path))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The whole file as text, "" where there is none (any more); false: it is refused. */
static bool read_text(int fd, char *text, size_t size)
{
	ssize_t n = fd < 0 ? 0 : pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n >= 0 || (errno != EPERM && errno != EACCES);
}

static bool is_readable(int fd)
{
	char text[256];

	/* Some kernels let it be opened and refuse to read it. */
	return fd >= 0 && pread(fd, text, sizeof(text), 0) >= 0;
}

void thread_state_reader_open(struct thread_state_reader *w, struct thread_state_readeres *all,
			      const char *root, pid_t pid, pid_t tid)
{
	*w = (struct thread_state_reader){ .fd = -1, .root = root, .pid = pid, .tid = tid };
	if (all->open >= fd_budget(WATCHES_MAX))
		return;
	w->fd = open_file(root, pid, tid, "syscall");
	if (!is_readable(w->fd)) {
		if (w->fd >= 0)
			close(w->fd);
		w->fd = open_file(root, pid, tid, "stat");
		w->refused = w->fd >= 0;
	}
	all->open += w->fd >= 0;
}

void thread_state_reader_close(struct thread_state_reader *w, struct thread_state_readeres *all)
{
	if (w->fd < 0)
		return;
	close(w->fd);
	w->fd = -1;
	all->open--;
}

/* "29342 (name) S ...": the name may contain anything. */
static enum sample_state state_of_letter(const char *text)
{
	const char *letter = strrchr(text, ')');

	if (!letter || letter[1] != ' ')
		return SAMPLE_UNKNOWN;
	switch (letter[2]) {
	case 'R':
		return SAMPLE_RUNNING;
	case 'D':
		return SAMPLE_IO_WAIT;
	case 'S':
	case 'I':
	case 'T':
	case 't':
		return SAMPLE_OFF_CPU;
	default: /* it has ended */
		return SAMPLE_UNKNOWN;
	}
}

static struct thread_state state_of_futex(const uint64_t *arguments, struct address_range gil)
{
	uint64_t address = arguments[0], stack = arguments[ARGUMENTS];
	struct thread_state s = { SAMPLE_LOCK_WAIT, address };

	if (!contains(waiting_operations, COUNT(waiting_operations),
		      (int)arguments[1] & FUTEX_CMD_MASK))
		return (struct thread_state){ SAMPLE_OFF_CPU, 0 };
	if (address >= gil.begin && address < gil.end)
		return (struct thread_state){ SAMPLE_GIL_WAIT, 0 };
	if (address >= stack && address - stack < PARKED_WITHIN)
		s.lock = 0;
	return s;
}

static bool is_sleep(long number, const uint64_t *arguments)
{
	if (contains(sleeping_calls, COUNT(sleeping_calls), number))
		return true;
	for (size_t i = 0; i < COUNT(selecting_calls); i++)
		if (selecting_calls[i].number == number)
			return !arguments[selecting_calls[i].files];
	return false;
}

/* "running", "-1 SP PC" or "NUMBER ARGUMENT*6 SP PC". */
static struct thread_state state_of_call(const char *text, struct address_range gil)
{
	uint64_t arguments[ARGUMENTS + 2];
	char *end;
	long number;

	if (!strncmp(text, "running", 7))
		return (struct thread_state){ SAMPLE_RUNNING, 0 };
	number = strtol(text, &end, 10);
	if (end == text)
		return (struct thread_state){ SAMPLE_UNKNOWN, 0 };
	for (size_t i = 0; i < COUNT(arguments); i++)
		arguments[i] = strtoull(end, &end, 16);
	if (is_sleep(number, arguments))
		return (struct thread_state){ SAMPLE_SLEEP, 0 };
	if (contains(waiting_calls, COUNT(waiting_calls), number))
		return (struct thread_state){ SAMPLE_IO_WAIT, 0 };
	if (number != SYS_futex)
		return (struct thread_state){ SAMPLE_OFF_CPU, 0 };
	return state_of_futex(arguments, gil);
}

struct thread_state thread_state_reader_state(struct thread_state_reader *w,
					      struct address_range gil)
{
	char text[512];

	if (!read_text(w->fd, text, sizeof(text)) && !w->refused) {
		int fd = open_file(w->root, w->pid, w->tid, "stat");

		if (fd >= 0) {
			close(w->fd);
			w->fd = fd;
			w->refused = true;
			read_text(fd, text, sizeof(text));
		}
	}
	if (w->refused)
		return (struct thread_state){ state_of_letter(text), 0 };
	return state_of_call(text, gil);
}

bool thread_times_read(struct thread_times *out, const char *root, pid_t pid, pid_t tid)
{
	int fd = open_file(root, pid, tid, "schedstat");
	const char *text_left;
	char text[128], *end;

	if (fd < 0)
		return false;
	read_text(fd, text, sizeof(text));
	close(fd);
	out->on_cpu_ns = strtoull(text, &end, 10);
	if (end == text || *end != ' ')
		return false;
	text_left = end;
	out->queued_ns = strtoull(text_left, &end, 10);
	return end != text_left;
}
