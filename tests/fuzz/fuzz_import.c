/* links: is_report is_rules is_import */
/*
 * Any file through import, analysis and rules.  What was imported is a sound trace: nothing of it
 * is lost or repaired, every thread is in order, and device work was neither added nor dropped on
 * the way into the records.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "import/import.h"
#include "rules/judge.h"
#include "rules/rules_file.h"

static void require(int ok)
{
	if (!ok)
		abort();
}

static void check_threads(const struct trace *t)
{
	struct event_batch b;
	struct err err;

	event_batch_init(&b);
	for (size_t thread = 0; thread < trace_thread_count(t); thread++) {
		int64_t last_ns = INT64_MIN;

		require(!trace_thread(t, thread)->lost);
		for (size_t i = 0; i < trace_batch_count(t, thread); i++) {
			require(!trace_batch_read(t, thread, i, &b, &err));
			for (size_t k = 0; k < b.count; k++) {
				require(b.times_ns[k] >= last_ns);
				last_ns = b.times_ns[k];
			}
		}
	}
	event_batch_release(&b);
}

static void check(const struct trace *t)
{
	struct rule_set rules;
	struct analysis *a;
	struct err err;

	if (import_format(t)) {
		check_threads(t);
		require(trace_end(t) != NULL);
	}
	rule_set_init(&rules);
	if (!analysis_new(&a, t, &err)) {
		require(!judge(a, &rules, &err));
		analysis_free(a);
	}
	rule_set_release(&rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct trace *t;
	struct err err;
	char path[64];

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!import_open(&t, path, UINT64_MAX, &err)) {
		check(t);
		trace_close(t);
	} else {
		require(*err.text && !strchr(err.text, '\n'));
	}
	close(fd);
	return 0;
}
