#include "import/build/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/build/build_tables.h"

#define NOTE_MAX 1024

int build_new(struct build **out, struct err *err)
{
	struct build *b = calloc(1, sizeof(*b));

	if (!b)
		return err_set(err, "out of memory");
	names_init(&b->names);
	keymap_init(&b->process_at);
	keymap_init(&b->thread_at);
	keymap_init(&b->function_at);
	keymap_init(&b->node_at);
	keymap_init(&b->nvtx_at);
	chunked_init(&b->spans, sizeof(struct build_span));
	chunked_init(&b->activities, sizeof(struct build_activity));
	buf_init(&b->infos);
	buf_init(&b->notes);
	b->process_count = b->thread_count = b->function_count = b->node_count = 1;
	b->nvtx_count = 1;
	b->next_def = 1;
	b->window_start_ns = INT64_MAX;
	b->window_end_ns = INT64_MIN;
	*out = b;
	return 0;
}

void build_free(struct build *b)
{
	if (!b)
		return;
	names_release(&b->names);
	keymap_release(&b->process_at);
	keymap_release(&b->thread_at);
	keymap_release(&b->function_at);
	keymap_release(&b->node_at);
	keymap_release(&b->nvtx_at);
	chunked_release(&b->spans);
	chunked_release(&b->activities);
	buf_release(&b->infos);
	buf_release(&b->notes);
	free(b->string_ids);
	free(b->processes);
	free(b->threads);
	free(b->functions);
	free(b->devices);
	free(b->nodes);
	free(b->nvtx);
	free(b);
}

uint32_t build_process(struct build *b, uint64_t key, uint32_t pid)
{
	uint32_t at = keymap_find(&b->process_at, key);
	struct build_process_entry *grown;

	if (at != KEYMAP_NONE)
		return at;
	grown = array_grow(b->processes, &b->process_cap, b->process_count + 1, sizeof(*grown));
	if (!grown)
		return 0;
	b->processes = grown;
	grown[b->process_count] = (struct build_process_entry){
		.pid = pid,
		.first_ns = INT64_MAX,
		.last_ns = INT64_MIN,
	};
	if (keymap_put(&b->process_at, key, (uint32_t)b->process_count))
		return 0;
	return (uint32_t)b->process_count++;
}

uint32_t build_thread(struct build *b, uint32_t process, uint64_t key, uint32_t tid)
{
	uint32_t at = keymap_find(&b->thread_at, key);
	struct build_thread_entry *grown;

	if (at != KEYMAP_NONE)
		return at;
	grown = array_grow(b->threads, &b->thread_cap, b->thread_count + 1, sizeof(*grown));
	if (!grown)
		return 0;
	b->threads = grown;
	grown[b->thread_count] = (struct build_thread_entry){
		.process = process,
		.tid = tid,
		.first_ns = INT64_MAX,
		.last_ns = INT64_MIN,
	};
	if (keymap_put(&b->thread_at, key, (uint32_t)b->thread_count))
		return 0;
	return (uint32_t)b->thread_count++;
}

uint32_t build_process_of(const struct build *b, uint32_t thread)
{
	return b->threads[thread].process;
}

void build_process_name(struct build *b, uint32_t process, uint32_t name)
{
	b->processes[process].name = name;
}

void build_thread_name(struct build *b, uint32_t thread, uint32_t name)
{
	b->threads[thread].name = name;
}

void build_thread_assign(struct build *b, uint32_t thread, uint32_t process)
{
	b->threads[thread].process = process;
}

void build_process_called(struct build *b, uint32_t process, uint32_t name)
{
	if (!b->processes[process].name)
		b->processes[process].name = name;
}

void build_thread_called(struct build *b, uint32_t thread, uint32_t name)
{
	if (!b->threads[thread].name)
		b->threads[thread].name = name;
}

uint32_t build_name(struct build *b, const char *text, size_t bytes)
{
	return names_find(&b->names, text, bytes);
}

const char *build_text(const struct build *b, uint32_t name)
{
	return names_text(&b->names, name);
}

uint32_t build_function(struct build *b, uint32_t name, uint32_t file, uint32_t line)
{
	/* Keys of different functions may be equal: the next one is tried. */
	uint64_t key = (uint64_t)name << 32 | (file * 0x9e3779b1u ^ line);
	struct build_function_entry *grown;
	uint32_t at;

	for (;; key = key * 0x9e3779b97f4a7c15u + 1) {
		const struct build_function_entry *f;

		at = keymap_find(&b->function_at, key);
		if (at == KEYMAP_NONE)
			break;
		f = &b->functions[at];
		if (f->name == name && f->file == file && f->line == line)
			return at;
	}
	grown = array_grow(b->functions, &b->function_cap, b->function_count + 1, sizeof(*grown));
	if (!grown)
		return 0;
	b->functions = grown;
	grown[b->function_count] =
		(struct build_function_entry){ .name = name, .file = file, .line = line };
	if (keymap_put(&b->function_at, key, (uint32_t)b->function_count))
		return 0;
	return (uint32_t)b->function_count++;
}

uint32_t build_layer(struct build *b, uint32_t name, uint32_t class_name, uint32_t root)
{
	return build_function(b, name, class_name, root);
}

uint32_t build_frame(struct build *b, uint32_t caller, uint32_t function)
{
	uint64_t key = (uint64_t)caller << 32 | function;
	uint32_t at = keymap_find(&b->node_at, key);
	struct build_node *grown;

	if (at != KEYMAP_NONE)
		return at;
	grown = array_grow(b->nodes, &b->node_cap, b->node_count + 1, sizeof(*grown));
	if (!grown || b->node_count >= UINT32_MAX)
		return 0;
	b->nodes = grown;
	grown[b->node_count] = (struct build_node){ caller, function, 0 };
	if (keymap_put(&b->node_at, key, (uint32_t)b->node_count))
		return 0;
	return (uint32_t)b->node_count++;
}

static bool same_nvtx(const struct build_nvtx *x, const struct build_nvtx *y)
{
	return x->name == y->name && x->domain == y->domain &&
	       x->category_name == y->category_name && x->category == y->category &&
	       x->colour == y->colour && x->kind == y->kind;
}

uint32_t build_nvtx(struct build *b, const struct build_nvtx *x)
{
	uint64_t key = (uint64_t)x->name << 32 | (x->domain * 0x9e3779b1u ^ x->category << 2 ^
						  x->colour * 0x85ebca6bu ^ (uint32_t)x->kind);
	struct build_nvtx_entry *grown;
	uint32_t at;

	while ((at = keymap_find(&b->nvtx_at, key)) != KEYMAP_NONE) {
		if (same_nvtx(&b->nvtx[at].what, x))
			return at;
		key = key * 0x9e3779b97f4a7c15u + 1;
	}
	grown = array_grow(b->nvtx, &b->nvtx_cap, b->nvtx_count + 1, sizeof(*grown));
	if (!grown)
		return 0;
	b->nvtx = grown;
	grown[b->nvtx_count] = (struct build_nvtx_entry){ .what = *x };
	if (keymap_put(&b->nvtx_at, key, (uint32_t)b->nvtx_count))
		return 0;
	return (uint32_t)b->nvtx_count++;
}

int build_span_add(struct build *b, const struct build_span *s)
{
	struct build_span *to = chunked_add(&b->spans);

	if (!to)
		return -1;
	*to = *s;
	return 0;
}

int build_activity_add(struct build *b, const struct build_activity *a)
{
	struct build_activity *to = chunked_add(&b->activities);

	if (!to)
		return -1;
	*to = *a;
	return 0;
}

int build_device_add(struct build *b, const struct build_device *d)
{
	struct build_device_entry *grown;
	uint32_t name = build_name(b, d->name, strlen(d->name));
	size_t at = 0;

	if (!name)
		return -1;
	while (at < b->device_count && b->devices[at].device.number != d->number)
		at++;
	if (at >= BUILD_DEVICES_MAX)
		return 0;
	grown = array_grow(b->devices, &b->device_cap, at + 1, sizeof(*grown));
	if (!grown)
		return -1;
	b->devices = grown;
	grown[at] = (struct build_device_entry){ *d, name };
	if (at == b->device_count)
		b->device_count++;
	return 0;
}

static int add_text(struct buf *to, const char *text)
{
	buf_add(to, text, strlen(text) + 1);
	return to->failed ? -1 : 0;
}

int build_info(struct build *b, const char *key, const char *value)
{
	return add_text(&b->infos, key) || add_text(&b->infos, value) ? -1 : 0;
}

int build_note(struct build *b, const char *fmt, ...)
{
	char text[NOTE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return add_text(&b->notes, text);
}

void build_window(struct build *b, int64_t start_ns, int64_t end_ns)
{
	b->window_start_ns = start_ns;
	b->window_end_ns = end_ns;
}

void build_epoch(struct build *b, int64_t offset_ns)
{
	b->epoch_ns = offset_ns;
	b->has_epoch = true;
}
