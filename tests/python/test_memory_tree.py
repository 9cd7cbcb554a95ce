"""Memory of processes that no agent joins: native programs, and children that record nothing."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from test_memory_series import MB, PAGE, Series, watch  # noqa: F401, the fixture


@pytest.fixture(scope="module")
def toucher(root, tmp_path_factory):
    """The path of a native program: toucher MB SECONDS."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    path = str(tmp_path_factory.mktemp("native") / "toucher")
    subprocess.run(["cc", "-O1", os.path.join(root, "tests/native/touches_memory.c"), "-o", path],
                   check=True)
    return path


@pytest.fixture
def watch_native(inferscope, work):
    """Records a command in which there is no Python; returns its series."""
    def run(*command, status=0):
        done = inferscope("run", "--report", "r.json", "--trace", "t.isc", "--", *command)
        assert done.returncode == status, done.stderr
        return Series(work / "t.isc")
    return run


def by_name(series, name):
    return [fields for fields in series.trace.watched.values() if fields["name"] == name]


def test_a_native_program_has_figures(watch_native, toucher, work):
    series = watch_native(toucher, "500", "1")
    assert not series.trace.processes
    (id, fields), = series.trace.watched.items()
    assert fields["name"] == "toucher" and fields["parent_pid"] and fields["end_ns"] > 0
    assert max(series.values("rss_bytes", id)) == pytest.approx(500 * MB, rel=0.01)
    report = json.loads((work / "r.json").read_text())
    assert report["processes"] == []
    process, = report["memory"]["processes"]
    assert process["pid"] == fields["pid"] and process["recorded"] is False
    assert process["rss_peak_bytes"] == pytest.approx(500 * MB, rel=0.01)


def test_what_it_used_is_known_to_the_end(watch_native, toucher):
    """The kernel's last account is read, also of one that ended right after."""
    series = watch_native(toucher, "500", "0")
    id, = series.trace.watched
    pages = 500 * MB / PAGE
    assert pages <= series.values("minor_faults", id)[-1] < 1.02 * pages + 500


def test_a_native_program_that_is_killed(watch_native):
    series = watch_native("sh", "-c", "sleep 0.5; kill -9 $$", status=137)
    shell, = [fields for fields in series.trace.watched.values() if fields["name"] != "sleep"]
    assert shell["end_ns"] > 4e8
    assert series.of("minor_faults", shell["id"])[-1][0] > 4e8


def test_a_native_child_of_python(watch, toucher, work):  # noqa: F811
    series = watch("import subprocess; subprocess.run([sys.argv[1], '200', '1.2'])\n", toucher,
                   cpu="auto")
    (id, python), = series.trace.processes.items()
    child, = by_name(series, "toucher")
    assert child["parent_pid"] == python["pid"]
    assert max(series.values("rss_bytes", child["id"])) == pytest.approx(200 * MB, rel=0.02)
    assert max(series.values("rss_bytes", id)) < 100 * MB
    report = json.loads((work / "r.json").read_text())
    assert [process["pid"] for process in report["processes"]] == [python["pid"]]
    assert ({process["pid"]: process["recorded"] for process in report["memory"]["processes"]}
            == {python["pid"]: True, child["pid"]: False})
    assert report["memory"]["process_count"] == 2


def test_children_and_grandchildren_that_record_nothing(watch):  # noqa: F811
    """--cpu off: nothing happens in a forked process that its agent would hear of."""
    series = watch("""
for mb in (50, 100):
    if not os.fork():
        held = touch(mb << 20)
        if mb == 100 and not os.fork():
            more = touch(100 << 20)
        time.sleep(1.5)
        os._exit(0)
os.wait(); os.wait(); time.sleep(1.5)
""")
    assert len(series.trace.processes) == 1
    own = series.values("rss_bytes")[-1]
    most = sorted(max(series.values("rss_bytes", id)) for id in series.trace.watched)
    assert len(most) == 3
    # What they share with their parent is resident in them as far as they touched it.
    for rss, held in zip(most, (50, 100, 200)):
        assert (held - 1) * MB < rss < held * MB + own


def test_a_hundred_short_children_leave_nothing(watch):  # noqa: F811
    series = watch("""
import subprocess
for _ in range(100): subprocess.run(["true"])
""")
    assert series.trace.whole and series.trace.exit_status == 0
    assert all(child["end_ns"] for child in by_name(series, "true")), "if any was there for long"


@pytest.mark.measures
def test_children_of_one_of_four_hundred_threads(watch, toucher):  # noqa: F811
    """The kernel lists children by thread, and so many lists take long: there is another way."""
    series = watch("""
        import subprocess, threading
        done = threading.Event()
        for _ in range(400): threading.Thread(target=done.wait).start()
        def serve():
            for _ in range(2): subprocess.run([sys.argv[1], "50", "3"])
        time.sleep(1)
        server = threading.Thread(target=serve)
        server.start(); server.join(); done.set()
    """.replace("\n        ", "\n"), toucher)
    children = by_name(series, "toucher")
    assert len(children) == 2, "both lived for 3 s"
    assert all(series.values("rss_bytes", child["id"]) for child in children)
    assert float(series.info("memory.cpu_share")[0]) < 0.01


def test_a_child_that_is_killed(watch, toucher):  # noqa: F811
    series = watch("""
import subprocess
child = subprocess.Popen([sys.argv[1], "100", "60"])
time.sleep(2); child.kill(); child.wait(); time.sleep(0.5)
""", toucher)
    child, = by_name(series, "toucher")
    assert 0 < child["end_ns"] < series.trace.wall_ns
    assert max(series.values("rss_bytes", child["id"])) == pytest.approx(100 * MB, rel=0.03)
    assert series.of("rss_bytes", child["id"])[-1][0] <= child["end_ns"]


def test_a_python_that_is_joined_late_is_recorded_as_ever(watch_native):
    """What it was before it called exec() is another process."""
    series = watch_native("sh", "-c", "sleep 3; exec %s -c 'import time; time.sleep(0.5)'"
                          % sys.executable)
    (id, python), = series.trace.processes.items()
    shell, = [fields for fields in series.trace.watched.values() if fields["name"] != "sleep"]
    assert shell["pid"] == python["pid"] and shell["end_ns"] > 0
    assert series.of("rss_bytes", shell["id"])[-1][0] <= series.of("rss_bytes", id)[0][0]


def test_a_python_in_a_shell_is_the_main_process(inferscope, work):
    done = inferscope("run", "--report", "r.json", "--trace", "t.isc", "--", "sh", "-c",
                      "%s -c 'import time; time.sleep(1.5)'; true" % sys.executable)
    assert done.returncode == 0, done.stderr
    report = json.loads((work / "r.json").read_text())
    process, = report["processes"]
    assert process["role"] == "main" and "python" in process["name"]
    assert sorted(entry["recorded"] for entry in report["memory"]["processes"]) == [False, True]


def test_without_memory_nobody_is_looked_for(inferscope, work, toucher):
    done = inferscope("run", "--no-memory", "--report", "r.json", "--trace", "t.isc", "--",
                      toucher, "10", "0.3")
    assert done.returncode == 0, done.stderr
    assert not Series(work / "t.isc").trace.watched


def test_a_python_that_ends_at_once_is_no_native_program(watch, work):  # noqa: F811
    for _ in range(5):
        assert not watch("os._exit(0)\n").trace.watched
