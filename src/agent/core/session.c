/*
 * Joining a recording, and the bookkeeping of processes and threads in it.
 *
 * A forked child shares the mapping but not the rings: its first event
 * registers it as a process of its own and claims a thread entry, so that one
 * that only executes another program leaves no trace.  A thread that ends seals its ring from a
 * pthread key destructor; a process that ends does nothing, the recorder sees it die.
 */
#include "agent/core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/hot.h"
#include "agent/overhead/budget.h"

#define NO_PROCESS UINT32_MAX
#define INSTANCES_AT_ONCE 1024u
#define RETRY_EVENTS 256u /* to search a full table costs too much to be done for each */

HOT_DATA _Atomic(struct session *) session_current;
HOT_DATA uint32_t session_epoch;
__thread struct ring *session_my_ring;
_Atomic(void (*)(struct ring *)) session_thread_ends;
_Atomic(void (*)(void)) session_read_request;

static struct session *earlier_sessions;
static atomic_flag joining = ATOMIC_FLAG_INIT;
static _Atomic uint32_t homeless; /* events that found all thread entries taken; 0: none lately */
static _Atomic uint32_t process_index = NO_PROCESS;
static _Atomic bool unregistered; /* a forked child without an event so far */
static uint32_t version_of_python;
static struct shm_python python; /* of this process */
static bool python_known;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end_key;
static bool have_key;

struct session *session_on_slow(struct session *s)
{
	int before = errno; /* the program's: hooks are called where it does not expect a call */
	void (*asked)(void);

	if (atomic_load_explicit(&s->header->active, memory_order_relaxed) != SHM_ASKING)
		return NULL;
	asked = atomic_load_explicit(&session_read_request, memory_order_relaxed);
	if (asked)
		asked();
	errno = before;
	return s;
}

struct shm_process *session_process(void)
{
	struct session *s = atomic_load_explicit(&session_current, memory_order_acquire);
	uint32_t index = atomic_load_explicit(&process_index, memory_order_acquire);

	return s && index != NO_PROCESS ? &s->processes[index] : NULL;
}

/* Claims an entry of a table whose entries begin with their state word. */
static uint32_t claim(void *table, size_t entry_bytes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		_Atomic uint32_t *state = (_Atomic uint32_t *)((char *)table + i * entry_bytes);
		uint32_t unused = SHM_UNUSED;

		if (atomic_load_explicit(state, memory_order_relaxed) == SHM_UNUSED &&
		    atomic_compare_exchange_strong_explicit(state, &unused, SHM_CLAIMED,
							    memory_order_acquire,
							    memory_order_relaxed))
			return i;
	}
	return UINT32_MAX;
}

/* The command line, its words separated by line breaks; one in a word becomes a space. */
static void read_command_line(char *out, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		n = 0;
	while (n > 0 && out[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++) {
		if (out[i] == '\n')
			out[i] = ' ';
		else if (out[i] == '\0')
			out[i] = '\n';
	}
	out[n] = '\0';
}

/*
 * The number at the end of what a link in /proc says, which is how the recorder knows us: in a
 * namespace of its own a process has other numbers for itself.  `own` where that cannot be read.
 */
static uint32_t number_in_proc(const char *link, uint32_t own)
{
	char text[64]; /* "4711", "4711/task/4712" */
	ssize_t n = readlink(link, text, sizeof(text) - 1);
	const char *last;
	unsigned long number;

	text[n > 0 ? n : 0] = '\0';
	last = strrchr(text, '/');
	number = strtoul(last ? last + 1 : text, NULL, 10);
	return number ? (uint32_t)number : own;
}

static void write_python(struct shm_process *p)
{
	p->python = python;
	/* Pairs with the acquire in update_processes(): the copy is complete. */
	atomic_store_explicit(&p->python_set, 1, memory_order_release);
}

void session_publish_python(const struct shm_python *where)
{
	struct shm_process *self = session_process();

	python = *where;
	python_known = true;
	if (self)
		write_python(self);
}

static void fill_in(struct shm_process *p, const struct session *s)
{
	p->pid = number_in_proc("/proc/self", (uint32_t)getpid());
	p->parent_pid = p->pid == (uint32_t)getpid() ? (uint32_t)getppid() : 0;
	atomic_store_explicit(&p->python_version, version_of_python, memory_order_relaxed);
	p->start_stamp = stamp_now(s->header->clock);
	atomic_store_explicit(&p->refusal, SHM_OK, memory_order_relaxed);
	atomic_store_explicit(&p->displaced, 0, memory_order_relaxed);
	atomic_store_explicit(&p->defs_lost, 0, memory_order_relaxed);
	atomic_store_explicit(&p->no_thread, 0, memory_order_relaxed);
	atomic_store_explicit(&p->no_lines, 0, memory_order_relaxed);
	atomic_store_explicit(&p->layers_given_up, 0, memory_order_relaxed);
	atomic_store_explicit(&p->event_cost_ps, budget_event_cost_ps(), memory_order_relaxed);
	atomic_store_explicit(&p->overhead_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&p->gpu_overhead_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&p->graph_overhead_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&p->outside_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&p->contention_percent, 0, memory_order_relaxed);
	atomic_store_explicit(&p->throttled_functions, budget_throttled(), memory_order_relaxed);
	atomic_store_explicit(&p->python_set, 0, memory_order_relaxed);
	atomic_store_explicit(&p->window, 0, memory_order_relaxed);
	if (python_known)
		write_python(p);
	read_command_line(p->name, sizeof(p->name));
}

/* Two threads of a forked child may come at once: whose entry is complete first, it is his. */
static int register_process(struct session *s)
{
	uint32_t index = claim(s->processes, sizeof(*s->processes), s->header->processes);
	uint32_t none = NO_PROCESS;
	struct shm_process *p;

	if (index == NO_PROCESS) {
		atomic_fetch_add_explicit(&s->header->no_process, 1, memory_order_relaxed);
		return -1;
	}
	p = &s->processes[index];
	fill_in(p, s);
	/* Pairs with the acquire in session_process(); in update_processes(): the entry is
	 * complete.
	 */
	if (atomic_compare_exchange_strong_explicit(&process_index, &none, index,
						    memory_order_release, memory_order_relaxed))
		atomic_store_explicit(&p->state, SHM_LIVE, memory_order_release);
	else
		atomic_store_explicit(&p->state, SHM_UNUSED, memory_order_release);
	return 0;
}

/* Async-signal-safe: the parent may have had other threads. */
static void in_forked_child(void)
{
	/* The ring's memory is the parent's copy; it is not worth a free() after a fork. */
	session_my_ring = NULL;
	if (have_key)
		pthread_setspecific(thread_end_key, NULL);
	atomic_flag_clear_explicit(
		&joining, memory_order_relaxed); /* the thread that did is not in this process */
	for (struct session *s = earlier_sessions; s; s = s->earlier)
		atomic_store_explicit(&s->rings, 0, memory_order_relaxed);
	if (session_process()) {
		atomic_store_explicit(&process_index, NO_PROCESS, memory_order_relaxed);
		atomic_store_explicit(&unregistered, true, memory_order_relaxed);
	}
}

/*
 * What is not recorded to any more gives back its blocks with its last ring: nothing else leads to
 * them.  The rest stays mapped: a thread that found the session on a moment ago may still read the
 * header, and accounts are in its tables.
 */
static void forsake(struct session *s)
{
	uintptr_t page, at, end;

	/* Sequentially consistent, like all code that counts rings and ends sessions: the last
	 * one detects that it is. */
	if (atomic_load(&s->rings) || atomic_load(&session_current) == s ||
	    atomic_exchange(&s->is_forsaken, true))
		return;
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	at = ((uintptr_t)s->blocks + page - 1) / page * page;
	end = (uintptr_t)s->header + s->bytes;
	munmap((void *)at, end - at);
}

static void give_up_ring(struct session *s)
{
	atomic_fetch_sub(&s->rings, 1);
	forsake(s);
}

/* False: it was left, and there must be no more rings. */
static bool may_have_ring(struct session *s)
{
	atomic_fetch_add(&s->rings, 1);
	if (atomic_load(&session_current) == s)
		return true;
	give_up_ring(s);
	return false;
}

static void at_thread_end(void *ring)
{
	struct ring *r = ring;
	struct session *s = r->session;
	struct shm_thread *t = &s->threads[r->thread];

	void (*last_words)(struct ring *) =
		atomic_load_explicit(&session_thread_ends, memory_order_relaxed);

	session_my_ring = NULL;
	if (last_words)
		last_words(r);
	budget_settle(r);
	ring_seal(r);
	atomic_store_explicit(&t->end_stamp, stamp_now(r->clock), memory_order_relaxed);
	atomic_store_explicit(&t->cpu_end_ns, stamp_thread_cpu(), memory_order_relaxed);
	/* Pairs with the acquire in update_threads(): the blocks are sealed. */
	atomic_store_explicit(&t->state, SHM_ENDED, memory_order_release);
	free(r->ranges);
	free(r->layers);
	free(r->scopes);
	free(r);
	give_up_ring(s);
}

/* The ring of a session that this process has left, or leaves now. */
static void end_ring(struct ring *r)
{
	session_my_ring = NULL;
	at_thread_end(r);
	if (have_key)
		pthread_setspecific(thread_end_key, NULL);
}

static void set_up_once(void)
{
	have_key = pthread_key_create(&thread_end_key, at_thread_end) == 0;
	pthread_atfork(NULL, NULL, in_forked_child);
}

/*
 * An entry of the thread table; UINT32_MAX: there is none, or it is too early to search again.
 */
static uint32_t claim_thread(struct session *s)
{
	uint32_t missed = atomic_load_explicit(&homeless, memory_order_relaxed), index;

	if (missed)
		missed = atomic_fetch_add_explicit(&homeless, 1, memory_order_relaxed);
	if (missed % RETRY_EVENTS)
		return UINT32_MAX;
	index = claim(s->threads, sizeof(*s->threads), s->header->threads);
	if (index != UINT32_MAX && missed)
		atomic_store_explicit(&homeless, 0, memory_order_relaxed);
	if (index == UINT32_MAX && !missed)
		atomic_store_explicit(&homeless, 1, memory_order_relaxed);
	return index;
}

static struct ring *begin_ring(struct session *s)
{
	struct ring *r = session_my_ring;
	struct shm_process *self;
	struct shm_thread *t;
	uint32_t index;

	if (atomic_load_explicit(&unregistered, memory_order_relaxed)) {
		if (register_process(s))
			atomic_store_explicit(&session_current, NULL, memory_order_release);
		atomic_store_explicit(&unregistered, false, memory_order_relaxed);
	}
	self = session_process();
	if (!self)
		return NULL;
	if (r && !r->alone)
		end_ring(r);
	if (!may_have_ring(s))
		return NULL;
	index = claim_thread(s);
	r = index == UINT32_MAX ? NULL : malloc(ring_bytes(s));
	if (!r) {
		if (index != UINT32_MAX)
			atomic_store_explicit(&s->threads[index].state, SHM_UNUSED,
					      memory_order_release);
		atomic_fetch_add_explicit(&self->no_thread, 1, memory_order_relaxed);
		give_up_ring(s);
		return NULL;
	}
	ring_init(r, s, index);
	t = &s->threads[index];
	t->process = atomic_load_explicit(&process_index, memory_order_relaxed);
	t->tid = (uint32_t)syscall(SYS_gettid);
	if (self->pid != (uint32_t)getpid())
		t->tid = number_in_proc("/proc/thread-self", t->tid);
	t->start_stamp = stamp_now(r->clock);
	t->cpu_begin_ns = stamp_thread_cpu();
	atomic_store_explicit(&t->cpu_end_ns, 0, memory_order_relaxed);
	t->name[0] = '\0';
	atomic_store_explicit(&t->name_set, 0, memory_order_relaxed);
	atomic_store_explicit(&t->end_stamp, 0, memory_order_relaxed);
	atomic_store_explicit(&t->produced, 0, memory_order_relaxed);
	/* Pairs with the acquire in update_threads(): the entry is complete. */
	atomic_store_explicit(&t->state, SHM_LIVE, memory_order_release);
	session_my_ring = r;
	if (have_key)
		pthread_setspecific(thread_end_key, r);
	return r;
}

struct ring *session_ring_slow(struct session *s)
{
	int before = errno; /* the program's */
	struct ring *r = begin_ring(s);

	errno = before;
	return r;
}

void session_name_thread(struct ring *r, const char *name)
{
	struct shm_thread *t = &r->session->threads[r->thread];

	if (atomic_load_explicit(&t->name_set, memory_order_relaxed))
		return;
	snprintf(t->name, sizeof(t->name), "%s", name);
	/* Pairs with the acquire in update_threads(): the name is complete. */
	atomic_store_explicit(&t->name_set, 1, memory_order_release);
}

uint32_t session_next_id(struct session *s)
{
	uint32_t id = atomic_fetch_add_explicit(&s->header->next_id, 1, memory_order_relaxed);

	return id ? id : atomic_fetch_add_explicit(&s->header->next_id, 1, memory_order_relaxed);
}

/* A thread takes many at a time: one counter for all would be a cache line that all want. */
uint64_t session_next_instance(struct ring *r)
{
	static _Atomic uint64_t next = 1;

	if (r->instance == r->instances_end) {
		r->instance =
			atomic_fetch_add_explicit(&next, INSTANCES_AT_ONCE, memory_order_relaxed);
		r->instances_end = r->instance + INSTANCES_AT_ONCE;
	}
	return r->instance++;
}

static bool table_fits(const struct shm_header *h, uint64_t at, uint64_t count, uint64_t bytes)
{
	return at % 64 == 0 && at <= h->total_bytes && count * bytes <= h->total_bytes - at;
}

static bool header_is_sound(const struct shm_header *h, uint64_t file_bytes, uint64_t token)
{
	return h->magic == SHM_MAGIC && h->version == SHM_VERSION && h->token == token &&
	       h->total_bytes == file_bytes && h->processes <= SHM_MAX_PROCESSES &&
	       h->threads <= SHM_MAX_THREADS && h->blocks <= SHM_MAX_BLOCKS && h->blocks &&
	       table_fits(h, h->processes_at, h->processes, sizeof(struct shm_process)) &&
	       table_fits(h, h->threads_at, h->threads, sizeof(struct shm_thread)) &&
	       h->windows <= SHM_MAX_WINDOWS &&
	       table_fits(h, h->windows_at, h->windows, sizeof(struct shm_window)) &&
	       table_fits(h, h->free_map_at, (h->blocks + 63u) / 64u, 8) &&
	       table_fits(h, h->block_state_at, h->blocks, 8) &&
	       table_fits(h, h->block_begun_at, h->blocks, 8) &&
	       table_fits(h, h->blocks_at, h->blocks, SHM_BLOCK_BYTES);
}

/* "PID.FD.NOTEFD.TOKEN" */
static bool parse_where(const char *where, unsigned long numbers[3], unsigned long long *token)
{
	char *end;

	for (int i = 0; i < 3; i++) {
		numbers[i] = strtoul(where, &end, 10);
		if (end == where || *end != '.')
			return false;
		where = end + 1;
	}
	*token = strtoull(where, &end, 16);
	return end != where && !*end;
}

/*
 * Is it what the recorder made?  Its process may be gone and another one have its
 * number: then this is some file of that one's, and even opening a device can
 * have consequences.
 */
static bool is_session_memory(const char *path)
{
	static const char expected[] = "/memfd:" SHM_MEMFD " (deleted)";
	char target[sizeof(expected)];
	ssize_t n = readlink(path, target, sizeof(target));

	return n == (ssize_t)sizeof(expected) - 1 && !memcmp(target, expected, (size_t)n);
}

/*
 * A program with more rights than its caller has (AT_SECURE), or one that runs as
 * another user, does not join: the owner of the memory can change it at any time,
 * the sizes in it too, and so make us write where it may not.
 */
static struct session *session_map(const char *where)
{
	unsigned long numbers[3];
	unsigned long long token;
	struct shm_header *h;
	struct session *s;
	struct stat st;
	char path[sizeof(s->path)];
	int fd;

	if (!where || getauxval(AT_SECURE) || !parse_where(where, numbers, &token))
		return NULL;
	snprintf(path, sizeof(path), "/proc/%lu/fd/%lu", numbers[0], numbers[1]);
	fd = is_session_memory(path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size < (off_t)sizeof(*h)) {
		close(fd);
		return NULL;
	}
	h = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		return NULL;
	s = header_is_sound(h, (uint64_t)st.st_size, token) ? calloc(1, sizeof(*s)) : NULL;
	if (!s) {
		munmap(h, (size_t)st.st_size);
		return NULL;
	}
	s->header = h;
	s->bytes = (size_t)st.st_size;
	s->processes = (void *)((char *)h + h->processes_at);
	s->threads = (void *)((char *)h + h->threads_at);
	s->windows = (void *)((char *)h + h->windows_at);
	s->free_map = (void *)((char *)h + h->free_map_at);
	s->block_state = (void *)((char *)h + h->block_state_at);
	s->block_begun = (void *)((char *)h + h->block_begun_at);
	s->blocks = (void *)((char *)h + h->blocks_at);
	s->inode = st.st_ino;
	memcpy(s->path, path, sizeof(path));
	return s;
}

void session_unmap(struct session *s)
{
	if (!s)
		return;
	munmap(s->header, s->bytes);
	free(s);
}

static enum shm_active activity(const struct session *s)
{
	return atomic_load_explicit(&s->header->active, memory_order_acquire);
}

struct session *session_map_delayed(const char *where)
{
	struct session *s = session_map(where);

	if (!s || activity(s) == SHM_DELAYED)
		return s;
	session_unmap(s);
	return NULL;
}

static int join(const char *where, uint32_t python_version)
{
	struct session *s, *old;

	if (session_on())
		return -1;
	s = session_map(where);
	if (!s)
		return -1;
	version_of_python = python_version;
	atomic_store_explicit(&process_index, NO_PROCESS, memory_order_relaxed);
	atomic_store_explicit(&homeless, 0, memory_order_relaxed);
	budget_start(s->header);
	if ((activity(s) != SHM_ON && activity(s) != SHM_ASKING) || register_process(s)) {
		session_unmap(s);
		return -1;
	}
	s->earlier = earlier_sessions;
	earlier_sessions = s;
	session_epoch++;
	old = atomic_exchange(&session_current, s);
	if (old) /* the recorder ended it */
		forsake(old);
	return 0;
}

int session_join(const char *where, uint32_t python_version)
{
	int rc;

	/* The CUDA driver, Python and a native library may ask at the same time: one does it. */
	if (atomic_flag_test_and_set_explicit(&joining, memory_order_acquire))
		return -1;
	pthread_once(&once, set_up_once);
	rc = join(where, python_version);
	atomic_flag_clear_explicit(&joining, memory_order_release);
	return rc;
}

bool session_becomes_python(uint32_t python_version)
{
	struct shm_process *self = session_process();

	if (!session_on() || version_of_python)
		return false;
	version_of_python = python_version; /* of forked children, too */
	if (self)
		atomic_store_explicit(&self->python_version, python_version, memory_order_relaxed);
	return true;
}

void session_leave(void)
{
	struct shm_process *self = session_process();
	struct session *s = atomic_exchange(&session_current, NULL);
	struct ring *r = session_my_ring;

	if (r && r->session == s && !r->alone)
		end_ring(r);
	if (self)
		atomic_store_explicit(&self->state, SHM_ENDED, memory_order_release);
	if (s)
		forsake(s);
}
