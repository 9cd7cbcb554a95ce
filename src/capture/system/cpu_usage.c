#include "capture/system/cpu_usage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/system/cgroup_path.h"

#define STAT_BYTES (64u << 10) /* the lines of CPUs come first: those of 600 or more */
#define ONE_CPU_BYTES 8192u    /* of /proc/cpuinfo */

static uint64_t ns_of_ticks(unsigned long long ticks)
{
	return ticks * (1000000000ull / (unsigned long long)sysconf(_SC_CLK_TCK));
}

/* "cpu3 USER NICE SYSTEM IDLE IOWAIT ...": waiting for a disk is idle, too. */
static uint64_t idle_of_line(char *numbers)
{
	unsigned long long ticks = 0;

	for (int i = 0; i < 5; i++) {
		unsigned long long n = strtoull(numbers, &numbers, 10);

		ticks += i >= 3 ? n : 0;
	}
	return ns_of_ticks(ticks);
}

bool cpus_parse_idle(const char *stat, const cpu_set_t *set, uint64_t *idle_ns)
{
	int left = CPU_COUNT(set);

	*idle_ns = 0;
	for (const char *line = stat; line && !strncmp(line, "cpu", 3);) {
		const char *end = strchr(line, '\n');
		char *numbers;
		unsigned long cpu = strtoul(line + 3, &numbers, 10);

		if (!end) /* cut off */
			break;
		if (numbers != line + 3 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, set)) {
			*idle_ns += idle_of_line(numbers);
			left--;
		}
		line = end + 1;
	}
	return !left;
}

bool cpus_idle(const cpu_set_t *set, uint64_t *idle_ns)
{
	char *text = malloc(STAT_BYTES);
	bool known = text && small_file_read(text, STAT_BYTES, "", "/proc", "stat") &&
		     cpus_parse_idle(text, set, idle_ns);

	free(text);
	return known;
}

bool cpus_parse_virtual(const char *cpuinfo)
{
	const char *flags = strstr(cpuinfo, "\nflags");
	const char *end = flags ? strchr(flags + 1, '\n') : NULL;
	const char *word = flags ? strstr(flags, " hypervisor") : NULL;

	return word && (!end || word < end) && strchr(" \n", word[strlen(" hypervisor")]);
}

bool cpus_virtual(void)
{
	char text[ONE_CPU_BYTES];

	return small_file_read(text, sizeof(text), "", "/proc", "cpuinfo") &&
	       cpus_parse_virtual(text);
}
