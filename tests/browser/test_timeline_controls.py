"""What stands around the tracks of the timeline: the strip of the whole run, the legend, counters,
the flame graph, the enlarged view, paper.

Screenshots are left beside the pages; `--basetemp DIR` decides where.
"""

import json
import os
import subprocess

import pytest

from chromium import READY, find

pytestmark = pytest.mark.skipif(not find(),
                                reason="there is no Chromium (scripts/packages.sh browser)")

# One wrapper around all of the run and ten more: the tenth is where the work is.
DEEP = """info command python3
info cwd /srv/app
process 1 100 serve.py 0 100000000
thread 1 1 100 MainThread 0 100000000 0
%s
1: %s
1: +work@10000000 -work@40000000 +work@50000000 -work@90000000
1: %s
end 100000000 0
""" % ("\n".join(["code outer%d /srv/app/serve.py %d" % (i, i) for i in range(1, 14)]
                 + ["code work /srv/app/serve.py 99"]),
       " ".join("+outer%d@%d" % (i, i * 100) for i in range(1, 14)),
       " ".join("-outer%d@%d" % (i, 99000000 + (20 - i) * 100) for i in range(13, 0, -1)))


def test_the_head_says_how_long_where_it_goes_and_what_to_fix_first(example, browser):
    example("gpt2_decode")
    head = browser.value("document.querySelector('header').textContent")
    assert "End-to-end latency: 2.97 ms" in head and "Bound: cpu" in head
    assert "Fix first: The GPU waits for launches: saves about" in head
    assert browser.value("document.querySelector('header .first a').getAttribute('href')") == \
        "#fix-first"
    below = browser.value("[...document.querySelectorAll('main > section')].map(s => s.id)")
    assert below[:3] == ["timeline-breakdown", "timeline", "fix-first"]


def test_the_strip_shows_what_is_in_sight_and_moves_it(example, browser):
    example("resnet50", "--timeline-mb", "30")
    browser.value("inferscopeTimeline.setView(1e9, 2e9); inferscopeTimeline.paint()")
    left, right, begin, width, y = browser.value("""(() => { const o = inferscopeTimeline.overview,
        w = o.window.getBoundingClientRect(), c = o.canvas.getBoundingClientRect();
        return [w.left, w.right, c.left, c.width, w.top + 8]; })()""")
    end = browser.value("inferscopeTimeline.data.end")
    assert left - begin == pytest.approx(1e9 / end * width, abs=2)
    assert right - left == pytest.approx(1e9 / end * width, abs=2)
    browser.drag((left + right) / 2, y, (left + right) / 2 + width / 4, y)
    view = browser.value("[inferscopeTimeline.from, inferscopeTimeline.to]")
    assert view[0] == pytest.approx(1e9 + end / 4, rel=0.02)
    assert view[1] - view[0] == pytest.approx(1e9)
    browser.drag(begin + 0.1 * width, y, begin + 0.1 * width, y)
    view = browser.value("[inferscopeTimeline.from, inferscopeTimeline.to]")
    assert sum(view) / 2 == pytest.approx(0.1 * end, rel=0.05)
    assert browser.errors == []


def test_the_legend_names_the_colours_that_are_drawn_and_no_others(example, browser):
    example("two_streams")
    groups = browser.value("""[...document.querySelectorAll('.tl-legend ul')]
        .map(u => [u.getAttribute('aria-label'), ...[...u.children].map(e => e.textContent)])""")
    named = {group[0]: group[1:] for group in groups}
    assert {"Kernel", "Step"} <= set(named["Items"])
    assert "launches" in named["GPU idle"]
    kinds = set(browser.value("[...inferscopeTimeline.data.timeOfLabels().keys()]"
                              ".map(i => inferscopeTimeline.data.labels[i].kind)"))
    assert ("Hatched: not recorded" in named["Items"]) == (16 in kinds)
    assert ("Pale: from samples" in named["Items"]) == (3 in kinds)


def test_a_counter_tells_its_value_and_a_range_its_extremes(example, browser):
    example("gpt2_decode")
    x, y, expected = browser.value("""(() => { const t = inferscopeTimeline,
        r = t.canvas.getBoundingClientRect(), track = t.model.shown.find(s => s.counter),
        p = track.counter.points;
        t.paint();
        let i = 0;
        while (p[i] < t.from || p[i + 2] === 0) i += 3;
        const middle = (p[i] + p[i + 3]) / 2;
        return [r.left + t.painter.x(middle),
                r.top + track.bodyY + 10 + t.painter.top - t.scroll, p[i + 2]]; })()""")
    browser.mouse("mouseMoved", x, y)
    browser.wait_for("!document.querySelector('.tl-tip').hidden")
    tip = browser.value("document.querySelector('.tl-tip').textContent")
    assert tip.startswith("GPU queue") and tip.endswith("%d" % expected)
    browser.value("inferscopeTimeline.setRange(0, inferscopeTimeline.data.end)")
    browser.wait_for("document.querySelector('#tl-panel-range').textContent.includes('Counters')")
    most = browser.value("Math.max(...inferscopeTimeline.data.meta.counters[0].points"
                         ".filter((_, i) => i % 3 === 2))")
    row = browser.value("""[...document.querySelectorAll('#tl-panel-range tr')]
        .find(r => r.textContent.startsWith('GPU queue')).cells[2].textContent""")
    assert row == "%d" % most


def test_calls_around_everything_do_not_hide_what_they_call(story, browser):
    story(DEEP)
    rows = browser.value("""inferscopeTimeline.model.lines.filter(l => l.lane.lane === 9)
        .map(l => [inferscopeTimeline.data.rows[l.row].depth, !!l.thin])""")
    assert [13, False] in rows  # work, in its fourteenth row
    assert [0, True] in rows and len([row for row in rows if not row[1]]) == 10
    browser.value("[...document.querySelectorAll('.tl-lane')]"
                  ".find(b => b.textContent.includes('Python calls')).click()")
    rows = browser.value("""inferscopeTimeline.model.lines.filter(l => l.lane.lane === 9)
        .map(l => [inferscopeTimeline.data.rows[l.row].depth, !!l.thin])""")
    assert rows == [[depth, False] for depth in range(14)]


def test_what_a_small_page_has_in_full_can_be_reached(show, binary, browser, work):
    tool = os.path.join(os.path.dirname(binary), "../../bench_analysis")
    if not os.path.exists(tool):
        pytest.skip("bench_analysis is not built")
    subprocess.run([tool, "600000", "service", str(work / "big.isc")], check=True)
    show("big.isc", "--timeline-mb", "1")
    leaves, there, lost = browser.value("""(() => { const d = inferscopeTimeline.data,
        leaves = d.nodes.filter(n => n.leaf && n.items), there = leaves.filter(n => n.there);
        return [leaves.length, there.length,
                there.filter(n => !d.isInFull(n.start)).length]; })()""")
    assert 0 < there < leaves and lost == 0
    finding = "inferscopeTimeline.findings.items.find(f => f.at.length)"
    if browser.value("!!" + finding):
        browser.value("((all, f) => all.show(f, all.typical(f)))(inferscopeTimeline.findings, %s)"
                      % finding, wait=True)
        assert browser.value("inferscopeTimeline.selected.merged") == 0
        assert browser.value("inferscopeTimeline.painter.cover.every(c => c.node.rows)")
    assert browser.errors == []


def test_the_flame_graph_is_reached_with_keys(story, browser):
    path = story(DEEP)
    browser.value("inferscopeTimeline.setRange(0, 1e8); inferscopeTimeline.showTab('flame')")
    browser.wait_for("inferscopeTimeline.flame.boxes.length > 14")
    browser.focus(".tl-flame")
    for _ in range(15):
        browser.key("ArrowDown")
    hint = "document.querySelector('#tl-panel-flame .tl-hint').textContent"
    assert browser.value(hint).startswith("work · ") and "70.0 ms" in browser.value(hint)
    browser.key("Enter")
    browser.wait_for("inferscopeTimeline.flame.top.name === 'work'")
    assert browser.value("document.activeElement.className") == "tl-flame"
    browser.key("Backspace")
    browser.wait_for("inferscopeTimeline.flame.top === inferscopeTimeline.flame.root")
    browser.screenshot(str(path)[:-5] + "-flame.png")
    assert browser.errors == []


def test_enlarged_it_fills_the_window_and_escape_ends_that(example, browser):
    example("resnet50")
    browser.value("[...document.querySelectorAll('.tl-bar button')]"
                  ".find(b => b.textContent === 'Enlarge').click()")
    assert browser.value("""(() => {
        const r = document.querySelector('#timeline').getBoundingClientRect();
        return [r.left, r.top, r.right >= innerWidth - 20, r.bottom >= innerHeight - 1];
    })()""") == [0, 0, True, True]
    browser.focus(".tl-view canvas")
    browser.key("Escape")
    assert browser.value(
        "getComputedStyle(document.querySelector('#timeline')).position") == "relative"


def test_paper_is_white_whatever_the_screen_is(example, browser):
    browser.prefer("dark")
    try:
        example("resnet50")
        assert browser.value("inferscopeTimeline.theme.dark")
        browser.value("window.dispatchEvent(new Event('beforeprint'))")
        assert browser.value("""[inferscopeTimeline.theme.card, inferscopeTimeline.theme.dark,
            inferscopeTimeline.wrapper.offsetWidth <= 680]""") == ["#ffffff", False, True]
        browser.value("window.dispatchEvent(new Event('afterprint'))")
        assert browser.value("inferscopeTimeline.theme.dark")
        assert browser.value("inferscopeTimeline.wrapper.offsetWidth > 680")
    finally:
        browser.prefer("light")


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (1280, "dark"), (400, "light")])
def test_a_finding_is_seen_on_each_screen(width, scheme, example, browser):
    browser.prefer(scheme)
    try:
        path = example("resnet50", width=width)
        browser.wait_for(READY)
        browser.value("document.querySelector('.tl-show').click()")
        browser.wait_for("inferscopeTimeline.gaps.length > 0")
        assert browser.value("document.documentElement.scrollWidth") <= width
        gap = browser.value("""(() => { const t = inferscopeTimeline, g = t.gaps[0]; t.paint();
            const r = t.canvas.getBoundingClientRect(), y = t.painter.lineY(g.row);
            return [t.painter.x(g.start) >= t.gutter, t.painter.x(g.end) <= t.painter.width,
                    y > t.painter.top - 9, r.top + y < innerHeight]; })()""")
        assert gap == [True, True, True, True], json.dumps(gap)
        browser.screenshot(os.path.splitext(str(path))[0] + "-finding-%d-%s.png" % (width, scheme))
    finally:
        browser.prefer("light")


def test_a_link_to_a_chapter_stays_until_the_view_changes(example, browser):
    example("resnet50", fragment="#fix-first")
    browser.value("new Promise(done => setTimeout(done, 700))", wait=True)
    assert browser.value("location.hash") == "#fix-first"
    browser.value("inferscopeTimeline.zoom(0.5)")
    browser.wait_for("location.hash.startsWith('#tl=')")


def test_after_show_the_keys_belong_to_the_timeline(example, browser):
    example("resnet50")
    browser.focus(".finding .tl-show")
    browser.key("Enter")
    browser.wait_for("document.activeElement === inferscopeTimeline.canvas")
    browser.wait_for("inferscopeTimeline.gaps.length > 0")
    at = browser.value("inferscopeTimeline.findings.at")
    browser.key("]")
    browser.wait_for("inferscopeTimeline.findings.at !== %d" % at)


def test_streams_with_next_to_nothing_begin_collapsed(example, browser):
    example("resnet50")
    streams = browser.value("""inferscopeTimeline.model.tracks.filter(t => t.type === 2)
        .map(t => [t.items, t.collapsed])""")
    most = max(items for items, _ in streams)
    assert [collapsed for _, collapsed in streams] == [items < most / 100 for items, _ in streams]
    assert {collapsed for _, collapsed in streams} == {True, False}
    height = browser.value("inferscopeTimeline.model.height")
    browser.value("""[...document.querySelectorAll('.tl-head button[aria-expanded=false]')]
        .forEach(b => b.click())""")
    assert browser.value("inferscopeTimeline.model.height") > height
