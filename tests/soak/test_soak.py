"""Nothing grows: a few seconds of tests/soak/soak.py here, five minutes among the long tests, an
hour with `make soak`."""

import concurrent.futures
import importlib.util
import os

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = (["--events-per-s", "200000"], ["--events-per-s", "100000", "--ring"])


def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


soak = load("soak")


def both_modes(binary, folder, *more):
    """Side by side; the promises that each broke."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(soak.soak, soak.parse(["--bin", binary, "--folder", str(folder)] +
                                                  mode + list(more))) for mode in MODES]
        return [run.result() for run in runs]


@pytest.mark.measures  # so many events a second take both modes a core each
def test_a_few_seconds_are_flat(binary, tmp_path):
    assert both_modes(binary, tmp_path, "--minutes", "0.25", "--trace-size-mb", "4",
                      "--churn", "20") == [[], []]


@pytest.mark.long
@pytest.mark.measures
def test_five_minutes_are_flat(binary, tmp_path):
    assert both_modes(binary, tmp_path, "--minutes", "5", "--churn", "50") == [[], []]


def made_up(growth_per_s, seconds=100):
    flat = {kind: 1 << 20 for kind in soak.MEMORY}
    return [{"s": float(s), "trace": 1000000 * s, "workload": flat,
             "recorder": {kind: (1 << 20) + growth_per_s * s for kind in soak.MEMORY}}
            for s in range(seconds)]


FIGURES = {"trace_bytes": 99000000, "events": 100 * 200000, "dropped": 0, "status": 0}


def broken(samples, figures=FIGURES, mode=()):
    options = soak.parse(["--bin", "unused", *mode])
    return [what for what, _, good in soak.judge(options, samples, figures) if not good]


def test_a_slope_is_a_failure():
    assert broken(made_up(0)) == []
    assert broken(made_up(1000)) == []
    assert broken(made_up(5000)) == ["recorder's own"]


def test_a_burst_is_none_unless_it_is_large():
    for bytes_more, verdict in ((3 << 20, []), (5 << 20, ["recorder's own"])):
        samples = made_up(0)
        for one in samples[60:]:
            one["recorder"] = {kind: memory + bytes_more
                               for kind, memory in one["recorder"].items()}
        assert broken(samples) == verdict


def test_more_shared_memory_than_the_buffer_is_a_failure():
    assert broken(made_up(0), mode=["--trace-size-mb", "1"]) == []
    big = made_up(0)
    big[50]["workload"] = {"RssAnon": 1 << 20, "RssShmem": 4 << 20}
    assert broken(big, mode=["--trace-size-mb", "1"]) == ["workload's shared"]


def test_loss_and_a_trace_that_jumps_are_failures():
    assert broken(made_up(0), dict(FIGURES, dropped=1)) == ["dropped"]
    assert broken(made_up(0), dict(FIGURES, events=1000)) == ["events per s"]
    jump = made_up(0)
    for one in jump[60:]:
        one["trace"] += 50000000
    assert broken(jump) == ["trace file"]


def test_a_ring_larger_than_its_buffer_is_a_failure():
    ring = ["--ring", "--trace-size-mb", "10", "--events-per-s", "200000"]
    samples = made_up(0)
    assert broken(samples, mode=ring) == ["trace file"]
    for one in samples:
        one["trace"] = 1000
    assert broken(samples, dict(FIGURES, trace_bytes=5000000), mode=ring) == []
