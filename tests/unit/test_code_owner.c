/* links: is_analyze */
/* Which frame of a stack is the user's to change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "story_analysis.h"
#include "timeline/code_owner.h"

#define SITE "/venv/lib/python3.12/site-packages"

#define CODES                                                              \
	"process 1 7 app.py 0 1000\n"                                      \
	"thread 1 1 7 MainThread 0 1000 0\n"                               \
	"code <module> /venv/bin/tool 1\n"                                 \
	"code run_code <frozen_runpy> 1\n"                                 \
	"code bootstrap /usr/lib/python3.12/threading.py 1\n"              \
	"code serve " SITE "/uvicorn/server.py 1\n"                        \
	"code route " SITE "/starlette/routing.py 1\n"                     \
	"code main " SITE "/tool/cli.py 1\n"                               \
	"code work " SITE "/tool/work.py 1\n"                              \
	"code matmul " SITE "/torch/functional.py 1\n"                     \
	"code handler /srv/app.py 1\n"                                     \
	"code wait /usr/lib/python3.12/queue.py 1\n"                       \
	"code spawn_main /usr/lib/python3.12/multiprocessing/spawn.py 1\n" \
	"code <module>' <string> 1\n"

static const char *owner_of(struct story_analysis *t, const char *stack)
{
	char story[4096];
	const struct trace_frame *frames;
	size_t count, at;

	snprintf(story, sizeof(story),
		 CODES "stack 1 %s\nlook 1 1 100 200 2 1\n1: +f@0 -f@1000\nend 1000 0\n", stack);
	analyze_story(t, story);
	frames = trace_stack(t->trace, STORY_STACKS + 1, &count);
	at = stack_owner(t->trace, frames, count);
	return at < count ? trace_code(t->trace, frames[at].code)->name : "(none)";
}

static void the_innermost_frame_that_can_be_changed_is_the_place(void **state)
{
	static const struct {
		const char *stack, *owner;
	} cases[] = {
		/* The user's own code, whatever is below it. */
		{ "matmul:1 handler:1 route:1 serve:1 <module>:1", "handler" },
		/* An installed program: its own function, not the two lines that start it. */
		{ "matmul:1 work:1 main:1 <module>:1", "work" },
		{ "wait:1 work:1 route:1 serve:1 bootstrap:1", "work" },
		/* Nothing but a server: its own innermost function. */
		{ "wait:1 route:1 serve:1 <module>:1", "route" },
		{ "wait:1 bootstrap:1", "wait" },
		/* A worker process of multiprocessing; what somebody typed after -c. */
		{ "matmul:1 spawn_main:1 <module>':1", "matmul" },
		{ "matmul:1 handler:1 spawn_main:1 <module>':1", "handler" },
		{ "matmul:1 <module>':1", "<module>" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct story_analysis t;

		assert_string_equal(owner_of(&t, cases[i].stack), cases[i].owner);
		forget(&t);
	}
}

static void a_console_script_is_nobodys(void **state)
{
	(void)state;
	assert_false(user_frame("<module>", "/venv/bin/uvicorn"));
	assert_false(user_frame("_run_code", "<frozen runpy>"));
	assert_true(user_frame("<module>", "/home/ada/bin/serve.py"));
	assert_true(user_frame("main", "/home/ada/bin/serve"));
	assert_false(user_frame("__create_fn__.<locals>.__init__", "<string>"));
	assert_false(user_frame("put", "<string>")); /* of a manager's proxy */
	assert_true(user_frame("<module>", "<string>"));
	assert_true(user_frame("<module>", "/srv/app.py"));
	assert_true(user_frame("<module>", "/tmp/ipykernel_71/1098866841.py"));
}

static void hosts_are_known_by_their_package(void **state)
{
	(void)state;
	assert_true(host_code(SITE "/uvicorn/server.py"));
	assert_true(host_code(SITE "/ray/_private/workers/default_worker.py"));
	assert_true(host_code(SITE "/ipykernel_launcher.py"));
	assert_false(host_code(SITE "/transformers/cli/serve.py"));
	assert_false(host_code("/srv/uvicorn/server.py"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_frame_that_can_be_changed_is_the_place),
		cmocka_unit_test(a_console_script_is_nobodys),
		cmocka_unit_test(hosts_are_known_by_their_package),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
