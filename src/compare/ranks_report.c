/* Ranks as text: the comparison first, then the whole report of each rank. */
#include <string.h>

#include "base/figure_text.h"
#include "compare/ranks.h"
#include "report/html/html_put.h"
#include "report/json/json_put.h"
#include "report/markdown/markdown.h"
#include "report/plain_text.h"
#include "report/terminal/terminal_text.h"

#define RANKS_SCHEMA 1

/* What is compared, in the order of the report. */
static const struct {
	const char *key, *title;
	const char *slowest; /* what the rank with the largest figure is */
} spreads[] = {
	{ "step_time", "Step time", "slowest" },
	{ "gpu_busy", "GPU busy", "busiest" },
	{ "own_work", "GPU busy without communication", "most work of its own" },
};

#define SPREADS (sizeof(spreads) / sizeof(*spreads))

static const struct rank_spread *spread_at(const struct ranks *r, size_t i)
{
	return i == 0 ? &r->step_time : i == 1 ? &r->gpu_busy : &r->own_work;
}

/* "rank 3 (slowest): 12.0 ms, 10.2 % above the mean of 10.9 ms; least: rank 0, 9.9 ms" */
static void add_spread(struct buf *out, const struct ranks *r, size_t i)
{
	const struct rank_spread *s = spread_at(r, i);
	char f[4][TEXT_FIGURE];

	buf_printf(out, "rank %u (%s): %s, %s above the mean of %s; least: rank %u, %s",
		   (unsigned)r->items[s->slowest].number, spreads[i].slowest,
		   text_duration(f[0], s->most_ns),
		   text_share(f[1], s->most_ns - s->mean_ns, s->mean_ns),
		   text_duration(f[2], s->mean_ns), (unsigned)r->items[s->fastest].number,
		   text_duration(f[3], s->least_ns));
}

static void add_row(struct buf *out, const struct ranks *r, const struct rank *rank)
{
	const struct rank_step *s = rank_step_of(r, rank);
	char f[7][TEXT_FIGURE];

	buf_printf(out, "| %u | ", (unsigned)rank->number);
	markdown_cell(out, rank->path);
	buf_printf(out, " | %s | %s | %s |", s ? text_count(f[0], s->count) : "",
		   s ? text_duration(f[1], s->mean_ns) : "",
		   s ? text_duration(f[2], (double)s->p95_ns) : "");
	if (rank->span_ns)
		buf_printf(out, " %s | %s | %s | %s |", text_duration(f[3], (double)rank->busy_ns),
			   text_share(f[4], (double)rank->idle_ns, (double)rank->span_ns),
			   text_duration(f[5], (double)rank->collective_ns),
			   text_count(f[6], rank->kernels));
	else
		buf_add_str(out, " | | | |");
	buf_printf(out, " %s | ", rank->bound);
	markdown_escaped(out, rank->finding ? rank->finding : "");
	buf_add_str(out, " |\n");
}

/* The report of a rank is a chapter: its headings go one level down. */
static void add_chapter(struct buf *out, const struct rank *rank)
{
	const char *at = rank->markdown.data, *end = at + rank->markdown.len;
	bool fenced = false;

	buf_printf(out, "\n## Rank %u\n\n", (unsigned)rank->number);
	markdown_code(out, rank->path, false);
	buf_add_str(out, "\n\n");
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t bytes = (line ? (size_t)(line - at) : (size_t)(end - at)) + (line != NULL);

		if (!strncmp(at, "```", bytes < 3 ? bytes : 3) && bytes >= 3)
			fenced = !fenced;
		/* Its title says what the first line of this chapter does. */
		if (at == rank->markdown.data && *at == '#') {
			at += bytes;
			continue;
		}
		if (*at == '#' && !fenced)
			buf_add_byte(out, '#');
		buf_add(out, at, bytes);
		at += bytes;
	}
}

static void ranks_markdown(struct buf *out, const struct ranks *r)
{
	buf_printf(out, "# InferScope: %zu ranks\n\n", r->count);
	if (r->step) {
		buf_add_str(out, "- Step: ");
		markdown_code(out, r->step, false);
		buf_add_byte(out, '\n');
	}
	for (size_t i = 0; i < SPREADS; i++) {
		if (!spread_at(r, i)->known)
			continue;
		buf_printf(out, "- %s: ", spreads[i].title);
		add_spread(out, r, i);
		buf_add_byte(out, '\n');
	}
	buf_add_str(out,
		    "\n| rank | trace | steps | mean | p95 | GPU busy | idle | communication | "
		    "kernels | bound | fix first |\n"
		    "|--:|---|--:|--:|--:|--:|--:|--:|--:|---|---|\n");
	for (size_t i = 0; i < r->count; i++)
		add_row(out, r, &r->items[i]);
	buf_add_str(out, "\nCommunication: kernels of NCCL and RCCL, in which ranks wait for each "
			 "other. The others wait for the rank with most work of its own.\n");
	for (size_t i = 0; i < r->notes.count; i++) {
		buf_add_str(out, i ? "- " : "\n- ");
		markdown_escaped(out, r->notes.items[i]);
		buf_add_byte(out, '\n');
	}
	for (size_t i = 0; i < r->count; i++) {
		add_chapter(out, &r->items[i]);
		out->failed |= r->items[i].markdown.failed;
	}
}

static void put_spread(struct json *j, const struct ranks *r, size_t i)
{
	const struct rank_spread *s = spread_at(r, i);

	if (!s->known) {
		put_null(j, spreads[i].key);
		return;
	}
	begin_object(j, spreads[i].key);
	put_fixed(j, "mean_ms", s->mean_ns / 1e6, 6);
	put_fixed(j, "most_ms", s->most_ns / 1e6, 6);
	put_fixed(j, "least_ms", s->least_ns / 1e6, 6);
	put_uint(j, "slowest_rank", r->items[s->slowest].number);
	put_uint(j, "fastest_rank", r->items[s->fastest].number);
	put_fixed(j, "imbalance", rank_imbalance(s), 6);
	json_object_end(j);
}

static void put_rank(struct json *j, const struct ranks *r, const struct rank *rank)
{
	const struct rank_step *s = rank_step_of(r, rank);

	json_object_begin(j);
	put_uint(j, "rank", rank->number);
	put_bool(j, "guessed", rank->guessed);
	put_string(j, "trace", rank->path);
	put_bool(j, "partial", rank->partial);
	put_uint(j, "steps", s ? s->count : 0);
	if (s) {
		put_fixed(j, "step_mean_ms", s->mean_ns / 1e6, 6);
		put_ms(j, "step_p50_ms", s->p50_ns);
		put_ms(j, "step_p95_ms", s->p95_ns);
	} else {
		put_null(j, "step_mean_ms");
		put_null(j, "step_p50_ms");
		put_null(j, "step_p95_ms");
	}
	put_ms(j, "wall_ms", rank->wall_ns);
	put_ms(j, "gpu_span_ms", rank->span_ns);
	put_ms(j, "gpu_busy_ms", rank->busy_ns);
	put_ms(j, "gpu_idle_ms", rank->idle_ns);
	put_uint(j, "kernels", rank->kernels);
	put_ms(j, "kernel_ms", rank->kernel_ns);
	put_ms(j, "communication_ms", rank->collective_ns);
	put_string(j, "bound", rank->bound);
	put_string(j, "finding", rank->finding);
	json_key(j, "report");
	json_raw(j, rank->json.data, rank->json.len);
	json_object_end(j);
}

static void ranks_json(struct buf *out, const struct ranks *r)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_object_begin(&j);
	begin_object(&j, "inferscope");
	put_string(&j, "version", INFERSCOPE_VERSION);
	put_uint(&j, "schema", RANKS_SCHEMA);
	json_object_end(&j);
	begin_object(&j, "comparison");
	put_string(&j, "step", r->step);
	for (size_t i = 0; i < SPREADS; i++)
		put_spread(&j, r, i);
	json_object_end(&j);
	begin_array(&j, "notes");
	for (size_t i = 0; i < r->notes.count; i++)
		json_string(&j, r->notes.items[i]);
	json_array_end(&j);
	begin_array(&j, "ranks");
	for (size_t i = 0; i < r->count; i++)
		put_rank(&j, r, &r->items[i]);
	json_array_end(&j);
	json_object_end(&j);
	buf_add_byte(out, '\n');
}

static void no_plots(struct buf *out, const char *heading, size_t n, void *context)
{
	(void)out;
	(void)heading;
	(void)n;
	(void)context;
}

static void ranks_html(struct buf *out, const struct ranks *r)
{
	const struct html_hooks hooks = { no_plots, NULL };
	struct html_page page;

	html_page_init(&page);
	buf_printf(&page.title, "InferScope: %zu ranks", r->count);
	ranks_markdown(&page.markdown, r);
	html_page_finish(out, &page, &hooks);
}

int ranks_write(const struct ranks *r, const char *path, struct err *err)
{
	const struct report_backend *backend = report_backend_for(path, err);
	struct buf text;
	int rc;

	if (!backend)
		return -1;
	buf_init(&text);
	if (backend == &report_json)
		ranks_json(&text, r);
	else if (backend == &report_html)
		ranks_html(&text, r);
	else
		ranks_markdown(&text, r);
	rc = report_write_text(path, &text, err);
	buf_release(&text);
	return rc;
}

static void print_row(struct terminal *s, const struct ranks *r, const struct rank *rank)
{
	const struct rank_step *step = rank_step_of(r, rank);
	size_t name = s->width - 2 - 6 - 5 * (COLUMN + 1);
	char f[TEXT_FIGURE];
	struct buf text;

	buf_init(&text);
	text_add_clipped(&text, rank->path, name - 1);
	snprintf(f, sizeof(f), "%u", (unsigned)rank->number);
	buf_add_str(&s->out, "  ");
	terminal_left(s, f, 6);
	terminal_left(s, buf_string(&text), name);
	terminal_right(s, step ? text_count(f, step->count) : "", COLUMN + 1);
	terminal_right(s, step ? text_duration(f, step->mean_ns) : "", COLUMN + 1);
	terminal_right(s, rank->span_ns ? text_duration(f, (double)rank->busy_ns) : "", COLUMN + 1);
	terminal_right(
		s, rank->span_ns ? text_share(f, (double)rank->idle_ns, (double)rank->span_ns) : "",
		COLUMN + 1);
	terminal_right(s, rank->bound, COLUMN + 1);
	buf_add_byte(&s->out, '\n');
	s->out.failed |= text.failed;
	buf_release(&text);
}

static void print_titles(struct terminal *s)
{
	static const char *const titles[] = { "steps", "mean", "GPU busy", "idle", "bound" };

	buf_add_str(&s->out, "\n  ");
	terminal_colour(s, DIM);
	terminal_left(s, "rank", 6);
	terminal_left(s, "trace", s->width - 2 - 6 - 5 * (COLUMN + 1));
	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		terminal_right(s, titles[i], COLUMN + 1);
	terminal_plain(s);
	buf_add_byte(&s->out, '\n');
}

#define ROWS_SHOWN 24u

int ranks_print(const struct ranks *r, FILE *out, const struct terminal_style *style)
{
	struct terminal s = { .width = terminal_width(style->columns), .colour = style->colour };
	size_t shown =
		style->detail == DETAIL_FULL || r->count < ROWS_SHOWN ? r->count : ROWS_SHOWN;
	const char *label = "compare";
	struct buf text;
	int rc = -1;

	buf_init(&s.out);
	buf_init(&text);
	terminal_colour(&s, BOLD);
	buf_add_str(&s.out, "inferscope");
	terminal_plain(&s);
	buf_printf(&text, "  %zu ranks%s%s", r->count, r->step ? ", step " : "",
		   r->step ? r->step : "");
	text_add_clipped(&s.out, buf_string(&text), s.width - 10);
	buf_add_byte(&s.out, '\n');
	print_titles(&s);
	for (size_t i = 0; i < shown; i++)
		print_row(&s, r, &r->items[i]);
	if (shown < r->count)
		buf_printf(&s.out, "  and %zu more\n", r->count - shown);
	buf_add_byte(&s.out, '\n');
	for (size_t i = 0; i < SPREADS; i++) {
		if (!spread_at(r, i)->known)
			continue;
		buf_clear(&text);
		buf_printf(&text, "%s: ", spreads[i].title);
		add_spread(&text, r, i);
		terminal_wrapped(&s, label, buf_string(&text), 3, NULL);
		label = "";
	}
	for (size_t i = 0; i < r->notes.count; i++)
		terminal_wrapped(&s, i ? "" : "notes", r->notes.items[i], 3, NULL);
	buf_clear(&text);
	for (size_t i = 0; i < style->written_count; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", style->written[i]);
	if (style->written_count)
		terminal_wrapped(&s, style->written_count == 1 ? "report" : "reports",
				 buf_string(&text), 3, NULL);
	s.out.failed |= text.failed;
	if (!s.out.failed && fwrite(s.out.data, 1, s.out.len, out) == s.out.len && !fflush(out))
		rc = 0;
	buf_release(&text);
	buf_release(&s.out);
	return rc;
}
