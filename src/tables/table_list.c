/* The list of tables, and their documentation. */
#include <string.h>

#include "tables/table_cursor.h"

static const struct table *const tables[] = {
	&table_info,    &table_processes, &table_threads,  &table_spans,      &table_scopes,
	&table_marks,   &table_layers,    &table_steps,    &table_step_kinds, &table_breakdown,
	&table_kernels, &table_copies,    &table_memsets,  &table_graphs,     &table_api,
	&table_devices, &table_samples,   &table_native,   &table_off_cpu,    &table_counters,
	&table_gaps,    &table_functions, &table_findings, &table_metrics,    NULL,
};

const struct table *table_at(size_t i)
{
	size_t at = 0;

	while (tables[at] && at < i)
		at++;
	return tables[at];
}

const struct table *table_find(const char *name)
{
	for (size_t i = 0; tables[i]; i++)
		if (!strcmp(tables[i]->name, name))
			return tables[i];
	return NULL;
}

size_t table_column_find(const struct table *t, const char *name)
{
	size_t at = 0;

	while (at < t->column_count && strcmp(t->columns[at].name, name) != 0)
		at++;
	return at;
}

const char *column_type_name(enum column_type t)
{
	static const char *const names[] = {
		[COLUMN_INTEGER] = "integer",
		[COLUMN_REAL] = "real",
		[COLUMN_TEXT] = "text",
		[COLUMN_BOOLEAN] = "boolean",
	};

	return names[t];
}

static void add_table(struct buf *out, const struct table *t)
{
	buf_printf(out, "\n## %s\n\nA row is %s.\n\n", t->name, t->meaning);
	buf_add_str(out, "| column | type | unit | meaning |\n|---|---|---|---|\n");
	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		buf_printf(out, "| `%s` | %s | %s | %s |\n", c->name, column_type_name(c->type),
			   c->unit, c->meaning);
	}
}

void tables_document(struct buf *out)
{
	buf_add_str(
		out,
		"# Tables\n\n"
		"Written by `inferscope export --list-tables`; do not edit.\n\n"
		"The tables of a trace, which `inferscope query` reads and `inferscope export --to "
		"sqlite`\n"
		"and `--to arrow` write.\n\n"
		"- Times are nanoseconds since the start of the recording, as whole numbers; "
		"`info` has the date of\n"
		"  the start. Times of the GPU are on the host's clock.\n"
		"- NULL: unknown, or not present.\n"
		"- `thread` and `process` are numbers that this trace assigns. They are unique in "
		"it, unlike `pid` and `tid`.\n"
		"- Other tables refer to a row by its `id`. Kernels, copies, memsets and graphs "
		"share one numbering.\n"
		"- Booleans are 0 and 1 in SQLite.\n\n"
		"| table | a row is |\n|---|---|\n");
	for (size_t i = 0; tables[i]; i++)
		buf_printf(out, "| [%s](#%s) | %s |\n", tables[i]->name, tables[i]->name,
			   tables[i]->meaning);
	for (size_t i = 0; tables[i]; i++)
		add_table(out, tables[i]);
}
