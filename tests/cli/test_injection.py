"""Names that would like to be something else, in every field of a trace, through every format.

Each output is read by a real parser: json, html.parser, and cmark-gfm, the reference of the
Markdown that GitHub shows (scripts/packages.sh markdown).  A name must come out as the text that
it was.
"""

import html.parser
import json
import re
import shutil
import struct
import subprocess
import unicodedata

import pytest

import isc_encode as isc
from html_page import Page

HOSTILE = {
    "html": b"<script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": b"\" onmouseover=\"alert(1)\" x='",
    "entities": b"&lt;b&gt; &amp; &#60;b&#62; &copy;",
    "comment": b"--><!--<style>*{display:none}</style>",
    "end of script": b"</script></style></title></code></svg>",
    "bars": b"a | b || c \\| d \\\\| e |",
    "backticks": b"`a``b```c` ` ",
    "emphasis": b"**a** __b__ *c* _d_ ~~e~~ # f",
    "links": b"[a](javascript:alert(1)) ![b](http://x/y.png) <http://z> [c]: #d",
    "lists": b"- a 1. b + c",
    "blanks": b"    four",
    "heading": b"# one\n## two\n| a | b |\n|---|---|",
    "terminal": b"\x1b[31m\x1b]0;title\x07\x9b2J\xc2\x9b2J\r\x08",
    "null": b"a\0b",
    "no utf-8": b"\xff\xfe\xc3(\xa0\xed\xa0\x80\xf8",
    "direction": "\u202egnp\u2066\u200f\u061c\u2069.exe".encode(),
    "invisible": "a\U000e0041\U000e0042".encode(),
    "lines": "a\u2028b\u2029c\nd\r\ne".encode(),
    "json": b"\"}],\"x\":[{\"\\u0000\\",
    "formats": b"%s%n%1000000d{0}${x}",
    "css": b"}*{background:url(http://x/)}",
    "empty": b"",
    "long": b"x" * 3000,
}
SCOPE, KERNEL, CALL, MARK, COUNTER, LAYER, PART, NVTX, CODE, INNER, STACK = range(10, 21)


def trace(evil):
    """Each field has its own letter before the name, so that one can tell them apart."""
    def named(letter):
        return letter.encode() + evil

    def definition(kind, id, rest):
        return isc.entries(isc.DEFS, bytes([kind]) + isc.varint(id) + rest)

    def enter(time_ns, correlation):
        return isc.CUDA_ENTER, CALL, time_ns, isc.varints(1, correlation, 0, 0)

    def info(key):
        return isc.entries(isc.INFO, isc.text(key) + named(key[0]))

    begin, scopes = isc.varints(1, 0), []
    for i in range(6):
        at = 20_000 * (i + 1)
        number = isc.varints(100 + i)
        scopes += [(isc.SCOPE_BEGIN, SCOPE, at, isc.varints(100 + i, 0) + isc.arg(named("k"), "v")),
                   (isc.CALL, INNER, at + 100, None), (isc.LAYER_BEGIN, LAYER, at + 200, None),
                   (isc.LAYER_BEGIN, PART, at + 300, None), enter(at + 400, 10 + i),
                   (isc.CUDA_EXIT, 10 + i, at + 500, None), (isc.LAYER_END, PART, at + 600, None),
                   (isc.LAYER_END, LAYER, at + 700, None), (isc.RETURN, INNER, at + 5_000, None),
                   (isc.SCOPE_END, SCOPE, at + 9_000 + 10 * i, number)]
    rows = [(isc.CALL, CODE, 10, None)] + scopes + [
        (isc.SCOPE_BEGIN, NVTX, 200_000, begin), (isc.SCOPE_END, NVTX, 200_900, isc.varints(1)),
        (isc.MARK, MARK, 201_000, isc.varints(0)),
        (isc.COUNTER, COUNTER, 202_000, struct.pack("<d", 1.5)),
        (isc.GPU_STATE, 4, 203_000, named("g")), (isc.RETURN, CODE, 210_000, None)]
    device = isc.GPU_DEVICE, 0, 10, isc.varints(1, 1, 132, 1, 90) + named("D")
    kernels = [(isc.GPU_KERNEL, KERNEL, 20_000 * (i + 1) + 2_000,
                isc.varints(20_000 * (i + 1) + 600 + isc.MONOTONIC_NS, 1_000, 0, 1, 7, 10 + i)
                + isc.varints(*[1] * 11)) for i in range(6)]
    return b"".join([
        isc.header(), info("command"), info("cwd"), info("python"), info("started"),
        info("framework"),
        isc.entries(isc.NOTE, named("n")), isc.entries(isc.NOTE, evil),
        isc.process(1, 77, named("p"), 0, 300_000),
        isc.thread(1, 1, 77, named("t"), 0, 300_000, produced=len(rows)),
        isc.thread(2, 1, 78, named("u"), 0, 300_000, produced=len(kernels) + 1),
        definition(0x82, CODE, isc.varint(1) + isc.text(named("f")) + named("/F")),
        definition(0x82, INNER, isc.varint(2) + isc.text(named("i")) + named("/I")),
        isc.string(SCOPE, named("s")), isc.string(KERNEL, named("K")), isc.string(CALL, named("C")),
        isc.string(MARK, named("m")), isc.string(COUNTER, named("c")),
        definition(0x87, LAYER, isc.varint(0) + isc.text(named("L"))),
        definition(0x87, PART, isc.varint(LAYER) + isc.text(named("P")) + named("l")),
        definition(0x86, NVTX, isc.varints(1, 0, 3) + isc.text(named("d")) + isc.text(named("y"))
                   + named("N")),
        isc.stack(STACK, (INNER, 0), (CODE, 0)), isc.samples(1, (1, 22, 120, 50, STACK, 1, None)),
        isc.events(1, 0, *rows), isc.events(2, 0, device, *kernels), isc.end(300_000),
    ])


def cleaned(data):
    """The text of bytes as the program reads them: each byte that is no UTF-8, and NUL, U+FFFD."""
    out = ""
    while data:
        for n in 1, 2, 3, 4:
            try:
                out += data[:n].decode().replace("\0", "\ufffd")
                break
            except UnicodeDecodeError:
                pass
        else:
            n = 1
            out += "\ufffd"
        data = data[n:]
    return out


def obeyed(char):
    return unicodedata.category(char) in ("Cc", "Zl", "Zp") or char in "\u061c\u200e\u200f" or \
        "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" or \
        "\U000e0000" <= char <= "\U000e007f"


def shown(data):
    """What people see of a name."""
    return "".join("?" if obeyed(char) else char for char in cleaned(data))


@pytest.fixture(params=sorted(HOSTILE))
def hostile(request):
    return HOSTILE[request.param]


@pytest.fixture
def reports(inferscope, work, hostile):
    (work / "run.isc").write_bytes(trace(hostile))
    done = inferscope("analyze", "run.isc", "--detail", "full", "--report", "r.md", "--report",
                      "r.json", "--report", "r.html", text=False)
    assert done.returncode == 0, done.stderr
    return {name: (work / name).read_bytes().decode() for name in ("r.md", "r.json", "r.html")}, \
        done.stdout.decode()


def test_json_has_every_name_as_it_was(reports, hostile):
    report = json.loads(reports[0]["r.json"])
    name = cleaned(hostile)
    assert report["run"]["command"] == ["c" + name]
    assert report["steps"][0]["name"] == "s" + name
    assert report["processes"][0]["name"] == "p" + name
    (package, version), = report["run"]["frameworks"].items()
    assert ("f" + name).startswith(package.rstrip("\ufffd")) and (version or "") in name
    assert report["gpu"]["kernels"][0]["full_name"] == "K" + name
    assert {f["name"] for f in report["cpu"]["functions"]} == {"f" + name, "i" + name}
    assert {f["file"] for f in report["cpu"]["functions"]} == {"/F" + name, "/I" + name}
    hot, = report["cpu"]["in_steps"]["functions"]
    assert (hot["name"], hot["file"]) == ("i" + name, "/I" + name)
    assert [t["name"] for t in report["cpu"]["threads"]] == ["t" + name, "u" + name]
    assert report["cpu"]["marks"][0]["name"] == "m" + name
    assert report["cpu"]["counters"][0]["name"] == "c" + name
    nvtx = report["nvtx"]["ranges"][0]
    assert (nvtx["name"], nvtx["domain"], nvtx["category_name"]) == (
        "N" + name, "d" + name, "y" + name)
    assert {layer["class"] for layer in report["layers"]} >= {"P" + name}
    assert "n" + name in report["trust"]["notes"]
    # Not even a terminal that is shown the file obeys a name.
    assert not any(obeyed(char) for char in reports[0]["r.json"] if char != "\n")


def command(name):
    """Programs are shown without their folders, command lines with their beginning."""
    first, _, rest = name.partition(" ")
    text = (first.rpartition("/")[2] or first) + name[len(first):]
    return text if len(text) <= 60 else text[:59] + "\u2026"


def names(reports, hostile):
    """Those that stand alone in a cell; of kernels only a part is shown, which JSON has as well."""
    kernel = json.loads(reports["r.json"])["gpu"]["kernels"][0]["name"]
    return [letter + shown(hostile) for letter in "sfimcNdyPt"] + [shown(kernel.encode())] + \
        [command("p" + shown(hostile))]


def test_the_page_shows_names_and_obeys_none(reports, hostile):
    page = Page(reports[0]["r.html"])
    body = reports[0]["r.html"].split("<body>")[1].split("<script>")[0]
    assert not any(obeyed(char) for char in body if char != "\n")
    assert len(page.texts["script"]) == 1
    text = page.text("code") + page.text("td")
    for name in names(reports[0], hostile):
        assert name[:400] in text  # long ones are cut


class Rendered(html.parser.HTMLParser):
    """What cmark-gfm makes of the report: only elements that the report means."""

    ALLOWED = {"h1", "h2", "h3", "p", "ul", "li", "code", "table", "thead", "tbody", "tr", "th",
               "td", "a", "strong"}

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.texts, self.cells, self.open, self.headings = [], [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag in self.ALLOWED, tag
        assert {key for key, _ in attrs} <= {"align", "href"}, attrs
        assert tag != "a" or dict(attrs)["href"].startswith("#")
        self.open.append(tag)
        if tag in ("code", "td"):
            self.texts.append("")
        if tag == "tr":
            self.cells.append(0)
        if tag in ("td", "th"):
            self.cells[-1] += 1
        if tag in ("h1", "h2"):
            self.headings.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError("raw HTML: " + data)

    def handle_data(self, data):
        if "code" in self.open or "td" in self.open:
            self.texts[-1] += data
        if self.headings and self.open and self.open[-1] in ("h1", "h2"):
            self.headings[-1] += data


@pytest.mark.skipif(not shutil.which("cmark-gfm"),
                    reason="there is no cmark-gfm (scripts/packages.sh markdown)")
def test_markdown_is_read_as_it_was_meant(reports, hostile, work):
    assert not any(obeyed(char) for char in reports[0]["r.md"] if char != "\n")
    source = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "r.md"],
                            cwd=str(work), stdout=subprocess.PIPE, check=True).stdout.decode()
    read = Rendered(source)
    assert read.headings == [re.sub("`.*", "", line[line.index(" ") + 1:]) for line in
                             re.findall("^#{1,2} .*$", reports[0]["r.md"], re.M)]
    for name in names(reports[0], hostile):
        assert name in read.texts
    assert source.count("<li>") == len(re.findall("^ *- ", reports[0]["r.md"], re.M))
    assert source.count("<table>") == len(re.findall(r"^\|[-:|]+\|$", reports[0]["r.md"], re.M))


def test_the_terminal_obeys_no_name(reports):
    assert not any(obeyed(char) for char in reports[1] if char != "\n")
