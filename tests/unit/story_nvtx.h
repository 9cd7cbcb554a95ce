/* The part of story.h that defines NVTX's names. */
#ifndef TESTS_STORY_NVTX_H
#define TESTS_STORY_NVTX_H

static void story_nvtx(struct story *s, const char *line)
{
	char name[128], domain[128], category_name[128];
	unsigned kind, category;
	const char *text;
	uint32_t id;
	struct buf b;
	bool is_new;

	story_require(sscanf(line, "nvtx %u %127s %127s %u %127s", &kind, name, domain, &category,
			     category_name) == 5,
		      line);
	id = story_find(s, 's', name, &is_new);
	story_require(is_new, line);
	buf_init(&b);
	buf_add_varint(&b, kind);
	buf_add_varint(&b, 0xff00ff00u + id); /* a colour */
	buf_add_varint(&b, category);
	text = strcmp(domain, "-") ? domain : "";
	buf_add_varint(&b, strlen(text));
	buf_add_str(&b, text);
	text = strcmp(category_name, "-") ? category_name : "";
	buf_add_varint(&b, strlen(text));
	buf_add_str(&b, text);
	buf_add(&b, name, strcspn(name, "'"));
	story_check(s, trace_write_def(s->writer, DEF_NVTX, id, b.data, b.len, &s->err));
	buf_release(&b);
}

#endif
