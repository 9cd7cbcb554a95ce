#include "capture/probe_system.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/nvml.h"
#include "capture/system_files.h"

static void list_missing(char *out, size_t bytes, const struct system_files *f)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < f->missing_count && n < bytes; i++) {
		const char *text = f->missing[i].text;

		n += (size_t)snprintf(out + n, bytes - n, "%s%s", i ? "; " : "", text);
	}
}

/* As a recording does it, of ourselves. */
void probe_system(const struct probe_context *c, struct probe_result *out)
{
	struct system_points points = { 0 };
	struct system_files f;
	char missing[200];

	system_files_init(&f, c->root, 0);
	system_files_open(&f);
	system_files_add(&f, 1, getpid());
	system_files_look(&f, 1, &points);
	list_missing(missing, sizeof(missing), &f);
	if (!points.count)
		probe_say(out, PROBE_ABSENT, "nothing is to be read (%s)", missing);
	else if (f.missing_count)
		probe_say(out, PROBE_ABSENT, "%zu files are read; not: %s", f.count, missing);
	else
		probe_say(out, PROBE_OK,
			  "memory, page faults, pressure, nodes and control groups: %zu files",
			  f.count);
	system_files_release(&f);
	system_points_release(&points);
}

void probe_nvml(const struct probe_context *c, struct probe_result *out)
{
	struct nvml n = { 0 };
	char why[128];

	(void)c;
	if (nvml_open(&n, why, sizeof(why)))
		probe_say(out, PROBE_ABSENT, "%s: memory, clocks and power of GPUs are not known",
			  why);
	else
		probe_say(out, PROBE_OK, "libnvidia-ml.so.1, %u device%s", n.device_count,
			  n.device_count == 1 ? "" : "s");
	nvml_release(&n);
}
