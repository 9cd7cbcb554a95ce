#include "export/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "export/export.h"

struct piece {
	off_t at;
	size_t bytes;
};

struct stream {
	struct buf pending;
	struct piece *pieces;
	size_t count, cap;
};

struct spool {
	struct stream *streams;
	size_t count;
	size_t pending; /* of all streams */
	FILE *file;     /* NULL until it is needed */
	off_t end;
	int error; /* errno */
};

int spool_new(struct spool **out, size_t streams, struct err *err)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (s)
		s->streams = calloc(streams + 1, sizeof(*s->streams));
	if (!s || !s->streams) {
		free(s);
		return err_set(err, "out of memory");
	}
	s->count = streams;
	for (size_t i = 0; i < streams; i++)
		buf_init(&s->streams[i].pending);
	*out = s;
	return 0;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		buf_release(&s->streams[i].pending);
		free(s->streams[i].pieces);
	}
	if (s->file)
		fclose(s->file);
	free(s->streams);
	free(s);
}

static void put_away(struct spool *s, struct stream *st)
{
	struct piece *grown = array_grow(st->pieces, &st->cap, st->count + 1, sizeof(*grown));
	size_t bytes = st->pending.len;

	if (!grown) {
		s->error = ENOMEM;
		return;
	}
	st->pieces = grown;
	grown[st->count++] = (struct piece){ s->end, bytes };
	export_flush(&st->pending, fileno(s->file), &s->error);
	s->end += (off_t)bytes;
	buf_release(&st->pending); /* there may be many streams */
	buf_init(&st->pending);
}

static void put_all_away(struct spool *s)
{
	if (!s->file && !(s->file = tmpfile()))
		s->error = errno;
	for (size_t i = 0; i < s->count && !s->error; i++)
		if (s->streams[i].pending.len || s->streams[i].pending.failed)
			put_away(s, &s->streams[i]);
	s->pending = 0;
}

struct buf *spool_stream(struct spool *s, size_t stream)
{
	return &s->streams[stream].pending;
}

void spool_settle(struct spool *s, size_t stream, size_t added_bytes)
{
	(void)stream;
	s->pending += added_bytes;
	if (s->pending >= SPOOL_MEMORY && !s->error)
		put_all_away(s);
}

bool spool_is_empty(const struct spool *s, size_t stream)
{
	return !s->streams[stream].count && !s->streams[stream].pending.len;
}

static void copy_piece(struct spool *s, const struct piece *p, int fd, int *error)
{
	struct buf part;

	buf_init(&part);
	for (size_t done = 0; done < p->bytes && !*error;) {
		size_t n = p->bytes - done;
		char *room;
		ssize_t got;

		if (n > EXPORT_WRITE_BYTES)
			n = EXPORT_WRITE_BYTES;
		room = buf_reserve(&part, n);
		got = room ? pread(fileno(s->file), room, n, p->at + (off_t)done) : 0;
		if (got <= 0) {
			*error = room ? (got ? errno : EIO) : ENOMEM;
			break;
		}
		part.len = (size_t)got;
		done += (size_t)got;
		export_flush(&part, fd, error);
	}
	buf_release(&part);
}

void spool_copy(struct spool *s, size_t stream, int fd, int *error)
{
	struct stream *st = &s->streams[stream];

	if (s->error && !*error)
		*error = s->error;
	for (size_t i = 0; i < st->count && !*error; i++)
		copy_piece(s, &st->pieces[i], fd, error);
	export_flush(&st->pending, fd, error);
}
