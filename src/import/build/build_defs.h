/*
 * Definitions of an imported trace, written when something first refers to them.  0 or -1: failed;
 * the writer's err is set.
 */
#ifndef IMPORT_BUILD_DEFS_H
#define IMPORT_BUILD_DEFS_H

#include "format/trace_writer.h"
#include "import/build/build_tables.h"

struct open_span {
	int64_t end_ns; /* BUILD_OPEN: unknown */
	uint32_t id;    /* of its definition, or correlation */
	uint32_t node;  /* of the Python stack down to it; 0: none is known */
	uint8_t kind;   /* enum build_kind */
	bool python;    /* its stack has Python frames, not only operators */
};

struct build_writer {
	struct build *b;
	struct trace_writer *w;
	struct err *err;
	struct open_span *open;
	size_t depth, open_cap;
	struct keymap layer_at; /* (process, layer): id of its definition */
	struct buf payload, text;
	uint32_t thread; /* id in the trace */
	uint32_t process;
	uint64_t index; /* of the next event of the thread */
	uint64_t instances;
	uint32_t *scope_instances; /* by span: for its end; allocated when the first scope comes */
	uint64_t cut, too_deep;
};

/* How much of a text fits, without cutting a character. */
size_t build_fitting(const char *text, size_t bytes, size_t room);

uint32_t build_string_def(struct build_writer *v, uint32_t name);
uint32_t build_function_def(struct build_writer *v, uint32_t function);

uint32_t build_nvtx_def(struct build_writer *v, uint32_t nvtx);
uint32_t build_layer_def(struct build_writer *v, uint32_t layer);

int build_stack_def(struct build_writer *v, uint32_t node, uint32_t *id); /* *id 0: no stack */

#endif
