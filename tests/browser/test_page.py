"""The HTML report in a real browser: silent, alone, sortable, and as wide as its window.

Screenshots are left beside the page; `--basetemp DIR` decides where.  scripts/packages.sh browser
installs Chromium.
"""

import os
import subprocess

import pytest

from chromium import READY, find

pytestmark = pytest.mark.skipif(not find(),
                                reason="there is no Chromium (scripts/packages.sh browser)")

TRACES = ["h200_gpt2_decode", "h200_resnet50"]


@pytest.fixture
def page(inferscope, root, work, browser):
    """Opens the report of an example, `change` applied to its source; returns its path."""
    def show(name, change=None, scripted=True):
        path = work / (name + ".html")
        done = inferscope("analyze", os.path.join(root, "examples/traces", name + ".isc"),
                          "--quiet", "--report", path)
        assert (done.returncode, done.stderr) == (0, "")
        if change:
            path.write_text(change(path.read_text()))
        browser.open(path)
        if scripted:
            browser.wait_for(READY)
        return path
    return show


@pytest.mark.parametrize("name", TRACES)
def test_a_page_complains_of_nothing_and_asks_for_nothing(name, page, browser):
    for width, scheme in ((1280, "light"), (400, "light"), (1280, "dark")):
        browser.resize(width)
        browser.prefer(scheme)
        path = page(name)
        assert browser.errors == []
        assert browser.requests == ["file://%s" % path]
        # Wide tables scroll by themselves; the page does not.
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value("document.querySelectorAll('svg[role=img]').length") >= 4
        browser.screenshot(str(path)[:-len(".html")] + "-%d-%s.png" % (width, scheme))


COLUMN = """(() => {
    const table = document.querySelector('#gpu table:has(td code)');
    const heading = [...table.querySelectorAll('th')].find(th => th.textContent === 'share');
    for (let i = 0; i < CLICKS; i++) heading.querySelector('button').click();
    return [heading.getAttribute('aria-sort'),
            [...table.tBodies[0].rows].map(row => row.cells[heading.cellIndex].textContent)];
})()"""


def test_a_click_on_a_heading_sorts_and_a_third_gives_the_order_back(page, browser):
    page("h200_gpt2_decode")
    before = browser.value(COLUMN.replace("CLICKS", "0"))[1]
    greatest, down = browser.value(COLUMN.replace("CLICKS", "1"))
    least, up = browser.value(COLUMN.replace("CLICKS", "1"))
    none, again = browser.value(COLUMN.replace("CLICKS", "1"))
    assert (greatest, least, none) == ("descending", "ascending", None)
    shares = [float(text.split()[0]) for text in down]
    assert shares == sorted(shares, reverse=True)
    assert [float(text.split()[0]) for text in up] == sorted(shares)
    assert again == before


TREE = """(() => {
    const table = document.querySelector('#layers table');
    const heading = [...table.querySelectorAll('th')].find(th => th.textContent === 'calls');
    for (let i = 0; i < CLICKS; i++) heading.querySelector('button').click();
    return [...table.tBodies[0].rows].map(row => row.cells[0].textContent);
})()"""


def families(names):
    """Which row lies in which, by how far each is indented, as pairs."""
    path, found = [], []
    for name in names:
        depth = len(name) - len(name.lstrip("\u2003"))
        del path[depth:]
        found.append((tuple(path), name))
        path.append(name)
    return found


def test_sorted_layers_stay_in_the_layers_around_them(page, browser):
    """Two models, whose parts are not in the order of their calls."""
    rows = [("A", 0, 5), ("a1", 1, 1), ("a11", 2, 9), ("a12", 2, 30), ("a2", 1, 7), ("B", 0, 6),
            ("b1", 1, 100), ("outside", 0, 2)]
    body = "".join("<tr><td>%s<code>%s</code></td><td class=\"n\">%d</td></tr>"
                   % ("&emsp;" * depth, name, calls) for name, depth, calls in rows)
    table = ("<section id=\"layers\"><table>"
             "<thead><tr><th>layer</th><th class=\"n\">calls</th></tr></thead>"
             "<tbody>%s</tbody></table></section>" % body)
    page("h200_two_streams", lambda source: source.replace("<main>", "<main>" + table))
    before, down, up, again = (browser.value(TREE.replace("CLICKS", clicks)) for clicks in "0111")
    assert [name.strip() for name in down] == ["B", "b1", "A", "a2", "a1", "a12", "a11", "outside"]
    assert [name.strip() for name in up] == ["outside", "A", "a1", "a11", "a12", "a2", "B", "b1"]
    assert sorted(families(down)) == sorted(families(up)) == sorted(families(before))
    assert again == before


def test_sorting_a_reports_model_moves_no_layer_out_of_its_parent(inferscope, binary, root, work,
                                                                  browser):
    tool = os.path.join(os.path.dirname(binary), "../../tests/unit/story_trace")
    if not os.path.exists(tool):
        pytest.skip("story_trace is not built")
    subprocess.run([tool, os.path.join(root, "tests/golden/decoder.story"), str(work / "t.isc")],
                   check=True)
    assert inferscope("analyze", "t.isc", "--quiet", "--report", "r.html").returncode == 0
    browser.open(work / "r.html")
    before, down = (browser.value(TREE.replace("CLICKS", clicks)) for clicks in "01")
    assert any(name.startswith("\u2003") for name in before)
    assert sorted(families(down)) == sorted(families(before))


@pytest.mark.parametrize("width", [400, 800, 1400, 1920])
def test_all_chapters_can_be_seen_and_reached(page, browser, width):
    browser.resize(width)
    path = page("h200_gpt2_decode")
    cut, ids = browser.value("""(() => {
        const links = [...document.querySelectorAll('nav a')];
        return [links.filter(a => { const r = a.getBoundingClientRect();
                                    return r.left < 0 || r.right > innerWidth; }).length,
                links.map(a => a.getAttribute('href').slice(1))];
    })()""")
    assert cut == 0 and len(ids) >= 9
    assert ids == browser.value("[...document.querySelectorAll('section')].map(s => s.id)")
    nav = browser.value("""(() => {
        const n = document.querySelector('nav');
        return [n.scrollWidth <= n.clientWidth, n.offsetHeight];
    })()""")
    assert nav[0]
    # Beside the text where there is room; above it as few lines as need be.
    assert nav[1] < 200 or width in (400, 1400, 1920)
    browser.screenshot(str(path)[:-len(".html")] + "-nav-%d.png" % width)


def test_times_sort_by_their_length_not_by_their_digits(page, browser):
    """The units are mixed on purpose: the headings' own rows are in order already."""
    cells = ["2m05s", "840 ns", "1.24 s", "12.3 ms", "", "500 µs", "3h07m", "≥ 99.0 ms ± 1.00 s"]
    rows = "".join("<tr><td>x</td><td class=\"n\">%s</td></tr>" % cell for cell in cells)
    table = ("<table id=\"mixed\"><thead><tr><th scope=\"col\">a</th><th scope=\"col\" "
             "class=\"n\">b</th></tr></thead><tbody>%s</tbody></table>" % rows)
    page("h200_gpt2_decode", lambda source: source.replace("</main>", table + "</main>"))
    assert browser.value("""(() => {
        document.querySelectorAll('#mixed button')[1].click();
        return [...document.querySelectorAll('#mixed td.n')].map(td => td.textContent);
    })()""") == ["3h07m", "2m05s", "1.24 s", "≥ 99.0 ms ± 1.00 s", "12.3 ms", "500 µs", "840 ns",
                 ""]


def test_a_script_that_slipped_in_would_not_run(page, browser):
    """The second line of defence: the policy, were the escaping wrong."""
    page("h200_gpt2_decode", lambda source: source.replace(
        "<main>", "<main><script>document.title='taken'</script><img src=\"http://127.0.0.1:9/x\" "
        "onerror=\"document.title='taken'\">"))
    assert browser.value("document.title").startswith("InferScope")
    assert any("Content Security Policy" in error for error in browser.errors)


def test_without_its_script_the_page_shows_the_same(page, browser):
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page("h200_gpt2_decode", scripted=False)
        assert browser.errors == []
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.value("document.querySelectorAll('th button').length") == 0
    assert browser.value("document.querySelectorAll('tbody tr').length") > 20
