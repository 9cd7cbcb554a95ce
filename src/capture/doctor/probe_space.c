#include "capture/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "capture/session/memory_pressure.h"
#include "format/shm.h"

#define MB (1024.0 * 1024.0)

/* Files that a recorder has open beside one for each process that it watches. */
#define FILES_OF_OUR_OWN 32u

void probe_limits(const struct probe_context *c, struct probe_result *out)
{
	struct rlimit files = { RLIM_INFINITY, RLIM_INFINITY };
	const char *option;
	uint64_t allowed = pressure_limit(c->buffer_bytes, &option);

	getrlimit(RLIMIT_NOFILE, &files);
	if (option) {
		probe_set(out, PROBE_PROBLEM, "%s leaves %.0f MB of the %.0f MB trace buffer",
			  option, (double)allowed / MB, (double)c->buffer_bytes / MB);
		probe_fix(out, "raise it (%s unlimited), or request less with --trace-size-mb",
			  option);
	} else if (files.rlim_cur < FILES_OF_OUR_OWN) {
		probe_set(out, PROBE_PROBLEM, "ulimit -n allows %llu open files",
			  (unsigned long long)files.rlim_cur);
		probe_fix(out, "raise it: one file per process of the workload, and %u more",
			  FILES_OF_OUR_OWN);
	} else {
		probe_set(out, PROBE_OK, "no limit applies");
	}
}

void probe_memory(const struct probe_context *c, struct probe_result *out)
{
	struct pressure p;
	uint64_t allowed;

	pressure_read(&p, c->root, pressure_enough(c->buffer_bytes));
	allowed = pressure_allowed(&p, c->buffer_bytes, 0, c->buffer_bytes);
	if (allowed < c->buffer_bytes && p.stalled > 0) {
		probe_set(out, PROBE_PROBLEM,
			  "programs wait for memory %.0f %% of the time: the buffer gets %.0f of "
			  "%.0f MB",
			  100 * p.stalled, (double)allowed / MB, (double)c->buffer_bytes / MB);
		probe_fix(out, "free memory, or raise the limit of the control group");
	} else if (allowed < c->buffer_bytes) {
		probe_set(out, PROBE_PROBLEM,
			  "%s has %.0f MB left: the buffer gets %.0f of %.0f MB", p.owner,
			  (double)p.left_bytes / MB, (double)allowed / MB,
			  (double)c->buffer_bytes / MB);
		probe_fix(out, "free memory, or raise the limit of the control group");
	} else if (p.left_bytes == PRESSURE_UNKNOWN) {
		probe_set(out, PROBE_ABSENT,
			  "the amount of free memory is unknown (no "
			  "/proc/meminfo)");
	} else {
		probe_set(out, PROBE_OK, "enough for the %.0f MB of the trace buffer",
			  (double)c->buffer_bytes / MB);
	}
}

void probe_pressure(const struct probe_context *c, struct probe_result *out)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/proc/pressure/memory", c->root);
	if (access(path, R_OK))
		probe_set(out, PROBE_ABSENT,
			  "no PSI (needs Linux 4.20, boot option psi=1): the buffer shrinks by the "
			  "amount of free memory only");
	else
		probe_set(out, PROBE_OK, "PSI: the buffer shrinks while programs wait for memory");
}

/* The folder of a file: "." where it has none. */
static void folder_of(char out[4096], const char *path)
{
	char *slash;

	snprintf(out, 4096, "%s", path);
	slash = strrchr(out, '/');
	if (slash == out)
		slash[1] = '\0';
	else if (slash)
		*slash = '\0';
	else
		snprintf(out, 4096, ".");
}

/* Tried, not asked: access() does not know every reason. */
static int try_writing(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char path[4096 + 32];

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		snprintf(path, sizeof(path), "%s/.inferscope-doctor-XXXXXX", folder);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

void probe_trace_file(const struct probe_context *c, struct probe_result *out)
{
	struct statvfs fs;
	char folder[4096];
	double free_bytes;

	if (!*c->trace) {
		probe_set(out, PROBE_ABSENT, "no trace is kept");
		return;
	}
	folder_of(folder, c->trace);
	if (try_writing(folder) || statvfs(folder, &fs)) {
		probe_set(out, PROBE_PROBLEM, "%s cannot be written: %s", c->trace,
			  strerror(errno));
		probe_fix(out, "choose another place with --trace FILE, or --no-trace");
		return;
	}
	free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
	probe_set(out, PROBE_OK, "%s, %.1f GB free there", c->trace, free_bytes / 1e9);
	if (free_bytes < (double)c->buffer_bytes)
		probe_fix(out, "free space: the trace may grow by more than the buffer's %.0f MB",
			  (double)c->buffer_bytes / MB);
}
