#include "base/figure_text.h"

#include <inttypes.h>
#include <stdio.h>

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
