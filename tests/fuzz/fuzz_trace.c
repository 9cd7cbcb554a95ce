/* links: is_export is_timeline is_format is_base */
/*
 * The trace reader, and behind it both timelines and the JSON export, on any
 * bytes.  Checksums are made good first, in a copy: without that hardly any
 * input would get past them, and whoever forges a file can compute them too.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "export/export.h"
#include "format/trace.h"
#include "format/trace_layout.h"
#include "timeline/gpu.h"

static void checksums_repair(uint8_t *data, size_t size)
{
	size_t at;

	if (size < TRACE_HEADER_BYTES)
		return;
	put_le(data + 44, crc32(0, data, 44), 4);
	at = (size_t)get_le(data + 12, 4);
	while (at < size && size - at >= BLOCK_HEADER_BYTES) {
		uint8_t *head = data + at;
		size_t stored = (size_t)get_le(head + 8, 4);

		put_le(head, BLOCK_MAGIC, 4);
		put_le(head + 40, crc32(0, head, 40), 4);
		at += BLOCK_HEADER_BYTES;
		if (stored > size - at)
			return;
		put_le(head + 44, crc32(0, data + at, (uInt)stored), 4);
		at += stored;
	}
}

static void batches_read(const struct trace *t)
{
	struct event_batch b;
	struct err err;
	uint64_t sum = 0;

	event_batch_init(&b);
	for (size_t thread = 0; thread < trace_thread_count(t); thread++) {
		for (size_t i = 0; i < trace_batch_count(t, thread); i++) {
			if (trace_batch_read(t, thread, i, &b, &err))
				continue;
			for (size_t k = 0; k < b.payload_at[b.count]; k++)
				sum += b.payload[k];
		}
	}
	event_batch_release(&b);
	if (sum == UINT64_MAX) /* keeps the reads above from being left out */
		abort();
}

/* What every user of the GPU's timeline relies on. */
static void gpu_check(const struct trace *t)
{
	struct gpu_timeline *g;
	struct place innermost, user, frame;
	struct err err;

	if (gpu_timeline_new(&g, t, &err))
		return;
	for (size_t i = 0; i < gpu_activity_count(g); i++) {
		const struct gpu_activity *a = gpu_activity(g, i);
		const struct gpu_work *w = gpu_activity_work(g, a);

		if (a->linked && !gpu_call_activities(g, gpu_call(g, a->link)))
			abort();
		if (a->end_ns < a->start_ns)
			abort();
		if (w->kind == GPU_KERNEL && !*gpu_kernel_name(g, w->name)->brief)
			abort();
	}
	for (size_t i = 0; i < gpu_call_count(g); i++) {
		const struct gpu_call *c = gpu_call(g, i);

		for (size_t k = 0; k < gpu_call_activities(g, c); k++)
			if (gpu_activity_call(gpu_activity(g, gpu_call_activity(g, c, k))) != i)
				abort();
		if (c->end_ns < c->start_ns)
			abort();
		gpu_stack_places(g, c->stack, &innermost, &user);
		for (size_t k = 0; gpu_stack_frame(g, c->stack, k, &frame); k++)
			if (frame.file && !frame.name)
				abort();
	}
	for (size_t i = 0; i < gpu_clock_count(g); i++)
		if (gpu_clock(g, i)->violations_after > gpu_clock(g, i)->violations_before)
			abort();
	gpu_timeline_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1, null = -1;
	static char path[64];
	struct trace *t;
	struct err err;
	uint8_t *copy;

	if (fd < 0) {
		fd = memfd_create("trace", 0);
		null = open("/dev/null", O_WRONLY);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	copy = malloc(size + 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	checksums_repair(copy, size);
	if (ftruncate(fd, 0) || pwrite(fd, copy, size, 0) != (ssize_t)size)
		abort();
	free(copy);
	if (trace_open(&t, path, &err))
		return 0;
	batches_read(t);
	gpu_check(t);
	if (exporter_json.write(t, &(struct export_target){ .fd = null }, &err) && !*err.text)
		abort();
	trace_close(t);
	return 0;
}
