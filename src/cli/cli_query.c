/* inferscope query: SQL over the tables of a trace. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/read_limit.h"
#include "cli/report_output.h"
#include "import/import.h"
#include "query/query_output.h"

#define READ_AT_ONCE 65536u

static volatile sig_atomic_t interrupted;

static void note_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/*
 * The second Ctrl-C ends the program at once, because reading a large trace checks no flag.
 */
static void catch_interrupt(void)
{
	const struct sigaction action = { .sa_handler = note_interrupt,
					  .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
}

static enum query_format format_of(const struct config *c)
{
	const char *name = config_text(c, &setting_format);

	return !strcmp(name, "csv") ? QUERY_CSV : !strcmp(name, "json") ? QUERY_JSON : QUERY_TABLE;
}

/* The statement from standard input.  -1: it is too long, or cannot be read. */
static int read_statement(struct buf *sql, struct err *err)
{
	ssize_t n = 1;

	while (n > 0 && sql->len <= QUERY_SQL_MAX) {
		char *room = buf_reserve(sql, READ_AT_ONCE);

		if (!room)
			return err_set(err, "out of memory");
		n = read(STDIN_FILENO, room, READ_AT_ONCE);
		if (n < 0)
			return err_errno(err, "cannot read the statement from standard input");
		sql->len += (size_t)n;
	}
	if (memchr(sql->data, '\0', sql->len))
		return err_set(err, "the statement has a NUL byte");
	return 0;
}

/* A name that SQLite does not know, as its message has it; the caller's to free. */
static char *unknown_name(const char *text, const char *lead)
{
	const char *at = strstr(text, lead), *dot;
	size_t n;

	if (!at)
		return NULL;
	at += strlen(lead);
	n = strcspn(at, ", ");
	dot = memchr(at, '.', n);
	if (dot) { /* "k.nam" */
		n -= (size_t)(dot + 1 - at);
		at = dot + 1;
	}
	return strndup(at, n);
}

/* What a mistyped table or column may have meant; NULL: nothing is near. */
static const char *nearest(const char *text, struct suggest *near, char **typed)
{
	const struct table *t;
	bool is_table = false;

	*typed = unknown_name(text, "no such column: ");
	if (!*typed) {
		*typed = unknown_name(text, "no such table: ");
		is_table = true;
	}
	if (!*typed)
		return NULL;
	suggest_init(near, *typed);
	for (size_t i = 0; (t = table_at(i)); i++) {
		if (is_table)
			suggest_push(near, t->name);
		for (size_t k = 0; !is_table && k < t->column_count; k++)
			suggest_push(near, t->columns[k].name);
	}
	return near->best;
}

static int complain_of_statement(const struct err *err)
{
	struct suggest near;
	char *typed;
	const char *best = nearest(err->text, &near, &typed);
	int status;

	if (best)
		status = complain(EXIT_USAGE, "SQL: %s; did you mean '%s'?", err->text, best);
	else if (typed)
		status = complain(EXIT_USAGE, "SQL: %s; --tables lists tables and columns",
				  err->text);
	else
		status = complain(EXIT_USAGE, "SQL: %s", err->text);
	free(typed);
	return status;
}

static int run_into(struct query *q, const char *sql, const struct config *c, int fd,
		    enum query_failure *why, struct err *err)
{
	struct query_output output;
	struct query_sink sink;
	int rc;

	query_output_init(&output, format_of(c), fd);
	sink = query_output_sink(&output);
	rc = query_run(q, sql, &sink, why, err);
	if (!rc) {
		*why = QUERY_FAILED;
		rc = query_output_finish(&output, err);
	}
	query_output_release(&output);
	return rc;
}

static int query_trace(const struct trace *trace, const char *sql, const struct config *c, int fd,
		       enum query_failure *why, struct err *err)
{
	const struct query_limits limits = { .seconds = config_number(c, &setting_time_limit),
					     .stop = &interrupted };
	struct table_source *source;
	struct query *q;
	int rc;

	*why = QUERY_FAILED;
	if (table_source_new(&source, trace, err))
		return -1;
	rc = query_new(&q, source, &limits, err);
	if (!rc) {
		rc = run_into(q, sql, c, fd, why, err);
		query_free(q);
	}
	table_source_free(source);
	return rc;
}

/* A part of a trace would give wrong sums: what does not fit into memory is an error. */
static int run_statement(const char *path, const char *sql, const struct config *c)
{
	const char *to = config_text(c, &setting_output);
	enum query_failure why = QUERY_FAILED;
	struct outfile out = { .fd = -1 };
	struct trace *trace = NULL;
	struct read_limit limit;
	struct err err;
	int rc = -1;

	read_limit_begin(&limit, c);
	if (!import_open(&trace, path, UINT64_MAX, &err) && !outfile_open(&out, to, &err)) {
		catch_interrupt();
		rc = query_trace(trace, sql, c, out.fd, &why, &err);
		if (rc)
			outfile_discard(&out);
		else
			rc = outfile_commit(&out, &err);
	}
	if (trace && trace_damage(trace) && config_warns(c))
		complain(EXIT_OK, "warning: %s: %s; rows are missing", path, trace_damage(trace));
	trace_close(trace);
	read_limit_end(&limit);
	if (!rc)
		return EXIT_OK;
	if (why == QUERY_MISTAKE)
		return complain_of_statement(&err);
	if (why == QUERY_STOPPED)
		return complain(128 + SIGINT, "%s", err.text);
	if (err_is_memory(&err))
		return complain(EXIT_INPUT,
				"out of memory: the query needs more than --max-memory allows; "
				"raise it, or select less");
	return complain(EXIT_INPUT, "%s", err.text);
}

/* The tables with their columns, as rows: for people grouped by table. */
static int list_columns(struct query_output *o, struct err *err)
{
	static const char *const names[] = { "table", "column", "type", "unit", "meaning" };
	struct query_sink sink = query_output_sink(o);
	const struct table *t;

	if (sink.columns(sink.ctx, names, 5, err))
		return -1;
	for (size_t i = 0; (t = table_at(i)); i++) {
		for (size_t k = 0; k < t->column_count; k++) {
			const struct column *c = &t->columns[k];
			struct cell cells[5] = { { .kind = CELL_TEXT, .text = t->name },
						 { .kind = CELL_TEXT, .text = c->name },
						 { .kind = CELL_TEXT,
						   .text = column_type_name(c->type) },
						 { .kind = CELL_TEXT, .text = c->unit },
						 { .kind = CELL_TEXT, .text = c->meaning } };

			if (sink.row(sink.ctx, cells, 5, err))
				return -1;
		}
	}
	return query_output_finish(o, err);
}

static void print_columns(struct buf *out)
{
	const struct table *t;

	for (size_t i = 0; (t = table_at(i)); i++) {
		buf_printf(out, "%s%s: a row is %s\n", i ? "\n" : "", t->name, t->meaning);
		for (size_t k = 0; k < t->column_count; k++)
			buf_printf(out, "  %-22s%-9s%-7s%s\n", t->columns[k].name,
				   column_type_name(t->columns[k].type), t->columns[k].unit,
				   t->columns[k].meaning);
	}
}

static int list_tables(const struct config *c)
{
	struct query_output output;
	struct err err;
	int rc;

	if (format_of(c) == QUERY_TABLE) {
		struct buf text;

		buf_init(&text);
		print_columns(&text);
		fwrite(text.data, 1, text.len, stdout);
		buf_release(&text);
		return report_output_stdout(EXIT_OK);
	}
	query_output_init(&output, format_of(c), STDOUT_FILENO);
	rc = list_columns(&output, &err);
	query_output_release(&output);
	return rc ? complain(EXIT_INPUT, "%s", err.text) : EXIT_OK;
}

static int check_and_run(const struct config *c, const char *path, const char *statement)
{
	const char *to = config_text(c, &setting_output);
	struct buf sql;
	struct err err;
	int status;

	if (check_not_input(to, "the trace to read", path, &err) ||
	    check_not_configuration(to, c, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	buf_init(&sql);
	if (strcmp(statement, "-") != 0)
		buf_add_str(&sql, statement);
	else if (read_statement(&sql, &err)) {
		buf_release(&sql);
		return complain(EXIT_INPUT, "%s", err.text);
	}
	print_used_files(c, NULL);
	status = run_statement(path, buf_string(&sql), c);
	buf_release(&sql);
	return status;
}

static int run_query(const struct command *self, int argc, char **argv)
{
	struct config *c;
	struct err err;
	bool dashes;
	int first, status;

	if (config_load(&c, self->scope, argc, argv, &first, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (argc - first > 2)
		status =
			complain(EXIT_USAGE,
				 "query: unexpected '%s'; the statement is one argument, in quotes",
				 argv[first + 2]);
	else if (config_flag(c, &setting_tables))
		status = list_tables(c);
	else if (first == argc)
		status = complain(EXIT_USAGE, "query: no trace given; query TRACE 'SQL'");
	else if (argc - first == 1)
		status = complain(EXIT_USAGE, "query: no statement given; query TRACE 'SQL', or - "
					      "for standard input");
	else
		status = check_and_run(c, argv[first], argv[first + 1]);
	config_free(c);
	return status;
}

const struct command command_query = {
	.name = "query",
	.operands = "[options] TRACE 'SQL'\n"
		    "[options] TRACE -\n"
		    "--tables [--format csv|json]",
	.summary = "query the tables of a trace with SQL",
	.details = "Runs one SELECT of SQLite over the tables of TRACE and prints its rows. The "
		   "tables are read from the trace, without a copy in a database. Times are "
		   "nanoseconds since the start of the recording. - reads the statement from "
		   "standard input; docs/QUERIES.md has examples.\n\n"
		   "A statement can only read tables and compute. Exit status 2: the "
		   "statement is wrong; 1: the trace cannot be read, or a limit was reached; 130: "
		   "interrupted.",
	.scope = SETTING_FOR_QUERY,
	.run = run_query,
};
