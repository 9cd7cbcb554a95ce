#include "rules/saving.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define DRAWS 500u
/* Of a 95 % interval, as error_ns has it. */
#define STANDARD_ERRORS 1.96
/* Half of all normally distributed errors are smaller than so many standard deviations. */
#define MEDIAN_ERROR 0.6745

/* SplitMix64: the same numbers in each run, so that a trace has one report. */
static uint64_t next_number(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Between 0 and 1, neither of them. */
static double uniform(uint64_t *state)
{
	return ((double)(next_number(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* Of a standard normal distribution (Box and Muller). */
static double normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(uniform(state)));

	return radius * cos(2 * 3.14159265358979323846 * uniform(state));
}

static double part_ms(const struct step_breakdown *b, enum time_class what)
{
	return b->steps ? (double)b->parts[what].ns / 1e6 / (double)b->steps : 0;
}

/* Classes whose time was moved from running code after the sweep: it varies as that does. */
static bool is_moved(enum time_class what)
{
	return what == TIME_PAGE_FAULTS || what == TIME_CPU_WAIT;
}

static double running_ns(const struct step_sample *s)
{
	return (double)s->ns[TIME_CPU_PREPROCESSING] + (double)s->ns[TIME_CPU_COMPUTE] +
	       (double)s->ns[TIME_FRAMEWORK] + (double)s->ns[TIME_IO_WAIT];
}

static double step_ns(const struct step_sample *s)
{
	double ns = 0;

	for (enum time_class c = 0; c < TIME_CLASSES; c++)
		ns += (double)s->ns[c];
	return ns;
}

/* What of one step the cause takes. */
static double cause_ns(const struct step_breakdown *b, const struct saving_basis *basis,
		       const struct step_sample *s)
{
	double ns = 0, running_claim = 0, running_ms = 0;

	for (enum time_class c = 0; c < TIME_CLASSES; c++) {
		double claim = basis->claims_ms[c], part = part_ms(b, c);

		if (claim > 0 && is_moved(c) && !s->ns[c])
			running_claim += claim;
		else if (claim > 0 && part > 0)
			ns += fmin(claim / part, 1) * (double)s->ns[c];
		if (c == TIME_CPU_PREPROCESSING || c == TIME_CPU_COMPUTE || c == TIME_FRAMEWORK ||
		    c == TIME_IO_WAIT || is_moved(c))
			running_ms += part;
	}
	if (running_claim > 0 && running_ms > 0)
		ns += fmin(running_claim / running_ms, 1) * running_ns(s);
	/* What claims no time of its own varies as the step does. */
	return ns > 0 ? ns : step_ns(s);
}

/* Standard error of the claimed time, as a share of it, by the samples that it is known from. */
static double sampling_error(const struct step_breakdown *b, const struct saving_basis *basis)
{
	double variance = 0, all_ms = 0;

	for (enum time_class c = 0; c < TIME_CLASSES; c++) {
		double claim = basis->claims_ms[c], part = part_ms(b, c);
		double error_ms = b->steps ? (double)b->parts[c].error_ns / STANDARD_ERRORS / 1e6 /
						     (double)b->steps
					   : 0;

		if (claim <= 0 || part <= 0)
			continue;
		all_ms += claim;
		variance += claim / part * error_ms * (claim / part * error_ms);
	}
	return all_ms > 0 ? sqrt(variance) / all_ms : 0;
}

/* Sums of blocks[i] = values[i] + ... + values[i + length - 1], around the end. */
static void sum_blocks(double *blocks, const double *values, size_t n, size_t length)
{
	double sum = 0;

	for (size_t i = 0; i < length; i++)
		sum += values[i % n];
	for (size_t i = 0; i < n; i++) {
		blocks[i] = sum;
		sum += values[(i + length) % n] - values[i];
	}
}

static int smaller_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * How much the means of so many stretches of the run differ, as a share of their mean: standard
 * deviation.  Shorter runs have stretches of a step each.
 */
#define STRETCHES 10u
/* Standard deviation between steady runs of one program: what `diff` assumes, --run-spread. */
#define RUN_SPREAD 0.02

static double stretches_error(const double *values, size_t n)
{
	size_t parts = n < STRETCHES ? n : STRETCHES;
	double sum = 0, squares = 0, mean, variance;

	for (size_t i = 0; i < parts; i++) {
		size_t first = i * n / parts, end = (i + 1) * n / parts;
		double part = 0;

		for (size_t k = first; k < end; k++)
			part += values[k] / (double)(end - first);
		sum += part;
		squares += part * part;
	}
	if (parts < 2 || sum <= 0)
		return 0;
	mean = sum / (double)parts;
	variance = (squares - sum * mean) / (double)(parts - 1);
	return variance > 0 ? sqrt(variance) / mean : 0;
}

/* The drawn means of the cause's time as shares of its mean. */
struct draws {
	double *blocks;
	size_t n, length, picks;
	double mean;       /* of as many steps as are drawn */
	double rest_error; /* of what is not the cause's, in another run */
	uint64_t state;
};

static double draw_mean(struct draws *d)
{
	double sum = 0;

	if (!d->blocks || d->mean <= 0)
		return 1;
	for (size_t i = 0; i < d->picks; i++)
		sum += d->blocks[next_number(&d->state) % d->n];
	return sum / d->mean;
}

/* The blocks of a series of n steps: its third root long, as is usual for the mean. */
static void prepare(struct draws *d, const struct step_breakdown *b,
		    const struct saving_basis *basis)
{
	size_t n = b->samples.count;
	double *values = n > 1 ? calloc(n, sizeof(*values)) : NULL, sum = 0;

	if (!values)
		return;
	d->blocks = calloc(n, sizeof(*d->blocks));
	for (size_t i = 0; i < n; i++) {
		values[i] = cause_ns(b, basis, &b->samples.items[i]);
		sum += values[i];
	}
	d->n = n;
	d->length = (size_t)fmax(1, round(cbrt((double)n)));
	d->picks = (n + d->length - 1) / d->length;
	d->mean = sum / (double)n * (double)(d->picks * d->length);
	if (d->blocks)
		sum_blocks(d->blocks, values, n, d->length);
	for (size_t i = 0; i < n; i++)
		values[i] = step_ns(&b->samples.items[i]) - values[i];
	d->rest_error = hypot(stretches_error(values, n), RUN_SPREAD);
	free(values);
}

struct saving_interval saving_interval(const struct step_breakdown *b,
				       const struct saving_basis *basis)
{
	double error = sampling_error(b, basis), drawn[DRAWS], tail = (1 - SAVING_LEVEL) / 2;
	double span_ms = basis->most_ms - basis->least_ms;
	double step_ms = b->steps ? (double)b->total_ns / 1e6 / (double)b->steps : 0;
	double replay_ms = step_ms * basis->replay_error / MEDIAN_ERROR;
	struct saving_interval r = { .ms = basis->least_ms + span_ms / 2 };
	double fix_ms = SAVING_FIX_SPREAD * sqrt(fmax(0, r.ms * (step_ms - r.ms)));
	struct draws d = { .state = 1 };

	prepare(&d, b, basis);
	for (size_t i = 0; i < DRAWS; i++) {
		double share = draw_mean(&d) + error * normal(&d.state);
		double ms = share * (basis->least_ms + span_ms * uniform(&d.state));

		ms -= fmax(0, step_ms - ms) * d.rest_error * normal(&d.state);
		drawn[i] = ms + replay_ms * normal(&d.state) + fix_ms * normal(&d.state);
	}
	free(d.blocks);
	qsort(drawn, DRAWS, sizeof(*drawn), smaller_first);
	r.low_ms = fmin(r.ms, fmax(0, drawn[(size_t)(tail * DRAWS)]));
	r.high_ms = fmax(r.ms, drawn[(size_t)((1 - tail) * DRAWS) - 1]);
	return r;
}
