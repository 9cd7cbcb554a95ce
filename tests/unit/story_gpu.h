/* The GPU's words of a story; a part of story.h, which alone includes it. */
#ifndef TESTS_STORY_GPU_H
#define TESTS_STORY_GPU_H

/* "#C@T:B+D/Q": what all activities have in common. */
struct story_work {
	uint64_t correlation, start_ns, duration_ns, stream;
	int64_t time_ns;
};

static void story_work(struct story *s, struct story_work *w, const char *token, struct buf *b)
{
	const char *rest = strrchr(token, '#');
	uint64_t epoch = (uint64_t)trace_writer_start(s->writer)->monotonic_ns;

	story_require(rest && sscanf(rest,
				     "#%" SCNu64 "@%" SCNd64 ":%" SCNu64 "+%" SCNu64 "/%" SCNu64,
				     &w->correlation, &w->time_ns, &w->start_ns, &w->duration_ns,
				     &w->stream) == 5,
		      token);
	buf_add_varint(b, w->start_ns ? epoch + w->start_ns : 0);
	buf_add_varint(b, w->duration_ns);
	buf_add_varint(b, 0); /* device */
	buf_add_varint(b, 1); /* context */
	buf_add_varint(b, w->stream);
	buf_add_varint(b, w->correlation);
}

static void story_add(struct buf *b, size_t n, const uint64_t *values)
{
	for (size_t i = 0; i < n; i++)
		buf_add_varint(b, values[i]);
}

/* "!G,N": the graph and the node of an activity; 0 and 0 where it has none. */
static void story_node(const char *token, uint64_t graph[2])
{
	const char *rest = strchr(token, '!');

	graph[0] = graph[1] = 0;
	story_require(!rest || sscanf(rest, "!%" SCNu64 ",%" SCNu64, &graph[0], &graph[1]) == 2,
		      token);
}

/* The GPU's events; false: it is none. */
static bool story_gpu_event(struct story *s, uint32_t thread, const char *token)
{
	uint64_t v[5] = { 0 }, node[2],
		 epoch = (uint64_t)trace_writer_start(s->writer)->monotonic_ns;
	struct story_work work = { 0 };
	uint8_t kind = 0;
	uint32_t id = 0;
	int at = 0, more = 0;
	char name[128];
	struct buf b;

	buf_init(&b);
	if (sscanf(token, "{%127[^#]#%" SCNu64 ":%" SCNu64 "%n", name, &v[1], &v[0], &at) == 3) {
		kind = RECORD_CUDA_ENTER;
		id = story_string(s, name);
		if (sscanf(token + at, ".%" SCNu64 "%n", &v[4], &more) == 1) {
			at += more;
			v[4]++;
		}
		if (sscanf(token + at, "=%" SCNu64 "%n", &v[3], &more) == 1)
			at += more;
		story_require(sscanf(token + at, "/%" SCNu64 "@%" SCNd64, &v[2], &work.time_ns) ==
				      2,
			      token);
		v[2] += v[2] ? STORY_STACKS : 0;
		story_add(&b, v[4] ? 5 : 4, v);
	} else if (sscanf(token, "}%u@%" SCNd64, &id, &work.time_ns) == 2) {
		kind = RECORD_CUDA_EXIT;
	} else if (sscanf(token, "kernel:%127[^#!]", name) == 1) {
		kind = RECORD_GPU_KERNEL;
		id = story_string(s, name);
		story_work(s, &work, token, &b);
		story_node(token, node);
		story_add(&b, 11,
			  (uint64_t[11]){ 32, 1, 1, 256, 1, 1, 40, 1024, 0, node[0], node[1] });
	} else if (sscanf(token, "copy:%u,%" SCNu64 ",%" SCNu64 ",%" SCNu64, &id, &v[1], &v[2],
			  &v[0]) == 4) {
		kind = RECORD_GPU_COPY;
		story_work(s, &work, token, &b);
		story_node(token, node);
		story_add(&b, 6, (uint64_t[6]){ v[0], v[1], v[2], 1, node[0], node[1] });
	} else if (sscanf(token, "memset:%" SCNu64, &v[0]) == 1) {
		kind = RECORD_GPU_MEMSET;
		id = GPU_MEMORY_DEVICE;
		story_work(s, &work, token, &b);
		story_node(token, node);
		story_add(&b, 5, (uint64_t[5]){ v[0], 0, 1, node[0], node[1] });
	} else if (sscanf(token, "made:%" SCNu64 "/%u@%" SCNd64, &v[0], &id, &work.time_ns) == 3) {
		kind = RECORD_GRAPH_NODE;
		id += id ? STORY_STACKS : 0;
		story_add(&b, 1, v);
	} else if (sscanf(token, "cloned:%" SCNu64 ",%" SCNu64 "@%" SCNd64, &v[0], &v[1],
			  &work.time_ns) == 3) {
		kind = RECORD_GRAPH_CLONE;
		story_add(&b, 2, v);
	} else if (sscanf(token, "graph:%" SCNu64, &v[0]) == 1) {
		kind = RECORD_GPU_GRAPH;
		story_work(s, &work, token, &b);
		story_add(&b, 1, v);
	} else if (sscanf(token, "dropped:%u@%" SCNd64, &id, &work.time_ns) == 2) {
		kind = RECORD_GPU_DROPPED;
	} else if (sscanf(token, "overhead:%" SCNu64 "+%" SCNu64 "@%" SCNd64, &v[0], &v[1],
			  &work.time_ns) == 3) {
		kind = RECORD_GPU_OVERHEAD;
		v[0] += epoch;
		story_add(&b, 2, v);
	}
	if (kind)
		story_check(s, trace_write_event(s->writer, thread, s->index[thread]++, kind, id,
						 work.time_ns, b.data, b.len, &s->err));
	buf_release(&b);
	return kind != 0;
}

/* "gpu ID STATE T TEXT" and "device ID N T NAME"; false: neither. */
static bool story_gpu_line(struct story *s, const char *line)
{
	uint32_t thread, id;
	int64_t time_ns;
	char text[256];
	uint8_t kind = RECORD_GPU_STATE;
	struct buf b;

	if (sscanf(line, "gpu %u %u %" SCNd64 " %255[^\n]", &thread, &id, &time_ns, text) != 4) {
		kind = RECORD_GPU_DEVICE;
		if (sscanf(line, "device %u %u %" SCNd64 " %255[^\n]", &thread, &id, &time_ns,
			   text) != 4)
			return false;
	}
	buf_init(&b);
	if (kind == RECORD_GPU_DEVICE)
		story_add(&b, 5, (uint64_t[5]){ 141000000000, 4800000000, 132, 1980000, 90 });
	buf_add_str(&b, text);
	story_require(thread < 64, line);
	story_check(s, trace_write_event(s->writer, thread, s->index[thread]++, kind, id, time_ns,
					 b.data, b.len, &s->err));
	buf_release(&b);
	return true;
}

static void story_layer(struct story *s, const char *line)
{
	uint32_t id, root;
	char class_name[128], name[256];
	struct buf b;

	story_require(sscanf(line, "layer %u %u %127s %255s", &id, &root, class_name, name) == 4,
		      line);
	buf_init(&b);
	buf_add_varint(&b, root ? STORY_LAYERS + root : 0);
	buf_add_varint(&b, strlen(class_name));
	buf_add_str(&b, class_name);
	if (strcmp(name, "-"))
		buf_add_str(&b, name);
	story_check(s, trace_write_def(s->writer, DEF_LAYER, STORY_LAYERS + id, b.data, b.len,
				       &s->err));
	buf_release(&b);
}

static uint8_t story_layer_event(const char *token, uint32_t *id, int64_t *time_ns)
{
	bool ends = token[1] == '/', folds = token[1] == '-';

	token += 1 + ends + folds;
	story_require(sscanf(token, "%u@%" SCNd64, id, time_ns) == 2, token);
	*id += *id ? STORY_LAYERS : 0;
	return ends ? RECORD_LAYER_END : folds ? RECORD_LAYERS_FOLDED : RECORD_LAYER_BEGIN;
}

#endif
