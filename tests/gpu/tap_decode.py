"""Reads what cupti_tap.c wrote: an independent decoder of CUPTI's activity records.

Written from NVIDIA's headers, field names included, without a look at the agent's own
declarations; tests/python/test_cupti_abi.py holds the offsets below against those headers.
"""

import collections
import struct

FORMAT = 2
BUFFER, CALL, STREAM, DROPPED = 1, 2, 3, 4
COPY, MEMSET, DEVICE, KERNEL, OVERHEAD, PEER_COPY = 1, 2, 8, 10, 17, 22

# Field: offset and format (struct module).  They lie the same in all versions, which grow records
# at their end.
FIELDS = {
    KERNEL: {
        "registersPerThread": (6, "H"), "start": (16, "Q"), "end": (24, "Q"),
        "deviceId": (40, "I"), "contextId": (44, "I"), "streamId": (48, "I"),
        "gridX": (52, "i"), "gridY": (56, "i"), "gridZ": (60, "i"),
        "blockX": (64, "i"), "blockY": (68, "i"), "blockZ": (72, "i"),
        "staticSharedMemory": (76, "i"), "dynamicSharedMemory": (80, "i"),
        "correlationId": (92, "I"), "name": (104, "Q"), "graphNodeId": (144, "Q"),
        "graphId": (156, "I")},
    COPY: {
        "copyKind": (4, "B"), "srcKind": (5, "B"), "dstKind": (6, "B"), "flags": (7, "B"),
        "bytes": (8, "Q"), "start": (16, "Q"), "end": (24, "Q"), "deviceId": (32, "I"),
        "contextId": (36, "I"), "streamId": (40, "I"), "correlationId": (44, "I"),
        "graphNodeId": (64, "Q"), "graphId": (72, "I")},
    PEER_COPY: {
        "copyKind": (4, "B"), "srcKind": (5, "B"), "dstKind": (6, "B"), "flags": (7, "B"),
        "bytes": (8, "Q"), "start": (16, "Q"), "end": (24, "Q"), "deviceId": (32, "I"),
        "contextId": (36, "I"), "streamId": (40, "I"), "srcDeviceId": (44, "I"),
        "dstDeviceId": (52, "I"), "correlationId": (60, "I")},
    MEMSET: {
        "value": (4, "I"), "bytes": (8, "Q"), "start": (16, "Q"), "end": (24, "Q"),
        "deviceId": (32, "I"), "contextId": (36, "I"), "streamId": (40, "I"),
        "correlationId": (44, "I"), "flags": (48, "H"), "memoryKind": (50, "H"),
        "graphNodeId": (64, "Q"), "graphId": (72, "I")},
    OVERHEAD: {"overheadKind": (4, "I"), "start": (24, "Q"), "end": (32, "Q")},
    DEVICE: {
        "globalMemoryBandwidth": (8, "Q"), "globalMemorySize": (16, "Q"),
        "coreClockRate": (36, "I"), "numMultiprocessors": (44, "I"),
        "computeCapabilityMajor": (104, "I"), "computeCapabilityMinor": (108, "I"),
        "id": (112, "I"), "name": (136, "Q")},
}
# By version: the record that it delivers for each kind, and how long that is.
STRUCTS = {
    "11.8": {KERNEL: ("Kernel8", 200), COPY: ("Memcpy5", 88), PEER_COPY: ("MemcpyPtoP4", 96),
             MEMSET: ("Memset4", 88), OVERHEAD: ("Overhead", 40), DEVICE: ("Device4", 176)},
    "12.9": {KERNEL: ("Kernel9", 208), COPY: ("Memcpy6", 96), PEER_COPY: ("MemcpyPtoP4", 96),
             MEMSET: ("Memset4", 88), OVERHEAD: ("Overhead3", 56), DEVICE: ("Device5", 184)},
    "13.0": {KERNEL: ("Kernel10", 216), COPY: ("Memcpy6", 96), PEER_COPY: ("MemcpyPtoP4", 96),
             MEMSET: ("Memset4", 88), OVERHEAD: ("Overhead3", 56), DEVICE: ("Device5", 184)},
}
COPY_KINDS = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA",
              8: "DtoD", 9: "HtoH", 10: "PtoP"}
MEMORY_KINDS = {1: "pageable", 2: "pinned", 3: "device", 4: "array", 5: "managed"}

Buffer = collections.namedtuple("Buffer", "time_ns data offsets names")
Call = collections.namedtuple("Call", "time_ns thread domain id site correlation context first "
                              "second readable")
Stream = collections.namedtuple("Stream", "time_ns context stream per_thread result id")
Dropped = collections.namedtuple("Dropped", "time_ns records")


def release_of(number):
    """"12.9" of what cuptiGetVersion() says; it counted until 13.0, which says 130000 and more."""
    if number is not None and number >= 100000:
        return "%d.%d" % (number // 10000, number // 100 % 100)
    return {18: "11.8", 26: "12.8", 27: "12.9", 28: "12.9"}.get(number, "API %s" % number)


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise ValueError("the tap ends in the middle of an entry")
        self.at += count
        return self.data[self.at - count:self.at]

    def unpack(self, layout):
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def left(self):
        return len(self.data) - self.at


def read_buffer(time_ns, cursor):
    data = cursor.take(cursor.unpack("Q")[0])
    offsets = list(cursor.unpack("%dI" % cursor.unpack("I")))
    names = {}
    for _ in range(cursor.unpack("I")[0]):
        pointer, length = cursor.unpack("QI")
        names[pointer] = cursor.take(length).decode()
    return Buffer(time_ns, data, offsets, names)


READERS = {
    BUFFER: read_buffer,
    CALL: lambda time_ns, cursor: Call(time_ns, *cursor.unpack("5I3QI")),
    STREAM: lambda time_ns, cursor: Stream(time_ns, *cursor.unpack("2Q3I")),
    DROPPED: lambda time_ns, cursor: Dropped(time_ns, *cursor.unpack("Q")),
}


class Tap:
    """buffers, calls, streams: the entries of each kind, in the order of the file."""

    def __init__(self, data):
        cursor = Cursor(data)
        magic, self.number, layout = cursor.unpack("8sII")
        if magic != b"CUPTITAP" or layout != FORMAT:
            raise ValueError("no tap of format %d" % FORMAT)
        self.release = release_of(self.number)
        self.entries = []
        while cursor.left():
            kind, size, time_ns = cursor.unpack("IIQ")
            body = Cursor(cursor.take(size))
            self.entries.append(READERS[kind](time_ns, body))
            if body.left():
                raise ValueError("an entry of type %d is longer than it should be" % kind)
        self.buffers = [entry for entry in self.entries if isinstance(entry, Buffer)]
        self.calls = [entry for entry in self.entries if isinstance(entry, Call)]
        self.streams = [entry for entry in self.entries if isinstance(entry, Stream)]
        self.dropped = sum(entry.records for entry in self.entries if isinstance(entry, Dropped))

    def offsets(self, buffer):
        """Where its records lie, by the sizes of this version alone."""
        sizes, at, found = STRUCTS[self.release], 0, []
        while at < len(buffer.data):
            found.append(at)
            at += sizes[struct.unpack_from("<I", buffer.data, at)[0]][1]
        return found

    def records(self, *kinds):
        """Dictionaries of all records of some kinds; names are texts, not pointers."""
        found = []
        for buffer in self.buffers:
            for at in self.offsets(buffer):
                kind, = struct.unpack_from("<I", buffer.data, at)
                if kind not in kinds:
                    continue
                record = {field: struct.unpack_from("<" + layout, buffer.data, at + offset)[0]
                          for field, (offset, layout) in FIELDS[kind].items()}
                record["kind"] = kind
                if "name" in record:
                    record["name"] = buffer.names.get(record["name"], "")
                found.append(record)
        return found

    def outermost_calls(self):
        """[(enter, exit)] of calls that were not made inside another one."""
        depth, open_calls, found = collections.Counter(), {}, []
        for call in self.calls:
            if call.site == 0:
                if not depth[call.thread]:
                    open_calls[call.thread] = call
                depth[call.thread] += 1
            elif depth[call.thread]:
                depth[call.thread] -= 1
                if not depth[call.thread]:
                    found.append((open_calls.pop(call.thread), call))
        return found

    def facts(self):
        """The tables that told() makes of a program's own words."""
        kernels = collections.Counter(
            (k["name"], (k["gridX"], k["gridY"], k["gridZ"]),
             (k["blockX"], k["blockY"], k["blockZ"]), k["dynamicSharedMemory"])
            for k in self.records(KERNEL))
        copies = collections.Counter(
            (COPY_KINDS.get(c["copyKind"]), MEMORY_KINDS.get(c["srcKind"]),
             MEMORY_KINDS.get(c["dstKind"]), c["bytes"]) for c in self.records(COPY, PEER_COPY))
        memsets = collections.Counter(m["bytes"] for m in self.records(MEMSET))
        nodes = sum(r["graphNodeId"] != 0 for r in self.records(KERNEL, COPY, MEMSET))
        return {"kernels": kernels, "copies": copies, "memsets": memsets, "graph nodes": nodes}


def told(truth):
    """What a program says it did (workloads/every_kind.cu), as Tap.facts() says it."""
    kernels, copies, memsets = (collections.Counter() for _ in range(3))
    for k in truth["kernels"]:
        kernels[k["name"], tuple(k["grid"]), tuple(k["block"]), k["dynamic_shared"]] += k["count"]
    for c in truth["copies"]:
        copies[c["kind"], c["source"], c["destination"], c["bytes"]] += c["count"]
    for m in truth["memsets"]:
        memsets[m["bytes"]] += m["count"]
    return {"kernels": kernels, "copies": copies, "memsets": memsets,
            "graph nodes": truth["graph_nodes"]}


def load(path):
    with open(path, "rb") as file:
        return Tap(file.read())
