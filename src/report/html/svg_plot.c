#include "report/html/html_put.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* In units of the drawing; the plot lies between the edges. */
#define WIDTH 560.0
#define WIDE 1120.0 /* alone in its row */
#define HEIGHT 190.0
#define LEFT 60.0
#define RIGHT 10.0 /* from the right edge */
#define TOP 12.0
#define BOTTOM (HEIGHT - 24)
#define TICKS 4
#define DOTS_MAX 150u       /* as many points can be distinguished */
#define LABEL_SHARE_MIN 0.1 /* of a bar: its name has room */

static void begin(struct buf *out, double width, const char *label)
{
	buf_printf(out,
		   "<figure><figcaption>%s</figcaption><div class=\"wide\" tabindex=\"0\">"
		   "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">\n",
		   label, width, HEIGHT, label);
}

static void end(struct buf *out)
{
	buf_add_str(out, "</svg></div></figure>\n");
}

/* The least of 1, 2, 5, 10, ... times a power of ten that is enough for `value` in so many. */
static double nice_tick(double value, int ticks)
{
	double raw = value / ticks, power = pow(10, floor(log10(raw)));

	for (int i = 0; i < 3; i++) {
		static const double steps[] = { 1, 2, 5 };

		if (raw <= steps[i] * power * (1 + 1e-9))
			return steps[i] * power;
	}
	return 10 * power;
}

static double x_of(const struct curve *c, double right, int64_t time_ns)
{
	double share = (double)(time_ns - c->start_ns) / (double)(c->end_ns - c->start_ns);

	return LEFT + (right - LEFT) * share;
}

static double y_of(double value, double top)
{
	return BOTTOM - (BOTTOM - TOP) * value / top;
}

static void add_rows(struct buf *out, double right, double top, double tick,
		     const char *(*figure)(char[TEXT_FIGURE], double y))
{
	char f[TEXT_FIGURE];

	for (int i = 0; i <= TICKS && i * tick <= top * (1 + 1e-9); i++) {
		double y = y_of(i * tick, top);

		buf_printf(out,
			   "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>"
			   "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			   LEFT, right, y, y, LEFT - 6, y + 4, figure(f, i * tick));
	}
}

static void add_time_axis(struct buf *out, const struct curve *c, double right)
{
	double length_ns = (double)(c->end_ns - c->start_ns);
	double tick_ns = nice_tick(length_ns, TICKS + 1);
	double first_ns = ceil((double)c->start_ns / tick_ns) * tick_ns;
	char f[TEXT_FIGURE];

	for (int i = 0; i <= TICKS + 1; i++) {
		double at_ns = first_ns + i * tick_ns;
		double x = LEFT + (right - LEFT) * (at_ns - (double)c->start_ns) / length_ns;

		if (x >= LEFT && x <= right)
			buf_printf(out, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"%s\">%s</text>\n",
				   x, HEIGHT - 6, x > right - 20 ? "end" : "middle",
				   text_duration(f, at_ns));
	}
}

void svg_bar(struct buf *out, const char *label, const struct svg_part *parts, size_t n)
{
	double at = 0;

	buf_printf(out, "<svg class=\"bar\" role=\"img\" aria-label=\"%s\">\n", label);
	for (size_t i = 0; i < n; i++) {
		const struct svg_part *p = &parts[i];

		if (p->share <= 0)
			continue;
		buf_printf(out,
			   "<svg x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\">"
			   "<title>%s: %s</title><rect class=\"%s\" width=\"100%%\" "
			   "height=\"100%%\"/>",
			   100 * at, 100 * p->share, p->title, p->figures, p->colour);
		if (p->share >= LABEL_SHARE_MIN)
			buf_printf(out, "<text x=\"8\" y=\"62%%\">%s</text>", p->title);
		buf_add_str(out, "</svg>\n");
		at += p->share;
	}
	buf_add_str(out, "</svg>\n");
}

static double greatest(const struct curve *c)
{
	double most = 0;

	for (size_t i = 0; i < c->count; i++)
		most = c->bins[i].high > most ? c->bins[i].high : most;
	return most;
}

/* Along the greatest values and back along the least, or along the ground. */
static void add_outline(struct buf *out, const struct curve *c, double right, double top,
			bool filled)
{
	buf_printf(out, "<path class=\"%s\" d=\"M", filled ? "area" : "band");
	for (size_t i = 0; i < c->count; i++)
		buf_printf(out, " %.1f %.1f", x_of(c, right, c->bins[i].time_ns),
			   y_of(c->bins[i].high, top));
	for (size_t i = c->count; i--;)
		buf_printf(out, " %.1f %.1f", x_of(c, right, c->bins[i].time_ns),
			   y_of(filled ? 0 : c->bins[i].low, top));
	buf_add_str(out, "Z\"/>\n");
}

static void add_dots(struct buf *out, const struct curve *c, const struct svg_axes *axes,
		     double right, double top)
{
	char f[2][TEXT_FIGURE];

	for (size_t i = 0; i < c->count; i++)
		buf_printf(out,
			   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\"><title>%s at %s</title>"
			   "</circle>\n",
			   x_of(c, right, c->bins[i].time_ns), y_of(c->bins[i].high, top),
			   axes->figure(f[0], c->bins[i].high),
			   text_duration(f[1], (double)c->bins[i].time_ns));
}

void svg_curve(struct buf *out, const struct svg_axes *axes, const struct curve *c)
{
	double top = axes->top > 0 ? axes->top : 1.05 * greatest(c);
	double width = axes->wide ? WIDE : WIDTH, right = width - RIGHT;
	char f[TEXT_FIGURE];

	if (!c->count || c->end_ns <= c->start_ns || top <= 0)
		return;
	begin(out, width, axes->label);
	add_rows(out, right, top, nice_tick(top, TICKS), axes->figure);
	add_time_axis(out, c, right);
	add_outline(out, c, right, top, axes->filled);
	if (!axes->filled && c->count <= DOTS_MAX)
		add_dots(out, c, axes, right, top);
	for (size_t i = 0; i < axes->mark_count; i++) {
		double y = y_of(axes->marks[i].value, top);

		buf_printf(out,
			   "<line class=\"mark\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>"
			   "<text class=\"mark\" x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s "
			   "%s</text>\n",
			   LEFT, right, y, y, right, y - 4, axes->marks[i].name,
			   axes->figure(f, axes->marks[i].value));
	}
	end(out);
}

static const char *count_figure(char out[TEXT_FIGURE], double value)
{
	return text_count(out, (uint64_t)(value + 0.5));
}

static void add_column(struct buf *out, double from, double to, uint64_t count, double top,
		       const char *what)
{
	double y = y_of((double)count, top);

	if (count)
		buf_printf(out,
			   "<rect class=\"column\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			   "height=\"%.1f\"><title>%" PRIu64 " %s</title></rect>\n",
			   from + 0.5, y, to - from - 1, BOTTOM - y, count, what);
}

void svg_histogram(struct buf *out, const char *label, const struct histogram *h)
{
	/* The longer ones stand apart, in a column of their own. */
	double right = WIDTH - RIGHT,
	       step = (right - LEFT) / (double)(h->parts + (h->beyond ? 4 : 0));
	double edge = LEFT + step * (double)h->parts, top = (double)h->beyond;
	char what[3 * TEXT_FIGURE], f[2][TEXT_FIGURE];

	if (h->parts < 2)
		return;
	for (size_t i = 0; i < h->parts; i++)
		top = (double)h->counts[i] > top ? (double)h->counts[i] : top;
	begin(out, WIDTH, label);
	add_rows(out, right, top, fmax(1, nice_tick(top, TICKS)), count_figure);
	for (size_t i = 0; i < h->parts; i++) {
		double from_ns = (double)h->from_ns + h->width_ns * (double)i;

		snprintf(what, sizeof(what), "of %s to %s", text_duration(f[0], from_ns),
			 text_duration(f[1], from_ns + h->width_ns));
		add_column(out, LEFT + step * (double)i, LEFT + step * (double)(i + 1),
			   h->counts[i], top, what);
	}
	add_column(out, right - step, right, h->beyond, top, "beyond the 99th percentile");
	buf_printf(out,
		   "<text x=\"%g\" y=\"%g\">%s</text>"
		   "<text x=\"%.1f\" y=\"%g\" text-anchor=\"end\">%s</text>\n",
		   LEFT, HEIGHT - 6, text_duration(f[0], (double)h->from_ns), edge, HEIGHT - 6,
		   text_duration(f[1], (double)h->from_ns + h->width_ns * (double)h->parts));
	if (h->beyond)
		buf_printf(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">longer</text>\n",
			   right, HEIGHT - 6);
	end(out);
}
