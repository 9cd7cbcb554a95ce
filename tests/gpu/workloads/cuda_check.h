/* A call of the CUDA runtime that must not fail; the exit status 99 is nothing else's. */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime.h>

#define CHECK(call)                                                                      \
	do {                                                                             \
		cudaError_t status_ = (call);                                            \
		if (status_ != cudaSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status_)); \
			exit(99);                                                        \
		}                                                                        \
	} while (0)

#endif
