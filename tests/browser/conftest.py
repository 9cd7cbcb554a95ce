"""Pages with a timeline in a Chromium that the tests of a file share."""

import os
import subprocess

import pytest

from chromium import READY, Chromium, find


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Chromium(find(), str(tmp_path_factory.mktemp("profile")))
    yield opened
    opened.close()


@pytest.fixture
def show(inferscope, work, browser):
    """Opens the report of a trace; returns the page's path."""
    def run(trace, *options, fragment="", width=1280):
        path = work / "r.html"
        done = inferscope("analyze", trace, "--quiet", "--report", path, "--report", "r.json",
                          "--detail", "full", *options)
        assert (done.returncode, done.stderr) == (0, "")
        browser.resize(width)
        browser.open(str(path) + fragment)
        browser.wait_for(READY)
        browser.value("document.querySelector('#timeline').scrollIntoView({behavior: 'instant'})")
        return path
    return run


@pytest.fixture
def example(show, root):
    return lambda name, *options, **more: show(
        os.path.join(root, "examples/traces/h200_%s.isc" % name), *options, **more)


@pytest.fixture
def story(show, binary, work):
    def write(text):
        tool = os.path.join(os.path.dirname(binary), "../../tests/unit/story_trace")
        if not os.path.exists(tool):
            pytest.skip("story_trace is not built")
        (work / "t.story").write_text(text)
        subprocess.run([tool, str(work / "t.story"), str(work / "t.isc")], check=True)
        return show("t.isc")
    return write
