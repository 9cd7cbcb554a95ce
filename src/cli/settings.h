/*
 * The settings table: one entry is the parser, the default, the --help line,
 * the row of `config show` and the row of docs/SETTINGS.md.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

enum setting_type {
	SETTING_FLAG,    /* true or false; as an option it takes no value */
	SETTING_INTEGER, /* min .. max */
	SETTING_NUMBER,  /* a real, min .. max */
	SETTING_SIZE,    /* bytes, min .. max: an integer, with K, M, G or T for a power of 1024 */
	SETTING_CHOICE,  /* one of `choices` */
	SETTING_PATH,    /* any non-empty text */
	SETTING_LIST,    /* repeatable path or word; a YAML sequence or scalar; commas in the
			    environment */
};

/* Which commands take a setting as an option.  In files and the environment all are known
 * everywhere. */
enum setting_scope {
	SETTING_FOR_RUN = 1u << 0,
	SETTING_FOR_ANALYZE = 1u << 1,
	SETTING_FOR_EXPORT = 1u << 2,
	SETTING_FOR_CONFIG = 1u << 3,
	SETTING_FOR_DOCTOR = 1u << 4,
	SETTING_FOR_RULES = 1u << 5,
	SETTING_FOR_RECORD = 1u << 6, /* inferscope.start(): the program runs already */
	SETTING_FOR_DIFF = 1u << 7,
	SETTING_FOR_VIEW = 1u << 12,
	SETTING_FOR_QUERY = 1u << 8,
	SETTING_FOR_WHATIF = 1u << 9,
};

struct setting {
	const char *key;  /* in .inferscope.yaml: "max_overhead"; NULL: not in files */
	const char *env;  /* "INFERSCOPE_MAX_OVERHEAD"; NULL: not in the environment */
	const char *flag; /* "--max-overhead"; NULL: not on the command line */
	const char
		*off_flag; /* "--no-trace": sets a flag to false, a path to "", a choice to "off" */
	enum setting_type type;
	const char *fallback;    /* the default, as it would be written; NULL: unset */
	unsigned fallback_scope; /* commands that use the default; 0: all of .scope */
	const char *metavar;     /* "PCT" */
	const char *choices;     /* "auto|trace|sample|off" */
	double min, max;
	unsigned scope;
	/*
	 * Names a program or a path, or discloses data: not allowed in a .inferscope.yaml that was
	 * found automatically and may come from another person's repository.
	 */
	bool trusted_only;
	const char *help;
};

/* Does a command with this scope use the default of the setting, if there is one? */
static inline bool setting_has_default(const struct setting *s, unsigned scope)
{
	return !s->fallback_scope || s->fallback_scope & scope;
}

extern const struct setting setting_report, setting_trace, setting_cpu, setting_gpu, setting_nvtx,
	setting_memory, setting_max_overhead, setting_sample_hz, setting_trace_size_mb,
	setting_ring, setting_python, setting_config, setting_rules, setting_delay,
	setting_duration, setting_strict, setting_graph_nodes, setting_detail, setting_quiet,
	setting_log_level, setting_verify_overhead, setting_wait_children, setting_enable,
	setting_fail_on, setting_keep_secrets, setting_max_memory, setting_step,
	setting_timeline_mb, setting_source,
	/* options of one command: neither in files nor in the environment */
	setting_to, setting_output, setting_table, setting_list_tables, setting_open,
	setting_origin, setting_json, setting_before, setting_after, setting_statistic,
	setting_run_spread, setting_fail_on_change, setting_free, setting_faster, setting_overlap,
	setting_remove, setting_remove_sync, setting_pin, setting_async_copy, setting_graph,
	setting_speedup, setting_format, setting_tables, setting_time_limit, setting_rank;

#define SETTING_COUNT 54
extern const struct setting *const settings[]; /* all of them, NULL at the end, in order of help */

#endif
