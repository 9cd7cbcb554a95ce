"""Protocol Buffers on the wire, read without a schema: for tests of what the program writes."""

import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def fields(data):
    """{field: [values]}: ints of varints and fixed64, bytes of the rest."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError("wire type %d" % kind)
        found.setdefault(tag >> 3, []).append(value)
    return found


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values
