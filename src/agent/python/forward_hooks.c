#include "agent/python/forward_hooks.h"

#include "agent/python/codes.h"
#include "agent/python/frames.h"
#include "agent/python/watched_functions.h"

bool forward_hooks_wanted;

static bool calls_modules(const void *code)
{
	const struct code_note *note = codes_lookup(code);

	return note && note->watch && watched_function_calls_modules(note->watch);
}

bool forward_hooks_is_nested(void)
{
	struct frame_ref frames[FRAMES_MAX];
	size_t n = frames_read(frames);
	unsigned calls = 0;

	for (size_t i = 0; i < n; i++)
		calls += calls_modules(frames[i].code);
	return calls > 1;
}

/* How far out the function is that calls the module; 0: there is none. */
static unsigned distance_to_caller(const PyObject *code)
{
	struct frame_ref frames[FRAMES_MAX];
	size_t n = frames_read(frames);

	for (unsigned i = 1; i < n && frames[0].code == code; i++) {
		const struct code_note *note = codes_lookup(frames[i].code);

		if (calls_modules(frames[i].code))
			return i;
		if (!note || !note->passes)
			break;
	}
	return 0;
}

uint16_t forward_hooks_number(PyObject *code)
{
	/* Most functions come before the first module is called, as modules of Python are imported.
	 */
	unsigned caller = forward_hooks_wanted ? distance_to_caller(code) : 0;
	const PyObject *module = caller ? frames_argument_of(0) : NULL;

	if (!module || module != frames_argument_of(caller) ||
	    forward_hooks_count == FORWARD_HOOKS_MAX)
		return 0;
	return ++forward_hooks_count;
}
