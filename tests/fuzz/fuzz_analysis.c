/* links: is_report is_rules */
/*
 * Any sequence of events, through timeline, analysis and every report.  The
 * bytes are orders for the trace writer, four each, so that the fuzzer invents
 * events and never has to guess a checksum; an order for an event of the GPU is
 * followed by its payload.  Beyond memory safety it checks that
 * self times and gaps add up to the time that is covered at all, that the
 * figures of a step are in order, and that the parts of steps and of the GPU's idle
 * time add up.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/figures/stats.h"
#include "base/buf.h"
#include "format/trace_writer.h"
#include "report/report.h"
#include "replay/replay.h"
#include "rules/judge.h"

#define THREADS 3u
#define NAMES 8u
#define LAYERS 100u /* ids of layers begin here */

static void require(int ok)
{
	if (!ok)
		abort();
}

static uint8_t kind_of(uint32_t id)
{
	return id <= NAMES / 2 ? DEF_CODE : id <= NAMES / 2 + NVTX_STARTED ? DEF_NVTX : DEF_STRING;
}

/* Half of the ids are functions, some of them twice the same; two are NVTX's, one of each kind. */
static void write_definitions(struct trace_writer *w)
{
	static const char *const names[NAMES] = {
		"f", "f", "g|h", "`x`", "a\033b", "", "s", "step"
	};
	struct buf b;
	struct err err;

	buf_init(&b);
	for (uint32_t id = 1; id <= NAMES; id++) {
		const char *name = names[id - 1];

		buf_clear(&b);
		if (kind_of(id) == DEF_CODE) {
			buf_add_varint(&b, 7);
			buf_add_varint(&b, strlen(name));
			buf_add_str(&b, name);
			buf_add_str(&b, "/w/a.py");
		} else if (kind_of(id) == DEF_NVTX) {
			buf_add_varint(&b, id - NAMES / 2);
			buf_add(&b, "\0\3\1d\0", 5);
			buf_add_str(&b, name);
		} else {
			buf_add_str(&b, name);
		}
		require(!trace_write_def(w, kind_of(id), id, b.data, b.len, &err));
	}
	buf_release(&b);
}

/* Two models, one of them incomplete, a module without any, and one whose root is none. */
static void write_layers(struct trace_writer *w)
{
	static const struct {
		uint32_t root;
		const char *class_name, *name;
	} layers[] = {
		{ 0, "Net", "" },      { LAYERS, "Block", "h.0" }, { LAYERS, "Fc|", "h.0.fc" },
		{ 0, "Net", "" },      { LAYERS + 3, "X", "a" },   { LAYERS + 9, "Y", "a.b" },
		{ 0, "Soft`max", "" },
	};
	struct buf b;
	struct err err;

	buf_init(&b);
	for (uint32_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		buf_clear(&b);
		buf_add_varint(&b, layers[i].root);
		buf_add_varint(&b, strlen(layers[i].class_name));
		buf_add_str(&b, layers[i].class_name);
		buf_add_str(&b, layers[i].name);
		require(!trace_write_def(w, DEF_LAYER, LAYERS + i, b.data, b.len, &err));
	}
	buf_release(&b);
}

static void write_layer_event(struct trace_writer *w, uint32_t thread, uint64_t index,
			      int64_t time_ns, const uint8_t *data)
{
	static const uint8_t kinds[] = { RECORD_LAYER_BEGIN, RECORD_LAYER_BEGIN, RECORD_LAYER_END,
					 RECORD_LAYERS_FOLDED };
	struct err err;

	require(!trace_write_event(w, thread, index, kinds[data[0] & 3], LAYERS + (data[1] & 7),
				   time_ns, NULL, 0, &err));
}

/* What this order takes of the data. */
static size_t write_gpu_event(struct trace_writer *w, uint32_t thread, uint64_t *index,
			      int64_t time_ns, const uint8_t *data, size_t size)
{
	static const uint8_t kinds[] = {
		RECORD_CUDA_ENTER, RECORD_CUDA_EXIT,   RECORD_GPU_KERNEL,   RECORD_GPU_COPY,
		RECORD_GPU_MEMSET, RECORD_GPU_GRAPH,   RECORD_GPU_OVERHEAD, RECORD_GPU_STATE,
		RECORD_GPU_DEVICE, RECORD_GPU_DROPPED, RECORD_GRAPH_NODE,   RECORD_GRAPH_CLONE,
	};
	uint8_t kind = kinds[(data[0] & 15) % sizeof(kinds)];
	size_t bytes = kind & RECORD_PAYLOAD ? data[2] & 31 : 0;
	struct err err;

	if (bytes > size - 4)
		bytes = size - 4;
	require(!trace_write_event(w, thread, (*index)++, kind, data[1] % (NAMES + 2), time_ns,
				   data + 4, bytes, &err));
	return 4 + bytes;
}

/* Of any series, at any time near the beginning; small values and the largest. */
static void write_point(struct trace_writer *w, const uint8_t *data)
{
	const struct series_point p = {
		.time_ns = (int64_t)data[3] * 1000 * ((data[0] & 16) ? 1000000 : 1),
		.process = (data[1] >> 6) % 3, /* 0: the machine */
		.instance = data[1] >> 5 & 1,
		.kind = data[2] & 127,
		.value = data[1] & 16 ? (int64_t)((uint64_t)data[3] << (data[1] & 15) * 4)
				      : (int64_t)data[3] - (data[1] & 15),
	};
	struct err err;

	require(!trace_write_point(w, &p, &err));
}

static void write_events(struct trace_writer *w, const uint8_t *data, size_t size)
{
	uint64_t index[THREADS] = { 0 };
	int64_t now_ns[THREADS] = { 0 };
	struct err err;

	for (size_t used; size >= 4; data += used, size -= used) {
		uint32_t thread = data[0] >> 6;
		uint8_t kind = data[0] & 15, payload[2] = { data[2], data[3] & 3 };

		used = 4;
		if (thread == THREADS && data[0] & 32) {
			write_point(w, data);
			continue;
		}
		if (thread == THREADS) { /* not an event: a loss, or a jump in time */
			index[data[1] % THREADS] += data[2];
			now_ns[data[1] % THREADS] += (int64_t)data[3] << (data[2] & 31);
			continue;
		}
		kind |= kind >= 8 ? RECORD_PAYLOAD : 0;
		now_ns[thread] += data[3] - 8;
		if (data[0] & 32) {
			write_layer_event(w, thread, index[thread]++, now_ns[thread], data);
			continue;
		}
		if (data[0] & 16) {
			used = write_gpu_event(w, thread, &index[thread], now_ns[thread], data,
					       size);
			continue;
		}
		if (trace_write_event(w, thread, index[thread]++, kind, data[1] % (NAMES + 2),
				      now_ns[thread], payload, kind & RECORD_PAYLOAD ? 2 : 0, &err))
			index[thread]--; /* a kind that does not exist */
	}
}

static void write_trace(int fd, const uint8_t *data, size_t size)
{
	struct trace_process p = { .pid = 1, .end_ns = TRACE_UNKNOWN_NS, .name = "main" };
	const struct trace_end end = { .wall_ns = 1000 };
	struct trace_writer *w = NULL;
	struct err err;

	require(!trace_writer_new(&w, fd, &err));
	for (p.id = 1; p.id < 3; p.id++)
		require(!trace_write_process(w, &p, &err));
	for (uint32_t id = 0; id < THREADS; id++) {
		const struct trace_thread t = {
			.id = id, .process = 1 + id / 2, .end_ns = TRACE_UNKNOWN_NS, .name = "t"
		};

		require(!trace_write_thread(w, &t, &err));
	}
	write_definitions(w);
	write_layers(w);
	write_events(w, data, size);
	require(!trace_write_end(w, &end, &err));
	trace_writer_free(w);
}

static void check(const struct analysis *a)
{
	int64_t self_ns = a->gc.total_ns + a->trust.gap_ns, covered_ns = 0;

	for (size_t i = 0; i < a->function_count; i++) {
		require(a->functions[i].self_ns >= 0);
		require(a->functions[i].total_ns >= a->functions[i].self_ns);
		self_ns += a->functions[i].self_ns;
	}
	for (size_t i = 0; i < a->thread_count; i++)
		covered_ns += a->threads[i].covered_ns;
	/* Functions inside a collection are in both sums. */
	require(a->gc.count ? self_ns >= covered_ns : self_ns == covered_ns);
	require(a->step_count > 0);
	for (size_t i = 0; i < a->step_count; i++) {
		const struct analysis_step *s = &a->steps[i];

		require(s->count > s->warmup && s->p50_ns >= 0);
		require(s->p50_ns <= s->p95_ns && s->p95_ns <= s->p99_ns && s->p99_ns <= s->max_ns);
	}
}

/* Nothing is missing and nothing is there twice. */
static void check_breakdown(const struct analysis *a)
{
	for (size_t i = 0; i < a->step_count; i++) {
		const struct analysis_step *s = &a->steps[i];
		const struct step_breakdown *b = &s->breakdown;
		int64_t sum_ns = 0, causes_ns = 0;

		require(b->steps <= s->count - s->warmup);
		for (size_t k = 0; k < TIME_CLASSES; k++) {
			require(b->parts[k].ns >= b->parts[k].sampled_ns);
			require(b->parts[k].sampled_ns >= 0 && b->parts[k].error_ns >= 0);
			sum_ns = stats_add(sum_ns, b->parts[k].ns);
		}
		require(sum_ns == b->total_ns);
		if (b->steps == s->count - s->warmup)
			require(fabs((double)sum_ns - s->mean_ns * (double)b->steps) <=
				1e-9 * (double)sum_ns + 1);
		for (size_t k = 0; k < b->cause_count; k++) {
			require(b->causes[k].ns > 0);
			causes_ns = stats_add(causes_ns, b->causes[k].ns);
		}
		require(!b->cause_count || causes_ns <= b->total_ns);
		for (size_t k = 0; k < b->slow.cause_count; k++)
			require(b->slow.causes[k].more_ns > 0);
	}
	for (size_t i = 0; i < a->gpu.section_count; i++) {
		const struct gpu_section *s = &a->gpu.sections[i];
		int64_t sum_ns = stats_add(s->blame.no_load_ns, s->blame.unexplained_ns);

		require(s->blame.unexplained_ns >= 0 && s->blame.no_load_ns >= 0);
		for (size_t k = 0; k < s->blame.count; k++) {
			const struct idle_cause *c = &s->blame.items[k];

			require(c->ns > 0 && c->in_steps_ns >= 0 && c->in_steps_ns <= c->ns);
			require(c->gaps > 0 && c->longest_ns > 0 && c->longest_ns <= c->ns);
			sum_ns = stats_add(sum_ns, c->ns);
		}
		require(sum_ns == s->idle_ns);
	}
}

static void check_nvtx(const struct analysis *a)
{
	for (size_t i = 0; i < a->nvtx_count; i++) {
		const struct analysis_nvtx_range *r = &a->nvtx[i];

		require(r->count + r->unended > 0 && r->gpu_count <= r->count);
		require(r->self_ns >= 0 && r->self_ns <= r->total_ns);
		require(r->longest_ns <= r->total_ns && r->gpu_ns >= 0);
	}
}

static void check_gpu(const struct analysis_gpu *gpu)
{
	for (size_t i = 0; i < gpu->section_count; i++) {
		const struct gpu_section *s = &gpu->sections[i];
		uint64_t kernels = 0, calls = 0;

		require(s->busy_ns >= 0 && s->idle_ns >= 0 && s->paused_ns >= 0);
		for (size_t k = 0; k < s->kernel_count; k++)
			kernels += s->kernels[k].count;
		require(kernels == s->kernel_sum.count);
		for (size_t k = 0; k < s->stream_count; k++)
			require(s->streams[k].busy_ns <= s->busy_ns);
		for (size_t k = 0; k < s->call_count; k++)
			calls += s->calls[k].count;
		for (size_t k = 0; k < s->line_count; k++)
			require(s->lines[k].calls <= calls && s->lines[k].gpu_ns >= 0);
	}
}

/* Nothing that the device did is counted twice, and nothing is missing. */
static void check_layers(const struct analysis *a)
{
	const struct analysis_layers *l = &a->layers;
	int64_t sum_ns = l->outside_gpu_ns, all_ns = 0;
	uint64_t sum = l->outside_kernels, all = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct layer_figures *f = &l->items[i].sum;

		require(f->self_cpu_ns >= 0 && f->launch_gap_ns >= 0 && f->gpu_ns >= 0);
		require(l->items[i].depth ? l->items[i].parent < i
					  : l->items[i].parent == LAYER_NONE);
		sum_ns = stats_add(sum_ns, f->self_gpu_ns);
		sum += f->self_kernels;
	}
	for (size_t i = 0; i < a->gpu.section_count; i++) {
		const struct gpu_section *s = &a->gpu.sections[i];

		all_ns = stats_add(all_ns, s->kernel_sum.total_ns);
		all_ns = stats_add(all_ns, s->copy_sum.total_ns);
		all_ns = stats_add(all_ns, s->memset_sum.total_ns);
		all_ns = stats_add(all_ns, s->graph_sum.total_ns);
		all += s->kernel_sum.count;
	}
	require(sum_ns == all_ns && sum == all);
}

static void check_level(const struct memory_level *l)
{
	require(l->least <= l->first && l->first <= l->peak);
	require(l->least <= l->last && l->last <= l->peak);
}

static void check_memory(const struct analysis *a)
{
	for (size_t i = 0; i < a->step_count; i++) {
		const struct memory_step_figures *m = &a->steps[i].memory;

		require(m->steps <= a->steps[i].count && m->cuda_steps <= a->steps[i].count);
		require(m->minor_faults.least <= m->minor_faults.most);
		require(!m->rss.late.known || m->rss.late.low <= m->rss.late.high);
	}
	for (size_t i = 0; i < a->memory.process_count; i++) {
		const struct memory_process *p = &a->memory.processes[i];

		check_level(&p->rss);
		require(p->minor_faults.sum >= 0 && p->rss_peak_bytes >= p->rss.peak);
		require(p->remote_share >= 0 && p->remote_share <= 1);
	}
	for (size_t i = 0; i < a->memory.gpu_count; i++) {
		check_level(&a->memory.gpus[i].used);
		require(a->memory.gpus[i].throttled_share <= 1);
	}
}

static void render(const struct analysis *a)
{
	static const struct report_backend *const backends[] = { &report_markdown, &report_json };
	const struct terminal_style style = { .columns = 70 };
	FILE *out = fopen("/dev/null", "w");
	struct buf text;

	buf_init(&text);
	for (size_t i = 0; i < 2; i++)
		backends[i]->render(&text, a, DETAIL_FULL);
	require(!text.failed && !memchr(text.data, '\033', text.len));
	require(out && !report_terminal(a, out, &style));
	fclose(out);
	buf_release(&text);
}

/* Every edit alone, and all of them together. */
static void check_replay(const struct analysis *a)
{
	struct replay_edit edits[REPLAY_EDIT_KINDS] = { 0 };
	struct replay_result result;
	struct replay *r = NULL;
	struct err err;

	require(!replay_new(&r, a, &err));
	for (enum replay_edit_kind k = 0; k < REPLAY_EDIT_KINDS; k++) {
		edits[k] = (struct replay_edit){ .kind = k, .factor = 0.5 };
		require(!replay_predict(r, &edits[k], 1, &result, &err));
		require(isfinite(result.saving_ns) && isfinite(result.low_ns));
	}
	require(!replay_predict(r, edits, REPLAY_EDIT_KINDS, &result, &err));
	require(isfinite(result.predicted_ns));
	replay_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct analysis *a = NULL;
	struct trace *t = NULL;
	struct err err;
	char path[64];

	require(fd >= 0);
	write_trace(fd, data, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(!trace_open(&t, path, &err));
	require(!trace_damage(t));
	require(!analysis_new(&a, t, &err));
	require(!judge(a, NULL, &err));
	check(a);
	check_breakdown(a);
	check_nvtx(a);
	check_gpu(&a->gpu);
	check_layers(a);
	check_memory(a);
	check_replay(a);
	a->drawing.timeline_bytes = 100000;
	render(a);
	analysis_free(a);
	trace_close(t);
	close(fd);
	return 0;
}
