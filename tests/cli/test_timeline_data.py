"""The data of the page's timeline, decoded by a second reader: complete, in levels of detail,
within its limit, and without a name in plain sight."""

import base64
import json
import os
import re
import subprocess
import zlib

import pytest


def elements(path):
    """{id: bytes} of the page's data."""
    with open(path, encoding="utf-8") as page:
        found = re.findall(r'<script type="application/octet-stream" id="tl-(\w+)">'
                           r'([^<]*)</script>',
                           page.read())
    return {name: zlib.decompress(base64.b64decode(data), -15) for name, data in found}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


SELF_LANES = (9, 10)


def read_node(data, rows, leaf, start):
    """({row: [(start, end, label, merged)]}, {row: {label: (count, ns, self)}})."""
    r, items, totals = Reader(data), {}, {}
    tag = r.number()
    while tag:
        row = r.number()
        if tag == 2:
            totals[row] = {r.number(): (r.number(), r.number(), r.number())
                           for _ in range(r.number())}
        else:
            count = r.number()
            at = start + r.number()
            starts = [r.number() for _ in range(count)]
            lengths = [r.number() for _ in range(count)]
            labels = [r.number() for _ in range(count)]
            merged = [0] * count
            for i in range(0 if leaf else count):
                merged[i] = r.number()
                r.at += merged[i] > 0
            if leaf and rows[row]["lane"] in SELF_LANES:
                assert all(r.number() <= length for length in lengths)
            for _ in range(count if rows[row]["links"] else 0):
                if r.number():
                    r.number()
            items[row] = []
            for gap, length, label, n in zip(starts, lengths, labels, merged):
                items[row].append((at + gap, at + gap + length, label, n))
                at += gap + length
        tag = r.number()
    assert r.at == len(data)
    return items, totals


def read_page(path):
    data = elements(path)
    meta = json.loads(data["meta"])
    flat = meta["rows"]
    rows = [dict(zip(("track", "lane", "depth", "count", "links"), flat[i:i + 5]))
            for i in range(0, len(flat), 5)]
    nodes, flat = [], meta["nodes"]
    for i in range(0, len(flat), 5):
        node = dict(zip(("level", "index", "leaf", "items", "there"), flat[i:i + 5]))
        node["length"] = meta["unit_ns"] * 4 ** (meta["levels"] - node["level"])
        node["start"] = node["index"] * node["length"]
        if node["there"]:
            node["rows"], node["totals"] = read_node(data[str(i // 5)], rows, node["leaf"],
                                                     node["start"])
        nodes.append(node)
    return meta, rows, nodes


def drawn(nodes):
    """How many items each row has, by the rule that draws each from exactly one node."""
    divided = {(n["level"], n["index"]) for n in nodes if not n["leaf"]}
    counts = {}
    for node in nodes:
        for row, items in node["rows"].items():
            for start, end, _, merged in items:
                assert node["start"] <= start < node["start"] + node["length"]
                assert node["level"] == 0 or end - start < node["length"] or merged
                if (node["level"], node["index"]) in divided:
                    if merged or end - start < node["length"] / 4:
                        continue
                counts[row] = counts.get(row, 0) + 1
    return counts


@pytest.fixture
def many(binary, work):
    tool = os.path.join(os.path.dirname(binary), "../../bench_analysis")
    if not os.path.exists(tool):
        pytest.skip("bench_analysis is not built")

    def make(events, program):
        subprocess.run([tool, str(events), program, str(work / "t.isc")], check=True)
        return work / "t.isc"
    return make


@pytest.mark.parametrize("program", ["analysis", "service"])
def test_every_item_is_in_the_page_once_and_totals_are_those_of_the_items(program, many, inferscope,
                                                                         work):
    inferscope("analyze", many(60_000, program), "--quiet", "--timeline-mb", "30", "--report",
               "r.html")
    meta, rows, nodes = read_page(work / "r.html")
    assert len(nodes) > 4 and all(node["there"] for node in nodes)
    assert meta["whole"] == meta["items"] == sum(row["count"] for row in rows)
    assert drawn(nodes) == {i: row["count"] for i, row in enumerate(rows) if row["count"]}
    root = nodes[0]["totals"]
    for i, row in enumerate(rows):
        assert sum(count for count, _, _ in root.get(i, {}).values()) == row["count"]
    for node in nodes:
        for items in node["rows"].values():
            assert all(a[1] <= b[0] for a, b in zip(items, items[1:]))


def test_a_small_page_has_every_level_it_can_and_says_what_is_missing(many, inferscope, work):
    inferscope("analyze", many(400_000, "service"), "--quiet", "--timeline-mb", "1", "--report",
               "r.html")
    inferscope("analyze", "t.isc", "--quiet", "--timeline-mb", "0", "--report", "n.html")
    meta, _, nodes = read_page(work / "r.html")
    assert 0 < meta["whole"] < meta["items"]
    assert nodes[0]["there"] and not all(node["there"] for node in nodes)
    names = os.path.getsize(work / "r.html") - os.path.getsize(work / "n.html") - 1_000_000
    assert names < 300_000
    # What is there of the finest is what is newest, and what findings name.
    leaves = [node for node in nodes if node["leaf"] and node["items"]]
    assert max(leaves, key=lambda leaf: leaf["start"])["there"]


def test_reports_are_the_same_each_time(many, inferscope, work):
    trace = many(60_000, "service")
    for name in "a.html", "b.html":
        inferscope("analyze", trace, "--quiet", "--report", name)
    assert (work / "a.html").read_bytes() == (work / "b.html").read_bytes()


def test_source_lines_lose_their_credentials(binary, inferscope, work):
    tool = os.path.join(os.path.dirname(binary), "../../tests/unit/story_trace")
    if not os.path.exists(tool):
        pytest.skip("story_trace is not built")
    golden = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                          "golden/gpu_service.story")
    with open(golden, encoding="utf-8") as story:
        (work / "t.story").write_text(story.read().replace("/srv/app", str(work)))
    secret = "hf_" + "aB3" * 12
    (work / "serve.py").write_text(("load(x)  # token = \"%s\"\n" % secret) * 90)
    subprocess.run([tool, str(work / "t.story"), str(work / "t.isc")], check=True)
    inferscope("analyze", "t.isc", "--quiet", "--report", "r.html")
    source = json.dumps(read_page(work / "r.html")[0]["source"])
    assert "load(x)" in source and "***" in source and secret not in source


def test_only_python_sources_are_read(golden, inferscope, work):
    """A trace from elsewhere may name any file as the place of a finding."""
    text = open(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                             "golden/gpu_service.story")).read()
    assert "/srv/app/serve.py" in text
    trace = golden("gpu_service")
    inferscope("analyze", trace, "--quiet", "--report", "r.html")
    meta, _, _ = read_page(work / "r.html")
    assert meta["source"] == {} and meta["findings"]
