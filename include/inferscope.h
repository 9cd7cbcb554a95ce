/*
 * inferscope.h: scopes, marks and counters of C and C++ programs on InferScope's timeline.
 *
 *	#include <inferscope.h>
 *
 *	void decode(const struct batch *b)
 *	{
 *		INFERSCOPE_SCOPE("decode");           // to the end of the block
 *		inferscope_counter("batch", b->size);
 *		...
 *	}
 *
 * Record with `inferscope run -- ./server`; beside a Python program the scopes
 * of its C and C++ libraries stand on the same timeline.
 *
 * This header is all there is: nothing to link, nothing to install where the
 * program runs.  Where the environment says that a recording is on when the
 * program or library is loaded, the agent is loaded with dlopen(); else, and in
 * static and setuid programs, nothing happens at all and a call costs one load and one
 * branch.  C99 or C++11 with GCC's extensions (GCC, Clang), Linux; elsewhere,
 * and with INFERSCOPE_DISABLE defined, every call is empty.
 *
 * Any thread may call anything, but no signal handler.  Names are copied: they
 * may be built and freed.  A name of a thousand values ("request 123") makes a
 * thousand rows in the report; a counter is better.
 */
#ifndef INFERSCOPE_H
#define INFERSCOPE_H

#include <stddef.h>
#include <stdint.h>

#if !defined(INFERSCOPE_DISABLE) && defined(__linux__) && defined(__GNUC__)
#define INFERSCOPE_ENABLED_ 1
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A scope that was begun.  A plain value: copy it, end it in another thread. */
typedef struct inferscope_scope {
	uint64_t instance; /* 0: nothing was being recorded */
	uint32_t name, recording;
} inferscope_scope;

/*
 * What the agent gives to this header; not for programs.  Frozen: a later
 * version appends to it and raises the number.
 */
#define INFERSCOPE_API_VERSION 1u
struct inferscope_api {
	void *const *session; /* NULL there: nothing is recorded now */
	inferscope_scope (*begin)(const char *name);
	void (*end)(inferscope_scope scope);
	void (*mark)(const char *name);
	void (*counter)(const char *name, double value);
	void (*thread_name)(const char *name);
	int (*is_recording)(void);
};

#ifdef INFERSCOPE_ENABLED_

/* NULL where nothing is recorded.  One for each program or library: merged by the linker. */
extern const struct inferscope_api *inferscope_slot_;
__attribute__((weak, visibility("hidden"))) const struct inferscope_api *inferscope_slot_;

/*
 * Weak: a program for an old glibc, linked without -ldl, is not recorded.  Under
 * names of ours: the program's own calls of these functions stay as they are.
 */
static __typeof__(dlopen) inferscope_dlopen_ __attribute__((weakref("dlopen")));
static __typeof__(dlsym) inferscope_dlsym_ __attribute__((weakref("dlsym")));

/*
 * Looks whether a recording is on; 1 if so.  Done by itself when the program or
 * library is loaded: call it only where a recording begins later, as after
 * inferscope.start() in a Python program that had loaded the library before.
 */
static inline int inferscope_attach(void)
{
	const struct inferscope_api *(*agent)(unsigned);
	const char *path;
	void *library, *symbol;

	if (__atomic_load_n(&inferscope_slot_, __ATOMIC_ACQUIRE))
		return 1;
	/*
	 * The environment of a setuid program is somebody else's; one without a
	 * loader (AT_BASE) is static, where dlopen() would bring a second libc.
	 */
	if (!inferscope_dlopen_ || !inferscope_dlsym_ || getauxval(AT_SECURE) ||
	    !getauxval(AT_BASE))
		return 0;
	if (!getenv("INFERSCOPE_SESSION"))
		return 0;
	path = getenv("INFERSCOPE_AGENT");
	library = path ? inferscope_dlopen_(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	symbol = library ? inferscope_dlsym_(library, "inferscope_agent") : NULL;
	if (!symbol)
		return 0;
	memcpy(&agent, &symbol, sizeof(agent));
	__atomic_store_n(&inferscope_slot_, agent(INFERSCOPE_API_VERSION), __ATOMIC_RELEASE);
	return inferscope_slot_ ? 1 : 0;
}

/*
 * While the program or library is being loaded, not at the first call: a thread
 * that called dlopen() then could wait for one that waits for it.
 */
__attribute__((constructor(101))) static void inferscope_attach_early_(void)
{
	inferscope_attach();
}

static inline const struct inferscope_api *inferscope_on_(void)
{
	const struct inferscope_api *api = __atomic_load_n(&inferscope_slot_, __ATOMIC_ACQUIRE);

	if (__builtin_expect(api != NULL, 0) && __atomic_load_n(api->session, __ATOMIC_RELAXED))
		return api;
	return NULL;
}

#else

static inline int inferscope_attach(void)
{
	return 0;
}

static inline const struct inferscope_api *inferscope_on_(void)
{
	return NULL;
}

#endif

/* Begins a scope; it lasts until inferscope_end(), in whatever thread. */
static inline inferscope_scope inferscope_begin(const char *name)
{
	const struct inferscope_api *api = inferscope_on_();
	const inferscope_scope none = { 0, 0, 0 };

	return api ? api->begin(name) : none;
}

/* Once for each begin.  One that began while nothing was recorded ends as nothing. */
static inline void inferscope_end(inferscope_scope scope)
{
	const struct inferscope_api *api = scope.instance ? inferscope_on_() : NULL;

	if (api)
		api->end(scope);
}

/* Something happened. */
static inline void inferscope_mark(const char *name)
{
	const struct inferscope_api *api = inferscope_on_();

	if (api)
		api->mark(name);
}

/* A quantity has this value from now on; the report has its least, mean, greatest and last. */
static inline void inferscope_counter(const char *name, double value)
{
	const struct inferscope_api *api = inferscope_on_();

	if (api)
		api->counter(name, value);
}

/* What the calling thread is called in the report: the first name stays.  63 bytes. */
static inline void inferscope_thread_name(const char *name)
{
	const struct inferscope_api *api = inferscope_on_();

	if (api)
		api->thread_name(name);
}

/* For what costs something to find out: if (inferscope_is_recording()) ... */
static inline int inferscope_is_recording(void)
{
	const struct inferscope_api *api = inferscope_on_();

	return api ? api->is_recording() : 0;
}

#ifdef __cplusplus
} /* extern "C" */

namespace inferscope
{
/* A scope that lasts as long as the object, however the block is left. */
class scope
{
      public:
	explicit scope(const char *name) noexcept : open_(inferscope_begin(name))
	{
	}
	~scope()
	{
		inferscope_end(open_);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	inferscope_scope open_;
};
} // namespace inferscope
#endif

/* INFERSCOPE_SCOPE("name"); a scope from here to the end of the block, in C too. */
#define INFERSCOPE_JOIN2_(a, b) a##b
#define INFERSCOPE_JOIN_(a, b) INFERSCOPE_JOIN2_(a, b)
#ifdef __cplusplus
#define INFERSCOPE_SCOPE(name) \
	const ::inferscope::scope INFERSCOPE_JOIN_(inferscope_scope_, __LINE__)(name)
#elif defined(__GNUC__)
static inline void inferscope_leave_(inferscope_scope *scope)
{
	inferscope_end(*scope);
}
#define INFERSCOPE_SCOPE(name)                                                                 \
	__attribute__((cleanup(inferscope_leave_), unused)) inferscope_scope INFERSCOPE_JOIN_( \
		inferscope_scope_, __LINE__) = inferscope_begin(name)
#endif

#endif
