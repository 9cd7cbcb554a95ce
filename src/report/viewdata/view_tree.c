#include "report/viewdata/view_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/viewdata/view_encode.h"

#define LEAF_ITEMS 16384u
#define GRAINS 2048
/* So many nodes without room, and the page counts as full: packing takes most of the time. */
#define MISSES_MAX 4u

struct builder {
	struct view_rows *rows;
	struct view_tree *tree;
	const struct view_names *names;
	uint64_t *before;                   /* items in the bins before each */
	size_t first_of[VIEW_LEVELS + 2];   /* the nodes of a level in tree->nodes */
	int64_t length_ns[VIEW_LEVELS + 1]; /* of the nodes of a level */
	int64_t grain_ns[VIEW_LEVELS + 1];
	struct view_piece pieces[VIEW_LEVELS + 1];
	struct view_totals totals[VIEW_LEVELS + 1];
	size_t open[VIEW_LEVELS + 1]; /* node, SIZE_MAX: none */
	unsigned leaf_level;          /* of the last item */
	int64_t leaf_end_ns;
	uint32_t row;
	bool calls, links, failed; /* of the row: what it has */
	unsigned misses;           /* nodes in a pass that were packed and found no room */
};

static uint64_t items_in(const struct builder *b, unsigned level, size_t index)
{
	size_t bins = (size_t)1 << 2 * (VIEW_LEVELS - level);

	return b->before[(index + 1) * bins] - b->before[index * bins];
}

static int add_node(struct view_tree *t, unsigned level, uint32_t index, uint64_t items)
{
	struct view_node *grown =
		array_grow(t->nodes, &t->node_cap, t->node_count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	t->nodes = grown;
	grown[t->node_count] = (struct view_node){
		.level = level,
		.index = index,
		.leaf = items <= LEAF_ITEMS || level == VIEW_LEVELS,
		.items = items,
	};
	buf_init(&grown[t->node_count++].data);
	return 0;
}

/* Level by level: those of the next are the parts of those that are no leaves. */
static int make_nodes(struct builder *b)
{
	struct view_tree *t = b->tree;

	if (add_node(t, 0, 0, items_in(b, 0, 0)))
		return -1;
	b->first_of[1] = 1;
	for (unsigned level = 1; level <= VIEW_LEVELS; level++) {
		for (size_t i = b->first_of[level - 1]; i < b->first_of[level]; i++) {
			uint32_t first = 4 * t->nodes[i].index;

			for (uint32_t k = 0; !t->nodes[i].leaf && k < 4; k++)
				if (add_node(t, level, first + k, items_in(b, level, first + k)))
					return -1;
		}
		b->first_of[level + 1] = t->node_count;
	}
	return 0;
}

/* SIZE_MAX: a node above it is a leaf. */
static size_t find_node(const struct builder *b, unsigned level, uint32_t index)
{
	const struct view_node *nodes = b->tree->nodes;
	size_t at = b->first_of[level], end = b->first_of[level + 1];

	BISECT(at, end, nodes[at].index < index);
	return at < b->first_of[level + 1] && nodes[at].index == index ? at : SIZE_MAX;
}

static bool is_leaf(const struct builder *b, unsigned level)
{
	return b->tree->nodes[b->open[level]].leaf;
}

static void put(struct builder *b, unsigned level, const struct view_part *part);

static void emit(struct builder *b, unsigned level, const struct view_part *part)
{
	if (!level || part->end_ns - part->start_ns < b->length_ns[level])
		view_piece_add(&b->pieces[level], part);
}

/* What was merged at a level is done. */
static void flush(struct builder *b, unsigned level)
{
	struct view_piece *p = &b->pieces[level];
	struct view_part merged = p->merging;

	if (!merged.count)
		return;
	p->merging.count = 0;
	view_piece_add(p, &merged);
	if (level)
		put(b, level - 1, &merged);
}

static void put(struct builder *b, unsigned level, const struct view_part *part)
{
	struct view_piece *p = &b->pieces[level];

	if (is_leaf(b, level)) {
		emit(b, level, part);
	} else if (part->end_ns - part->start_ns >= b->grain_ns[level]) {
		flush(b, level);
		emit(b, level, part);
	} else {
		if (p->merging.count && part->end_ns - p->merging.start_ns > b->grain_ns[level])
			flush(b, level);
		view_part_merge(&p->merging, part);
		return;
	}
	if (level)
		put(b, level - 1, part);
}

/* The row leaves the node of this level that it is in; deeper ones were left already. */
static void leave(struct builder *b, unsigned level)
{
	struct view_node *node;

	if (b->open[level] == SIZE_MAX)
		return;
	node = &b->tree->nodes[b->open[level]];
	if (!node->leaf)
		flush(b, level);
	view_piece_end(&b->pieces[level], &node->data, b->row,
		       (int64_t)node->index * b->length_ns[level],
		       (struct view_columns){ !node->leaf, node->leaf && b->calls, b->links });
	if (!node->leaf)
		view_totals_put(&b->totals[level], &node->data, b->row);
	if (level)
		view_totals_move(&b->totals[level - 1], &b->totals[level]);
	else
		view_totals_clear(&b->totals[level]);
	b->failed |= node->data.failed;
	b->open[level] = SIZE_MAX;
}

/* To the nodes that a time lies in; both it and what was before it are of one row. */
static void enter(struct builder *b, int64_t start_ns)
{
	unsigned level;

	for (level = VIEW_LEVELS + 1; level-- > 0;) {
		if (b->open[level] == SIZE_MAX)
			continue;
		if ((int64_t)b->tree->nodes[b->open[level]].index == start_ns / b->length_ns[level])
			break;
		leave(b, level);
	}
	for (level = level == UINT32_MAX ? 0 : level + 1; level <= VIEW_LEVELS; level++) {
		if (level && is_leaf(b, level - 1))
			break;
		b->open[level] = find_node(b, level, (uint32_t)(start_ns / b->length_ns[level]));
	}
	b->leaf_level = level - 1;
	b->leaf_end_ns = (start_ns / b->length_ns[b->leaf_level] + 1) * b->length_ns[b->leaf_level];
}

static void add_row(struct builder *b, uint32_t at)
{
	struct view_row *row = &b->rows->rows[at];
	struct view_cursor c;
	struct view_item i;

	b->row = at;
	b->links = row->links;
	b->calls = view_lane_has_self(row->lane);
	b->leaf_end_ns = -1;
	view_cursor_init(&c, row);
	while (view_cursor_next(&c, &i)) {
		int64_t length_ns = i.end_ns - i.start_ns;
		bool is_busy =
			row->lane == VIEW_LANE_BUSY && b->names->labels[i.label].kind == VIEW_BUSY;
		const struct view_part part = {
			.start_ns = i.start_ns,
			.end_ns = i.end_ns,
			.covered_ns = row->lane == VIEW_LANE_BUSY && !is_busy ? 0 : length_ns,
			.longest_ns = is_busy ? 0 : length_ns,
			.inside_ns = i.self_ns < length_ns ? length_ns - i.self_ns : 0,
			.label = i.label,
			.count = 1,
			.link_row = i.link_row,
			.link_start_ns = i.link_start_ns,
		};

		if (i.start_ns >= b->leaf_end_ns)
			enter(b, i.start_ns);
		view_totals_add(&b->totals[b->leaf_level], i.label, length_ns, i.self_ns);
		put(b, b->leaf_level, &part);
	}
	for (unsigned level = VIEW_LEVELS + 1; level-- > 0;)
		leave(b, level);
	buf_release(&row->items);
}

static bool overlaps(const struct builder *b, const struct view_node *n,
		     const struct view_interval *wanted)
{
	int64_t length_ns = b->length_ns[n->level], start_ns = (int64_t)n->index * length_ns;

	return wanted->start_ns < start_ns + length_ns && wanted->end_ns >= start_ns;
}

/* As base64, in its element. */
static size_t page_bytes(size_t bytes)
{
	return (bytes + 2) / 3 * 4 + 80;
}

/* From bytes to packed bytes.  -1: no memory. */
static int pack(struct view_node *n, size_t limit_bytes)
{
	struct buf packed;
	int rc = 0;

	buf_init(&packed);
	buf_add_byte(&n->data, 0);
	/* No page has room for what packs a hundred times better than anything does. */
	if (n->data.len / 1000 <= limit_bytes)
		rc = n->data.failed ? -1 : view_deflate(&packed, n->data.data, n->data.len);
	buf_release(&n->data);
	n->data = packed;
	n->packed = true;
	return rc;
}

/* Takes its room from *left if there is enough.  -1: no memory. */
static int keep(struct builder *b, struct view_node *n, size_t *left, size_t limit_bytes)
{
	/* Nothing packs twenty times: no time is lost on what has no room. */
	if (!n->packed && n->data.len / 20 > *left)
		return 0;
	if (!n->packed && pack(n, limit_bytes))
		return -1;
	if (n->kept || !n->data.len)
		return 0;
	if (page_bytes(n->data.len) > *left) {
		b->misses++;
		return 0;
	}
	n->kept = true;
	*left -= page_bytes(n->data.len);
	if (n->leaf)
		b->tree->whole_count += n->items;
	return 0;
}

/* With the summaries that it is reached through: the page goes down from the root. */
static int keep_leaf(struct builder *b, size_t leaf, size_t *left, size_t limit_bytes)
{
	struct view_node *n = &b->tree->nodes[leaf];

	for (unsigned level = 0; level < n->level && !n->kept; level++) {
		size_t at = find_node(b, level, n->index >> 2 * (n->level - level));

		if (keep(b, &b->tree->nodes[at], left, limit_bytes))
			return -1;
		if (!b->tree->nodes[at].kept)
			return 0;
	}
	return keep(b, n, left, limit_bytes);
}

struct leaf {
	int64_t start_ns;
	size_t node;
};

static int newest_first(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	return x->start_ns > y->start_ns ? -1 : x->start_ns < y->start_ns;
}

/* Summaries may take half of the room, so that something is left to be seen in full. */
static int choose(struct builder *b, const struct view_interval *wanted, size_t wanted_count,
		  size_t limit_bytes)
{
	struct view_tree *t = b->tree;
	size_t half = limit_bytes / 2, left = limit_bytes, count = 0;
	struct leaf *leaves = calloc(t->node_count, sizeof(*leaves));
	int rc = leaves ? 0 : -1;

	b->misses = 0;
	for (size_t i = 0; i < t->node_count && !rc; i++) {
		const struct view_node *n = &t->nodes[i];

		if (n->leaf)
			leaves[count++] =
				(struct leaf){ (int64_t)n->index * b->length_ns[n->level], i };
		else if (b->misses < MISSES_MAX)
			rc = keep(b, &t->nodes[i], &half, limit_bytes);
	}
	left -= limit_bytes / 2 - half;
	half = left / 2; /* the newest have a part in any case */
	left -= half;
	b->misses = 0;
	for (size_t i = 0; i < wanted_count && b->misses < MISSES_MAX; i++)
		for (size_t k = 0; k < count && !rc; k++)
			if (overlaps(b, &t->nodes[leaves[k].node], &wanted[i]))
				rc = keep_leaf(b, leaves[k].node, &half, limit_bytes);
	left += half;
	if (count)
		qsort(leaves, count, sizeof(*leaves), newest_first);
	b->misses = 0;
	for (size_t i = 0; i < count && !rc && b->misses < MISSES_MAX; i++)
		rc = keep_leaf(b, leaves[i].node, &left, limit_bytes);
	for (size_t i = 0; i < t->node_count; i++)
		if (!t->nodes[i].kept)
			buf_release(&t->nodes[i].data);
	free(leaves);
	return rc;
}

int view_tree_make(struct view_tree *tree, struct view_rows *rows, const struct view_names *names,
		   const struct view_interval *wanted, size_t wanted_count, size_t limit_bytes)
{
	struct builder *b = calloc(1, sizeof(*b));
	int rc = -1;

	memset(tree, 0, sizeof(*tree));
	if (!b)
		return -1;
	b->rows = rows;
	b->tree = tree;
	b->names = names;
	tree->unit_ns = rows->bin_ns;
	b->before = calloc(VIEW_BINS + 1, sizeof(*b->before));
	if (!b->before)
		goto out;
	for (size_t i = 0; i < VIEW_BINS; i++)
		b->before[i + 1] = b->before[i] + rows->bins[i];
	tree->item_count = b->before[VIEW_BINS];
	for (unsigned level = 0; level <= VIEW_LEVELS; level++) {
		b->length_ns[level] = rows->bin_ns << 2 * (VIEW_LEVELS - level);
		b->grain_ns[level] = b->length_ns[level] / GRAINS;
		b->open[level] = SIZE_MAX;
		view_piece_init(&b->pieces[level]);
		if (view_totals_init(&b->totals[level], names->label_count))
			goto out;
	}
	if (make_nodes(b))
		goto out;
	for (uint32_t i = 0; i < rows->row_count && !b->failed; i++)
		add_row(b, i);
	if (!b->failed)
		rc = choose(b, wanted, wanted_count, limit_bytes);
out:
	for (unsigned level = 0; level <= VIEW_LEVELS; level++) {
		view_piece_release(&b->pieces[level]);
		view_totals_release(&b->totals[level]);
	}
	free(b->before);
	free(b);
	return rc;
}

void view_tree_release(struct view_tree *t)
{
	for (size_t i = 0; i < t->node_count; i++)
		buf_release(&t->nodes[i].data);
	free(t->nodes);
	memset(t, 0, sizeof(*t));
}
