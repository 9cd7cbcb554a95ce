/*
 * The configuration file: where it is, how it is read.  One flat YAML mapping of
 * setting keys to scalars, or to sequences where the setting is a list.
 */
#ifndef CLI_CONFIG_FILE_H
#define CLI_CONFIG_FILE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/value.h"

#define CONFIG_FILE_MAX (1u << 20) /* bytes; more is some other file */

/* A file of ours that is looked for. */
struct file_kind {
	const char *what;     /* for errors: "configuration" */
	const char *near;     /* its name in the working directory or above: ".inferscope.yaml" */
	const char *personal; /* its name in the user's own folder: "config.yaml" */
	const char *option;   /* that names one: "--config" */
};

extern const struct file_kind file_configuration, file_rules;

/*
 * Reads the file that the user named, or, where named is NULL, the one found in the places that
 * config.h names.  *path, for errors, is the caller's to free; NULL: there is none, and no text.
 */
int config_file_load(const struct file_kind *kind, const char *named, char **path, struct buf *text,
		     struct err *err);

/*
 * Adds what the text says to c.  Errors begin "PATH:LINE: " and name the key
 * where there is one.  Text with a mistake may have been added in part.
 */
int config_file_parse(struct config *c, const char *path, const void *text, size_t len,
		      struct err *err);

#endif
