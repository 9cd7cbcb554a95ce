#include <math.h>

#include "rules/draft.h"

/*
 * Half of the pages elsewhere is what chance gives on two nodes; more than that means that
 * threads and memory are apart.  Remote memory is about half as fast.  Host code is what suffers;
 * that there is some is no second witness that its memory is far away, so one alone makes the
 * finding.  Nor does it claim the time of that code (claims.h): whose it is others find, and
 * would hide a cause that has another cure.  Where they are followed this saves less, at the
 * least nothing.
 */
static bool look(struct draft *d)
{
	double share = d->m->numa_remote_share;
	double host_ms = fmax(d->m->cpu_preprocessing_time, 0) + fmax(d->m->cpu_compute_time, 0);
	double ms = share * 0.4 * host_ms;

	draft_evidence(
		d, FROM_SERIES,
		fmin(draft_strength(share, 0.5), draft_strength(draft_share(d, host_ms), 0.10)),
		"%.0f %% of the program's pages are on other NUMA nodes than its threads, "
		"while host code takes %s of a step (%s)",
		100 * share, draft_ms(d, host_ms), draft_percent(d, host_ms));
	draft_saving(d, ms, 0, 2 * ms);
	draft_suggest(d, "Bind the program to the node of its GPU: numactl --cpunodebind=N "
			 "--membind=N (nvidia-smi topo -m names it)");
	draft_suggest(d, "Start one process for each node instead of threads on all of them");
	draft_suggest(d,
		      "Allocate buffers in the thread that uses them: pages go to the node of the "
		      "thread that touches them first (%.0f %% are elsewhere now)",
		      100 * share);
	return true;
}

const struct rule rule_numa_remote = {
	.id = "numa-remote",
	.title = "Memory is on another NUMA node than the threads",
	.condition = "numa_remote_share > 0.5 AND "
		     "(cpu_preprocessing_time + cpu_compute_time) / total_time > 0.10",
	.look = look,
};
