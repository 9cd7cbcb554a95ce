"""inferscope export --to sqlite and arrow: the tables of docs/TABLES.md, as the trace has it."""

import json
import os
import sqlite3
import stat
import struct

import pytest

from arrow_file import read_arrow_file

RECORDED = ["h200_gpt2_decode", "h200_resnet50", "h200_two_streams"]


@pytest.fixture
def database(inferscope, work):
    """Exports a trace to SQLite; returns the open database."""
    def run(trace, *args):
        done = inferscope("export", trace, "-o", "run.sqlite", *args)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert done.stderr == "" or "is not complete" in done.stderr
        return sqlite3.connect(str(work / "run.sqlite"))
    return run


@pytest.fixture
def events_of(inferscope):
    """The events of the JSON export; tests/cli/test_export.py holds them against their schema."""
    def run(trace):
        return json.loads(inferscope("export", trace, "--to", "json").stdout)["events"]
    return run


@pytest.fixture
def arrow_folder(inferscope, work):
    def run(trace):
        done = inferscope("export", trace, "--to", "arrow", "-o", "tables")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        return work / "tables"
    return run


def described(inferscope):
    """{table: [columns]} of the documentation."""
    tables, name = {}, None
    for line in inferscope("export", "--list-tables").stdout.splitlines():
        if line.startswith("## "):
            name = line[3:]
            tables[name] = []
        elif line.startswith("| `") and name:
            tables[name].append(line.split("`")[1])
    return tables


def recorded(root, name):
    return os.path.join(root, "examples/traces", name + ".isc")


def test_the_database_has_the_documented_tables(inferscope, database, golden):
    con = database(golden("gpu_service"))
    tables = {name: [row[1] for row in con.execute("pragma table_info(%s)" % name)]
              for name, in con.execute("select name from sqlite_master where type = 'table'")}
    assert tables == described(inferscope)
    assert con.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert con.execute("pragma quick_check").fetchall() == [("ok",)]


def sums(events, kind):
    times = [round((e["end_us"] - e["start_us"]) * 1000) for e in events
             if e["event_type"] == kind and e["start_us"] is not None]
    return len([e for e in events if e["event_type"] == kind]), sum(times)


@pytest.mark.parametrize("name", RECORDED)
def test_the_database_agrees_with_the_json_export_and_the_report(events_of, database, root, name):
    """Two ways through the program: the tables, and the events one by one."""
    path = recorded(root, name)
    con = database(path)
    events = events_of(path)
    for table, kind in [("kernels", "gpu_kernel"), ("copies", "gpu_memcpy"),
                        ("memsets", "gpu_memset"), ("api", "cuda_api"),
                        ("layers", "layer")]:
        count, total = con.execute("select count(*), coalesce(sum(duration_ns), 0) from " + table
                                   ).fetchone()
        assert (count, total) == sums(events, kind), table
    with open(path.replace(".isc", ".json")) as file:
        report = json.load(file)
    shown = {k["full_name"]: (k["count"], k["ms"]) for p in report["gpu"]["processes"]
             for k in p["kernels"]}
    rows = {full: (n, ns / 1e6) for full, n, ns in con.execute(
        "select full_name, count(*), sum(duration_ns) from kernels group by 1")}
    assert shown and {k: v[0] for k, v in shown.items()} == {k: rows[k][0] for k in shown}
    for kernel, (_, ms) in shown.items():
        assert abs(rows[kernel][1] - ms) < 0.002


def test_rows_refer_to_each_other(database, root):
    con = database(recorded(root, "h200_gpt2_decode"))
    kernels, linked, late, stepped = con.execute(
        "select count(*), count(a.id), sum(k.start_ns < a.start_ns), count(s.id) from kernels k "
        "left join api a on a.id = k.api left join steps s on s.id = k.step").fetchone()
    assert linked == kernels and late == 0
    assert 0 < stepped <= kernels
    outside = con.execute("select count(*) from kernels k join steps s on s.id = k.step "
                          "where k.launch_ns not between s.start_ns and s.end_ns "
                          "or k.thread <> s.thread").fetchone()
    assert outside == (0,)
    assert con.execute("select count(*) from kernels where function is null").fetchone() == (0,)


@pytest.mark.parametrize("name", ["asyncio_server", "contention", "cpu_layers", "decoder",
                                  "gpu_service", "losses", "many_rows", "memory", "nvtx",
                                  "paused", "throttled", "hostile_names"])
def test_spans_and_layers_agree_with_the_json_export(events_of, database, golden, name):
    trace = golden(name)
    con = database(trace)
    events = events_of(trace)
    for table, where, kind in [("spans", "kind <> 'gc'", "cpu_function"),
                               ("spans", "kind = 'gc'", "gc"), ("layers", "1", "layer"),
                               ("gaps", "kind = 'lost'", "lost"),
                               ("gaps", "kind = 'paused'", "calls_paused")]:
        rows = con.execute("select count(*), coalesce(sum(duration_ns), 0) from %s where %s"
                           % (table, where)).fetchone()
        assert rows == sums(events, kind), table
    counters = [e for e in events if e["event_type"] == "counter"]
    assert con.execute("select count(*) from counters").fetchone() == (len(counters),)
    names = {e["name"] for e in events if e["event_type"] == "cpu_function"}
    assert {n for n, in con.execute("select name from spans where kind <> 'gc'")} == names


def test_the_breakdown_of_a_kind_of_steps_adds_up(database, golden):
    con = database(golden("gpu_service"))
    for kind, share in con.execute("select kind, sum(share) from breakdown group by kind"):
        assert abs(share - 1) < 1e-9, kind


def test_one_table_alone(database, golden):
    con = database(golden("gpu_service"), "--table", "steps")
    assert con.execute("select name from sqlite_master where type = 'table'").fetchall() == [
        ("steps",)]


def test_only_the_owner_may_read_the_tables(arrow_folder, database, golden, work):
    folder = arrow_folder(golden("gpu_service"))
    database(golden("gpu_service"))
    assert stat.S_IMODE(os.stat(str(folder)).st_mode) == 0o700
    for path in [folder / "kernels.arrow", work / "run.sqlite"]:
        assert stat.S_IMODE(os.stat(str(path)).st_mode) == 0o600
    assert [name for name in os.listdir(str(work)) if "tmp" in name] == []


def test_a_folder_has_a_file_for_each_table(inferscope, arrow_folder, golden):
    folder = arrow_folder(golden("gpu_service"))
    assert sorted(os.listdir(str(folder))) == sorted(name + ".arrow" for name in
                                                     described(inferscope))
    for name in os.listdir(str(folder)):
        data = (folder / name).read_bytes()
        footer, = struct.unpack("<i", data[-10:-6])
        assert data[:8] == b"ARROW1\0\0" and data[-6:] == b"ARROW1"
        assert 0 < footer < len(data) and len(data) % 2 == 0


def test_what_cannot_be_is_refused(refused, golden, work):
    trace = golden("gpu_service")
    assert "did you mean 'kernels'" in refused("export", trace, "-o", "a.db", "--table", "kernel")
    assert "--list-tables" in refused("export", trace, "-o", "a.db", "--table", "qqqqqqqq")
    assert "has no tables" in refused("export", trace, "--to", "json", "--table", "kernels")
    assert "stream" in refused("export", trace, "--to", "sqlite")
    assert "folder" in refused("export", trace, "--to", "arrow")
    assert "folder" in refused("export", trace, "-o", "kernels.arrow")
    (work / "taken").write_text("mine")
    assert "--table" in refused("export", trace, "--to", "arrow", "-o", "taken", status=1)
    assert (work / "taken").read_text() == "mine"
    assert sorted(os.listdir(str(work))) == ["gpu_service.isc", "story", "taken"]


def test_the_name_of_the_file_says_the_format(inferscope, golden, work):
    trace = golden("gpu_service")
    for name, begin in [("a.sqlite", b"SQLite format 3\0"), ("b.db", b"SQLite format 3\0"),
                        ("c.folded", b"serve.py;"), ("d.json", b'{\n"inferscope"')]:
        assert inferscope("export", trace, "-o", name).returncode == 0
        assert (work / name).read_bytes().startswith(begin), name
    done = inferscope("export", trace, "-o", "e.arrow", "--table", "steps")
    assert done.returncode == 0 and (work / "e.arrow").read_bytes().startswith(b"ARROW1")
    # What is asked for counts more than the name.
    assert inferscope("export", trace, "-o", "f.db", "--to", "folded").returncode == 0
    assert (work / "f.db").read_bytes().startswith(b"serve.py;")


@pytest.mark.parametrize("name", ["gpu_service", "hostile_names", "cpu_layers", "nvtx", "memory"])
def test_arrow_files_have_what_the_database_has(arrow_folder, database, golden, name):
    trace = golden(name)
    con, folder = database(trace), arrow_folder(trace)
    for path in os.listdir(str(folder)):
        table = path[:-len(".arrow")]
        names, rows = read_arrow_file((folder / path).read_bytes())
        assert names == [row[1] for row in con.execute("pragma table_info(%s)" % table)]
        assert rows == con.execute("select * from %s order by rowid" % table).fetchall(), table


def test_a_recorded_table_is_whole(arrow_folder, database, root):
    path = recorded(root, "h200_gpt2_decode")
    rows = database(path).execute("select * from kernels order by id").fetchall()
    assert read_arrow_file((arrow_folder(path) / "kernels.arrow").read_bytes())[1] == rows


def read_arrow(folder, name):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pyarrow.ipc.open_file(str(folder / (name + ".arrow"))).read_all()
    table.validate(full=True)
    return table


@pytest.mark.parametrize("name", ["gpu_service", "hostile_names", "cpu_layers", "nvtx"])
def test_pyarrow_reads_what_the_database_has(arrow_folder, database, golden, name):
    trace = golden(name)
    con, folder = database(trace), arrow_folder(trace)
    for path in os.listdir(str(folder)):
        table = path[:-len(".arrow")]
        arrow = read_arrow(folder, table)
        rows = con.execute("select * from %s order by rowid" % table).fetchall()
        assert [tuple(row.values()) for row in arrow.to_pylist()] == rows, table


def test_a_pipe_gets_a_stream(binary, golden, work):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import subprocess
    data = subprocess.run([binary, "export", golden("gpu_service"), "--to", "arrow", "--table",
                           "kernels"], cwd=str(work), stdout=subprocess.PIPE, check=True).stdout
    table = pyarrow.ipc.open_stream(data).read_all()
    assert table.num_rows > 0 and table.schema.field("duration_ns").metadata[b"unit"] == b"ns"


@pytest.mark.parametrize("engine", ["duckdb", "pandas", "polars", "chdb"])
def test_other_engines_get_the_same_sums(arrow_folder, database, root, engine):
    module = pytest.importorskip(engine, reason=engine + " is not installed")
    path = recorded(root, "h200_gpt2_decode")
    want = database(path).execute("select count(*), sum(duration_ns) from kernels").fetchall()[0]
    file = str(arrow_folder(path) / "kernels.arrow")
    if engine == "duckdb":
        pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        kernels = pyarrow.ipc.open_file(file).read_all()
        assert kernels.num_rows
        got = module.sql("select count(*), sum(duration_ns) from kernels").fetchall()[0]
    elif engine == "pandas":
        frame = module.read_feather(file)
        got = len(frame), frame.duration_ns.sum()
    elif engine == "polars":
        frame = module.read_ipc(file)
        got = frame.height, frame["duration_ns"].sum()
    else:
        text = str(module.query("select count(), sum(duration_ns) from file('%s', Arrow)" % file))
        got = tuple(int(part) for part in text.strip().split(","))
    assert tuple(int(part) for part in got) == want
