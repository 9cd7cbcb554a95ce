/* Writing YAML scalars that every YAML reader takes for the same text. */
#ifndef CLI_YAML_WRITE_H
#define CLI_YAML_WRITE_H

#include "base/buf.h"

/* Appends the text, quoted where it would otherwise be read as something else. */
void yaml_add_text(struct buf *out, const char *text);

#endif
