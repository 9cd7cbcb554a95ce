#include "rules/judge.h"

#include <math.h>

#include "rules/finding_builder.h"

/*
 * Two sides of which the smaller has three quarters of the larger one's time keep each
 * other waiting in turn: neither is what bounds the step.
 */
#define BALANCE 0.75

/* What is less likely than that is not said. */
#define WORTH_REPORTING 0.3

/* What another side has of a step beside the one that leads: people notice a tenth. */
#define WORTH_A_WORD 0.10

/* Below, the step mostly waits for work: nothing bounds it. */
#define LEADS_FROM 0.35

/* CPUs that are used by whoever is at work for a step: below, it is not the host that is busy. */
#define CORES_OF_WORK 0.5

enum side { SIDE_GPU, SIDE_CPU, SIDE_MEMORY, SIDES };

static const struct {
	const char *bound, *name, *says;
} sides[SIDES] = {
	[SIDE_GPU] = { "gpu", "the GPU", "the GPU computes" },
	[SIDE_CPU] = { "cpu", "the host",
		       "the host works or waits while the GPU runs nothing for the step" },
	[SIDE_MEMORY] = { "memory", "copies", "data is copied between host and GPU" },
};

static const enum side side_of[TIME_CLASSES] = {
	[TIME_GPU_COMPUTE] = SIDE_GPU,
	[TIME_H2D] = SIDE_MEMORY,
	[TIME_D2H] = SIDE_MEMORY,
	[TIME_SYNC_WAIT] = SIDE_CPU,
	[TIME_CPU_PREPROCESSING] = SIDE_CPU,
	[TIME_CPU_COMPUTE] = SIDE_CPU,
	[TIME_FRAMEWORK] = SIDE_CPU,
	[TIME_LAUNCH] = SIDE_CPU,
	[TIME_ALLOCATION] = SIDE_CPU,
	[TIME_GC] = SIDE_CPU,
	[TIME_CPU_WAIT] = SIDE_CPU,
	[TIME_GIL_WAIT] = SIDE_CPU,
	[TIME_LOCK_WAIT] = SIDE_CPU,
	[TIME_IO_WAIT] = SIDE_CPU,
	[TIME_SLEEP] = SIDE_CPU,
	[TIME_PAGE_FAULTS] = SIDE_CPU,
	[TIME_COMPILE] = SIDE_CPU,
	[TIME_MODEL_LOAD] = SIDE_CPU,
	[TIME_IDLE] = SIDES,
	[TIME_UNATTRIBUTED] = SIDES,
};

static void shares_of(double shares[SIDES + 1], const struct step_breakdown *b)
{
	for (size_t i = 0; i <= SIDES; i++)
		shares[i] = 0;
	for (size_t i = 0; i < TIME_CLASSES; i++)
		shares[side_of[i]] += (double)b->parts[i].ns / (double)b->total_ns;
}

/* Its largest class, in words. */
static enum time_class largest(const struct step_breakdown *b, enum side side)
{
	enum time_class best = TIME_CLASSES;

	for (enum time_class i = 0; i < TIME_CLASSES; i++)
		if (side_of[i] == side &&
		    (best == TIME_CLASSES || b->parts[i].ns > b->parts[best].ns))
			best = i;
	return best;
}

static int set_unknown(struct analysis_verdict *v, const char *why)
{
	*v = (struct analysis_verdict){ .bound = "unknown", .because = why };
	return 0;
}

static int set_balanced(struct analysis_verdict *v, struct analysis *a, const double *shares,
			double evenness, double quality)
{
	v->bound = "balanced";
	v->confidence = quality * (0.6 + 0.3 * (evenness - BALANCE) / (1 - BALANCE));
	v->because = finding_text(&a->findings.texts,
				  "GPU compute takes %.0f %% of a step, the host %.0f %%, copies "
				  "%.0f %%: none of them dominates",
				  100 * shares[SIDE_GPU], 100 * shares[SIDE_CPU],
				  100 * shares[SIDE_MEMORY]);
	return v->because ? 0 : -1;
}

/* ", most of it Allocation"; NULL: no memory. */
static const char *most_text(struct analysis *a, enum side side)
{
	return finding_text(&a->findings.texts, ", mostly %s",
			    time_class_title(largest(&a->steps[0].breakdown, side)));
}

/* "a step", or what stands for it. */
static const char *judged(const struct analysis *a)
{
	return a->steps[0].source == STEP_WHOLE_RUN ? "the run" : "a step";
}

/* In which the thread of a step waits, but not for somebody who is at work for it. */
static double waits_share(const struct step_breakdown *b)
{
	return (double)b->alone_ns / (double)b->total_ns;
}

static enum time_class largest_wait(const struct step_breakdown *b)
{
	enum time_class best = TIME_LOCK_WAIT;

	for (enum time_class c = 0; c < TIME_CLASSES; c++)
		if (time_class_is_wait(c) && b->parts[c].ns > b->parts[best].ns)
			best = c;
	return best;
}

/*
 * Without a GPU all of a step is the host's.  One that waits for most of it, for nobody's work that
 * samples see, while by the kernel's account its processes barely use a CPU is bound by what it
 * waits for, which is none of the sides.
 */
static bool mostly_waits(const struct analysis *a, const struct metrics *m, double host)
{
	return !a->use.gpu && m->step_cores_used < CORES_OF_WORK &&
	       waits_share(&a->steps[0].breakdown) > host / 2;
}

static int set_waits(struct analysis_verdict *v, struct analysis *a, const struct metrics *m,
		     double quality)
{
	const struct step_breakdown *b = &a->steps[0].breakdown;
	double share = waits_share(b);

	v->bound = "unknown";
	v->confidence = quality * share;
	v->because = finding_text(
		&a->findings.texts,
		"no GPU used, CPU mostly idle (%.2f cores busy): %.0f %% of %s is waiting, mostly "
		"%s",
		m->step_cores_used, 100 * share, judged(a), time_class_title(largest_wait(b)));
	return v->because ? 0 : -1;
}

static int set_bound(struct analysis_verdict *v, struct analysis *a, const double *shares,
		     enum side side, enum side second, double quality)
{
	struct arena *texts = &a->findings.texts;
	/* Of the GPU there is nothing more to say: the other side has the room for it. */
	bool gpu = side == SIDE_GPU;
	const char *most = most_text(a, gpu ? second : side);

	v->bound = sides[side].bound;
	v->confidence = quality * fmin(0.97, 0.6 + 0.8 * (shares[side] - shares[second]));
	v->because = NULL;
	if (!most)
		return -1;
	if (!a->use.gpu)
		v->because = finding_text(texts, "no GPU used: the host takes %.0f %% of %s%s",
					  100 * shares[side], judged(a), most);
	else if (shares[second] > WORTH_A_WORD)
		v->because = finding_text(texts, "in %.0f %% of %s %s%s; %s %.0f %%%s",
					  100 * shares[side], judged(a), sides[side].says,
					  gpu ? "" : most, sides[second].name, 100 * shares[second],
					  gpu ? most : "");
	else
		v->because = finding_text(texts, "in %.0f %% of %s %s%s", 100 * shares[side],
					  judged(a), sides[side].says, gpu ? "" : most);
	return v->because ? 0 : -1;
}

int verdict_find(struct analysis_verdict *v, struct analysis *a, const struct metrics *m)
{
	const struct step_breakdown *b = &a->steps[0].breakdown;
	double shares[SIDES + 1], quality = finding_quality(a, m);
	enum side top = SIDE_GPU, second;

	if (!a->use.gpu && (!a->run.gpu_recorded || a->gpu.change_count))
		return set_unknown(v, "the GPU was not recorded, so the limiting resource is "
				      "unknown");
	if (!b->steps || b->total_ns <= 0)
		return set_unknown(v, "no complete step was recorded");
	shares_of(shares, b);
	for (enum side s = SIDE_GPU; s < SIDES; s++)
		if (shares[s] > shares[top])
			top = s;
	second = top == SIDE_GPU ? SIDE_CPU : SIDE_GPU;
	for (enum side s = SIDE_GPU; s < SIDES; s++)
		if (s != top && shares[s] > shares[second])
			second = s;
	if (shares[top] < LEADS_FROM && shares[SIDES] > shares[top])
		return set_unknown(v, "most of a step is waiting for work, or unexplained");
	if (quality < WORTH_REPORTING)
		return set_unknown(v, "the steps are too few or too different from each other, or "
				      "too much of their time is unknown");
	if (mostly_waits(a, m, shares[SIDE_CPU]))
		return set_waits(v, a, m, quality);
	if (shares[second] > BALANCE * shares[top])
		return set_balanced(v, a, shares, shares[second] / shares[top], quality);
	return set_bound(v, a, shares, top, second, quality);
}
