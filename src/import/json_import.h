/* A JSON text of any of the formats that are known, into a build. */
#ifndef IMPORT_JSON_IMPORT_H
#define IMPORT_JSON_IMPORT_H

#include "import/build/build.h"
#include "import/text_source.h"

struct json_import {
	const char *format; /* "Kineto JSON" */
	char partial[512];  /* what is missing, where the text ends too early; else "" */
};

/* -1: err says what is wrong, with an offset, or which format this is and what to do. */
int json_import(struct json_import *out, struct build *b, struct text_source *source,
		const char *path, struct err *err);

#endif
