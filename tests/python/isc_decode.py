"""A second decoder of InferScope's trace files, written from docs/FORMAT.md alone.

It shares nothing with the program's reader, so that where the two agree, the
page says what the format is.  Clarity goes before speed.

    python tests/python/isc_decode.py run.isc     prints the trace as JSON lines
"""

import json
import math
import struct
import sys
import zlib

import zstandard

import isc_series
from isc_cursor import Broken, Cursor, checked_time, to_text
from isc_series import Point

FILE_HEADER = struct.Struct("<8sIIqq12sI")
BLOCK_HEADER = struct.Struct("<IHHIIQQIIII")
EVENTS_PREFIX = struct.Struct("<qIIII")
SAMPLES_PREFIX = struct.Struct("<q7I")
SAMPLE_DETAILS = 0x80

VERSION = 1
BLOCK_MAGIC = 0x42435349
RAW, ZSTD = range(2)
INFO, NOTE, PROCESS, THREAD, DEFS, EVENTS, END, SAMPLES, SERIES, WATCHED = range(1, 11)
STRING, CODE, STACK, NATIVE, NVTX, LAYER = 0x81, 0x82, 0x83, 0x85, 0x86, 0x87
NATIVE_FLAG, FAULT_FLAG, MAJOR_FLAG = 0x100, 0x400, 0x800  # of a sample
(CALL, RESUME, THROW, RETURN, YIELD, UNWIND, GC_BEGIN, GC_END, SCOPE_BEGIN, SCOPE_END, MARK,
 RUNNING, COUNTER, LEFT_OUT, PAUSED, UNWINDING, LAYER_BEGIN, LAYER_END, LAYERS_FOLDED,
 NVTX_LEFT_OUT) = (
     1, 2, 3, 4, 5, 6, 7, 0x88, 0x89, 0x8a, 0x8b, 12, 0x97, 25, 26, 27, 28, 29, 30, 33)
KIND_NAMES = {CALL: "call", RESUME: "resume", THROW: "throw", RETURN: "return", YIELD: "yield",
              UNWIND: "unwind", GC_BEGIN: "gc_begin", GC_END: "gc_end",
              SCOPE_BEGIN: "scope_begin", SCOPE_END: "scope_end", MARK: "mark",
              RUNNING: "running", COUNTER: "counter", LEFT_OUT: "left_out", PAUSED: "paused",
              UNWINDING: "unwinding"}
LAYER_NAMES = {LAYER_BEGIN: "layer_begin", LAYER_END: "layer_end",
               LAYERS_FOLDED: "layers_folded"}
NVTX_NAMES = {NVTX_LEFT_OUT: "nvtx_left_out"}
ENTERS = (CALL, RESUME, THROW)
EXITS = (RETURN, YIELD, UNWIND)
HAS_PAYLOAD = 0x80

MAX_RAW = 1 << 24
MAX_EVENTS = 1 << 20
MAX_INDEX = 1 << 62


class Foreign(Exception):
    """Not a trace file of this version: nothing of it can be read."""


class Event:
    __slots__ = ("index", "kind", "time_ns", "id", "payload")

    def __init__(self, index, kind, time_ns, id, payload):
        self.index = index
        self.kind = kind
        self.time_ns = time_ns
        self.id = id
        self.payload = payload


class Sample:
    """Looks in a row that found the same in a thread."""

    __slots__ = ("thread", "first_ns", "last_ns", "count", "stack", "flags", "lock", "holder")

    def __init__(self, thread, first_ns, last_ns, count, stack, flags):
        self.thread = thread
        self.first_ns = first_ns
        self.last_ns = last_ns
        self.count = count
        self.stack = stack
        self.flags = flags
        self.lock = self.holder = 0


class Object:
    """The value of an arg that was not looked at: the name of its type."""

    def __init__(self, type_name):
        self.type_name = type_name


class Args:
    """(key, value) pairs in the order of the file, and whether some did not fit."""

    VALUES = {
        0: lambda cursor: None,
        1: lambda cursor: False,
        2: lambda cursor: True,
        3: Cursor.zigzag,
        4: lambda cursor: struct.unpack("<d", cursor.take(8))[0],
        5: Cursor.metadata,
        6: lambda cursor: Object(cursor.metadata()),
    }
    CUT = 7

    def __init__(self, cursor):
        self.pairs = []
        self.cut = False
        try:
            while cursor.left():
                arg_type = cursor.byte()
                key = cursor.metadata()
                if arg_type == self.CUT:
                    self.cut = True
                elif arg_type in self.VALUES:
                    self.pairs.append((key, self.VALUES[arg_type](cursor)))
                else:
                    break
        except Broken:
            pass


class Payload:
    """The fields of a known event's payload; those that its kind has not are None."""

    FIELDS = {GC_END: ["collected"], SCOPE_BEGIN: ["instance", "task"], SCOPE_END: ["instance"],
              MARK: ["task"]}

    def __init__(self, event):
        self.collected = self.instance = self.task = self.args = self.value = None
        cursor = Cursor(event.payload)
        if event.kind == COUNTER:
            self.value = struct.unpack("<d", cursor.take(8))[0] if cursor.left() >= 8 else math.nan
        for field in self.FIELDS.get(event.kind, []):
            try:
                setattr(self, field, cursor.varint())
            except Broken:
                setattr(self, field, 0)
                cursor = Cursor(b"")
        if event.kind in (SCOPE_BEGIN, SCOPE_END, MARK):
            self.args = Args(cursor)


class Thread:
    def __init__(self, fields):
        self.fields = fields
        self.events = []
        self.next_index = 0

    def produced(self):
        return max(self.fields["produced"], self.next_index)

    def lost(self):
        return self.produced() - len(self.events)


class Trace:
    """Everything a trace file says.

    `damage` is (offset, why) of the first block that breaks a rule, or None;
    `unreadable` lists the offsets of blocks whose events are lost with them.
    """

    def __init__(self, data):
        self.info = []
        self.notes = []
        self.processes = {}
        self.watched = {}
        self.threads = {}
        self.strings = {}
        self.codes = {}
        self.stacks = {}
        self.natives = {}
        self.nvtx = {}
        self.layers = {}
        self.samples = []
        self.points = []
        self.wall_ns = None
        self.exit_status = None
        self.ended = False
        self.damage = None
        self.unreadable = []
        self.file_bytes = len(data)
        self._read_header(data)
        offset = self.header_bytes
        try:
            while offset < len(data):
                offset = self._read_block(data, offset)
        except Broken as broken:
            self._damaged(offset, broken)
        self.whole = self.ended and self.damage is None

    def _damaged(self, offset, why):
        self.damage = self.damage or (offset, str(why))

    def _read_header(self, data):
        if len(data) < FILE_HEADER.size:
            raise Foreign("shorter than a file header")
        (magic, version, self.header_bytes, self.realtime_ns, self.monotonic_ns, _,
         crc) = FILE_HEADER.unpack_from(data)
        if magic != b"ISCTRACE":
            raise Foreign("another kind of file")
        if crc != zlib.crc32(data[:44]):
            raise Foreign("the file header is damaged")
        if not 1 <= version <= VERSION:
            raise Foreign("version %d" % version)
        if not FILE_HEADER.size <= self.header_bytes <= 4096:
            raise Foreign("a file header of %d bytes" % self.header_bytes)

    def _read_block(self, data, offset):
        """Takes one block in; returns the offset of the next one."""
        header = data[offset:offset + BLOCK_HEADER.size]
        if len(header) < BLOCK_HEADER.size:
            raise Broken("the block header is cut short")
        (magic, block_type, codec, stored, raw, thread_id, first_index, count, _, header_crc,
         payload_crc) = BLOCK_HEADER.unpack(header)
        if magic != BLOCK_MAGIC:
            raise Broken("no block begins here")
        if header_crc != zlib.crc32(header[:40]):
            raise Broken("wrong checksum of the block header")
        if stored > raw or raw > MAX_RAW:
            raise Broken("a payload of %d bytes, %d unpacked" % (stored, raw))
        end = offset + BLOCK_HEADER.size + stored
        payload = data[offset + BLOCK_HEADER.size:end]
        if len(payload) < stored:
            raise Broken("the payload is cut short")
        if payload_crc != zlib.crc32(payload):
            raise Broken("wrong checksum of the payload")
        if INFO <= block_type <= WATCHED and not (codec == ZSTD or codec == RAW and stored == raw):
            raise Broken("codec %d, %d bytes, %d unpacked" % (codec, stored, raw))
        if block_type == EVENTS:
            if raw < EVENTS_PREFIX.size + 3 * count:
                raise Broken("%d events in %d bytes" % (count, raw))
            thread = self._thread_of_events(thread_id, first_index, count)
            try:
                thread.events += decode_events(unpack(codec, payload, raw), first_index, count)
            except Broken as broken:
                self._damaged(offset, broken)
                self.unreadable.append(offset)
            thread.next_index = first_index + count
        elif block_type == SAMPLES:
            if not 1 <= count <= MAX_EVENTS or raw < SAMPLES_PREFIX.size + 6 * count:
                raise Broken("%d samples in %d bytes" % (count, raw))
            if thread_id not in self.processes:
                raise Broken("samples of an unknown process")
            try:
                self.samples += decode_samples(unpack(codec, payload, raw), count)
            except Broken as broken:
                self._damaged(offset, broken)
                self.unreadable.append(offset)
        elif block_type == SERIES:
            if not 1 <= count <= MAX_EVENTS or raw < isc_series.PREFIX.size + 3 * count:
                raise Broken("%d points in %d bytes" % (count, raw))
            try:
                self.points += isc_series.decode_series(unpack(codec, payload, raw), count)
            except Broken as broken:
                self._damaged(offset, broken)
                self.unreadable.append(offset)
        elif INFO <= block_type <= END or block_type == WATCHED:
            for number, entry in enumerate(entries(unpack(codec, payload, raw), count)):
                try:
                    self._take_entry(block_type, entry)
                except Broken as broken:
                    raise Broken("entry %d: %s" % (number, broken)) from broken
        if block_type == END and count:
            self.ended = True
            if end != len(data):
                self._damaged(end, "something follows the end of the recording")
            return len(data)
        return end

    def _take_entry(self, block_type, entry):
        if block_type == INFO:
            self.info.append(parse_info(entry))
        elif block_type == NOTE:
            self.notes.append(to_text(entry))
        elif block_type == PROCESS:
            fields = parse_process(entry)
            self.processes[fields["id"]] = fields
        elif block_type == THREAD:
            self._take_thread(parse_thread(entry))
        elif block_type == DEFS:
            self._define(*parse_definition(entry))
        elif block_type == WATCHED:
            fields = parse_watched(entry)
            self.watched[fields["id"]] = fields
        else:
            self.wall_ns, self.exit_status = parse_end(entry)

    def _take_thread(self, fields):
        if fields["process"] not in self.processes:
            raise Broken("a thread of an unknown process")
        self.threads.setdefault(fields["id"], Thread(fields)).fields = fields

    def _define(self, kind, id, value):
        if value is None:
            return
        tables = {STRING: self.strings, CODE: self.codes, STACK: self.stacks,
                  NATIVE: self.natives, NVTX: self.nvtx, LAYER: self.layers}
        for table in tables.values():
            table.pop(id, None)
        tables[kind][id] = value

    def name(self, id):
        """Of an annotation; None where it was never defined."""
        return self.nvtx[id]["name"] if id in self.nvtx else self.strings.get(id)

    def _thread_of_events(self, thread_id, first_index, count):
        thread = self.threads.get(thread_id)
        if thread is None:
            raise Broken("events of an unknown thread")
        if not 1 <= count <= MAX_EVENTS:
            raise Broken("%d events" % count)
        if not thread.next_index <= first_index < MAX_INDEX:
            raise Broken("the first index is %d" % first_index)
        return thread


def unpack(codec, payload, raw):
    if codec == RAW:
        return payload
    try:
        if zstandard.get_frame_parameters(payload).content_size != raw:
            raise Broken("the zstd frame has another content size")
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        # Two calls: the second fails if the frame ended before the last byte.
        unpacked = decompressor.decompress(payload[:-1]) + decompressor.decompress(payload[-1:])
    except zstandard.ZstdError as error:
        raise Broken("zstd: %s" % error) from error
    if len(unpacked) != raw:
        raise Broken("the zstd frame is cut short")
    return unpacked


def entries(payload, count):
    cursor = Cursor(payload)
    for _ in range(count):
        yield cursor.take(cursor.varint())
    cursor.end()


def parse_info(entry):
    cursor = Cursor(entry)
    return cursor.text(), to_text(cursor.rest())


def parse_process(entry):
    cursor = Cursor(entry)
    return {"id": cursor.id(), "pid": cursor.id(), "parent_pid": cursor.id(),
            "python": cursor.id(), "start_ns": cursor.time(), "end_ns": cursor.time(),
            "name": cursor.text(), **parse_account(cursor)}


def parse_watched(entry):
    cursor = Cursor(entry)
    return {"id": cursor.id(), "pid": cursor.id(), "parent_pid": cursor.id(),
            "start_ns": cursor.time(), "end_ns": cursor.time(), "name": cursor.text()}


def parse_account(cursor):
    """Nothing, the first three, or all of it."""
    names = ("overhead_ns", "event_cost_ps", "left_out_functions",
             "gpu_overhead_ns", "graph_overhead_ns")
    account = dict.fromkeys(names)
    if cursor.left():
        account.update(overhead_ns=cursor.time(), event_cost_ps=cursor.id(),
                       left_out_functions=cursor.varint(MAX_INDEX))
    if cursor.left():
        account.update(gpu_overhead_ns=cursor.time(), graph_overhead_ns=cursor.time())
    return account


def parse_thread(entry):
    cursor = Cursor(entry)
    return {"id": cursor.id(), "process": cursor.id(), "tid": cursor.id(),
            "start_ns": cursor.time(), "end_ns": cursor.time(),
            "produced": cursor.varint(MAX_INDEX), "lost": cursor.varint(MAX_INDEX),
            "name": cursor.text(), **parse_cpu_times(cursor)}


def parse_cpu_times(cursor):
    """Both of them, or the entry ends here."""
    if not cursor.left():
        return dict.fromkeys(("on_cpu_ns", "queued_ns"))
    return {"on_cpu_ns": cursor.time(), "queued_ns": cursor.time()}


def parse_definition(entry):
    """kind, id and value, which is None for a definition that a reader skips."""
    cursor = Cursor(entry)
    kind = cursor.byte()
    id = cursor.id()
    if kind == STRING:
        return kind, id, to_text(cursor.rest())
    if kind == CODE:
        try:
            return kind, id, {"line": cursor.id(), "name": cursor.text(),
                              "file": to_text(cursor.rest())}
        except Broken:
            pass
    if kind == STACK:
        frames = []
        try:
            while cursor.left():
                frames.append((cursor.id(), cursor.id()))
            return kind, id, frames
        except Broken:
            pass
    if kind == NATIVE:
        try:
            return kind, id, (cursor.id(), cursor.id())
        except Broken:
            pass
    if kind == NVTX:
        try:
            return kind, id, {"kind": cursor.varint(255), "colour": cursor.id(),
                              "category": cursor.id(), "domain": cursor.text(),
                              "category_name": cursor.text(), "name": to_text(cursor.rest())}
        except Broken:
            pass
    if kind == LAYER:
        try:
            return kind, id, {"root": cursor.id(), "class": cursor.text(),
                              "name": to_text(cursor.rest())}
        except Broken:
            pass
    return kind, id, None


def parse_end(entry):
    cursor = Cursor(entry)
    wall_ns, exit_status = cursor.time(), cursor.zigzag()
    if not -1 << 31 <= exit_status < 1 << 31:
        raise Broken("exit status %d" % exit_status)
    return wall_ns, exit_status if exit_status >= 0 else None


def decode_events(payload, first_index, count):
    prefix = Cursor(payload)
    time_ns, *sizes = EVENTS_PREFIX.unpack(prefix.take(EVENTS_PREFIX.size))
    checked_time(time_ns)
    kinds = prefix.take(count)
    times, ids, lengths, payloads = (Cursor(prefix.take(size)) for size in sizes)
    prefix.end()
    events = []
    for index, kind in enumerate(kinds, first_index):
        time_ns = checked_time(time_ns + times.zigzag())
        id = ids.id()
        data = payloads.take(lengths.varint()) if kind & HAS_PAYLOAD else b""
        events.append(Event(index, kind, time_ns, id, data))
    for column in (times, ids, lengths, payloads):
        column.end()
    return events


def decode_samples(payload, count):
    prefix = Cursor(payload)
    base_ns, *sizes = SAMPLES_PREFIX.unpack(prefix.take(SAMPLES_PREFIX.size))
    threads, times, lengths, counts, stacks, flags, details = columns = [
        Cursor(prefix.take(size)) for size in sizes]
    prefix.end()
    samples = []
    first_us = checked_time(base_ns) // 1000
    for _ in range(count):
        first_us += times.zigzag()
        last_us = first_us + lengths.varint()
        sample = Sample(threads.id(), checked_time(first_us * 1000), checked_time(last_us * 1000),
                        counts.id(), stacks.id(), flags.id())
        if not sample.count:
            raise Broken("a sample of no looks")
        if sample.flags & SAMPLE_DETAILS:
            sample.lock, sample.holder = details.varint(), details.id()
        samples.append(sample)
    for column in columns:
        column.end()
    return samples


def load(path):
    with open(path, "rb") as file:
        return Trace(file.read())


def _json_value(value):
    if isinstance(value, Object):
        return {"type": value.type_name}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _json_event(trace, thread_id, event):
    line = {"thread": thread_id, "index": event.index, "time_ns": event.time_ns,
            "kind": {**KIND_NAMES, **LAYER_NAMES, **NVTX_NAMES}.get(event.kind, event.kind),
            "id": event.id}
    if event.kind in LAYER_NAMES:
        line["of"] = trace.layers.get(event.id)
    if event.kind in KIND_NAMES and event.kind not in (GC_BEGIN, GC_END, PAUSED, UNWINDING):
        line["of"] = (trace.name if event.kind & HAS_PAYLOAD else trace.codes.get)(event.id)
        if event.id in trace.nvtx:
            line["nvtx"] = trace.nvtx[event.id]
    payload = Payload(event)
    for name in ("collected", "instance", "task"):
        if getattr(payload, name) is not None:
            line[name] = getattr(payload, name)
    if payload.value is not None:
        line["value"] = _json_value(payload.value)
    if payload.args:
        line["args"] = [[key, _json_value(value)] for key, value in payload.args.pairs]
        line["args_cut"] = payload.args.cut
    return line


def json_lines(trace):
    yield {"realtime_ns": trace.realtime_ns, "monotonic_ns": trace.monotonic_ns,
           "wall_ns": trace.wall_ns, "exit_status": trace.exit_status, "whole": trace.whole,
           "damage": trace.damage}
    for key, value in trace.info:
        yield {"info": key, "value": value}
    for note in trace.notes:
        yield {"note": note}
    for fields in trace.processes.values():
        yield {"process": fields}
    for fields in trace.watched.values():
        yield {"watched": fields}
    for thread in trace.threads.values():
        yield {"thread": dict(thread.fields, produced=thread.produced(), lost=thread.lost())}
    for id, thread in trace.threads.items():
        for event in thread.events:
            yield _json_event(trace, id, event)
    for sample in trace.samples:
        yield {name: getattr(sample, name) for name in Sample.__slots__}
    for point in trace.points:
        yield {name: getattr(point, name) for name in Point.__slots__}


def main(arguments):
    if len(arguments) != 1:
        print("usage: isc_decode.py TRACE", file=sys.stderr)
        return 2
    try:
        trace = load(arguments[0])
    except (OSError, Foreign) as error:
        print("isc_decode.py: %s: %s" % (arguments[0], error), file=sys.stderr)
        return 1
    for line in json_lines(trace):
        print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
