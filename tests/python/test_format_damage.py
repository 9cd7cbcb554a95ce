"""Damaged, hostile and future trace files: both readers make the same of them.

The files are made from the worked example of docs/FORMAT.md and from a recorded
trace: cut off, with wrong bytes, or taken apart, changed and sealed again with
right checksums, so that only the rules of the page stand in the way.
"""

import copy
import os
import random
import struct
import sys
import zlib

import pytest

import isc_decode as isc
from trace_facts import facts_of_export, facts_of_trace
from two_readers import TwoReaders, differences, worked_example

PROGRAM = '''
from inferscope import mark_event, scope

def steps(n):
    with scope("st\\u00e9p", n=n, ratio=1.5, x=[], on=True, none=None, text="hey"):
        mark_event("mark", big=10**12)
    yield n

list(steps(1))
'''

SEED = 20240607
INFO_AT, PROCESS_AT, THREAD_AT, DEFS_AT, EVENTS_AT, END_AT = range(6)


class Block:
    """A block that can be changed; its payload is unpacked."""

    def __init__(self, data, offset):
        (_, self.type, self.codec, stored, raw, self.thread, self.first, self.count, self.reserved,
         _, _) = isc.BLOCK_HEADER.unpack_from(data, offset)
        self.end = offset + isc.BLOCK_HEADER.size + stored
        self.payload = isc.unpack(self.codec, data[offset + isc.BLOCK_HEADER.size:self.end], raw)
        self.codec = isc.RAW
        self.raw = None  # as long as the payload

    def sealed(self):
        raw = len(self.payload) if self.raw is None else self.raw
        head = struct.pack("<IHHIIQQII", isc.BLOCK_MAGIC, self.type, self.codec,
                           len(self.payload), raw, self.thread, self.first, self.count,
                           self.reserved)
        return head + struct.pack("<II", zlib.crc32(head), zlib.crc32(self.payload)) + self.payload


def take_apart(data):
    offset = isc.FILE_HEADER.size
    blocks = []
    while offset < len(data):
        blocks.append(Block(data, offset))
        offset = blocks[-1].end
    return blocks


def seal_header(data, header_bytes=48, version=1, magic=b"ISCTRACE", more=b""):
    head = magic + struct.pack("<II", version, header_bytes) + data[16:44]
    return head + struct.pack("<I", zlib.crc32(head)) + more


def block_offsets(data):
    offsets = [isc.FILE_HEADER.size]
    while offsets[-1] < len(data):
        offsets.append(Block(data, offsets[-1]).end)
    return offsets[:-1]


def varint(value):
    coded = bytearray()
    while value > 0x7f:
        coded.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(coded) + bytes([value])


def zigzag(value):
    return varint((value << 1) if value >= 0 else (-value << 1) - 1)


def entry(*parts):
    fields = b"".join(parts)
    return varint(len(fields)) + fields


@pytest.fixture(scope="module")
def readers(binary, root, tmp_path_factory):
    return TwoReaders(binary, root, tmp_path_factory.mktemp("damage"))


@pytest.fixture(scope="module")
def example(root):
    with open(os.path.join(root, "docs/FORMAT.md"), encoding="utf-8") as file:
        return worked_example(file.read())


@pytest.fixture(scope="module")
def recorded(readers):
    with open(readers.record("small", PROGRAM, "--python", sys.executable), "rb") as file:
        return file.read()


@pytest.fixture
def changed(readers, example):
    """Puts the example together again after `change` was at its blocks; both readers agree."""
    def run(change):
        blocks = take_apart(example)
        change(blocks)
        data = example[:48] + b"".join(block.sealed() for block in blocks)
        return readers.agree(readers.put(data))
    return run


def check_cut(readers, data, size):
    path = readers.put(data[:size])
    if size < isc.FILE_HEADER.size:
        readers.refuse(path)
        return None
    trace, export = readers.agree(path)
    assert trace.whole == (size == len(data))
    # Damage is where the cut block began; a cut between two blocks damages neither.
    starts = block_offsets(data) + [len(data)]
    before = max(offset for offset in starts if offset <= size)
    assert (trace.damage and trace.damage[0]) == (None if before == size else before)
    return path, export


def test_a_trace_cut_anywhere_is_read_up_to_the_cut(readers, example):
    for size in range(len(example) + 1):
        check_cut(readers, example, size)


def test_a_recorded_trace_is_read_up_to_the_cut(readers, recorded):
    sizes = {offset + around for offset in block_offsets(recorded) for around in (-1, 0, 1, 48, 49)}
    sizes.update(random.Random(SEED).sample(range(len(recorded)), 20))
    for size in sorted(sizes):
        read = check_cut(readers, recorded, size)
        if read:
            report = readers.check_schemas(*read)
            assert report["trust"]["partial"] == (size < len(recorded))


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xff])
def test_a_wrong_byte_ends_the_trace_before_its_block(readers, example, flip):
    offsets = block_offsets(example)
    for at in range(flip % 3, len(example), 3):
        damaged = bytearray(example)
        damaged[at] ^= flip
        path = readers.put(bytes(damaged))
        if at < isc.FILE_HEADER.size:
            readers.refuse(path)
        else:
            trace, _ = readers.agree(path)
            assert trace.damage[0] == max(offset for offset in offsets if offset <= at)


def test_a_wrong_byte_in_a_recorded_trace(readers, recorded):
    for offset in block_offsets(recorded):
        damaged = bytearray(recorded)
        damaged[offset + isc.BLOCK_HEADER.size] ^= 0x10
        path = readers.put(bytes(damaged))
        trace, export = readers.agree(path)
        assert trace.damage[0] == offset
        assert readers.check_schemas(path, export)["trust"]["partial"] is True


def mutate(blocks, rng):
    at = rng.randrange(len(blocks))
    block = blocks[at]
    payload = bytearray(block.payload)
    where = rng.randrange(len(payload) + 1)
    choice = rng.randrange(8)
    if choice < 3 and where < len(payload):
        payload[where] = rng.choice([0, 1, 2, 0x7f, 0x80, 0xff, rng.randrange(256)])
    elif choice == 3:
        del payload[where:where + rng.choice([1, 1, 2])]
    elif choice == 4:
        payload[where:where] = bytes([rng.randrange(256)])
    elif choice == 5:
        field = rng.choice(["type", "codec", "thread", "first", "count", "reserved"])
        value = getattr(block, field)
        setattr(block, field, rng.choice([0, 1, 2, 3, value + 1, max(value - 1, 0), 65535]))
    elif choice == 6:
        blocks.insert(at, block)
    else:
        other = rng.randrange(len(blocks))
        blocks[at], blocks[other] = blocks[other], blocks[at]
    block.payload = bytes(payload)


@pytest.mark.parametrize("source, rounds", [
    ("example", 150), ("recorded", 150),
    pytest.param("example", 2000, marks=pytest.mark.long),
    pytest.param("recorded", 500, marks=pytest.mark.long)])
def test_both_readers_agree_on_mutated_traces(readers, request, source, rounds):
    data = request.getfixturevalue(source)
    rng = random.Random(SEED)
    outcomes = set()
    for number in range(rounds):
        blocks = take_apart(data)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            mutate(blocks, rng)
        path = readers.put(data[:48] + b"".join(block.sealed() for block in blocks))
        trace = isc.load(path)
        facts = facts_of_trace(trace), facts_of_export(readers.export(path))
        assert differences(*facts) == [], (SEED, number)
        outcomes.add((trace.whole, bool(trace.unreadable)))
    assert outcomes == {(True, False), (False, False), (False, True)}


def test_both_readers_agree_on_what_the_fuzzer_starts_from(readers, root):
    folder = os.path.join(root, "tests/fuzz/corpus/trace")
    read = 0
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        try:
            isc.load(path)
        except isc.Foreign:
            readers.refuse(path)
        else:
            readers.agree(path)
            read += 1
    assert read >= 4


@pytest.mark.parametrize("at, name_bytes", [(PROCESS_AT, len("main.py")), (THREAD_AT, 0)])
def test_half_an_entry_does_not_count(changed, at, name_bytes):
    def change(blocks):
        payload = bytearray(blocks[at].payload)
        payload[-name_bytes - 1] = 0x7f
        blocks[at].payload = bytes(payload)
    changed(change)


def test_unreadable_events_are_lost(changed):
    def change(blocks):
        payload = bytearray(blocks[EVENTS_AT].payload)
        payload[12] += 1
        blocks[EVENTS_AT].payload = bytes(payload)
    trace, _ = changed(change)
    assert trace.unreadable and trace.threads[1].lost() == 3


def test_unreadable_events_cost_only_their_block(readers, example):
    blocks = take_apart(example)
    unreadable, after = copy.copy(blocks[EVENTS_AT]), copy.copy(blocks[EVENTS_AT])
    unreadable.first, after.first = 3, 6
    unreadable.payload = unreadable.payload[:-1]
    blocks[END_AT:END_AT] = [unreadable, after]
    path = readers.put(example[:48] + b"".join(block.sealed() for block in blocks))
    trace, export = isc.load(path), readers.export(path)
    assert [event.index for event in trace.threads[1].events] == [0, 1, 2, 6, 7, 8]
    ours, theirs = facts_of_trace(trace), facts_of_export(export)
    assert ours["events"] == theirs["events"] and ours["losses"] == theirs["losses"] == {1: [3]}
    assert readers.check_schemas(path, export)["trust"]["partial"] is True


@pytest.mark.parametrize("change", [
    dict(version=0), dict(version=2), dict(header_bytes=47), dict(header_bytes=4097),
    dict(magic=b"ISCTRACK"),
])
def test_another_header_is_refused(readers, example, change):
    assert readers.refuse(readers.put(seal_header(example, **change) + example[48:])) != ""


def test_a_longer_header_is_stepped_over(readers, example):
    header = seal_header(example, header_bytes=60, more=b"from later on")[:60]
    trace, _ = readers.agree(readers.put(header + bytes(60 - len(header)) + example[48:]))
    assert trace.whole


def unknown_block(blocks):
    stranger = copy.copy(blocks[INFO_AT])
    stranger.type, stranger.codec, stranger.count, stranger.raw = 77, 9, 12345, 1 << 24
    blocks[1:1] = [stranger]
    blocks.insert(-1, stranger)


def longer_entries(blocks):
    for block in (blocks[PROCESS_AT], blocks[THREAD_AT], blocks[END_AT]):
        block.payload = bytes([block.payload[0] + 3]) + block.payload[1:] + b"new"


def unknown_definitions(blocks):
    blocks[DEFS_AT].payload += entry(b"\x83\x07later") + entry(b"\x82\x09\x05")
    blocks[DEFS_AT].count += 2


def unknown_event(blocks):
    events = blocks[EVENTS_AT]
    base, *sizes = isc.EVENTS_PREFIX.unpack(events.payload[:24])
    columns = isc.Cursor(events.payload[24:])
    added = [b"\x33\xb3", b"\0\0", b"\1\2", b"\4", b"what"]
    grown = [columns.take(size) + more for size, more in zip([events.count] + sizes, added)]
    events.payload = isc.EVENTS_PREFIX.pack(base, *map(len, grown[1:])) + b"".join(grown)
    events.count += 2


@pytest.mark.parametrize("change", [unknown_block, longer_entries, unknown_definitions,
                                    unknown_event])
def test_what_a_later_version_adds_is_stepped_over(changed, example, change):
    trace, _ = changed(change)
    assert trace.whole
    before, after = facts_of_trace(isc.Trace(example)), facts_of_trace(trace)
    if change is unknown_event:
        assert [event.kind for event in trace.threads[1].events][3:] == [0x33, 0xb3]
        del before["threads"], after["threads"]
    assert before == after


@pytest.mark.parametrize("raw, shown", [
    (b"plain", "plain"), ("\u20ac\U0001f600".encode(), "\u20ac\U0001f600"),
    (b"a\0b", "a\ufffdb"), (b"\xe2\x82", "\ufffd\ufffd"), (b"\xff\xfe", "\ufffd\ufffd"),
    (b"\xed\xa0\x80", "\ufffd" * 3), (b"\xc0\xaf", "\ufffd\ufffd"),
    (b"\xf4\x90\x80\x80", "\ufffd" * 4), (b"\xe2\x82A", "\ufffd\ufffdA"),
])
def test_text_is_mended_alike(changed, raw, shown):
    def change(blocks):
        blocks[INFO_AT].payload = entry(b"\x03k", b"\xff", b"x", raw)
        blocks[DEFS_AT].payload = entry(b"\x82\x07\x2a", varint(len(raw)), raw, raw)
        blocks[DEFS_AT].count = 1
    trace, _ = changed(change)
    assert trace.info == [("k\ufffdx", shown)]
    assert trace.codes[7] == {"line": 42, "name": shown, "file": shown}


@pytest.mark.parametrize("wall, status, outcome", [
    (10000, 255, (10000, 255)), (10000, -1, (10000, None)), (10000, -2, (10000, None)),
    (10000, 1 << 31, (None, None)), (-5, 0, (-5, 0)), (1 << 62, 0, (None, None)),
])
def test_the_end_has_limits(changed, wall, status, outcome):
    def change(blocks):
        blocks[END_AT].payload = entry(zigzag(wall), zigzag(status))
    trace, _ = changed(change)
    assert (trace.wall_ns, trace.exit_status) == outcome
    assert trace.whole == (outcome != (None, None))


def test_nothing_follows_the_end(readers, changed, example):
    trace, _ = readers.agree(readers.put(example + b"\0"))
    assert trace.ended and not trace.whole and trace.damage[0] == len(example)

    def empty_end(blocks):
        blocks[END_AT].payload, blocks[END_AT].count = b"", 0
    trace, _ = changed(empty_end)
    assert not trace.ended


@pytest.mark.parametrize("kinds", [[isc.STRING, isc.CODE], [isc.CODE, isc.STRING]])
def test_the_later_definition_counts(changed, kinds):
    rest = {isc.STRING: b"text", isc.CODE: b"\x01\x04codefile"}

    def change(blocks):
        blocks[DEFS_AT].payload = b"".join(entry(bytes([kind, 7]), rest[kind]) for kind in kinds)
        again = copy.copy(blocks[DEFS_AT])
        again.payload, again.count = entry(b"\x81\x09late"), 1
        blocks.insert(END_AT, again)
    trace, _ = changed(change)
    assert trace.strings[9] == "late"
    assert (7 in trace.codes) == (kinds[-1] == isc.CODE)


@pytest.mark.parametrize("payload, instance, task, pairs, cut", [
    (b"", 0, 0, [], False),
    (varint(5), 5, 0, [], False),
    (varint((1 << 64) - 1) + varint(1 << 63), (1 << 64) - 1, 1 << 63, [], False),
    (b"\x01" + b"\xff" * 11, 1, 0, [], False),
    (b"\x01\x00\x00\x01a\x09\x01b\x02\x01c", 1, 0, [("a", None)], False),
    (b"\x01\x00\x01\x01a\x07\x00\x02\x01c", 1, 0, [("a", False), ("c", True)], True),
    (b"\x01\x00\x02\x01a\x02\x01a", 1, 0, [("a", True), ("a", True)], False),
    (b"\x01\x00\x00\x01a\x03\x01b", 1, 0, [("a", None)], False),
    (b"\x01\x00\x00\x01a\x05\x09b", 1, 0, [("a", None)], False),
])
def test_payloads_are_read_as_far_as_they_go(changed, payload, instance, task, pairs, cut):
    def change(blocks):
        length = varint(len(payload))
        blocks[EVENTS_AT].payload = (
            isc.EVENTS_PREFIX.pack(1000, 1, 1, len(length), len(payload))
            + bytes([isc.SCOPE_BEGIN]) + b"\0\x09" + length + payload)
        blocks[EVENTS_AT].count = 1
    trace, _ = changed(change)
    read = isc.Payload(trace.threads[1].events[0])
    assert (read.instance, read.task) == (instance, task)
    assert (read.args.pairs, read.args.cut) == (pairs, cut)
