"""A second reader of Arrow files, for tests where pyarrow is not installed: from the format's
documentation, for the types that tables have."""

import struct

import zstandard

MAGIC = b"ARROW1"
INT, FLOAT, UTF8, BOOL = 2, 3, 5, 6


class Table:
    """A FlatBuffers table at a position."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        layout = at - struct.unpack_from("<i", data, at)[0]
        size, = struct.unpack_from("<H", data, layout)
        self.fields = struct.unpack_from("<%dH" % ((size - 4) // 2), data, layout + 4)

    def position(self, field):
        offset = self.fields[field] if field < len(self.fields) else 0
        return self.at + offset if offset else None

    def number(self, field, code, default=0):
        at = self.position(field)
        return default if at is None else struct.unpack_from("<" + code, self.data, at)[0]

    def target(self, field):
        at = self.position(field)
        return at + struct.unpack_from("<I", self.data, at)[0]

    def table(self, field):
        return Table(self.data, self.target(field))

    def text(self, field):
        at = self.target(field)
        size, = struct.unpack_from("<I", self.data, at)
        assert self.data[at + 4 + size] == 0
        return self.data[at + 4:at + 4 + size].decode()

    def tables(self, field):
        at = self.target(field)
        count, = struct.unpack_from("<I", self.data, at)
        entries = [at + 4 + 4 * i for i in range(count)]
        return [Table(self.data, e + struct.unpack_from("<I", self.data, e)[0]) for e in entries]

    def structs(self, field, code):
        at = self.target(field)
        count, = struct.unpack_from("<I", self.data, at)
        assert (at + 4) % 8 == 0
        size = struct.calcsize(code)
        return [struct.unpack_from(code, self.data, at + 4 + size * i) for i in range(count)]


def root(data):
    return Table(data, struct.unpack_from("<I", data)[0])


def bits(data, count):
    return [bool(data[i // 8] >> i % 8 & 1) for i in range(count)]


def buffer_of(body, offset, size):
    if not size:
        return b""
    raw, = struct.unpack_from("<q", body, offset)
    data = body[offset + 8:offset + size]
    data = data if raw == -1 else zstandard.ZstdDecompressor().decompress(data, raw)
    assert raw in (-1, len(data))
    return data


def column_values(kind, rows, buffers):
    if kind == UTF8:
        offsets = struct.unpack("<%di" % (rows + 1), buffers[1])
        return [buffers[2][a:b].decode() for a, b in zip(offsets, offsets[1:])]
    if kind == BOOL:
        return [int(bit) for bit in bits(buffers[1], rows)]
    return struct.unpack("<%d%s" % (rows, "q" if kind == INT else "d"), buffers[1])


def read_batch(message, body, kinds):
    assert message.number(1, "B") == 3 and message.number(3, "q") == len(body)
    batch = message.table(2)
    assert batch.table(3).number(0, "b") == 1  # zstd
    rows, nodes = batch.number(0, "q"), batch.structs(1, "<qq")
    wanted = [buffer_of(body, *where) for where in batch.structs(2, "<qq")]
    columns = []
    for kind, (length, nulls) in zip(kinds, nodes):
        count = 3 if kind == UTF8 else 2
        buffers, wanted = wanted[:count], wanted[count:]
        known = bits(buffers[0], rows)
        assert length == rows and nulls == rows - sum(known)
        columns.append([value if there else None for value, there in
                        zip(column_values(kind, rows, buffers), known)])
    assert not wanted
    return list(zip(*columns))


def read_arrow_file(data):
    """(names, rows) of a file."""
    assert data[:8] == MAGIC + b"\0\0" and data[-6:] == MAGIC
    size, = struct.unpack("<i", data[-10:-6])
    footer = root(data[-10 - size:-10])
    assert footer.number(0, "h") == 4
    fields = footer.table(1).tables(1)
    names, kinds = [f.text(0) for f in fields], [f.number(2, "B") for f in fields]
    for f, kind in zip(fields, kinds):
        assert f.number(1, "B") == 1 and f.tables(5) == []
        assert kind != INT or (f.table(3).number(0, "i"), f.table(3).number(1, "B")) == (64, 1)
        assert kind != FLOAT or f.table(3).number(0, "h") == 2
    rows = []
    for offset, metadata, body in footer.structs(3, "<qi4xq"):
        assert data[offset:offset + 4] == b"\xff" * 4 and offset % 8 == 0
        length, = struct.unpack_from("<i", data, offset + 4)
        assert length + 8 == metadata and metadata % 8 == 0
        at = offset + metadata
        rows += read_batch(root(data[offset + 8:at]), data[at:at + body], kinds)
    return names, rows
