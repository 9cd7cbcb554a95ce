"""The tools that the benchmarks rely on: a wrong ruler is worse than none."""

import importlib.util
import os
import random
import subprocess

import pytest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench")


def load(name):
    path = os.path.join(BENCH, name + ".py")
    spec = importlib.util.spec_from_file_location("bench_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


paired = load("paired")
run = load("run")


def noisy_pairs(true_ratio, count=25, seed=5):
    """Pairs of a machine whose speed drifts by half while it measures."""
    rng = random.Random(seed)
    pairs = []
    for nth in range(count):
        speed = 1 + 0.5 * nth / count
        pairs.append((speed * rng.gauss(1, 0.01), true_ratio * speed * rng.gauss(1, 0.01)))
    return pairs


@pytest.mark.parametrize("true_ratio", [0.8, 1.0, 1.05, 3.0])
def test_the_interval_holds_the_true_ratio_in_spite_of_drift(true_ratio):
    ratio = paired.summarize(noisy_pairs(true_ratio))
    assert ratio.low <= true_ratio <= ratio.high
    assert ratio.low <= ratio.median <= ratio.high
    assert ratio.high - ratio.low < 0.03 * true_ratio


def test_pairs_are_interleaved_and_swap_their_order():
    calls = []
    times = paired.measure(lambda: calls.append("a"), lambda: calls.append("b"), 16)
    assert len(times) == 16
    assert "".join(calls) == "ab" + "abba" * 8


def test_too_few_pairs_are_refused():
    with pytest.raises(ValueError):
        paired.measure(lambda: None, lambda: None, 14)


def test_a_failing_command_is_not_a_measurement():
    with pytest.raises(subprocess.CalledProcessError):
        paired.command(["false"])()


def test_results_goals_and_remarks_are_read():
    results, remarks = run.parse("ring.push 14.5 ns <= 15\n"
                                 "# one core\n"
                                 "trace.write 9e6 events/s >= 2e7\n"
                                 "size 3 B\n")
    assert [(r.name, r.value, r.unit, r.met) for r in results] == [
        ("ring.push", "14.5", "ns", True), ("trace.write", "9e6", "events/s", False),
        ("size", "3", "B", None)]
    assert remarks == ["one core"]


@pytest.mark.parametrize("line", ["Segmentation fault", "ring.push fast ns", "ring.push 3", ""])
def test_anything_else_is_an_error(line):
    with pytest.raises(run.ProtocolError):
        run.parse(line + "\n")
