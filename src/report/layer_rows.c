#include "report/layer_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/pair_map.h"

#define PROBES_MAX 64u /* names that a file chose to have one hash stay apart then */

struct collector {
	const struct analysis_layers *layers;
	struct layer_row *rows;
	size_t count, cap;
	size_t *row_of;       /* by layer */
	struct pair_map find; /* (parent, hash of pattern and class): row */
	struct buf pattern;
	struct arena *texts;
};

/* What stands behind the name of the layer around. */
static const char *name_below(const struct analysis_layers *l, const struct analysis_layer *layer)
{
	const struct analysis_layer *around =
		layer->parent == LAYER_NONE ? NULL : &l->items[layer->parent];
	size_t bytes = around ? strlen(around->name) : 0;

	if (around && !strncmp(layer->name, around->name, bytes) && layer->name[bytes] == '.')
		return layer->name + bytes + 1;
	return layer->name;
}

/* "h.3.attn" is "h.*.attn". */
static void make_pattern(struct buf *out, const char *name)
{
	buf_clear(out);
	while (*name) {
		size_t bytes = strcspn(name, "."), digits = strspn(name, "0123456789");

		if (digits == bytes && bytes)
			buf_add_byte(out, '*');
		else
			buf_add(out, name, bytes);
		name += bytes;
		if (*name) {
			buf_add_byte(out, '.');
			name++;
		}
	}
}

static uint64_t hash_texts(const char *a, const char *b)
{
	uint64_t hash = 14695981039346656037u;

	for (; *a; a++)
		hash = (hash ^ (uint8_t)*a) * 1099511628211u;
	for (hash *= 31; *b; b++)
		hash = (hash ^ (uint8_t)*b) * 1099511628211u;
	return hash;
}

/* The row of a layer, or where its new one is to be put. */
static size_t find_row(const struct collector *c, size_t parent, const char *pattern,
		       const char *class_name, uint64_t *key)
{
	*key = hash_texts(pattern, class_name);
	for (unsigned i = 0; i < PROBES_MAX; i++, ++*key) {
		size_t at = pair_map_find(&c->find, parent, *key);

		if (at == PAIR_NONE)
			return LAYER_NONE;
		if (!strcmp(c->rows[at].pattern, pattern) &&
		    !strcmp(c->rows[at].class_name, class_name))
			return at;
	}
	return LAYER_NONE;
}

static int add_row(struct collector *c, const struct analysis_layer *layer, size_t parent,
		   uint64_t key, size_t *out)
{
	struct layer_row *r = array_grow(c->rows, &c->cap, c->count + 1, sizeof(*r));
	char *pattern = arena_alloc(c->texts, c->pattern.len + 1);

	if (r)
		c->rows = r;
	if (!r || !pattern || pair_map_put(&c->find, parent, key, c->count))
		return -1;
	memcpy(pattern, buf_string(&c->pattern), c->pattern.len + 1);
	r[c->count] = (struct layer_row){
		.label = name_below(c->layers, layer),
		.class_name = layer->class_name,
		.pid = layer->pid,
		.parent = parent,
		.first_child = LAYER_NONE,
		.last_child = LAYER_NONE,
		.next = LAYER_NONE,
		.pattern = pattern,
	};
	if (parent != LAYER_NONE) {
		struct layer_row *p = &r[parent];

		if (p->last_child == LAYER_NONE)
			p->first_child = c->count;
		else
			r[p->last_child].next = c->count;
		p->last_child = c->count;
	}
	*out = c->count++;
	return 0;
}

/* Those of different processes stay apart: a root's place is its process. */
static int add_layer(struct collector *c, size_t i)
{
	const struct analysis_layer *layer = &c->layers->items[i];
	size_t parent = layer->parent == LAYER_NONE ? LAYER_NONE : c->row_of[layer->parent];
	struct layer_row *r;
	uint64_t key;
	size_t at = LAYER_NONE;

	make_pattern(&c->pattern, name_below(c->layers, layer));
	if (c->pattern.failed)
		return -1;
	if (parent != LAYER_NONE)
		at = find_row(c, parent, buf_string(&c->pattern), layer->class_name, &key);
	else
		key = i; /* each on its own: they have numbers */
	if (at == LAYER_NONE && add_row(c, layer, parent, key, &at))
		return -1;
	c->row_of[i] = at;
	r = &c->rows[at];
	if (r->layers++)
		r->label = r->pattern;
	r->folded |= layer->folded;
	layer_figures_add(&r->sum, &layer->sum);
	return 0;
}

/* In the order of the tree: layers of later blocks that the first one lacks came last. */
static int put_in_order(struct layer_rows *out, const struct collector *c)
{
	size_t *new_of = calloc(c->count + 1, sizeof(*new_of));

	out->items = calloc(c->count + 1, sizeof(*out->items));
	if (!new_of || !out->items) {
		free(new_of);
		return -1;
	}
	for (size_t root = 0; root < c->count; root++) {
		size_t i = c->rows[root].parent == LAYER_NONE ? root : LAYER_NONE;

		while (i != LAYER_NONE) {
			const struct layer_row *r = &c->rows[i];

			new_of[i] = out->count;
			out->items[out->count] = *r;
			if (r->parent != LAYER_NONE)
				out->items[out->count].parent = new_of[r->parent];
			out->count++;
			if (r->first_child != LAYER_NONE) {
				i = r->first_child;
				continue;
			}
			while (i != LAYER_NONE && c->rows[i].next == LAYER_NONE)
				i = c->rows[i].parent;
			if (i != LAYER_NONE)
				i = c->rows[i].next;
		}
	}
	free(new_of);
	return 0;
}

static int64_t time_of(const struct layer_rows *r, const struct layer_row *row)
{
	return r->by_gpu ? row->sum.gpu_ns : row->sum.cpu_ns;
}

static int most_time_first(const void *a, const void *b, void *ctx)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct layer_rows *r = ctx;
	int64_t of_x = time_of(r, &r->items[x]), of_y = time_of(r, &r->items[y]);

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int choose(struct layer_rows *r, size_t limit)
{
	size_t *order = calloc(r->count + 1, sizeof(*order));

	if (!order)
		return -1;
	for (size_t i = 0; i < r->count; i++) {
		order[i] = i;
		r->by_gpu |= r->items[i].sum.gpu_ns > 0;
	}
	qsort_r(order, r->count, sizeof(*order), most_time_first, r);
	for (; r->shown < r->count && r->shown < limit; r->shown++)
		r->items[order[r->shown]].shown = true;
	free(order);
	return 0;
}

int layer_rows_collect(struct layer_rows *r, const struct analysis_layers *l, size_t limit)
{
	struct collector c = { .layers = l, .texts = &r->texts };
	int rc = -1;

	memset(r, 0, sizeof(*r));
	arena_init(&r->texts);
	buf_init(&c.pattern);
	pair_map_init(&c.find);
	c.row_of = calloc(l->count + 1, sizeof(*c.row_of));
	if (!c.row_of)
		goto out;
	for (size_t i = 0; i < l->count; i++) {
		if (add_layer(&c, i))
			goto out;
	}
	rc = put_in_order(r, &c) || choose(r, limit) ? -1 : 0;
out:
	free(c.row_of);
	free(c.rows);
	pair_map_release(&c.find);
	buf_release(&c.pattern);
	return rc;
}

void layer_rows_release(struct layer_rows *r)
{
	free(r->items);
	arena_release(&r->texts);
	memset(r, 0, sizeof(*r));
}

unsigned layer_row_indent(const struct layer_rows *r, size_t row)
{
	unsigned shown = 0;

	for (size_t i = r->items[row].parent; i != LAYER_NONE; i = r->items[i].parent)
		shown += r->items[i].shown;
	return shown;
}

#define NAMES_MAX 16u /* joined to one */

void layer_row_name(struct buf *out, const struct layer_rows *r, size_t row)
{
	size_t path[NAMES_MAX], n = 0;

	do {
		path[n++] = row;
		row = r->items[row].parent;
	} while (n < NAMES_MAX && row != LAYER_NONE && !r->items[row].shown);
	while (n) {
		buf_add_str(out, r->items[path[--n]].label);
		if (n)
			buf_add_byte(out, '.');
	}
}
