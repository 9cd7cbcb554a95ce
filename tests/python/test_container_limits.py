"""A container's limits, not the machine's, decide what is scarce: real control groups."""

import json
import os
import re
import sys

import pytest

from test_little_memory import MB, group  # noqa: F401, the fixture

PERIOD_US = 100000


class CpuGroup:
    """A control group that may use so much of one CPU, of either version."""

    def __init__(self, share):
        old = os.path.isfile("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
        parent = "/sys/fs/cgroup/cpu" if old else "/sys/fs/cgroup"
        self.path = "%s/inferscope-test-cpu-%d" % (parent, os.getpid())
        os.mkdir(self.path)
        if old:
            self.write("cpu.cfs_period_us", PERIOD_US)
            self.write("cpu.cfs_quota_us", int(share * PERIOD_US))
        else:
            self.write("cpu.max", "%d %d" % (share * PERIOD_US, PERIOD_US))

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as file:
            file.write("%s\n" % value)

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def throttled_ms(self):
        with open(os.path.join(self.path, "cpu.stat")) as file:
            stat = dict(line.split() for line in file)
        return (int(stat["throttled_time"]) / 1e6 if "throttled_time" in stat
                else int(stat["throttled_usec"]) / 1e3)


@pytest.fixture
def cpu_group():
    made = []

    def make(share):
        try:
            made.append(CpuGroup(share))
        except OSError as error:
            pytest.skip("cannot make a control group for CPUs: %s" % error)
        return made[-1]
    yield make
    for one in made:
        os.rmdir(one.path)


@pytest.fixture
def report_of(inferscope, write, work):
    """Records a program, nothing but its memory; the report's part about that."""
    def run(text, **more):
        done = inferscope("run", "--quiet", "--cpu", "off", "--trace-size-mb", 8, "--python",
                          sys.executable, "--report", "r.json", "--report", "r.md", write(text),
                          **more)
        assert done.returncode == 0, done.stderr
        return json.loads((work / "r.json").read_text())["memory"]
    return run


def concerns(memory):
    return {concern["id"]: concern["text"] for concern in memory["concerns"]}


def test_a_full_container_on_a_machine_with_room(report_of, group):  # noqa: F811
    memory = report_of("""
        import time
        held = b"x" * (198 << 20)
        time.sleep(1)
    """, preexec_fn=group(210 * MB).enter)
    assert memory["limit"]["of"] == "container"
    assert memory["limit"]["bytes"] == 210 * MB
    assert 0 <= memory["limit"]["least_left_bytes"] < 0.05 * 210 * MB
    assert "near-limit" in concerns(memory)
    assert "220 MB of the container" in concerns(memory)["near-limit"]


def test_a_container_with_room_is_no_worry(report_of, group):  # noqa: F811
    memory = report_of("""
        import time
        held = b"x" * (50 << 20)
        time.sleep(1)
    """, preexec_fn=group(400 * MB).enter)
    assert memory["limit"]["of"] == "container"
    assert memory["meaning"].startswith("no sign of a memory limit: at the lowest point, ")
    assert " of the 419 MB of the container were left" in memory["meaning"]


@pytest.mark.measures
def test_a_container_that_takes_its_threads_off_the_cpus(report_of, cpu_group):
    """A fifth of a CPU for two threads that would use a whole one each; the kernel's own count."""
    limited = cpu_group(0.2)
    memory = report_of("""
        import hashlib, threading, time
        end = time.perf_counter() + 2
        def work():
            while time.perf_counter() < end: hashlib.sha256(bytes(1 << 20))
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """, preexec_fn=limited.enter)
    container = memory["container"]
    if "cpu_limit_millicpus" in container:  # version 1 tells it in two files
        assert container["cpu_limit_millicpus"]["last"] == 200
    assert container["throttled_ms"] == pytest.approx(limited.throttled_ms(), rel=0.2)
    if limited.throttled_ms() < 200:
        pytest.skip("this kernel does not keep to the limit")
    assert re.match(r"the container's limit( of 0.2 CPUs)? throttled its threads for ",
                    concerns(memory)["cpu-throttled"])
