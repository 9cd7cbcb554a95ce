#include "capture/psi.h"

#include <string.h>

void psi_parse(const struct system_source *s, struct look *l, const char *text)
{
	static const char total[] = "total=";

	for (const struct keyed_line *k = s->lines; k->key; k++) {
		const char *line = strstr(text, k->key);
		const char *at = line ? strstr(line, total) : NULL;
		int64_t us;

		if (at && text_number(at + strlen(total), &us))
			look_put(l, k->kind, us);
	}
}
