/*
 * Activity buffers: asked for from the client, filled as work is launched, given
 * back when all work in them is done, by a thread of our own or by a flush.
 */
#ifndef DOUBLES_FAKE_BUFFERS_H
#define DOUBLES_FAKE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake_driver.h"

typedef void (*fake_request)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*fake_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid_bytes);

/* Starts the thread, the first time; the client is the one that came last. */
void fake_buffers_client(fake_request request, fake_complete complete);

/* Work that will be done at a->end; its times are shifted by `to_client_clock`. */
void fake_buffers_add(const struct fake_activity *a, int64_t to_client_clock);

/* Unforced: buffers with unfinished work stay, like the whole of what is late. */
void fake_buffers_flush(bool forced);

/* In the thread of our own: FAKE_CUPTI_SLOW. */
void fake_buffers_dawdle(void);

/* Activities for which there was no room; starts over at 0. */
size_t fake_buffers_take_dropped(void);

#endif
