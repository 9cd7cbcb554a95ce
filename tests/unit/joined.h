/* A recording of this process, in this process: the agent as it is after it has joined. */
#ifndef TESTS_JOINED_H
#define TESTS_JOINED_H

#include <sys/mman.h>
#include <unistd.h>

#include "agent/core/session.h"
#include "capture/session/recording.h"

static struct recording *recording;
static int trace_fd;

static inline void join_with(const struct recording_options *options)
{
	struct err err;

	trace_fd = memfd_create("trace", MFD_CLOEXEC);
	assert_int_equal(recording_new(&recording, trace_fd, options, &err), 0);
	assert_int_equal(session_join(recording_where(recording), 0), 0);
}

/* A test's teardown. */
static inline int leave(void **state)
{
	(void)state;
	session_leave();
	recording_free(recording);
	close(trace_fd);
	return 0;
}

#endif
