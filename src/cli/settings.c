#include "cli/settings.h"

/* In a table, what is read together stands on one line. */
/* clang-format off */

enum {
	RUN = SETTING_FOR_RUN,
	ANALYZE = SETTING_FOR_ANALYZE,
	EXPORT = SETTING_FOR_EXPORT,
	CONFIG = SETTING_FOR_CONFIG,
	DOCTOR = SETTING_FOR_DOCTOR,
	RULES = SETTING_FOR_RULES,
	RECORD = SETTING_FOR_RECORD,
	VIEW = SETTING_FOR_VIEW,
	DIFF = SETTING_FOR_DIFF,
	QUERY = SETTING_FOR_QUERY,
	WHATIF = SETTING_FOR_WHATIF,
};

const struct setting setting_report = {
	.key = "report", .env = "INFERSCOPE_REPORT", .flag = "--report",
	.type = SETTING_LIST, .fallback = "inferscope-report.md", .metavar = "FILE",
	.scope = RUN | RECORD | ANALYZE | DIFF, .fallback_scope = RUN | RECORD,
	.trusted_only = true,
	.help = "write a report; repeatable; .md, .html or .json sets the format, - is standard "
		"output",
};

const struct setting setting_trace = {
	.key = "trace", .env = "INFERSCOPE_TRACE", .flag = "--trace", .off_flag = "--no-trace",
	.type = SETTING_PATH, .fallback = "inferscope-trace.isc", .metavar = "FILE",
	.scope = RUN | RECORD | DOCTOR,
	.trusted_only = true,
	.help = "keep the trace in this file; off: keep none",
};

const struct setting setting_cpu = {
	.key = "cpu", .env = "INFERSCOPE_CPU", .flag = "--cpu", .off_flag = "--no-cpu",
	.type = SETTING_CHOICE, .fallback = "auto", .metavar = "MODE",
	.choices = "auto|trace|sample|off",
	.scope = RUN | RECORD,
	.help = "record Python calls: auto: as many as the overhead budget allows; trace: all; "
		"sample: samples only; off: none",
};

const struct setting setting_gpu = {
	.key = "gpu", .env = "INFERSCOPE_GPU", .flag = "--gpu", .off_flag = "--no-gpu",
	.type = SETTING_FLAG, .fallback = "true",
	.scope = RUN | RECORD,
	.help = "record the GPU",
};

const struct setting setting_nvtx = {
	.key = "nvtx", .env = "INFERSCOPE_NVTX", .flag = "--nvtx", .off_flag = "--no-nvtx",
	.type = SETTING_FLAG, .fallback = "true",
	.scope = RUN | RECORD,
	.help = "record NVTX ranges and marks",
};

const struct setting setting_memory = {
	.key = "memory", .env = "INFERSCOPE_MEMORY", .flag = "--memory", .off_flag = "--no-memory",
	.type = SETTING_FLAG, .fallback = "true",
	.scope = RUN | RECORD,
	.help = "record memory use, page faults and memory pressure",
};

const struct setting setting_max_overhead = {
	.key = "max_overhead", .env = "INFERSCOPE_MAX_OVERHEAD", .flag = "--max-overhead",
	.type = SETTING_NUMBER, .fallback = "5", .metavar = "PCT", .min = 0.1, .max = 100,
	.scope = RUN | RECORD,
	.help = "limit the slowdown of the workload to this percentage, unless cpu is trace; 100: "
		"no limit",
};

const struct setting setting_sample_hz = {
	.key = "sample_hz", .env = "INFERSCOPE_SAMPLE_HZ", .flag = "--sample-hz",
	.type = SETTING_INTEGER, .fallback = "1000", .metavar = "N", .min = 1, .max = 10000,
	.scope = RUN | RECORD,
	.help = "stack samples per second per thread",
};

const struct setting setting_trace_size_mb = {
	.key = "trace_size_mb", .env = "INFERSCOPE_TRACE_SIZE_MB", .flag = "--trace-size-mb",
	.type = SETTING_INTEGER, .fallback = "100", .metavar = "N", .min = 1, .max = 65536,
	.scope = RUN | RECORD | DOCTOR,
	.help = "buffer memory for the whole run, in MB; on overflow the oldest events are "
		"dropped",
};

const struct setting setting_ring = {
	.key = "ring", .env = "INFERSCOPE_RING", .flag = "--ring", .off_flag = "--no-ring",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = RUN | RECORD,
	.help = "keep only the newest events, as many as fit into trace_size_mb",
};

const struct setting setting_python = {
	.key = "python", .env = "INFERSCOPE_PYTHON", .flag = "--python",
	.type = SETTING_PATH, .metavar = "PATH",
	.scope = RUN | DOCTOR,
	.trusted_only = true,
	.help = "the interpreter for script.py; unset: python3 from PATH",
};

const struct setting setting_config = {
	.env = "INFERSCOPE_CONFIG", .flag = "--config",
	.type = SETTING_PATH, .metavar = "FILE",
	.scope = RUN | RECORD | ANALYZE | EXPORT | CONFIG | RULES | DOCTOR | VIEW | DIFF | QUERY |
		 WHATIF,
	.help = "read this configuration file instead of the nearest .inferscope.yaml; all "
		"settings are allowed in it",
};

const struct setting setting_rules = {
	.key = "rules", .env = "INFERSCOPE_RULES", .flag = "--rules",
	.type = SETTING_PATH, .metavar = "FILE",
	.scope = RUN | RECORD | ANALYZE | RULES | VIEW | DIFF,
	.trusted_only = true,
	.help = "apply the rules of this YAML file in addition to the built-in ones; unset: the "
		"nearest .inferscope_rules.yaml",
};

const struct setting setting_fail_on = {
	.key = "fail_on", .env = "INFERSCOPE_FAIL_ON", .flag = "--fail-on",
	.type = SETTING_LIST, .metavar = "WHAT",
	.scope = ANALYZE,
	.help = "exit with status 3 if there is such a finding: high, medium (includes high) or the "
		"id of a rule; repeatable",
};

const struct setting setting_step = {
	.key = "step", .env = "INFERSCOPE_STEP", .flag = "--step",
	.type = SETTING_PATH, .metavar = "NAME",
	.scope = RUN | RECORD | ANALYZE | DIFF | WHATIF,
	.help = "report on the steps of this name, such as 'infer in main' or infer; the report "
		"with --detail full lists the candidates; for `diff` also BEFORE=AFTER; unset: "
		"the best candidate",
};

const struct setting setting_rank = {
	.flag = "--rank",
	.type = SETTING_INTEGER, .metavar = "N", .min = 0, .max = 99999999,
	.scope = ANALYZE,
	.help = "report on the trace of this rank alone; unset: on all traces of a folder, with a "
		"comparison",
};

const struct setting setting_max_memory = {
	.key = "max_memory", .env = "INFERSCOPE_MAX_MEMORY", .flag = "--max-memory",
	.type = SETTING_SIZE, .metavar = "SIZE", .min = 1 << 20, .max = 1ull << 50,
	.scope = RUN | RECORD | ANALYZE | EXPORT | VIEW | DIFF | QUERY | WHATIF,
	.help = "memory for reading and analyzing a trace, such as 512M or 4G; only the beginning "
		"of a trace that needs more is reported; unset: half of the memory of the machine "
		"or container",
};

const struct setting setting_delay = {
	.key = "delay", .env = "INFERSCOPE_DELAY", .flag = "--delay",
	.type = SETTING_NUMBER, .fallback = "0", .metavar = "S", .min = 0, .max = 31536000,
	.scope = RUN | RECORD,
	.help = "start recording after this many seconds",
};

const struct setting setting_duration = {
	.key = "duration", .env = "INFERSCOPE_DURATION", .flag = "--duration",
	.type = SETTING_NUMBER, .metavar = "S", .min = 0.001, .max = 31536000,
	.scope = RUN | RECORD,
	.help = "stop recording and report after this many seconds; the workload keeps running",
};

const struct setting setting_strict = {
	.key = "strict", .env = "INFERSCOPE_STRICT", .flag = "--strict", .off_flag = "--no-strict",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = RUN,
	.help = "exit with status 4 when something requested could not be recorded",
};

const struct setting setting_graph_nodes = {
	.key = "graph_nodes", .env = "INFERSCOPE_GRAPH_NODES", .flag = "--graph-nodes",
	.type = SETTING_CHOICE, .fallback = "on", .metavar = "WHEN",
	.choices = "on|off",
	.scope = RUN | RECORD,
	.help = "record CUDA graphs node by node; off: each replay as a whole, which costs less "
		"but omits its kernels",
};

const struct setting setting_detail = {
	.key = "detail", .env = "INFERSCOPE_DETAIL", .flag = "--detail",
	.type = SETTING_CHOICE, .fallback = "normal", .metavar = "LEVEL",
	.choices = "short|normal|full",
	.scope = RUN | RECORD | ANALYZE | VIEW | DIFF,
	.help = "length of the reports",
};

const struct setting setting_timeline_mb = {
	.key = "timeline_mb", .env = "INFERSCOPE_TIMELINE_MB", .flag = "--timeline-mb",
	.type = SETTING_INTEGER, .fallback = "4", .metavar = "N", .min = 0, .max = 1024,
	.scope = RUN | RECORD | ANALYZE | VIEW,
	.help = "size of the timeline in an HTML report, in MB; what exceeds it is shown by levels "
		"of detail; 0: no timeline; `view` uses 30 unless it is set",
};

const struct setting setting_source = {
	.key = "source", .env = "INFERSCOPE_SOURCE", .flag = "--source", .off_flag = "--no-source",
	.type = SETTING_FLAG, .fallback = "true",
	.scope = RUN | RECORD | ANALYZE | VIEW,
	.help = "copy the source lines that findings name into HTML reports",
};

const struct setting setting_keep_secrets = {
	.key = "keep_secrets", .env = "INFERSCOPE_KEEP_SECRETS", .flag = "--keep-secrets",
	.off_flag = "--no-keep-secrets",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = RUN | RECORD,
	.trusted_only = true,
	.help = "record command lines unchanged; by default *** replaces what looks like a "
		"credential",
};

const struct setting setting_wait_children = {
	.key = "wait_children", .env = "INFERSCOPE_WAIT_CHILDREN", .flag = "--wait-children",
	.off_flag = "--no-wait-children",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = RUN,
	.help = "wait for child processes that outlive the main process",
};

const struct setting setting_verify_overhead = {
	.key = "verify_overhead", .env = "INFERSCOPE_VERIFY_OVERHEAD", .flag = "--verify-overhead",
	.off_flag = "--no-verify-overhead",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = RUN,
	.help = "run the workload again without recording, discarding its output, and report the "
		"measured overhead; a short workload (2 s) runs several times",
};

const struct setting setting_enable = {
	.key = "enable", .env = "INFERSCOPE_ENABLE",
	.type = SETTING_FLAG, .fallback = "true",
	.help = "false: `run` starts the workload without recording it; in the environment, 1 "
		"records a Python program without `run`",
};

const struct setting setting_quiet = {
	.key = "quiet", .env = "INFERSCOPE_QUIET", .flag = "--quiet", .off_flag = "--no-quiet",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = RUN | RECORD | ANALYZE | EXPORT | VIEW | DIFF | QUERY | WHATIF,
	.help = "print no summary, and no progress in the title of the terminal",
};

const struct setting setting_log_level = {
	.key = "log_level", .env = "INFERSCOPE_LOG_LEVEL", .flag = "--log-level",
	.type = SETTING_CHOICE, .fallback = "warn", .metavar = "LEVEL",
	.choices = "error|warn",
	.scope = RUN | RECORD | ANALYZE | EXPORT | VIEW | DIFF | QUERY | WHATIF,
	.help = "print warnings on standard error, or errors only",
};

const struct setting setting_to = {
	.flag = "--to",
	.type = SETTING_CHOICE, .fallback = "json", .metavar = "FORMAT",
	.choices = "json|chrome|perfetto|sqlite|arrow|speedscope|folded|pprof",
	.scope = EXPORT,
	.help = "format of the export; without --to the ending of FILE decides (.pftrace, .sqlite, "
		"...)",
};

const struct setting setting_output = {
	.flag = "-o",
	.type = SETTING_PATH, .fallback = "-", .metavar = "FILE",
	.scope = EXPORT | QUERY,
	.help = "output file; - is standard output",
};

const struct setting setting_table = {
	.flag = "--table",
	.type = SETTING_PATH, .metavar = "NAME",
	.scope = EXPORT,
	.help = "sqlite, arrow: write only this table",
};

const struct setting setting_list_tables = {
	.flag = "--list-tables",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = EXPORT,
	.help = "print the tables and columns of sqlite and arrow (docs/TABLES.md)",
};

const struct setting setting_open = {
	.flag = "--open", .off_flag = "--no-open",
	.type = SETTING_FLAG, .fallback = "true",
	.scope = VIEW,
	.help = "open the page in a browser",
};

const struct setting setting_origin = {
	.flag = "--origin",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = CONFIG,
	.help = "show the origin of each value",
};

const struct setting setting_json = {
	.flag = "--json",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = DOCTOR | WHATIF,
	.help = "print JSON",
};

const struct setting setting_before = {
	.flag = "--before",
	.type = SETTING_LIST, .metavar = "TRACE...",
	.scope = DIFF,
	.help = "traces of the first side: all words up to the next option",
};

const struct setting setting_after = {
	.flag = "--after",
	.type = SETTING_LIST, .metavar = "TRACE...",
	.scope = DIFF,
	.help = "traces of the second side: all words up to the next option",
};

const struct setting setting_statistic = {
	.flag = "--statistic",
	.type = SETTING_CHOICE, .fallback = "median", .metavar = "WHICH",
	.choices = "median|mean|p95|p99",
	.scope = DIFF,
	.help = "statistic of the step time that is tested",
};

const struct setting setting_run_spread = {
	.flag = "--run-spread",
	.type = SETTING_NUMBER, .fallback = "2", .metavar = "PCT", .min = 0.01, .max = 100,
	.scope = DIFF,
	.help = "assumed standard deviation between runs of the same program",
};

const struct setting setting_fail_on_change = {
	.flag = "--fail-on",
	.type = SETTING_PATH, .metavar = "PCT",
	.scope = DIFF,
	.help = "exit with status 3 if the steps are slower by at least this percentage, and by "
		"more than chance; 0: by more than chance",
};

const struct setting setting_format = {
	.flag = "--format",
	.type = SETTING_CHOICE, .fallback = "table", .metavar = "FORMAT",
	.choices = "table|csv|json",
	.scope = QUERY,
	.help = "output format",
};

const struct setting setting_tables = {
	.flag = "--tables",
	.type = SETTING_FLAG, .fallback = "false",
	.scope = QUERY,
	.help = "list all tables and columns with their units",
};

const struct setting setting_time_limit = {
	.flag = "--time-limit",
	.type = SETTING_NUMBER, .fallback = "300", .metavar = "S", .min = 0, .max = 31536000,
	.scope = QUERY,
	.help = "end a query that takes longer than this many seconds; 0: no limit",
};

const struct setting setting_free = {
	.flag = "--free",
	.type = SETTING_LIST, .metavar = "WHERE",
	.scope = WHATIF,
	.help = "its CPU time is gone; what it launches and waits for stays; repeatable, as are "
		"those below",
};

const struct setting setting_faster = {
	.flag = "--faster",
	.type = SETTING_LIST, .metavar = "WHERE=K",
	.scope = WHATIF,
	.help = "its CPU time is K times shorter",
};

const struct setting setting_overlap = {
	.flag = "--overlap",
	.type = SETTING_LIST, .metavar = "WHERE",
	.scope = WHATIF,
	.help = "another thread runs it for the next step while this one computes",
};

const struct setting setting_remove = {
	.flag = "--remove",
	.type = SETTING_LIST, .metavar = "WHAT",
	.scope = WHATIF,
	.help = "steps without allocation, gc, gil, locks, io, sleep or compile",
};

const struct setting setting_remove_sync = {
	.flag = "--remove-sync",
	.type = SETTING_LIST, .metavar = "WHERE",
	.scope = WHATIF,
	.help = "the CUDA calls made there no longer wait for the device; all: everywhere",
};

const struct setting setting_pin = {
	.flag = "--pin",
	.type = SETTING_LIST, .metavar = "WHERE",
	.scope = WHATIF,
	.help = "copies made there use pinned memory; all: everywhere",
};

const struct setting setting_async_copy = {
	.flag = "--async-copy",
	.type = SETTING_LIST, .metavar = "WHERE",
	.scope = WHATIF,
	.help = "copies made there have a stream of their own; all: everywhere",
};

const struct setting setting_graph = {
	.flag = "--graph",
	.type = SETTING_LIST, .metavar = "WHERE",
	.scope = WHATIF,
	.help = "launches made there between two waits become one CUDA graph; all: everywhere",
};

const struct setting setting_speedup = {
	.flag = "--speedup",
	.type = SETTING_LIST, .metavar = "KERNEL=K",
	.scope = WHATIF,
	.help = "kernels with this in their name are K times faster; all: every kernel",
};

const struct setting *const settings[] = {
	&setting_format, &setting_tables, &setting_time_limit,
	&setting_before, &setting_after, &setting_statistic, &setting_run_spread,
	&setting_fail_on_change,
	&setting_free, &setting_faster, &setting_overlap, &setting_remove, &setting_remove_sync,
	&setting_pin, &setting_async_copy, &setting_graph, &setting_speedup,
	&setting_to, &setting_output, &setting_table, &setting_list_tables,
	&setting_report, &setting_trace,
	&setting_cpu, &setting_gpu, &setting_nvtx, &setting_memory,
	&setting_max_overhead, &setting_sample_hz, &setting_trace_size_mb, &setting_ring,
	&setting_graph_nodes, &setting_delay, &setting_duration,
	&setting_python, &setting_wait_children, &setting_enable, &setting_keep_secrets,
	&setting_rules, &setting_fail_on, &setting_detail, &setting_step, &setting_rank, &setting_max_memory,
	&setting_timeline_mb, &setting_source,
	&setting_strict, &setting_verify_overhead,
	&setting_open, &setting_origin, &setting_json, &setting_config, &setting_quiet, &setting_log_level,
	NULL,
};

/* clang-format on */

_Static_assert(sizeof(settings) / sizeof(settings[0]) - 1 == SETTING_COUNT,
	       "SETTING_COUNT in settings.h");
