"""scripts/accuracy.py judges reports: here reports that were made up, with known verdicts."""

import importlib.util
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
spec = importlib.util.spec_from_file_location("accuracy",
                                              os.path.join(ROOT, "scripts", "accuracy.py"))
accuracy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(accuracy)

PROGRAMS = {program.name: program for program in accuracy.catalogue.programs()}
SAID = {"empty_cache_slow": {"ms_per_step": 8.0}, "empty_cache_fixed": {"ms_per_step": 6.0}}


def finding(identifier, line=1, confidence=0.9):
    return {"id": identifier, "confidence": confidence, "saving_ms": 2.0, "saving_low_ms": 1.0,
            "saving_high_ms": 3.0, "saving_share": 0.2,
            "where": {"function": "clean_up", "file": "empty_cache.py", "line": line}}


def test_the_first_finding_is_judged_by_id_function_and_line():
    program = PROGRAMS["empty_cache"]
    right = finding("alloc-churn", program.places[0].line)
    row = accuracy.judge(program, {"findings": [right, finding("gpu-idle")]}, SAID)
    assert (row.right_id, row.right_function, row.right_line) == (True, True, True)
    assert row.predicted == pytest.approx((0.1, 0.2, 0.3))
    assert row.actual == pytest.approx(0.25)
    row = accuracy.judge(program, {"findings": [finding("gpu-idle"), right]}, {})
    assert (row.right_id, row.right_function, row.right_line) == (False, True, False)
    assert row.actual is None
    assert not accuracy.judge(program, {"findings": []}, SAID).right_id


def test_the_planted_finding_is_wrong_of_the_fixed_variant_and_what_is_also_true_is_right():
    program = PROGRAMS["item_per_token"]
    report = {"findings": [finding("sync-per-step"), finding("launch-bound"), finding("gc-pause")]}

    def right(variant):
        return [claim.right for claim in accuracy.claims(program, variant, report)]
    assert right("slow") == [True, True, False]
    assert right("fixed") == [False, True, None]


def test_the_page_counts_what_was_right():
    program = PROGRAMS["empty_cache"]
    report = {"findings": [finding("alloc-churn", program.places[0].line)]}
    every = accuracy.claims(program, "slow", report)
    every += accuracy.claims(program, "fixed", {"findings": [
        finding("alloc-churn", confidence=0.85), finding("io-wait", confidence=0.65)]})
    page = accuracy.page([accuracy.judge(program, report, SAID)],
                         [(PROGRAMS["healthy_low_traffic"], {"findings": []})], every,
                         ["held_lock_fixed"], "a machine")
    assert "Right id first: **1 of 1**; right function: 1; right line: 1." in page
    assert "| 0.9–1.0 | 1 | 1 | 100 % | 0 | 100 % | 0 |" in page
    assert "| 0.8–0.9 | 1 | 0 | 0 % | 0 | 0 % | 0 |" in page
    assert "| 0.6–0.8 | 0 | 0 | – | 0 | – | 1 |" in page
    assert "| empty_cache_fixed | `alloc-churn` | 0.85 | **wrong** |" in page
    assert "no wider than 20 % of the step" in page
    assert "20 % (10–30 %)" in page and "25 %" in page
    assert "Not recorded: held_lock_fixed." in page


def test_what_is_argued_is_counted_apart_and_its_reason_is_told():
    program = accuracy.catalogue.Program("empty_cache", {
        "finding": "alloc-churn", "argued": {"slow": {"io-wait": "it reads a file"}}})
    every = accuracy.claims(program, "slow", {"findings": [finding("alloc-churn"),
                                                           finding("io-wait")]})
    assert [claim.right for claim in every] == [True, False]
    assert "| 0.9–1.0 | 2 | 1 | 50 % | 1 | 100 % | 0 |" in accuracy.reliability_table(every)
    row = "| empty_cache_slow | `io-wait` | 0.90 | it reads a file |"
    assert row in accuracy.wrong_table(every)


def test_of_unseen_programs_either_id_is_right_and_nothing_of_healthy_ones():
    unseen = {program.name: program for program, _ in accuracy.unseen_programs("unseen")}
    text = accuracy.unseen_part([
        (unseen["detections"], [], {"findings": [finding("readback")]}),
        (unseen["rerank"], [], {"findings": [finding("io-wait")]}),
        (unseen["bulk_encode"], [], {"findings": []})], {})
    assert "Right id first: **2 of 3**" in text
    assert "| detections | `sync-per-step` or `readback` | `readback` | 0.90 |" in text
    assert "| bulk_encode | none or `gpu-bound` | none | – | – | yes | – | – | – |" in text


def test_what_is_true_besides_is_no_mistake_and_what_the_fix_saved_is_told():
    program, true = next(pair for pair in accuracy.unseen_programs("unseen2")
                         if pair[0].name == "hashed_features")
    said = {"hashed_features_%s" % variant: {"ms_per_step": ms}
            for variant, ms in (("slow", 10), ("fixed", 4))}
    report = {"findings": [finding("page-faults"), finding("host-numpy"), finding("io-wait")]}
    text = accuracy.unseen_part([(program, true, report)], said)
    assert "Right id first: **1 of 1**" in text and "| 60 % |" in text
    assert "| 0.9–1.0 | 3 | 2 | 67 % | 0 |" in text


def test_recordings_of_all_sets_are_found_by_their_names(tmp_path):
    for name in ("rerank", "hashed_features_slow", "hashed_features_fixed", "rag_batches_slow"):
        (tmp_path / (name + ".isc")).write_bytes(b"")
    found = [[program.name for program, _, _ in accuracy.recorded_unseen([str(tmp_path)], name)]
             for name in accuracy.UNSEEN_SETS]
    assert found == [["rerank"], ["hashed_features"], ["rag_batches"], [], []]


def test_clocks_of_recordings_that_were_not_kept_are_read(tmp_path):
    (tmp_path / "table.log").write_text(
        "held_lock       fixed is faster         < 1                      0.25          OK\n"
        "held_lock       same answers            a                        a             OK\n")
    (tmp_path / "STEPS.txt").write_text("ms of a step, slow and fixed\n"
                                        "empty_cache 8.0 2.0\nx 3 -\n")
    said = accuracy.said_in(str(tmp_path))
    assert accuracy.actual(PROGRAMS["held_lock"], said) == 0.75
    assert accuracy.actual(PROGRAMS["empty_cache"], said) == 0.75
    assert accuracy.actual(PROGRAMS["gil_fight"], said) is None


def test_chapters_without_recordings_stay_as_they_were():
    page = "# A\n\n## B\n\nb\n\n### `x`\n\n1\n\n### `y`\n\n2\n\n## C\n\nc\n"
    assert accuracy.carried_over(page, "### `x`") == "### `x`\n\n1\n"
    assert accuracy.carried_over(page, "### `y`") == "### `y`\n\n2\n"
    assert accuracy.carried_over(page, "## B").endswith("2\n")
    assert accuracy.carried_over(page, "## D") == ""


def saved(low, likely, high, actual):
    return accuracy.savings.Saved("p", "io-wait", low, likely, high, actual, True)


def test_savings_are_compared_as_shares_of_what_was_saved():
    each = saved(0.3, 0.4, 0.6, 0.5)
    assert accuracy.savings.error(each) == pytest.approx(0.2)
    assert accuracy.savings.half_width(each) == pytest.approx(0.375)
    assert accuracy.savings.contains(each)
    assert not accuracy.savings.contains(saved(0.3, 0.4, 0.45, 0.5))
    assert accuracy.savings.error(saved(0, 0.1, 0.2, -0.1)) is None
    text = accuracy.savings.chapter([("a", [each, None]), ("b", [saved(0.4, 0.5, 0.61, 0.5)])])
    assert "| `a` | 1 | 20 % | 0 % | 100 % | ± 37 % | 0 % |" in text
    assert "| all | 2 | 10 % | 50 % | 100 % | ± 29 % | 50 % |" in text
    assert "| p | `io-wait` | 40 % (30–60 %) | 50 % | 20 % | ± 37 % | yes |" in text


def test_the_planted_finding_counts_wherever_it_stands():
    program = PROGRAMS["empty_cache"]
    report = {"findings": [finding("gpu-idle"), finding("alloc-churn")]}
    each = accuracy.savings.planted(program, report, 0.5)
    assert each.id == "alloc-churn" and not each.first
    assert each.likely == pytest.approx(0.2)
    assert accuracy.savings.planted(program, report, None) is None
    assert accuracy.savings.planted(program, {"findings": [finding("gpu-idle")]}, 0.5) is None


def test_without_recordings_it_says_where_they_come_from(tmp_path):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "accuracy.py"),
                           "--bin", "x", "--traces", str(tmp_path / "none")],
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "record_examples.py" in done.stderr
