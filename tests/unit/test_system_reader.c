/* links: is_capture is_format is_base */
/* Which files are read, when, and what becomes of processes that vanish.  A folder plays "/". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/system/system_files.h"
#include "capture/system/system_reader.h"
#include "fake_root.h"
#include "format/stamp.h"
#include "patience.h"

#define ABSENT INT64_MIN
#define MB (1ll << 20)

/* The last value of a series. */
static int64_t value_of(const struct system_points *p, uint32_t process, enum series_kind kind,
			uint32_t instance)
{
	for (size_t i = p->count; i-- > 0;) {
		const struct series_point *s = &p->items[i];

		if (s->process == process && s->kind == (uint32_t)kind && s->instance == instance)
			return s->value;
	}
	return ABSENT;
}

static size_t count_of(const struct system_points *p, uint32_t process, enum series_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->items[i].process == process && p->items[i].kind == (uint32_t)kind;
	return n;
}

static bool misses(const struct system_files *f, const char *beginning)
{
	for (size_t i = 0; i < f->missing_count; i++) {
		if (!strncmp(f->missing[i].text, beginning, strlen(beginning)))
			return true;
	}
	return false;
}

/* All machine files, once. */
static void look_at_machine(struct system_files *f, struct system_points *out)
{
	system_files_init(f, root, 0);
	system_files_open(f);
	memset(out, 0, sizeof(*out));
	system_files_poll(f, 1, out);
}

static void release(struct system_files *f, struct system_points *points)
{
	system_files_release(f);
	system_points_release(points);
}

static void without_any_file_all_is_missing_once(void **state)
{
	struct system_points points;
	struct system_files f;

	(void)state;
	look_at_machine(&f, &points);
	assert_int_equal(points.count, 0);
	assert_int_equal(f.missing_count, 4);
	assert_true(misses(&f, "meminfo: /proc/meminfo: No such file"));
	assert_true(misses(&f, "psi: /proc/pressure/cpu: No such file"));
	assert_true(misses(&f, "cgroup: "));
	assert_true(misses(&f, "numa: no nodes are known"));
	release(&f, &points);
}

#define TOP "/sys/fs/cgroup"

/* The one above leaves less: its memory and its limit are what counts. */
static void the_group_that_binds_is_read(void **state)
{
	struct system_points points;
	struct system_files f;

	(void)state;
	put("/proc/self/cgroup", "0::/pod/box\n");
	put(TOP "/pod/box/memory.max", "max\n");
	put(TOP "/pod/box/memory.current", "1000\n");
	put(TOP "/pod/memory.max", "8000\n");
	put(TOP "/pod/memory.current", "5000\n");
	put(TOP "/pod/memory.stat", "anon 4000\ninactive_file 700\n");
	put(TOP "/pod/memory.events", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\n");
	put(TOP "/pod/memory.pressure", "some avg10=0.00 total=11\nfull avg10=0.00 total=12\n");
	put(TOP "/pod/box/cpu.max", "50000 100000\n");
	put(TOP "/pod/box/cpu.stat", "usage_usec 900\nnr_periods 10\nnr_throttled 4\n"
				     "throttled_usec 77\n");
	put(TOP "/pod/cpu.max", "max 100000\n");
	put(TOP "/pod/cpu.stat", "usage_usec 1\n");
	look_at_machine(&f, &points);
	assert_true(value_of(&points, 0, SERIES_CGROUP_MEMORY, 0) == 5000);
	assert_true(value_of(&points, 0, SERIES_CGROUP_MEMORY_MAX, 0) == 8000);
	assert_true(value_of(&points, 0, SERIES_CGROUP_CACHE, 0) == 700);
	assert_true(value_of(&points, 0, SERIES_CGROUP_HIGH_EVENTS, 0) == 1);
	assert_true(value_of(&points, 0, SERIES_CGROUP_MAX_EVENTS, 0) == 2);
	assert_true(value_of(&points, 0, SERIES_CGROUP_OOMS, 0) == 3);
	assert_true(value_of(&points, 0, SERIES_CGROUP_OOM_KILLS, 0) == 4);
	assert_true(value_of(&points, 0, SERIES_CGROUP_PSI_MEMORY_FULL, 0) == 12);
	assert_true(value_of(&points, 0, SERIES_CGROUP_CPU, 0) == 900);
	assert_true(value_of(&points, 0, SERIES_CGROUP_CPU_LIMIT, 0) == 500);
	assert_true(value_of(&points, 0, SERIES_CGROUP_THROTTLED_PERIODS, 0) == 4);
	assert_true(value_of(&points, 0, SERIES_CGROUP_THROTTLED, 0) == 77);
	assert_false(misses(&f, "cgroup"));
	release(&f, &points);
}

static void without_a_limit_our_own_group_is_read(void **state)
{
	struct system_points points;
	struct system_files f;

	(void)state;
	put("/proc/self/cgroup", "0::/pod/box\n");
	put(TOP "/pod/box/memory.max", "max\n");
	put(TOP "/pod/box/memory.current", "1000\n");
	put(TOP "/pod/memory.max", "max\n");
	put(TOP "/pod/memory.current", "5000\n");
	look_at_machine(&f, &points);
	assert_true(value_of(&points, 0, SERIES_CGROUP_MEMORY, 0) == 1000);
	assert_true(value_of(&points, 0, SERIES_CGROUP_MEMORY_MAX, 0) == ABSENT);
	release(&f, &points);
}

static void groups_of_version_1_too(void **state)
{
	struct system_points points;
	struct system_files f;

	(void)state;
	put("/proc/self/cgroup", "4:memory:/a\n2:cpu,cpuacct:/a\n0::/\n");
	put(TOP "/memory/a/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
	put(TOP "/memory/a/memory.usage_in_bytes", "100\n");
	put(TOP "/memory/memory.limit_in_bytes", "4096\n");
	put(TOP "/memory/memory.usage_in_bytes", "2048\n");
	put(TOP "/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 55\n");
	put(TOP "/memory/memory.failcnt", "6\n");
	put(TOP "/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	put(TOP "/cpu/a/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 5000\n");
	look_at_machine(&f, &points);
	assert_true(value_of(&points, 0, SERIES_CGROUP_MEMORY, 0) == 2048);
	assert_true(value_of(&points, 0, SERIES_CGROUP_MEMORY_MAX, 0) == 4096);
	assert_true(value_of(&points, 0, SERIES_CGROUP_CACHE, 0) == 55);
	assert_true(value_of(&points, 0, SERIES_CGROUP_MAX_EVENTS, 0) == 6);
	assert_true(value_of(&points, 0, SERIES_CGROUP_OOM_KILLS, 0) == 2);
	assert_true(value_of(&points, 0, SERIES_CGROUP_THROTTLED_PERIODS, 0) == 2);
	assert_true(value_of(&points, 0, SERIES_CGROUP_THROTTLED, 0) == 5);
	release(&f, &points);
}

static void put_process(int pid, long long faults, const char *state)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (a) %s 1 2 3 0 -1 0 %lld 6 7 8 9 10 1 2 20 0 1 0 50 4096 100\n", pid, state,
		 faults);
	put(path, text);
	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	put(path, "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4\n");
	snprintf(path, sizeof(path), "/proc/%d/numa_maps", pid);
	put(path, "7f00 default anon=7 N0=3 N1=4 kernelpagesize_kB=4\n");
}

static void put_thread(int pid, int tid, int cpu)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	snprintf(
		text, sizeof(text),
		"%d (a ) b) S 1 2 3 0 -1 0 1 6 7 8 9 10 1 2 20 0 1 0 50 4096 100 1 1 1 1 1 1 0 0 0 "
		"1 0 0 0 17 %d 0 0 0\n",
		tid, cpu);
	put(path, text);
}

static void nodes_are_read_where_there_are_several(void **state)
{
	struct system_points points;
	struct system_files f;

	(void)state;
	put("/sys/devices/system/node/online", "0-1\n");
	put("/sys/devices/system/node/node0/numastat", "numa_hit 5\n");
	put("/sys/devices/system/node/node0/cpulist", "0-3,8-11\n");
	put("/sys/devices/system/node/node1/numastat", "numa_hit 6\n");
	put("/sys/devices/system/node/node1/cpulist", "4-7,12-15\n");
	put_process(7, 1, "S");
	put_thread(7, 7, 3);
	put_thread(7, 8, 9);
	put_thread(7, 9, 12);
	put_thread(7, 10, 4000); /* a CPU that nobody knows */
	look_at_machine(&f, &points);
	system_files_add(&f, 2, 7);
	system_files_poll(&f, 1, &points);
	assert_true(value_of(&points, 0, SERIES_NODE_HIT, 0) == 5);
	assert_true(value_of(&points, 0, SERIES_NODE_HIT, 1) == 6);
	assert_true(value_of(&points, 2, SERIES_NUMA_NODE, 0) == 3ll * 4096);
	assert_true(value_of(&points, 2, SERIES_NUMA_NODE, 1) == 4ll * 4096);
	assert_true(value_of(&points, 2, SERIES_NUMA_THREADS, 0) == 2);
	assert_true(value_of(&points, 2, SERIES_NUMA_THREADS, 1) == 1);
	assert_false(misses(&f, "numa"));
	release(&f, &points);
}

static void one_node_is_not_asked_for(void **state)
{
	struct system_points points;
	struct system_files f;

	(void)state;
	put("/sys/devices/system/node/online", "0\n");
	put_process(7, 1, "S");
	look_at_machine(&f, &points);
	system_files_add(&f, 2, 7);
	system_files_poll(&f, 1, &points);
	assert_true(value_of(&points, 2, SERIES_NUMA_NODE, 0) == ABSENT);
	assert_true(misses(&f, "numa: this machine has one node"));
	release(&f, &points);
}

/* Never there, there and then gone, gone: no error, no note, no figure. */
static void processes_that_vanish_leave_their_last_figures(void **state)
{
	struct system_points points;
	struct system_files f;
	char path[128];

	(void)state;
	put_process(7, 41, "S");
	look_at_machine(&f, &points);
	system_files_add(&f, 1, 99);
	system_files_add(&f, 2, 7);
	system_files_poll(&f, 1, &points);
	for (const char *names[] = { "stat", "io", "numa_maps", "" }, **n = names; **n; n++) {
		snprintf(path, sizeof(path), "%s/proc/7/%s", root, *n);
		assert_int_equal(remove(path), 0);
	}
	f.missing_count = 0;
	system_files_read_all(&f, &points);
	assert_int_equal(f.missing_count, 0);
	assert_int_equal(f.unwatched, 0);
	assert_int_equal(count_of(&points, 1, SERIES_MINOR_FAULTS), 0);
	assert_true(value_of(&points, 2, SERIES_MINOR_FAULTS, 0) == 41);
	system_files_remove(&f, 2);
	system_files_remove(&f, 1);
	release(&f, &points);
}

/* It is another's by now, or it is still alive and will be looked at as usual. */
static void only_one_that_has_ended_gets_a_last_look(void **state)
{
	struct system_points points = { 0 };
	struct reading l = { &points, 1000, 5, 0 };

	(void)state;
	put_process(7, 41, "S");
	system_files_read_last(root, 7, &l);
	system_files_read_last(root, 8, &l);
	assert_int_equal(points.count, 0);
	put_process(7, 41, "Z");
	system_files_read_last(root, 7, &l);
	assert_true(value_of(&points, 5, SERIES_MINOR_FAULTS, 0) == 41);
	assert_true(value_of(&points, 5, SERIES_READ, 0) == 3);
	assert_true(value_of(&points, 5, SERIES_RSS, 0) == ABSENT);
	system_points_release(&points);
}

static void periods_are_kept_and_stretched(void **state)
{
	struct system_points points;
	struct system_files f;
	int64_t before_ns, due_ns;

	(void)state;
	put_process(7, 1, "S");
	look_at_machine(&f, &points);
	system_files_add(&f, 2, 7);
	before_ns = (int64_t)stamp_monotonic();
	due_ns = system_files_poll(&f, 1, &points);
	assert_in_range(due_ns, before_ns, (int64_t)stamp_monotonic() + source_stat.period_ns);
	/* Nothing is due: nothing is read. */
	points.count = 0;
	if (system_files_poll(&f, 1, &points) == due_ns)
		assert_int_equal(points.count, 0);
	for (size_t i = 0; i < f.count; i++)
		f.files[i].due_ns = 0;
	system_files_poll(&f, 3, &points);
	for (size_t i = 0; i < f.count; i++) {
		if (f.files[i].source->period_ns <= 100000000)
			assert_int_equal(f.files[i].due_ns % (3 * f.files[i].source->period_ns), 0);
		f.files[i].due_ns = 0;
	}
	/* What there is of a program that runs for a second is seen all the same. */
	due_ns = system_files_poll(&f, 1000, &points);
	assert_true(due_ns - (int64_t)stamp_monotonic() <= 600000000);
	for (size_t i = 0; i < f.count; i++) {
		if (!f.files[i].source->most_of_time) /* those make the program wait */
			assert_true(f.files[i].due_ns - (int64_t)stamp_monotonic() <= 3000000000);
	}
	release(&f, &points);
}

/* Who holds the lock of the program's memory rests 500 times as long as it held it. */
static void what_makes_a_program_wait_is_done_for_a_small_share_of_the_time(void **state)
{
	const int64_t second = 1000000000, now_ns = 100 * second + 1;
	const struct system_source *smaps = NULL;

	(void)state;
	for (size_t i = 0; process_sources[i]; i++) {
		if (!strcmp(process_sources[i]->name, "smaps_rollup"))
			smaps = process_sources[i];
	}
	for (const struct system_source *both[] = { smaps, &source_numa, NULL }, **s = both; *s;
	     s++) {
		assert_int_equal((*s)->period_ns, second);
		/* 1 ms is within a second; 10 ms are not; and periods that are longer anyhow. */
		assert_int_equal(
			system_files_due(now_ns, second, 1, second / 1000, (*s)->most_of_time),
			101 * second);
		assert_int_equal(
			system_files_due(now_ns, second, 1, second / 100, (*s)->most_of_time),
			105 * second);
		assert_int_equal(
			system_files_due(now_ns, second, 40, second / 100, (*s)->most_of_time),
			120 * second);
	}
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* A sanitizer would touch memory of its own. */
__attribute__((noinline, no_sanitize_address, no_sanitize_thread)) static void touch(char *memory,
										     long bytes)
{
	for (long at = 0; at < bytes; at += 4096)
		((volatile char *)memory)[at] = 1;
}

/* Touches so many MB more at each byte that it is sent, and answers. */
static pid_t start_toucher(int commands[2], int answers[2])
{
	pid_t child;

	assert_int_equal(pipe(commands), 0);
	assert_int_equal(pipe(answers), 0);
	child = fork();
	if (child == 0) {
		char mb;

		while (read(commands[0], &mb, 1) == 1) {
			char *memory = mmap(NULL, (size_t)(mb * MB), PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			madvise(memory, (size_t)(mb * MB), MADV_NOHUGEPAGE);
			touch(memory, mb * MB);
			if (write(answers[1], "", 1) != 1)
				break;
		}
		_exit(0);
	}
	return child;
}

static void ask(int commands[2], int answers[2], char mb)
{
	char answer;

	assert_int_equal(write(commands[1], &mb, 1), 1);
	assert_int_equal(read(answers[0], &answer, 1), 1);
}

static void collect(struct system_reader *w, struct system_points *all)
{
	struct system_points taken = { 0 };
	struct system_founds found = { 0 };

	system_reader_take(w, &taken, &found);
	system_founds_release(&found);
	for (size_t i = 0; i < taken.count; i++)
		system_points_put(all, &taken.items[i]);
	system_points_release(&taken);
}

/* The real kernel and a real process, which is then killed. */
static void a_process_is_followed_to_its_end(void **state)
{
	struct system_points all = { 0 };
	int commands[2], answers[2];
	int64_t faults, last_ns = 0;
	struct system_reader *w;
	struct err err;
	pid_t child = start_toucher(commands, answers);

	(void)state;
	assert_int_equal(system_reader_new(&w, "", (int64_t)stamp_monotonic(), &err), 0);
	system_reader_start(w);
	system_reader_add(w, 4, child);
	ask(commands, answers, 1);
	for (struct patience p = { 0 }; value_of(&all, 4, SERIES_RSS, 0) <= MB;) {
		assert_true(patience_lasts(&p));
		collect(w, &all);
	}
	faults = value_of(&all, 4, SERIES_MINOR_FAULTS, 0);
	ask(commands, answers, 100);
	kill(child, SIGKILL);
	waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	system_reader_remove(w, 4, child);
	waitpid(child, NULL, 0);
	system_reader_stop(w);
	collect(w, &all);
	/* Exact, though it was killed right after: the kernel still knew. */
	faults = value_of(&all, 4, SERIES_MINOR_FAULTS, 0) - faults;
	assert_in_range(faults, 100 * MB / 4096, 100 * MB / 4096 + 500);
	assert_true(count_of(&all, 0, SERIES_MACHINE_AVAILABLE) > 0);
	for (size_t i = 0; i < all.count; i++) {
		if (all.items[i].process == 4 && all.items[i].kind == SERIES_MINOR_FAULTS) {
			assert_true(all.items[i].time_ns >= last_ns);
			last_ns = all.items[i].time_ns;
		}
	}
	assert_true(system_reader_totals(w).cpu_ns > 0);
	system_points_release(&all);
	system_reader_free(w);
}

/* Processes that come and go all the while. */
static void a_hundred_short_lives(void **state)
{
	struct system_points all = { 0 };
	struct system_reader *w;
	struct err err;

	(void)state;
	assert_int_equal(system_reader_new(&w, "", (int64_t)stamp_monotonic(), &err), 0);
	system_reader_start(w);
	for (uint32_t i = 1; i <= 100; i++) {
		pid_t child = fork();

		if (!child) {
			sleep_ms(i % 7);
			_exit(0);
		}
		system_reader_add(w, i, child);
		sleep_ms(i % 5);
		kill(child, SIGKILL);
		waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
		if (i % 3 == 0) /* too late for a last look */
			waitpid(child, NULL, 0);
		system_reader_remove(w, i, child);
		waitpid(child, NULL, 0);
		collect(w, &all);
	}
	system_reader_stop(w);
	collect(w, &all);
	for (uint32_t i = 1; i <= 100; i++) {
		if (i % 3)
			assert_true(count_of(&all, i, SERIES_MINOR_FAULTS) > 0);
	}
	for (size_t i = 0; i < 16 && system_reader_missing(w, i); i++)
		assert_null(strstr(system_reader_missing(w, i), "No such process"));
	system_points_release(&all);
	system_reader_free(w);
}

#define IN_A_ROOT(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_ROOT(without_any_file_all_is_missing_once),
		IN_A_ROOT(the_group_that_binds_is_read),
		IN_A_ROOT(without_a_limit_our_own_group_is_read),
		IN_A_ROOT(groups_of_version_1_too),
		IN_A_ROOT(nodes_are_read_where_there_are_several),
		IN_A_ROOT(one_node_is_not_asked_for),
		IN_A_ROOT(processes_that_vanish_leave_their_last_figures),
		IN_A_ROOT(only_one_that_has_ended_gets_a_last_look),
		IN_A_ROOT(periods_are_kept_and_stretched),
		cmocka_unit_test(what_makes_a_program_wait_is_done_for_a_small_share_of_the_time),
		cmocka_unit_test(a_process_is_followed_to_its_end),
		cmocka_unit_test(a_hundred_short_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
