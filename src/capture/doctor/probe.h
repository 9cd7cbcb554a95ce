/*
 * What this machine lets us record: small questions, each answered by doing what
 * a recording would do, without disturbing anything.  For `inferscope doctor`.
 *
 * Asked is only what this version uses.
 */
#ifndef CAPTURE_DOCTOR_PROBE_H
#define CAPTURE_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_level {
	PROBE_OK,
	PROBE_ABSENT, /* not there, and nothing is wrong with that */
	PROBE_PROBLEM,
};

/* What a recording would be asked for.  All borrowed. */
struct probe_context {
	const char *python; /* name or path of the interpreter */
	const char *trace;  /* the trace file; "": none is kept */
	uint64_t buffer_bytes;
	const char *root; /* "" or a folder that plays the part of "/" (tests) */
};

struct probe_result {
	enum probe_level level;
	char found[256]; /* what is there */
	char fix[256];   /* what to do; "" where there is nothing to do */
};

struct probe {
	const char *name; /* "GPU driver" */
	void (*run)(const struct probe_context *c, struct probe_result *out);
};

extern const struct probe probes[]; /* ends with a NULL name */

/*
 * Fill in a result; a fix makes it a problem, an advice is how to have more.  Longer
 * texts are cut.
 */
void probe_set(struct probe_result *out, enum probe_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void probe_fix(struct probe_result *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void probe_advise(struct probe_result *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The questions about samples of threads; see probe.h. */

/* Whether it can be seen what a thread of a child waits for. */
void probe_thread_states(const struct probe_context *c, struct probe_result *out);

/* Whether the recorder may read the memory of a child, and so its Python stacks. */
void probe_samples(const struct probe_context *c, struct probe_result *out);

/* Whether the kernel samples native code for us, and whether it has names. */
void probe_native_samples(const struct probe_context *c, struct probe_result *out);

/* The questions about the GPU; see probe.h. */

void probe_gpu_driver(const struct probe_context *c, struct probe_result *out);
void probe_gpu_cupti(const struct probe_context *c, struct probe_result *out);
void probe_gpu_injection(const struct probe_context *c, struct probe_result *out);
void probe_nvtx_injection(const struct probe_context *c, struct probe_result *out);

/* The question about Python; see probe.h. */

/* Records an empty program with the interpreter; nothing is kept. */
void probe_python(const struct probe_context *c, struct probe_result *out);

/* The questions about room: for the buffer and for the trace file; see probe.h. */

void probe_limits(const struct probe_context *c, struct probe_result *out);
void probe_memory(const struct probe_context *c, struct probe_result *out);
void probe_pressure(const struct probe_context *c, struct probe_result *out);
void probe_trace_file(const struct probe_context *c, struct probe_result *out);

/* Questions about what is read of memory, kernel and devices; see probe.h. */

void probe_system(const struct probe_context *c, struct probe_result *out);
void probe_nvml(const struct probe_context *c, struct probe_result *out);

#endif
