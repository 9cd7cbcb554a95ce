"""The GPU's side of a trace, decoded apart from the program that reads it for users.

Builds on isc_decode.py; kinds and payloads are those of src/format/record.h, line
tables those of CPython's own documentation of each version.
"""

from collections import namedtuple

import isc_decode as isc

CUDA_ENTER, CUDA_EXIT = 0x8d, 14
GPU_KERNEL, GPU_COPY, GPU_MEMSET, GPU_OVERHEAD, GPU_STATE = 0x8f, 0x90, 0x91, 0x93, 0x94
GPU_GRAPH, GPU_DROPPED, GPU_DEVICE = 0x92, 21, 0x96
GRAPH_NODE, GRAPH_CLONE = 0x9f, 0xa0
DEF_STACK, DEF_LINES = 0x83, 0x84
RECORDING, UNAVAILABLE, PAUSED, STOPPED = 1, 2, 3, 4

# waited: of a wait for a stream, 1 + its number; 0: unknown
Call = namedtuple("Call", "name what correlation stack bytes thread process start_ns end_ns waited")
Node = namedtuple("Node", "stack thread time_ns")  # of a graph, as it was made
State = namedtuple("State", "state text time_ns process")
Device = namedtuple("Device", "number memory bandwidth multiprocessors clock capability name")
Frame = namedtuple("Frame", "function file line")

SPAN = ["start", "duration", "device", "context", "stream", "correlation"]
Kernel = namedtuple("Kernel", ["name", "process"] + SPAN + [
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers", "static_shared",
    "dynamic_shared", "graph", "node"])
Copy = namedtuple("Copy", ["kind", "process"] + SPAN + [
    "bytes", "source", "destination", "asynchronous", "graph", "node"])
Memset = namedtuple("Memset", ["memory", "process"] + SPAN + [
    "bytes", "value", "asynchronous", "graph", "node"])


Graph = namedtuple("Graph", ["process"] + SPAN + ["graph"])  # a replay as a whole


class GpuTrace(isc.Trace):
    """calls, kernels, copies, memsets, states, ... of all threads, in the order of the file."""

    def __init__(self, data):
        self.stacks, self.tables = {}, {}
        self.calls, self.kernels, self.copies, self.memsets, self.graphs = [], [], [], [], []
        self.states, self.devices, self.overheads, self.dropped = [], [], [], 0
        self.nodes, self.clones = {}, {}  # by (process, node)
        super().__init__(data)
        for thread in self.threads.values():
            self._read_thread(thread)

    def _take_entry(self, block_type, entry):
        cursor = isc.Cursor(entry)
        kind = cursor.byte() if block_type == isc.DEFS else None
        if kind not in (DEF_STACK, DEF_LINES):
            super()._take_entry(block_type, entry)
            return
        id = cursor.id()
        if kind == DEF_STACK:
            self.stacks[id] = list(pairs(cursor))
        else:
            self.tables[id] = cursor.varint(), bytes(cursor.rest())

    def _read_thread(self, thread):
        process, open_calls = thread.fields["process"], {}
        for event in thread.events:
            cursor = isc.Cursor(event.payload)
            if event.kind == CUDA_ENTER:
                what, correlation, stack, size = (cursor.varint() for _ in range(4))
                open_calls[correlation] = len(self.calls)
                self.calls.append(Call(self.strings[event.id], what, correlation, stack, size,
                                       thread.fields["id"], process, event.time_ns, None,
                                       cursor.varint() if cursor.left() else 0))
            elif event.kind == CUDA_EXIT:
                at = open_calls.pop(event.id)
                self.calls[at] = self.calls[at]._replace(end_ns=event.time_ns)
            elif event.kind == GPU_KERNEL:
                name = self.strings[event.id] if event.id else ""
                self.kernels.append(Kernel(name, process, *numbers(cursor)))
            elif event.kind == GPU_COPY:
                self.copies.append(Copy(event.id, process, *numbers(cursor)))
            elif event.kind == GPU_MEMSET:
                self.memsets.append(Memset(event.id, process, *numbers(cursor)))
            elif event.kind == GPU_GRAPH:
                self.graphs.append(Graph(process, *numbers(cursor)))
            elif event.kind == GRAPH_NODE:
                self.nodes[process, cursor.varint()] = Node(event.id, thread.fields["id"],
                                                            event.time_ns)
            elif event.kind == GRAPH_CLONE:
                node, original = numbers(cursor)
                self.clones[process, node] = original
            elif event.kind == GPU_OVERHEAD:
                self.overheads.append((event.id, *numbers(cursor)))
            elif event.kind == GPU_STATE:
                text = isc.to_text(event.payload)
                self.states.append(State(event.id, text, event.time_ns, process))
            elif event.kind == GPU_DROPPED:
                self.dropped += event.id
            elif event.kind == GPU_DEVICE:
                facts = [cursor.varint() for _ in range(5)]
                self.devices.append(Device(event.id, *facts, isc.to_text(cursor.rest())))

    def activities(self):
        return self.kernels + self.copies + self.memsets

    def capture(self, activity):
        """The node of an activity as it was made; None: unknown."""
        key = activity.process, activity.node
        while key in self.clones:
            key = activity.process, self.clones[key]
        return self.nodes.get(key)

    def stack(self, call):
        """Frames of a call, innermost first; a function that is not known has no line."""
        return [self._frame(code, offset) for code, offset in self.stacks.get(call.stack, [])]

    def _frame(self, code_id, offset):
        code = self.codes.get(code_id)
        if code is None:
            return Frame(None, None, 0)
        minor, table = self.tables.get(code_id, (None, b""))
        line = line_of(minor, table, code["line"], offset) if minor else code["line"]
        return Frame(code["name"], code["file"], line)


def pairs(cursor):
    while cursor.left():
        yield cursor.varint(), cursor.varint()


def numbers(cursor):
    found = []
    while cursor.left():
        found.append(cursor.varint())
    return found


def line_of(minor, table, first_line, offset):
    """The line of an instruction (offset in bytes); None: the compiler gave it none."""
    if minor < 10:
        return line_of_lnotab(table, first_line, offset)
    entries = entries_310(table) if minor == 10 else entries_311(table)
    line, at = first_line, 0
    for size, delta in entries:
        line += delta or 0
        if at <= offset < at + size:
            return None if delta is None else line
        at += size
    raise AssertionError("offset %d is behind the line table" % offset)


def line_of_lnotab(table, first_line, offset):
    line, at = first_line, 0
    for size, delta in zip(table[::2], table[1::2]):
        at += size
        if at > offset:
            break
        line += delta - 256 if delta >= 128 else delta
    return line


def entries_310(table):
    for size, delta in zip(table[::2], table[1::2]):
        signed = delta - 256 if delta >= 128 else delta
        yield size, None if signed == -128 else signed


def entries_311(table):
    cursor = isc.Cursor(table)
    while cursor.left():
        first = cursor.byte()
        code, size = first >> 3 & 15, 2 * ((first & 7) + 1)
        if code == 15:
            yield size, None
            continue
        delta = 0
        if code in (13, 14):
            value = varint_311(cursor)
            delta = -(value >> 1) if value & 1 else value >> 1
        elif code >= 10:
            delta = code - 10
        if code == 14:
            for _ in range(3):
                varint_311(cursor)
        elif code <= 12:
            cursor.take(2 if code >= 10 else 1)
        yield size, delta


def varint_311(cursor):
    value = shift = 0
    while True:
        byte = cursor.byte()
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            return value


def load(path):
    with open(path, "rb") as file:
        return GpuTrace(file.read())
