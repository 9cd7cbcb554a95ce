/* links: is_capture is_agent_core */
/*
 * Little memory: what is read of it from /proc and /sys, what the buffer makes
 * of it, and that events stay counted meanwhile.  A folder plays "/".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/core/session.h"
#include "capture/drain/shm_owner.h"
#include "capture/session/memory_pressure.h"
#include "capture/session/recording.h"
#include "fake_clock.h"
#include "fake_root.h"
#include "format/trace.h"

#define MB (1ull << 20)
#define ENOUGH (1024 * MB)

static void put_machine(unsigned long long left_mb)
{
	char text[256];

	snprintf(
		text, sizeof(text),
		"MemTotal:       16000000 kB\nMemFree:             1 kB\nMemAvailable:   %llu kB\n",
		left_mb << 10);
	put("/proc/meminfo", text);
}

static struct pressure read_all(void)
{
	struct pressure p;

	pressure_read(&p, root, ENOUGH);
	return p;
}

static void without_any_file_nothing_is_known(void **state)
{
	struct pressure p = read_all();

	(void)state;
	assert_true(p.left_bytes == PRESSURE_UNKNOWN);
	assert_true(p.stalled == 0);
	assert_true(pressure_allowed(&p, 100 * MB, 0, 100 * MB) == 100 * MB);
}

static void a_control_group_may_have_less_than_the_machine(void **state)
{
	(void)state;
	assert_true(pressure_total(root) == PRESSURE_UNKNOWN);
	put("/proc/meminfo", "MemTotal:       1024 kB\nMemAvailable:   1 kB\n");
	assert_int_equal(pressure_total(root), MB);
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	assert_int_equal(pressure_total(root), MB);
	put("/sys/fs/cgroup/a/memory.max", "4096\n");
	assert_int_equal(pressure_total(root), 4096);
}

static void the_machine_says_what_is_available(void **state)
{
	struct pressure p;

	(void)state;
	put_machine(200);
	p = read_all();
	assert_true(p.left_bytes == 200 * MB);
	assert_string_equal(p.owner, "the machine");
}

static void the_tightest_control_group_counts(void **state)
{
	struct pressure p;

	(void)state;
	put_machine(4000);
	put("/proc/self/cgroup", "0::/pod/box\n");
	put("/sys/fs/cgroup/pod/box/memory.max", "max\n");
	put("/sys/fs/cgroup/pod/box/memory.current", "99999\n");
	put("/sys/fs/cgroup/pod/memory.max", "524288000\n");     /* 500 MB */
	put("/sys/fs/cgroup/pod/memory.current", "419430400\n"); /* 400 MB */
	/* 150 MB of which are a cache, and a key that only begins like it */
	put("/sys/fs/cgroup/pod/memory.stat",
	    "anon 5\ninactive_file_x 7\ninactive_file 157286400\nactive_file 3\n");
	p = read_all();
	assert_true(p.left_bytes == 250 * MB);
	assert_string_equal(p.owner, "the control group");
}

static void a_group_of_version_1_counts_too(void **state)
{
	struct pressure p;

	(void)state;
	put_machine(4000);
	put("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/job\n0::/\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
	put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "104857600\n");
	put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "209715200\n");
	p = read_all();
	assert_true(p.left_bytes == 0);
	assert_string_equal(p.owner, "the control group");
}

static void a_container_that_sees_the_hosts_path(void **state)
{
	(void)state;
	put_machine(4000);
	put("/proc/self/cgroup", "0::/kubepods/of/the/host\n");
	put("/sys/fs/cgroup/memory.max", "104857600\n");
	put("/sys/fs/cgroup/memory.current", "52428800\n");
	assert_true(read_all().left_bytes == 50 * MB);
}

static void waiting_is_our_groups_own_where_it_says(void **state)
{
	(void)state;
	put("/proc/pressure/memory", "some avg10=80.00 avg60=0.00 avg300=0.00 total=9\n"
				     "full avg10=25.00 avg60=0.00 avg300=0.00 total=9\n");
	assert_true(read_all().stalled == 0.25);
	put("/proc/self/cgroup", "0::/box\n");
	put("/sys/fs/cgroup/box/memory.pressure",
	    "some avg10=3.00 avg60=0.00 avg300=0.00 total=9\n"
	    "full avg10=1.00 avg60=0.00 avg300=0.00 total=9\n");
	assert_true(read_all().stalled == 0); /* others wait, we do not */
}

static void nonsense_in_the_files_is_no_harm(void **state)
{
	static const char *const texts[] = { "",
					     "\n",
					     "0::",
					     "::::\n:\n",
					     "memory:/x\n4:memory",
					     "-5\n",
					     "full avg10=nan",
					     "99999999999999999999999\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put("/proc/self/cgroup", texts[i]);
		put("/proc/meminfo", texts[i]);
		put("/proc/pressure/memory", texts[i]);
		put("/sys/fs/cgroup/memory.max", texts[i]);
		put("/sys/fs/cgroup/memory.current", texts[i]);
		(void)read_all();
	}
}

static void what_the_buffer_holds_is_part_of_what_is_left(void **state)
{
	struct pressure p = { 100 * MB, "the machine", 0 };

	(void)state;
	assert_true(pressure_allowed(&p, 100 * MB, 0, 100 * MB) == 25 * MB);
	assert_true(pressure_allowed(&p, 100 * MB, 60 * MB, 100 * MB) == 40 * MB);
	/* Those 20 MB given back, it is the same again: nothing swings. */
	p.left_bytes = 120 * MB;
	assert_true(pressure_allowed(&p, 40 * MB, 40 * MB, 100 * MB) == 40 * MB);
	p = (struct pressure){ pressure_enough(100 * MB), "the machine", 0 };
	assert_true(pressure_allowed(&p, 8 * MB, 0, 100 * MB) == 100 * MB);
	p.stalled = 0.5;
	assert_true(pressure_allowed(&p, 8 * MB, 0, 100 * MB) == 4 * MB);
}

static void blocks_that_are_kept_give_their_memory_back(void **state)
{
	struct shm_owner a;
	struct err err;
	uint64_t all;

	(void)state;
	assert_int_equal(shm_owner_init(&a, 16 * MB, SHM_CLOCK_MONOTONIC, 0, &err), 0);
	memset(a.blocks, 1, (size_t)a.block_count * SHM_BLOCK_BYTES);
	for (uint32_t i = 0; i < a.block_count; i++) /* the table's own pages stay */
		atomic_store(&a.block_state[i], SHM_BLOCK_FREE);
	all = shm_owner_held_bytes(&a);
	assert_true(all >= 16 * MB);
	shm_owner_resize(&a, 128);
	assert_int_equal(shm_owner_size(&a), 128);
	assert_int_equal(shm_owner_free(&a), 128);
	assert_true(shm_owner_held_bytes(&a) ==
		    all - (uint64_t)(a.block_count - 128) * SHM_BLOCK_BYTES);
	shm_owner_resize(&a, 0);
	assert_int_equal(shm_owner_size(&a), 16); /* the least that makes sense */
	shm_owner_resize(&a, a.block_count);
	assert_int_equal(shm_owner_size(&a), a.block_count);
	for (uint32_t i = 0; i < a.block_count / 64u; i++)
		assert_true(atomic_load(&a.free_map[i]) == UINT64_MAX);
	shm_owner_release(&a);
}

static void blocks_in_use_are_let_alone(void **state)
{
	struct shm_owner a;
	struct err err;

	(void)state;
	assert_int_equal(shm_owner_init(&a, 4 * MB, SHM_CLOCK_MONOTONIC, 0, &err), 0);
	/* All but 20, every third of which is at the end */
	for (uint32_t i = 0; i < a.block_count; i++)
		if (i >= 60 || i % 3) {
			atomic_store(&a.block_state[i],
				     shm_block_state(SHM_BLOCK_WRITING, 0, 0, i + 1));
			atomic_fetch_and(&a.free_map[i / 64], ~(1ull << i % 64));
		}
	shm_owner_resize(&a, 16);
	assert_int_equal(shm_owner_size(&a), a.block_count - 4); /* 16 free ones stay */
	for (uint32_t i = 64; i < 128; i++)                      /* they become free */
		atomic_store(&a.block_state[i], SHM_BLOCK_FREE);
	atomic_fetch_or(&a.free_map[1], UINT64_MAX);
	shm_owner_resize(&a, a.wanted);
	assert_int_equal(shm_owner_size(&a), a.block_count - 4 - 64);
	shm_owner_release(&a);
}

static void push(unsigned events)
{
	struct ring *r = session_ring();

	for (unsigned i = 0; i < events; i++)
		ring_push(r, RECORD_CALL, i + 1);
}

/* Cycles for longer than it takes to look again. */
static void let_time_pass(struct recording *r)
{
	for (int i = 0; i < 30; i++) {
		fake_clock_pass(10000000);
		recording_cycle(r);
	}
}

static struct trace *end_and_open(struct recording *r, int fd)
{
	struct trace *t;
	struct err err;
	char path[64];

	free(session_my_ring);
	session_my_ring = NULL;
	session_leave();
	recording_end(r, 0);
	assert_null(recording_trouble(r));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_null(trace_damage(t));
	return t;
}

static void a_recording_shrinks_grows_and_says_so(void **state)
{
	bool ring = *(bool *)*state;
	struct recording_options options = { .buffer_bytes = 8 * MB,
					     .keep_newest = ring,
					     .root = root };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	uint64_t stored = 0, produced = 0;
	struct recording *r;
	struct trace *t;
	struct err err;

	put_machine(4000);
	assert_int_equal(recording_new(&r, fd, &options, &err), 0);
	assert_int_equal(session_join(recording_where(r), 0), 0);
	recording_cycle(r);
	push(400000); /* 6.4 of 8 MB; in a ring they stay there */
	put_machine(0);
	let_time_pass(r);
	push(400000); /* in what is left of it */
	let_time_pass(r);
	put_machine(4000);
	for (int doublings = 0; doublings < 6; doublings++)
		let_time_pass(r);
	push(1000);
	t = end_and_open(r, fd);
	assert_int_equal(trace_note_count(t), 2);
	assert_non_null(strstr(trace_note(t, 0), "memory was scarce (the machine had 0 MB left): "
						 "the trace buffer was shrunk from 8.0 to "));
	assert_non_null(strstr(trace_note(t, 1), " at its smallest and had 8.0 MB at the end"));
	for (size_t i = 0; i < trace_thread_count(t); i++) {
		produced += trace_thread(t, i)->produced;
		stored += trace_thread(t, i)->produced - trace_thread(t, i)->lost;
	}
	assert_true(produced == 801000);
	assert_true(stored == trace_event_count(t));
	if (!ring) /* drained before it was shrunk; then 2 MB took what they could */
		assert_true(stored > 401000);
	else
		assert_in_range(stored, 1000, 200000);
	trace_close(t);
	recording_free(r);
	close(fd);
}

static void plenty_of_memory_is_not_worth_a_note(void **state)
{
	struct recording_options options = { .buffer_bytes = 8 * MB, .root = root };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct recording *r;
	struct trace *t;
	struct err err;

	(void)state;
	put_machine(4000);
	assert_int_equal(recording_new(&r, fd, &options, &err), 0);
	assert_int_equal(session_join(recording_where(r), 0), 0);
	recording_cycle(r);
	push(1000);
	let_time_pass(r);
	t = end_and_open(r, fd);
	assert_int_equal(trace_note_count(t), 0);
	trace_close(t);
	recording_free(r);
	close(fd);
}

int main(void)
{
	static bool drained = false, kept = true;
#define IN_A_ROOT(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)
	const struct CMUnitTest tests[] = {
		IN_A_ROOT(without_any_file_nothing_is_known),
		IN_A_ROOT(a_control_group_may_have_less_than_the_machine),
		IN_A_ROOT(the_machine_says_what_is_available),
		IN_A_ROOT(the_tightest_control_group_counts),
		IN_A_ROOT(a_group_of_version_1_counts_too),
		IN_A_ROOT(a_container_that_sees_the_hosts_path),
		IN_A_ROOT(waiting_is_our_groups_own_where_it_says),
		IN_A_ROOT(nonsense_in_the_files_is_no_harm),
		cmocka_unit_test(what_the_buffer_holds_is_part_of_what_is_left),
		cmocka_unit_test(blocks_that_are_kept_give_their_memory_back),
		cmocka_unit_test(blocks_in_use_are_let_alone),
		{ "a_recording_shrinks_grows_and_says_so", a_recording_shrinks_grows_and_says_so,
		  make_root, remove_root, &drained },
		{ "the_same_with_a_ring", a_recording_shrinks_grows_and_says_so, make_root,
		  remove_root, &kept },
		IN_A_ROOT(plenty_of_memory_is_not_worth_a_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
