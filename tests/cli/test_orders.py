"""What the settings tell the agents, as it stands in the memory they share (src/format/shm.h)."""

import struct
import sys

import pytest

SHOW = r"""
import os, struct
pid, memory, _, _ = os.environ["INFERSCOPE_SESSION"].split(".")
with open("/proc/%s/fd/%s" % (pid, memory), "rb") as file:
    print(*struct.unpack("<QI40xIII", file.read(64)))
"""

MAGIC = struct.unpack("<Q", b"INSCSHM1")[0]
OFF, AUTO, TRACE, SAMPLE = range(4)
NO_BUDGET = 2 ** 32 - 1


@pytest.fixture
def orders(inferscope):
    """(cpu_mode, budget_ppm, sample_hz) of a run with these options."""
    def run(*options, **more):
        done = inferscope("run", "--quiet", *options, "--", sys.executable, "-c", SHOW, **more)
        magic, version, *rest = map(int, done.stdout.split())
        assert (done.returncode, magic, version) == (0, MAGIC, 4), done.stderr
        return tuple(rest)
    return run


def test_the_defaults(orders):
    assert orders() == (AUTO, 50000, 1000)


@pytest.mark.parametrize("text, mode", [("off", OFF), ("auto", AUTO), ("trace", TRACE),
                                        ("sample", SAMPLE)])
def test_the_modes(orders, text, mode):
    assert orders("--cpu", text)[0] == mode
    assert orders(env={"INFERSCOPE_CPU": text})[0] == mode


def test_no_cpu_is_off(orders):
    assert orders("--no-cpu")[0] == OFF


@pytest.mark.parametrize("percent, ppm", [("0.1", 1000), ("2.5", 25000), ("99.9", 999000),
                                          ("100", NO_BUDGET)])
def test_the_budget(orders, percent, ppm):
    assert orders("--max-overhead", percent)[1] == ppm


def test_the_rate(orders):
    assert orders("--sample-hz", "250")[2] == 250
