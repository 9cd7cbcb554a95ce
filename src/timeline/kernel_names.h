/*
 * Names of kernels: demangled, and a short form for tables.  A kernel that
 * several processes load has several string ids and one entry here.
 */
#ifndef TIMELINE_KERNEL_NAMES_H
#define TIMELINE_KERNEL_NAMES_H

#include "base/arena.h"
#include "base/idmap.h"
#include "timeline/gpu.h"
#include "timeline/pair_map.h"

#define KERNEL_NAME_NONE IDMAP_NONE
#define KERNEL_BRIEF_MAX 60u /* columns; brief names are ASCII wherever the full ones are */

struct kernel_names {
	const struct trace *trace;
	struct gpu_kernel_name *items;
	size_t count, cap;
	struct idmap by_id;      /* string id -> index */
	struct pair_map by_text; /* (length, hash) of the mangled name -> index */
	const char **mangled;    /* of each item; borrowed from the trace */
	size_t mangled_cap;
	struct arena texts;
};

void kernel_names_init(struct kernel_names *n, const struct trace *t);
void kernel_names_release(struct kernel_names *n);

/* The index of a kernel by the string id of its mangled name; KERNEL_NAME_NONE: no memory. */
uint32_t kernel_names_find(struct kernel_names *n, uint32_t id);

/*
 * What tells a reader which kernel it is, from its demangled name: without return
 * type, parameters, namespaces and template arguments, except the functor that
 * says what is computed; kernels of the well-known libraries in words.
 *
 *	void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, ...
 *		vectorized_elementwise_kernel<AddFunctor>
 *	ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn
 *		cublas gemm 128x64 bf16
 *
 * Never empty.
 */
void kernel_brief(const char *full, char brief[KERNEL_BRIEF_MAX + 1]);

/* The same for kernels of the well-known libraries; false: it is none of those. */
bool kernel_library_brief(const char *full, char brief[KERNEL_BRIEF_MAX + 1]);

/* Demangled into `out`, or as it is where it is no mangled name.  Returns the length. */
size_t kernel_demangle(const char *mangled, char *out, size_t room);

#endif
