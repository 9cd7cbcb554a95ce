"""Series in the trace file: the page, the decoder made from it, and the program agree."""

import os
import re
import subprocess

import pytest

import isc_decode as isc
from isc_series import SERIES_NAMES
from two_readers import TwoReaders


@pytest.fixture(scope="module")
def readers(binary, root, tmp_path_factory):
    return TwoReaders(binary, root, tmp_path_factory.mktemp("series"))


@pytest.fixture(scope="module")
def page(root):
    with open(os.path.join(root, "docs/FORMAT.md"), encoding="utf-8") as file:
        text = file.read()
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (process|machine) \| (gauge|total)", text, re.M)
    return {int(kind): (name, owner, nature) for kind, name, owner, nature in rows}


@pytest.fixture(scope="module")
def told(binary, readers, page):
    """A trace with three points of every quantity, and one of a process that is not there."""
    lines = ["process 1 100 app.py 0 9000000", "end 9000000 0"]
    for kind, (name, owner, _) in page.items():
        process = 1 if owner == "process" else 0
        lines.insert(1, "series %d %s/%d 5@1000 5@2000000 %d@3000000"
                     % (process, name, kind % 3, -kind << 40))
    story = os.path.join(readers.folder, "all.story")
    with open(story, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    trace = os.path.join(readers.folder, "all.isc")
    tool = os.path.join(os.path.dirname(binary), "../../tests/unit/story_trace")
    subprocess.run([tool, story, trace], check=True)
    return trace


def test_the_decoder_knows_the_names_of_the_page(page):
    assert SERIES_NAMES == {kind: name for kind, (name, _, _) in page.items()}


def test_every_quantity_is_exported_as_the_page_says(readers, told, page):
    trace, export = readers.agree(told)
    assert trace.whole and len(trace.points) == 3 * len(page)
    natures = {event["name"]: event["nature"] for event in export["events"]}
    assert natures == {name: nature for name, _, nature in page.values()}
    of_processes = {event["name"] for event in export["events"] if "pid" in event}
    assert of_processes == {name for name, owner, _ in page.values() if owner == "process"}
    readers.check_schemas(told, export)


def test_a_block_that_cannot_be_read_is_damage(readers, told):
    with open(told, "rb") as file:
        data = bytearray(file.read())
    offset = 48
    while int.from_bytes(data[offset + 4:offset + 6], "little") != isc.SERIES:
        offset += 48 + int.from_bytes(data[offset + 8:offset + 12], "little")
    # The sum of the columns' bytes is wrong now, and both checksums are right.
    payload = isc.unpack(int.from_bytes(data[offset + 6:offset + 8], "little"),
                         bytes(data[offset + 48:offset + 48 + int.from_bytes(
                             data[offset + 8:offset + 12], "little")]),
                         int.from_bytes(data[offset + 12:offset + 16], "little"))
    broken = bytearray(payload)
    broken[8] ^= 1
    head = bytearray(data[offset:offset + 48])
    head[6:8] = (0).to_bytes(2, "little")
    head[8:12] = head[12:16]
    head[40:44] = isc.zlib.crc32(head[:40]).to_bytes(4, "little")
    head[44:48] = isc.zlib.crc32(broken).to_bytes(4, "little")
    stored = int.from_bytes(data[offset + 8:offset + 12], "little")
    path = readers.put(data[:offset] + head + broken + data[offset + 48 + stored:])
    trace, export = readers.agree(path)
    assert trace.damage[0] == offset and not trace.points
    assert "its columns are inconsistent" in export["inferscope"]["damage"]
