"""JSON of PyTorch's profiler to figures: InferScope beside other tools, on one file, in one run.

    INFERSCOPE_IMPORT_TOOLS=VENV/bin/python make bench BENCH=bench_import

Each tool reads the same text (bench/kineto_text.py) in a process of its own, in turns, and sums the
kernels by name; InferScope makes its whole report.  CPU seconds of the process, the best of three;
peak memory. VENV has pandas, pysimdjson, duckdb and HolisticTraceAnalysis from the package index;
without it only InferScope and Python's own json are measured.  INFERSCOPE_IMPORT_MB (default 200).
Then a database as Nsight Systems exports it (bench/nsys_rows.py), beside one GROUP BY of Python's
sqlite3.
"""

import os
import resource
import subprocess
import sys
import tempfile

import kineto_text
import nsys_rows

ROUNDS = 3
MEGABYTES = float(os.environ.get("INFERSCOPE_IMPORT_MB", "200"))
SUM = """
totals = {}
for e in events:
    if e.get("cat") == "kernel":
        totals[e["name"]] = totals.get(e["name"], 0) + e["dur"]
"""
TOOLS = {
    "json": "import json, sys\nevents = json.load(open(sys.argv[1]))['traceEvents']" + SUM,
    "json_pandas": "import json, sys, pandas\n"
                   "d = pandas.DataFrame(json.load(open(sys.argv[1]))['traceEvents'])\n"
                   "d[d.cat == 'kernel'].groupby('name').dur.sum()",
    "simdjson": "import simdjson, sys\n"
                "events = simdjson.Parser().load(sys.argv[1])['traceEvents']\n"
                "totals = {}\n"
                "for e in events:\n"
                "    if e['ph'] == 'X' and e['cat'] == 'kernel':\n"
                "        totals[e['name']] = totals.get(e['name'], 0) + e['dur']",
    "simdjson_parse_only": "import simdjson, sys\nsimdjson.Parser().load(sys.argv[1])",
    "duckdb": "import duckdb, sys\nduckdb.sql('SET threads=1')\n"
              "duckdb.sql(\"SELECT e.name, sum(e.dur) FROM (SELECT unnest(traceEvents) AS e FROM "
              "read_json('%s', columns={'traceEvents': 'STRUCT(ph VARCHAR, cat VARCHAR, "
              "name VARCHAR, ts DOUBLE, dur DOUBLE, pid VARCHAR, tid VARCHAR)[]'}, "
              "maximum_object_size=2000000000)) WHERE e.cat = 'kernel' GROUP BY 1\" "
              "% sys.argv[1]).fetchall()",
    "holistic_trace_analysis": "import sys, os\n"
                               "from hta.trace_analysis import TraceAnalysis\n"
                               "t = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir='')\n"
                               "t.get_gpu_kernel_breakdown(visualize=False)",
}


NSYS_STEPS = 500000
SQL = ("import sqlite3, sys\nsqlite3.connect(sys.argv[1]).execute('SELECT value, sum(end - start) "
       "FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName GROUP BY 1').fetchall()")


def measure(command):
    """CPU seconds and peak bytes of a process; None where it fails."""
    pid = os.fork()
    if not pid:
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), 1)
            os.dup2(null.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (900, 900))
        os.execvp(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status:
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def available(python, code):
    imports = code.splitlines()[0] if not code.startswith("import sys, os") else \
        "from hta.trace_analysis import TraceAnalysis"
    return not subprocess.run([python, "-c", imports], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode


def measure_nsys(inferscope, folder):
    path = os.path.join(folder, "trace.sqlite")
    rows = nsys_rows.write(NSYS_STEPS, path)
    commands = {"nsys": [inferscope, "analyze", "--quiet", path],
                "nsys.sqlite3_group_by": [sys.executable, "-c", SQL, path]}
    print("# import.nsys: %d MB, %d rows" % (os.path.getsize(path) / 1e6, rows))
    for name, command in commands.items():
        seconds, peak = min(measure(command) for _ in range(ROUNDS))
        print("import.%s %.2f s" % (name, seconds))
        print("import.%s.peak %.0f bytes/row%s" % (name, peak / rows,
                                                 " <= 120" if name == "nsys" else ""))


def main():
    inferscope = os.environ["INFERSCOPE_BIN"]
    python = os.environ.get("INFERSCOPE_IMPORT_TOOLS", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        with open(path, "w", encoding="ascii") as file:
            events = 16 * kineto_text.write(MEGABYTES, file)
        size = os.path.getsize(path)
        report = os.path.join(folder, "r.json")
        commands = {"inferscope": [inferscope, "analyze", "--quiet", path, "--report", report]}
        for name, code in TOOLS.items():
            if available(python, code):
                commands[name] = [python, "-c", code, path]
            else:
                print("# import.%s: not installed" % name)
        best = {}
        for _ in range(ROUNDS):
            for name, command in list(commands.items()):
                got = measure(command)
                if got is None:
                    print("# import.%s failed" % name)
                    del commands[name]
                else:
                    best[name] = min(best.get(name, got), got)
        print("# import: %d MB, %d events; CPU seconds, best of %d" % (size / 1e6, events, ROUNDS))
        for name, (seconds, peak) in best.items():
            goal = " <= %.2f" % (3 * size / 1e9) if name == "inferscope" else ""
            print("import.%s %.2f s%s" % (name, seconds, goal))
            goal = " <= 120" if name == "inferscope" else ""
            print("import.%s.peak %.0f bytes/event%s" % (name, peak / events, goal))
        measure_nsys(inferscope, folder)


if __name__ == "__main__":
    main()
