/* What stands beside the events: devices, versions, the rank, the clock's base. */
#include <stdio.h>
#include <string.h>

#include "import/chrome.h"
#include "import/json_fields.h"

#define VALUE_MAX 256

/* A string or number as text, cut where it is long; false: it is neither. */
static bool plain_text(const struct json_value *v, char *out)
{
	size_t n = v->bytes < VALUE_MAX ? v->bytes : VALUE_MAX;

	if (v->kind != JSON_STRING && v->kind != JSON_NUMBER)
		return false;
	if (v->kind == JSON_STRING && v->escaped)
		n = json_unescape(out, v->text, n);
	else
		memcpy(out, v->text, n);
	out[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!out[i])
			out[i] = ' ';
	return true;
}

/* 1: it is in `out`; 0: it is no plain value, and skipped. */
static int take_text(struct json_scan *s, char *out)
{
	struct json_value v;

	if (json_take(s, &v))
		return -1;
	if (v.kind == JSON_OBJECT || v.kind == JSON_ARRAY)
		return json_leave(s, true);
	return plain_text(&v, out);
}

#define IS(text) (bytes == sizeof(text) - 1 && !memcmp(key, text, sizeof(text) - 1))

static int read_device(struct chrome *c, struct json_scan *s)
{
	char name[VALUE_MAX + 1] = "", text[VALUE_MAX + 1];
	struct build_device d = { .name = name };
	uint64_t id = UINT64_MAX, major = 0, minor = 0, sms = 0;
	struct json_value v;
	const char *key;
	size_t bytes;
	int rc;

	if (json_take(s, &v))
		return -1;
	if (v.kind == JSON_ARRAY)
		return json_leave(s, true);
	if (v.kind != JSON_OBJECT)
		return 0;
	for (bool first = true; (rc = json_next_key(s, &key, &bytes, first)) == 1; first = false) {
		uint64_t unused, *to = IS("id")               ? &id
				       : IS("computeMajor")   ? &major
				       : IS("computeMinor")   ? &minor
				       : IS("numSms")         ? &sms
				       : IS("totalGlobalMem") ? &d.memory_bytes
							      : &unused;
		bool is_name = IS("name");

		rc = take_text(s, is_name ? name : text);
		if (rc < 0)
			return -1;
		if (rc && !is_name)
			json_unsigned(text, strlen(text), to);
	}
	if (rc < 0)
		return -1;
	if (id > UINT32_MAX)
		return 0;
	d.number = (uint32_t)id;
	d.multiprocessors = sms < UINT32_MAX ? (uint32_t)sms : 0;
	d.capability = major < 1000 && minor < 10 ? (uint32_t)(10 * major + minor) : 0;
	return build_device_add(c->build, &d);
}

static int read_devices(struct chrome *c, struct json_scan *s)
{
	struct json_value v;
	int rc;

	if (json_take(s, &v))
		return -1;
	if (v.kind == JSON_OBJECT)
		return json_leave(s, true);
	if (v.kind != JSON_ARRAY)
		return 0;
	for (bool first = true; (rc = json_next_item(s, first)) == 1; first = false)
		if (read_device(c, s))
			return -1;
	return rc;
}

static int fact_add(struct chrome *c, const char *fact, const char *shown, const char *text)
{
	if (shown)
		buf_printf(&c->tool, "; %s %s", shown, text);
	return build_info(c->build, fact, text);
}

/* Facts one level down: {"rank": 0, ...}. */
static int read_members(struct chrome *c, struct json_scan *s, const char *wanted, const char *fact,
			const char *shown)
{
	char text[VALUE_MAX + 1];
	const char *key;
	size_t bytes;
	int rc = json_take_object(s);

	if (rc != 1)
		return rc;
	for (bool first = true; (rc = json_next_key(s, &key, &bytes, first)) == 1; first = false) {
		bool is_wanted = bytes == strlen(wanted) && !memcmp(key, wanted, bytes);

		rc = take_text(s, text);
		if (rc < 0 || (rc && is_wanted && fact_add(c, fact, shown, text)))
			return -1;
	}
	return rc;
}

static const struct {
	const char *key, *fact;
	const char *shown; /* NULL: not in the note */
} facts[] = {
	{ "cupti_version", "import.cupti", "CUPTI" },
	{ "cuda_runtime_version", "import.cuda_runtime", "CUDA" },
	{ "cuda_driver_version", "import.cuda_driver", "driver" },
	{ "roctracer_version", "import.roctracer", "roctracer" },
	{ "rocprofiler-sdk_version", "import.rocprofiler", "rocprofiler" },
	{ "hip_runtime_version", "import.hip_runtime", "HIP" },
	{ "hip_driver_version", "import.hip_driver", "HIP driver" },
	{ "traceName", "import.name", NULL },
	{ "trace_id", "import.trace_id", NULL },
};

#define FACTS (sizeof(facts) / sizeof(*facts))

int chrome_read_fact(struct chrome *c, struct json_scan *s, const char *key, size_t bytes)
{
	char text[VALUE_MAX + 1];
	size_t known = 0;
	int64_t base;
	int rc;

	if (IS("deviceProperties"))
		return read_devices(c, s);
	if (IS("distributedInfo"))
		return read_members(c, s, "rank", "import.rank", "rank");
	if (IS("viztracer_metadata")) {
		c->viztracer = true;
		return read_members(c, s, "version", "import.viztracer", "VizTracer");
	}
	if (IS("baseTimeNanoseconds")) {
		rc = take_text(s, text);
		if (rc == 1 && json_decimal(text, strlen(text), 0, &base) && base >= 0)
			build_epoch(c->build, base);
		return rc < 0 ? -1 : 0;
	}
	while (known < FACTS &&
	       (bytes != strlen(facts[known].key) || memcmp(key, facts[known].key, bytes) != 0))
		known++;
	if (known == FACTS)
		return json_skip(s);
	rc = take_text(s, text);
	if (rc == 1)
		rc = fact_add(c, facts[known].fact, facts[known].shown, text);
	return rc < 0 ? -1 : 0;
}
