/* links: is_capture is_format is_base */
/* Which processes without an agent are found, kept and forgotten.  A folder plays "/". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/system/process_tree.h"
#include "fake_root.h"

#define WORKLOAD 10
#define FIRST PROCESS_TREE_FIRST_ID

struct scene {
	struct system_files files;
	struct process_tree tree;
	struct system_points out, ready;
};

static int begin(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s || make_root(state))
		return -1;
	system_files_init(&s->files, root, 0);
	*state = s;
	return 0;
}

static int finish(void **state)
{
	struct scene *s = *state;

	system_files_release(&s->files);
	process_tree_release(&s->tree);
	system_points_release(&s->out);
	system_points_release(&s->ready);
	free(s);
	return remove_root(state);
}

static void put_stat(int pid, const char *name, char process_state, int parent)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (%s) %c %d 2 3 0 -1 0 41 6 7 8 9 10 1 2 20 0 1 0 50 4096 100\n", pid, name,
		 process_state, parent);
	put(path, text);
}

static void put_children(int pid, int tid, const char *children)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	put(path, children);
}

static void put_process(int pid, int parent, const char *children)
{
	put_stat(pid, "native", 'S', parent);
	put_children(pid, pid, children);
}

static void vanish(int pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
	assert_int_equal(remove_tree(path), 0);
}

/* A pass, whether it is due or not, and what comes of it. */
static void sample(struct scene *s)
{
	s->tree.due_ns = 0;
	process_tree_poll(&s->tree, &s->files, 1, &s->out);
	system_files_poll(&s->files, 1, &s->out);
	process_tree_release_points(&s->tree, &s->out, &s->ready);
}

/* As if it had been there for long. */
static void grow_old(struct scene *s)
{
	for (size_t i = 0; i < s->tree.count; i++)
		s->tree.processes[i].found.start_ns -= PROCESS_TREE_PROBATION_NS;
}

static size_t points_of(const struct scene *s, uint32_t id)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ready.count; i++)
		n += s->ready.items[i].process == id;
	return n;
}

static const struct system_found *told_of(const struct scene *s, int pid)
{
	for (size_t i = s->tree.reported.count; i-- > 0;) {
		if (s->tree.reported.items[i].pid == pid)
			return &s->tree.reported.items[i];
	}
	return NULL;
}

static void all_descendants_are_found_at_once(void **state)
{
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "11 12 ");
	put_children(WORKLOAD, 99, "13 "); /* of another thread */
	put_process(11, WORKLOAD, "14 ");
	put_process(12, WORKLOAD, "");
	put_process(13, WORKLOAD, "");
	put_process(14, 11, "");
	put_process(15, 1, ""); /* a stranger */
	s->tree.workload = WORKLOAD;
	sample(s);
	assert_int_equal(s->tree.count, 5);
	assert_int_equal(s->ready.count, 0); /* held back */
	assert_int_equal(s->tree.reported.count, 0);
	grow_old(s);
	sample(s);
	assert_int_equal(s->tree.reported.count, 5);
	assert_null(told_of(s, 15));
	assert_int_equal(told_of(s, 14)->parent, 11);
	assert_string_equal(told_of(s, 14)->name, "native");
	assert_true(points_of(s, told_of(s, 14)->id) > 0);
	assert_int_equal(s->out.count, 0);
}

static void children_of_recorded_processes_are_found(void **state)
{
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "11");
	put_process(11, WORKLOAD, "");
	system_files_add(&s->files, 1, WORKLOAD);
	s->tree.workload = WORKLOAD;
	sample(s);
	assert_int_equal(s->tree.count, 1);
	assert_int_equal(s->tree.processes[0].found.pid, 11);
	assert_true(points_of(s, 1) > 0);
}

static void a_kernel_without_lists_is_asked_for_parents(void **state)
{
	struct scene *s = *state;

	put_stat(WORKLOAD, "a", 'S', 1);
	put("/proc/10/task/10/stat", "");
	put_stat(11, "b) S 77 (", 'S', WORKLOAD);
	put_stat(12, "c", 'S', 77);
	put_stat(9, "d", 'S', 11); /* listed before its parent is known */
	s->tree.workload = WORKLOAD;
	sample(s);
	assert_true(s->tree.without_lists);
	assert_int_equal(s->tree.count, 3);
	put_stat(13, "e", 'S', 12);
	sample(s);
	assert_int_equal(s->tree.count, 3);
	/* An agent joins: its child, a stranger so far, is one of ours. */
	process_tree_joined(&s->tree, &s->files, 12);
	system_files_add(&s->files, 1, 12);
	sample(s);
	assert_int_equal(s->tree.count, 4);
	process_tree_finish(&s->tree, &s->files, &s->out);
	assert_string_equal(told_of(s, 11)->name, "b) S 77 (");
}

/* The number in the list may be another's by the time it is looked at. */
static void who_has_another_parent_or_has_ended_is_no_child(void **state)
{
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "11 12 13");
	put_process(11, 500, "");
	put_stat(12, "z", 'Z', WORKLOAD);
	s->tree.workload = WORKLOAD;
	sample(s);
	assert_int_equal(s->tree.count, 1);
	assert_int_equal(s->files.process_count, 1);
}

static void one_that_is_joined_soon_was_never_there(void **state)
{
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "");
	s->tree.workload = WORKLOAD;
	sample(s);
	sample(s);
	assert_true(s->out.count > 0);
	process_tree_joined(&s->tree, &s->files, WORKLOAD);
	system_files_add(&s->files, 1, WORKLOAD);
	sample(s);
	assert_int_equal(s->tree.reported.count, 0);
	assert_int_equal(points_of(s, FIRST), 0);
	assert_int_equal(s->tree.count, 0);
	assert_int_equal(s->files.process_count, 1);
	assert_true(points_of(s, 1) > 0);
}

static void one_that_is_joined_late_was_another_program(void **state)
{
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "");
	s->tree.workload = WORKLOAD;
	sample(s);
	grow_old(s);
	sample(s);
	assert_int_equal(told_of(s, WORKLOAD)->end_ns, -1);
	process_tree_joined(&s->tree, &s->files, WORKLOAD);
	assert_true(told_of(s, WORKLOAD)->end_ns > 0);
	assert_int_equal(s->files.process_count, 0);
}

static void a_child_that_was_seen_once_is_forgotten_the_workload_is_not(void **state)
{
	const struct series_point last = { .kind = SERIES_MINOR_FAULTS, .value = 1234 };
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "11");
	put_process(11, WORKLOAD, "");
	s->tree.workload = WORKLOAD;
	sample(s);
	vanish(11);
	process_tree_ended(&s->tree, &s->files, WORKLOAD, &last, 1, &s->out);
	vanish(WORKLOAD);
	sample(s);
	assert_null(told_of(s, 11));
	assert_true(told_of(s, WORKLOAD)->end_ns > 0);
	assert_int_equal(s->tree.workload, 0);
	assert_int_equal(s->tree.count, 0);
	assert_int_equal(s->files.process_count, 0);
	assert_int_equal(s->ready.items[s->ready.count - 1].value, 1234);
	assert_int_equal(s->ready.items[s->ready.count - 1].process, told_of(s, WORKLOAD)->id);
}

static void a_zombie_has_ended_with_its_last_figures(void **state)
{
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "");
	s->tree.workload = WORKLOAD;
	sample(s);
	sample(s);
	put_stat(WORKLOAD, "native", 'Z', 1);
	s->tree.workload = 0;
	sample(s);
	assert_true(told_of(s, WORKLOAD)->end_ns > 0);
	assert_true(points_of(s, FIRST) > 0);
	assert_int_equal(s->tree.count, 0);
}

static void at_the_end_all_are_told_that_were_seen_twice(void **state)
{
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "11 12");
	put_process(11, WORKLOAD, "");
	put_process(12, WORKLOAD, "");
	system_files_add(&s->files, 1, WORKLOAD);
	sample(s);
	sample(s);
	put_children(WORKLOAD, WORKLOAD, "11 12 13");
	put_process(13, WORKLOAD, "");
	sample(s);
	vanish(12);
	process_tree_finish(&s->tree, &s->files, &s->out);
	assert_int_equal(told_of(s, 11)->end_ns, -1);
	assert_true(told_of(s, 12)->end_ns > 0);
	assert_null(told_of(s, 13));
}

static void no_more_than_there_is_room_for(void **state)
{
	struct scene *s = *state;
	char list[1024] = "";

	for (int pid = 11; pid < 11 + 100; pid++) {
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%d ", pid);
		put_process(pid, WORKLOAD, "");
	}
	put_process(WORKLOAD, 1, list);
	system_files_add(&s->files, 1, WORKLOAD);
	sample(s);
	sample(s);
	assert_int_equal(s->tree.count, PROCESS_TREE_MAX);
	assert_int_equal(s->tree.beyond, 100 - PROCESS_TREE_MAX);
	/* Those that end make room. */
	vanish(11);
	put_children(WORKLOAD, WORKLOAD, strchr(list, ' '));
	sample(s);
	assert_int_equal(s->tree.count, PROCESS_TREE_MAX - 1);
	sample(s);
	assert_int_equal(s->tree.count, PROCESS_TREE_MAX);
	assert_int_equal(s->tree.beyond, 100 - PROCESS_TREE_MAX);
}

/* One list for each of many threads takes longer than a look at who is new. */
static void hundreds_of_threads_are_not_asked_one_by_one(void **state)
{
	struct scene *s = *state;

	put_process(WORKLOAD, 1, "11");
	put_process(11, WORKLOAD, "");
	for (int tid = 1000; tid < 1200; tid++)
		put_children(WORKLOAD, tid, "");
	system_files_add(&s->files, 1, WORKLOAD);
	sample(s);
	assert_int_equal(s->tree.count, 1);
	assert_true(s->tree.by_parents);
	assert_false(s->tree.without_lists);
	sample(s);
	put_stat(12, "child of a thread", 'S', WORKLOAD);
	sample(s);
	assert_int_equal(s->tree.count, 2);
	assert_true(s->tree.by_parents);
	assert_true(s->tree.took_ns[1] < s->tree.took_ns[0]);
	/* Back when that is what takes long. */
	s->tree.took_ns[0] = 1;
	for (int pid = 3000; pid < 3200; pid++)
		put_stat(pid, "stranger", 'S', 1);
	sample(s);
	assert_false(s->tree.by_parents);
}

static void parents_tell_when_there_is_room_again(void **state)
{
	struct scene *s = *state;

	put_stat(WORKLOAD, "a", 'S', 1);
	put("/proc/10/task/10/stat", "");
	for (int pid = 11; pid < 11 + (int)PROCESS_TREE_MAX + 1; pid++)
		put_stat(pid, "b", 'S', WORKLOAD);
	system_files_add(&s->files, 1, WORKLOAD);
	sample(s);
	assert_int_equal(s->tree.count, PROCESS_TREE_MAX);
	assert_int_equal(s->tree.beyond, 1);
	vanish(11);
	sample(s);
	sample(s);
	assert_int_equal(s->tree.count, PROCESS_TREE_MAX);
	assert_null(told_of(s, 11));
}

#define IN_A_ROOT(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_ROOT(all_descendants_are_found_at_once),
		IN_A_ROOT(children_of_recorded_processes_are_found),
		IN_A_ROOT(a_kernel_without_lists_is_asked_for_parents),
		IN_A_ROOT(who_has_another_parent_or_has_ended_is_no_child),
		IN_A_ROOT(one_that_is_joined_soon_was_never_there),
		IN_A_ROOT(one_that_is_joined_late_was_another_program),
		IN_A_ROOT(a_child_that_was_seen_once_is_forgotten_the_workload_is_not),
		IN_A_ROOT(a_zombie_has_ended_with_its_last_figures),
		IN_A_ROOT(at_the_end_all_are_told_that_were_seen_twice),
		IN_A_ROOT(no_more_than_there_is_room_for),
		IN_A_ROOT(hundreds_of_threads_are_not_asked_one_by_one),
		IN_A_ROOT(parents_tell_when_there_is_room_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
