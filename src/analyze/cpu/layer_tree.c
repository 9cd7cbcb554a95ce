#include "analyze/cpu/layer_totals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/timeline.h"

/* A file may choose names: at most so many are compared for one of them, and a tree is at most so
 * deep. */
#define PROBES_MAX 64u
#define PARTS_MAX 64u
#define DEPTH_MAX 1000u

#define UNKNOWN UINT32_MAX
#define IN_PROGRESS (UINT32_MAX - 1)

struct node {
	const struct layer_sums *totals; /* NULL: a root whose own calls were not recorded */
	const char *name, *class_name;
	uint32_t process;
	int64_t first_ns;
	size_t root;     /* itself, if it is one */
	size_t parent;   /* LAYER_NONE: none */
	size_t same;     /* the one whose row it shares; itself, if it has one */
	bool has_layers; /* of a root */
	uint32_t depth;
	uint32_t number;   /* of the first root of a class: how many there are */
	const char *label; /* of a root */
	size_t first_child, next_sibling, row;
	struct layer_figures sum;
	bool folded;
	const char *text; /* it is found by: its name or, of a root, its class */
};

struct tree {
	const struct trace *trace;
	struct node *nodes;
	size_t count, rows;
	struct pair_map by_text; /* (place, hash of the text) */
};

static uint64_t text_hash(const char *text, size_t bytes)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)text[i]) * 1099511628211u;
	return hash;
}

/* The node with this text at a place; LAYER_NONE, and *key is where one can be put. */
static size_t text_find(const struct tree *t, uint64_t place, const char *text, size_t bytes,
			uint64_t *key)
{
	*key = text_hash(text, bytes);
	for (unsigned i = 0; i < PROBES_MAX; i++, ++*key) {
		size_t at = pair_map_find(&t->by_text, place, *key);

		if (at == PAIR_NONE)
			return LAYER_NONE;
		if (!strncmp(t->nodes[at].text, text, bytes) && !t->nodes[at].text[bytes])
			return at;
	}
	return LAYER_NONE;
}

/* The first node that had this text at this place, which may be this one; LAYER_NONE: no memory. */
static size_t text_take(struct tree *t, size_t node, uint64_t place, const char *text)
{
	uint64_t key;
	size_t at = text_find(t, place, text, strlen(text), &key);

	if (at != LAYER_NONE)
		return at;
	if (pair_map_put(&t->by_text, place, key, node))
		return LAYER_NONE;
	t->nodes[node].text = text;
	return node;
}

/* A definition that leads nowhere leaves a layer on its own. */
static const struct trace_layer *root_of(const struct trace *t, uint32_t id)
{
	const struct trace_layer *layer = trace_layer(t, id);
	const struct trace_layer *root =
		layer && layer->root && layer->root != id ? trace_layer(t, layer->root) : NULL;

	return root && !root->root ? root : NULL;
}

static void node_init(struct tree *t, size_t at, uint32_t process, uint32_t id)
{
	const struct trace_layer *layer = trace_layer(t->trace, id);

	t->nodes[at] = (struct node){
		.name = layer ? layer->name : "",
		.class_name = layer ? layer->class_name : "(unknown)",
		.process = process,
		.root = at,
		.parent = LAYER_NONE,
		.same = at,
		.depth = UNKNOWN,
		.first_child = LAYER_NONE,
		.next_sibling = LAYER_NONE,
	};
}

/* Every layer, and the roots of those whose root's own calls were not recorded. */
static int list_nodes(struct tree *t, struct layer_totals *c)
{
	for (size_t i = 0; i < c->count; i++) {
		node_init(t, i, c->items[i].process, c->items[i].id);
		t->nodes[i].totals = &c->items[i];
		t->nodes[i].sum = c->items[i].sum;
		t->nodes[i].folded = c->items[i].folded;
		t->nodes[i].first_ns = c->items[i].first_ns;
	}
	t->count = c->count;
	for (size_t i = 0; i < c->count; i++) {
		const struct layer_sums *l = &c->items[i];
		uint32_t root = root_of(t->trace, l->id) ? trace_layer(t->trace, l->id)->root : 0;
		size_t at = root ? pair_map_find(&c->index, l->process, root) : i;

		if (at == PAIR_NONE) {
			at = t->count++;
			node_init(t, at, l->process, root);
			t->nodes[at].first_ns = l->first_ns;
			if (pair_map_put(&c->index, l->process, root, at))
				return -1;
		}
		t->nodes[i].root = at;
		t->nodes[at].has_layers |= at != i;
	}
	return 0;
}

static void share_row(struct tree *t, size_t node, size_t with)
{
	struct node *n = &t->nodes[node], *w = &t->nodes[with];

	n->same = with;
	w->folded |= n->folded;
	if (n->first_ns < w->first_ns)
		w->first_ns = n->first_ns;
	layer_figures_add(&w->sum, &n->sum);
}

/* Places: those inside a root have its number, those of roots have a bit of their own. */
#define PLACE_OF_ROOTS ((uint64_t)1 << 62)
#define PLACE_OUTERMOST ((uint64_t)1 << 61)
#define PLACE_OF_LABELS ((uint64_t)1 << 60)

/* The layer around was seen first, so that it knows its own row already. */
static int find_row(struct tree *t, size_t i)
{
	struct node *n = &t->nodes[i];
	size_t around = n->totals ? n->totals->around : LAYER_NONE;
	size_t with = i;

	if (around != LAYER_NONE)
		around = t->nodes[around].same;
	if (n->root != i) {
		with = text_take(t, i, n->root, n->name);
	} else if (n->has_layers) {
		n->parent = around;
	} else {
		n->parent = around;
		with = text_take(
			t, i,
			PLACE_OF_ROOTS |
				(around != LAYER_NONE ? around : PLACE_OUTERMOST | n->process),
			n->class_name);
	}
	if (with == LAYER_NONE)
		return -1;
	if (with != i)
		share_row(t, i, with);
	return 0;
}

static void find_parent(struct tree *t, size_t i)
{
	struct node *n = &t->nodes[i];
	size_t bytes = strlen(n->name);
	uint64_t key;

	for (unsigned parts = 0; bytes && parts < PARTS_MAX; parts++) {
		size_t at;

		while (bytes && n->name[bytes - 1] != '.')
			bytes--;
		if (!bytes)
			break;
		at = text_find(t, n->root, n->name, --bytes, &key);
		if (at != LAYER_NONE && at != i) {
			n->parent = at;
			return;
		}
	}
	n->parent = n->root;
}

/* Names and calls together may lead round in a circle, in a file that was made to. */
static void find_depth(struct tree *t, size_t i)
{
	size_t path[DEPTH_MAX];
	size_t n = 0;

	for (size_t at = i; at != LAYER_NONE && t->nodes[at].depth == UNKNOWN;
	     at = t->nodes[at].parent) {
		t->nodes[at].depth = IN_PROGRESS;
		path[n++] = at;
		if (n == DEPTH_MAX) {
			t->nodes[at].parent = LAYER_NONE;
			break;
		}
	}
	while (n) {
		struct node *node = &t->nodes[path[--n]];
		uint32_t above = node->parent == LAYER_NONE ? 0 : t->nodes[node->parent].depth;

		if (above >= DEPTH_MAX) { /* IN_PROGRESS too */
			node->parent = LAYER_NONE;
			above = 0;
		}
		node->depth = node->parent == LAYER_NONE ? 0 : above + 1;
	}
}

static int first_seen_first(const void *a, const void *b, void *ctx)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct node *nodes = ctx;

	if (nodes[x].process != nodes[y].process)
		return nodes[x].process < nodes[y].process ? -1 : 1;
	if (nodes[x].first_ns != nodes[y].first_ns)
		return nodes[x].first_ns < nodes[y].first_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The first of the outermost rows; LAYER_NONE: no memory. */
static size_t link_siblings(struct tree *t)
{
	size_t *order = calloc(t->count + 1, sizeof(*order)), n = 0, outermost = LAYER_NONE;

	if (!order)
		return LAYER_NONE;
	for (size_t i = 0; i < t->count; i++) {
		if (t->nodes[i].same == i)
			order[n++] = i;
	}
	t->rows = n;
	qsort_r(order, n, sizeof(*order), first_seen_first, t->nodes);
	while (n) {
		struct node *node = &t->nodes[order[--n]];
		size_t *list = node->parent == LAYER_NONE ? &outermost
							  : &t->nodes[node->parent].first_child;

		node->next_sibling = *list;
		*list = order[n];
	}
	free(order);
	return outermost;
}

/* A second root of a class has "#2" behind its name. */
static int name_root(struct tree *t, size_t i, struct arena *texts)
{
	struct node *n = &t->nodes[i];
	size_t bytes = strlen(n->class_name) + 24;
	struct node *first;
	char *label;
	size_t at;

	n->label = n->class_name;
	if (!n->has_layers && n->parent != LAYER_NONE)
		return 0;
	at = text_take(t, i, PLACE_OF_LABELS | n->process, n->class_name);
	if (at == LAYER_NONE)
		return -1;
	first = &t->nodes[at];
	if (++first->number == 1)
		return 0;
	label = arena_alloc(texts, bytes);
	if (!label)
		return -1;
	snprintf(label, bytes, "%s#%" PRIu32, n->class_name, first->number);
	n->label = label;
	return 0;
}

/* The model that a row is part of: one without layers of its own is part of what called it. */
static const char *model_of(const struct analysis_layers *out, const struct tree *t, size_t i)
{
	const struct node *n = &t->nodes[i];

	if (n->root != i)
		return t->nodes[n->root].label;
	if (n->parent == LAYER_NONE || n->has_layers)
		return n->label;
	return out->items[t->nodes[n->parent].row].root;
}

static void write_row(struct analysis_layers *out, struct tree *t, size_t i)
{
	struct node *n = &t->nodes[i];
	const struct node *around = n->parent == LAYER_NONE ? NULL : &t->nodes[n->parent];
	size_t process = process_position(t->trace, n->process);

	n->row = out->count;
	out->items[out->count++] = (struct analysis_layer){
		.name = n->root == i ? n->label : n->name,
		.class_name = n->class_name,
		.root = model_of(out, t, i),
		.pid = process < trace_process_count(t->trace)
			       ? trace_process(t->trace, process)->pid
			       : 0,
		.depth = n->depth,
		.parent = around ? around->row : LAYER_NONE,
		.sum = n->sum,
		.folded = n->folded,
	};
	out->folded += n->folded;
}

/* Those of a layer behind it.  A root may stand behind its own layers: labels come first. */
static int write_rows(struct analysis_layers *out, struct tree *t, size_t outermost)
{
	for (unsigned pass = 0; pass < 2; pass++) {
		for (size_t i = outermost; i != LAYER_NONE;) {
			struct node *n = &t->nodes[i];

			if (!pass && n->root == i && name_root(t, i, &out->texts))
				return -1;
			if (pass)
				write_row(out, t, i);
			if (n->first_child != LAYER_NONE) {
				i = n->first_child;
				continue;
			}
			while (i != LAYER_NONE && t->nodes[i].next_sibling == LAYER_NONE)
				i = t->nodes[i].parent;
			if (i != LAYER_NONE)
				i = t->nodes[i].next_sibling;
		}
	}
	return 0;
}

static int build(struct analysis_layers *out, struct tree *t, struct layer_totals *c)
{
	size_t outermost;

	if (list_nodes(t, c))
		return -1;
	for (size_t i = 0; i < t->count; i++) {
		if (find_row(t, i))
			return -1;
	}
	for (size_t i = 0; i < t->count; i++) {
		if (t->nodes[i].same == i && t->nodes[i].root != i)
			find_parent(t, i);
	}
	for (size_t i = 0; i < t->count; i++) {
		if (t->nodes[i].same == i)
			find_depth(t, i);
	}
	outermost = link_siblings(t);
	out->items = outermost == LAYER_NONE ? NULL : calloc(t->rows, sizeof(*out->items));
	return out->items ? write_rows(out, t, outermost) : -1;
}

int layer_tree_build(struct analysis_layers *out, struct layer_totals *c)
{
	struct tree t = { .trace = c->trace };
	int rc = -1;

	if (!c->count)
		return 0;
	pair_map_init(&t.by_text);
	t.nodes = calloc(2 * c->count, sizeof(*t.nodes)); /* each may bring a root */
	if (t.nodes)
		rc = build(out, &t, c);
	free(t.nodes);
	pair_map_release(&t.by_text);
	return rc;
}
