#include "report/json/report_json_sections.h"

#include "report/json/json_put.h"

#define NORMAL_ROWS 50

static const char *const state_keys[SAMPLE_STATES] = {
	[SAMPLE_RUNNING] = "running_ms",     [SAMPLE_GIL_WAIT] = "gil_wait_ms",
	[SAMPLE_LOCK_WAIT] = "lock_wait_ms", [SAMPLE_IO_WAIT] = "io_wait_ms",
	[SAMPLE_OFF_CPU] = "off_cpu_ms",     [SAMPLE_SLEEP] = "sleep_ms",
	[SAMPLE_UNKNOWN] = "unknown_ms",
};

static const char *const evidence_names[] = {
	[WAIT_HOLDER_UNKNOWN] = "unknown",
	[WAIT_HOLDER_LIKELY] = "likely",
	[WAIT_HOLDER_SEEN] = "seen",
};

void json_put_states(struct json *j, const struct analysis_states *s)
{
	if (!s->known) {
		put_null(j, "states");
		return;
	}
	begin_object(j, "states");
	for (size_t i = 0; i < SAMPLE_STATES; i++)
		put_ms(j, state_keys[i], s->ns[i]);
	put_ms(j, "has_gil_ms", s->has_gil_ns);
	json_object_end(j);
}

void json_put_absences(struct json *j, const struct analysis_absences *a)
{
	begin_object(j, "absences");
	put_uint(j, "count", a->count);
	put_ms(j, "waited_ms", a->waited_ns);
	put_ms(j, "preempted_ms", a->preempted_ns);
	put_ms(j, "longest_ms", a->longest_ns);
	json_object_end(j);
}

static void put_place(struct json *j, const char *key, const struct place *p)
{
	if (!p->name) {
		put_null(j, key);
		return;
	}
	begin_object(j, key);
	put_string(j, "function", p->name);
	put_string(j, "file", p->file);
	put_uint(j, "line", p->line);
	json_object_end(j);
}

static void put_waits(struct json *j, const char *key, const struct analysis_waits *w,
		      int64_t wall_ns, enum report_detail detail)
{
	size_t rows = json_rows(detail, w->count, NORMAL_ROWS);

	begin_object(j, key);
	put_ms(j, "wait_ms", w->total_ns);
	put_uint(j, "wait_count", w->count);
	begin_array(j, "waits");
	for (size_t i = 0; i < rows; i++) {
		json_object_begin(j);
		put_place(j, "waiter", &w->items[i].waiter);
		put_place(j, "holder", &w->items[i].holder);
		put_string(j, "evidence", evidence_names[w->items[i].evidence]);
		put_ms(j, "ms", w->items[i].ns);
		put_share(j, "wall_share", (double)w->items[i].ns, (double)wall_ns);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void put_native(struct json *j, const struct analysis_native *n, enum report_detail detail)
{
	size_t rows = json_rows(detail, n->count, NORMAL_ROWS);

	put_uint(j, "native_samples", n->samples);
	begin_array(j, "native");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_native_row *r = &n->rows[i];

		json_object_begin(j);
		put_string(j, "symbol", r->symbol);
		put_string(j, "library", r->library);
		put_place(j, "python", &r->python);
		put_uint(j, "samples", r->samples);
		put_share(j, "self_share", (double)r->samples, (double)n->samples);
		json_object_end(j);
	}
	json_array_end(j);
}

void json_put_waits(struct json *j, const struct analysis *a, enum report_detail detail)
{
	put_waits(j, "gil", &a->gil, a->run.wall_ns, detail);
	put_waits(j, "locks", &a->locks, a->run.wall_ns, detail);
	put_native(j, &a->native, detail);
}
