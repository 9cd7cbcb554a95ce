#include "import/build/build_defs.h"

#include <string.h>

#include "base/array.h"
#include "base/varint.h"

static int fail_memory(struct build_writer *v)
{
	return err_set(v->err, "out of memory");
}

size_t build_fitting(const char *text, size_t bytes, size_t room)
{
	if (bytes <= room)
		return bytes;
	while (room && ((unsigned char)text[room] & 0xc0) == 0x80)
		room--;
	return room;
}

uint32_t build_string_def(struct build_writer *v, uint32_t name)
{
	uint32_t *id = &v->b->string_ids[name];
	const struct name *n = &v->b->names.items[name];

	if (*id)
		return *id;
	if (trace_write_def(v->w, DEF_STRING, v->b->next_def, n->text,
			    build_fitting(n->text, n->bytes, DEF_PAYLOAD_MAX), v->err))
		return 0;
	return *id = v->b->next_def++;
}

/*
 * Of a function only the line of its definition is known: a table (of CPython 3.10) which says
 * that all of its instructions are there.
 */
static int line_def(struct build_writer *v, uint32_t code)
{
	static const uint8_t table[] = { 10, 254, 0 };

	return trace_write_def(v->w, DEF_LINES, code, table, sizeof(table), v->err);
}

uint32_t build_function_def(struct build_writer *v, uint32_t function)
{
	struct build_function_entry *f = &v->b->functions[function];
	const struct name *names = v->b->names.items;
	const char *name = names_text(&v->b->names, f->name);
	const char *file = names_text(&v->b->names, f->file);
	size_t name_bytes, file_bytes;

	if (f->id)
		return f->id;
	name_bytes = build_fitting(name, names[f->name].bytes, DEF_PAYLOAD_MAX / 2);
	file_bytes =
		f->file ? build_fitting(file, names[f->file].bytes, (size_t)DEF_PAYLOAD_MAX / 4)
			: 0;
	buf_clear(&v->text);
	buf_add_varint(&v->text, f->line);
	buf_add_varint(&v->text, name_bytes);
	buf_add(&v->text, name, name_bytes);
	buf_add(&v->text, file, file_bytes);
	if (v->text.failed) {
		fail_memory(v);
		return 0;
	}
	if (trace_write_def(v->w, DEF_CODE, v->b->next_def, v->text.data, v->text.len, v->err))
		return 0;
	if (f->line && line_def(v, v->b->next_def))
		return 0;
	return f->id = v->b->next_def++;
}

static void add_text(struct build_writer *v, uint32_t name, size_t room)
{
	const char *text = build_text(v->b, name);
	size_t bytes = build_fitting(text, strlen(text), room);

	buf_add_varint(&v->text, bytes);
	buf_add(&v->text, text, bytes);
}

uint32_t build_nvtx_def(struct build_writer *v, uint32_t nvtx)
{
	struct build_nvtx_entry *e = &v->b->nvtx[nvtx];
	const char *name = build_text(v->b, e->what.name);

	if (e->id)
		return e->id;
	buf_clear(&v->text);
	buf_add_varint(&v->text, e->what.kind);
	buf_add_varint(&v->text, e->what.colour);
	buf_add_varint(&v->text, e->what.category);
	add_text(v, e->what.domain, DEF_PAYLOAD_MAX / 8);
	add_text(v, e->what.category_name, DEF_PAYLOAD_MAX / 8);
	buf_add(&v->text, name, build_fitting(name, strlen(name), DEF_PAYLOAD_MAX / 2));
	if (v->text.failed) {
		fail_memory(v);
		return 0;
	}
	if (trace_write_def(v->w, DEF_NVTX, v->b->next_def, v->text.data, v->text.len, v->err))
		return 0;
	return e->id = v->b->next_def++;
}

static uint32_t outermost_layer(const struct build_writer *v)
{
	for (size_t i = 0; i < v->depth; i++)
		if (v->open[i].kind == BUILD_LAYER)
			return v->open[i].id;
	return 0;
}

/* Of the module of this class, or name, that others were named from. */
static uint32_t root_def(struct build_writer *v, uint32_t root)
{
	uint32_t layer = build_layer(v->b, 0, root, 0);

	return layer ? build_layer_def(v, layer) : 0;
}

uint32_t build_layer_def(struct build_writer *v, uint32_t layer)
{
	const struct build_function_entry l = v->b->functions[layer];
	uint64_t key = (uint64_t)v->process << 32 | layer;
	uint32_t id = keymap_find(&v->layer_at, key), root = 0;
	const char *name = build_text(v->b, l.name), *class_name = build_text(v->b, l.file);
	size_t class_bytes =
		build_fitting(class_name, strlen(class_name), (size_t)DEF_PAYLOAD_MAX / 4);

	if (id != KEYMAP_NONE)
		return id;
	if (l.line == BUILD_OUTERMOST)
		root = outermost_layer(v);
	else if (l.line)
		root = root_def(v, l.line);
	if (!root && l.line && l.line != BUILD_OUTERMOST)
		return 0;
	buf_clear(&v->text);
	buf_add_varint(&v->text, root);
	buf_add_varint(&v->text, class_bytes);
	buf_add(&v->text, class_name, class_bytes);
	if (root)
		buf_add(&v->text, name,
			build_fitting(name, strlen(name), (size_t)DEF_PAYLOAD_MAX / 4));
	if (v->text.failed || keymap_put(&v->layer_at, key, v->b->next_def)) {
		fail_memory(v);
		return 0;
	}
	if (trace_write_def(v->w, DEF_LAYER, v->b->next_def, v->text.data, v->text.len, v->err))
		return 0;
	return v->b->next_def++;
}

/* Innermost first, as far as there is room.  -1: failed; *id 0: there is none. */
int build_stack_def(struct build_writer *v, uint32_t node, uint32_t *id)
{
	struct build_node *nodes = v->b->nodes, *n;
	unsigned frames = 0;

	*id = 0;
	if (!node)
		return 0;
	n = &nodes[node];
	if (!n->id) {
		buf_clear(&v->payload);
		for (uint32_t at = node; at && frames < STACK_FRAMES_MAX; frames++) {
			uint32_t code = build_function_def(v, nodes[at].function);

			if (!code)
				return -1;
			if (v->payload.len + 2 * (size_t)VARINT_MAX > DEF_PAYLOAD_MAX)
				break;
			buf_add_varint(&v->payload, code);
			buf_add_varint(&v->payload, 0);
			at = nodes[at].caller;
		}
		if (v->payload.failed)
			return fail_memory(v);
		if (trace_write_def(v->w, DEF_STACK, v->b->next_def, v->payload.data,
				    v->payload.len, v->err))
			return -1;
		n->id = v->b->next_def++;
	}
	*id = n->id;
	return 0;
}
