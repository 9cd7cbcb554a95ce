#include "capture/shared_core.h"

#include <stdint.h>

#include "format/stamp.h"

#define TURNS 3000u
#define LOOKS 3u
#define SLOWED 1.3 /* times the best; beside a busy one it was seen to take 1.8 times as long */
#define INTERRUPTED 2.5 /* and this was something else */
#define NEWEST 16       /* how much it counts */

/* Eight sums that do not wait for each other, and loads: all that a core can do at once. */
static __attribute__((noinline)) uint64_t work(const uint64_t table[256])
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;

	for (unsigned n = 0; n < TURNS; n++) {
		a += table[n & 255];
		b ^= table[(n + 9) & 255];
		c += table[(n + 77) & 255];
		d ^= table[(n + 133) & 255];
		e += a >> 3;
		f ^= b << 2;
		g += c * 5;
		h ^= d + n;
		__asm__ volatile(""
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g),
				   "+r"(h));
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

void shared_core_took(struct shared_core *s, double ns)
{
	if (s->best_ns <= 0 || ns < s->best_ns)
		s->best_ns = ns;
	if (ns < s->best_ns * INTERRUPTED)
		s->share += ((ns > s->best_ns * SLOWED) - s->share) / NEWEST;
}

void shared_core_look(struct shared_core *s)
{
	static const uint64_t table[256] = { 1 };
	volatile uint64_t sink;

	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t start_ns = stamp_monotonic();

		sink = work(table);
		shared_core_took(s, (double)(stamp_monotonic() - start_ns));
	}
	(void)sink;
}
