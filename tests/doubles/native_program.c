/* A program without Python that uses CUDA: three kernels, a copy, and a wait for both. */
#include <stdio.h>

#include "fake_cuda.h"

int main(void)
{
	struct fake_shape shape = { { 4, 2, 1 }, { 128, 1, 1 }, 32, 0, 1024 };
	struct fake_transfer upload = { 4096, 1, 1, 3, 0 };

	if (fake_init())
		return 1;
	for (int i = 0; i < 3; i++)
		printf("%u\n", fake_launch("native_kernel", &shape, 7, 1000));
	printf("%u\n", fake_copy(&upload, 7, 2000));
	printf("%u\n", fake_sync_device());
	return 0;
}
