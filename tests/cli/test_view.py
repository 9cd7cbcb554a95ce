"""inferscope view: a page in a temporary folder, and a browser if one is wanted."""

import os
import re

import pytest


@pytest.fixture
def trace(root):
    return os.path.join(root, "examples/traces/h200_two_streams.isc")


def test_no_open_prints_where_the_page_is(inferscope, trace, work):
    done = inferscope("view", trace, "--no-open", env={"TMPDIR": str(work)})
    assert (done.returncode, done.stderr) == (0, "")
    path = done.stdout.rstrip("\n")
    assert re.fullmatch(re.escape(str(work)) + r"/inferscope-\w{6}/h200_two_streams\.html", path)
    assert os.stat(path).st_mode & 0o077 == 0
    with open(path, encoding="utf-8") as page:
        assert 'id="tl-meta"' in page.read()


def test_the_browser_is_given_the_page(inferscope, trace, work):
    browser = work / "browser"
    browser.write_text("#!/bin/sh\necho \"$1\" > %s/opened\n" % work)
    browser.chmod(0o755)
    done = inferscope("view", trace, env={"TMPDIR": str(work), "BROWSER": str(browser)})
    assert done.returncode == 0
    assert (work / "opened").read_text() == done.stdout


def test_a_file_that_is_no_trace_leaves_no_folder(inferscope, work):
    (work / "no.isc").write_text("no trace")
    done = inferscope("view", "no.isc", "--no-open", env={"TMPDIR": str(work)})
    assert done.returncode == 1 and done.stdout == ""
    assert [name for name in os.listdir(work) if name.startswith("inferscope-")] == []


@pytest.mark.parametrize("words", [[], ["a.isc", "b.isc"], ["a.isc", "--report", "x.html"]])
def test_what_view_does_not_take_is_a_usage_error(inferscope, words):
    assert inferscope("view", *words).returncode == 2


def test_without_a_timeline_the_page_has_no_data(inferscope, trace, work):
    inferscope("analyze", trace, "--quiet", "--timeline-mb", "0", "--report", "r.html")
    assert 'id="tl-' not in (work / "r.html").read_text()
