#include "capture/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "capture/system_files.h"

/* Declared here, as the driver has had them since CUDA 11: nothing of it is needed to build. */
#define NVML_OK 0
#define NVML_TOO_SMALL 7 /* NVML_ERROR_INSUFFICIENT_SIZE */
#define CLOCK_SM 1
#define CLOCK_MEMORY 2
#define SENSOR_GPU 0
#define NO_ARGUMENT (-1)

#define PROCESSES_MAX 64u
#define RARE_EVERY 10u /* what hardly ever changes is asked for in one look of so many */

struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_utilisation {
	unsigned gpu, memory;
};

struct nvml_process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};

typedef int plain_fn(void);
typedef int count_fn(unsigned *);
typedef int handle_fn(unsigned, void **);
typedef int number_fn(void *, unsigned *);
typedef int chosen_fn(void *, int, unsigned *);
typedef int memory_fn(void *, struct nvml_memory *);
typedef int utilisation_fn(void *, struct nvml_utilisation *);
typedef int throttle_fn(void *, unsigned long long *);
typedef int processes_fn(void *, unsigned *, struct nvml_process *);

static const struct figure {
	enum series_kind kind;
	const char *symbol;
	int argument;
	bool rare;
} figures[] = {
	{ SERIES_GPU_SM_CLOCK, "nvmlDeviceGetClockInfo", CLOCK_SM, false },
	{ SERIES_GPU_MEMORY_CLOCK, "nvmlDeviceGetClockInfo", CLOCK_MEMORY, false },
	{ SERIES_GPU_POWER, "nvmlDeviceGetPowerUsage", NO_ARGUMENT, false },
	{ SERIES_GPU_TEMPERATURE, "nvmlDeviceGetTemperature", SENSOR_GPU, true },
	{ SERIES_GPU_SM_CLOCK_MAX, "nvmlDeviceGetMaxClockInfo", CLOCK_SM, true },
	{ SERIES_GPU_POWER_LIMIT, "nvmlDeviceGetEnforcedPowerLimit", NO_ARGUMENT, true },
	{ SERIES_GPU_PCIE_GENERATION, "nvmlDeviceGetCurrPcieLinkGeneration", NO_ARGUMENT, true },
	{ SERIES_GPU_PCIE_GENERATION_MAX, "nvmlDeviceGetMaxPcieLinkGeneration", NO_ARGUMENT, true },
	{ SERIES_GPU_PCIE_WIDTH, "nvmlDeviceGetCurrPcieLinkWidth", NO_ARGUMENT, true },
	{ SERIES_GPU_PCIE_WIDTH_MAX, "nvmlDeviceGetMaxPcieLinkWidth", NO_ARGUMENT, true },
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

_Static_assert(FIGURES <= NVML_FIGURES, "NVML_FIGURES in nvml.h");

/* The first of the names that the library knows. */
static void *find(const struct nvml *n, const char *name, const char *older)
{
	void *found = dlsym(n->library, name);

	return found ? found : dlsym(n->library, older);
}

static void find_functions(struct nvml *n)
{
	for (size_t i = 0; i < FIGURES; i++)
		n->figures[i] = dlsym(n->library, figures[i].symbol);
	n->memory = dlsym(n->library, "nvmlDeviceGetMemoryInfo");
	n->utilisation = dlsym(n->library, "nvmlDeviceGetUtilizationRates");
	n->throttle = find(n, "nvmlDeviceGetCurrentClocksEventReasons",
			   "nvmlDeviceGetCurrentClocksThrottleReasons");
	n->processes = find(n, "nvmlDeviceGetComputeRunningProcesses_v3",
			    "nvmlDeviceGetComputeRunningProcesses_v2");
}

static int find_devices(struct nvml *n)
{
	count_fn *count = (count_fn *)dlsym(n->library, "nvmlDeviceGetCount_v2");
	handle_fn *handle = (handle_fn *)dlsym(n->library, "nvmlDeviceGetHandleByIndex_v2");
	unsigned devices = 0;

	if (!count || !handle || count(&devices) != NVML_OK)
		return -1;
	if (devices > NVML_DEVICES_MAX)
		devices = NVML_DEVICES_MAX;
	for (n->device_count = 0; n->device_count < devices; n->device_count++) {
		/* Their numbers are positions: one that cannot be asked ends them. */
		if (handle(n->device_count, &n->devices[n->device_count]) != NVML_OK)
			break;
	}
	return n->device_count ? 0 : -1;
}

int nvml_open(struct nvml *n, char *why, size_t bytes)
{
	plain_fn *init;

	n->tried = true;
	n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!n->library) {
		snprintf(why, bytes, "%s", dlerror());
		return -1;
	}
	init = (plain_fn *)dlsym(n->library, "nvmlInit_v2");
	if (!init || init() != NVML_OK || find_devices(n)) {
		snprintf(why, bytes, "libnvidia-ml.so.1 knows no device");
		return -1;
	}
	find_functions(n);
	n->works = true;
	return 0;
}

void nvml_release(struct nvml *n)
{
	plain_fn *shutdown = n->works ? (plain_fn *)dlsym(n->library, "nvmlShutdown") : NULL;

	if (shutdown)
		shutdown();
	if (n->library)
		dlclose(n->library);
	memset(n, 0, sizeof(*n));
}

/* Who computes on the device.  True: a process of ours. */
static bool look_at_processes(struct nvml *n, unsigned device, struct look *l,
			      const struct system_process *ours, size_t count)
{
	struct nvml_process all[PROCESSES_MAX];
	unsigned there = PROCESSES_MAX;
	bool used = false;
	int rc = n->processes ? ((processes_fn *)n->processes)(n->devices[device], &there, all)
			      : NVML_TOO_SMALL;

	if (rc != NVML_OK)
		return false;
	for (unsigned i = 0; i < there; i++) {
		for (size_t k = 0; k < count; k++) {
			struct look of = *l;

			if ((unsigned)ours[k].pid != all[i].pid)
				continue;
			used = true;
			of.process = ours[k].id;
			if (all[i].used < INT64_MAX) /* else: not available */
				look_put_instance(&of, SERIES_GPU_PROCESS_MEMORY, device,
						  (int64_t)all[i].used);
		}
	}
	return used;
}

static void look_at_figures(struct nvml *n, unsigned device, struct look *l, bool rare)
{
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure *f = &figures[i];
		void *on = n->devices[device];
		unsigned value;
		int rc;

		if (!n->figures[i] || (f->rare && !rare))
			continue;
		rc = f->argument == NO_ARGUMENT
			     ? ((number_fn *)n->figures[i])(on, &value)
			     : ((chosen_fn *)n->figures[i])(on, f->argument, &value);
		if (rc == NVML_OK)
			look_put_instance(l, f->kind, device, (int64_t)value);
	}
}

static void look_at_device(struct nvml *n, unsigned device, struct look *l, bool rare)
{
	void *on = n->devices[device];
	struct nvml_utilisation busy;
	struct nvml_memory memory;
	unsigned long long reasons;

	if (n->memory && ((memory_fn *)n->memory)(on, &memory) == NVML_OK) {
		look_put_instance(l, SERIES_GPU_MEMORY_USED, device, (int64_t)memory.used);
		look_put_instance(l, SERIES_GPU_MEMORY_TOTAL, device, (int64_t)memory.total);
	}
	if (n->utilisation && ((utilisation_fn *)n->utilisation)(on, &busy) == NVML_OK) {
		look_put_instance(l, SERIES_GPU_BUSY, device, busy.gpu);
		look_put_instance(l, SERIES_GPU_MEMORY_BUSY, device, busy.memory);
	}
	if (n->throttle && ((throttle_fn *)n->throttle)(on, &reasons) == NVML_OK)
		look_put_instance(l, SERIES_GPU_THROTTLE_REASONS, device, (int64_t)reasons);
	look_at_figures(n, device, l, rare);
}

void nvml_look(struct nvml *n, struct look *l, const struct system_process *processes, size_t count)
{
	bool rare = n->looks++ % RARE_EVERY == 0, any = false;

	for (unsigned i = 0; rare && i < n->device_count; i++)
		n->used[i] = look_at_processes(n, i, l, processes, count);
	for (unsigned i = 0; i < n->device_count; i++)
		any |= n->used[i];
	for (unsigned i = 0; i < n->device_count; i++) {
		if (n->used[i] || !any)
			look_at_device(n, i, l, rare);
	}
}
