#include "cli/read_limit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/session/memory_pressure.h"

#define PART_LEAST 1024u /* bytes of a trace; less holds no events */

/* What the kernel counts for RLIMIT_DATA, now; 0: it does not say. */
static uint64_t data_bytes(void)
{
	unsigned long long size, resident, shared, text, unused, data = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu %llu %llu %llu %llu", &size, &resident, &shared, &text, &unused,
		   &data) != 6)
		data = 0;
	fclose(f);
	return data * (uint64_t)sysconf(_SC_PAGESIZE);
}

void read_limit_begin(struct read_limit *m, const struct config *c)
{
	uint64_t total = pressure_total(""), now = data_bytes();
	struct rlimit limit;

	*m = (struct read_limit){ 0 };
	if (config_text(c, &setting_max_memory))
		m->bytes = (uint64_t)config_number(c, &setting_max_memory);
	else if (total != PRESSURE_UNKNOWN)
		m->bytes = total / 2;
	if (!m->bytes || !now || getrlimit(RLIMIT_DATA, &m->before))
		return;
	limit = m->before;
	if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= now + m->bytes)
		return;
	limit.rlim_cur = now + m->bytes;
	m->set = !setrlimit(RLIMIT_DATA, &limit);
}

void read_limit_end(struct read_limit *m)
{
	if (m->set)
		setrlimit(RLIMIT_DATA, &m->before);
	m->set = false;
}

bool read_limit_retry(const struct read_limit *m, const char *trace_path, uint64_t *part,
		      struct err *err)
{
	struct stat st;

	if (!err_is_memory(err))
		return false;
	if (*part == UINT64_MAX)
		*part = stat(trace_path, &st) ? 0 : (uint64_t)st.st_size;
	*part -= *part / 4;
	if (*part >= PART_LEAST)
		return true;
	err_set(err,
		"out of memory: %s needs more than the %.0f MB of --max-memory; raise it, or use "
		"a machine with more memory",
		trace_path, (double)m->bytes / 1048576);
	return false;
}
