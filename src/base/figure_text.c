#include "base/figure_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_dot(const char *part, size_t n)
{
	return n == 1 && *part == '.';
}

static bool is_up(const char *part, size_t n)
{
	return n == 2 && part[0] == '.' && part[1] == '.';
}

static bool has_detours(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		if (is_dot(path, n) || is_up(path, n))
			return true;
		if (!path[n])
			return false;
		path += n + 1;
	}
}

/* Takes the last part away, of those from `begin` on; false: there is none to go back from. */
static bool go_up(struct buf *out, size_t begin)
{
	size_t at = out->len;

	while (at > begin && out->data[at - 1] != '/')
		at--;
	if (at == out->len || is_up(out->data + at, out->len - at))
		return false;
	out->len = at > begin ? at - 1 : begin;
	return true;
}

static void add_part(struct buf *out, size_t begin, bool absolute, const char *part, size_t n)
{
	if (absolute || out->len > begin)
		buf_add_byte(out, '/');
	buf_add(out, part, n);
}

void plain_path_add(struct buf *out, const char *path)
{
	bool absolute = *path == '/', folder = *path && path[strlen(path) - 1] == '/';
	size_t begin = out->len;

	if (!absolute && !has_detours(path)) {
		buf_add_str(out, path);
		return;
	}
	while (*path) {
		size_t n = strcspn(path, "/");

		if (is_up(path, n)) {
			if (!go_up(out, begin) && !absolute)
				add_part(out, begin, false, path, n);
		} else if (n && !is_dot(path, n)) {
			add_part(out, begin, absolute, path, n);
		}
		path += n + (path[n] == '/');
	}
	if (out->len == begin)
		buf_add_byte(out, absolute ? '/' : '.');
	else if (folder)
		buf_add_byte(out, '/');
}

static const char *three_digits(char out[TEXT_FIGURE], double value, const char *unit)
{
	/* 9.995 would be printed as 10.00: the limits are where rounding adds a digit. */
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(out, TEXT_FIGURE, "%.*f %s", decimals, value, unit);
	return out;
}

const char *text_duration(char out[TEXT_FIGURE], double ns)
{
	if (ns < 999.5) {
		snprintf(out, TEXT_FIGURE, "%.0f ns", ns);
		return out;
	}
	if (ns < 999.5e3)
		return three_digits(out, ns / 1e3, "\xc2\xb5s");
	if (ns < 999.5e6)
		return three_digits(out, ns / 1e6, "ms");
	if (ns < 120e9)
		return three_digits(out, ns / 1e9, "s");
	if (!(ns < 9e18)) { /* three centuries, or no number */
		snprintf(out, TEXT_FIGURE, "?");
		return out;
	}

	uint64_t s = (uint64_t)(ns / 1e9 + 0.5);

	if (s < 3600)
		snprintf(out, TEXT_FIGURE, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
	else
		snprintf(out, TEXT_FIGURE, "%" PRIu64 "h%02um", s / 3600, (unsigned)(s / 60 % 60));
	return out;
}

const char *text_count(char out[TEXT_FIGURE], uint64_t n)
{
	if (n < 10000) {
		snprintf(out, TEXT_FIGURE, "%" PRIu64, n);
		return out;
	}
	if (n < 999500)
		return three_digits(out, (double)n / 1e3, "k");
	if (n < 999500000)
		return three_digits(out, (double)n / 1e6, "M");
	return three_digits(out, (double)n / 1e9, "G");
}

const char *text_bytes(char out[TEXT_FIGURE], uint64_t bytes)
{
	if (bytes < 1000) {
		snprintf(out, TEXT_FIGURE, "%" PRIu64 " B", bytes);
		return out;
	}
	if (bytes < 999500)
		return three_digits(out, (double)bytes / 1e3, "kB");
	if (bytes < 999500000)
		return three_digits(out, (double)bytes / 1e6, "MB");
	return three_digits(out, (double)bytes / 1e9, "GB");
}

const char *text_share(char out[TEXT_FIGURE], double part, double whole)
{
	snprintf(out, TEXT_FIGURE, "%.1f %%", whole > 0 ? 100 * part / whole : 0.0);
	return out;
}
