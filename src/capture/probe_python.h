/* The question about Python; see probe.h. */
#ifndef CAPTURE_PROBE_PYTHON_H
#define CAPTURE_PROBE_PYTHON_H

#include "capture/probe.h"

/* Records an empty program with the interpreter; nothing is kept. */
void probe_python(const struct probe_context *c, struct probe_result *out);

#endif
