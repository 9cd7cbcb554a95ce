"""Trace files made by hand, after docs/FORMAT.md, without the C writer.

Everything is stored uncompressed; what goes wrong in a file can be put there
on purpose.
"""

import struct
import zlib

INFO, NOTE, PROCESS, THREAD, DEFS, EVENTS, END, SAMPLES, SERIES = range(1, 10)
CALL, RESUME, THROW, RETURN, YIELD, UNWIND, GC_BEGIN = range(1, 8)
GC_END, SCOPE_BEGIN, SCOPE_END, MARK = 0x88, 0x89, 0x8a, 0x8b
CUDA_ENTER, CUDA_EXIT = 0x8d, 14
GPU_KERNEL, GPU_COPY, GPU_MEMSET, GPU_GRAPH, GPU_OVERHEAD, GPU_STATE = range(0x8f, 0x95)
GPU_DROPPED, GPU_DEVICE = 21, 0x96
COUNTER = 0x97
LEFT_OUT = 25
PAUSED = 26
LAYER_BEGIN, LAYER_END, LAYERS_FOLDED = 28, 29, 30
HAS_DETAILS = 0x80  # of a sample
MONOTONIC_NS = 1  # at the start of every trace made here


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varints(*values):
    return b"".join(map(varint, values))


def zigzag(value):
    return varint(2 * value if value >= 0 else -2 * value - 1)


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return varint(len(data)) + data


def arg(key, value):
    """One piece of metadata; bytes stand for an object, by the name of its type."""
    if value is None or isinstance(value, bool):
        return bytes([0 if value is None else 1 + value]) + text(key)
    if isinstance(value, int):
        return b"\3" + text(key) + zigzag(value)
    if isinstance(value, float):
        return b"\4" + text(key) + struct.pack("<d", value)
    return (b"\6" if isinstance(value, bytes) else b"\5") + text(key) + text(value)


ARGS_CUT = b"\7\0"


def header(started_ns=1_700_000_000_123_456_789, version=1):
    head = b"ISCTRACE" + struct.pack("<IIqq", version, 48, started_ns,
                                      MONOTONIC_NS) + bytes(12)
    return head + struct.pack("<I", zlib.crc32(head))


def block(kind, payload, count=1, thread=0, first_index=0):
    head = struct.pack("<4sHHIIQQII", b"ISCB", kind, 0, len(payload), len(payload), thread,
                       first_index, count, 0)
    return head + struct.pack("<II", zlib.crc32(head), zlib.crc32(payload)) + payload


def entries(kind, *all_entries):
    return block(kind, b"".join(text(entry) for entry in all_entries), len(all_entries))


def info(key, value):
    return entries(INFO, text(key) + value.encode())


def process(id, pid, name, start_ns=0, end_ns=-1):
    return entries(PROCESS, varint(id) + varint(pid) + varint(1) + varint(0x030c03f0)
                   + zigzag(start_ns) + zigzag(end_ns) + text(name))


def thread(id, process_id, tid, name="", start_ns=0, end_ns=-1, produced=0, lost=0):
    return entries(THREAD, varint(id) + varint(process_id) + varint(tid) + zigzag(start_ns)
                   + zigzag(end_ns) + varint(produced) + varint(lost) + text(name))


def code(id, line, name, file):
    return entries(DEFS, b"\x82" + varint(id) + varint(line) + text(name) + file.encode())


def stack(id, *frames):
    """Frames of (code id, instruction offset), innermost first."""
    return entries(DEFS, b"\x83" + varint(id) + varints(*(n for frame in frames for n in frame)))


def lines(code_id, minor, table):
    return entries(DEFS, b"\x84" + varint(code_id) + varint(minor) + table)


def layer(id, root, class_name, name=""):
    return entries(DEFS, b"\x87" + varints(id, root) + text(class_name) + name.encode())


def string(id, value):
    data = value if isinstance(value, bytes) else value.encode()
    return entries(DEFS, b"\x81" + varint(id) + data)


def end(wall_ns, exit_status=0):
    return entries(END, zigzag(wall_ns) + zigzag(exit_status))


def events(thread_id, first_index, *rows):
    """Rows of (kind, id, time in ns, payload or None)."""
    kinds, times, ids, lengths, payloads = bytearray(), b"", b"", b"", b""
    last = rows[0][2]
    for kind, id, time_ns, payload in rows:
        kinds.append(kind)
        times += zigzag(time_ns - last)
        last = time_ns
        ids += varint(id)
        if kind & 0x80:
            lengths += varint(len(payload))
            payloads += payload
    prefix = struct.pack("<qIIII", rows[0][2], len(times), len(ids), len(lengths), len(payloads))
    return block(EVENTS, prefix + bytes(kinds) + times + ids + lengths + payloads, len(rows),
                 thread_id, first_index)


def samples(process_id, *rows):
    """Rows of (thread, first look in us, last look in us, looks, stack, flags, lock or None)."""
    columns = [b""] * 7
    last = rows[0][1]
    for thread_id, first_us, last_us, looks, stack_id, flags, lock in rows:
        values = (varint(thread_id), zigzag(first_us - last), varint(last_us - first_us),
                  varint(looks), varint(stack_id), varint(flags),
                  varints(lock, 0) if flags & HAS_DETAILS else b"")
        columns = [column + value for column, value in zip(columns, values)]
        last = first_us
    prefix = struct.pack("<q7I", 1000 * rows[0][1], *map(len, columns))
    return block(SAMPLES, prefix + b"".join(columns), len(rows), process_id)


def series(*rows):
    """Rows of (time in us, process, kind, instance, value)."""
    table = sorted({row[1:4] for row in rows})
    latest = dict.fromkeys(table, 0)
    columns = [b"".join(varints(*one) for one in table), b"", b"", b""]
    last = rows[0][0]
    for time_us, *one, value in rows:
        one = tuple(one)
        columns[1] += zigzag(time_us - last)
        columns[2] += varint(table.index(one))
        columns[3] += zigzag(value - latest[one])
        last, latest[one] = time_us, value
    prefix = struct.pack("<q4I", 1000 * rows[0][0], *map(len, columns))
    return block(SERIES, prefix + b"".join(columns), len(rows))
