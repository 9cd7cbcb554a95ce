/* links: is_timeline */
/* Names of kernels as PyTorch, the CUDA libraries and people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "timeline/kernel_names.h"

static const struct {
	const char *name, *brief;
} cases[] = {
	{ "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
	  "addIfEESt5arrayIPcLm3EEEEviT0_T1_",
	  "vectorized_elementwise_kernel<CUDAFunctor_add>" },
	{ "void "
	  "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
	  "TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() "
	  "const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, "
	  "unsigned int> >(int, float)",
	  "unrolled_elementwise_kernel<direct_copy_kernel_cuda>" },
	{ "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
	  "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
	  "float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
	  "float, 4, 4> >(at::native::ReduceOp<float, int, unsigned int, float, 4, 4>)",
	  "reduce_kernel<sum_functor>" },
	{ "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
	  "at::native::MeanOps<float, float, float, float>, unsigned int, float, 4> >(int)",
	  "reduce_kernel<MeanOps>" },
	{ "void at::native::elementwise_kernel<128, 2, "
	  "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, "
	  "at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, "
	  "at::native::BinaryFunctor<float, float, float, "
	  "at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int, float)",
	  "elementwise_kernel<MulFunctor>" },
	{ "void at::native::index_elementwise_kernel<128, 4, "
	  "at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<4> "
	  ">(at::TensorIteratorBase&, c10::ArrayRef<long>)::{lambda(char*, char const*, "
	  "long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>)::{lambda(int)#1}>(long, int)",
	  "index_elementwise_kernel<index_kernel_impl>" },
	{ "void (anonymous namespace)::elementwise_kernel_with_index<int, "
	  "at::native::arange_cuda_out(c10::Scalar const&, "
	  "at::Tensor&)::{lambda()#1}::operator()() const::{lambda(long)#1}>(int, long)",
	  "elementwise_kernel_with_index<arange_cuda_out>" },
	{ "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, "
	  "float, float const*)",
	  "vectorized_layer_norm_kernel" },
	{ "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, "
	  "false>(float*, float const*, int)",
	  "softmax_warp_forward" },
	{ "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
	  "at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(float*, float const*, int)",
	  "cunn_SoftMaxForward<SoftMaxForwardEpilogue>" },
	{ "void "
	  "at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::DeviceScanPolicy<long>::"
	  "Policy600, long const*, long*, at_cuda_detail::cub::ScanTileState<long, true>, "
	  "std::plus<long>, at_cuda_detail::cub::NullType, int>(long const*, long*)",
	  "DeviceScanKernel<plus>" },
	{ "void at::native::(anonymous "
	  "namespace)::CatArrayBatchedCopy_vectorized<at::native::(anonymous "
	  "namespace)::OpaqueType<16u>, unsigned int, 2, 128, 1, 16, 8>(char*)",
	  "CatArrayBatchedCopy_vectorized" },
	{ "void "
	  "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_tn_align8>("
	  "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_tn_align8::Params)",
	  "cutlass gemm 128x128 bf16" },
	{ "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, "
	  "int, int>, "
	  "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::"
	  "MainloopSm90TmaGmmaWarpSpecialized<7, cute::tuple<cute::C<2>, cute::C<1>, cute::C<1> > "
	  ">, cute::tuple<cute::C<128>, cute::C<256>, cute::C<64> >, cutlass::bfloat16_t> > >(int)",
	  "cutlass gemm 128x256x64 bf16" },
	{ "ampere_sgemm_128x64_tn", "cublas gemm 128x64 f32" },
	{ "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn", "cublas gemm 64x64 f16" },
	{ "volta_s884gemm_64x64_ldg8_nn", "cublas gemm 64x64" },
	{ "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
	  "segment_k_off_kernel__5x_cublas",
	  "xmma gemm 128x128x64 bf16" },
	{ "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_"
	  "tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_"
	  "cudnn",
	  "cudnn conv 128x128x16 tf32" },
	{ "nvjet_hsh_128x64_64x6_1x2_h_bz_coopA_TNT", "nvjet gemm 128x64 f16" },
	{ "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNN", "nvjet gemm 64x8 bf16" },
	{ "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "nvjet gemm 192x192 bf16" },
	{ "nvjet_sm90_sss_128x64_32x6_1x2_h_bz_TNT", "nvjet gemm 128x64 f32" },
	{ "nvjet_sss_128x64_32x6_1x2_h_bz_TNT", "nvjet gemm 128x64 f32" },
	{ "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, "
	  "false, false>(int)",
	  "cublas splitk reduce f32" },
	{ "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, "
	  "false, cublasGemvParamsEx<int> >(float)",
	  "cublas gemv f32" },
	{ "void pytorch_flash::flash_fwd_splitkv_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, "
	  "64, 256, 4, false, false, cutlass::half_t, 3> , true>(pytorch_flash::Flash_fwd_params)",
	  "flash fwd splitkv head 64 f16" },
	{ "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::"
	  "Params)",
	  "cutlass attention 64x64 f32" },
	{ "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, "
	  "(cudnnKernelDataType_t)0>(int)",
	  "nchwToNhwcKernel" },
	{ "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float)",
	  "bn_fw_inf_1C11_kernel_NCHW" },
	{ "triton_poi_fused_add_relu_0", "triton_poi_fused_add_relu_0" },
	{ "triton_red_fused__to_copy_add_gemm_mean_mul_pow_rsqrt_native_layer_norm_backward_3",
	  "triton_red_fused__to_copy_add_gemm_mean_mul_pow_rsqrt_nat..." },
	{ "_Z5saxpyPfS_fi", "saxpy" },
	{ "add_kernel", "add_kernel" },
	{ "my_gemv(float*, int)", "my_gemv" },
	{ "Kernel::operator()(int) const", "Kernel" },
	{ "_Z", "_Z" },
	{ "???", "???" },
	{ "", "(unnamed)" },
	{ "void ", "void " },
};

static void brief_names_say_what_a_kernel_does(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char full[4096], brief[KERNEL_BRIEF_MAX + 1];

		kernel_demangle(cases[i].name, full, sizeof(full));
		kernel_brief(full, brief);
		if (!strcmp(brief, cases[i].brief))
			continue;
		printf("%s\n\tis     %s\n\tshould %s\n", full, brief, cases[i].brief);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void names_are_demangled(void **state)
{
	char full[256];

	(void)state;
	assert_int_equal(kernel_demangle("_Z5saxpyPfS_fi", full, sizeof(full)), 33);
	assert_string_equal(full, "saxpy(float*, float*, float, int)");
}

/* Pairs of pairs: some 400 bytes that stand for 2^35 times "std::pair<int, int>", which would
 * outlast the time limit of the test. */
static void a_name_that_explodes_is_cut(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct buf name;
	char full[4096];
	const char *mangled;

	(void)state;
	buf_init(&name);
	buf_add_str(&name, "_Z1fISt4pairIiiE");
	for (int i = 1; i < 36; i++)
		buf_printf(&name, "S0_IS%c_S%c_E", digits[i], digits[i]);
	buf_add_str(&name, "Evv");
	mangled = buf_string(&name);
	assert_int_equal(kernel_demangle(mangled, full, sizeof(full)), sizeof(full) - 1);
	assert_int_equal(strlen(full), sizeof(full) - 1);
	assert_memory_equal(full, "void f<std::pair<int, int>, std::pair<std::pair", 40);
	buf_release(&name);
}

static void any_text_gives_a_short_name(void **state)
{
	static const char signs[] = "ab:<>(){}, *&operator_Z1I@9E\xc3\xa4";

	(void)state;
	srand(2);
	for (int i = 0; i < 200000; i++) {
		char name[200], full[512], brief[KERNEL_BRIEF_MAX + 1];
		size_t n = (size_t)rand() % (sizeof(name) - 2);

		for (size_t k = 0; k < n; k++)
			name[k] = signs[(size_t)rand() % (sizeof(signs) - 1)];
		if (n > 2 && i % 2)
			memcpy(name, "_Z", 2);
		name[n] = 0;
		kernel_demangle(name, full, sizeof(full));
		kernel_brief(full, brief);
		assert_in_range(strlen(brief), 1, KERNEL_BRIEF_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(brief_names_say_what_a_kernel_does),
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(a_name_that_explodes_is_cut),
		cmocka_unit_test(any_text_gives_a_short_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
