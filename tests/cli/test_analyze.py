"""inferscope analyze: traces told as stories (tests/unit/story.h), through the real program."""

import glob
import json
import os
import shutil
import subprocess
import sys

import jsonschema
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(os.path.dirname(HERE), "golden")
STORIES = sorted(os.path.splitext(os.path.basename(p))[0]
                 for p in glob.glob(os.path.join(GOLDEN, "*.story")))


@pytest.fixture(scope="session")
def schema(root):
    with open(os.path.join(root, "docs/schema/report.schema.json")) as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


SMALL = """\
info command python3
info command app.py
process 1 77 app.py 0 1000000
thread 1 1 77 MainThread 0 1000000 0
1: +main@1000 +work@2000 -work@600000 -main@900000
end 1000000 0
"""


def scopes(*pairs, wall=10**9):
    """A story with one scope "step" for each (start, end), in ms; each in a task of its own."""
    events = []
    for i, (start, end) in enumerate(pairs, 1):
        events.append((start * 10**6, 1, "[step#%d/%d@%d" % (i, i, start * 10**6)))
        events.append((end * 10**6, 0, "]#%d@%d" % (i, end * 10**6)))
    lines = ["1: " + token for _, _, token in sorted(events)]
    return "\n".join(["process 1 77 app.py 0 %d" % wall, "thread 1 1 77 - 0 %d 0" % wall]
                     + lines + ["end %d 0" % wall, ""])


def report(inferscope, work, trace, *options):
    done = inferscope("analyze", trace, "--quiet", "--report", "r.json", *options)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return json.loads((work / "r.json").read_text())


@pytest.mark.parametrize("name", STORIES)
def test_every_report_obeys_the_schema(name, golden, inferscope, work, schema):
    trace = golden(name)
    for detail in "normal", "full":  # short has a schema of its own: test_short_json.py
        schema.validate(report(inferscope, work, trace, "--detail", detail))


@pytest.mark.parametrize("name", STORIES)
def test_the_schema_knows_every_golden_report(name, schema):
    with open(os.path.join(GOLDEN, name + ".json")) as f:
        schema.validate(json.load(f))


def test_the_schema_refuses_what_the_contract_does_not_have(schema):
    with open(os.path.join(GOLDEN, "plain_script.json")) as f:
        text = f.read()
    for change in (lambda r: r.pop("findings"),
                   lambda r: r["steps"].clear(),
                   lambda r: r["steps"][0].update(source="guess"),
                   lambda r: r["trust"].update(dropped=-1),
                   lambda r: r["cpu"]["functions"][0].pop("self_ms"),
                   lambda r: r.update(extra=1)):
        changed = json.loads(text)
        change(changed)
        assert not schema.is_valid(changed)


def test_the_summary_is_on_standard_output(inferscope, story, work):
    done = inferscope("analyze", story(SMALL))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("inferscope  python3 app.py")
    assert "whole run" in done.stdout
    assert "\033" not in done.stdout
    assert len(done.stdout.splitlines()) <= 34
    assert sorted(os.listdir(str(work))) == ["run.isc", "story"]


def test_options_may_stand_before_and_behind_the_trace(inferscope, story, work):
    trace = story(SMALL)
    assert inferscope("analyze", "--report", "a.md", trace, "--report", "b.json").returncode == 0
    assert (work / "a.md").exists() and (work / "b.json").exists()


def test_the_same_trace_gives_the_same_bytes(inferscope, golden, work):
    trace = golden("asyncio_server")
    for name in "a", "b":
        env = {"TZ": "Asia/Tokyo", "COLUMNS": "200", "LANG": "de_DE.UTF-8"} if name == "b" else {}
        done = inferscope("analyze", trace, "--report", name + ".md", "--report", name + ".json",
                          env=env)
        assert done.returncode == 0
    assert (work / "a.md").read_bytes() == (work / "b.md").read_bytes()
    assert (work / "a.json").read_bytes() == (work / "b.json").read_bytes()


def test_analyze_gives_the_report_of_the_run(inferscope, work, schema):
    (work / "app.py").write_text(
        "from inferscope import scope\n"
        "def work(n):\n"
        "    return sum(range(n))\n"
        "for i in range(20):\n"
        "    with scope('step', i=i):\n"
        "        work(1000)\n")
    done = inferscope("run", "--cpu", "trace", "--python", sys.executable, "--trace", "t.isc",
                      "--report", "run.md", "--report", "run.json", "app.py")
    assert done.returncode == 0, done.stderr
    done = inferscope("analyze", "t.isc", "--report", "again.md", "--report", "again.json")
    assert done.returncode == 0, done.stderr
    for ending in "md", "json":
        assert (work / ("run." + ending)).read_bytes() == (work / ("again." + ending)).read_bytes()
    result = json.loads((work / "run.json").read_text())
    schema.validate(result)
    assert [(s["name"], s["count"]) for s in result["steps"]] == [("step", 20)]
    function, = [f for f in result["cpu"]["functions"] if f["name"] == "work"]
    assert (function["calls"], function["line"]) == (20, 2)
    assert function["file"].endswith("app.py")


def test_a_report_on_standard_output_is_alone_there(inferscope, story):
    done = inferscope("analyze", story(SMALL), "--report", "-")
    assert done.stdout.startswith("# InferScope Report\n")
    assert "inferscope  python3 app.py" not in done.stdout
    assert done.stderr.startswith("inferscope  python3 app.py")


def test_devices_are_written_in_place(inferscope, story):
    done = inferscope("analyze", story(SMALL), "--quiet", "--report", "/dev/null",
                      "--report", "/dev/stdout")
    assert done.returncode == 0
    assert done.stdout.startswith("# InferScope Report\n")
    assert os.path.exists("/dev/null")


def test_no_colour_where_the_user_wants_none(binary, clean_env, story, work):
    def on_terminal(**env):
        import pty
        main, side = pty.openpty()
        subprocess.run([binary, "analyze", story(SMALL)], cwd=str(work), stdout=side, check=True,
                       env={**clean_env, "TERM": "xterm", **env})
        os.close(side)
        text = os.read(main, 65536)
        os.close(main)
        return text
    assert b"\033[" in on_terminal()
    assert b"\033[" not in on_terminal(NO_COLOR="1")
    assert b"\033[" not in on_terminal(TERM="dumb")


# Steps


def test_percentiles_of_a_hundred_concurrent_requests(inferscope, story, work):
    pairs = [(i, i + 100 + i) for i in range(1, 101)]
    step, = report(inferscope, work, story(scopes(*pairs)))["steps"]
    assert (step["name"], step["count"], step["warmup"]) == ("step", 100, 0)
    assert (step["p50_ms"], step["p95_ms"], step["p99_ms"]) == (150, 195, 199)
    assert (step["mean_ms"], step["max_ms"], step["pid"]) == (150.5, 200, 77)


@pytest.mark.parametrize("first, count, warmup", [
    (31, 10, 1),   # more than three times the median of 10
    (16, 10, 1),   # more than half as long again, where all others are alike
    (15, 10, 0),   # exactly so
    (31, 4, 0),    # too short a series
])
def test_warm_up_is_left_out_and_counted(first, count, warmup, inferscope, story, work):
    pairs = [(0, first)] + [(100 + 20 * i, 110 + 20 * i) for i in range(count - 1)]
    step, = report(inferscope, work, story(scopes(*pairs)))["steps"]
    assert (step["count"], step["warmup"]) == (count, warmup)
    assert step["max_ms"] == (10 if warmup else first)


def test_overlapping_steps_have_no_warm_up(inferscope, story, work):
    pairs = [(0, 200)] + [(100 + 20 * i, 110 + 20 * i) for i in range(12)]
    step, = report(inferscope, work, story(scopes(*pairs)))["steps"]
    assert (step["count"], step["warmup"], step["max_ms"]) == (13, 0, 200)


def test_the_outermost_and_longest_step_comes_first(inferscope, golden, work):
    steps = report(inferscope, work, golden("asyncio_server"))["steps"]
    assert [(s["name"], s["pid"], s["depth"]) for s in steps] == [
        ("request", 100, 0), ("request", 101, 0), ("tokenize", 100, 1)]


def test_without_scopes_the_whole_run_is_the_step(inferscope, story, work):
    step, = report(inferscope, work, story(SMALL))["steps"]
    assert (step["name"], step["source"], step["count"], step["p99_ms"]) == (
        "whole run", "whole-run", 1, 1.0)


def test_recursion_is_not_counted_twice(inferscope, golden, work):
    functions = report(inferscope, work, golden("plain_script"))["cpu"]["functions"]
    fib, = [f for f in functions if f["name"] == "fib"]
    assert (fib["calls"], fib["total_ms"], fib["self_ms"]) == (5, 10, 10)


# Bad input


def test_what_is_not_a_trace(refused, work):
    (work / "empty.isc").write_text("")
    (work / "text.isc").write_text("hello " * 1000)
    (work / "dir.isc").mkdir()
    for name in "missing.isc", "empty.isc", "text.isc", "dir.isc", "/dev/null":
        assert name in refused("analyze", name, status=1)


def test_a_truncated_trace_gives_a_partial_report(inferscope, golden, work, schema):
    name = golden("asyncio_server")
    whole = (work / name).read_bytes()
    (work / name).write_bytes(whole[:-20])
    done = inferscope("analyze", name, "--report", "r.json", "--report", "r.md")
    assert done.returncode == 0
    assert done.stderr.startswith("inferscope: warning: " + name)
    assert len(done.stderr.splitlines()) == 1
    partial = json.loads((work / "r.json").read_text())
    schema.validate(partial)
    assert partial["trust"]["partial"] is True
    assert partial["run"]["exit_status"] is None
    assert any(note.startswith("partial report: ") for note in partial["trust"]["notes"])
    assert "**This report is partial**" in (work / "r.md").read_text()
    assert inferscope("analyze", name, "--log-level", "error").stderr == ""


def test_every_truncation_and_flip_ends_well(inferscope, golden, work):
    name = golden("losses")
    whole = (work / name).read_bytes()
    for cut in range(0, len(whole), 61):
        (work / "cut.isc").write_bytes(whole[:cut])
        assert inferscope("analyze", "cut.isc").returncode in (0, 1)
        (work / "cut.isc").write_bytes(whole[:cut] + bytes([whole[cut] ^ 0x41]) + whole[cut + 1:])
        assert inferscope("analyze", "cut.isc").returncode in (0, 1)


@pytest.mark.parametrize("arguments, text", [
    ((), "no trace given"),
    (("run.isc", "other.isc"), "'other.isc'"),
    (("run.isc", "--report", "r.txt"), "must end in .md, .html or .json"),
    (("run.isc", "--report", "none/r.md"), "none/r.md': No such file or directory"),
    (("run.isc", "--report", "home.md"), "home.md': it is a directory"),
    (("run.isc", "--report", "r.md", "--report", "r.md"), "'r.md' is given twice"),
    (("run.isc", "--detail", "huge"), "--detail"),
    (("run.isc", "--bogus"), "--bogus"),
])
def test_usage_errors(arguments, text, refused, story, work):
    story(SMALL)
    (work / "home.md").mkdir()
    assert text in refused("analyze", *arguments)
    assert not (work / "r.md").exists()


def test_a_report_never_overwrites_what_is_read(refused, inferscope, story, work):
    os.rename(str(work / story(SMALL)), str(work / "trace.md"))
    before = (work / "trace.md").read_bytes()
    os.symlink("trace.md", str(work / "link.md"))
    for name in "trace.md", "./trace.md", "link.md":
        assert refused("analyze", "trace.md", "--report", name) == \
            "cannot write '%s': it is the trace to read; choose another file" % name
    (work / "rules.md").write_text("bottleneck_rules: []\n")
    assert refused("analyze", "trace.md", "--rules", "rules.md", "--report", "rules.md") == \
        "cannot write 'rules.md': it is the rules file; choose another file"
    (work / "config.md").write_text("detail: short\n")
    assert refused("analyze", "trace.md", "--config", "config.md", "--report", "config.md") == \
        "cannot write 'config.md': it is the configuration file; choose another file"
    with (work / "trace.md").open("ab") as end:
        done = inferscope("analyze", "trace.md", "--report", "-", stdout=end)
    assert (done.returncode, done.stderr) == \
        (2, "inferscope: cannot write '-': it is the trace to read; choose another file\n")
    assert (work / "trace.md").read_bytes() == before


def test_a_full_disk_is_said_and_the_other_reports_are_written(inferscope, story, work):
    done = inferscope("analyze", story(SMALL), "--quiet", "--report", "/dev/full",
                      "--report", "r.md")
    assert done.returncode == 1
    assert done.stderr == "inferscope: cannot write '/dev/full': No space left on device\n"
    assert (work / "r.md").exists()


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"),
                    reason="root may write anywhere")
def test_a_directory_without_permission(binary, clean_env, story, work):
    trace = story(SMALL)
    closed = work / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    command = [binary, "analyze", trace, "--report", "closed/r.md"]
    if os.geteuid() == 0:
        # Not another user, who could not reach the directory: root without its right to write.
        command = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] + command
    done = subprocess.run(command, cwd=str(work), env=clean_env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 2
    assert done.stderr == "inferscope: cannot write 'closed/r.md': Permission denied\n"
