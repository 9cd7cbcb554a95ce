"""What `run` does where its output cannot go: full disks, limits, closed files, broken pipes.

The workload runs on and keeps its exit status; what can be known beforehand is
refused before it runs.
"""

import errno
import json
import os
import resource
import signal
import subprocess
import sys

import pytest

RAN = "open('ran', 'w').close()\n"
# Writes about 100 bytes that no compression makes smaller for each mark.
BUSY = """\
import os, sys, time
import inferscope
for i in range(int(sys.argv[1])):
    inferscope.mark_event("noise", data=os.urandom(100).hex())
    if i % 1000 == 0:
        time.sleep(0.01)
print("done")
sys.exit(6)
"""
MB = 1 << 20


@pytest.fixture
def run(inferscope):
    def run(*args, **more):
        return inferscope("run", "--quiet", "--python", sys.executable, *args, **more)
    return run


@pytest.fixture
def script(work):
    def write(text, name="script.py"):
        (work / name).write_text(text)
        return name
    return write


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        pytest.skip("cannot mount a small file system: %s" % error)
    if done.returncode:
        pytest.skip("cannot mount a small file system: %s" % done.stdout.decode().strip())
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder):
    with open(str(folder / "fill"), "wb", buffering=0) as full:
        with pytest.raises(OSError):
            for _ in range(64):
                full.write(b"x" * 65536)


def limit_files(size):
    """For preexec_fn: no file of the program or the workload may grow beyond this."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check_partial(path):
    """The report says that it is partial, and is not empty."""
    report = json.loads(path.read_text())
    assert [note for note in report["trust"]["notes"] if note.startswith("partial report: ")]
    assert report["trust"]["events"] > 0
    return report


def check_losses_counted(report, why):
    trust = report["trust"]
    assert trust["events"] > 0 and trust["dropped"] > 0
    assert any("could not be stored (cannot write the trace: %s)" % why in note
               for note in trust["notes"]), trust["notes"]


def test_a_trace_that_fills_the_disk(run, script, small_disk, work, inferscope):
    args = ["--trace", small_disk / "t.isc", "--report", "r.json", script(BUSY), 30000]
    done = run(*args)
    assert (done.returncode, done.stdout) == (6, "done\n")
    assert done.stderr == "inferscope: the recording is incomplete: cannot write the trace: " \
        "No space left on device\n"
    report = check_partial(work / "r.json")
    check_losses_counted(report, "No space left on device")
    again = inferscope("analyze", "--quiet", small_disk / "t.isc", "--report", "again.json")
    assert again.returncode == 0
    assert json.loads((work / "again.json").read_text()) == report
    assert run("--strict", *args).returncode == 4


@pytest.fixture
def disk_double(binary):
    path = os.path.join(os.path.dirname(binary), "../../tests/doubles/libfake_disk.so")
    if not os.path.exists(path):
        pytest.skip("no double of a disk beside %s" % binary)
    return os.path.abspath(path)


@pytest.mark.parametrize("error", [errno.EDQUOT, errno.ENOSPC, errno.EIO],
                         ids=lambda error: errno.errorcode[error])
def test_a_trace_that_meets_an_error(run, script, disk_double, work, inferscope, error):
    """A quota, say: the trace is whole up to its last block, the workload does not notice."""
    done = run("--report", "r.json", script(BUSY), 30000, env={
        "LD_PRELOAD": disk_double, "ASAN_OPTIONS": "verify_asan_link_order=0",
        "FAKE_DISK_ERRNO": str(error), "FAKE_DISK_BYTES": "600001"})
    assert (done.returncode, done.stdout) == (6, "done\n")
    assert done.stderr == "inferscope: the recording is incomplete: cannot write the trace: %s\n" \
        % os.strerror(error)
    check_losses_counted(check_partial(work / "r.json"), os.strerror(error))
    assert 0 < (work / "inferscope-trace.isc").stat().st_size <= 600001
    again = inferscope("export", "--to", "json", "-o", "e.json", "inferscope-trace.isc")
    assert again.returncode == 0


def test_a_disk_that_is_full_from_the_start(refused, script, small_disk, work):
    fill(small_disk)
    assert refused("run", "--python", sys.executable, "--trace", small_disk / "t.isc",
                   script(RAN)) == "cannot write the trace: No space left on device"
    assert not (work / "ran").exists()


def test_a_report_that_finds_no_room(run, script, small_disk, work):
    fill(small_disk)
    done = run("--report", small_disk / "r.md", "--report", "r.json", script(BUSY), 10)
    assert (done.returncode, done.stdout) == (6, "done\n")
    assert done.stderr == \
        "inferscope: cannot write '%s/r.md': No space left on device\n" % small_disk
    assert [path.name for path in small_disk.iterdir()] == ["fill"]
    assert (work / "r.json").exists()


def test_a_limit_on_the_size_of_files(run, script, work):
    # Room for the buffer, not for the trace.
    done = run("--trace-size-mb", 1, "--report", "r.json", script(BUSY), 120000,
               preexec_fn=limit_files(5 * MB))
    assert (done.returncode, done.stdout) == (6, "done\n")
    assert done.stderr == "inferscope: the recording is incomplete: cannot write the trace: " \
        "File too large\n"
    check_partial(work / "r.json")


def test_a_limit_that_leaves_no_room_for_the_buffer(refused, script, work):
    assert refused("run", "--python", sys.executable, script(RAN),
                   preexec_fn=limit_files(MB)) == "cannot create the trace buffer: File too large"
    assert not (work / "ran").exists()


@pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="no /sys, where not even root writes")
def test_a_working_directory_that_cannot_be_written(refused, script, work):
    path = work / script(RAN)
    assert refused("run", "--python", sys.executable, path, cwd="/sys") == \
        "cannot write 'inferscope-report.md': Permission denied"
    assert refused("run", "--python", sys.executable, "--report", work / "r.md", path,
                   cwd="/sys") == "cannot write the trace inferscope-trace.isc: Permission denied"
    assert not (work / "ran").exists()


@pytest.mark.parametrize("options, line", [
    (["--report", "folder.md"], "cannot write 'folder.md': it is a directory"),
    (["--trace", "folder.md"], "cannot write 'folder.md': it is a directory"),
    (["--trace", "/dev/full"], "cannot write '/dev/full': not a regular file"),
    (["--report", "x.md", "--trace", "x.md"], "'x.md' cannot be the report and the trace"),
    (["--report", "x.md", "--trace", "./x.md"], "'x.md' cannot be the report and the trace"),
    (["--report", "folder.md/../x.md", "--report", "x.md"], "report 'x.md' is given twice"),
])
def test_places_that_cannot_be(refused, script, work, options, line):
    (work / "folder.md").mkdir()
    name = script(RAN)
    assert refused("run", "--python", sys.executable, *options, name) == line
    assert sorted(path.name for path in work.iterdir()) == ["folder.md", name]


LINK = "cannot write '%s': it is a link; give the name of the file that it leads to"


@pytest.mark.parametrize("option, name", [("--report", "link.json"), ("--trace", "link.isc")])
@pytest.mark.parametrize("target", ["there", "nowhere/r.json", "link.json"])
def test_a_link_is_no_place_for_an_output(refused, script, work, option, name, target):
    (work / "there").write_text("old")
    (work / name).symlink_to(target)
    assert refused("run", "--python", sys.executable, option, name, script(RAN)) == LINK % name
    assert (work / "there").read_text() == "old"
    assert not (work / "ran").exists()


def test_a_folder_may_be_a_link(run, script, work):
    (work / "there").mkdir()
    (work / "link").symlink_to("there")
    (work / "link.py").symlink_to(script("import sys; print(sys.argv[0])"))
    done = run("--report", "link/r.json", "--trace", "link/t.isc", "link.py")
    assert (done.returncode, done.stdout) == (0, "link.py\n")
    assert sorted(path.name for path in (work / "there").iterdir()) == ["r.json", "t.isc"]


@pytest.mark.parametrize("option, name", [("--report", "pipe.md"), ("--report", "pipe"),
                                          ("--trace", "pipe")])
def test_a_pipe_is_no_place_for_an_output(refused, script, work, option, name):
    os.mkfifo(str(work / name))
    assert refused("run", "--python", sys.executable, option, name, script(RAN), timeout=10) == \
        "cannot write '%s': not a regular file" % name
    assert not (work / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("option, name", [("--report", "r.md"), ("--trace", "t.isc")])
def test_a_file_of_another_user_is_no_place_for_an_output(refused, script, work, option, name):
    (work / name).write_text("")
    os.chown(str(work / name), 65534, 65534)
    assert refused("run", "--python", sys.executable, option, name, script(RAN)) == \
        "cannot write '%s': the file belongs to another user; remove it or choose another name" \
        % name
    assert not (work / "ran").exists()


@pytest.mark.parametrize("options, command, why", [
    (["--trace", "script.py"], ["script.py"], "an argument of the workload"),
    (["--trace", "./script.py"], ["--", "sh", "script.py"], "an argument of the workload"),
    (["--trace", "hard.py"], ["script.py"], "an argument of the workload"),
    (["--report", "d.json"], ["script.py", "d.json"], "an argument of the workload"),
    (["--report", "d.json"], ["script.py", "--data=d.json"], "an argument of the workload"),
    (["--report", "r.md", "--report", "d.json"], ["script.py", "../work/d.json"],
     "an argument of the workload"),
    (["--config", "d.json", "--report", "d.json"], ["script.py"], "the configuration file"),
    (["--config", "d.json", "--trace", "d.json"], ["script.py"], "the configuration file"),
    (["--rules", "rules.json", "--report", "rules.json"], ["script.py"], "the rules file"),
    (["--trace", "tool"], ["--", "./tool"], "the program to run"),
    (["--trace", "tool"], ["--", "tool"], "the program to run"),
    (["--python", "./tool", "--trace", "tool"], ["script.py"], "the program to run"),
])
def test_run_does_not_destroy_what_it_reads(refused, script, work, clean_env, options, command,
                                            why):
    files = {"script.py": RAN, "d.json": "{}\n", "rules.json": "bottleneck_rules: []\n",
             "tool": "#!/bin/sh\n"}
    for name, text in files.items():
        script(text, name)
    (work / "tool").chmod(0o755)
    os.link(str(work / "script.py"), str(work / "hard.py"))
    env = {"PATH": "%s:%s" % (work, clean_env["PATH"])}
    before = sorted(os.listdir(str(work)))
    assert refused("run", *options, *command, env=env) == \
        "cannot write '%s': it is %s; choose another file" % (options[-1], why)
    assert sorted(os.listdir(str(work))) == before
    assert {name: (work / name).read_text() for name in files} == files


def test_standard_input_is_an_input(refused, script, work):
    (work / "in.md").write_text("questions")
    with (work / "in.md").open() as file:
        assert refused("run", "--report", "in.md", "--", "cat", stdin=file) == \
            "cannot write 'in.md': it is standard input; choose another file"
    assert (work / "in.md").read_text() == "questions"


def test_only_a_trace_is_replaced_by_a_trace(refused, run, script, work):
    (work / "notes.txt").write_text("a year of work")
    assert refused("run", "--python", sys.executable, "--trace", "notes.txt", script(RAN)) == \
        "cannot write the trace notes.txt: the file exists and is not a trace; remove it or " \
        "choose another name"
    assert (work / "notes.txt").read_text() == "a year of work"
    (work / "t.isc").write_text("")
    for _ in range(2):  # over an empty file, and over a trace
        assert run("--trace", "t.isc", "script.py").returncode == 0
        assert (work / "t.isc").stat().st_size > 0


def test_a_trace_with_a_second_name_is_kept(refused, run, script, work):
    assert run("--trace", "t.isc", script("pass")).returncode == 0
    os.link(str(work / "t.isc"), str(work / "kept.isc"))
    before = (work / "kept.isc").read_bytes()
    assert refused("run", "--python", sys.executable, "--trace", "t.isc", "script.py") == \
        "cannot write the trace t.isc: the file has several names (hard links); remove this one " \
        "or choose another"
    assert (work / "kept.isc").read_bytes() == before


def test_two_recordings_into_one_trace(binary, refused, run, script, work, clean_env):
    """The second is refused; the first does not notice."""
    first = subprocess.Popen([binary, "run", "--quiet", "--python", sys.executable,
                              script("input(); print('first')", "first.py")], cwd=str(work),
                             env=clean_env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        while not (work / "inferscope-trace.isc").exists() or \
                not (work / "inferscope-trace.isc").stat().st_size:
            assert first.poll() is None
        assert refused("run", "--python", sys.executable, "--report", "other.md", script(RAN)) == \
            "another recording is writing inferscope-trace.isc; choose another file with --trace"
        assert not (work / "ran").exists()
        assert run("--trace", "other.isc", "--report", "other.md", "script.py").returncode == 0
    finally:
        out, _ = first.communicate(b"\n", timeout=30)
    assert (first.returncode, out) == (0, b"first\n")
    assert (work / "inferscope-report.md").exists()


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_standard_files_that_are_closed(binary, script, work, clean_env, inferscope, closed):
    """The workload sees the same open files as alone; nothing of ours is written into another."""
    name = script("import os\nfound = [fd for fd in range(9) if os.path.exists('/proc/self/fd/%d'"
                  " % fd)]\nopen('found', 'w').write(str(found))\n")
    redirect = " ".join("%d>&-" % fd for fd in closed)

    def started_with(command):
        done = subprocess.run(["sh", "-c", 'exec "$@" ' + redirect, "sh"] + command, cwd=str(work),
                              env=clean_env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        assert done.returncode == 0
        return (work / "found").read_text()

    alone = started_with([sys.executable, name])
    assert started_with([binary, "run", "--python", sys.executable, name]) == alone
    done = inferscope("analyze", "--quiet", "--report", "r.json", "inferscope-trace.isc")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((work / "r.json").read_text())["trust"]["events"] > 0


def test_a_report_to_a_closed_standard_output(binary, script, work, clean_env):
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", binary, "run", "--python",
                           sys.executable, "--report", "-", script(RAN)], cwd=str(work),
                          env=clean_env, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"inferscope: cannot write '-': standard output is closed\n"
    assert not (work / "ran").exists()


def broken_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def test_nobody_reads_the_summary(binary, script, work, clean_env):
    pipe = broken_pipe()
    done = subprocess.run([binary, "run", "--python", sys.executable, script(BUSY), "10"],
                          cwd=str(work), env=clean_env, stdout=subprocess.PIPE, stderr=pipe)
    os.close(pipe)
    assert (done.returncode, done.stdout) == (6, b"done\n")
    assert (work / "inferscope-report.md").exists()


def test_nobody_reads_the_report(run, script):
    pipe = broken_pipe()
    done = run("--report", "-", script("raise SystemExit(5)"), stdout=pipe)
    os.close(pipe)
    assert (done.returncode, done.stderr) == (5, "inferscope: cannot write '-': Broken pipe\n")


@pytest.mark.parametrize("action", [signal.SIG_DFL, signal.SIG_IGN])
def test_the_workload_gets_its_signals_as_they_were(run, action):
    """In a pipeline it dies of SIGPIPE as alone; under nohup it goes on ignoring SIGHUP."""
    def prepare():
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP):
            signal.signal(number, action)

    command = ["grep", "^Sig[BI]", "/proc/self/status"]
    more = {"preexec_fn": prepare, "restore_signals": False}
    alone = subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, **more)
    assert run("--", *command, **more).stdout == alone.stdout


def test_a_pipeline_whose_reader_has_enough(run):
    pipe = broken_pipe()
    done = run("--", "yes", stdout=pipe)
    os.close(pipe)
    assert done.returncode == 128 + signal.SIGPIPE
