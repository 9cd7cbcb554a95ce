#include "import/text_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#ifdef INFERSCOPE_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#define INPUT_BYTES (256u << 10)
/* Deflate reaches 1,032; zstd far more, but not with a trace that somebody wants to read. */
#define UNPACK_RATIO 4096u
#define UNPACK_FREE ((uint64_t)256 << 20)
#define WINDOW_LOG_MAX 27 /* what zstd's own program takes unless it is told otherwise */

struct text_source {
	int fd;
	const char *name;
	enum packing packing;
	uint64_t file_bytes, part;
	uint64_t taken; /* read from the file */
	uint64_t given; /* handed out */
	uint8_t *input; /* [at, end) is still to be unpacked */
	size_t at, end;
	bool input_ended;
	bool done;    /* nothing follows */
	bool between; /* members, or frames */
	bool broken;  /* from s->at on */
	bool damaged;
#ifdef INFERSCOPE_HAVE_ISAL
	struct inflate_state *gzip;
#else
	z_stream gzip;
	bool gzip_began;
#endif
	ZSTD_DCtx *zstd;
};

enum packing packing_of(const void *head, size_t bytes)
{
	const uint8_t *p = head;

	if (bytes >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
		return PACKED_GZIP;
	if (bytes >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd)
		return PACKED_ZSTD;
	return PACKED_NOT;
}

const char *packing_name(enum packing p)
{
	static const char *const names[] = { "none", "gzip", "zstd" };

	return names[p];
}

#ifdef INFERSCOPE_HAVE_ISAL

static int gzip_begin(struct text_source *s)
{
	s->gzip = malloc(sizeof(*s->gzip));
	if (!s->gzip)
		return -1;
	isal_inflate_init(s->gzip);
	s->gzip->crc_flag = ISAL_GZIP;
	return 0;
}

static void gzip_end(struct text_source *s)
{
	free(s->gzip);
}

/* 1: a member ended; 0: go on; -1: damaged.  Moves s->at and *filled. */
static int gzip_step(struct text_source *s, uint8_t *to, size_t n, size_t *filled)
{
	int rc;

	s->gzip->next_in = s->input + s->at;
	s->gzip->avail_in = (uint32_t)(s->end - s->at);
	s->gzip->next_out = to + *filled;
	s->gzip->avail_out = (uint32_t)(n - *filled);
	rc = isal_inflate(s->gzip);
	s->at = s->end - s->gzip->avail_in;
	*filled = n - s->gzip->avail_out;
	if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT && rc != ISAL_OUT_OVERFLOW)
		return -1;
	return s->gzip->block_state == ISAL_BLOCK_FINISH;
}

static int gzip_next_member(struct text_source *s)
{
	isal_inflate_reset(s->gzip);
	s->gzip->crc_flag = ISAL_GZIP;
	return 0;
}

#else

static int gzip_begin(struct text_source *s)
{
	s->gzip_began = inflateInit2(&s->gzip, 15 + 16) == Z_OK;
	return s->gzip_began ? 0 : -1;
}

static void gzip_end(struct text_source *s)
{
	if (s->gzip_began)
		inflateEnd(&s->gzip);
}

static int gzip_step(struct text_source *s, uint8_t *to, size_t n, size_t *filled)
{
	int rc;

	s->gzip.next_in = s->input + s->at;
	s->gzip.avail_in = (uInt)(s->end - s->at);
	s->gzip.next_out = to + *filled;
	s->gzip.avail_out = (uInt)(n - *filled);
	rc = inflate(&s->gzip, Z_NO_FLUSH);
	s->at = s->end - s->gzip.avail_in;
	*filled = n - s->gzip.avail_out;
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return -1;
	return rc == Z_STREAM_END;
}

static int gzip_next_member(struct text_source *s)
{
	return inflateReset(&s->gzip) == Z_OK ? 0 : -1;
}

#endif

/* NOLINTNEXTLINE(readability-non-const-parameter): zstd writes to it */
static int zstd_step(struct text_source *s, uint8_t *to, size_t n, size_t *filled)
{
	ZSTD_inBuffer in = { s->input, s->end, s->at };
	ZSTD_outBuffer out = { to, n, *filled };
	size_t rc = ZSTD_decompressStream(s->zstd, &out, &in);

	s->at = in.pos;
	*filled = out.pos;
	return ZSTD_isError(rc) ? -1 : rc == 0;
}

int text_source_new(struct text_source **out, int fd, const char *name, enum packing packing,
		    uint64_t part, struct err *err)
{
	struct text_source *s = calloc(1, sizeof(*s));
	struct stat st;

	if (!s)
		return err_set(err, "cannot open %s: out of memory", name);
	*s = (struct text_source){ .fd = fd, .name = name, .packing = packing, .part = part };
	if (fstat(fd, &st)) {
		err_errno(err, "cannot open %s", name);
		goto fail;
	}
	s->file_bytes = (uint64_t)st.st_size;
	if (packing != PACKED_NOT)
		s->input = malloc(INPUT_BYTES);
	if (packing == PACKED_ZSTD) {
		s->zstd = ZSTD_createDCtx();
		if (s->zstd)
			ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	}
	if ((packing != PACKED_NOT && !s->input) || (packing == PACKED_ZSTD && !s->zstd) ||
	    (packing == PACKED_GZIP && gzip_begin(s))) {
		err_set(err, "cannot open %s: out of memory", name);
		goto fail;
	}
	s->between = true;
	*out = s;
	return 0;
fail:
	text_source_free(s);
	return -1;
}

void text_source_free(struct text_source *s)
{
	if (!s)
		return;
	if (s->packing == PACKED_GZIP)
		gzip_end(s);
	ZSTD_freeDCtx(s->zstd);
	free(s->input);
	free(s);
}

/* From the file, at most up to `part`. */
static ssize_t take(struct text_source *s, void *to, size_t n, struct err *err)
{
	size_t done = 0;

	if (n > s->part - s->taken)
		n = (size_t)(s->part - s->taken);
	while (done < n) {
		ssize_t got = pread(s->fd, (char *)to + done, n - done, (off_t)s->taken);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, "cannot read %s at byte %llu", s->name,
					 (unsigned long long)s->taken);
		if (!got)
			break;
		done += (size_t)got;
		s->taken += (uint64_t)got;
	}
	return (ssize_t)done;
}

/* Makes sure that there is input, unless it has ended. */
static int fill(struct text_source *s, struct err *err)
{
	ssize_t got;

	if (s->at < s->end || s->input_ended)
		return 0;
	got = take(s, s->input, INPUT_BYTES, err);
	if (got < 0)
		return -1;
	s->at = 0;
	s->end = (size_t)got;
	s->input_ended = !got;
	return 0;
}

static int damage(struct text_source *s, const char *what, struct err *err)
{
	s->damaged = true;
	return err_set(err, "%s is damaged: %s at byte %llu of the file", s->name, what,
		       (unsigned long long)(s->taken - (s->end - s->at)));
}

/* Behind a member: is there another?  What is neither that nor zeros is not ours to judge. */
static bool another_follows(struct text_source *s)
{
	const uint8_t *p = s->input + s->at;
	size_t n = s->end - s->at;

	return s->packing == PACKED_GZIP ? n >= 1 && p[0] == 0x1f : n >= 1 && p[0];
}

static ssize_t unpack(struct text_source *s, uint8_t *to, size_t n, struct err *err)
{
	size_t filled = 0;

	while (filled < n && !s->done && !s->broken) {
		size_t at = s->at, before = filled;
		int rc;

		if (fill(s, err))
			return -1;
		if (s->input_ended && s->between) {
			s->done = true;
			break;
		}
		if (s->between && s->given + filled && !another_follows(s)) {
			s->done = true; /* tar and others pad with zeros */
			break;
		}
		s->between = false;
		rc = s->packing == PACKED_GZIP ? gzip_step(s, to, n, &filled)
					       : zstd_step(s, to, n, &filled);
		if (rc < 0) {
			s->broken = true; /* what came before it is good */
			break;
		}
		if (s->given + filled > UNPACK_FREE + UNPACK_RATIO * s->taken)
			return damage(s, "it unpacks to more than 4096 times its size", err);
		if (rc > 0) {
			s->between = true;
			if (s->packing == PACKED_GZIP && gzip_next_member(s))
				return damage(s, "broken gzip data", err);
		} else if (s->input_ended && filled == before && s->at == at) {
			if (filled || s->taken >= s->part) {
				s->done = s->taken >= s->part;
				break;
			}
			return damage(s, "the compressed data ends too early", err);
		}
	}
	if (s->broken && !filled)
		return damage(s,
			      s->packing == PACKED_GZIP ? "broken gzip data" : "broken zstd data",
			      err);
	return (ssize_t)filled;
}

ssize_t text_source_read(struct text_source *s, void *to, size_t n, struct err *err)
{
	ssize_t got = s->packing == PACKED_NOT ? take(s, to, n, err) : unpack(s, to, n, err);

	if (got > 0)
		s->given += (uint64_t)got;
	return got;
}

bool text_source_damaged(const struct text_source *s)
{
	return s->damaged;
}

enum packing text_source_packing(const struct text_source *s)
{
	return s->packing;
}

uint64_t text_source_bytes(const struct text_source *s)
{
	return s->given;
}

uint64_t text_source_file_bytes(const struct text_source *s)
{
	return s->file_bytes;
}

bool text_source_cut(const struct text_source *s)
{
	return s->part < s->file_bytes && s->taken >= s->part;
}
