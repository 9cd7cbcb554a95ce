/* links: is_analyze */
/* What native code is at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/classes/code_kind.h"

#define TORCH "/opt/venv/lib/python3.12/site-packages/torch/lib/"

static const struct {
	const char *symbol, *library;
	enum native_kind kind;
} rows[] = {
	{ "mkl_blas_def_xsgemv", TORCH "libtorch_cpu.so", NATIVE_KERNEL },
	{ "at::native::AVX2::topk_impl_loop<float, float>(long)", TORCH "libtorch_cpu.so",
	  NATIVE_KERNEL },
	/* A kernel's loop is handed on by what is none. */
	{ "void c10::function_ref<void (char**)>::callback_fn<at::native::AVX512::Loop2d>(long)",
	  TORCH "libtorch_cpu.so", NATIVE_KERNEL },
	/* Nobody says that it is on the way. */
	{ NULL, TORCH "libtorch_cpu.so", NATIVE_KERNEL },
	{ "at::native::embedding(at::Tensor const&)", TORCH "libtorch_cpu.so", NATIVE_KERNEL },
	{ NULL, TORCH "libgomp-98b21ff3.so.1", NATIVE_THREADS },
	{ "do_spin", "/usr/lib/x86_64-linux-gnu/libgomp.so.1", NATIVE_THREADS },
	{ "__kmp_wait", "/opt/venv/lib/libiomp5.so", NATIVE_THREADS },
	{ "at::_ops::mul_Tensor::call(at::Tensor const&, at::Tensor const&)",
	  TORCH "libtorch_cpu.so", NATIVE_DISPATCH },
	{ "at::TensorIteratorBase::build(at::TensorIteratorConfig&)", TORCH "libtorch_cpu.so",
	  NATIVE_DISPATCH },
	{ "c10::TensorImpl::has_storage() const", TORCH "libc10.so", NATIVE_DISPATCH },
	{ NULL, TORCH "libtorch_python.so", NATIVE_DISPATCH },
	{ "_PyEval_EvalFrameDefault", "/usr/lib/libpython3.12.so.1.0", NATIVE_PYTHON },
	{ "_PyEval_EvalFrameDefault", "/usr/bin/python3.11", NATIVE_PYTHON },
	{ "FLOAT_add", "/venv/numpy/_core/_multiarray_umath.so", NATIVE_ARRAYS },
	{ "dgemm_", "/venv/numpy.libs/libscipy_openblas64_.so", NATIVE_ARRAYS },
	{ "malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6", NATIVE_ANYBODYS },
	{ "__tls_get_addr", "/usr/lib/ld-linux-x86-64.so.2", NATIVE_ANYBODYS },
	{ "parse", "/usr/lib/libxml2.so", NATIVE_OTHER },
	{ NULL, NULL, NATIVE_OTHER },
};

static void each_symbol_is_at_something(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum native_kind kind = native_kind(rows[i].symbol, rows[i].library);

		if (kind != rows[i].kind)
			fail_msg("%s in %s: %d", rows[i].symbol ? rows[i].symbol : "-",
				 rows[i].library ? rows[i].library : "-", (int)kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_symbol_is_at_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
