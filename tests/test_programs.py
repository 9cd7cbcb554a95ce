"""tests/programs: its truth fits the programs, and its judge sees what is right and wrong."""

import ast
import importlib.util
import json
import os

import pytest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
spec = importlib.util.spec_from_file_location("programs_judge", os.path.join(FOLDER, "judge.py"))
judge = importlib.util.module_from_spec(spec)
spec.loader.exec_module(judge)

with open(os.path.join(FOLDER, "programs.json"), encoding="utf-8") as file:
    ENVIRONMENTS = json.load(file)


@pytest.mark.parametrize("name", sorted(judge.TRUTH))
def test_the_truth_of_a_program_is_complete(name):
    truth = judge.TRUTH[name]
    needed = {"environment", "command", "kind", "cause", "ids", "also", "at", "steps"}
    optional = {"fixed", "load", "stop", "variables", "none_ok", "corrected"}
    assert needed <= set(truth) <= needed | optional
    assert truth["environment"] in ENVIRONMENTS
    assert truth["steps"] and all({"what", "clock"} <= set(level) for level in truth["steps"])
    assert all(isinstance(reason, str) and reason for reason in truth["also"].values())
    assert bool(truth["ids"]) == bool(truth["at"])
    assert truth["ids"] or not truth.get("fixed")


@pytest.mark.parametrize("name", sorted(judge.TRUTH))
def test_the_places_of_the_truth_are_in_its_programs(name):
    for place in judge.TRUTH[name]["at"]:
        with open(os.path.join(FOLDER, place["file"]), encoding="utf-8") as source:
            tree = ast.parse(source.read())
        functions = {node.name for node in ast.walk(tree)
                     if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        assert place["function"] in functions | {"<module>"}


def test_there_is_a_fix_for_at_least_half_of_the_programs():
    assert 2 * sum("fixed" in truth for truth in judge.TRUTH.values()) >= len(judge.TRUTH)


def truth(ids=("io-wait",), **more):
    return dict({"ids": list(ids), "also": {}, "steps": [{"what": "call", "clock": "call"}],
                 "at": [{"file": "app.py", "function": "predict"}]}, **more)


def clock(what, *ms, pid=1):
    return {"what": what, "pid": pid, "ms": list(ms)}


def ran(lines, output="ok\n", status=0):
    return {"exit": status, "output": output, "clock": lines}


def step(count, mean_ms, name="predict", source="loop", warmup=0, pid=1):
    return {"name": name, "source": source, "pid": pid, "count": count, "warmup": warmup,
            "mean_ms": mean_ms}


def finding(identifier="io-wait", confidence=0.9, function="App.predict", file="/srv/app.py"):
    return {"id": identifier, "confidence": confidence, "saving_share": 0.4,
            "where": {"function": function, "file": file, "line": 3}}


def judged(of, report, recorded, **more):
    runs = dict({"python": "3.12", "plain": ran([clock("call", *[10.0] * 100)]),
                 "recorded": recorded}, **more)
    return judge.judge(of, report, runs)


def test_what_is_right_is_called_so():
    row = judged(truth(), {"steps": [step(100, 12.2)], "findings": [finding()]},
                 ran([clock("call", *[12.0] * 100)]), fixed=ran([clock("call", *[2.5] * 100)]))
    assert row["steps"] == "right" and row["finding"] == "right" and row["outcome equal"]
    assert row["place"].startswith("right") and row["sure_and_wrong"] == []
    assert row["gain"] == pytest.approx(0.75) and row["overhead"] == pytest.approx(1.2)


@pytest.mark.parametrize("said, verdict", [
    (step(102, 10.0), "right"), (step(103, 10.0), "wrong"), (step(97, 10.0), "wrong"),
    (step(100, 10.4), "right"), (step(100, 10.6), "wrong"), (step(100, 9.4), "wrong"),
    (step(1, 1000.0, source="whole-run"), "missing")])
def test_a_step_is_right_within_two_percent_of_the_count_and_five_of_the_mean(said, verdict):
    row = judged(truth(), {"steps": [said], "findings": []}, ran([clock("call", *[10.0] * 100)]))
    assert row["steps"] == verdict


def test_warm_up_is_in_no_mean_and_workers_of_one_kind_are_one():
    lines = [clock("call", 500.0, *[10.0] * 49, pid=1), clock("call", 500.0, *[10.0] * 49, pid=2)]
    steps = [step(50, 10.0, warmup=1, pid=1), step(50, 10.0, warmup=1, pid=2),
             step(9, 1.0, "other")]
    assert judged(truth(), {"steps": steps, "findings": []}, ran(lines))["steps"] == "right"
    assert judged(truth(), {"steps": steps[:1], "findings": []}, ran(lines))["steps"] == "wrong"


def test_a_request_lies_between_its_handler_and_what_its_user_waits():
    of = truth(load={}, steps=[{"what": "request", "clock": "handler", "to": "latency"}])
    lines = [clock("handler", *[4.0] * 100), clock("latency", *[8.0] * 100)]
    for mean_ms, verdict in ((4.0, "right"), (6.0, "right"), (8.2, "right"), (9.0, "wrong"),
                             (3.0, "wrong")):
        row = judged(of, {"steps": [step(100, mean_ms)], "findings": []}, ran(lines))
        assert row["steps"] == verdict
    slow, fixed = ran([clock("latency", 8.0)]), ran([clock("latency", 6.0)])
    assert judge.gain(of, slow, fixed) == pytest.approx(0.25)


def test_what_is_wrong_is_called_so():
    report = {"steps": [], "findings": [finding("gc-pause"), finding()]}
    row = judged(truth(), report, ran([], "other\n"))
    assert row["finding"] == "wrong" and row["steps"] == "missing" and not row["outcome equal"]
    assert row["sure_and_wrong"] == ["`gc-pause` 0.90"]
    assert judged(truth(), {"steps": [], "findings": [finding(function="main")]},
                  ran([]))["place"].startswith("wrong")
    assert judged(truth(), {"steps": [], "findings": []}, ran([]))["finding"] == "missing"
    assert judged(truth(), None, ran([]))["finding"] == "wrong"


def test_of_a_healthy_program_nothing_may_be_said_but_what_is_known_to_be_true():
    collects = {"gc-pause": "it collects after each call"}
    healthy = truth(ids=[], also=collects, at=[])

    def verdict(*findings):
        return judged(healthy, {"steps": [], "findings": list(findings)}, ran([]))["finding"]
    assert verdict() == "rightly none"
    assert verdict(finding("gc-pause")) == "right"
    assert verdict(finding("io-wait", 0.5)) == "wrong"
    report = {"steps": [], "findings": [finding("gc-pause")]}
    assert judged(truth(also=collects), report, ran([]))["finding"] == "minor"


def test_the_chapter_has_a_table_for_each_column_and_is_replaced_as_a_whole():
    name = sorted(judge.TRUTH)[0]
    good = judged(truth(), {"steps": [step(100, 10.0)], "findings": [finding()]},
                  ran([clock("call", *[10.0] * 100)]))
    bad = judged(truth(), {"steps": [], "findings": [finding("gc-pause")]}, ran([]))
    text = judge.chapter({"first_sight": {name: bad}, "now": {name: good}})
    assert "| steps right | 0 of 1 | 1 of 1 |" in text
    assert "| first finding right or rightly none | 0 of 1 | 1 of 1 |" in text
    assert "| programs with a wrong finding of confidence 0.8 or more | 1 | 0 |" in text
    assert text.count("\n| %s |" % name) == 2
    page = judge.replace_chapter("# Accuracy\n\nText.\n", text)
    assert page == "# Accuracy\n\nText.\n\n" + text + "\n"
    assert judge.replace_chapter(page, text) == page
    other = judge.replace_chapter(page + "\n## Next\n\nMore.\n", "## Real programs\n\nnew")
    assert other == "# Accuracy\n\nText.\n\n## Real programs\n\nnew\n\n## Next\n\nMore.\n"


def test_the_results_are_of_programs_that_there_are():
    with open(os.path.join(FOLDER, "results.json"), encoding="utf-8") as source:
        results = json.load(source)
    assert results["first_sight"]
    for rows in (results["first_sight"], results.get("now", {})):
        assert set(rows) <= set(judge.TRUTH)
