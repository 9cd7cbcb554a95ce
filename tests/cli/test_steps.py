"""Choosing the step: --step, and what reports say of the candidates."""

import json

import jsonschema
import pytest

STORY = """
info command python3
info command app.py
process 1 100 app.py 0 1000000000
thread 1 1 100 MainThread 0 1000000000 0
code main /srv/app.py 1
code load /srv/app.py 5
code item /srv/app.py 10
code leaf /x/site-packages/lib/leaf.py 10
1: +main@1000000
%s
%s
1: -main@999000000
end 1000000000 0
"""
LOADS = "\n".join("1: +load@%d -load@%d" % (k * 1000000, k * 1000000 + 900000)
                  for k in range(2, 182))
ITEMS = "\n".join("1: +item@%d +leaf@%d -leaf@%d -item@%d"
                  % tuple(200000000 + k * 5000000 + part for part in (0, 100000, 3000000, 4000000))
                  for k in range(150))


@pytest.fixture
def trace(story):
    return story(STORY % (LOADS, ITEMS))


def analyze(inferscope, work, trace, *options):
    done = inferscope("analyze", str(trace), "--report", "r.json", "--report", "r.md", *options)
    assert done.returncode == 0, done.stderr
    return json.loads((work / "r.json").read_text()), (work / "r.md").read_text(), done.stdout


def test_the_loop_with_most_time_leads(inferscope, work, trace, root):
    report, markdown, summary = analyze(inferscope, work, trace, "--detail", "full")
    with open(root + "/docs/schema/report.schema.json") as schema:
        jsonschema.validate(report, json.load(schema))
    assert [(s["name"], s["source"], s["count"]) for s in report["steps"]] == \
        [("item in main", "loop", 150), ("load in main", "loop", 180)]
    assert [(c["name"], c["found_by"], c["outcome"]) for c in report["step_candidates"]] == \
        [("item in main", "calls", "leads"), ("load in main", "calls", "shown")]
    assert "### Candidates for the step" in markdown
    assert "`--detail full` lists them" in markdown and "--step NAME" in summary


@pytest.mark.parametrize("name", ["load in main", "load"])
def test_another_one_is_chosen_by_its_name(inferscope, work, trace, name):
    report, markdown, _ = analyze(inferscope, work, trace, "--step", name)
    assert report["steps"][0]["name"] == "load in main"
    assert report["step_candidates"][0]["because"] == "leads: --step names it"
    assert "(median of 180 `load in main`)" in markdown


def test_an_unknown_name_is_an_error_that_lists_the_candidates(inferscope, work, trace):
    done = inferscope("analyze", str(trace), "--step", "nothing", "--report", "r.json")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == [
        "inferscope: --step: there is no step 'nothing' in this trace; there are: "
        "'item in main', 'load in main'"]
    assert not (work / "r.json").exists()
