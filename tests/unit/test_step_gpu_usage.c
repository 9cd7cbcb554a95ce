/* links: is_analyze */
/* What steps did with the GPU, against traces whose truth is plain; all times are in ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/gpu/step_gpu_usage.h"
#include "story_analysis.h"

#define HEAD                                                               \
	"process 1 100 app.py 0 90000000\n"                                \
	"thread 1 1 100 MainThread 0 90000000 0\n"                         \
	"thread 3 1 102 cupti 0 90000000 0\n"                              \
	"code infer /srv/app.py 10\n"                                      \
	"code upload /srv/app.py 30\n"                                     \
	"stack 1 infer:12\nstack 2 infer:14\nstack 3 upload:31 infer:11\n" \
	"gpu 1 1 10 CUPTI 130000\n"
#define END "end 90000000 0\n"

/* A step from 1 ms to 11 ms. */
#define STEP(events) "1: [request#1/0@1000000\n" events "1: ]#1@11000000\n"

static const struct step_gpu_usage *use_of(struct story_analysis *t, const char *story)
{
	return &analyze_story(t, story)->use;
}

static void gaps_are_told_apart_by_what_came_before_the_launch(void **state)
{
	struct story_analysis t;
	const struct step_gpu_usage *u;

	(void)state;
	/*
	 * k1 ends at 2.0; the host waits for it until 2.01 and launches k2 at 2.5: after a wait.
	 * k2 ends at 3.0 and k3 is launched at 3.02 without one: late, and soon.  k3 ends at
	 * 3.5 and k4 is launched at 5.0: late, and long.  k4 ends at 6.0; k5 was launched at
	 * 5.1 and begins at 6.2: latency.
	 */
	u = use_of(
		&t,
		HEAD STEP("1: {cudaLaunchKernel#1:1/1@1400000 }1@1405000\n"
			  "1: {cudaStreamSynchronize#2:6.7/2@1500000 }2@2010000\n"
			  "1: {cudaLaunchKernel#3:1/1@2495000 }3@2500000\n"
			  "1: {cudaLaunchKernel#4:1/1@3020000 }4@3025000\n"
			  "1: {cudaLaunchKernel#5:1/1@5000000 }5@5005000\n"
			  "1: {cudaLaunchKernel#6:1/1@5100000 }6@5105000\n") "3: "
									     "kernel:a#1@20000000:"
									     "1500000+500000/7 "
									     "kernel:a#3@20000000:"
									     "2600000+400000/7\n"
									     "3: "
									     "kernel:a#4@20000000:"
									     "3050000+450000/7 "
									     "kernel:a#5@20000000:"
									     "5010000+990000/7\n"
									     "3: "
									     "kernel:a#6@20000000:"
									     "6200000+100000/"
									     "7\n" END);
	assert_int_equal(u->steps, 1);
	assert_true(u->gpu);
	assert_int_equal(u->covered_ns, 10000000);
	assert_int_equal(u->busy_ns, 500000 + 400000 + 450000 + 990000 + 100000);
	assert_int_equal(u->kernels.count, 5);
	assert_int_equal(u->after_wait.count, 1);
	assert_int_equal(u->after_wait.ns, 600000);
	assert_int_equal(u->after_wait.top.where.line, 14); /* of the wait */
	assert_int_equal(u->short_late.count, 1);
	assert_int_equal(u->short_late.ns, 50000);
	assert_int_equal(u->short_late.top.where.line, 12); /* of the launch */
	assert_int_equal(u->long_late.count, 1);
	assert_int_equal(u->long_late.ns, 1510000);
	assert_int_equal(u->latency.count, 1);
	assert_int_equal(u->latency.ns, 200000);
	assert_int_equal(u->waits.count, 1);
	assert_int_equal(u->waits.ns, 510000);
	assert_int_equal(u->calls[CUDA_CALL_LAUNCH].count, 5);
	forget(&t);
}

static void what_is_outside_of_steps_does_not_count(void **state)
{
	struct story_analysis t;
	const struct step_gpu_usage *u;

	(void)state;
	/* Two steps that overlap, 1 to 3 and 2 to 4 ms; a kernel that reaches out of them. */
	u = use_of(&t, HEAD
		   "1: {cudaLaunchKernel#1:1/1@500000 }1@505000\n"
		   "1: [request#1/0@1000000\n"
		   "1: {cudaLaunchKernel#2:1/1@1100000 }2@1105000\n"
		   "1: [request#2/0@2000000 ]#1@3000000 ]#2@4000000\n"
		   "1: {cudaLaunchKernel#3:1/1@5000000 }3@5005000\n"
		   "3: kernel:a#1@20000000:510000+100000/7 kernel:a#2@20000000:3500000+1000000/7\n"
		   "3: kernel:a#3@20000000:5010000+100000/7\n" END);
	assert_int_equal(u->steps, 2);
	assert_int_equal(u->covered_ns, 3000000);
	assert_int_equal(u->busy_ns, 500000);
	assert_int_equal(u->kernels.count, 1);
	assert_int_equal(u->calls[CUDA_CALL_LAUNCH].count, 1);
	forget(&t);
}

static void copies_are_counted_by_their_memory(void **state)
{
	struct story_analysis t;
	const struct step_gpu_usage *u;

	(void)state;
	/* Pageable up (1), pinned up (2), down (2 -> pageable); a kernel beside the pinned one. */
	u = use_of(
		&t,
		HEAD STEP("1: {cudaMemcpyAsync#1:3/3@1000100 }1@1900000\n"
			  "1: {cudaMemcpyAsync#2:3/3@2000000 }2@2005000\n"
			  "1: {cudaLaunchKernel#3:1/1@2010000 }3@2015000\n"
			  "1: {cudaMemcpyAsync#4:3/2@5000000 }4@5500000\n") "3: "
									    "copy:1,1,3,4000000#1@"
									    "20000000:1100000+"
									    "700000/7\n"
									    "3: "
									    "copy:1,2,3,2000000#2@"
									    "20000000:2010000+"
									    "400000/8\n"
									    "3: "
									    "kernel:a#3@20000000:"
									    "2210000+200000/7\n"
									    "3: "
									    "copy:2,3,1,1000#4@"
									    "20000000:5010000+"
									    "50000/7\n" END);
	assert_int_equal(u->h2d.all.count, 2);
	assert_int_equal(u->h2d.all.bytes, 6000000);
	assert_int_equal(u->h2d.pageable.bytes, 4000000);
	assert_int_equal(u->h2d.pageable.ns, 700000);
	assert_int_equal(u->h2d.large.count, 2);
	assert_int_equal(u->h2d.large_pinned.bytes, 2000000);
	assert_int_equal(u->h2d.call_ns, 899900 + 5000);
	assert_string_equal(u->h2d.top.where.name, "upload");
	assert_int_equal(u->d2h.all.bytes, 1000);
	assert_int_equal(u->d2h.large.count, 0);
	assert_int_equal(u->d2h.top.where.line, 14);
	assert_int_equal(u->copy_alone_ns, 700000 + 200000 + 50000);
	forget(&t);
}

static void memory_has_who_allocates_and_who_frees(void **state)
{
	struct story_analysis t;
	const struct step_gpu_usage *u;

	(void)state;
	u = use_of(&t, HEAD STEP("1: {cudaMalloc#1:8/1@1100000 }1@1300000\n"
				 "1: {cudaLaunchKernel#2:1/1@1400000 }2@1405000\n"
				 "1: {cudaFree#3:9/2@1500000 }3@1600000\n"
				 "1: {cudaFree#4:9/2@1700000 }4@1800000\n") "3: "
									    "kernel:a#2@20000000:"
									    "1410000+1000/7\n" END);
	assert_int_equal(u->calls[CUDA_CALL_ALLOC].ns, 200000);
	assert_int_equal(u->calls[CUDA_CALL_FREE].count, 2);
	assert_int_equal(u->alloc_top.where.line, 12);
	assert_int_equal(u->free_top.where.line, 14);
	assert_int_equal(u->free_top.sum.count, 2);
	forget(&t);
}

static void without_a_gpu_only_the_steps_are_known(void **state)
{
	struct story_analysis t;
	const struct step_gpu_usage *u;

	(void)state;
	u = use_of(&t,
		   "process 1 100 app.py 0 90000000\nthread 1 1 100 - 0 90000000 0\n" STEP("") END);
	assert_int_equal(u->steps, 1);
	assert_false(u->gpu);
	assert_int_equal(u->busy_ns, 0);
	forget(&t);
}

static void names_say_what_multiplies(void **state)
{
	(void)state;
	assert_int_equal(kernel_math("cutlass_80_simt_sgemm_64x64_8x5_nn_align1"), MATH_PLAIN);
	assert_int_equal(kernel_math("ampere_sgemm_32x32_sliced1x4_nn"), MATH_PLAIN);
	assert_int_equal(kernel_math("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_"
				     "stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel"),
			 MATH_PLAIN);
	assert_int_equal(kernel_math("cutlass_80_tensorop_s1688gemm_64x128_32x3_nn_align4"),
			 MATH_TENSOR);
	assert_int_equal(kernel_math("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"),
			 MATH_TENSOR);
	assert_int_equal(kernel_math("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"),
			 MATH_TENSOR);
	assert_int_equal(
		kernel_math("sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc"),
		MATH_TENSOR);
	assert_int_equal(kernel_math("void at::native::(anonymous namespace)::CatArrayBatchedCopy<"
				     "at::native::(anonymous namespace)::OpaqueType<2u>, unsigned "
				     "int, 4, 64, 64>"),
			 MATH_NONE);
	/* Matrix times vector, and what nobody has listed. */
	assert_int_equal(kernel_math("gemv2T_kernel_val<int, int, float, float>"), MATH_OTHER);
	assert_int_equal(kernel_math("triton_mm"), MATH_OTHER);
	assert_int_equal(kernel_math(""), MATH_OTHER);
}

static void names_say_how_many_rows_a_tile_has(void **state)
{
	(void)state;
	assert_int_equal(kernel_tile_rows("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_bias_TNT"), 8);
	assert_int_equal(kernel_tile_rows("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"), 128);
	assert_int_equal(kernel_tile_rows("ampere_bf16_s16816gemm_bf16_128x64_ldg8_stages_64x4"),
			 64);
	assert_int_equal(kernel_tile_rows("sm80_xmma_gemm_f16f16_tilesize32x128x32_stage3"), 32);
	assert_int_equal(kernel_tile_rows("gemv2T_kernel_val<int, int, float, float>"), 1);
	assert_int_equal(kernel_tile_rows("sm90_xmma_fprop_implicit_gemm_f32f32"), 0);
	assert_int_equal(kernel_tile_rows("x99999999999999999999x8_0x8"), 0);
	assert_int_equal(kernel_tile_rows(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_told_apart_by_what_came_before_the_launch),
		cmocka_unit_test(what_is_outside_of_steps_does_not_count),
		cmocka_unit_test(copies_are_counted_by_their_memory),
		cmocka_unit_test(memory_has_who_allocates_and_who_frees),
		cmocka_unit_test(without_a_gpu_only_the_steps_are_known),
		cmocka_unit_test(names_say_what_multiplies),
		cmocka_unit_test(names_say_how_many_rows_a_tile_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
