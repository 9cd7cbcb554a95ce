"""What is read about memory, from outside: real programs that do known things to it."""

import os
import resource
import sys
import textwrap

import pytest

import isc_decode as isc
from isc_series import SERIES_NAMES
from test_little_memory import group  # noqa: F401, the fixture

MB = 1 << 20
PAGE = resource.getpagesize()

# Every page is touched once, and no huge page makes one fault of many.
TOUCH = textwrap.dedent("""
    import mmap, os, sys, time
    def touch(size):
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(memory, "madvise"):
            memory.madvise(15)  # MADV_NOHUGEPAGE; before 3.8 there was no such call
        for at in range(0, size, mmap.PAGESIZE):
            memory[at] = 1
        return memory
    def settle():
        time.sleep(1)  # the recorder looks at each process twice in that time at least
""")


class Series:
    """The points of a trace, by name: [(time, value)] of each (process, instance)."""

    def __init__(self, path):
        self.trace = isc.load(str(path))
        assert self.trace.whole, self.trace.damage
        self.all = {}
        for point in self.trace.points:
            key = SERIES_NAMES[point.kind], point.process, point.instance
            self.all.setdefault(key, []).append((point.time_ns, point.value))
        for key, points in self.all.items():
            assert points == sorted(points, key=lambda point: point[0]), key

    def of(self, name, process=1, instance=0):
        return self.all.get((name, process, instance), [])

    def values(self, name, process=1, instance=0):
        return [value for _, value in self.of(name, process, instance)]

    def grown(self, name, process=1):
        values = self.values(name, process)
        assert values == sorted(values), "a total never shrinks"
        return values[-1] - values[0]

    def info(self, key):
        return [value for name, value in self.trace.info if name == key]


@pytest.fixture
def watch(inferscope, write, work):
    """Records a program with nothing but its memory; returns its series."""
    def run(text, *args, options=(), status=0, cpu="off", **more):
        done = inferscope("run", "--quiet", "--cpu", cpu, "--python", sys.executable, "--report",
                          "r.json", "--trace", "t.isc", *options, write(TOUCH + text), *args,
                          **more)
        assert done.returncode == status, done.stderr
        series = Series(work / "t.isc")
        series.output = done.stdout.split()
        return series
    return run


def test_what_is_held_is_seen_within_a_hundredth(watch):
    series = watch("settle(); held = touch(256 << 20); settle()\n")
    rss = series.values("rss_bytes")
    most = max(rss)
    assert abs(most - rss[0] - 256 * MB) < 256 * MB / 100
    assert abs(max(series.values("rss_peak_bytes")) - most) < 5 * MB, "the kernel's own peak"
    assert 0 < most - max(series.values("rss_anon_bytes")) < 40 * MB


def test_memory_that_was_given_back_is_seen_too(watch):
    series = watch("settle(); held = touch(200 << 20); settle(); del held; settle()\n")
    rss = series.values("rss_bytes")
    assert max(rss) - rss[0] > 198 * MB
    assert rss[-1] - rss[0] < 5 * MB
    assert max(series.values("rss_peak_bytes")) > rss[0] + 198 * MB


@pytest.mark.parametrize("killed", [False, True])
def test_page_faults_are_counted(watch, killed):
    """Also of one that is killed right after them: its last moment is looked at."""
    pages = 50000
    series = watch("settle(); held = touch(%d * mmap.PAGESIZE)\n" % pages
                   + "os.kill(os.getpid(), 9)\n" * killed, status=137 if killed else 0)
    # Those of the start before the first look are in the first value, the few after it are not.
    assert pages <= series.grown("minor_faults") < 1.02 * pages + 1000


@pytest.mark.measures
def test_page_faults_have_their_time(watch):
    """By the kernel's perf events, an eighth of the time; the program says when it had them."""
    series = watch("""
def idle():
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end: pass
end = time.perf_counter() + 3.5
while time.perf_counter() < end:
    before = time.monotonic_ns(); touch(16 << 20); print(before, time.monotonic_ns()); idle()
""", cpu="auto")
    if any(text.startswith("refused") for text in series.info("native")):
        pytest.skip("perf events are not permitted here")
    trace = series.trace
    moments = [int(word) - trace.monotonic_ns for word in series.output]
    spans = list(zip(moments[::2], moments[1::2]))
    faults = [sample for sample in trace.samples if sample.flags & isc.FAULT_FLAG]
    assert {sample.flags & isc.MAJOR_FLAG for sample in faults} <= {0}
    times = [sample.first_ns for sample in faults if sample.first_ns > moments[0]]
    inside = [time for time in times if any(start <= time <= end for start, end in spans)]
    assert len(times) > 50 and len(inside) > 0.95 * len(times)
    told = sum(sample.count for sample in faults)
    assert 0.04 < told / series.grown("minor_faults") < 0.4


def test_a_cold_file_is_read_from_storage(watch, work):
    """The program's own account, taken where it reads, is the truth."""
    path = work / "weights.bin"
    path.write_bytes(os.urandom(MB) * 64)
    series = watch("""
def account():
    with open("/proc/self/io") as file:
        return {line.split(":")[0]: int(line.split()[1]) for line in file}
file = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(file)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
settle(); before = account()
while os.read(file, 1 << 20): pass
after = account(); settle()
print(after["read_bytes"] - before["read_bytes"], after["rchar"] - before["rchar"])
""", path)
    from_storage, asked_for = map(int, series.output)
    if not from_storage:
        pytest.skip("this file system has no storage")
    assert series.grown("read_bytes") >= from_storage
    assert abs(series.grown("read_calls_bytes") - asked_for) < 0.05 * asked_for


@pytest.mark.measures  # smaps_rollup is read where a CPU is idle
def test_memory_that_is_shared_counts_once(watch):
    """What a fork shares with its child is half of each, by smaps_rollup; resident in both."""
    series = watch("""
held = touch(200 << 20)
if not os.fork():
    sum(held[at] for at in range(0, 200 << 20, mmap.PAGESIZE))
    time.sleep(3)
    os._exit(0)
time.sleep(2.8)
os.wait()
""", cpu="trace")
    parent, child = series.trace.processes
    for process in parent, child:
        pss = dict(series.of("pss_bytes", process))
        rss = series.of("rss_bytes", process)
        seen = [(value, next(r for t, r in reversed(rss) if t <= time))
                for time, value in pss.items() if 0.8e9 < time < 2.5e9]
        if not seen and series.info("memory.held_back") == ["1"]:
            pytest.skip("no CPU was idle: what makes a program wait was hardly looked at")
        assert seen, "it is read once a second"
        for proportional, resident in seen:
            assert resident > 200 * MB
            assert 95 * MB < resident - proportional < 130 * MB


def test_children_have_figures_of_their_own(watch):
    series = watch("""
for mb in (50, 100, 150):
    if not os.fork():
        held = touch(mb << 20)
        settle()
        os._exit(0)
for _ in range(3):
    os.wait()
settle()
""", cpu="trace")
    assert len(series.trace.processes) == 4
    peaks = sorted(max(series.values("rss_bytes", process)) for process in series.trace.processes)
    for smaller, larger in zip(peaks, peaks[1:]):
        assert 45 * MB < larger - smaller < 60 * MB
    faults = sorted(series.values("minor_faults", process)[-1]
                    for process in series.trace.processes if process > 1)
    assert faults[0] >= 50 * MB / PAGE, "faults are counted from the fork on"
    assert 45 * MB / PAGE < faults[2] - faults[1] < 55 * MB / PAGE


def test_two_hundred_threads_are_one_process(watch):
    series = watch("""
import threading
barrier = threading.Barrier(201); end = threading.Event(); settle()
def work():
    held = touch(1 << 20)
    barrier.wait()
    end.wait()
threads = [threading.Thread(target=work) for _ in range(200)]
for thread in threads: thread.start()
barrier.wait(); settle(); end.set()
for thread in threads: thread.join()
settle()
""")
    assert max(series.values("threads")) >= 201
    assert 200 * MB / PAGE <= series.grown("minor_faults")
    rss = series.values("rss_bytes")
    assert max(rss) - rss[0] > 198 * MB


def test_a_control_group_tells_its_limit(watch, group):  # noqa: F811
    series = watch("settle(); held = touch(60 << 20); settle()\n",
                   options=["--trace-size-mb", 8], preexec_fn=group(200 * MB).enter)
    used = series.values("cgroup_memory_bytes", 0)
    assert 58 * MB < max(used) - used[0] < 75 * MB
    assert set(series.values("cgroup_memory_max_bytes", 0)) == {200 * MB}


def test_narrow_limits_are_no_obstacle(watch):
    def narrow():
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    series = watch("settle(); held = touch(50 << 20); settle()\n", preexec_fn=narrow)
    assert max(series.values("rss_bytes")) > 50 * MB


def test_the_machine_and_what_is_missing(watch):
    series = watch("settle()\n")
    missing = {text.split(":")[0] for text in series.info("memory.missing")}
    total, = set(series.values("machine_total_bytes", 0))
    assert total == os.sysconf("SC_PHYS_PAGES") * PAGE or total > 1 << 28
    assert series.values("machine_available_bytes", 0)
    assert ("psi" in missing) == (not os.path.exists("/proc/pressure/memory"))
    if "psi" not in missing:
        assert series.grown("psi_memory_full_us", 0) <= series.grown("psi_memory_some_us", 0)
    nodes = [name for name in os.listdir("/sys/devices/system/node") if name[4:].isdigit()]
    assert ("numa" in missing) == (len(nodes) < 2)
    if "numa" not in missing:
        assert sum(series.values("numa_node_bytes", 1, int(node[4:]))[-1] for node in nodes) > MB


def test_without_memory_nothing_is_read(watch):
    series = watch("settle()\n", options=["--no-memory"])
    assert not series.all
    assert not [key for key, _ in series.trace.info if key.startswith("memory.")]


@pytest.mark.measures
def test_the_reading_takes_a_hundredth_of_a_core_at_most(watch):
    """Of thirty processes, too: then they are read less often."""
    series = watch("""
for _ in range(30):
    if not os.fork():
        time.sleep(3)
        os._exit(0)
time.sleep(3)
""")
    share, = map(float, series.info("memory.cpu_share"))
    assert 0 < share < 0.01
    for process in series.trace.processes:
        assert len(series.of("rss_bytes", process)) >= 2


def test_a_recording_that_begins_later(watch):
    series = watch("""
import inferscope
held = touch(100 << 20)
while not inferscope.is_recording(): time.sleep(0.01)
settle(); more = touch(50 << 20); settle()
""", options=["--delay", "3"])
    rss = series.of("rss_bytes")
    assert rss[0][0] >= 0 and rss[0][1] > 100 * MB
    assert 49 * MB < max(value for _, value in rss) - rss[0][1] < 60 * MB


def test_a_program_that_starts_its_own_recording(plain, write, work):
    done = plain(sys.executable, write(TOUCH + """
import inferscope
inferscope.start(report="r.json", trace="t.isc", cpu="off")
settle(); held = touch(80 << 20); settle()
inferscope.stop()
"""))
    assert done.returncode == 0, done.stderr
    rss = Series(work / "t.isc").values("rss_bytes")
    assert 79 * MB < max(rss) - rss[0] < 100 * MB
