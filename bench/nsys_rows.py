"""Writes a database as `nsys export --type sqlite` does, of any size, for bench_import.py.

    python bench/nsys_rows.py STEPS FILE

A step has three calls, a kernel, a copy and a wait; of ten steps one NVTX range.
"""

import sqlite3
import sys

ACTIVITY = "start end deviceId contextId streamId correlationId globalPid "
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ACTIVITY + "demangledName shortName gridX gridY gridZ blockX "
    "blockY blockZ registersPerThread staticSharedMemory dynamicSharedMemory graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": ACTIVITY + "bytes copyKind srcKind dstKind graphNodeId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": ACTIVITY + "syncType eventId",
    "CUPTI_ACTIVITY_KIND_RUNTIME":
    "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "NVTX_EVENTS": "start end eventType textId globalTid domainId",
}
TEXTS = ["cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaStreamSynchronize_v3020",
         "void gemm<float, 128>(float const*, float*, int)", "step"]
PID = 1 << 48 | 4242 << 24
TID = PID | 4242
STEP_NS = 10000


def work(start, end, correlation, *own):
    return (start, end, 0, 1, 7, correlation, PID) + own


def rows(steps):
    """(table, row) step by step."""
    for i in range(steps):
        at, number = 10**9 + STEP_NS * i, 3 * i
        yield "CUPTI_ACTIVITY_KIND_RUNTIME", (at + 500, at + 1500, 0, TID, number + 1, 1, 0, None)
        yield "CUPTI_ACTIVITY_KIND_KERNEL", work(at + 2000, at + 6000, number + 1, 4, 4, 2, 1, 1,
                                                 128, 1, 1, 32, 0, 0, None)
        yield "CUPTI_ACTIVITY_KIND_RUNTIME", (at + 1600, at + 1900, 0, TID, number + 2, 2, 0, None)
        yield "CUPTI_ACTIVITY_KIND_MEMCPY", work(at + 6000, at + 6500, number + 2, 4096, 2, 2, 0,
                                                 None)
        yield "CUPTI_ACTIVITY_KIND_RUNTIME", (at + 2000, at + 7000, 0, TID, number + 3, 3, 0, None)
        yield "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", work(at + 2000, at + 7000, number + 3, 3, 0)
        if not i % 10:
            yield "NVTX_EVENTS", (at, at + 9 * STEP_NS, 59, 5, TID, 0)


def write(steps, path):
    """How many rows there are."""
    base, count = sqlite3.connect(path), 0
    base.execute("PRAGMA journal_mode = OFF")
    base.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(TEXTS, 1))
    inserts = {}
    for name, columns in TABLES.items():
        columns = columns.split()
        base.execute("CREATE TABLE %s (%s)" % (name, ", ".join('"%s" INTEGER' % column
                                                               for column in columns)))
        inserts[name] = "INSERT INTO %s VALUES (%s)" % (name, ", ".join("?" * len(columns)))
    for name, row in rows(steps):
        base.execute(inserts[name], row)
        count += 1
    base.commit()
    base.close()
    return count


if __name__ == "__main__":
    print(write(int(sys.argv[1]), sys.argv[2]), "rows")
