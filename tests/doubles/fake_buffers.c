/* The life of activity buffers; see fake_buffers.h. */
#include "fake_buffers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_faults.h"
#include "fake_records.h"

#define WORKER_TICK_MS 10u

struct buffer {
	uint8_t *data;
	size_t bytes, used;
	uint64_t number;
	uint64_t done_at; /* CLOCK_MONOTONIC: when the last of its work ends */
	int64_t to_client_clock;
	bool full;
	struct buffer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct buffer *oldest; /* the newest is the one being filled, unless full */
static uint64_t buffers_made;
static size_t dropped;
static fake_request request_buffer;
static fake_complete complete_buffer;

static struct buffer *newest(void)
{
	struct buffer *b = oldest;

	while (b && b->next)
		b = b->next;
	return b;
}

/* CUPTI accounts for its own doings. */
static void add_overhead(struct buffer *b, uint64_t start, int64_t to_client_clock)
{
	struct fake_activity a = { .kind = FAKE_OVERHEAD, .value = 1 << 16 };

	a.start = (uint64_t)((int64_t)start + to_client_clock);
	a.end = a.start + 1000;
	fake_record_write(b->data, fake_version(), &a);
	b->used = fake_record_bytes(fake_version(), FAKE_OVERHEAD);
}

static struct buffer *new_buffer(int64_t to_client_clock)
{
	struct buffer *b = calloc(1, sizeof(*b)), *last = newest();
	uint64_t start = fake_monotonic();
	size_t max_records = 0;

	if (!b)
		abort();
	request_buffer(&b->data, &b->bytes, &max_records);
	if (!b->data || b->bytes < 2 * FAKE_RECORD_MAX) {
		free(b);
		return NULL;
	}
	b->number = ++buffers_made;
	b->to_client_clock = to_client_clock;
	add_overhead(b, start, to_client_clock);
	if (last)
		last->next = b;
	else
		oldest = b;
	return b;
}

static void append(struct buffer *b, const struct fake_activity *a)
{
	fake_record_write(b->data + b->used, fake_version(), a);
	if (fake_is_untimed())
		fake_record_forget_times(b->data + b->used);
	b->used += fake_record_bytes(fake_version(), a->kind);
}

void fake_buffers_add(const struct fake_activity *a, int64_t to_client_clock)
{
	struct fake_activity strange = { .kind = FAKE_STRANGE }, shifted = *a;
	size_t room = fake_record_bytes(fake_version(), a->kind) +
		      fake_record_bytes(fake_version(), FAKE_STRANGE);
	struct buffer *b;

	if (a->kind != FAKE_DEVICE)
		fake_first_activity();
	shifted.start = (uint64_t)((int64_t)a->start + to_client_clock);
	shifted.end = (uint64_t)((int64_t)a->end + to_client_clock);
	pthread_mutex_lock(&lock);
	b = newest();
	if (b && b->used + room > b->bytes)
		b->full = true;
	if (request_buffer && (!b || b->full))
		b = new_buffer(to_client_clock);
	if (!request_buffer || !b || fake_is_dropped()) {
		dropped++;
	} else {
		if (fake_is_strange())
			append(b, &strange);
		append(b, &shifted);
		if (a->end > b->done_at)
			b->done_at = a->end;
	}
	pthread_mutex_unlock(&lock);
}

size_t fake_buffers_take_dropped(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return n;
}

enum want { FULL_ONES, DONE_ONES, ALL };

static bool is_wanted(const struct buffer *b, enum want want, uint64_t now)
{
	if (want == ALL)
		return true;
	return b->done_at <= now && !fake_is_late(b->number) && (b->full || want == DONE_ONES);
}

/* Takes the oldest buffer that is wanted off the list. */
static struct buffer *take(enum want want, fake_complete *complete)
{
	uint64_t now = fake_monotonic();
	struct buffer **at = &oldest, *b;

	pthread_mutex_lock(&lock);
	while (*at && !is_wanted(*at, want, now))
		at = &(*at)->next;
	b = *at;
	if (b)
		*at = b->next;
	*complete = complete_buffer;
	pthread_mutex_unlock(&lock);
	return b;
}

/* What is not done when it is forced out has no times yet. */
static void forget_unfinished(struct buffer *b)
{
	uint64_t now = (uint64_t)((int64_t)fake_monotonic() + b->to_client_clock);

	for (size_t at = 0; at < b->used;) {
		uint32_t kind;

		memcpy(&kind, b->data + at, sizeof(kind));
		if (fake_record_end(b->data + at) > now)
			fake_record_forget_times(b->data + at);
		at += fake_record_bytes(fake_version(), kind);
	}
}

/* No lock while the client has its turn: it asks for dropped records, and more. */
static void deliver(enum want want)
{
	fake_complete complete;
	struct buffer *b;

	while ((b = take(want, &complete))) {
		forget_unfinished(b);
		complete(NULL, 0, b->data, b->bytes, b->used);
		free(b);
	}
}

static _Atomic bool worker_delivers;
static _Thread_local bool is_worker;

static void sleep_ms(unsigned ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

void fake_buffers_flush(bool forced)
{
	deliver(forced ? ALL : DONE_ONES);
	while (!fake_slow_ms() && worker_delivers)
		sleep_ms(1);
}

void fake_buffers_dawdle(void)
{
	if (is_worker)
		sleep_ms(fake_slow_ms());
}

/* Like the real one's: a buffer that is not full stays until somebody flushes. */
static void *work(void *unused)
{
	is_worker = true;
	for (;;) {
		sleep_ms(WORKER_TICK_MS);
		worker_delivers = true;
		deliver(FULL_ONES);
		worker_delivers = false;
	}
	return unused;
}

void fake_buffers_client(fake_request request, fake_complete complete)
{
	pthread_t worker;
	bool first;

	pthread_mutex_lock(&lock);
	first = !request_buffer;
	request_buffer = request;
	complete_buffer = complete;
	pthread_mutex_unlock(&lock);
	if (first && !pthread_create(&worker, NULL, work, NULL))
		pthread_detach(worker);
}
