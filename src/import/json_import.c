/*
 * The object or array around the events: which format it is shows in its keys, which come in any
 * order.  Trace events may be an array alone, whose end may be missing.
 */
#include "import/json_import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/chrome.h"
#include "import/inferscope_json.h"
#include "import/json_scan.h"

/* Keys at the top that tell a format which is not read. */
static const struct {
	const char *key;
	const char *format, *advice;
} refused[] = {
	{ "rocprofiler-sdk-tool", "a JSON trace of rocprofv3",
	  "record with PyTorch's profiler, or export with 'rocprofv3 --output-format pftrace' and "
	  "open that elsewhere" },
	{ "nodes", "a PyTorch execution trace (Chakra), which has no times",
	  "record with torch.profiler and export_chrome_trace()" },
	{ "shared", "a speedscope profile", "use the trace that it was made from" },
	{ "cells", "a notebook", "give a trace" },
};

struct reader {
	struct json_scan scan;
	struct chrome chrome;
	struct inferscope_json own;
	bool is_own; /* it has the key "inferscope" */
	struct build *build;
	const char *path;
	struct err *err;
	bool array; /* the text is one */
	bool events;
	bool between; /* two events */
	const char *refused, *advice;
};

#define IS(text) (bytes == sizeof(text) - 1 && !memcmp(key, text, sizeof(text) - 1))

static int read_events(struct reader *r)
{
	struct json_value v;

	if (json_take(&r->scan, &v))
		return -1;
	if (v.kind == JSON_OBJECT)
		return json_leave(&r->scan, true);
	if (v.kind != JSON_ARRAY)
		return 0;
	r->events = true;
	return chrome_read_events(&r->chrome, &r->scan, &r->between);
}

static void check_refused(struct reader *r, const char *key, size_t bytes)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		if (bytes != strlen(refused[i].key) || memcmp(key, refused[i].key, bytes) != 0)
			continue;
		r->refused = refused[i].format;
		r->advice = refused[i].advice;
	}
}

static int read_object(struct reader *r)
{
	const char *key;
	size_t bytes;
	int rc;

	for (bool first = true; (rc = json_next_key(&r->scan, &key, &bytes, first)) == 1;
	     first = false) {
		int failed;

		if (IS("traceEvents")) {
			failed = read_events(r);
		} else if (IS("inferscope")) {
			r->is_own = true;
			failed = inferscope_json_read_run(&r->own, &r->scan);
		} else if (IS("events")) {
			failed = inferscope_json_read_events(&r->own, &r->scan);
		} else {
			check_refused(r, key, bytes);
			failed = chrome_read_fact(&r->chrome, &r->scan, key, bytes);
		}
		if (failed)
			return -1;
		r->between = false;
	}
	return rc;
}

static int read_text(struct reader *r)
{
	struct json_value v;

	if (json_take(&r->scan, &v))
		return -1;
	if (v.kind == JSON_OBJECT) {
		if (read_object(r))
			return -1;
	} else if (v.kind == JSON_ARRAY) {
		r->array = r->events = true;
		if (chrome_read_events(&r->chrome, &r->scan, &r->between))
			return -1;
	}
	return json_finish(&r->scan);
}

static uint64_t event_count(const struct reader *r)
{
	return r->is_own ? r->own.events : r->chrome.counts.events;
}

static int refuse(struct reader *r)
{
	if (r->refused)
		return err_set(r->err, "%s is %s; it cannot be imported: %s", r->path, r->refused,
			       r->advice);
	if (!r->events && !r->is_own)
		return err_set(r->err,
			       "%s is JSON, but not a known trace: it has no \"traceEvents\"; use "
			       "a trace of torch.profiler, VizTracer, Chrome or InferScope",
			       r->path);
	return err_set(r->err, "%s has no events", r->path);
}

/* After a failure: is what was read worth a report? */
static int salvage(struct reader *r, struct json_import *out)
{
	bool cut = text_source_cut(r->scan.source);
	struct err why = *r->err;

	if (!r->scan.truncated || !event_count(r))
		return err_set(r->err, "%s: %s", r->path, why.text);
	if (r->array && r->between && !cut && !text_source_damaged(r->scan.source))
		return 0; /* the format allows it */
	if (cut)
		snprintf(out->partial, sizeof(out->partial),
			 "only its first %.0f MB were read: the whole file needs more memory than "
			 "--max-memory allows",
			 (double)text_source_bytes(r->scan.source) / 1e6);
	else
		snprintf(out->partial, sizeof(out->partial), "%.400s", why.text);
	return 0;
}

static const char *format_of(const struct reader *r)
{
	if (r->is_own)
		return "InferScope JSON";
	if (r->chrome.kineto)
		return "Kineto JSON";
	return r->chrome.viztracer ? "VizTracer JSON" : "Chrome trace JSON";
}

int json_import(struct json_import *out, struct build *b, struct text_source *source,
		const char *path, struct err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (!r)
		return err_set(err, "out of memory");
	r->build = b;
	r->path = path;
	r->err = err;
	inferscope_json_init(&r->own, b);
	if (json_scan_init(&r->scan, source, err))
		goto out;
	if (chrome_init(&r->chrome, b)) {
		err_set(err, "out of memory");
		goto out;
	}
	rc = read_text(r);
	if (rc && !err_is_memory(err))
		rc = salvage(r, out);
	if (!rc && !event_count(r))
		rc = refuse(r);
	out->format = format_of(r);
	if (!rc && (build_note(b, "Imported from %s (%llu events%s); times are those of that file",
			       out->format, (unsigned long long)event_count(r),
			       buf_string(&r->chrome.tool)) ||
		    (r->is_own ? inferscope_json_finish(&r->own) : chrome_finish(&r->chrome))))
		rc = err_set(err, "out of memory");
out:
	chrome_release(&r->chrome);
	inferscope_json_release(&r->own);
	json_scan_release(&r->scan);
	free(r);
	return rc;
}
