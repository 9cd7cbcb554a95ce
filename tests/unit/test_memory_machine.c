/* links: is_report */
/* Limits of machine and container, devices, nodes, allocations: what is known besides levels and
 * steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_scene.h"
#include "report/memory_text.h"

static void the_nearest_limit_counts(void **state)
{
	struct scene s;
	const struct analysis *a;
	const struct memory_machine *m;

	(void)state;
	begin(&s, 1000 * MS);
	buf_add_str(&s.text, "series 0 machine_total_bytes 16000000000@0\n"
			     "series 0 machine_available_bytes 9000000000@0 8000000000@500000000\n"
			     "series 0 cgroup_memory_bytes 1000000000@0 1950000000@500000000 "
			     "1500000000@900000000\n"
			     "series 0 cgroup_cache_bytes 10000000@0 10000000@1000000000\n"
			     "series 0 cgroup_memory_max_bytes 2000000000@0\n"
			     "series 0 cgroup_oom_kills 3@0 5@900000000\n"
			     "series 0 psi_memory_some_us 0@0 900000@1000000000\n"
			     "series 0 cgroup_psi_memory_some_us 500@0 40500@1000000000\n"
			     "series 0 cgroup_psi_memory_full_us 500@0 20500@1000000000\n"
			     "series 0 psi_io_some_us 0@0 100000@1000000000\n"
			     "series 0 cgroup_throttled_us 1000@0 201000@1000000000\n"
			     "series 0 cgroup_cpu_limit_millicpus 1500@0\n");
	a = analysed(&s);
	m = &a->memory.machine;
	assert_int_equal(m->limit, MEMORY_LIMIT_CONTAINER);
	assert_int_equal(m->limit_bytes, 2000000000);
	assert_int_equal(m->least_left_bytes, 60000000);
	assert_int_equal(m->oom_kills.sum, 2);
	assert_true(m->memory.known && m->memory.of_container);
	assert_near(m->memory.some_share, 0.04, 1e-9);
	assert_near(m->memory.full_share, 0.02, 1e-9);
	assert_true(m->io.known && !m->io.of_container);
	assert_near(m->io.some_share, 0.1, 1e-9);
	assert_true(warnings(a, MEMORY_OOM_KILLS) && warnings(a, MEMORY_NEAR_LIMIT) &&
		    warnings(a, MEMORY_PRESSURE) && warnings(a, MEMORY_CPU_THROTTLED));
	assert_int_equal(a->memory.warnings[0].what, MEMORY_OOM_KILLS);
	end(&s);
}

/* A machine that others fill is closer than a generous container. */
static void a_full_machine_before_a_generous_container(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 1000 * MS);
	buf_add_str(&s.text, "series 0 machine_total_bytes 16000000000@0\n"
			     "series 0 machine_available_bytes 9000000000@0 500000000@500000000\n"
			     "series 0 cgroup_memory_bytes 1000000000@0\n"
			     "series 0 cgroup_memory_max_bytes 8000000000@0\n");
	a = analysed(&s);
	assert_int_equal(a->memory.machine.limit, MEMORY_LIMIT_MACHINE);
	assert_int_equal(a->memory.machine.least_left_bytes, 500000000);
	assert_true(warnings(a, MEMORY_NEAR_LIMIT));
	end(&s);
}

/* The pages were looked at before the model was loaded. */
static void nodes_that_were_seen_too_early_say_nothing(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 1000 * MS);
	buf_add_str(&s.text, "series 1 rss_bytes 10000@0 400000@500000000 400000@1000000000\n"
			     "series 1 numa_node_bytes/0 5000@0\n"
			     "series 1 numa_node_bytes/1 5000@0\n"
			     "series 1 numa_threads/0 1@0\n"
			     "series 1 numa_threads/1 0@0\n");
	a = analysed(&s);
	assert_int_equal(a->memory.processes[0].node_count, 2);
	assert_false(a->memory.processes[0].remote_known);
	assert_false(warnings(a, MEMORY_NUMA_REMOTE));
	end(&s);
}

static void devices_and_nodes(void **state)
{
	struct scene s;
	const struct analysis *a;
	const struct memory_gpu *g;

	(void)state;
	begin(&s, 1000 * MS);
	buf_add_str(&s.text,
		    "series 0 gpu_memory_used_bytes/0 1000@0 5000@500000000 3000@1000000000\n"
		    "series 0 gpu_memory_total_bytes/0 80000@0\n"
		    "series 0 gpu_memory_used_bytes/1 79000@0\n"
		    "series 0 gpu_memory_total_bytes/1 80000@0\n"
		    "series 0 gpu_throttle_reasons/0 1@0 4@200000000 36@400000000 1@600000000 "
		    "1@1000000000\n"
		    "series 0 gpu_sm_clock_mhz/0 1000@0 2000@500000000 2000@1000000000\n"
		    "series 1 gpu_process_memory_bytes/0 700@0 900@1000000000\n"
		    "series 1 numa_node_bytes/0 3000@0 3000@1000000000\n"
		    "series 1 numa_node_bytes/1 1000@0 1000@1000000000\n"
		    "series 1 numa_threads/0 4@0\n"
		    "series 1 numa_threads/1 0@0\n"
		    "series 0 node_local_pages/0 100@0 190@1000000000\n"
		    "series 0 node_other_pages/0 0@0 10@1000000000\n"
		    "series 0 node_local_pages/1 5@0 5@1000000000\n");
	a = analysed(&s);
	assert_int_equal(a->memory.gpu_count, 2);
	g = &a->memory.gpus[0];
	assert_int_equal(g->used.peak, 5000);
	assert_int_equal(g->used.first, 1000);
	assert_int_equal(g->used.last, 3000);
	assert_int_equal(g->peak_bytes, 5000);
	assert_int_equal(g->unseen_ns, 0);
	assert_int_equal(a->memory.gpus[1].unseen_ns, 1000 * MS);
	assert_near(g->sm_clock_mhz.mean, 1500, 1e-9);
	assert_near(g->throttled_share, 0.4, 1e-9);
	assert_near(g->throttles[0].share, 0.4, 1e-9); /* power */
	assert_near(g->throttles[3].share, 0.2, 1e-9); /* temperature */
	assert_true(warnings(a, MEMORY_GPU_FULL) && warnings(a, MEMORY_GPU_THROTTLED));
	assert_int_equal(a->memory.warnings[0].about, 1);
	assert_int_equal(a->memory.processes[0].gpu_bytes.peak, 900);
	assert_true(a->memory.processes[0].remote_known);
	assert_near(a->memory.processes[0].remote_share, 0.25, 1e-9);
	assert_true(warnings(a, MEMORY_NUMA_REMOTE));
	assert_true(a->memory.machine.other_node_known);
	assert_near(a->memory.machine.other_node_share, 0.1, 1e-9);
	end(&s);
}

/* 12 GB reserved, of which 2 are in use and 4 in pieces; a program that sets its marks back. */
static void what_pytorch_keeps(void **state)
{
	struct scene s;
	const struct analysis *a;
	const struct memory_torch *t;

	(void)state;
	begin(&s, 1000 * MS);
	buf_add_str(&s.text,
		    "series 0 gpu_memory_used_bytes/0 20000000000@0\n"
		    "series 0 gpu_memory_total_bytes/0 80000000000@0\n"
		    "series 1 torch_reserved_bytes/0 12000000000@0 12000000000@1000000000\n"
		    "series 1 torch_allocated_bytes/0 3000000000@0 2000000000@500000000\n"
		    "series 1 torch_split_bytes/0 4000000000@0 4000000000@1000000000\n"
		    "series 1 torch_reserved_peak_bytes/0 13000000000@0 12000000000@500000000\n"
		    "series 1 torch_allocated_peak_bytes/0 1000@500000000\n"
		    "series 1 torch_retries/0 2@0 3@1000000000\n"
		    "series 1 torch_ooms/0 0@0 0@1000000000\n"
		    "series 1 torch_reserved_bytes/3 5000@0\n"
		    "series 1 torch_ooms/3 1@0\n");
	a = analysed(&s);
	assert_int_equal(a->memory.processes[0].torch_count, 2);
	t = &a->memory.processes[0].torch[0];
	assert_int_equal(t->reserved.last, 12000000000);
	assert_int_equal(t->allocated.last, 2000000000);
	assert_int_equal(t->reserved_peak_bytes, 13000000000);
	assert_int_equal(t->allocated_peak_bytes, 3000000000);
	assert_int_equal(t->retries, 3); /* those before the first look, too */
	assert_int_equal(t->ooms, 0);
	assert_near(memory_torch_split_share(t), 1.0 / 3, 1e-9);
	assert_int_equal(t[1].device, 3);
	assert_int_equal(t[1].ooms, 1);
	assert_false(t[1].split.known);
	assert_int_equal(a->memory.warnings[0].what, MEMORY_TORCH_OOMS);
	assert_true(warnings(a, MEMORY_TORCH_RETRIES) && warnings(a, MEMORY_TORCH_FRAGMENTS));
	assert_false(warnings(a, MEMORY_GPU_FULL));
	end(&s);
}

/* A small cache has room enough around it, however it is cut. */
static void pieces_of_a_small_cache_are_no_worry(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 1000 * MS);
	buf_add_str(&s.text, "series 0 gpu_memory_used_bytes/0 900@0\n"
			     "series 0 gpu_memory_total_bytes/0 80000@0\n"
			     "series 1 torch_reserved_bytes/0 7000@0\n"
			     "series 1 torch_split_bytes/0 6000@0\n");
	a = analysed(&s);
	assert_int_equal(a->memory.warning_count, 0);
	end(&s);
}

static void allocations_on_the_gpu(void **state)
{
	struct scene s;
	const struct analysis *a;
	const struct memory_step_figures *m;

	(void)state;
	begin(&s, 21 * STEP_NS);
	buf_add_str(&s.text, "gpu 1 1 0 CUPTI 130000\n"
			     "1: {cudaMalloc#900:8=5000/0@1000 }900@2000\n");
	for (int i = 0; i < 10; i++) {
		int64_t at = (2 * i + 1) * STEP_NS;

		buf_printf(&s.text,
			   "1: [step#%d/0@%" PRId64 " {cudaMalloc#%d:8=1000/0@%" PRId64
			   " }%d@%" PRId64 " {cudaFree#%d:9/0@%" PRId64 " }%d@%" PRId64
			   " {cudaHostAlloc#%d:10=64/0@%" PRId64 " }%d@%" PRId64 " ]#%d@%" PRId64
			   "\n",
			   i + 1, at, 10 * i + 1, at + 10 * MS, 10 * i + 1, at + 20 * MS,
			   10 * i + 2, at + 30 * MS, 10 * i + 2, at + 31 * MS, 10 * i + 3,
			   at + 40 * MS, 10 * i + 3, at + 42 * MS, i + 1, at + STEP_NS);
	}
	a = analysed(&s);
	m = &a->steps[0].memory;
	assert_true(m->cuda.known);
	assert_int_equal(m->cuda_steps, 10);
	assert_int_equal(m->cuda.calls[CUDA_MEMORY_ALLOC].count, 10);
	assert_int_equal(m->cuda.calls[CUDA_MEMORY_ALLOC].bytes, 10000);
	assert_int_equal(m->cuda.calls[CUDA_MEMORY_ALLOC].ns, 100 * MS);
	assert_int_equal(m->cuda.calls[CUDA_MEMORY_FREE].count, 10);
	assert_int_equal(m->cuda.calls[CUDA_MEMORY_HOST_ALLOC].bytes, 640);
	assert_int_equal(a->memory.processes[0].cuda.calls[CUDA_MEMORY_ALLOC].count, 11);
	assert_int_equal(a->memory.processes[0].cuda.calls[CUDA_MEMORY_ALLOC].bytes, 15000);
	assert_true(warnings(a, MEMORY_CUDA_CHURN));
	end(&s);
}

/* The one sentence of every report. */
static void assert_meaning(const struct analysis *a, const char *expected)
{
	struct buf text;

	buf_init(&text);
	memory_text_meaning(&text, a);
	assert_string_equal(buf_string(&text), expected);
	buf_release(&text);
}

#define ONE_GPU                                                                   \
	"series 0 gpu_memory_used_bytes/0 500000000@0 1500000000@300000000\n"     \
	"series 0 gpu_memory_total_bytes/0 80000000000@0 80000000000@300000000\n" \
	"series 1 torch_reserved_bytes/0 9000000000@400000000 9000000000@9000000000\n"

/* NVML was asked when the program began, PyTorch to the end: the two must not contradict. */
static void pytorch_knows_more_of_a_device_than_nvml_saw(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 10000 * MS);
	buf_add_str(&s.text, ONE_GPU "series 1 torch_reserved_peak_bytes/0 16000000000@400000000 "
				     "16000000000@9000000000\n");
	a = analysed(&s);
	assert_int_equal(a->memory.gpus[0].used.peak, 1500 * MB);
	assert_int_equal(a->memory.gpus[0].peak_bytes, 16000 * MB);
	assert_int_equal(a->memory.gpus[0].unseen_ns, 9700 * MS);
	assert_meaning(a,
		       "no sign of a memory limit: at the lowest point, 64.0 GB of the 80.0 GB of "
		       "GPU 0 were left");
	end(&s);

	/* Of several devices nobody knows which of them is PyTorch's. */
	begin(&s, 10000 * MS);
	buf_add_str(&s.text, ONE_GPU
		    "series 0 gpu_memory_used_bytes/1 2000000000@0\n"
		    "series 0 gpu_memory_total_bytes/1 80000000000@0\n"
		    "series 0 machine_total_bytes 16000000000@0 16000000000@9000000000\n"
		    "series 0 machine_available_bytes 9000000000@0 9000000000@9000000000\n");
	a = analysed(&s);
	assert_int_equal(a->memory.gpus[0].peak_bytes, 1500 * MB);
	assert_meaning(a,
		       "no sign of a memory limit: at the lowest point, 9.00 GB of the 16.0 GB of "
		       "the machine were left, and 78.0 GB of the 80.0 GB of GPU 1");
	end(&s);
}

/* 40 MB more in each second, to the end. */
static void memory_of_a_device_that_grows(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 10000 * MS);
	buf_add_str(&s.text, "series 0 gpu_memory_used_bytes/0");
	for (int64_t t = 0; t <= 10000; t += 200)
		buf_printf(&s.text, " %" PRId64 "@%" PRId64, 1000 * MB + t / 500 * 20 * MB, t * MS);
	buf_add_byte(&s.text, '\n');
	a = analysed(&s);
	assert_int_equal(a->memory.gpus[0].used_trend.kind, TREND_GROWS);
	assert_near(a->memory.gpus[0].used_trend.late.slope, 40.0 * (double)MB, 0.05);
	end(&s);
}

static const char *note_of_cost(const struct analysis *a)
{
	for (size_t i = 0; i < a->trust.note_count; i++) {
		if (strstr(a->trust.notes[i], "above the limit of 1 %"))
			return a->trust.notes[i];
	}
	return NULL;
}

/* Whether it took more than it may, and whether it was the start of NVML. */
static void what_looking_took_is_told(void **state)
{
	static const struct {
		const char *facts, *note;
		int64_t wall_ns;
	} cases[] = {
		{ "info memory.cpu_share 0.0099\ninfo memory.gpu_start_ms 55\n", NULL, 8000 * MS },
		{ "info memory.cpu_share 0.03\ninfo memory.gpu_start_ms 55.4\n",
		  "sampling memory and system figures took 3.00 % of a core, above the limit of "
		  "1 %: starting NVML, which provides the GPU figures, took 55 ms of CPU time, and "
		  "the "
		  "recording was too short to amortize it",
		  2000 * MS },
		{ "info memory.cpu_share 0.03\ninfo memory.gpu_start_ms 5\n",
		  "sampling memory and system figures took 3.00 % of a core, above the limit of "
		  "1 %",
		  2000 * MS },
		{ "info memory.cpu_share 0.03\n", NULL, 500 * MS }, /* the start of anything */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene s;
		const struct analysis *a;

		begin(&s, cases[i].wall_ns);
		buf_add_str(&s.text, cases[i].facts);
		a = analysed(&s);
		if (cases[i].note)
			assert_string_equal(note_of_cost(a), cases[i].note);
		else
			assert_null(note_of_cost(a));
		end(&s);
	}
}

static void levels_of_the_kernel(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 1000 * MS);
	/* The highest mark rose: between two looks there was more than either saw. */
	buf_add_str(&s.text,
		    "series 1 rss_bytes 100000@0 200000@500000000 150000@1000000000\n"
		    "series 1 rss_peak_bytes 100000@0 900000@500000000\n"
		    "series 1 swap_bytes 0@0 90000@900000000\n"
		    "info memory.cpu_share 0.0042\ninfo memory.held_back 1\n"
		    "info memory.missing psi: not there\ninfo memory.missing nvml: no GPU\n");
	a = analysed(&s);
	assert_int_equal(a->memory.processes[0].rss_peak_bytes, 900000);
	assert_near(a->memory.processes[0].rss.mean, 150000, 1e-9);
	assert_true(warnings(a, MEMORY_SWAPPED));
	assert_true(a->memory.cost_known && a->memory.held_back);
	assert_near(a->memory.cost_share, 0.0042, 1e-9);
	assert_int_equal(a->memory.missing_count, 2);
	assert_string_equal(a->memory.missing[1], "nvml: no GPU");
	end(&s);

	/* It did not: it is of a time before the recording. */
	begin(&s, 1000 * MS);
	buf_add_str(&s.text, "series 1 rss_bytes 100000@0 200000@500000000\n"
			     "series 1 rss_peak_bytes 900000@0 900000@500000000\n");
	a = analysed(&s);
	assert_int_equal(a->memory.processes[0].rss_peak_bytes, 200000);
	end(&s);
}

/* By the looks around them: 60 faults in f, 40 in g, of which the library's h is a part. */
static void faults_by_line(void **state)
{
	struct story_analysis reported;
	const struct analysis *a =
		analyze_story(&reported, "process 1 100 app.py 0 9000000\n"
					 "thread 1 1 100 MainThread 0 9000000 0\n"
					 "thread 2 1 101 pool 0 9000000 0\n"
					 "code f app.py 10\ncode g app.py 20\n"
					 "code h /usr/lib/python3.12/site-packages/x/y.py 5\n"
					 "stack 1 f:12\nstack 2 h:6 g:24\nstack 3 g:24\n"
					 "look 1 1 1000000 2900000 20 1\n"
					 "look 1 2 3000000 4900000 20 1\n"
					 "look 1 3 5000000 6900000 20 1\n"
					 "fault 1 1500000 30 memset libc.so\n"
					 "fault 1 2500000 30 memset libc.so\n"
					 "fault 1 3500000 20 memset libc.so\n"
					 "fault 1 5500000 20 memset libc.so\n"
					 "majorfault 1 6000000 2 read libc.so\n"
					 "fault 2 6000000 25 memset libc.so\n"
					 "end 9000000 0\n");
	const struct memory_line *l = a->memory.lines;

	(void)state;
	assert_int_equal(a->memory.line_count, 3);
	assert_int_equal(a->memory.seen_minor, 125);
	assert_int_equal(a->memory.seen_major, 2);
	assert_string_equal(l[0].place.name, "f");
	assert_int_equal(l[0].place.line, 12);
	assert_int_equal(l[0].minor, 60);
	assert_string_equal(l[1].place.name, "g");
	assert_int_equal(l[1].place.line, 24);
	assert_int_equal(l[1].minor, 40);
	assert_int_equal(l[1].major, 2);
	assert_null(l[2].place.name);
	assert_int_equal(l[2].minor, 25);
	/* None of this is CPU time. */
	assert_int_equal(a->native.samples, 0);
	forget(&reported);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_limit_counts),
		cmocka_unit_test(a_full_machine_before_a_generous_container),
		cmocka_unit_test(nodes_that_were_seen_too_early_say_nothing),
		cmocka_unit_test(devices_and_nodes),
		cmocka_unit_test(what_pytorch_keeps),
		cmocka_unit_test(pieces_of_a_small_cache_are_no_worry),
		cmocka_unit_test(allocations_on_the_gpu),
		cmocka_unit_test(levels_of_the_kernel),
		cmocka_unit_test(pytorch_knows_more_of_a_device_than_nvml_saw),
		cmocka_unit_test(memory_of_a_device_that_grows),
		cmocka_unit_test(what_looking_took_is_told),
		cmocka_unit_test(faults_by_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
