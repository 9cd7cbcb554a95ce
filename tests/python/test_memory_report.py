"""What reports say of memory, of programs in which that is known."""

import json
import os
import textwrap

import pytest

MIB = 1 << 20

STEPS = """
    import time
    from inferscope import scope

    kept = []
    for n in range(80):
        with scope("step"):
            work(n)
            time.sleep(0.015)
"""


@pytest.fixture
def remembered(record, report, pythons):
    """Records 80 steps of a program whose work(n) is given; the report, and its step."""
    def run(does):
        text = "def work(n):\n" + textwrap.indent(textwrap.dedent(does), "    ")
        record(pythons[-1], text + textwrap.dedent(STEPS), notes=None)
        found = report()
        step, = found["steps"]
        assert step["name"] == "step"
        return found, step["memory"]
    return run


def concerns(found):
    return [concern["id"] for concern in found["memory"]["concerns"]]


@pytest.mark.measures
def test_a_leak_is_found_with_its_slope(remembered):
    found, memory = remembered("kept.append(b'x' * (1 << 20))\n")
    trend = memory["rss_trend"]
    assert trend["kind"] == "grows"
    # Where others have the CPUs there are few looks, and what they saw is a little old.
    busy = os.getloadavg()[0] > os.cpu_count()
    assert trend["slope"] == pytest.approx(MIB, rel=0.15 if busy else 0.05)
    assert trend["low"] <= trend["slope"] <= trend["high"]
    assert trend["low"] < 1.01 * MIB and trend["high"] > 0.99 * MIB
    assert trend["confidence"] > (0.95 if busy else 0.99)
    assert memory["rss_growth_bytes"] == pytest.approx(MIB, rel=0.15 if busy else 0.1)
    assert "leak" in concerns(found)
    text, = [c["text"] for c in found["memory"]["concerns"] if c["id"] == "leak"]
    assert text.startswith("each step leaves 1.0" if not busy else "each step leaves ")


@pytest.mark.parametrize("does", [
    # A cache that is full after 20 steps.
    "kept.append(b'x' * (1 << 20)) if n < 20 else kept[n % 20]\n",
    # A buffer for each step.
    "b'x' * (20 << 20)\n",
    # Garbage that somebody collects now and then.
    "kept.append(b'x' * (1 << 20))\nif n % 8 == 7: kept.clear()\n",
    "pass\n",
], ids=["cache", "buffer", "collected", "nothing"])
def test_what_is_given_back_or_kept_once_is_no_leak(remembered, does):
    found, memory = remembered(does)
    assert memory["rss_trend"]["kind"] != "grows"
    assert "leak" not in concerns(found)


@pytest.mark.measures  # a step has its part of what is counted between two looks
def test_faults_of_a_step(remembered):
    """Fresh pages in every step, as many as the kernel says itself; 4 KiB pages."""
    found, memory = remembered("""
        import mmap
        with mmap.mmap(-1, 8 << 20) as fresh:
            if hasattr(fresh, "madvise"):
                fresh.madvise(15)  # MADV_NOHUGEPAGE
            for at in range(0, 8 << 20, 4096):
                fresh[at] = 1
    """)
    assert memory["minor_faults"]["mean"] == pytest.approx(2048, rel=0.05)
    assert memory["minor_faults"]["least"] <= 2048 * 1.05
    assert memory["minor_faults"]["most"] >= 2048
    process = found["memory"]["processes"][0]
    assert process["minor_faults"] > 70 * 2048
    assert process["rss_peak_bytes"] >= process["rss_bytes"]["last"] > 0


@pytest.mark.measures
def test_new_memory_in_every_step_is_said_to_take_time(record, report, pythons):
    """Large buffers are given back to the kernel each time, and faulted in anew."""
    record(pythons[-1], """
        from inferscope import scope
        for n in range(40):
            with scope("step"):
                b"x" * (64 << 20)
    """, notes=None)
    found = report()
    assert concerns(found)[0] == "minor-faults"
    assert found["memory"]["meaning"].startswith("each step gets new memory from the kernel")
    memory = found["steps"][0]["memory"]
    # Huge pages make it fewer; the kernel's time stays.
    assert memory["kernel_us"]["mean"] > 0


def test_memory_of_cuda_in_each_step(record_gpu, pythons, work):
    """Two allocations, one of them given back, and pinned memory: calls of CUDA, by their bytes."""
    record_gpu(pythons[-1], """
        import fake_cuda, time
        from inferscope import scope

        fake_cuda.init()
        cuda = fake_cuda.free_gil
        for n in range(30):
            with scope("step"):
                cuda.fake_malloc(3 << 20); cuda.fake_malloc(1 << 20); cuda.fake_free()
                cuda.fake_host_alloc(4096)
                fake_cuda.launch("kernel")
                time.sleep(0.002)
    """)
    found = json.loads((work / "r.json").read_text())
    step, = [step for step in found["steps"] if step["name"] == "step"]
    steps, cuda = step["memory"]["cuda_steps"], step["memory"]["cuda"]
    assert steps > 20
    assert (cuda["alloc"]["count"], cuda["alloc"]["bytes"]) == (2 * steps, 4 * MIB * steps)
    assert cuda["free"]["count"] == steps
    assert (cuda["host_alloc"]["count"], cuda["host_alloc"]["bytes"]) == (steps, 4096 * steps)
    whole = found["memory"]["processes"][0]["cuda"]
    assert (whole["alloc"]["count"], whole["host_alloc"]["count"]) == (60, 30)


@pytest.mark.measures  # the line's share is by samples
def test_pages_from_disk_are_told_with_step_and_line(record, report, pythons, inferscope, work):
    """Each page of a file that is in no cache is a major fault; the kernel's count is the truth."""
    (work / "weights.bin").write_bytes(os.urandom(MIB) * 80)
    recording = record(pythons[-1], """
        import mmap, os, resource, time
        from inferscope import scope

        file = os.open("weights.bin", os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        weights = mmap.mmap(file, 0, prot=mmap.PROT_READ)
        weights.madvise(mmap.MADV_RANDOM)

        def load(first):
            for at in range(first, first + (4 << 20), 4096):
                weights[at]  # line 13

        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        for n in range(20):
            with scope("step"):
                load(n * (4 << 20))
                time.sleep(0.05)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before)
    """, notes=None, env={"INFERSCOPE_CPU": "auto"})
    truth = int(recording.done.stdout)
    if truth < 1000:
        pytest.skip("this file system has no storage, or reads ahead all the same")
    found = report()
    step, = found["steps"]
    assert found["memory"]["processes"][0]["major_faults"] == pytest.approx(truth, rel=0.05)
    faults = step["memory"]["major_faults"]
    assert 0.98 * faults["least"] <= truth / 20 <= 1.02 * faults["most"]
    assert faults["mean"] == pytest.approx(truth / 20, rel=0.1)
    assert "major-faults" in concerns(found)
    told = json.loads(inferscope("doctor", "--json").stdout)["answers"]
    if [a for a in told if (a["name"], a["status"]) == ("native samples", "ok")]:
        line = max(found["memory"]["fault_lines"], key=lambda line: line["major_share"])
        assert (line["function"], line["line"]) == ("load", 13)
        assert line["major_share"] > 0.9


@pytest.mark.measures  # the line's share is by samples
def test_the_line_that_faults_is_told(record, report, pythons, inferscope):
    found = json.loads(inferscope("doctor", "--json").stdout)
    if not [a for a in found["answers"] if (a["name"], a["status"]) == ("native samples", "ok")]:
        pytest.skip("the kernel tells nothing by perf events: see inferscope doctor")
    record(pythons[-1], """
        import time
        from inferscope import scope

        def fresh():
            return b"x" * (64 << 20)  # line 6

        for n in range(40):
            with scope("step"):
                fresh()
                time.sleep(0.01)
    """, notes=None, env={"INFERSCOPE_CPU": "auto"})
    line = report()["memory"]["fault_lines"][0]
    assert (line["function"], line["line"]) == ("fresh", 6)
    assert line["minor_share"] > 0.5


def test_memory_can_be_switched_off(inferscope, write, work, pythons):
    program = write("print(1)\n")
    done = inferscope("run", "--quiet", "--no-memory", "--python", pythons[-1],
                      "--report", "r.md", "--report", "r.json", program)
    assert (done.returncode, done.stdout) == (0, "1\n")
    text = (work / "r.md").read_text()
    assert "## Memory" not in text and "memory was not recorded" in text
