"""The small pieces of a trace file, from docs/FORMAT.md alone: for isc_decode.py."""

import codecs

MAX_TIME = (1 << 62) - 1
MAX_ID = (1 << 32) - 1


class Broken(Exception):
    """A rule of the page does not hold."""


def _per_byte(error):
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("inferscope", _per_byte)


def to_text(data):
    return to_metadata(data).replace("\0", "\ufffd")


def to_metadata(data):
    return bytes(data).decode("utf-8", "inferscope")


class Cursor:
    """Takes fields off the front of some bytes; Broken where they end too early."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        if size > self.left():
            raise Broken("%d bytes wanted, %d left" % (size, self.left()))
        self.at += size
        return self.data[self.at - size:self.at]

    def rest(self):
        return self.take(self.left())

    def byte(self):
        return self.take(1)[0]

    def varint(self, most=(1 << 64) - 1):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                break
        else:
            raise Broken("a varint of more than 10 bytes")
        if value > most:
            raise Broken("%d is more than %d" % (value, most))
        return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def time(self):
        return checked_time(self.zigzag())

    def id(self):
        return self.varint(MAX_ID)

    def text(self):
        return to_text(self.take(self.varint()))

    def metadata(self):
        return to_metadata(self.take(self.varint()))

    def end(self):
        if self.left():
            raise Broken("%d bytes left over" % self.left())


def checked_time(time_ns):
    if not -MAX_TIME <= time_ns <= MAX_TIME:
        raise Broken("a time of %d ns" % time_ns)
    return time_ns
