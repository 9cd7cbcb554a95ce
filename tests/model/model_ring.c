/*
 * The ring protocol (format/shm.h), searched: src/agent and src/capture as they
 * are, in the situations where the order of memory accesses matters.
 *
 *   model_ring BUDGET              all scenarios
 *   model_ring BUDGET mutants [FUNCTION]
 *                                  and again with each release and acquire left out
 *                                  (of that function): each must make a scenario fail
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model_world.h"

static void roomy(void)
{
	world_set_up(3, 6, false);
	world_join();
}

static void recorder(void)
{
	world_cycle();
	world_cycle();
}

/* Records become visible whole, while their block is being written. */
static void write_two(void)
{
	world_push(0, session_ring());
	world_push(0, session_ring());
}

/* Blocks are sealed, read to the end and given back. */
static void write_and_seal(void)
{
	for (int i = 0; i < 2; i++) {
		world_push(0, session_ring());
		ring_seal(session_ring());
	}
	world_push(0, session_ring());
}

/* The only block is taken back from under the recorder. */
static void one_block(void)
{
	world_set_up(3, 1, false);
	world_join();
}

static void two_blocks(void)
{
	world_set_up(3, 2, false);
	world_join();
}

/* The block that the recorder reads is filled with other events meanwhile. */
static struct ring *others;

static void half_read(void)
{
	world_set_up(3, 1, false);
	others = world_other_ring();
	world_push(1, others);
}

static void overwrite(void)
{
	ring_seal(others);
	world_push(1, others);
}

static void half_read_payload(void)
{
	world_set_up(3, 1, false);
	others = world_other_ring();
	world_push_payload(1, others);
}

static void overwrite_payload(void)
{
	ring_seal(others);
	world_push_payload(1, others);
}

static void one_cycle(void)
{
	world_cycle();
}

static void check_others(void)
{
	ring_seal(others);
	world_check();
}

/* Another thread pays. */
static void write_little(void)
{
	world_push(1, session_ring());
	ring_seal(session_ring());
	world_push(1, session_ring());
}

/* Threads follow one another in the same entry. */
static void one_entry(void)
{
	world_set_up(1, 2, false);
	world_join();
}

static void write_one(void)
{
	world_push(0, session_ring());
}

static void write_one_as_well(void)
{
	world_push(1, session_ring());
}

/* Definitions come before what uses them, in whichever thread. */
static _Atomic uint32_t reported;

static void roomy_and_untold(void)
{
	roomy();
	atomic_store(&reported, 0);
}

static void define(void)
{
	struct ring *r = session_ring();

	ring_define(r, DEF_STRING, 7, "a ", 2, "definition", 10);
	world_push_use(0, r, 7);
	ring_seal(r);
	ring_define(r, DEF_STRING, 8, "a definition", 12, "", 0);
	world_push_use(0, r, 8);
}

static void define_and_tell(void)
{
	ring_define(session_ring(), DEF_STRING, 7, "a definition", 12, "", 0);
	atomic_store_explicit(&reported, 1, memory_order_release); /* as the GIL would */
}

static void use(void)
{
	if (atomic_load_explicit(&reported, memory_order_acquire))
		world_push_use(1, session_ring(), 7);
}

/* A definition in a block that has just held events. */
static void define_in_reused(void)
{
	struct ring *r = session_ring();

	world_push(0, r);
	ring_seal(r);
	ring_define(r, DEF_STRING, 9, "a definition", 12, "", 0);
	world_push_use(0, r, 9);
}

/* A thread says its name. */
static void write_name(void)
{
	struct ring *r = session_ring();

	world_push(0, r);
	session_name_thread(r, "worker");
}

/* The process joins meanwhile. */
static void roomy_for_a_stranger(void)
{
	world_set_up(3, 4, false);
}

static void join_and_write(void)
{
	world_join();
	world_push(0, session_ring());
}

/* A process is killed, anywhere; another one goes on with its blocks. */
static void killed(void)
{
	world_set_up(3, 2, false);
	world_join();
	others = world_other_ring();
}

static void other_writes(void)
{
	world_push(1, others);
	ring_seal(others);
	world_push(1, others);
}

static void recorder_of_the_killed(void)
{
	for (int i = 0; i < 2; i++) {
		if (model_was_killed(1))
			drain_process_died(world_drain, (uint32_t)getpid());
		world_cycle();
	}
}

/* --ring: the recorder makes room by letting the oldest go. */
static void newest_only(void)
{
	world_set_up(3, 8, true);
	world_join();
}

static void write_much(void)
{
	for (int i = 0; i < 8; i++) {
		world_push(0, session_ring());
		ring_seal(session_ring());
	}
}

#define LARGE (-1)
#define SMALL 1

static const struct model_scenario scenarios[] = {
	{ "publish", roomy, { { write_two, 0 }, { recorder, 0 } }, world_check_all, 0 },
	{ "seal", roomy, { { write_and_seal, 0 }, { recorder, 0 } }, world_check_all, 0 },
	{ "take back", one_block, { { write_and_seal, 0 }, { recorder, 0 } }, world_check, 0 },
	{ "take back, two",
	  two_blocks,
	  { { write_and_seal, 0 }, { recorder, 0 } },
	  world_check,
	  0 },
	{ "overwrite", half_read, { { overwrite, 0 }, { one_cycle, 0 } }, check_others, SMALL },
	{ "overwrite a payload",
	  half_read_payload,
	  { { overwrite_payload, 0 }, { one_cycle, 0 } },
	  check_others,
	  SMALL },
	{ "rob", two_blocks, { { write_and_seal, 0 }, { write_one_as_well, 0 } }, world_check, 0 },
	{ "rob while drained",
	  two_blocks,
	  { { write_and_seal, 0 }, { write_little, 0 }, { recorder, 0 } },
	  world_check,
	  LARGE },
	{ "reuse an entry",
	  one_entry,
	  { { write_one, 0 }, { recorder, 0 }, { write_one_as_well, 0 } },
	  world_check,
	  LARGE },
	{ "define", roomy, { { define, 0 }, { recorder, 0 } }, world_check_all, 0 },
	{ "define for another",
	  roomy_and_untold,
	  { { define_and_tell, 0 }, { use, 0 }, { recorder, 0 } },
	  world_check_all,
	  LARGE },
	{ "define in a reused block",
	  two_blocks,
	  { { define_in_reused, 0 }, { recorder, 0 } },
	  world_check,
	  0 },
	{ "name", roomy, { { write_name, 0 }, { recorder, 0 } }, world_check_all, 0 },
	{ "join",
	  roomy_for_a_stranger,
	  { { join_and_write, 0 }, { recorder, 0 } },
	  world_check_all,
	  0 },
	{ "killed",
	  killed,
	  { { write_and_seal, .mortal = true },
	    { recorder_of_the_killed, 0 },
	    { other_writes, 0 } },
	  check_others,
	  LARGE },
	{ "keep the newest", newest_only, { { write_much, 0 }, { recorder, 0 } }, world_check, 0 },
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

/* Function, file and line of the access at which a call returns.  Returns the function. */
static const char *print_site(uintptr_t pc)
{
	static char function[128];
	char command[256], line[512];
	const char *file;
	FILE *out;

	snprintf(command, sizeof(command), "addr2line -f -e /proc/%d/exe %#lx", (int)getpid(),
		 (unsigned long)(pc - 1));
	out = popen(command, "r");
	if (!out || !fgets(function, sizeof(function), out) || !fgets(line, sizeof(line), out))
		abort();
	pclose(out);
	function[strcspn(function, "\n")] = line[strcspn(line, "\n (")] = '\0';
	file = strrchr(line, '/');
	printf("%-24s %-20s ", function, file ? file + 1 : line);
	return function;
}

/* The execution that failed, access by access. */
static void print_steps(void)
{
	const struct model_access *steps;
	size_t n = model_steps(&steps);

	for (size_t i = 0; i < n; i++) {
		printf("  thread %u  ", steps[i].thread);
		print_site(steps[i].pc);
		printf("%-8s %p  %#llx  was %#llx\n", steps[i].op, (const void *)steps[i].address,
		       (unsigned long long)steps[i].operand, (unsigned long long)steps[i].was);
	}
}

/* Orders whose absence no scenario notices, and why they stay. */
static const struct {
	const char *function;
	bool release;
	const char *why;
} expected[] = {
	{ "session_on", false, "the session it publishes is heap memory, which is not watched" },
	{ "session_process", false, "likewise" },
	{ "session_join", false, "likewise" },
	{ "session_join", true, "likewise" },
	{ "join", false, "likewise" },
	{ "join", true, "likewise" },
	{ "register_process", true, "likewise, of process_index" },
	{ "may_have_ring", false, "when memory goes is in no scenario: test_session.c" },
	{ "may_have_ring", true, "likewise" },
	{ "give_up_ring", false, "likewise" },
	{ "give_up_ring", true, "likewise" },
	{ "forsake", false, "likewise" },
	{ "forsake", true, "likewise" },
	{ "drain_free_block", true, "acquire loads come before it anyway; says what is meant" },
	{ "drain_retire_process", true, "pairs as drain_free_thread() does, which is noticed" },
	{ "drain_scan", false, "the first look: noticed with a budget of 3" },
	{ "ring_push_payload", true, "the stamp: takes five steps; ring_push()'s is noticed" },
	{ "define_and_tell", true, "the scenario's own" },
	{ "use", false, "the scenario's own" },
};

static const char *expected_why(const char *function, bool release)
{
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		if (!strcmp(expected[i].function, function) && expected[i].release == release)
			return expected[i].why;
	}
	return NULL;
}

static int try_mutants(unsigned budget, const char *only)
{
	const struct model_mutant *mutants;
	size_t n = model_mutants(&mutants);
	int survivors = 0;

	for (size_t i = 0; i < n; i++) {
		struct model_mutant mutant = mutants[i];
		const char *function, *why, *failure = NULL;
		uint64_t executions = 0;
		size_t s = 0;

		function = print_site(mutant.pc);
		if (only && strcmp(function, only) != 0) {
			printf("left alone\n");
			continue;
		}
		why = expected_why(function, mutant.release);
		while (s < SCENARIOS &&
		       !(failure = model_explore(&scenarios[s], budget, &mutant, &executions)))
			s++;
		printf("%-8s %9llu  ", mutant.release ? "release" : "acquire",
		       (unsigned long long)executions);
		if (failure)
			printf("%s: %s\n", scenarios[s].name, failure);
		else
			printf("%s%s\n", why ? "not noticed: " : "NOT NOTICED", why ? why : "");
		fflush(stdout);
		survivors += !failure && !why;
	}
	return survivors;
}

int main(int argc, char **argv)
{
	unsigned budget = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
	int failures = 0;

	world_init();
	for (size_t i = 0; i < SCENARIOS; i++) {
		uint64_t executions = 0;
		const char *failure = model_explore(&scenarios[i], budget, NULL, &executions);

		printf("%-28s %9llu executions  %s\n", scenarios[i].name,
		       (unsigned long long)executions, failure ? failure : "ok");
		fflush(stdout);
		failures += failure != NULL;
		if (failure)
			print_steps();
	}
	if (argc > 2 && !strcmp(argv[2], "mutants"))
		failures += try_mutants(budget, argc > 3 ? argv[3] : NULL);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
