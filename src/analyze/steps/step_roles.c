#include "analyze/steps/step_roles.h"

#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "format/torch_scopes.h"
#include "timeline/sample_walk.h"

/* Where a worker takes up one piece of work after the other. */
static const struct {
	const char *file; /* how it ends */
	const char *name; /* qualified; before 3.11 without its class */
	enum step_role role;
} takers[] = {
	{ "/torch/utils/data/_utils/worker.py", "_worker_loop", ROLE_LOADS },
	{ "/multiprocessing/pool.py", "worker", ROLE_POOLED },
	{ "/concurrent/futures/process.py", "_process_worker", ROLE_POOLED },
	{ "/loky/process_executor.py", "_process_worker", ROLE_POOLED },
};

struct find_roles {
	struct step_roles *out;
	struct timeline *timeline;
	struct idmap seen; /* stack id -> its role */
	bool failed;
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !memcmp(text + n - m, end, m);
}

static enum step_role role_of_function(const struct trace_code *code)
{
	for (size_t i = 0; code && i < sizeof(takers) / sizeof(takers[0]); i++) {
		if (!strcmp(code->name, takers[i].name) && ends_with(code->file, takers[i].file))
			return takers[i].role;
	}
	return ROLE_NONE;
}

static enum step_role role_of_stack(struct find_roles *f, uint32_t stack)
{
	uint32_t known = idmap_find(&f->seen, stack);
	enum step_role role = ROLE_NONE;
	const struct trace_frame *frames;
	size_t count;

	if (known != IDMAP_NONE)
		return (enum step_role)known;
	frames = trace_stack(f->out->trace, stack, &count);
	for (size_t i = count; frames && i-- && role == ROLE_NONE;)
		role = role_of_function(trace_code(f->out->trace, frames[i].code));
	f->failed |= idmap_put(&f->seen, stack, (uint32_t)role) != 0;
	return role;
}

static void take(struct find_roles *f, uint32_t process, enum step_role role)
{
	size_t at = process_position(f->out->trace, process);

	if (role != ROLE_NONE && at < f->out->count)
		f->out->roles[at] = (uint8_t)role;
}

static void take_sample(void *ctx, const struct timed_sample *s)
{
	struct find_roles *f = ctx;

	take(f, trace_thread(f->out->trace, s->thread)->process,
	     role_of_stack(f, s->sample->stack));
}

/* In a program without workers the main process loads. */
static void take_scopes(struct find_roles *f)
{
	uint32_t main =
		trace_process_count(f->out->trace) ? trace_process(f->out->trace, 0)->id : 0;

	for (size_t i = 0; i < timeline_scope_count(f->timeline); i++) {
		const struct scope *s = timeline_scope(f->timeline, i);

		if (!s->nvtx && s->process != main && !strcmp(s->name, TORCH_LOAD))
			take(f, s->process, ROLE_LOADS);
	}
}

int step_roles_find(struct step_roles *r, const struct trace *t, struct timeline *tl,
		    const struct analysis_gpu *gpu, struct err *err)
{
	struct find_roles f = { .out = r, .timeline = tl };
	const struct sample_visitor visitor = { .ctx = &f, .sample = take_sample };
	struct sample_walk walk; /* what is damaged is counted by sample_totals.c */
	int rc;

	*r = (struct step_roles){ .roles = calloc(trace_process_count(t) + 1, 1),
				  .count = trace_process_count(t),
				  .trace = t };
	if (!r->roles)
		return err_set(err, "out of memory");
	if (r->count < 2) /* there is no process to supply */
		return 0;
	idmap_init(&f.seen);
	rc = sample_walk(&walk, t, &visitor, err);
	idmap_release(&f.seen);
	if (rc || f.failed)
		return err_set(err, "out of memory");
	take_scopes(&f);
	for (size_t i = 0; i < r->count; i++) {
		const struct gpu_section *s = gpu_section_find(gpu, trace_process(t, i)->id);

		if (s && s->first_ns < s->last_ns)
			r->roles[i] = ROLE_OWNS;
	}
	return 0;
}

void step_roles_release(struct step_roles *r)
{
	free(r->roles);
	memset(r, 0, sizeof(*r));
}

enum step_role step_role_of(const struct step_roles *r, uint32_t process)
{
	size_t at = process_position(r->trace, process);

	return at < r->count ? (enum step_role)r->roles[at] : ROLE_NONE;
}
