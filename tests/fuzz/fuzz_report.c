/* links: is_report is_export is_rules */
/*
 * Any texts, wherever a program can leave one: command line, names of processes,
 * threads, functions, files, scopes, metadata, kernels, devices, notes, rules.  The
 * input is these texts, with 0xff between them; the events around them are always
 * the same.  Whatever the texts say, JSON must be JSON, a page have only its own elements, a row of
 * a Markdown table must have the cells of its head, and nothing may reach a terminal that it would
 * obey.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "export/export.h"
#include "format/torch_scopes.h"
#include "format/trace_writer.h"
#include "report/json/report_json_sections.h"
#include "report/report.h"
#include "rules/judge.h"
#include "strict_json.h"

struct input {
	const uint8_t *p, *end;
};

static struct trace_writer *writer;
static uint64_t event_index;

static void require(int ok)
{
	if (!ok)
		abort();
}

/* The next text, NUL-terminated; the caller frees it. */
static char *next_text(struct input *in)
{
	const uint8_t *stop =
		in->p < in->end ? memchr(in->p, 0xff, (size_t)(in->end - in->p)) : NULL;
	size_t n = (size_t)((stop ? stop : in->end) - in->p);
	char *text;

	if (n > 2048)
		n = 2048;
	text = strndup((const char *)in->p, n);
	require(text != NULL);
	in->p = stop ? stop + 1 : in->end;
	return text;
}

static void info(struct input *in, const char *key)
{
	char *text = next_text(in);
	struct err err;

	require(!trace_write_info(writer, key, text, &err));
	free(text);
}

static void define(struct input *in, uint8_t kind, uint32_t id)
{
	char *name = next_text(in), *file = kind == DEF_CODE ? next_text(in) : NULL;
	struct err err;
	struct buf b;

	buf_init(&b);
	if (file) {
		buf_add_varint(&b, 7);
		buf_add_varint(&b, strlen(name));
	}
	buf_add_str(&b, name);
	if (file)
		buf_add_str(&b, file);
	require(!trace_write_def(writer, kind, id, b.data, b.len, &err));
	buf_release(&b);
	free(name);
	free(file);
}

static void event(uint8_t kind, uint32_t id, const struct buf *payload)
{
	struct err err;

	require(!trace_write_event(
		writer, 1, event_index, kind, id, (int64_t)(1000 * (event_index + 1)),
		payload ? payload->data : NULL, payload ? payload->len : 0, &err));
	event_index++;
}

static void varints(struct buf *b, const uint64_t *values, size_t n)
{
	buf_clear(b);
	for (size_t i = 0; i < n; i++)
		buf_add_varint(b, values[i]);
}

static void add_text(struct buf *b, struct input *in)
{
	char *text = next_text(in);
	size_t n = strlen(text) < 200 ? strlen(text) : 200;

	buf_add_varint(b, n);
	buf_add(b, text, n);
	free(text);
}

enum { CODE = 1, INNER, SCOPE, CALL, KERNEL, NVTX, COMPILE };

static void write_scope(struct input *in, struct buf *b, uint64_t instance)
{
	varints(b, (const uint64_t[]){ instance, 0 }, 2);
	buf_add_byte(b, ARG_STRING);
	add_text(b, in);
	add_text(b, in);
	event(RECORD_SCOPE_BEGIN, SCOPE, b);
	event(RECORD_CALL, INNER, NULL);
	event(RECORD_RETURN, INNER, NULL);
	varints(b, &instance, 1);
	event(RECORD_SCOPE_END, SCOPE, b);
}

static void write_gpu(struct input *in, struct buf *b)
{
	char *text = next_text(in);

	varints(b, (const uint64_t[]){ 1, 1, 1, 1, 90 }, 5);
	buf_add(b, text, strnlen(text, 128));
	event(RECORD_GPU_DEVICE, 0, b);
	free(text);
	varints(b, (const uint64_t[]){ CUDA_CALL_LAUNCH, 5, 0, 0 }, 4);
	event(RECORD_CUDA_ENTER, CALL, b);
	event(RECORD_CUDA_EXIT, 5, NULL);
	/* Of another call: without pairs there is no clock to fit, which takes ten times longer. */
	varints(b, (const uint64_t[]){ 9000, 500, 0, 1, 7, 6, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0 },
		17);
	event(RECORD_GPU_KERNEL, KERNEL, b);
	text = next_text(in);
	buf_clear(b);
	buf_add(b, text, strnlen(text, 1024));
	event(RECORD_GPU_STATE, GPU_STATE_STOPPED, b);
	free(text);
}

/* A range and a mark of NVTX, with domain and category. */
static void write_nvtx(struct input *in, struct buf *b)
{
	char *name;
	struct err err;

	varints(b, (const uint64_t[]){ NVTX_PUSHED, 0xff00ff00, 7 }, 3);
	add_text(b, in);
	add_text(b, in);
	name = next_text(in);
	buf_add_str(b, name);
	free(name);
	require(!trace_write_def(writer, DEF_NVTX, NVTX, b->data, b->len, &err));
	varints(b, (const uint64_t[]){ 4, 0 }, 2);
	event(RECORD_SCOPE_BEGIN, NVTX, b);
	varints(b, (const uint64_t[]){ 4 }, 1);
	event(RECORD_SCOPE_END, NVTX, b);
	varints(b, (const uint64_t[]){ 0 }, 1);
	event(RECORD_MARK, NVTX, b);
}

static void add_arg(struct buf *b, const char *key, struct input *in)
{
	buf_add_byte(b, ARG_STRING);
	buf_add_varint(b, strlen(key));
	buf_add_str(b, key);
	add_text(b, in);
}

/* A function that PyTorch compiled again, and why. */
static void write_compilation(struct input *in, struct buf *b)
{
	struct err err;

	require(!trace_write_def(writer, DEF_STRING, COMPILE, TORCH_COMPILE, strlen(TORCH_COMPILE),
				 &err));
	varints(b, (const uint64_t[]){ 5, 0 }, 2);
	add_arg(b, TORCH_COMPILE_FUNCTION, in);
	add_arg(b, TORCH_COMPILE_FILE, in);
	event(RECORD_SCOPE_BEGIN, COMPILE, b);
	varints(b, (const uint64_t[]){ 5 }, 1);
	add_arg(b, TORCH_COMPILE_REASON, in);
	event(RECORD_SCOPE_END, COMPILE, b);
}

static void write_events(struct input *in)
{
	struct buf b;

	buf_init(&b);
	event(RECORD_CALL, CODE, NULL);
	for (uint64_t i = 1; i <= 3; i++)
		write_scope(in, &b, i);
	varints(&b, (const uint64_t[]){ 0 }, 1);
	buf_add_byte(&b, ARG_OBJECT);
	add_text(&b, in);
	add_text(&b, in);
	event(RECORD_MARK, SCOPE, &b);
	write_gpu(in, &b);
	write_nvtx(in, &b);
	write_compilation(in, &b);
	event(RECORD_RETURN, CODE, NULL);
	buf_release(&b);
}

static void write_trace(int fd, struct input *in)
{
	const struct trace_end end = { .wall_ns = 100000 };
	struct trace_process p = { .id = 1, .pid = 7, .end_ns = TRACE_UNKNOWN_NS };
	struct trace_thread t = { .id = 1, .process = 1, .tid = 7, .end_ns = TRACE_UNKNOWN_NS };
	struct err err;
	char *text;

	event_index = 0;
	require(!trace_writer_new(&writer, fd, &err));
	define(in, DEF_CODE, CODE);
	define(in, DEF_CODE, INNER);
	define(in, DEF_STRING, SCOPE);
	define(in, DEF_STRING, KERNEL);
	define(in, DEF_STRING, CALL);
	info(in, "command");
	info(in, "command");
	info(in, "cwd");
	info(in, "started");
	p.name = text = next_text(in);
	require(!trace_write_process(writer, &p, &err));
	free(text);
	t.name = text = next_text(in);
	require(!trace_write_thread(writer, &t, &err));
	free(text);
	text = next_text(in);
	require(!trace_write_note(writer, text, &err));
	free(text);
	write_events(in);
	require(!trace_write_end(writer, &end, &err));
	trace_writer_free(writer);
}

/* Nothing that moves a cursor, starts a sequence or turns the direction of text. */
static void check_harmless(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)s[i];

		require((c >= 0x20 && c != 0x7f) || c == '\n');
		if (c == 0xc2 && i + 1 < n)
			require((uint8_t)s[i + 1] >= 0xa0);
		if (i + 2 < n)
			require(memcmp(s + i, "\xe2\x80\xae", 3) != 0 &&
				memcmp(s + i, "\xe2\x81\xa6", 3) != 0);
	}
}

/* Bars that part cells; those behind a backslash do not, even inside a code span. */
static size_t bars(const char *line, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += line[i] == '|' && (!i || line[i - 1] != '\\');
	return count;
}

static void check_markdown(const struct buf *text)
{
	const char *line = text->data, *end = text->data + text->len;
	size_t cells = 0;

	check_harmless(text->data, text->len);
	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((stop ? stop : end) - line);
		size_t here = n && *line == '|' ? bars(line, n) : 0;

		require(!here || !cells || here == cells);
		cells = here;
		line += n + 1;
	}
}

/* Only elements that a page has, up to our script; whatever a text says is none. */
static void check_page(struct buf *text)
{
	static const char *const ours[] = {
		"!DOCTYPE html>",
		"html ",
		"head>",
		"meta ",
		"title>",
		"style>",
		"body>",
		"nav ",
		"a href=\"#",
		"main>",
		"header>",
		"section id=\"",
		"h1>",
		"h2>",
		"h3>",
		"p>",
		"ul>",
		"li>",
		"strong>",
		"code>",
		"wbr>",
		"table>",
		"thead>",
		"tbody>",
		"tr>",
		"th scope=\"col\"",
		"td>",
		"td class=\"n\">",
		"div class=\"",
		"figure>",
		"figcaption>",
		"svg ",
		"text x=\"",
		"line class=\"",
		"text class=\"",
		"path class=\"",
		"circle cx=\"",
		"rect class=\"",
		"p class=\"more\">",
		"p class=\"first\">",
	};
	const char *p = buf_string(text), *body = strstr(p, "<body>"), *end = strstr(p, "<script>");

	require(body && end > body);
	check_harmless(body, (size_t)(end - body));
	while ((p = strchr(p, '<')) < end) {
		bool known = *++p == '/' &&
			     strspn(p + 1, "abcdefghijklmnopqrstuvwxyz123") == strcspn(p + 1, ">");

		for (size_t i = 0; !known && i < sizeof(ours) / sizeof(*ours); i++)
			known = !strncmp(p, ours[i], strlen(ours[i]));
		require(known);
	}
}

static void check_json(const char *data, size_t n)
{
	struct strict_json j;

	require(strict_parse(&j, data, n));
	strict_release(&j);
}

static void check_terminal(const struct analysis *a, size_t columns)
{
	const struct terminal_style style = { .columns = columns, .detail = DETAIL_FULL };
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	require(out && !report_terminal(a, out, &style));
	fclose(out);
	check_harmless(text, n);
	free(text);
}

static void check_export(const struct trace *t)
{
	int fd = memfd_create("export", MFD_CLOEXEC);
	struct err err;
	off_t n;
	char *data;

	require(fd >= 0 && !exporter_json.write(t, &(struct export_target){ .fd = fd }, &err));
	n = lseek(fd, 0, SEEK_END);
	data = malloc((size_t)n + 1);
	require(data && pread(fd, data, (size_t)n, 0) == n);
	check_json(data, (size_t)n);
	free(data);
	close(fd);
}

/* A rule that always holds, of the next texts. */
static void judge_with(struct analysis *a, struct input *in)
{
	char *name = next_text(in), *title = next_text(in), *suggestion = next_text(in);
	struct custom_rule rule = {
		.name = name,
		.title = title,
		.condition = "total_time >= 0",
		.suggestions = { suggestion },
		.suggestion_count = 1,
		.confidence_weight = 1.3,
	};
	struct rule_set set = { .path = title, .count = 1, .items = &rule };
	struct err err;

	require(!judge(a, &set, &err));
	free(name);
	free(title);
	free(suggestion);
}

static void check_reports(const struct trace *t, struct input *in)
{
	struct analysis *a;
	struct buf text;
	struct err err;

	require(!analysis_new(&a, t, &err));
	judge_with(a, in);
	buf_init(&text);
	report_markdown.render(&text, a, DETAIL_FULL);
	require(!text.failed);
	check_markdown(&text);
	buf_clear(&text);
	report_html.render(&text, a, DETAIL_FULL);
	require(!text.failed);
	check_page(&text);
	buf_clear(&text);
	report_json.render(&text, a, DETAIL_FULL);
	require(!text.failed);
	check_json(text.data, text.len);
	buf_clear(&text);
	report_json.render(&text, a, DETAIL_SHORT);
	require(!text.failed && text.len <= JSON_SHORT_BYTES);
	check_json(text.data, text.len);
	check_terminal(a, 0);
	check_terminal(a, 40);
	check_terminal(a, 100);
	buf_release(&text);
	analysis_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct trace *t;
	struct err err;
	char path[64];

	require(fd >= 0);
	write_trace(fd, &in);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(!trace_open(&t, path, &err) && !trace_damage(t));
	check_reports(t, &in);
	check_export(t);
	trace_close(t);
	close(fd);
	return 0;
}
