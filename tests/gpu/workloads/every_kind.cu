/*
 * A little of everything that CUPTI tells apart: kernels of several shapes on two
 * streams, copies of each kind, memsets, a CUDA graph, each kind of wait.  Small,
 * because what CUPTI says about it is kept as test data (record_taps.py).
 *
 * Prints what it did as one JSON line.  A "lane" is a stream by the program's own
 * number; nodes of the graph have none.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#include "cuda_check.h"

enum {
	BYTES = 96 << 10,
	WIDTH = 256, /* of the arrays, in bytes; they are as high */
	ROUNDS = 3,
	REPLAYS = 3,
	SHARED_BYTES = 1024,
	MEMSET_BYTES = 4096,
};

extern "C" __global__ void bump(unsigned int *word)
{
	atomicAdd(word, 1u);
}

extern "C" __global__ void shared_sum(unsigned int *word)
{
	extern __shared__ unsigned int parts[];

	parts[threadIdx.x] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x == 0)
		atomicAdd(word, parts[blockDim.x - 1]);
}

template <typename T> __global__ void scale(T *values, T by, int count)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
		values[i] *= by;
}

struct memory {
	char *pageable, *pinned, *other_pinned, *first, *second;
	cudaArray_t array, other_array;
};

static void memory_init(struct memory *m)
{
	cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();

	m->pageable = (char *)malloc(BYTES);
	memset(m->pageable, 1, BYTES);
	CHECK(cudaMallocHost((void **)&m->pinned, BYTES));
	CHECK(cudaMallocHost((void **)&m->other_pinned, BYTES));
	memset(m->pinned, 2, BYTES);
	CHECK(cudaMalloc((void **)&m->first, BYTES));
	CHECK(cudaMalloc((void **)&m->second, BYTES));
	CHECK(cudaMallocArray(&m->array, &bytes, WIDTH, WIDTH));
	CHECK(cudaMallocArray(&m->other_array, &bytes, WIDTH, WIDTH));
}

static void memory_release(struct memory *m)
{
	CHECK(cudaFreeArray(m->array));
	CHECK(cudaFreeArray(m->other_array));
	CHECK(cudaFree(m->first));
	CHECK(cudaFree(m->second));
	CHECK(cudaFreeHost(m->pinned));
	CHECK(cudaFreeHost(m->other_pinned));
	free(m->pageable);
}

/* Both streams; what is on the second waits for nothing on the first. */
static void kernels(const struct memory *m, cudaStream_t lanes[2])
{
	for (int i = 0; i < ROUNDS; i++) {
		bump<<<dim3(4, 3, 2), dim3(32, 2, 2), 0, lanes[0]>>>((unsigned int *)m->first);
		shared_sum<<<7, 256, SHARED_BYTES, lanes[1]>>>((unsigned int *)m->second);
		scale<float><<<5, 64, 0, lanes[0]>>>((float *)m->first, 2.0f, BYTES / 4);
		scale<double><<<6, 128, 0, lanes[1]>>>((double *)m->second, 0.5, BYTES / 8);
	}
	CHECK(cudaGetLastError());
	CHECK(cudaStreamSynchronize(lanes[0]));
	CHECK(cudaStreamSynchronize(lanes[1]));
}

/* Each kind on the second stream, and those that wait on none; the longest last. */
static void copies(const struct memory *m, cudaStream_t lane)
{
	CHECK(cudaMemcpy(m->first, m->pageable, BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpyAsync(m->first, m->pinned, 1000, cudaMemcpyHostToDevice, lane));
	CHECK(cudaMemcpyAsync(m->second, m->first, 2000, cudaMemcpyDeviceToDevice, lane));
	CHECK(cudaMemcpyAsync(m->pinned, m->second, 3000, cudaMemcpyDeviceToHost, lane));
	CHECK(cudaMemcpyAsync(m->other_pinned, m->pinned, 4000, cudaMemcpyHostToHost, lane));
	CHECK(cudaMemcpy2DToArrayAsync(m->array, 0, 0, m->pinned, WIDTH, WIDTH, WIDTH,
				       cudaMemcpyHostToDevice, lane));
	CHECK(cudaMemcpy2DFromArrayAsync(m->pinned, WIDTH, m->array, 0, 0, WIDTH, WIDTH,
					 cudaMemcpyDeviceToHost, lane));
	CHECK(cudaMemcpy2DToArrayAsync(m->array, 0, 0, m->first, WIDTH, WIDTH, WIDTH,
				       cudaMemcpyDeviceToDevice, lane));
	CHECK(cudaMemcpy2DFromArrayAsync(m->first, WIDTH, m->array, 0, 0, WIDTH, WIDTH,
					 cudaMemcpyDeviceToDevice, lane));
	CHECK(cudaStreamSynchronize(lane));
	CHECK(cudaMemcpy2DArrayToArray(m->other_array, 0, 0, m->array, 0, 0, WIDTH, WIDTH,
				       cudaMemcpyDeviceToDevice));
	CHECK(cudaMemcpy(m->pageable, m->second, BYTES, cudaMemcpyDeviceToHost));
}

static void memsets(const struct memory *m, cudaStream_t lane)
{
	CHECK(cudaMemset(m->first, 0x5a, MEMSET_BYTES));
	CHECK(cudaMemsetAsync(m->second, 0x11, 3 * MEMSET_BYTES, lane));
	CHECK(cudaDeviceSynchronize());
}

/* A memset, a copy, two kernels and a copy back, captured once and replayed. */
static void graph(const struct memory *m, cudaStream_t lane)
{
	cudaGraph_t captured;
	cudaGraphExec_t ready;
	cudaEvent_t done;

	CHECK(cudaEventCreate(&done));
	CHECK(cudaStreamBeginCapture(lane, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaMemsetAsync(m->first, 0, 512, lane));
	CHECK(cudaMemcpyAsync(m->second, m->pinned, 5000, cudaMemcpyHostToDevice, lane));
	bump<<<3, 1, 0, lane>>>((unsigned int *)m->first);
	scale<float><<<2, 32, 0, lane>>>((float *)m->second, 3.0f, 1000);
	CHECK(cudaMemcpyAsync(m->pinned, m->second, 6000, cudaMemcpyDeviceToHost, lane));
	CHECK(cudaStreamEndCapture(lane, &captured));
	CHECK(cudaGraphInstantiateWithFlags(&ready, captured, 0));
	for (int i = 0; i < REPLAYS; i++) {
		CHECK(cudaGraphLaunch(ready, lane));
		CHECK(cudaEventRecord(done, lane));
		CHECK(cudaEventSynchronize(done));
	}
	CHECK(cudaGraphExecDestroy(ready));
	CHECK(cudaGraphDestroy(captured));
	CHECK(cudaEventDestroy(done));
}

/* more: what follows, a comma or the end of the list. */
static void print_kernel(const char *name, const char *grid, const char *block, int shared,
			 const char *lane, int count, const char *more)
{
	printf("{\"name\": \"%s\", \"grid\": %s, \"block\": %s, \"dynamic_shared\": %d, "
	       "\"lane\": %s, \"count\": %d}%s",
	       name, grid, block, shared, lane, count, more);
}

static void print_copy(const char *kind, const char *source, const char *destination, int count,
		       int bytes, const char *more)
{
	printf("{\"kind\": \"%s\", \"source\": \"%s\", \"destination\": \"%s\", \"count\": %d, "
	       "\"bytes\": %d}%s",
	       kind, source, destination, count, bytes, more);
}

static void print_truth(void)
{
	printf("{\"workload\": \"every_kind\", \"kernels\": [");
	print_kernel("bump", "[4, 3, 2]", "[32, 2, 2]", 0, "0", ROUNDS, ", ");
	print_kernel("shared_sum", "[7, 1, 1]", "[256, 1, 1]", SHARED_BYTES, "1", ROUNDS, ", ");
	print_kernel("_Z5scaleIfEvPT_S0_i", "[5, 1, 1]", "[64, 1, 1]", 0, "0", ROUNDS, ", ");
	print_kernel("_Z5scaleIdEvPT_S0_i", "[6, 1, 1]", "[128, 1, 1]", 0, "1", ROUNDS, ", ");
	print_kernel("bump", "[3, 1, 1]", "[1, 1, 1]", 0, "null", REPLAYS, ", ");
	print_kernel("_Z5scaleIfEvPT_S0_i", "[2, 1, 1]", "[32, 1, 1]", 0, "null", REPLAYS, "], ");
	printf("\"copies\": [");
	print_copy("HtoD", "pageable", "device", 1, BYTES, ", ");
	print_copy("HtoD", "pinned", "device", 1, 1000, ", ");
	print_copy("DtoD", "device", "device", 1, 2000, ", ");
	print_copy("DtoH", "device", "pinned", 1, 3000, ", ");
	print_copy("HtoH", "pinned", "pinned", 1, 4000, ", ");
	print_copy("HtoA", "pinned", "array", 1, WIDTH * WIDTH, ", ");
	print_copy("AtoH", "array", "pinned", 1, WIDTH * WIDTH, ", ");
	print_copy("DtoA", "device", "array", 1, WIDTH * WIDTH, ", ");
	print_copy("AtoD", "array", "device", 1, WIDTH * WIDTH, ", ");
	print_copy("AtoA", "array", "array", 1, WIDTH * WIDTH, ", ");
	print_copy("DtoH", "device", "pageable", 1, BYTES, ", ");
	print_copy("HtoD", "pinned", "device", REPLAYS, 5000, ", ");
	print_copy("DtoH", "device", "pinned", REPLAYS, 6000, "], ");
	printf("\"memsets\": [{\"bytes\": %d, \"count\": 1}, {\"bytes\": %d, \"count\": 1}, "
	       "{\"bytes\": 512, \"count\": %d}], ",
	       MEMSET_BYTES, 3 * MEMSET_BYTES, REPLAYS);
	printf("\"graph_nodes\": %d, \"calls\": {\"cudaGraphLaunch\": %d, \"cudaEventSynchronize\": %d, "
	       "\"cudaStreamSynchronize\": 3, \"cudaDeviceSynchronize\": 1}}\n",
	       5 * REPLAYS, REPLAYS, REPLAYS);
}

int main(void)
{
	cudaStream_t lanes[2];
	struct memory m;

	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamCreateWithFlags(&lanes[i], cudaStreamNonBlocking));
	memory_init(&m);
	kernels(&m, lanes);
	copies(&m, lanes[1]);
	memsets(&m, lanes[0]);
	graph(&m, lanes[0]);
	memory_release(&m);
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamDestroy(lanes[i]));
	print_truth();
	return 0;
}
