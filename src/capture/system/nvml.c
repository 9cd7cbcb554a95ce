#include "capture/system/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "capture/system/system_files.h"
#include "format/stamp.h"

/* Declared here, as the driver has had them since CUDA 11: nothing of it is needed to build. */
#define NVML_OK 0
#define CLOCK_SM 1
#define CLOCK_MEMORY 2
#define SENSOR_GPU 0
#define NO_ARGUMENT (-1)

#define PROCESSES_MAX 64u

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

/* The library, and the devices to query. */
struct asking {
	struct nvml *nvml;
	const struct system_process *processes;
	size_t process_count;
	struct reading *sample;
	unsigned device;
	void *function; /* the library's */
};

struct question {
	void (*ask)(const struct asking *a, const struct question *q);
	const char *symbol, *older; /* the latter NULL: it never had another name */
	int64_t period_ns;
	int64_t longest_ns;  /* the period, however long answers take */
	double most_of_time; /* that it may take, but for that */
	enum series_kind kind;
	int argument;
};

static void read_processes(const struct asking *a, const struct question *q);
static void read_memory(const struct asking *a, const struct question *q);
static void read_utilisation(const struct asking *a, const struct question *q);
static void read_throttle(const struct asking *a, const struct question *q);
static void read_number(const struct asking *a, const struct question *q);

#define OFTEN NVML_PERIOD_NS, 20ll * NVML_PERIOD_NS, 0.0002
#define RARELY 10ll * NVML_PERIOD_NS, 100ll * NVML_PERIOD_NS, 0.0001

/*
 * Some take a microsecond, some ask the device and take milliseconds, and which is which differs
 * between drivers: each is asked for its own share of the time, all together for 0.3 %.  Memory
 * matters most.  Whose the devices are is asked first.
 *
 * But a figure that was read once, when the program began, is worse than none: for as long as
 * CUDA is initialised all answers wait for it, ten milliseconds and more, and those after it do
 * not.  So none rests for longer than some seconds; if that takes too much, all periods grow.
 */
static const struct question questions[] = {
	{ read_processes, "nvmlDeviceGetComputeRunningProcesses_v3",
	  "nvmlDeviceGetComputeRunningProcesses_v2", 10ll * NVML_PERIOD_NS, 50ll * NVML_PERIOD_NS,
	  0.0005, 0, 0 },
	{ read_memory, "nvmlDeviceGetMemoryInfo", NULL, NVML_PERIOD_NS, 20ll * NVML_PERIOD_NS,
	  0.001, 0, 0 },
	{ read_utilisation, "nvmlDeviceGetUtilizationRates", NULL, OFTEN, 0, 0 },
	{ read_throttle, "nvmlDeviceGetCurrentClocksEventReasons",
	  "nvmlDeviceGetCurrentClocksThrottleReasons", OFTEN, 0, 0 },
	{ read_number, "nvmlDeviceGetClockInfo", NULL, OFTEN, SERIES_GPU_SM_CLOCK, CLOCK_SM },
	{ read_number, "nvmlDeviceGetClockInfo", NULL, OFTEN, SERIES_GPU_MEMORY_CLOCK,
	  CLOCK_MEMORY },
	{ read_number, "nvmlDeviceGetPowerUsage", NULL, OFTEN, SERIES_GPU_POWER, NO_ARGUMENT },
	{ read_number, "nvmlDeviceGetTemperature", NULL, RARELY, SERIES_GPU_TEMPERATURE,
	  SENSOR_GPU },
	{ read_number, "nvmlDeviceGetMaxClockInfo", NULL, RARELY, SERIES_GPU_SM_CLOCK_MAX,
	  CLOCK_SM },
	{ read_number, "nvmlDeviceGetEnforcedPowerLimit", NULL, RARELY, SERIES_GPU_POWER_LIMIT,
	  NO_ARGUMENT },
	{ read_number, "nvmlDeviceGetCurrPcieLinkGeneration", NULL, RARELY,
	  SERIES_GPU_PCIE_GENERATION, NO_ARGUMENT },
	{ read_number, "nvmlDeviceGetMaxPcieLinkGeneration", NULL, RARELY,
	  SERIES_GPU_PCIE_GENERATION_MAX, NO_ARGUMENT },
	{ read_number, "nvmlDeviceGetCurrPcieLinkWidth", NULL, RARELY, SERIES_GPU_PCIE_WIDTH,
	  NO_ARGUMENT },
	{ read_number, "nvmlDeviceGetMaxPcieLinkWidth", NULL, RARELY, SERIES_GPU_PCIE_WIDTH_MAX,
	  NO_ARGUMENT },
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))
#define INTERVAL_MOST 20.0 /* what is cheap is asked every other second, whatever else takes */

_Static_assert(QUESTIONS <= NVML_QUESTIONS, "NVML_QUESTIONS in nvml.h");

static void find_functions(struct nvml *n)
{
	for (size_t i = 0; i < QUESTIONS; i++) {
		const struct question *q = &questions[i];

		n->functions[i] = dlsym(n->library, q->symbol);
		if (!n->functions[i] && q->older)
			n->functions[i] = dlsym(n->library, q->older);
	}
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

/* Who computes on the device: a process of ours? */
static void read_processes(const struct asking *a, const struct question *q)
{
	struct nvml_process all[PROCESSES_MAX];
	unsigned there = PROCESSES_MAX;

	(void)q;
	a->nvml->used[a->device] = false;
	if (((processes_fn *)a->function)(a->nvml->devices[a->device], &there, all) != NVML_OK)
		return;
	for (unsigned i = 0; i < there; i++) {
		for (size_t k = 0; k < a->process_count; k++) {
			struct reading of = *a->sample;

			if ((unsigned)a->processes[k].pid != all[i].pid)
				continue;
			a->nvml->used[a->device] = true;
			of.process = a->processes[k].id;
			if (all[i].used < INT64_MAX) /* else: not available */
				reading_put_instance(&of, SERIES_GPU_PROCESS_MEMORY, a->device,
						     (int64_t)all[i].used);
		}
	}
}

static void read_memory(const struct asking *a, const struct question *q)
{
	struct nvml_memory memory;

	(void)q;
	if (((memory_fn *)a->function)(a->nvml->devices[a->device], &memory) != NVML_OK)
		return;
	reading_put_instance(a->sample, SERIES_GPU_MEMORY_USED, a->device, (int64_t)memory.used);
	reading_put_instance(a->sample, SERIES_GPU_MEMORY_TOTAL, a->device, (int64_t)memory.total);
}

static void read_utilisation(const struct asking *a, const struct question *q)
{
	struct nvml_utilisation busy;

	(void)q;
	if (((utilisation_fn *)a->function)(a->nvml->devices[a->device], &busy) != NVML_OK)
		return;
	reading_put_instance(a->sample, SERIES_GPU_BUSY, a->device, busy.gpu);
	reading_put_instance(a->sample, SERIES_GPU_MEMORY_BUSY, a->device, busy.memory);
}

static void read_throttle(const struct asking *a, const struct question *q)
{
	unsigned long long reasons;

	(void)q;
	if (((throttle_fn *)a->function)(a->nvml->devices[a->device], &reasons) == NVML_OK)
		reading_put_instance(a->sample, SERIES_GPU_THROTTLE_REASONS, a->device,
				     (int64_t)reasons);
}

static void read_number(const struct asking *a, const struct question *q)
{
	void *on = a->nvml->devices[a->device];
	unsigned value;
	int rc = q->argument == NO_ARGUMENT ? ((number_fn *)a->function)(on, &value)
					    : ((chosen_fn *)a->function)(on, q->argument, &value);

	if (rc == NVML_OK)
		reading_put_instance(a->sample, q->kind, a->device, (int64_t)value);
}

static bool owners_are_known(const struct nvml *n)
{
	bool any = false;

	for (unsigned i = 0; i < n->device_count; i++)
		any |= n->used[i];
	return any;
}

/* Queries all devices that matter; which processes use them, of all devices. */
static void read_all(struct asking *a, const struct question *q)
{
	for (a->device = 0; a->device < a->nvml->device_count; a->device++) {
		if (q->ask == read_processes || a->nvml->used[a->device] ||
		    !owners_are_known(a->nvml))
			q->ask(a, q);
	}
}

/* On a grid, so that a waking serves several. */
static int64_t due_after(const struct question *q, int64_t now_ns, double slowdown, int64_t took_ns)
{
	double rest_ns = (double)took_ns / q->most_of_time;

	if (rest_ns > (double)q->longest_ns)
		rest_ns = (double)q->longest_ns;
	if (rest_ns < (double)q->period_ns)
		rest_ns = (double)q->period_ns;
	rest_ns *= slowdown < INTERVAL_MOST ? slowdown : INTERVAL_MOST;
	return (now_ns / NVML_PERIOD_NS + (int64_t)(rest_ns / NVML_PERIOD_NS)) * NVML_PERIOD_NS;
}

/*
 * Of two answers that took long one was interrupted or had to wait; the very first ones took what
 * comes but once.
 */
static int64_t usual_ns(const struct nvml *n, int64_t before_ns, int64_t took_ns)
{
	if (!n->sampled)
		return 0;
	return before_ns && before_ns < took_ns ? before_ns : took_ns;
}

int64_t nvml_poll(struct nvml *n, double slowdown, struct reading *l,
		  const struct system_process *processes, size_t count)
{
	int64_t now_ns = (int64_t)stamp_monotonic(), origin_ns = now_ns - l->time_ns;
	int64_t next_ns = INT64_MAX;

	for (size_t i = 0; i < QUESTIONS; i++) {
		struct asking a = { n, processes, count, l, 0, n->functions[i] };

		if (!a.function)
			continue;
		if (n->due_ns[i] <= now_ns) {
			int64_t took_ns;

			l->time_ns = now_ns - origin_ns;
			read_all(&a, &questions[i]);
			took_ns = (int64_t)stamp_monotonic() - now_ns;
			now_ns += took_ns;
			/* Until it is known all devices are asked about all: that is dearer. */
			n->due_ns[i] =
				due_after(&questions[i], now_ns,
					  questions[i].ask == read_processes && !owners_are_known(n)
						  ? 1
						  : slowdown,
					  usual_ns(n, n->took_ns[i], took_ns));
			n->took_ns[i] = n->sampled ? took_ns : 0;
		}
		if (n->due_ns[i] < next_ns)
			next_ns = n->due_ns[i];
	}
	n->sampled = true;
	return next_ns;
}
