"""Rules files, the command `rules`, and --fail-on, through the real program."""

import json
import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACE = os.path.join(ROOT, "examples", "traces", "h200_gpt2_decode.isc")

# As REQUIREMENTS has it, but for the number.
RULES = """bottleneck_rules:
  - name: "high_memory_overhead"
    condition: "%s"
    suggestion: "Use pinned memory or reduce batch size"
    confidence_weight: 1.2
"""
ALWAYS, NEVER = "total_time > 0", "total_time < 0"


@pytest.fixture
def rules(work):
    def write(condition, name="rules.yaml"):
        (work / name).write_text(RULES % condition)
        return name
    return write


@pytest.fixture
def analyze(inferscope, work):
    """Findings of the trace by id, and the exit status."""
    def run(*options):
        done = inferscope("analyze", TRACE, "--quiet", "--report", "r.json", *options)
        assert done.returncode in (0, 3), done.stderr
        findings = json.loads((work / "r.json").read_text())["findings"]
        return {f["id"]: f for f in findings}, done.returncode
    return run


def test_a_rule_of_the_users_is_a_finding(analyze, rules):
    finding = analyze("--rules", rules(ALWAYS))[0]["high_memory_overhead"]
    assert finding["origin"] == "rules-file"
    assert finding["suggestions"] == ["Use pinned memory or reduce batch size"]
    assert finding["where"] is None
    assert "total_time = " in finding["evidence"][0] and "rules.yaml:2" in finding["evidence"][0]
    # 0.75 for one piece of evidence, by the quality of the data, times the weight
    assert 0.75 < finding["confidence"] <= 0.9
    assert "high_memory_overhead" not in analyze("--rules", rules(NEVER))[0]


def test_the_nearest_rules_file_is_found(analyze, rules, work):
    rules(ALWAYS, ".inferscope_rules.yaml")
    assert "high_memory_overhead" in analyze()[0]
    rules(NEVER, "none.yaml")
    assert "high_memory_overhead" not in analyze("--rules", "none.yaml")[0]


def test_a_rule_about_something_unknown_says_so(analyze, rules, work):
    assert "high_memory_overhead" not in analyze("--rules", rules("major_faults_per_step > 0"))[0]
    notes = json.loads((work / "r.json").read_text())["trust"]["notes"]
    assert any("the rule 'high_memory_overhead' (rules.yaml:2) was not evaluated" in n
               for n in notes)


def test_fail_on(analyze, rules, inferscope):
    always = rules(ALWAYS)
    found, status = analyze("--fail-on", "pcie-saturated")
    assert status == 0 and found
    assert analyze("--fail-on", next(iter(found)))[1] == 3
    assert analyze("--rules", always, "--fail-on", "high_memory_overhead")[1] == 3
    assert analyze("--rules", rules(NEVER, "n"), "--fail-on", "high_memory_overhead")[1] == 0
    severities = {f["severity"] for f in found.values()}
    assert "high" in severities
    assert analyze("--fail-on", "high")[1] == 3
    assert analyze("--fail-on", "medium")[1] == 3
    done = inferscope("analyze", TRACE, "--fail-on", "lanch-bound")
    assert done.returncode == 2
    assert done.stderr == "inferscope: --fail-on: there is no rule 'lanch-bound'; " \
        "did you mean 'launch-bound'?\n"


def test_check(inferscope, rules, work):
    done = inferscope("rules", "check", rules(ALWAYS))
    assert (done.returncode, done.stdout) == (0, "rules.yaml: 1 rule, all valid\n")
    done = inferscope("rules", "check", rules("total_tme > 0"))
    assert done.returncode == 1
    assert done.stderr == "inferscope: rules.yaml:3: rule 'high_memory_overhead': condition: " \
        "at character 1: no such column: total_tme\n"
    assert inferscope("rules", "check").returncode == 2
    assert inferscope("rules", "check", "none.yaml").returncode == 1
    assert inferscope("rules", "chek").stderr.endswith("did you mean 'check'?\n")
    assert inferscope("rules").returncode == 2


def listed(inferscope):
    """id -> (title, condition) of the built-in rules."""
    text = inferscope("rules", "list").stdout
    return {m[0]: m[1:] for m in re.findall(r"^(\S+)\n    (.*)\n    if (.*)$", text, re.M)}


def test_every_finding_has_a_page(inferscope):
    folder = os.path.join(ROOT, "docs", "findings")
    built_in = listed(inferscope)
    assert len(built_in) == 26
    assert {name + ".md" for name in built_in} == set(os.listdir(folder))
    for name, (title, condition) in built_in.items():
        with open(os.path.join(folder, name + ".md"), encoding="utf-8") as file:
            page = file.read()
        assert page.startswith("# %s: %s\n" % (name, title))
        assert re.findall("^## (.*)", page, re.M) == [
            "What it means", "How it is detected", "How to fix it", "When it may be wrong"]
        assert "\n    %s\n" % condition in page
        assert all(len(part) > 60 for part in page.split("\n## ")[1:])


def test_rules_of_the_users_are_listed(inferscope, rules):
    text = inferscope("rules", "list", "--rules", rules(ALWAYS)).stdout
    assert text.endswith("from rules.yaml:\n\nhigh_memory_overhead\n    high_memory_overhead\n"
                         "    if total_time > 0\n")


def test_the_page_about_metrics_is_current(inferscope):
    with open(os.path.join(ROOT, "docs", "METRICS.md"), encoding="utf-8") as file:
        assert inferscope("rules", "metrics").stdout == file.read()
