/* links: is_import */
/*
 * Importing JSON of PyTorch's profiler: the scan for tokens, the way into the tables, the trace.
 *
 * The text has the layout of libkineto with record_shapes and with_stack on (as
 * bench/kineto_text.py writes it).  Times are CPU times of this thread.  Prints "name value unit"
 * lines (bench/README.md).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "import/json_import.h"
#include "import/json_scan.h"

#define CALLS 50000u /* of a layer, with 14 events each and two flows */
#define ROUNDS 3

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double peak_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss * 1024;
}

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static void put_event(struct buf *b, const char *category, const char *name, long pid,
		      long long ts_ns, long dur_ns, const char *args)
{
	buf_printf(b,
		   ",\n  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %ld, "
		   "\"tid\": %ld,\n    \"ts\": %lld.%03lld, \"dur\": %ld.%03ld,\n    \"args\": {\n"
		   "      %s\n    }\n  }",
		   category, name, pid, pid ? pid : 7L, ts_ns / 1000, ts_ns % 1000, dur_ns / 1000,
		   dur_ns % 1000, args);
}

static void put_call(struct buf *b, unsigned i)
{
	static const char *const functions[] = { "serve.py(12): infer",
						 "nn.Module: Linear_%u",
						 "torch/nn/modules/linear.py(114): forward",
						 "torch/nn/modules/module.py(1736): _call_impl",
						 "transformers/models/bert.py(%u): forward",
						 "<built-in function linear>" };
	static const char *const operators[] = { "aten::linear", "aten::t", "aten::transpose",
						 "aten::as_strided", "aten::addmm" };
	long long ts_ns = 1419247332596028ll + 100000ll * i;
	char args[512], name[128];

	for (unsigned k = 0; k < 6; k++) {
		snprintf(args, sizeof(args),
			 "\"Python parent id\": %u, \"Python id\": %u, \"Ev Idx\": %u", 16 * i + k,
			 16 * i + k + 1, 16 * i + k);
		strcpy(name, functions[k]);
		if (strstr(name, "%u"))
			snprintf(strstr(name, "%u"), 64, "%u%s", i % 50 + 1,
				 strstr(functions[k], "%u") + 2);
		put_event(b, "python_function", name, 4242, ts_ns + 1000 * k,
			  90000 - 2000 * (long)k, args);
	}
	for (unsigned k = 0; k < 5; k++) {
		snprintf(
			args, sizeof(args),
			"\"External id\": %u,\"Record function id\": 0, \"Concrete Inputs\": "
			"[\"\", "
			"\"\", \"1\"], \"Input type\": [\"float\", \"float\", \"Scalar\"], \"Input "
			"Strides\": [[4096, 1], [1, 4096], []], \"Input Dims\": [[16, 4096], "
			"[4096, "
			"4096], []], \"Ev Idx\": %u",
			16 * i + k, 16 * i + 6 + k);
		put_event(b, "cpu_op", operators[k], 4242, ts_ns + 10000 + 1000 * k,
			  60000 - 2000 * (long)k, args);
	}
	for (unsigned k = 0; k < 2; k++) {
		snprintf(args, sizeof(args),
			 "\"External id\": %u, \"cbid\": 211, \"correlation\": %u", i,
			 2 * i + k + 1);
		put_event(b, "cuda_runtime", k ? "cudaLaunchKernel" : "cudaStreamIsCapturing", 4242,
			  ts_ns + 20000 + 8000 * k, 5000, args);
		buf_printf(
			b,
			",\n  {\n    \"ph\": \"%c\", \"id\": %u, \"pid\": %u, \"tid\": %u, \"ts\": "
			"%lld.%03lld,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"%s\n  }",
			k ? 'f' : 's', 2 * i + 2, k ? 0 : 4242, k ? 7 : 4242,
			(ts_ns + 28000) / 1000, (ts_ns + 28000) % 1000, k ? ", \"bp\": \"e\"" : "");
	}
	snprintf(
		args, sizeof(args),
		"\"External id\": %u, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, "
		"\"correlation\": %u, \"registers per thread\": 32, \"shared memory\": 0, \"blocks "
		"per "
		"SM\": 0.48, \"warps per SM\": 3.87, \"grid\": [64, 1, 1], \"block\": [256, 1, 1], "
		"\"est. achieved occupancy %%\": 6",
		i, 2 * i + 2);
	put_event(b, "kernel",
		  "void at::native::vectorized_elementwise_kernel<4, "
		  "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
		  "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
		  0, ts_ns + 40000, 50000, args);
}

/* Returns how many bytes there are. */
static size_t write_text(int fd)
{
	struct buf b;
	size_t bytes = 0;

	buf_init(&b);
	buf_add_str(&b,
		    "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"M\", \"name\": \"x\"}");
	for (unsigned i = 0; i <= CALLS; i++) {
		if (i < CALLS)
			put_call(&b, i);
		else
			buf_add_str(&b, "]}\n");
		if (b.len < 1u << 20 && i < CALLS)
			continue;
		if (b.failed || write(fd, b.data, b.len) != (ssize_t)b.len)
			fail("no room for the text");
		bytes += b.len;
		buf_clear(&b);
	}
	buf_release(&b);
	return bytes;
}

static struct text_source *open_text(int fd)
{
	struct text_source *source;
	struct err err;

	if (text_source_new(&source, fd, "text", PACKED_NOT, UINT64_MAX, &err))
		fail(err.text);
	return source;
}

static double scan_seconds(int fd)
{
	struct text_source *source = open_text(fd);
	struct json_scan *s = malloc(sizeof(*s));
	double start = cpu_seconds();
	struct err err;

	if (!s || json_scan_init(s, source, &err) || json_skip(s) || json_finish(s))
		fail("the text was not accepted");
	json_scan_release(s);
	free(s);
	text_source_free(source);
	return cpu_seconds() - start;
}

static void import_seconds(int fd, double *read, double *write_trace)
{
	struct text_source *source = open_text(fd);
	int to = memfd_create("trace", MFD_CLOEXEC);
	double start = cpu_seconds(), middle;
	struct json_import result;
	struct build *b;
	struct err err;

	if (build_new(&b, &err) || json_import(&result, b, source, "text", &err))
		fail("the text was not imported");
	middle = cpu_seconds();
	if (to < 0 || build_write(b, to, &err))
		fail("the trace was not written");
	*read = middle - start;
	*write_trace = cpu_seconds() - middle;
	build_free(b);
	text_source_free(source);
	close(to);
}

int main(void)
{
	double scan = 1e9, read = 1e9, trace = 1e9, before;
	int fd = memfd_create("text", MFD_CLOEXEC);
	size_t bytes = fd < 0 ? 0 : write_text(fd);
	const double events = 16.0 * CALLS;

	before = peak_bytes();
	for (int i = 0; i < ROUNDS; i++) {
		double seconds = scan_seconds(fd), r, w;

		scan = seconds < scan ? seconds : scan;
		import_seconds(fd, &r, &w);
		read = r < read ? r : read;
		trace = w < trace ? w : trace;
	}
	printf("import.json.scan %.2f GB/s\n", (double)bytes / scan / 1e9);
	printf("import.json.read %.2f GB/s >= 1\n", (double)bytes / read / 1e9);
	printf("import.json.trace %.2f GB/s\n", (double)bytes / (read + trace) / 1e9);
	printf("import.events %.1f Mevents/s\n", events / (read + trace) / 1e6);
	printf("import.memory %.0f bytes/event <= 120\n", (peak_bytes() - before) / events);
	return 0;
}
