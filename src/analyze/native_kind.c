#include "analyze/native_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The first that is a part of the library's path. */
static const struct {
	const char *library;
	enum native_kind kind;
} libraries[] = {
	{ "/numpy/", NATIVE_ARRAYS },
	{ "/numpy.libs/", NATIVE_ARRAYS },
	/* Nothing but what is between Python and the operators. */
	{ "/libtorch_python", NATIVE_DISPATCH },
	{ "/libc10.so", NATIVE_DISPATCH },
	{ "/libtorch", NATIVE_KERNEL },
	{ "/torch/lib/", NATIVE_KERNEL },
	{ "/libpython", NATIVE_PYTHON },
	{ "/bin/python", NATIVE_PYTHON },
	{ "/libc.so", NATIVE_ANYBODYS },
	{ "/libm.so", NATIVE_ANYBODYS },
	{ "/ld-linux", NATIVE_ANYBODYS },
	{ "/libstdc++", NATIVE_ANYBODYS },
};

/* Kernels are compiled for several kinds of CPUs, each in a namespace of its own. */
static const char *const kernels[] = { "::AVX2::", "::AVX512::", "::DEFAULT::", "::SVE256::" };

/* How the names begin of what PyTorch does around them. */
static const char *const dispatches[] = {
	"c10::",
	"torch::",
	"pybind11::",
	"THP",
	"at::_ops::",
	"at::Tensor", /* also TensorIteratorBase, TensorImpl */
	"at::OperandInfo",
	"at::RecordFunction",
	"at::getStepCallbacks",
	"at::globalContext",
	"at::detail::",
	"at::impl::",
	"at::meta::",
	"at::redispatch::",
	"at::namedinference::",
	"at::(anonymous namespace)::", /* the generated wrappers of each operator */
	"at::native::DispatchStub",
	"at::native::result_type",
	"at::native::update_result_type_state",
	"at::native::as_strided",
	"at::native::select",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool is_on_its_way(const char *symbol)
{
	static const char returns[] = "void "; /* templates are told with what they return */

	for (size_t i = 0; i < COUNT(kernels); i++)
		if (strstr(symbol, kernels[i]))
			return false;
	if (!strncmp(symbol, returns, sizeof(returns) - 1))
		symbol += sizeof(returns) - 1;
	for (size_t i = 0; i < COUNT(dispatches); i++)
		if (!strncmp(symbol, dispatches[i], strlen(dispatches[i])))
			return true;
	return false;
}

enum native_kind native_kind(const char *symbol, const char *library)
{
	for (size_t i = 0; library && i < COUNT(libraries); i++) {
		enum native_kind kind = libraries[i].kind;

		if (!strstr(library, libraries[i].library))
			continue;
		return kind == NATIVE_KERNEL && symbol && is_on_its_way(symbol) ? NATIVE_DISPATCH
										: kind;
	}
	return NATIVE_OTHER;
}
