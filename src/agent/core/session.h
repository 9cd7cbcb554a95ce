/*
 * The agent's side of a recording: the mapped shared memory, this process's
 * entry in it and the ring of each thread.
 *
 * Everything here may run in any thread, with or without the GIL, in native
 * programs too.  Nothing prints, exits or blocks.
 */
#ifndef AGENT_CORE_SESSION_H
#define AGENT_CORE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/ring.h"
#include "format/shm.h"

struct session {
	struct shm_header *header;
	size_t bytes; /* mapped; the header shows it too, until the recorder empties it */
	struct shm_process *processes;
	struct shm_thread *threads;
	struct shm_window *windows;
	_Atomic uint64_t *free_map;
	_Atomic uint64_t *block_state;
	_Atomic uint64_t *block_begun;
	struct shm_block *blocks;
	_Atomic uint32_t rings;   /* that write to them */
	_Atomic bool is_forsaken; /* and they are no longer mapped */
	struct session *earlier;  /* joined before this one */
	char path[64];            /* of its memory */
	uint64_t inode;           /* likewise */
};

/*
 * Joins the session that `where` names (the text of SHM_ENV) and registers this
 * process; python_version is PY_VERSION_HEX, 0 in a native program.  0, or -1
 * where there is none, it is over, it is another user's, or we have more rights
 * than our caller (errno is ENOMEM where it is ours and cannot be mapped).  Another session
 * may be joined after session_leave().  The blocks of the old one are mapped until its last
 * ring is let go, for a thread may still be writing (the recorder empties them); its tables, some
 * MB, stay.
 */
int session_join(const char *where, uint32_t python_version);

/* Maps a session that lies ahead (SHM_DELAYED), without joining it; NULL: it does not. */
struct session *session_map_delayed(const char *where);
void session_unmap(struct session *s); /* NULL is a no-op; not for one that was joined */

/*
 * A native program that has joined turns out to run Python of this version.
 * False: no recording is on, or its Python is known already.
 */
bool session_becomes_python(uint32_t python_version);

/*
 * Stops recording in this process.  The calling thread's ring is let go, those of others at their
 * next event.
 */
void session_leave(void);

extern _Atomic(struct session *) session_current; /* NULL: not recording */

/*
 * Counts the recordings this process has joined: ids of an earlier one mean
 * nothing in the next.  Changed by session_join() only.
 */
extern uint32_t session_epoch;

/*
 * The recording in progress, or NULL.  Two loads on the path of every event; the second one lets
 * the recorder switch off all its processes at once, or make them check whether they have been
 * given a window (SHM_ASKING).
 */
struct session *session_on_slow(struct session *s);

static inline struct session *session_on(void)
{
	struct session *s = atomic_load_explicit(&session_current, memory_order_acquire);

	if (!s)
		return NULL;
	if (__builtin_expect(
		    atomic_load_explicit(&s->header->active, memory_order_relaxed) != SHM_ON, 0))
		return session_on_slow(s);
	return s;
}

/*
 * Called at any event while the recorder asks, in any thread; NULL: not wanted.
 * It must not call session_on().
 */
extern _Atomic(void (*)(void)) session_read_request;

/* The calling thread's ring, or NULL: not recording, or all thread entries are taken. */
struct ring *session_ring_slow(struct session *s);

/*
 * All that is thread-local in the agent must be a few words: glibc gives a library
 * that is loaded late up to 512 bytes in the thread's own block, one load away; with
 * more every access is a call through three tables.
 */
extern __thread struct ring *session_my_ring;

static inline struct ring *session_ring(void)
{
	struct session *s = session_on();
	struct ring *r = session_my_ring;

	if (!s)
		return NULL;
	return r && r->session == s ? r : session_ring_slow(s);
}

/*
 * Called when a thread ends, in it, with its ring, which takes last records; NULL: not
 * wanted.  Set once, with the GIL.
 */
extern _Atomic(void (*)(struct ring *)) session_thread_ends;

/* Puts a name on the calling thread, once; later calls are ignored. */
void session_name_thread(struct ring *r, const char *name);

/* This process's entry; NULL when not recording. */
struct shm_process *session_process(void);

/* Publishes where Python is in this process, and in those that it forks from now on. */
void session_publish_python(const struct shm_python *where);

/* A fresh id for a definition. */
uint32_t session_next_id(struct session *s);

/* A fresh instance number for a scope, unique in this process and never 0. */
uint64_t session_next_instance(struct ring *r);

#endif
