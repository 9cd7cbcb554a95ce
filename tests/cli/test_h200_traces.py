"""Traces recorded on a real H200 (tests/gpu/golden_traces.py) and the exact reports they give.

INFERSCOPE_UPDATE_GOLDEN=1 rewrites the reports.
"""

import glob
import json
import os

import pytest

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "traces")
NAMES = sorted(os.path.basename(path)[:-len(".isc")]
               for path in glob.glob(os.path.join(FOLDER, "*.isc")))


def test_there_are_traces():
    assert len(NAMES) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_the_report_is_exactly_the_expected_one(inferscope, work, name):
    trace = os.path.abspath(os.path.join(FOLDER, name + ".isc"))
    done = inferscope("analyze", "--quiet", trace, "--report", "r.md", "--report", "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    for ending in (".md", ".json"):
        expected = os.path.join(FOLDER, name + ending)
        got = (work / ("r" + ending)).read_text()
        if os.environ.get("INFERSCOPE_UPDATE_GOLDEN") == "1":
            with open(expected, "w", encoding="utf-8") as file:
                file.write(got)
        with open(expected, encoding="utf-8") as file:
            assert got == file.read()


@pytest.mark.parametrize("name", NAMES)
def test_what_was_recorded_hangs_together(name):
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as file:
        report = json.load(file)
    trust = report["trust"]
    assert trust["dropped"] == trust["causality_violations"] == trust["unmatched_activities"] == 0
    assert trust["clock_error_us"] < 100
    assert report["gpu"]["busy_share"] + report["gpu"]["idle_share"] == pytest.approx(1)
    assert report["gpu"]["lines"][0]["file"].endswith(name[len("h200_"):] + ".py")


def test_the_readme_shows_what_is_printed(inferscope, root):
    """The block that follows the command there; INFERSCOPE_UPDATE_GOLDEN=1 rewrites it as well."""
    command = "analyze examples/traces/h200_gpt2_decode.isc"
    path = os.path.join(root, "README.md")
    with open(path, encoding="utf-8") as file:
        before, prompt, rest = file.read().partition("$ inferscope %s\n" % command)
    shown, fence, after = rest.partition("```\n")
    done = inferscope(*command.split(), cwd=root)
    assert (done.returncode, done.stderr) == (0, "")
    printed = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
    if os.environ.get("INFERSCOPE_UPDATE_GOLDEN") == "1":
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + prompt + printed + fence + after)
        shown = printed
    assert shown == printed
