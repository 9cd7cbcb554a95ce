#include "cli/progress.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* Those that take "set title" and ignore "push title" and "pop title" if they lack them. */
static const char *const titled_terminals[] = {
	"alacritty", "contour", "foot",   "ghostty", "gnome", "kitty", "konsole", "mintty",
	"putty",     "rxvt",    "screen", "st",      "tmux",  "vte",   "wezterm", "xterm",
};

#define TITLE(text) "\033]2;" text "\a"
#define PUSH_TITLE "\033[22;2t"
#define POP_TITLE "\033[23;2t"

static bool shown;

bool progress_possible(const char *term)
{
	size_t family = term ? strcspn(term, "-+.") : 0;

	for (size_t i = 0; i < sizeof(titled_terminals) / sizeof(titled_terminals[0]); i++) {
		if (family == strlen(titled_terminals[i]) &&
		    !strncmp(term, titled_terminals[i], family))
			return true;
	}
	return false;
}

void progress_tick(void *context, struct recording *r)
{
	struct drain_totals t = drain_totals(recording_drain(r));

	(void)context;
	fprintf(stderr, "%s" TITLE("inferscope: recording, %.1f M events, %.0f MB, %u process%s"),
		shown ? "" : PUSH_TITLE, (double)t.stored / 1e6,
		(double)trace_writer_bytes(recording_writer(r)) / 1e6, t.processes,
		t.processes == 1 ? "" : "es");
	fflush(stderr);
	shown = true;
}

void progress_clear(void)
{
	/* Empty is what is left where titles cannot be pushed; the next prompt sets its own. */
	if (shown)
		fputs(TITLE("") POP_TITLE, stderr);
	shown = false;
}
