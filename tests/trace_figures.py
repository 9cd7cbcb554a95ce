"""What other tools' traces hold, computed from the files alone.

    python tests/trace_figures.py FILE...

Prints kernels, copies, memsets, the span, the busy time (the union of all intervals) and the sum
of kernels in nanoseconds, as tests/python/test_import_figures.py compares them with reports.
Written apart from the importer: Python's own JSON and SQLite, exact decimals, no code of ours.
"""

import decimal
import gzip
import json
import sqlite3
import sys

decimal.getcontext().prec = 60

KINDS = {"kernel": "kernels", "Kernel": "kernels", "gpu_memcpy": "copies", "Memcpy": "copies",
         "gpu_memset": "memsets", "Memset": "memsets"}


def decimal_of(value):
    """Numbers are decimals already; some files have strings."""
    return decimal.Decimal(value if isinstance(value, (str, int)) else str(value))


def load_json(path):
    with open(path, "rb") as file:
        raw = file.read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    trace = json.loads(raw.decode("utf-8", "replace"), parse_float=decimal.Decimal, strict=False)
    return trace["traceEvents"] if isinstance(trace, dict) else trace


def json_work(path):
    """(kind, start, end) in nanoseconds of each thing that a device did."""
    for event in load_json(path):
        kind = KINDS.get(event.get("cat"))
        if kind and event.get("ph") == "X":
            start = decimal_of(event["ts"]) * 1000
            yield kind, start, start + decimal_of(event.get("dur", 0)) * 1000


SQLITE_TABLES = {"CUPTI_ACTIVITY_KIND_KERNEL": "kernels", "CUPTI_ACTIVITY_KIND_MEMCPY": "copies",
                 "CUPTI_ACTIVITY_KIND_MEMSET": "memsets"}


def sqlite_work(path):
    base = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
    names = {row[0] for row in base.execute("SELECT name FROM sqlite_master")}
    tables = [name for name in SQLITE_TABLES if name in names]
    devices = {row[0] for name in tables
               for row in base.execute("SELECT DISTINCT deviceId FROM %s" % name)}
    for name in tables:
        query = "SELECT start, end FROM %s WHERE deviceId = ?" % name
        for start, end in base.execute(query, (min(devices),)):
            yield SQLITE_TABLES[name], decimal.Decimal(start), decimal.Decimal(end)


def work_of(path):
    with open(path, "rb") as file:
        head = file.read(16)
    return list(sqlite_work(path) if head.startswith(b"SQLite format 3") else json_work(path))


def union(intervals):
    total, until = 0, None
    for start, end in sorted(intervals):
        if until is None or start > until:
            total, until = total + (end - start), end
        elif end > until:
            total, until = total + (end - until), end
    return total


def figures(path):
    work = work_of(path)
    result = {"kernels": 0, "copies": 0, "memsets": 0, "kernel_ns": 0}
    for kind, start, end in work:
        result[kind] += 1
        if kind == "kernels":
            result["kernel_ns"] += end - start
    span = max(end for _, _, end in work) - min(start for _, start, _ in work) if work else 0
    busy = union((start, end) for _, start, end in work)
    result.update(span_ns=span, busy_ns=busy, idle_ns=span - busy)
    return {key: int(value) for key, value in result.items()}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, json.dumps(figures(name)))
