#include "capture/signals.h"

#include <stddef.h>
#include <string.h>

void signals_hold(struct signals *before)
{
	struct sigaction ignore;

	memset(&ignore, 0, sizeof(ignore));
	ignore.sa_handler = SIG_IGN;
	sigprocmask(SIG_SETMASK, NULL, &before->mask);
	sigaction(SIGPIPE, &ignore, &before->pipe);
	sigaction(SIGXFSZ, &ignore, &before->file_size);
}

void signals_restore(const struct signals *before)
{
	sigaction(SIGPIPE, &before->pipe, NULL);
	sigaction(SIGXFSZ, &before->file_size, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
}
