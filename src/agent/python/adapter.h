/*
 * What we know of a framework: a table of its functions whose calls mean something.
 *
 * The framework is never imported, patched or asked: its functions are known by file and
 * name when Python first calls them (watched_functions.h).
 */
#ifndef AGENT_PYTHON_ADAPTER_H
#define AGENT_PYTHON_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/session.h"
#include "format/record.h"

struct adapter_function {
	const char *file; /* how it ends */
	const char *name; /* qualified */
	/*
	 * In the thread that calls it, with the GIL, while the function's frame is the newest;
	 * either may be NULL.  A begin may have no end: some exceptions are not reported.
	 */
	void (*begins)(struct ring *r);
	void (*ends)(struct ring *r);
	bool calls_modules; /* its first argument is a module, which it calls */
	const char *scope;  /* for adapter.event(): what its calls are */
	/* While this is true its events are disabled, so that calls cost nothing; NULL: never. */
	const bool *rests;
};

/* A function that a module is called through, on the way from what calls it to what it runs. */
struct adapter_passage {
	const char *file, *name;
};

struct adapter {
	const struct adapter_function *functions;
	size_t count;
	const struct adapter_passage *passages;
	size_t passage_count;
	/* A function that a module runs (forward_hooks.h) was entered or left; NULL: no modules.
	 */
	void (*forward)(struct ring *r, uint16_t number, uint8_t kind);
	/* Likewise any of `functions`, beside what it has of its own; may be NULL. */
	void (*event)(struct ring *r, const struct adapter_function *f, uint8_t kind);
};

extern const struct adapter adapter_torch, adapter_torch_profiler, adapter_requests;

#endif
