#include "agent/core/self_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/core/agent_threads.h"
#include "agent/core/bounded_wait.h"
#include "agent/overhead/budget.h"
#include "format/stamp.h"

#define STACK_BYTES ((size_t)512 << 10)
#define HIGH_FD 500 /* programs that count on the lowest free number are not in its way */

#ifndef SYS_close_range
#define SYS_close_range 436 /* on every architecture */
#endif
#define CLOSE_UNSHARED 2u /* CLOSE_RANGE_UNSHARE */

enum phase {
	IDLE,    /* no thread */
	RUNNING, /* it waits or answers */
	PAUSING, /* it is asked to end */
};

static _Atomic int phase;
static _Atomic bool paused; /* it was asked to end, and is to come back */
static _Atomic(_Atomic uint32_t *) sleeps_on;
static _Atomic int thread_number; /* gettid() */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Of the thread; its starter sets the first two. */
static struct {
	struct session *session;
	struct shm_process *self;
	struct shm_window *window;
	unsigned way; /* of `ways`: those before it do not work here */
	int fd;       /* -1: none */
	dev_t device; /* of its file, as is the inode */
	ino_t inode;
	bool own_files; /* the thread has a table of files of its own */
	uint64_t cpu_ns;
	struct iovec pieces[SHM_WINDOW_PIECES];
} reader = { .fd = -1 };

/* --- ways to read memory that may not be there --- */

static int outcome(ssize_t n, size_t bytes)
{
	if (n < 0)
		return errno;
	return (size_t)n == bytes ? 0 : EFAULT;
}

static int by_vm_read(unsigned count, size_t bytes)
{
	struct iovec to = { reader.window->data, bytes };

	return outcome(process_vm_readv(getpid(), &to, 1, reader.pieces, count, 0), bytes);
}

/*
 * Gives the thread an empty file table of its own: files that it opens do not disturb the
 * program, and the program cannot close them.
 */
static bool unshare_files(void)
{
	reader.own_files |= !syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_UNSHARED);
	return reader.own_files;
}

/* Among the program's files it may have closed ours, and opened another by the same number. */
static bool file_is_ours(void)
{
	struct stat st;

	return reader.fd >= 0 &&
	       (reader.own_files || (!fstat(reader.fd, &st) && st.st_dev == reader.device &&
				     st.st_ino == reader.inode));
}

/* Async-signal-safe. */
static void forget_file(void)
{
	if (file_is_ours())
		close(reader.fd);
	reader.fd = -1;
}

static void open_window(void)
{
	struct stat st;

	reader.fd = open(reader.session->path, O_RDWR | O_CLOEXEC);
	/* The recorder may be gone and its number another process's. */
	if (reader.fd >= 0 && (fstat(reader.fd, &st) || st.st_ino != reader.session->inode))
		forget_file();
}

/*
 * The window is part of a file, and a file can be written from any source: even a program that may
 * not read itself can do that.  Only with a file table of our own: a descriptor that the program
 * closes and opens again would be a different file.
 */
static int by_writing(unsigned count, size_t bytes)
{
	off_t at = (off_t)((char *)reader.window->data - (char *)reader.session->header);

	if (reader.fd < 0 && unshare_files())
		open_window();
	if (reader.fd < 0)
		return ENOSYS;
	return outcome(pwritev(reader.fd, reader.pieces, (int)count, at), bytes);
}

static void open_own_memory(void)
{
	int low = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };

	if (low < 0)
		return;
	if (!fstat(low, &st))
		reader.fd = fcntl(low, F_DUPFD_CLOEXEC, HIGH_FD);
	reader.device = st.st_dev;
	reader.inode = st.st_ino;
	close(low);
}

/* Linux before 5.9. */
static int by_proc(unsigned count, size_t bytes)
{
	uint8_t *to = reader.window->data;

	(void)bytes;
	if (!file_is_ours())
		open_own_memory();
	if (!file_is_ours())
		return ENOSYS;
	for (unsigned i = 0; i < count; i++) {
		const struct iovec *p = &reader.pieces[i];
		ssize_t n = pread(reader.fd, to, p->iov_len, (off_t)(uintptr_t)p->iov_base);

		if (n < 0 && errno != EIO)
			return errno;
		if (n != (ssize_t)p->iov_len)
			return EFAULT;
		to += p->iov_len;
	}
	return 0;
}

static int (*const ways[])(unsigned count, size_t bytes) = { by_vm_read, by_writing, by_proc };

static int read_pieces(unsigned count, size_t bytes)
{
	int error = ENOSYS;

	for (; reader.way < sizeof(ways) / sizeof(ways[0]); reader.way++) {
		error = ways[reader.way](count, bytes);
		if (!error || error == EFAULT)
			return error;
		forget_file();
	}
	return error;
}

/* --- the thread --- */

static void wait_on(_Atomic uint32_t *word, uint32_t seen)
{
	atomic_store(&sleeps_on, word);
	syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool goes_on(void)
{
	uint32_t active =
		atomic_load_explicit(&reader.session->header->active, memory_order_relaxed);

	return atomic_load(&phase) == RUNNING && (active == SHM_ON || active == SHM_ASKING);
}

static struct shm_window *window_of(uint32_t number)
{
	return number ? &reader.session->windows[(number - 1) % SHM_MAX_WINDOWS] : NULL;
}

/* NULL: it was paused, or the recording is over. */
static struct shm_window *wait_for_window(void)
{
	while (goes_on()) {
		/* Pairs with the release in window_open(): the window is ready. */
		uint32_t number = atomic_load_explicit(&reader.self->window, memory_order_acquire);
		struct shm_window *w = window_of(number);

		if (w && w->pid == reader.self->pid)
			return w;
		wait_on(&reader.self->window, number);
	}
	return NULL;
}

static bool wait_for_question(uint32_t *question)
{
	struct shm_window *w = reader.window;

	while (goes_on()) {
		/* Pairs with the release in ask(): the question is complete. */
		uint32_t asked = atomic_load_explicit(&w->asked, memory_order_acquire);

		if (asked == SHM_WINDOW_OVER || w->pid != reader.self->pid)
			return false;
		if (asked != atomic_load_explicit(&w->answered, memory_order_relaxed)) {
			*question = asked;
			return true;
		}
		wait_on(&w->asked, asked);
	}
	return false;
}

/* Of what was asked, a copy: the total must not change between here and the reading. */
static bool copy_pieces(unsigned *count, size_t *bytes)
{
	const struct shm_window *w = reader.window;

	*count = *(const volatile uint32_t *)&w->count;
	*bytes = 0;
	if (*count > SHM_WINDOW_PIECES)
		return false;
	for (unsigned i = 0; i < *count; i++) {
		struct shm_piece p = w->pieces[i];

		if (p.bytes > SHM_WINDOW_BYTES - *bytes)
			return false;
		reader.pieces[i] = (struct iovec){ (void *)(uintptr_t)p.at, (size_t)p.bytes };
		*bytes += p.bytes;
	}
	return true;
}

static void charge(void)
{
	uint64_t now_ns = stamp_thread_cpu();

	budget_spend_ns(now_ns - reader.cpu_ns);
	reader.cpu_ns = now_ns;
}

static void answer(uint32_t question)
{
	struct shm_window *w = reader.window;
	unsigned count;
	size_t bytes;

	w->read_ns = stamp_monotonic();
	w->error = !copy_pieces(&count, &bytes) ? EINVAL : count ? read_pieces(count, bytes) : 0;
	charge();
	w->cpu_ns = reader.cpu_ns;
	/* Pairs with the acquire in wait_for_answer(): the bytes are there. */
	atomic_store_explicit(&w->answered, question, memory_order_release);
	wake(&w->answered);
}

static void *run(void *unused)
{
	uint32_t question;

	(void)unused;
	atomic_store(&thread_number, (int)syscall(SYS_gettid));
	reader.cpu_ns = 0;
	reader.way = 0;
	reader.own_files = false;
	reader.window = wait_for_window();
	while (reader.window && wait_for_question(&question))
		answer(question);
	forget_file();
	atomic_store(&phase, IDLE); /* from here on another may be started */
	return NULL;
}

/* --- for everybody else --- */

/* Async-signal-safe. */
static void in_forked_child(void)
{
	if (reader.own_files) /* a table that is not here */
		reader.fd = -1;
	forget_file();
	atomic_store(&paused, false);
	atomic_store(&phase, IDLE);
}

static void set_up_once(void)
{
	pthread_atfork(NULL, NULL, in_forked_child);
}

static void start(void)
{
	struct session *s = atomic_load_explicit(&session_current, memory_order_acquire);
	struct shm_process *self = session_process();
	pthread_attr_t attributes;
	pthread_t thread;
	int idle = IDLE, result;

	if (!s || !self || atomic_load(&paused) ||
	    !atomic_compare_exchange_strong(&phase, &idle, RUNNING))
		return; /* it runs already, or there is no recording */
	pthread_once(&once, set_up_once);
	reader.session = s;
	reader.self = self;
	atomic_store(&sleeps_on, &self->window);
	result = pthread_attr_init(&attributes);
	if (!result) {
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attributes, STACK_BYTES);
		result = agent_thread_start(&thread, &attributes, run, NULL);
		pthread_attr_destroy(&attributes);
	}
	if (result)
		atomic_store(&phase, IDLE);
}

static void start_if_requested(void)
{
	const struct shm_process *self = session_process();

	if (self && atomic_load_explicit(&self->window, memory_order_relaxed))
		start();
}

bool self_reader_is_needed(void)
{
	const struct session *s = session_on();

	/* To the kernel's files a process that is not dumpable belongs to root. */
	return s && (s->header->refused || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1);
}

void self_reader_start(void)
{
	atomic_store(&session_read_request, start_if_requested);
	if (self_reader_is_needed())
		start();
}

/* It may be just about to sleep: it is woken until it has noticed. */
static bool has_ended(void *unused)
{
	(void)unused;
	if (atomic_load(&phase) != PAUSING)
		return true;
	wake(atomic_load(&sleeps_on));
	return false;
}

static bool stop(void)
{
	int running = RUNNING;

	if (!atomic_compare_exchange_strong(&phase, &running, PAUSING))
		return false;
	if (bounded_wait(has_ended, NULL, WAIT_WITHOUT_GIL_MS))
		agent_thread_wait(atomic_load(&thread_number));
	return true;
}

bool inside_is_running(void)
{
	return atomic_load(&phase) != IDLE;
}

bool self_reader_pause(void)
{
	/* Before it ends: no event is to start another. */
	bool was_paused = atomic_exchange(&paused, true), stopped = stop();

	if (!stopped)
		atomic_store(&paused, was_paused);
	return stopped;
}

void self_reader_resume(void)
{
	if (atomic_exchange(&paused, false))
		start();
}

void self_reader_stop(void)
{
	atomic_store(&session_read_request, NULL);
	stop();
	atomic_store(&paused, false);
}
