"""SQLite files as Nsight Systems exports them, from a few lines: tables, columns and rows."""

import sqlite3

KERNEL = ("CUPTI_ACTIVITY_KIND_KERNEL", "start end deviceId contextId streamId correlationId "
          "globalPid demangledName shortName gridX gridY gridZ blockX blockY blockZ "
          "registersPerThread staticSharedMemory dynamicSharedMemory graphNodeId")
MEMCPY = ("CUPTI_ACTIVITY_KIND_MEMCPY", "start end deviceId contextId streamId correlationId "
          "globalPid bytes copyKind srcKind dstKind graphNodeId")
MEMSET = ("CUPTI_ACTIVITY_KIND_MEMSET", "start end deviceId contextId streamId correlationId "
          "globalPid value bytes memKind")
GRAPH = ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start end deviceId contextId streamId correlationId "
         "globalPid graphId graphExecId")
RUNTIME = ("CUPTI_ACTIVITY_KIND_RUNTIME",
           "start end eventClass globalTid correlationId nameId returnValue callchainId")
SYNC = ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "start end deviceId contextId streamId "
        "correlationId globalPid syncType eventId")
NVTX = ("NVTX_EVENTS", "start end eventType rangeId category color text globalTid endGlobalTid "
        "textId domainId")
OSRT = ("OSRT_API", "start end eventClass globalTid nameId returnValue nestingLevel callchainId")
MACHINE = 1 << 48


def global_pid(pid):
    return MACHINE | pid << 24


def global_tid(pid, tid):
    return MACHINE | pid << 24 | tid


class Export:
    """add(TABLE, column=value, ...): the table is made with its first row."""

    def __init__(self, path, **pragmas):
        self.base = sqlite3.connect(path)
        for name, value in pragmas.items():
            self.base.execute("PRAGMA %s = %s" % (name, value))
        self.tables, self.strings = set(), {}

    def text(self, value):
        """The number of a text in StringIds."""
        if value not in self.strings:
            self.strings[value] = len(self.strings) + 1
            if "StringIds" not in self.tables:
                self.base.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, "
                                  "value TEXT NOT NULL)")
                self.tables.add("StringIds")
            self.base.execute("INSERT INTO StringIds VALUES (?, ?)", (self.strings[value], value))
        return self.strings[value]

    def add(self, table, **values):
        name, columns = table
        columns = columns.split()
        if name not in self.tables:
            self.base.execute("CREATE TABLE %s (%s)" % (
                name, ", ".join('"%s"' % column for column in columns)))
            self.tables.add(name)
        assert set(values) <= set(columns)
        self.base.execute("INSERT INTO %s VALUES (%s)" % (name, ", ".join("?" * len(columns))),
                          [values.get(column) for column in columns])

    def call(self, name, start, end, correlation, pid=10, tid=10, **more):
        self.add(RUNTIME, start=start, end=end, eventClass=int(name.startswith("cu")
                                                               and not name.startswith("cuda")),
                 globalTid=global_tid(pid, tid), correlationId=correlation,
                 nameId=self.text(name), returnValue=0, **more)

    def kernel(self, name, start, end, correlation, pid=10, **more):
        self.add(KERNEL, **{**dict(
            start=start, end=end, deviceId=0, contextId=1, streamId=7, correlationId=correlation,
            globalPid=global_pid(pid), demangledName=self.text(name), shortName=self.text(name),
            gridX=2, gridY=1, gridZ=1, blockX=128, blockY=1, blockZ=1, registersPerThread=32,
            staticSharedMemory=0, dynamicSharedMemory=0), **more})

    def copy(self, start, end, correlation, pid=10, **more):
        self.add(MEMCPY, **{**dict(
            start=start, end=end, deviceId=0, contextId=1, streamId=7, correlationId=correlation,
            globalPid=global_pid(pid), bytes=4096, copyKind=2, srcKind=2, dstKind=0), **more})

    def run(self, sql, *values):
        self.base.execute(sql, values)

    def close(self):
        self.base.commit()
        self.base.close()


def service(path, steps=4, pid=10, nvtx=True, export=None):
    """Steps of 100 us: a kernel of 20 us and a copy of 5 that is waited for."""
    e = export or Export(path)
    for i in range(steps):
        at, number = 1000000 + 100000 * i, 10 * i
        if nvtx:
            e.add(NVTX, start=at, end=at + 90000, eventType=59, globalTid=global_tid(pid, pid),
                  text="step %d" % i, domainId=0)
        e.call("cudaLaunchKernel_v7000", at + 4000, at + 9000, number + 1, pid, pid)
        e.kernel("gemm", at + 10000, at + 30000, number + 1, pid)
        e.call("cudaMemcpyAsync_v3020", at + 40000, at + 45000, number + 2, pid, pid)
        e.copy(at + 45000, at + 50000, number + 2, pid)
        e.call("cudaStreamSynchronize_v3020", at + 46000, at + 76000, number + 3, pid, pid)
        e.add(SYNC, start=at + 46000, end=at + 76000, deviceId=0, contextId=1, streamId=7,
              correlationId=number + 3, globalPid=global_pid(pid), syncType=3)
    if export is None:
        e.close()
    return path
