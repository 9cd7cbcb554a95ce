"""inferscope query: traces told as stories, through the real program."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import time

import pytest

SERVICE = """\
info command python3
info command serve.py
info cwd /srv/app
info gpu on
process 1 100 serve.py 0 90000000
thread 1 1 100 MainThread 0 90000000 0
thread 2 1 102 cupti 0 90000000 0
code infer /srv/app/serve.py 40
stack 1 infer:44
gpu 1 1 500000 CUPTI 130000
device 1 0 600000 NVIDIA H200
%s
%s
end 90500000 0
"""
KERNELS = ["gemm", "add", "softmax"]


def service(steps=20):
    host, device = [], []
    for i in range(steps):
        at = 1000000 + 2000000 * i
        host.append("1: [request#%d/0@%d +infer@%d" % (i + 1, at, at + 1000))
        for k, name in enumerate(KERNELS):
            call = 3 * i + k + 1
            start = at + 10000 + 100000 * k
            host.append("1: {cudaLaunchKernel#%d:1/1@%d }%d@%d" % (call, start, call, start + 5000))
            device.append("2: kernel:%s#%d@%d:%d+%d/%d" % (
                name, call, at + 900000, start + 10000, 1000 * (k + 1) + i, 7 + k % 2))
        host.append("1: -infer@%d ]#%d@%d" % (at + 900000, i + 1, at + 901000))
    return SERVICE % ("\n".join(host), "\n".join(device))


@pytest.fixture
def query(inferscope, story):
    """The rows of a statement as objects."""
    trace = story(service())

    def run(sql, *options):
        done = inferscope("query", trace, sql, "--format", "json", *options)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)
    return run


@pytest.fixture
def wrong(refused, story):
    """The one line that refuses a statement."""
    trace = story(service())

    def run(sql, *options, status=2):
        return refused("query", trace, sql, *options, status=status)
    return run


def test_rows_are_those_of_the_trace(query):
    assert query("SELECT count(*) AS n FROM kernels") == [{"n": 60}]
    rows = query("SELECT name, count(*) n, sum(duration_ns) ns FROM kernels GROUP BY name")
    assert rows == [{"name": name, "n": 20, "ns": sum(1000 * (KERNELS.index(name) + 1) + i
                                                      for i in range(20))}
                    for name in sorted(KERNELS)]
    assert query("SELECT min(duration_ns) a, max(duration_ns) b FROM steps") == [
        {"a": 901000, "b": 901000}]
    assert query("SELECT DISTINCT file, line, function FROM kernels") == [
        {"file": "/srv/app/serve.py", "line": 44, "function": "infer"}]


def test_every_table_can_be_read(query, inferscope):
    listed = inferscope("query", "--tables", "--format", "csv").stdout
    columns = list(csv.DictReader(io.StringIO(listed)))
    tables = sorted({row["table"] for row in columns})
    assert {"threads", "spans", "kernels", "copies", "api", "layers", "samples", "counters",
            "steps", "findings", "metrics"} <= set(tables)
    for table in tables:
        rows = query("SELECT * FROM %s" % table)
        assert query('SELECT count(*) AS n FROM "%s"' % table) == [{"n": len(rows)}]
        if rows:
            assert list(rows[0]) == [c["column"] for c in columns if c["table"] == table]


def test_the_tables_are_those_of_the_documentation(inferscope, root):
    listed = inferscope("query", "--tables", "--format", "json")
    with open(os.path.join(root, "docs/TABLES.md"), encoding="utf-8") as file:
        text = file.read()
    for row in json.loads(listed.stdout):
        assert "| `%s` | %s | %s |" % (row["column"], row["type"], row["unit"]) in text
    plain = inferscope("query", "--tables").stdout
    assert "kernels: a row is a kernel that ran on a GPU\n" in plain
    assert re.search(r"^  duration_ns +integer +ns ", plain, re.M)


@pytest.mark.parametrize("column", ["name", "id", "stream", "step", "duration_ns", "line", "graph"])
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_the_order_by_a_column_is_that_of_a_sort(query, column, direction):
    rows = query("SELECT %s AS c FROM kernels ORDER BY %s %s" % (column, column, direction))
    # "+" hides the column from the plan: SQLite sorts
    sorted_rows = "SELECT %s AS c FROM kernels ORDER BY +%s %s" % (column, column, direction)
    assert rows == query(sorted_rows)
    assert len(rows) == 60


@pytest.mark.parametrize("where", [
    "id = 7", "id = -1", "id = 60", "id = 7.0", "id = 7.5", "id = NULL", "id = 'x'",
    "id IN (3, 1, 1, 99)", "id = 9223372036854775807", "id = 1e300",
    "name = 'gemm'", "name = 'GEMM'", "name = 'GEMM' COLLATE NOCASE", "name = 5", "name = NULL",
    "name IS NULL", "name IN ('add', 'softmax', 'gone')", "stream = 8",
    "step = 3 AND name = 'add'", "step IS 3", "graph IS NULL", "graph = 1", "duration_ns = 1019",
])
def test_looking_up_finds_what_a_scan_finds(query, where):
    found = query("SELECT id FROM kernels WHERE %s ORDER BY id" % where)
    hidden = re.sub(r"\b(id|name|stream|step|graph|duration_ns)\b", r"+\1", where)
    assert found == query("SELECT id FROM kernels WHERE %s ORDER BY +id" % hidden)


def test_numbers_in_quotes_are_numbers_for_a_column_of_numbers(query):
    assert query("SELECT id FROM kernels WHERE id = '7'") == [{"id": 7}]
    assert query("SELECT count(*) AS n FROM kernels WHERE stream = '8'") == [{"n": 20}]


def test_tables_are_joined(query):
    rows = query("SELECT s.id, count(*) AS kernels, sum(a.duration_ns) AS api_ns FROM steps s "
                 "JOIN kernels k ON k.step = s.id JOIN api a ON a.id = k.api "
                 "GROUP BY s.id ORDER BY s.id")
    assert rows == [{"id": i, "kernels": 3, "api_ns": 15000} for i in range(len(rows))]
    assert len(rows) == query("SELECT count(*) AS n FROM steps")[0]["n"]
    assert query("SELECT DISTINCT t.name FROM kernels k JOIN threads t ON t.thread = k.thread") == [
        {"name": "MainThread"}]


def test_findings_and_metrics_are_those_of_the_report(query, inferscope, work):
    inferscope("analyze", "run.isc", "--quiet", "--report", "r.json")
    report = json.loads((work / "r.json").read_text())
    found = query("SELECT finding FROM findings")
    assert [f["finding"] for f in found] == [f["id"] for f in report["findings"]]
    assert query("SELECT value FROM metrics WHERE name = 'p50_time'") == [
        {"value": report["steps"][0]["p50_ms"]}]


def test_table(inferscope, story):
    done = inferscope("query", story(service()),
                      "SELECT name, count(*) AS n, 1.5 AS r, NULL AS missing FROM kernels "
                      "GROUP BY 1")
    assert done.stdout == (
        "name      n      r  missing\n"
        "-------  --  -----  -------\n"
        "add      20  1.500         \n"
        "gemm     20  1.500         \n"
        "softmax  20  1.500         \n")
    empty = inferscope("query", "run.isc", "SELECT name FROM kernels WHERE 0")
    assert empty.stdout == "name\n----\n"


def test_csv_and_json_give_every_value_back(inferscope, story):
    sql = ("SELECT 'a,\"b\"' || char(10) || 'c' AS text, 9223372036854775807 AS big, 0.1 AS real, "
           "1e300 * 1e10 AS inf, NULL AS missing, x'00ff' AS blob, 'x' AS text")
    trace = story(service())
    rows = list(csv.reader(io.StringIO(inferscope("query", trace, sql, "--format", "csv").stdout)))
    assert rows == [["text", "big", "real", "inf", "missing", "blob", "text:2"],
                    ['a,"b"\nc', "9223372036854775807", "0.1", "Inf", "", "X'00FF'", "x"]]
    done = inferscope("query", trace, sql, "--format", "json")
    assert json.loads(done.stdout) == [
        {"text": 'a,"b"\nc', "big": 9223372036854775807, "real": 0.1, "inf": None, "missing": None,
         "blob": "X'00FF'", "text:2": "x"}]
    assert inferscope("query", trace, "SELECT 1 WHERE 0", "--format", "json").stdout == "[]\n"


def test_names_cannot_reach_the_terminal_with_control_characters(inferscope, story):
    done = inferscope("query", story(service()), "SELECT char(27) || '[31mred' AS \"x\x1b[2J\"")
    assert done.returncode == 0 and "\x1b" not in done.stdout


def test_many_rows(query, inferscope):
    sql = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) "
           "SELECT x FROM c")
    assert [row["x"] for row in query(sql)] == list(range(1, 20001))
    lines = inferscope("query", "run.isc", sql).stdout.splitlines()
    assert len(lines) == 20002 and lines[-1].strip() == "20000"


def test_the_statement_comes_from_standard_input(inferscope, story):
    trace = story(service())
    read, write = os.pipe()
    os.write(write, b"-- kernels\nSELECT count(*) AS n\nFROM kernels; -- the end\n")
    os.close(write)
    done = inferscope("query", trace, "-", "--format", "csv", stdin=read)
    os.close(read)
    assert done.stdout == "n\n60\n"


def test_rows_go_into_a_file(inferscope, story, work, refused):
    trace = story(service())
    assert inferscope("query", trace, "SELECT 1 AS one", "--format", "csv", "-o",
                      "x.csv").stdout == ""
    assert (work / "x.csv").read_text() == "one\n1\n"
    refused("query", trace, "SELECT nothing", "-o", "x.csv")
    assert (work / "x.csv").read_text() == "one\n1\n"
    assert "it is the trace to read" in refused("query", trace, "SELECT 1", "-o", trace)


@pytest.mark.parametrize("sql, says", [
    ("SELECT nam FROM kernels",
     "SQL: no such column: nam, line 1, column 8, at 'nam FROM kernels'; did you mean 'name'?"),
    ("SELECT 1\nFROM kernel", "SQL: no such table: kernel; did you mean 'kernels'?"),
    ("SELECT * FROM whatever", "SQL: no such table: whatever; --tables lists tables and columns"),
    ("SELECT\n  count(* FROM kernels", "SQL: near \"FROM\": syntax error, line 2, column 11, at "
                                       "'FROM kernels'"),
    ("", "SQL: it is empty"),
    ("/* nothing */ ;", "SQL: it is empty"),
    ("SELECT 1; SELECT 2", "SQL: it is more than one statement"),
    ("SELECT ?", "SQL: it has a parameter, which has no value"),
    ("SELECT \"gemm\"",
     "SQL: no such column: gemm, line 1, column 8, at '\"gemm\"'; --tables lists "
                        "tables and columns"),
    ("SELECT abs(-9223372036854775807 - 1)", "SQL: integer overflow"),
])
def test_a_wrong_statement_is_located(wrong, sql, says):
    said = wrong(sql)
    # SQLite before 3.38 tells no place
    assert said in (says, re.sub(r", line \d+, column \d+, at '.*?'(?=;|$)", "", says))


REFUSED = "SQL: a query only reads tables and computes; nothing else is permitted"


@pytest.mark.parametrize("sql", [
    "ATTACH 'x.db' AS x", "PRAGMA user_version", "CREATE TABLE t(x)", "CREATE TEMP TABLE t(x)",
    "CREATE VIEW v AS SELECT 1", "CREATE VIRTUAL TABLE f USING fts5(x)", "DROP TABLE kernels",
    "INSERT INTO kernels(id) VALUES (1)", "UPDATE kernels SET id = 1", "DELETE FROM kernels",
    "BEGIN", "VACUUM INTO 'x.db'", "DETACH main", "REINDEX", "ANALYZE", "SAVEPOINT s",
    "SELECT * FROM pragma_database_list", "SELECT load_extension('x.so')",
    "SELECT writefile('x', 'y')", "SELECT readfile('/etc/passwd')", "SELECT edit('x')",
])
def test_a_statement_reads_and_computes_only(wrong, sql, work):
    said = wrong(sql)
    assert said.startswith("SQL: ")
    refusals = "not authorized", "no such", "may not"
    assert said == REFUSED or any(text in said for text in refusals), said
    assert sorted(os.listdir(str(work))) == ["run.isc", "story"]


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def test_time_is_limited(wrong):
    assert wrong(ENDLESS, "--time-limit", "0.2", status=1) == (
        "the query took longer than 0.2 s; --time-limit allows more")


def test_memory_is_limited(wrong, binary):
    with open(binary, "rb") as file:
        if b"__asan_init" in file.read():
            pytest.skip("a sanitizer's own allocator takes memory ahead")
    hungry = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 10000000) "
              "SELECT count(DISTINCT hex(randomblob(100))) FROM c")
    assert "--max-memory" in wrong(hungry, "--max-memory", "50M", status=1)
    assert wrong("SELECT zeroblob(1000000000)") == "SQL: string or blob too big"


def test_an_interrupt_ends_it(binary, story, work, clean_env):
    trace = story(service())
    process = subprocess.Popen([binary, "query", trace, ENDLESS, "-o", "x.csv"], cwd=str(work),
                               env=clean_env, stderr=subprocess.PIPE, universal_newlines=True)
    deadline = time.monotonic() + 60
    # the draft of x.csv is there when the query begins, and the handler with it
    while len(os.listdir(str(work))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (130, "inferscope: interrupted\n")
    assert sorted(os.listdir(str(work))) == ["run.isc", "story"]


@pytest.mark.parametrize("args, says", [
    ([], "query: no trace given; query TRACE 'SQL'"),
    (["run.isc"], "query: no statement given; query TRACE 'SQL', or - for standard input"),
    (["run.isc", "SELECT", "1"],
     "query: unexpected '1'; the statement is one argument, in quotes"),
    (["run.isc", "SELECT 1", "--format", "xml"],
     "--format: expected table|csv|json, not 'xml'"),
])
def test_mistakes_are_usage_errors(story, refused, args, says):
    story(service())
    assert refused("query", *args) == says


def test_what_cannot_be_read_is_named(refused, work):
    (work / "junk").write_bytes(b"no trace")
    assert "junk" in refused("query", "junk", "SELECT 1", status=1)


def documented():
    path = os.path.join(os.path.dirname(__file__), "../../docs/QUERIES.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return re.findall(r"^## ([^\n]*)\n\n```sql\n(.*?)```", text, re.M | re.S)


def test_ten_queries_are_documented():
    assert len(documented()) >= 10


@pytest.mark.parametrize("title, sql", documented())
def test_a_documented_query_runs(title, sql, golden, inferscope):
    rows = 0
    for name in "gpu_service", "cpu_layers", "contention":
        done = inferscope("query", golden(name), sql, "--format", "json")
        assert (done.returncode, done.stderr) == (0, ""), title
        rows += len(json.loads(done.stdout))
    assert rows > 0


# Figures of real traces, which their README gives, by the tables alone.

REAL = next((folder for folder in (
    os.path.join(os.path.dirname(__file__), "../../../shared/traces"), "/work/shared/traces")
    if os.path.isdir(folder)), None)
BUSY = """
WITH work AS (SELECT start_ns, end_ns FROM kernels UNION ALL SELECT start_ns, end_ns FROM copies
              UNION ALL SELECT start_ns, end_ns FROM memsets),
     ordered AS (SELECT start_ns, end_ns, max(end_ns) OVER (
                     ORDER BY start_ns, end_ns
                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
                 FROM work)
SELECT (SELECT count(*) FROM kernels) AS kernels, (SELECT count(*) FROM copies) AS copies,
       (SELECT count(*) FROM memsets) AS memsets, max(end_ns) - min(start_ns) AS span,
       sum(max(0, end_ns - max(start_ns, coalesce(until, start_ns)))) AS busy,
       (SELECT sum(duration_ns) FROM kernels) AS kernel_time
FROM ordered
"""


def nanoseconds(microseconds):
    whole, _, part = microseconds.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def figures_of_readme():
    if not REAL:
        return [("absent", None)]
    with open(os.path.join(REAL, "README.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `((?:kineto|nsys)[^`]*)` \|[^|]*\| (\d+) / (\d+) / (\d+)"
                          r" \| ([\d.]+)"
                          r" \| ([\d.]+)"
                          r" \| ([\d.]+) \|", file.read(), re.M)
    return [(row[0], [int(n) for n in row[1:4]] + [nanoseconds(us) for us in row[4:]])
            for row in rows]


@pytest.mark.parametrize("name, figures", figures_of_readme())
def test_the_figures_of_real_traces_are_exact(name, figures, inferscope):
    if not figures:
        pytest.skip("../shared/traces is absent")
    done = inferscope("query", os.path.join(REAL, name), BUSY, "--format", "json")
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)[0]
    assert [row[key] for key in ("kernels", "copies", "memsets", "span", "busy",
                                 "kernel_time")] == figures
