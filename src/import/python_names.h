/* The names that PyTorch's profiler gives Python functions and modules. */
#ifndef IMPORT_PYTHON_NAMES_H
#define IMPORT_PYTHON_NAMES_H

#include "import/build/build.h"

struct python_name {
	uint32_t function, file; /* names; file 0: none */
	uint32_t line;
	uint32_t layer; /* build_layer(); 0: it is a function */
};

/* "torch/nn/functional.py(12): linear", "<built-in ...>", "nn.Module: Linear_3".  -1: no memory. */
int python_name_parse(struct python_name *out, struct build *b, uint32_t name);

#endif
