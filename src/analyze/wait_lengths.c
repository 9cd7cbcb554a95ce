#include "analyze/wait_lengths.h"

#include "analyze/stats.h"

void wait_lengths_add(struct wait_lengths *w, int64_t ns)
{
	int power;

	if (ns < 1)
		return;
	power = 63 - __builtin_clzll((unsigned long long)ns);
	w->count[power]++;
	w->ns[power] = stats_add(w->ns[power], ns);
}

double wait_lengths_longest(const struct wait_lengths *w, double n)
{
	double longest = 0, all = 0;

	for (int power = WAIT_LENGTHS; power--;) {
		double count = (double)w->count[power], ns = (double)w->ns[power];

		all += ns;
		if (count <= n)
			longest += ns;
		else
			longest += ns / count * n;
		n = count < n ? n - count : 0;
	}
	return all > 0 ? longest / all : 0;
}
