"""The timeline of the HTML report in a real browser: what it draws and where, finds, adds up
and shows, with the mouse and with keys alone.

Screenshots are left beside the pages; `--basetemp DIR` decides where.  scripts/packages.sh browser
installs Chromium.
"""

import json
import os
import resource
import subprocess
import sys

import pytest

import firefox
from chromium import READY, find

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
import test_injection  # noqa: E402

pytestmark = pytest.mark.skipif(not find(),
                                reason="there is no Chromium (scripts/packages.sh browser)")

SHARED = next((path for path in ("../../../shared/traces", "/work/shared/traces")
               for path in [os.path.join(os.path.dirname(os.path.abspath(__file__)), path)]
               if os.path.isdir(path)), None)
FINDING = "document.querySelector('.tl-finding')"
DETAILS = "document.querySelector('#tl-panel-details').textContent"

STORY = """info command python3
info cwd /srv/app
process 1 100 serve.py 0 100000000
thread 1 1 100 MainThread 0 100000000 0
code main /srv/app/serve.py 1
code outer /srv/app/serve.py 5
code inner /srv/app/serve.py 9
1: +main@0 [request#1/0@10000000 +outer@20000000 +inner@30000000 -inner@50000000 -outer@80000000
1: ]#1@85000000 -main@100000000
end 100000000 0
"""


# From a copy: Chromium complains of a canvas that is drawn to and read from.
READ = """((x, y) => {
    const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    copy.drawImage(inferscopeTimeline.canvas, x, y, 1, 1, 0, 0, 1, 1);
    return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
})"""


def pixel(browser, time_ns, lane, depth=0):
    """The colour of the canvas at a moment, in the middle of a row."""
    return browser.value("""(() => {
        const t = inferscopeTimeline, scale = devicePixelRatio;
        t.paint();
        const row = t.data.rows.find(r => r.lane === %d && r.depth === %d);
        const line = t.model.lineOf.get(row.index);
        const y = line.y + line.height - 3 + t.painter.top - t.scroll;
        return (%s)(Math.round(t.painter.x(%d) * scale), Math.round(y * scale));
    })()""" % (lane, depth, READ, time_ns))


FRAMES = 9


def test_spans_are_where_their_times_say(story, browser):
    story(STORY)
    card = [int(browser.value("inferscopeTimeline.theme.card")[i:i + 2], 16) for i in (1, 3, 5)]
    for view in "t.setView(0, 1e8)", "t.setView(1.5e7, 6e7)":
        browser.value("(() => { const t = inferscopeTimeline; %s; })()" % view)
        seen = [pixel(browser, time * 1_000_000, FRAMES, depth) != card
                for depth, time in ((1, 17), (1, 22), (1, 55), (2, 28), (2, 31), (2, 49), (2, 52))]
        assert seen == [False, True, True, False, True, True, False]
    assert pixel(browser, 40_000_000, FRAMES, 1) != pixel(browser, 40_000_000, FRAMES, 2)
    assert browser.errors == []


def test_the_page_asks_for_nothing_and_says_nothing(example, browser):
    path = example("gpt2_decode")
    browser.value("(() => { const t = inferscopeTimeline; t.fit(); t.setView(0, t.data.end / 50);"
                  "t.setRange(0, t.data.end); t.showTab('flame'); t.search.set('gemm'); })()")
    browser.wait_for("!!document.querySelector('#tl-panel-flame canvas')")
    assert browser.errors == []
    assert browser.requests == ["file://%s" % path]


def test_wheel_and_keys_zoom_and_move(story, browser):
    story(STORY)
    span = "inferscopeTimeline.to - inferscopeTimeline.from"
    whole = browser.value(span)
    browser.focus(".tl-view canvas")
    browser.key("w")
    near = browser.value(span)
    assert near < whole
    begin = browser.value("inferscopeTimeline.from")
    browser.key("d")
    assert browser.value("inferscopeTimeline.from") > begin
    assert browser.value(span) == pytest.approx(near)
    browser.key("s")
    assert browser.value(span) > near
    browser.key("0")
    assert browser.value(span) == pytest.approx(1e8)
    x, y = browser.value("(() => { const r = inferscopeTimeline.canvas.getBoundingClientRect();"
                         "return [r.left + 600, r.top + 80]; })()")
    at = browser.value("(inferscopeTimeline.paint(), inferscopeTimeline.painter.time(600))")
    browser.wheel(x, y, -200, ctrl=True)
    browser.wait_for("%s < 9e7" % span)
    browser.value("inferscopeTimeline.paint()")
    assert browser.value("inferscopeTimeline.painter.time(600)") == pytest.approx(at, rel=0.05)


def test_a_drag_moves_and_a_click_selects(story, browser):
    story(STORY)
    browser.value("inferscopeTimeline.setView(2e7, 6e7); inferscopeTimeline.paint()")
    x, y = browser.value("""(() => { const t = inferscopeTimeline, p = t.painter,
        line = t.model.lines.find(l => l.lane.lane === 9 && t.data.rows[l.row].depth === 2),
        r = t.canvas.getBoundingClientRect();
        return [r.left + p.x(4e7), r.top + line.y + p.top - t.scroll + 6]; })()""")
    browser.drag(x, y, x, y)
    browser.wait_for(DETAILS + ".includes('inner')")
    text = browser.value(DETAILS)
    assert "20.0 ms" in text and "serve.py:9" in text
    browser.drag(x, y, x + 100, y)
    browser.wait_for("inferscopeTimeline.from < 2e7")


def test_fingers_pinch_move_and_tap(example, browser):
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    try:
        example("resnet50", width=400)
        x, y = browser.value("(() => { const r = inferscopeTimeline.canvas.getBoundingClientRect();"
                             "return [r.left + 250, r.top + 32]; })()")
        span = "inferscopeTimeline.to - inferscopeTimeline.from"
        whole = browser.value(span)
        browser.touch("touchStart", (x - 20, y), (x + 20, y))
        for i in range(1, 6):
            browser.touch("touchMove", (x - 20 - 10 * i, y), (x + 20 + 10 * i, y))
        browser.touch("touchEnd")
        browser.wait_for("%s < %f" % (span, whole / 2))
        near, begin = browser.value("[%s, inferscopeTimeline.from]" % span)
        browser.touch("touchStart", (x, y))
        for i in range(1, 6):
            browser.touch("touchMove", (x - 15 * i, y))
        browser.touch("touchEnd")
        browser.wait_for("inferscopeTimeline.from > %f" % begin)
        assert browser.value(span) == pytest.approx(near)
        browser.value("inferscopeTimeline.setView(7.06e9, 7.065e9); inferscopeTimeline.paint()")
        browser.touch("touchStart", (x, y))
        browser.touch("touchEnd")
        browser.wait_for("inferscopeTimeline.selected && inferscopeTimeline.selected.row === "
                         "inferscopeTimeline.model.stepLines[0].row")
    finally:
        browser.ask("Emulation.setTouchEmulationEnabled", enabled=False)


def test_double_click_on_a_step_zooms_to_it(example, browser):
    example("resnet50")
    step = browser.value("""(() => { const t = inferscopeTimeline, p = t.painter;
        t.paint();
        const i = t.data.itemAt(t.model.stepLines[0].row, (t.from + t.to) / 2, 1e9, p.cover);
        const r = t.canvas.getBoundingClientRect();
        return [r.left + p.x((i.start + i.end) / 2), r.top + 30, i.start, i.end]; })()""")
    x, y, start, end = step
    browser.double_click(x, y)
    begin, until = browser.value("[inferscopeTimeline.from, inferscopeTimeline.to]")
    assert begin <= start and until >= end and until - begin < 1.2 * (end - start)


def test_search_counts_and_goes_from_match_to_match(story, browser):
    story(STORY.replace("-outer@80000000", "+inner@60000000 -inner@61000000 -outer@80000000"))
    browser.focus(".tl-view canvas")
    browser.key("/")
    assert browser.value("document.activeElement.type") == "search"
    browser.type("inner")
    browser.wait_for("document.querySelector('.tl-count').textContent === '2 matches'")
    starts = []
    for _ in range(3):
        before = browser.value("inferscopeTimeline.selected && inferscopeTimeline.selected.start")
        browser.key("Enter")
        browser.wait_for("inferscopeTimeline.selected && inferscopeTimeline.selected.start !== %s"
                         % json.dumps(before))
        starts.append(browser.value("inferscopeTimeline.selected.start"))
    assert starts == [30_000_000, 60_000_000, 30_000_000]


def test_a_finding_leads_to_its_gap_the_kernel_behind_it_and_the_line(example, browser):
    path = example("resnet50")
    browser.value("document.querySelector('.tl-show').click()")
    browser.wait_for("inferscopeTimeline.gaps.length && " + DETAILS + ".includes('Then runs')")
    assert browser.value(FINDING + ".hidden") is False
    gap, kind = browser.value("""(() => { const t = inferscopeTimeline, g = t.gaps[0];
        return [[g.start, g.end, t.from, t.to], t.data.labels[g.label].kind]; })()""")
    assert kind == 11 and gap[2] <= gap[0] < gap[1] <= gap[3]
    assert "resnet50.py:18" in browser.value(DETAILS)
    browser.value("""[...document.querySelectorAll('.tl-chain li')]
        .find(li => li.textContent.startsWith('Then runs')).querySelector('button').click()""")
    browser.wait_for(DETAILS + ".includes('Launch')")
    text = browser.value(DETAILS)
    assert "Kernel" in text and "resnet50.py:18" in text
    at = browser.value(FINDING + ".textContent")
    browser.screenshot(str(path)[:-5] + "-gap.png")
    browser.value("inferscopeTimeline.canvas.focus()")
    browser.key("]")
    browser.wait_for(FINDING + ".textContent !== %s" % json.dumps(at))
    browser.key("[")
    browser.wait_for(FINDING + ".textContent === %s" % json.dumps(at))
    assert browser.errors == []


def statistics(browser, begin="0", end="inferscopeTimeline.data.end"):
    return browser.value("inferscopeTimeline.statistics.statistics.of(%s, %s)" % (begin, end),
                         wait=True)


@pytest.mark.parametrize("name", ["gpt2_decode", "resnet50", "encoder", "two_streams"])
def test_statistics_of_everything_are_those_of_the_report(name, example, browser, work):
    example(name)
    gpu = json.loads((work / "r.json").read_text())["gpu"]
    found = statistics(browser)
    assert found["exact"]
    assert sum(e["ns"] for e in found["busy"]) / 1e6 == pytest.approx(gpu["busy_ms"], abs=1e-6)
    assert sum(e["ns"] for e in found["idle"]) / 1e6 == pytest.approx(gpu["idle_ms"], abs=1e-6)
    kernels = sorted((k["name"], k["count"], round(k["ms"] * 1e6)) for k in gpu["kernels"])
    assert sorted((k["name"], k["count"], k["ns"]) for k in found["kernels"]) == kernels
    blame = {}
    for cause in gpu["blame"]:
        key = "%s:%s" % (cause["function"], cause["line"])
        blame[key] = blame.get(key, 0) + cause["ms"]
    drawn = {}
    for cause in found["idle"]:
        if cause["detail"]:
            function, line = cause["detail"].split(" \u2014 ")[0], cause["detail"].split(":")[-1]
            key = "%s:%s" % (function, line)
            drawn[key] = drawn.get(key, 0) + cause["ns"] / 1e6
    if not any(cause["cause"] == "page_faults" for cause in gpu["blame"]):
        assert drawn == pytest.approx({k: v for k, v in blame.items() if not k.startswith("None")},
                                      abs=1e-5)


@pytest.mark.parametrize("name", ["encoder", "two_streams"])
def test_statistics_of_steps_are_those_of_the_breakdown(name, example, browser, work):
    """Of each step's range; the two recordings have no copies, of which the host does a part."""
    example(name)
    step = json.loads((work / "r.json").read_text())["steps"][0]
    ranges = browser.value("""(() => { const t = inferscopeTimeline,
        p = t.data.root.rows.get(t.model.stepLines[0].row);
        return [...p.start].map((start, i) => [start, p.end[i]]); })()""")
    steps = ranges[-step["breakdown_steps"]:]
    busy_ns = sum(entry["ns"] for start, end in steps
                  for entry in statistics(browser, str(start), str(end))["busy"])
    compute = next(part for part in step["breakdown"] if part["class"] == "gpu_compute")
    assert busy_ns / 1e6 / len(steps) == pytest.approx(compute["ms"], abs=1e-6)


def test_statistics_of_functions_are_those_of_the_report(story, browser, work):
    story(STORY)
    functions = json.loads((work / "r.json").read_text())["cpu"]["functions"]
    found = statistics(browser)["functions"]
    assert {f["name"]: (f["calls"], f["self_ms"]) for f in functions} == {
        f["name"]: (f["count"], f["self"] / 1e6) for f in found}


def test_statistics_of_parts_add_up(example, browser):
    example("gpt2_decode")
    end = browser.value("inferscopeTimeline.data.end")
    cuts = [0, 0.871 * end, 0.8933 * end, 0.9 * end, 0.9127 * end, end]
    parts = [statistics(browser, *map(str, cut)) for cut in zip(cuts, cuts[1:])]
    whole = statistics(browser)
    for table in "busy", "idle", "kernels", "calls":
        for part in parts:
            assert all(entry["ns"] >= 0 for entry in part[table])
        assert sum(e["ns"] for part in parts for e in part[table]) == pytest.approx(
            sum(e["ns"] for e in whole[table]))
        assert sum(e["count"] for part in parts for e in part[table]) == \
            sum(e["count"] for e in whole[table])


def test_everything_can_be_done_with_keys(example, browser):
    example("resnet50")
    browser.focus(".tl-view canvas")
    browser.key("Enter")
    browser.wait_for("inferscopeTimeline.selected")
    first = browser.value("inferscopeTimeline.selected.row")
    browser.key("ArrowDown", shift=True)
    browser.wait_for("inferscopeTimeline.selected.row !== %d" % first)
    start = browser.value("inferscopeTimeline.selected.start")
    browser.key(".")
    browser.wait_for("inferscopeTimeline.selected.start > %d" % start)
    browser.key("f")
    browser.key("m")
    browser.wait_for("inferscopeTimeline.range && "
                     "!document.querySelector('#tl-panel-range').hidden")
    browser.key("x")
    browser.wait_for("!document.querySelector('#tl-panel-flame').hidden")
    browser.key("?")
    assert browser.value("document.querySelector('.tl-help').open")
    browser.key("?")
    browser.key("Escape")
    browser.key("Escape")
    assert browser.value("inferscopeTimeline.range") is None
    # Each control has a name, and none is out of reach.
    assert browser.value("""[...document.querySelectorAll('#timeline button, #timeline input')]
        .filter(e => e.tabIndex < 0 || !(e.getAttribute('aria-label') || e.textContent))
        .length""") == 0


def test_dark_mode_draws_dark(example, browser):
    path = example("gpt2_decode")
    for scheme, dark in (("dark", True), ("light", False)):
        browser.prefer(scheme)
        browser.wait_for("inferscopeTimeline.theme.dark === %s" % json.dumps(dark))
        colour = browser.value("""(() => { const t = inferscopeTimeline; t.paint();
            return (%s)(t.canvas.width - 30, t.canvas.height - 3); })()""" % READ)
        assert (sum(colour) < 200) == dark
        browser.screenshot(str(path)[:-5] + "-timeline-%s.png" % scheme)


CONTRAST = """(() => {
    const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const light = colour => {
        c.fillStyle = colour;
        c.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...c.getImageData(0, 0, 1, 1).data].map(x => x / 255)
            .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const t = inferscopeTimeline.theme, pairs = [];
    for (let kind = 0; kind <= 16; kind++)
        for (let what = 0; what < 40; what++)
            for (const name of ['a', 'Linear.forward', 'void kernel<' + what + '>'])
                pairs.push(t.of({ kind, what, name, class: t.names[what % t.names.length] }));
    return Math.min(...pairs.map(([fill, text]) => {
        const [x, y] = [light(fill), light(text)];
        return Math.max(x, y) / Math.min(x, y);
    }));
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_on_items_can_be_read(scheme, example, browser):
    browser.prefer(scheme)
    example("two_streams")
    assert browser.value(CONTRAST) >= 4.5
    browser.prefer("light")


def test_a_view_can_be_shared_by_its_address(example, browser):
    example("gpt2_decode")
    browser.value("""(() => { const t = inferscopeTimeline; t.setView(9.6e9, 9.7e9);
        t.model.tracks[2].pinned = true; t.search.set('gemv'); t.setRange(9.61e9, 9.62e9); })()""")
    browser.wait_for("location.hash.includes('range=') && location.hash.includes('pin=')")
    fragment = browser.value("location.hash")
    example("gpt2_decode", fragment=fragment)
    browser.wait_for("inferscopeTimeline.range")
    assert browser.value("[inferscopeTimeline.from, inferscopeTimeline.to,"
                         "inferscopeTimeline.range.from,"
                         "inferscopeTimeline.search.input.value]") == [9.6e9, 9.7e9, 9.61e9, "gemv"]
    assert browser.value("inferscopeTimeline.model.shown[0].pinned")


def test_tracks_fold_pin_and_filter(example, browser):
    example("two_streams")
    names = "inferscopeTimeline.model.shown.map(t => t.title)"
    all_tracks = browser.value(names)
    assert len([name for name in all_tracks if "stream" in name]) >= 2
    browser.value("""(() => {
        const i = document.querySelector('[aria-label="Filter tracks by name"]');
        i.value = 'mainthread'; i.dispatchEvent(new Event('input')); })()""")
    assert browser.value(names) == [name for name in all_tracks if name.startswith("MainThread")]
    browser.value("inferscopeTimeline.setFilter('')")
    last = all_tracks[-1]
    browser.value("[...document.querySelectorAll('.tl-pin')].pop().click()")
    assert browser.value(names)[0] == last
    height = browser.value("inferscopeTimeline.model.height")
    browser.value("document.querySelector('.tl-head button[aria-expanded=true]').click()")
    assert browser.value("inferscopeTimeline.model.height") < height


def test_source_lines_of_findings_are_in_the_page_unless_unwanted(story, show, browser, work):
    code = work / "serve.py"
    code.write_text("".join("line_%d()  # <b>&amp;\n" % i for i in range(1, 30)))
    text = open(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                             "golden/gpu_service.story")).read()
    story(text.replace("/srv/app", str(work)))
    assert browser.value("inferscopeTimeline.findings.items.length") > 0
    source = browser.value("Object.values(inferscopeTimeline.data.meta.source)")
    assert source == [] or all(line.startswith("line_") for lines in source for line in lines[1:])
    code.write_text("".join("line_%d()  # <b>&amp;\n" % i for i in range(1, 90)))
    show("t.isc")
    lines = [lines for lines in browser.value("Object.values(inferscopeTimeline.data.meta.source)")]
    assert lines and lines[0][1] == "line_%d()  # <b>&amp;" % lines[0][0]
    show("t.isc", "--no-source")
    assert browser.value("inferscopeTimeline.data.meta.source") == {}


@pytest.mark.skipif(not SHARED, reason="the shared traces are not beside the checkout")
def test_a_trace_of_another_tool_has_a_timeline_and_findings_on_it(show, browser):
    show(os.path.join(SHARED, "kineto_h100_bert_inference.json.gz"))
    buttons = browser.value("document.querySelectorAll('.tl-show').length")
    assert buttons == browser.value("inferscopeTimeline.data.meta.findings.length") > 0
    browser.value("document.querySelector('.tl-show').click()")
    browser.wait_for("inferscopeTimeline.gaps.length > 0 && %s.includes('Then runs')" % DETAILS)
    lanes = set(browser.value("inferscopeTimeline.data.rows.map(r => r.lane)"))
    assert {1, 2, 7, 8, 9} <= lanes
    assert browser.errors == []


@pytest.mark.parametrize("name", sorted(test_injection.HOSTILE))
def test_hostile_names_stay_text(name, show, browser, work):
    (work / "t.isc").write_bytes(test_injection.trace(test_injection.HOSTILE[name]))
    show("t.isc")
    title = browser.value("document.title")
    elements = browser.value("document.querySelectorAll('#timeline *').length")
    browser.value("""(async () => { const t = inferscopeTimeline;
        for (const line of [...t.model.stepLines, ...t.model.lines]) {
            const item = t.data.itemAt(line.row, t.data.end / 3, t.data.end, t.painter.cover);
            if (!item) continue;
            t.select(item, true);
            await t.details.show(item);
            t.hover({ x: t.painter.x(item.start) + 1, y: t.painter.lineY(line.row) || 30 },
                    { clientX: 5, clientY: 5 });
        }
        t.setRange(0, t.data.end);
        await t.statistics.show(0, t.data.end);
        await t.flame.show(0, t.data.end); t.paint(); })()""", wait=True)
    assert browser.errors == []
    assert browser.value("document.title") == title
    assert browser.value("""document.querySelectorAll(
        '#timeline :is(script, img, style, iframe, svg,'
        + ' [onerror], [onmouseover], [href])').length""") == 0
    assert elements > 20 and not browser.value("window.alert.called")


@pytest.mark.measures
@pytest.mark.parametrize("events, page_mb, frame_ms", [(1_000_000, 12, 16), (10_000_000, 40, 33)])
@pytest.mark.parametrize("program", ["analysis", "service"])
def test_many_events_stay_smooth(events, page_mb, frame_ms, program, inferscope, binary, work,
                                 browser):
    """Prints what it measured; `pytest -m measures -s`."""
    tool = os.path.join(os.path.dirname(binary), "../../bench_analysis")
    if not os.path.exists(tool):
        pytest.skip("bench_analysis is not built")
    subprocess.run([tool, str(events), program, str(work / "t.isc")], check=True)
    path = work / "r.html"
    cpu_s = []
    for megabytes in "0", "30":
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert inferscope("analyze", "t.isc", "--quiet", "--timeline-mb", megabytes, "--report",
                          path, timeout=600).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    writing_s = cpu_s[1] - cpu_s[0]
    size_mb = os.path.getsize(path) / 1e6
    browser.resize(1400)
    browser.open(path)
    browser.wait_for(READY)
    ready_ms = browser.value("performance.now()")
    paint_ms = browser.value("performance.getEntriesByType('paint')[0].startTime")
    frames = browser.value("""(async () => {
        const t = inferscopeTimeline, times = [], read = READ;
        for (let i = 0; i < 120; i++) {
            const at = t.data.end * (0.3 + 0.4 * i / 120), span = t.data.end * 0.9 ** (i % 60);
            t.setView(at - span / 2, at + span / 2);
            await new Promise(requestAnimationFrame);
            const began = performance.now();
            t.paint();
            read(0, 0); // waits for what was drawn
            times.push(performance.now() - began);
        }
        return times.sort((a, b) => a - b);
    })()""".replace("READ", READ), wait=True)
    print("%s, %d events: page %.1f MB written in %.1f s of CPU, first paint after %.0f ms, ready "
          "after %.0f ms, frame %.1f ms median, %.1f ms p95" % (
              program, events, size_mb, writing_s, paint_ms, ready_ms, frames[60], frames[114]))
    assert size_mb <= page_mb and ready_ms <= 1500
    assert writing_s <= max(1, events / 5e6)
    assert frames[60] <= frame_ms
    assert browser.errors == []


FIREFOX_ERRORS = """Services.console.getMessageArray().map(m => String(m.message || m))
    .filter(m => m.includes('file://') && m.includes('r.html'))"""


@pytest.mark.skipif(not firefox.find(),
                    reason="there is no Firefox (scripts/packages.sh browser)")
def test_firefox_shows_the_same(inferscope, root, work, tmp_path):
    path = work / "r.html"
    trace = os.path.join(root, "examples/traces/h200_resnet50.isc")
    inferscope("analyze", trace, "--quiet", "--report", path, "--report", "r.json",
               "--detail", "full")
    (tmp_path / "profile").mkdir()
    fox = firefox.Firefox(firefox.find(), str(tmp_path / "profile"))
    try:
        fox.open(path)
        fox.wait_for(READY)
        gpu = json.loads((work / "r.json").read_text())["gpu"]
        found = statistics(fox)
        assert sum(e["ns"] for e in found["busy"]) / 1e6 == pytest.approx(gpu["busy_ms"], abs=1e-6)
        assert sorted((k["name"], k["count"]) for k in found["kernels"]) == sorted(
            (k["name"], k["count"]) for k in gpu["kernels"])
        fox.value("document.querySelector('.tl-show').click()")
        fox.wait_for("inferscopeTimeline.gaps.length > 0 && %s.includes('Then runs')" % DETAILS)
        gap = fox.value("inferscopeTimeline.gaps[0].start + 1")
        fox.value("inferscopeTimeline.setView(%d - 1e5, %d + 1e5)" % (gap, gap))
        card = [int(fox.value("inferscopeTimeline.theme.card")[i:i + 2], 16) for i in (1, 3, 5)]
        assert pixel(fox, gap, 1) != card
        assert fox.value("performance.getEntriesByType('resource').length") == 0
        fox.screenshot(str(path)[:-5] + "-firefox.png")
        fox.ask("Marionette:SetContext", value="chrome")
        assert fox.value(FIREFOX_ERRORS) == []
    finally:
        fox.close()
