#include "import/build_defs.h"

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
	file_bytes = f->file ? build_fitting(file, names[f->file].bytes, DEF_PAYLOAD_MAX / 4) : 0;
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

uint32_t build_layer_def(struct build_writer *v, uint32_t name)
{
	uint64_t key = (uint64_t)v->process << 32 | name;
	uint32_t id = keymap_find(&v->layer_at, key), root = 0;
	const char *text = build_text(v->b, name), *number = strrchr(text, '_');
	size_t bytes = build_fitting(text, strlen(text), DEF_PAYLOAD_MAX / 4);
	size_t class_bytes = number ? (size_t)(number - text) : bytes;

	if (id != KEYMAP_NONE)
		return id;
	if (class_bytes > bytes)
		class_bytes = bytes;
	for (size_t i = 0; i < v->depth && !root; i++)
		if (v->open[i].kind == BUILD_LAYER)
			root = v->open[i].id;
	buf_clear(&v->text);
	buf_add_varint(&v->text, root);
	buf_add_varint(&v->text, class_bytes);
	buf_add(&v->text, text, class_bytes);
	if (root)
		buf_add(&v->text, text, bytes);
	if (v->text.failed || keymap_put(&v->layer_at, key, v->b->next_def)) {
		fail_memory(v);
		return 0;
	}
	if (trace_write_def(v->w, DEF_LAYER, v->b->next_def, v->text.data, v->text.len, v->err))
		return 0;
	return v->b->next_def++;
}

uint32_t build_node_of(struct build_writer *v, uint32_t caller, uint32_t function)
{
	uint64_t key = (uint64_t)caller << 32 | function;
	uint32_t at = keymap_find(&v->node_at, key);
	struct stack_node *grown;

	if (at != KEYMAP_NONE)
		return at;
	grown = array_grow(v->nodes, &v->node_cap, v->node_count + 1, sizeof(*grown));
	if (!grown || v->node_count >= UINT32_MAX)
		return 0;
	v->nodes = grown;
	grown[v->node_count] = (struct stack_node){ caller, function, 0 };
	if (keymap_put(&v->node_at, key, (uint32_t)v->node_count))
		return 0;
	return (uint32_t)v->node_count++;
}

/* Innermost first, as far as there is room.  -1: failed; *id 0: there is none. */
int build_stack_def(struct build_writer *v, uint32_t node, uint32_t *id)
{
	struct stack_node *n = &v->nodes[node];
	unsigned frames = 0;

	*id = 0;
	if (!node)
		return 0;
	if (!n->id) {
		buf_clear(&v->payload);
		for (uint32_t at = node; at && frames < STACK_FRAMES_MAX; frames++) {
			uint32_t code = build_function_def(v, v->nodes[at].function);

			if (!code)
				return -1;
			if (v->payload.len + 2 * VARINT_MAX > DEF_PAYLOAD_MAX)
				break;
			buf_add_varint(&v->payload, code);
			buf_add_varint(&v->payload, 0);
			at = v->nodes[at].caller;
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
