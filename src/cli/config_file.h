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

/* A file of ours that is searched for. */
struct file_kind {
	const char *what;   /* for errors: "configuration" */
	const char *near;   /* its name in the working directory or above: ".inferscope.yaml" */
	const char *users;  /* in the user's own folder: "config.yaml" */
	const char *option; /* that names one: "--config" */
};

extern const struct file_kind file_configuration, file_rules;

/* What was read. */
struct found_file {
	char *path; /* NULL: there is no such file */
	struct buf text;
};

/*
 * Three places (config.h): the file that the user named, the nearest one in the working directory
 * or above, the one in the user's own folder.  Only the first has to be there.  -1: nothing to
 * release; else found_file_release() frees what is left in it.
 */
int config_file_open(struct found_file *f, const struct file_kind *kind, const char *path,
		     struct err *err);
int config_file_find(struct found_file *f, const struct file_kind *kind, struct err *err);
int config_file_find_users(struct found_file *f, const struct file_kind *kind, struct err *err);
void found_file_release(struct found_file *f);

/*
 * Adds what the text says to c.  Errors begin "PATH:LINE: " and name the key
 * where there is one.  Text with a mistake may have been added in part.
 */
int config_file_parse(struct config *c, enum source source, const char *path, const void *text,
		      size_t len, struct err *err);

/* Writing YAML scalars that every YAML reader takes for the same text. */

/* Appends the text, quoted where it would otherwise be read as something else. */
void yaml_add_text(struct buf *out, const char *text);

#endif
