"""SQLite files of Nsight Systems of any version, and hostile ones."""

import gzip
import json
import os
import sqlite3
import struct
import sys

import pytest
import zstandard

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import trace_figures  # noqa: E402
from nsys_file import (  # noqa: E402
    GRAPH, KERNEL, MEMCPY, MEMSET, NVTX, OSRT, RUNTIME, Export, global_pid, global_tid, service)


@pytest.fixture
def report(inferscope, work):
    def run(name="t.sqlite", warning=""):
        done = inferscope("analyze", "--quiet", name, "--report", "r.json", "--detail", "full")
        assert done.returncode == 0, done.stderr
        assert warning in done.stderr if warning else done.stderr == ""
        return json.loads((work / "r.json").read_text())
    return run


@pytest.fixture
def export(work):
    return Export(work / "t.sqlite")


@pytest.fixture
def rows(inferscope):
    def run(sql, name="t.sqlite"):
        done = inferscope("query", name, sql, "--format", "json")
        assert done.returncode == 0, done.stderr
        return [tuple(row.values()) for row in json.loads(done.stdout)]
    return run


def notes_of(result):
    return "\n".join(result["trust"]["notes"])


def test_a_service(report, work):
    service(work / "t.sqlite")
    result = report()
    gpu = result["gpu"]
    assert [(k["name"], k["count"], k["ms"]) for k in gpu["kernels"]] == [("gemm", 4, 0.08)]
    assert [(c["kind"], c["source"], c["destination"], c["bytes"], c["async"])
            for c in gpu["copies"]] == [("D2H", "device", "pageable", 16384, True)]
    assert (gpu["span_ms"], gpu["busy_ms"], gpu["idle_ms"]) == (0.34, 0.1, 0.24)
    step = result["steps"][0]
    assert (step["name"], step["source"], step["count"], step["p50_ms"]) == (
        "step #", "nvtx", 4, 0.09)
    assert {(c["name"], c["count"]) for c in gpu["calls"]} == {
        ("cudaLaunchKernel", 4), ("cudaMemcpyAsync", 4), ("cudaStreamSynchronize", 4)}
    assert result["trust"]["unmatched_activities"] == result["trust"]["unmatched_launches"] == 0
    assert "Imported from Nsight Systems SQLite (24 events)" in notes_of(result)


def test_correlations_are_those_of_one_process(export, rows):
    """Both processes count from 1, and each launched something else."""
    service(None, export=export)
    service(None, pid=11, nvtx=False, export=export)
    export.call("cudaLaunchKernel", 3000000, 3001000, 1001, pid=11, tid=12)
    export.kernel("other", 3002000, 3004000, 1001, pid=11)
    export.close()
    assert rows("SELECT pid, tid, name, count(*) FROM kernels GROUP BY 1, 2, 3") == [
        (10, 10, "gemm", 4), (11, 11, "gemm", 4), (11, 12, "other", 1)]
    assert rows("SELECT count(*) FROM kernels WHERE api IS NULL") == [(0,)]


def test_two_calls_of_one_correlation(export, report):
    export.call("cudaLaunchKernel", 100, 900, 7)
    export.call("cuLaunchKernel", 300, 700, 7)
    export.kernel("k", 2000, 3000, 7)
    export.close()
    result = report()
    assert result["trust"]["unmatched_activities"] == 0
    assert sum(call["count"] for call in result["gpu"]["calls"]) == 2


def test_without_texts_calls_devices_and_processes(export, report):
    """Tables and columns are missing in old versions, and where nothing was to be told."""
    export.run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER)")
    export.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 105), (205, '305')")
    export.close()
    gpu = report()["gpu"]
    assert [(k["name"], k["count"]) for k in gpu["kernels"]] == [("(no name)", 2)]
    assert (gpu["span_ms"], gpu["busy_ms"]) == (0.0003, 0.0002)


def test_names_may_be_texts(export, report):
    export.run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId, name TEXT)")
    export.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 105, 3, 'q4_ffn_down')")
    export.run("CREATE TABLE NVTX_EVENTS (start, end, text)")
    export.run("INSERT INTO NVTX_EVENTS VALUES (0, 200, 'all')")
    export.close()
    result = report()
    assert [k["name"] for k in result["gpu"]["kernels"]] == ["q4_ffn_down"]
    assert [(r["name"], r["count"]) for r in result["nvtx"]["ranges"]] == [("all", 1)]


def test_nvtx(export, rows):
    tid = global_tid(10, 10)
    export.add(NVTX, start=0, eventType=75, text="nccl", globalTid=tid, domainId=3)
    export.add(NVTX, start=0, eventType=33, text="loss", globalTid=tid, domainId=3, category=9)
    export.add(NVTX, start=10, end=50, eventType=59, textId=export.text("by number"),
               globalTid=tid, domainId=0)
    export.add(NVTX, start=20, eventType=60, text="never ends", globalTid=tid, domainId=0)
    export.add(NVTX, start=30, end=90, eventType=60, text="overlaps", globalTid=tid, domainId=3,
               category=9)
    export.add(NVTX, start=35, eventType=34, text="here", globalTid=tid, domainId=3)
    export.add(NVTX, start=36, end=40, eventType=99, text="a stream's name", globalTid=tid)
    export.close()
    assert rows("SELECT name, domain, end_ns - start_ns FROM scopes ORDER BY start_ns") == [
        ("by number", None, 40), ("never ends", None, None), ("overlaps", "nccl", 60)]
    assert rows("SELECT name, domain FROM marks") == [("here", "nccl")]


def test_whole_graphs_are_busy_time(export, report):
    export.call("cudaGraphLaunch_v10000", 100, 200, 7)
    export.add(GRAPH, start=1000, end=9000, deviceId=0, contextId=1, streamId=7, correlationId=7,
               globalPid=global_pid(10), graphId=2, graphExecId=5)
    export.kernel("k", 9000, 9500, 8)
    export.close()
    gpu = report()["gpu"]
    assert (gpu["graphs"], gpu["busy_ms"]) == ({"count": 1, "ms": 0.008}, 0.0085)


def test_kinds_of_copies_and_memories(export, rows):
    """As the file's own lists number them; unified memory is the host's and the device's."""
    export.run("CREATE TABLE ENUM_CUDA_MEM_KIND (id, name, label)")
    for number, label in ((1, "Pageable"), (2, "Pinned"), (3, "Device"), (5, "Device Static"),
                          (6, "Managed Static")):
        export.run("INSERT INTO ENUM_CUDA_MEM_KIND VALUES (?, '', ?)", number, label)
    for i, (kind, source, destination) in enumerate([(1, 2, 3), (11, 1, 6), (8, 3, 5), (10, 3, 3)]):
        export.copy(1000 * i, 1000 * i + 500, i + 1, copyKind=kind, srcKind=source,
                    dstKind=destination)
    export.add(MEMSET, start=9000, end=9100, deviceId=0, contextId=1, streamId=7, correlationId=9,
               globalPid=global_pid(10), value=0, bytes=128, memKind=3)
    export.close()
    assert rows("SELECT kind, source, destination FROM copies ORDER BY start_ns") == [
        ("H2D", "pinned", "device"), ("H2D", "pageable", "managed"), ("D2D", "device", "device"),
        ("peer", "device", "device")]
    assert rows("SELECT destination, bytes FROM memsets") == [("device", 128)]


def test_devices_have_cudas_numbers(export, report):
    """The machine counts them in another order, and the program sees only some."""
    service(None, export=export)
    export.run("CREATE TABLE TARGET_INFO_GPU (id, name, cuDevice, totalMemory, clockRate)")
    export.run("INSERT INTO TARGET_INFO_GPU VALUES "
               "(0, 'other', 1, 1, 1), (1, 'used', 0, 80, 1410000000)")
    export.close()
    assert [(d["device_id"], d["name"], d["clock_mhz"]) for d in report()["gpu"]["devices"]] == [
        (0, "used", 1410)]


def test_several_devices_of_a_process_are_told_apart(export, report, rows):
    service(None, export=export)
    export.call("cudaLaunchKernel", 1095000, 1096000, 900)
    export.kernel("second", 1096000, 1099000, 900, deviceId=1)
    export.close()
    assert "1 processes used more than one GPU each" in notes_of(report())
    assert rows("SELECT device, count(*) FROM kernels GROUP BY 1") == [(0, 4), (1, 1)]


def test_names_threads_and_other_ranges(export, report):
    service(None, export=export)
    export.run("CREATE TABLE PROCESSES (globalPid, pid, name)")
    export.run("INSERT INTO PROCESSES VALUES (?, 10, '/usr/bin/serve')", global_pid(10))
    export.run("CREATE TABLE ThreadNames (nameId, priority, globalTid)")
    export.run("INSERT INTO ThreadNames VALUES (?, 5, ?)", export.text("worker"),
               global_tid(10, 10))
    export.add(OSRT, start=1000000, end=1003000, globalTid=global_tid(10, 10),
               nameId=export.text("ioctl"), nestingLevel=0)
    export.run("CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid)")
    export.run("INSERT INTO SCHED_EVENTS VALUES (1000000, 0, 1, ?)", global_tid(10, 10))
    export.run("CREATE TABLE META_DATA_EXPORT (name, value)")
    export.run("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.1')")
    export.close()
    result = report()
    assert result["processes"][0]["name"] == "serve"
    assert [t["name"] for t in result["cpu"]["threads"]] == ["worker"]
    assert [(f["name"], f["file"]) for f in result["cpu"]["functions"]] == [
        ("ioctl", "<OS runtime>")]
    assert "Shown as functions: OSRT_API 1" in notes_of(result)
    assert "have no counterpart here: SCHED_EVENTS 1" in notes_of(result)
    assert "Nsight Systems 2025.1" in notes_of(result)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed(report, work, pack):
    service(work / "plain")
    (work / "t.sqlite").write_bytes(pack((work / "plain").read_bytes()))
    assert report() == report("plain")


@pytest.mark.parametrize("pragmas", [{"journal_mode": "wal"}, {"encoding": "'UTF-16le'"},
                                     {"page_size": 512}, {"auto_vacuum": 1}])
def test_every_kind_of_database(report, work, pragmas):
    service(work / "plain")
    service(None, export=(e := Export(work / "t.sqlite", **pragmas)))
    e.close()
    assert report() == report("plain")


def test_nothing_is_written_beside_it(report, work):
    service(work / "t.sqlite")
    before = (work / "t.sqlite").read_bytes()
    report()
    assert (work / "t.sqlite").read_bytes() == before
    assert sorted(name for name in os.listdir(work) if name.startswith("t.sqlite")) == ["t.sqlite"]


def test_times_are_exact(export, report):
    """Nanoseconds since 1970 have no place in a double."""
    base = 1712195495505583001
    export.kernel("k", base, base + 1, 1)
    export.kernel("k", base + 3, base + 5, 2)
    export.close()
    gpu = report()["gpu"]
    assert (gpu["span_ms"], gpu["busy_ms"], gpu["idle_ms"]) == (0.000005, 0.000003, 0.000002)


def test_values_of_wrong_types(export, report):
    columns = dict(deviceId=0, contextId=1, streamId=7, correlationId=1, globalPid=global_pid(10))
    for start, end in ((None, 5), ("x", 7), (1 << 62, 5), (20, 10), (30, None), (b"\0\1", 9.5)):
        export.add(KERNEL, start=start, end=end, **columns)
    export.kernel("k", 100, 200, -5, deviceId=-1, streamId="0x7", gridX=1 << 40, contextId=b"",
                  demangledName=999999)
    export.copy(300, 400, 1 << 40, copyKind=77, srcKind=-1, bytes=-1)
    export.add(RUNTIME, start=5, end=1, globalTid="me", nameId=None, correlationId="9")
    export.close()
    result = report()
    assert "2 events have no usable time" in notes_of(result)
    assert "2 events have a negative duration" in notes_of(result)


def test_triggers_views_and_virtual_tables_are_not_used(export, report, refused, work):
    service(None, export=export)
    export.run("CREATE TRIGGER evil BEFORE INSERT ON NVTX_EVENTS "
               "BEGIN DELETE FROM NVTX_EVENTS; END")
    export.run("CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS SELECT 1 AS start, 2 AS end")
    export.run("CREATE VIRTUAL TABLE OSRT_API USING fts5(start, end, globalTid, nameId)")
    export.close()
    result = report()
    assert result["gpu"]["memsets"]["count"] == 0
    assert sum(k["count"] for k in result["gpu"]["kernels"]) == 4
    only = Export(work / "view.sqlite")
    only.run("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE x(start, end) AS "
             "(SELECT 1, 2 UNION ALL SELECT start + 1, end + 1 FROM x) SELECT * FROM x")
    only.close()
    assert "has no events" in refused("analyze", "view.sqlite", status=1)


def test_a_generated_column_that_calls_functions(export, report):
    export.run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL "
               "(start, end AS (length(hex(zeroblob(start)))))")
    export.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5)")
    export.copy(10, 20, 1)
    export.close()
    result = report(warning="CUPTI_ACTIVITY_KIND_KERNEL")
    assert sum(c["count"] for c in result["gpu"]["copies"]) == 1


def test_huge_rows(export, report):
    export.kernel("k" * 20000000, 5, 10, 1)
    export.run("CREATE TABLE JUNK (start, blob)")
    export.run("INSERT INTO JUNK VALUES (1, zeroblob(100000000))")
    export.close()
    assert [k["count"] for k in report()["gpu"]["kernels"]] == [1]


def test_a_truncated_file_is_partial(report, refused, work):
    service(work / "whole", steps=3000)
    whole = (work / "whole").read_bytes()
    (work / "t.sqlite").write_bytes(whole[:len(whole) // 2])
    result = report(warning="the report is partial")
    assert 0 < sum(k["count"] for k in result["gpu"]["kernels"]) < 3000
    (work / "t.sqlite").write_bytes(whole[:50])
    refused("analyze", "t.sqlite", status=1)


def test_pages_that_are_reached_in_many_ways(report, work):
    """A tree whose inner page names one leaf as every child has more rows than bytes."""
    path = work / "t.sqlite"
    service(None, steps=20000, export=(e := Export(path, page_size=4096)))
    root = e.base.execute("SELECT rootpage FROM sqlite_master WHERE name = ?",
                          (KERNEL[0],)).fetchone()[0]
    e.close()
    data = bytearray(path.read_bytes())
    at = (root - 1) * 4096
    assert data[at] == 5  # an inner page of a table
    cells, = struct.unpack(">H", data[at + 3:at + 5])
    for i in range(cells):
        cell, = struct.unpack(">H", data[at + 12 + 2 * i:at + 14 + 2 * i])
        data[at + cell:at + cell + 4] = struct.pack(">I", root)
    path.write_bytes(data)
    report(warning="the report is partial")


@pytest.mark.parametrize("tables, says", [
    (["CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "StringTable"], "is a database of nvprof"),
    (["rocpd_kernel_dispatch_0000"], "rocprofv3 (rocpd)"),
    (["rocpd_op"], "rpd (rocpd)"),
    (["customers"], "no export of Nsight Systems: it has no table like"),
    (["StringIds"], "has no events"),
])
def test_refused_in_one_line(refused, work, tables, says):
    base = sqlite3.connect(work / "t.sqlite")
    for name in tables:
        base.execute("CREATE TABLE %s (id, value)" % name)
    base.commit()
    base.close()
    assert says in refused("analyze", "t.sqlite", status=1)


def test_what_we_exported_is_refused(inferscope, refused, root, work):
    trace = os.path.join(root, "examples/traces/h200_encoder.isc")
    assert inferscope("export", trace, "-o", "t.sqlite").returncode == 0
    assert "is what InferScope exported" in refused("analyze", "t.sqlite", status=1)


def test_max_memory_gives_a_part(inferscope, work):
    service(work / "t.sqlite", steps=30000)
    done = inferscope("analyze", "--quiet", "t.sqlite", "--max-memory", "16M", "--report", "r.json")
    assert done.returncode == 0, done.stderr
    assert "% of each table were read" in done.stderr and "--max-memory" in done.stderr
    kernels = sum(k["count"] for k in json.loads((work / "r.json").read_text())["gpu"]["kernels"])
    assert 100 < kernels < 30000


def test_figures_of_a_made_file(report, work):
    """The script that judges real files agrees about one that was made."""
    e = Export(work / "t.sqlite")
    service(None, steps=50, export=e)
    e.add(MEMCPY, start=1, end=7, deviceId=0, correlationId=1, bytes=1)
    e.close()
    want, gpu = trace_figures.figures(str(work / "t.sqlite")), report()["gpu"]
    assert [round(gpu[key] * 1e6) for key in ("span_ms", "busy_ms", "idle_ms")] == [
        want["span_ns"], want["busy_ns"], want["idle_ns"]]
    assert sum(copy["count"] for copy in gpu["copies"]) == want["copies"] == 51
