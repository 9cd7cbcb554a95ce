#include <math.h>

#include "rules/finding_builder.h"

/*
 * Half of the pages elsewhere is what chance gives on two nodes; more than that means that
 * threads and memory are apart.  Remote memory is about half as fast.  Host code is what suffers;
 * that there is some is no second witness that its memory is far away, so one alone makes the
 * finding.  Nor does it claim the time of that code (judge.c): whose it is others find, and
 * would hide a cause that has another cure.  Where they are followed this saves less, at the
 * least nothing.
 */
static bool evaluate(struct finding_builder *d)
{
	double share = d->m->numa_remote_share;
	double host_ms = fmax(d->m->cpu_preprocessing_time, 0) + fmax(d->m->cpu_compute_time, 0);
	double ms = share * 0.4 * host_ms;

	finding_evidence(d, FROM_SERIES,
			 fmin(finding_strength(share, 0.5),
			      finding_strength(finding_share(d, host_ms), 0.10)),
			 "%.0f %% of the program's pages are on other NUMA nodes than its threads, "
			 "while host code takes %s per step (%s)",
			 100 * share, finding_ms(d, host_ms), finding_percent(d, host_ms));
	finding_saving(d, 0, 2 * ms);
	finding_suggest(d, "Bind the program to the node of its GPU: numactl --cpunodebind=N "
			   "--membind=N (nvidia-smi topo -m names it)");
	finding_suggest(d, "Start one process per node instead of threads on all nodes");
	finding_suggest(
		d,
		"Allocate buffers in the thread that uses them: a page is placed on the node of "
		"the thread that touches it first (%.0f %% are on other nodes now)",
		100 * share);
	return true;
}

const struct rule rule_numa_remote = {
	.id = "numa-remote",
	.title = "Memory is on another NUMA node than the threads",
	.condition = "numa_remote_share > 0.5 AND "
		     "(cpu_preprocessing_time + cpu_compute_time) / total_time > 0.10",
	.evaluate = evaluate,
};
