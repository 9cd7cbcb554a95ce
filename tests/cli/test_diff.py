"""inferscope diff: traces told as stories, through the real program."""

import json
import os
import sys

import jsonschema
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import nsys_file  # noqa: E402


@pytest.fixture(scope="session")
def diff_schema(root):
    with open(os.path.join(root, "docs/schema/diff.schema.json")) as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def noise(seed):
    """Numbers between 0 and 1 that are the same in every Python."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 33) / 2**31


def service(kernel_us=400, host_us=200, steps=60, seed=1, name="infer", line=44,
            kernel="gemm_bf16_tn", info="", folder="/srv/app"):
    """A story: steps that launch one kernel and wait for it; a function before that runs alone."""
    random = noise(seed)
    now, events, device = 1000000, [], []
    for i in range(1, steps + 1):
        host = int(host_us * (1 + 0.02 * next(random))) * 1000
        gpu = int(kernel_us * (1 + 0.02 * next(random))) * 1000
        begin = now + host + 10000
        end = begin + gpu + 20000
        events.append("1: [%s#%d/0@%d +prepare@%d -prepare@%d +run@%d" % (
            name, i, now, now + 1000, now + host, now + host + 1000))
        events.append("1: {cudaLaunchKernel#%d:1/1@%d }%d@%d" % (
            2 * i, begin - 5000, 2 * i, begin - 1000))
        events.append("1: {cudaDeviceSynchronize#%d:5/2@%d }%d@%d" % (
            2 * i + 1, begin, 2 * i + 1, end))
        events.append("1: -run@%d ]#%d@%d" % (end + 1000, i, end + 2000))
        device.append("2: kernel:%s#%d@%d:%d+%d/7" % (kernel, 2 * i, end, begin + 1000, gpu))
        now = end + 100000
    return "\n".join([
        "info command python3", "info command serve.py", "info cwd " + folder,
        "info python 3.12.3", "info gpu on"] + ([info] if info else []) + [
        "process 1 100 serve.py 0 %d" % (now + 1000000),
        "thread 1 1 100 MainThread 0 %d 0" % (now + 1000000),
        "thread 2 1 102 cupti 0 %d 0" % (now + 1000000),
        "code prepare %s/serve.py 10" % folder, "code run %s/serve.py 40" % folder,
        "stack 1 run:%d" % line, "stack 2 run:%d" % (line + 1),
        "gpu 1 1 500000 CUPTI 130000", "device 1 0 600000 NVIDIA H200"]
        + events + device + ["end %d 0" % (now + 2000000), ""])


@pytest.fixture
def traces(story):
    """Writes services into files of these names; a dictionary of arguments each."""
    def write(**named):
        for name, arguments in named.items():
            story(service(**arguments), name + ".isc")
    return write


@pytest.fixture
def diff(inferscope, work, diff_schema):
    """The JSON of a comparison, which obeys the schema, and the exit status."""
    def run(*args):
        done = inferscope("diff", "--quiet", "--report", "d.json", *args)
        assert done.returncode in (0, 3), done.stderr
        assert done.stdout == ""
        result = json.loads((work / "d.json").read_text())
        diff_schema.validate(result)
        return result, done.returncode
    return run


def row(result, part, name):
    found = [r for r in result[part] if r["name"] == name]
    assert len(found) == 1, result[part]
    return found[0]


def test_a_slower_kernel_is_found(traces, diff):
    traces(a={}, b={"kernel_us": 600})
    result, status = diff("a.isc", "b.isc")
    change = result["change"]
    assert change["tested"] and change["significant"] and status == 0
    assert 0.2 < change["low"] < change["ratio"] < change["high"]
    assert change["ratio"] == pytest.approx(200 / 633, abs=0.02)
    kernel = row(result, "kernels", "gemm_bf16_tn")
    assert kernel["state"] == "both" and kernel["significant"]
    assert kernel["change_ms"] == pytest.approx(0.2, abs=0.01)
    assert (kernel["before_count"], kernel["after_count"]) == (1, 1)
    assert result["classes"][0]["name"] == "GPU compute" and result["classes"][0]["significant"]
    assert not row(result, "classes", "CPU preprocessing")["significant"]
    computing = [r for r in result["lines"] if r["class"] == "GPU compute"]
    line = row({"lines": computing}, "lines", "run")
    assert (line["file"], line["line"], line["class"]) == ("serve.py", 44, "GPU compute")
    assert line["change_ms"] == pytest.approx(0.2, abs=0.01)


def test_kernels_are_those_that_the_steps_launched(story, diff):
    outside = ("1: {cudaLaunchKernel#9001:1/1@100000 }9001@101000\n"
               "2: kernel:warm_up#9001@900000:110000+500000/7\n")
    for name, arguments in ("a", {}), ("b", {"seed": 2}):
        text = service(**arguments)
        at = text.index("1: [infer#1/")
        story(text[:at] + outside + text[at:], name + ".isc")
    assert [k["name"] for k in diff("a.isc", "b.isc")[0]["kernels"]] == ["gemm_bf16_tn"]


def test_a_slower_function_is_found(traces, diff):
    traces(a={}, b={"host_us": 400, "seed": 2})
    result, _ = diff("a.isc", "b.isc")
    assert result["change"]["significant"]
    function = result["functions"][0]
    assert (function["name"], function["file"], function["line"]) == ("prepare", "serve.py", 10)
    assert function["change_ms"] == pytest.approx(0.2, abs=0.01) and function["significant"]
    assert not row(result, "kernels", "gemm_bf16_tn")["significant"]


def test_the_parts_of_each_side_add_up_to_its_mean(traces, diff):
    traces(a={}, b={"kernel_us": 600, "host_us": 150})
    result, _ = diff("a.isc", "b.isc")
    for side in "before", "after":
        parts = sum(c[side + "_ms"] for c in result["classes"])
        assert parts == pytest.approx(result[side]["mean_ms"], rel=1e-3)


def test_a_trace_beside_itself_has_not_changed(traces, diff):
    traces(a={})
    result, status = diff("a.isc", "a.isc", "--fail-on", "0")
    assert status == 0
    assert result["change"]["ratio"] == 0 and not result["change"]["significant"]
    assert [r for part in ("classes", "kernels", "functions", "lines") for r in result[part]
            if r["change_ms"] or r["significant"] or r["state"] != "both"] == []
    assert {f["state"] for f in result["findings"]} <= {"both"}


def test_faster_is_no_failure(traces, diff):
    traces(a={"kernel_us": 600}, b={})
    result, status = diff("a.isc", "b.isc", "--fail-on", "1%")
    assert result["change"]["significant"] and result["change"]["high"] < 0
    assert status == 0


@pytest.mark.parametrize("limit, status", [("5%", 3), ("5", 3), ("0", 3), ("12.5%", 3), ("50%", 0)])
def test_fail_on_wants_significance_and_size(traces, diff, limit, status):
    traces(a={}, b={"kernel_us": 600})
    assert diff("a.isc", "b.isc", "--fail-on", limit)[1] == status


def test_a_small_change_of_one_pair_does_not_fail(traces, diff):
    traces(a={}, b={"kernel_us": 425, "seed": 2})
    result, status = diff("a.isc", "b.isc", "--fail-on", "1%")
    assert result["change"]["ratio"] > 0.03 and not result["change"]["significant"]
    assert status == 0


def test_several_traces_per_side_detect_what_one_does_not(traces, diff):
    traces(**{"a%d" % i: {"seed": i} for i in range(1, 6)})
    traces(**{"b%d" % i: {"seed": 10 + i, "kernel_us": 430} for i in range(1, 6)})
    sides = [["%s%d.isc" % (side, i) for i in range(1, 6)] for side in "ab"]
    result, status = diff("--before", *sides[0], "--fail-on", "3%", "--after", *sides[1])
    assert status == 3
    assert result["change"]["significant"] and result["change"]["degrees_of_freedom"] == 12
    assert [t["path"] for t in result["before"]["traces"]] == sides[0]
    assert result["after"]["steps"] == 300
    # one option for each trace is the same
    again = [word for side, flag in zip(sides, ("--before", "--after"))
             for trace in side for word in (flag, trace)]
    assert diff(*again)[0] == result


def test_what_is_only_on_one_side_is_new_or_gone(traces, diff):
    traces(a={"kernel": "old_kernel"}, b={"kernel": "new_kernel", "seed": 2})
    result, _ = diff("a.isc", "b.isc")
    assert row(result, "kernels", "old_kernel")["state"] == "gone"
    assert row(result, "kernels", "new_kernel")["state"] == "new"
    assert row(result, "kernels", "old_kernel")["after_ms"] == 0


def test_a_line_that_moved_is_the_same_line(traces, diff, inferscope):
    traces(a={}, b={"line": 51, "seed": 2})
    result, _ = diff("a.isc", "b.isc")
    moved = [r for r in result["lines"] if r["class"] == "GPU compute"]
    assert [(r["state"], r["line_before"], r["line"]) for r in moved] == [("both", 44, 51)]
    traces(b={"line": 51, "kernel_us": 700})
    assert "serve.py:51 (was 44)" in inferscope("diff", "a.isc", "b.isc").stdout


def test_folders_of_the_program_do_not_matter(traces, diff):
    traces(a={}, b={"folder": "/home/me/branch", "seed": 2})
    result, _ = diff("a.isc", "b.isc")
    assert {r["state"] for part in ("functions", "lines") for r in result[part]} == {"both"}


def test_findings_that_came_are_told(traces, diff):
    traces(a={"host_us": 20, "kernel_us": 2000}, b={"host_us": 2000, "kernel_us": 2000})
    result, _ = diff("a.isc", "b.isc")
    new = [f for f in result["findings"] if f["state"] == "new"]
    assert "cpu-preprocessing" in [f["id"] for f in new]
    assert all("before_saving_ms" not in f and "after_saving_ms" in f for f in new)
    back = diff("b.isc", "a.isc")[0]["findings"]
    assert "cpu-preprocessing" in [f["id"] for f in back if f["state"] == "gone"]


def test_steps_of_other_names_need_to_be_named(traces, diff, refused):
    traces(a={}, b={"name": "serve", "seed": 2}, c={"name": "serve=fast", "seed": 3})
    line = refused("diff", "a.isc", "b.isc", status=1)
    assert line == ("the traces have no step in common; before: 'infer'; after: 'serve'; "
                    "--step BEFORE=AFTER compares steps of different names")
    result, _ = diff("a.isc", "b.isc", "--step", "infer=serve")
    assert (result["before"]["step"], result["after"]["step"]) == ("infer", "serve")
    assert diff("a.isc", "c.isc", "--step", "infer=serve=fast")[0]["after"]["step"] == "serve=fast"
    assert diff("c.isc", "c.isc", "--step", "serve=fast")[0]["before"]["step"] == "serve=fast"
    assert "not every trace has a step 'gone'; before: 'infer'; after: 'infer'" in refused(
        "diff", "a.isc", "a.isc", "--step", "gone", status=1)


def test_too_few_steps_are_not_tested(traces, diff):
    traces(a={"steps": 10}, b={"steps": 10, "kernel_us": 900})
    result, status = diff("a.isc", "b.isc", "--fail-on", "1%")
    assert status == 0
    assert not result["change"]["tested"] and not result["change"]["significant"]
    assert result["notes"][0].startswith("not tested: ")
    assert not any(r["significant"] for r in result["kernels"] + result["classes"])
    assert diff("--before", "a.isc", "a.isc", "--after", "b.isc", "b.isc", "--fail-on", "1")[1] == 3


def test_the_statistic_is_chosen(traces, diff):
    traces(a={"steps": 400}, b={"steps": 400, "kernel_us": 600, "seed": 2})
    for which in "median", "mean", "p95":
        change = diff("a.isc", "b.isc", "--statistic", which)[0]["change"]
        assert change["statistic"] == which and change["significant"]
    assert not diff("a.isc", "b.isc", "--statistic", "p99")[0]["change"]["tested"]


def test_a_larger_spread_of_runs_is_less_certain(traces, diff):
    traces(a={}, b={"kernel_us": 500, "seed": 2})
    certain, doubtful = (diff("a.isc", "b.isc", "--run-spread", spread)[0]["change"]
                         for spread in ("0.5", "20"))
    assert certain["significant"] and not doubtful["significant"]
    assert doubtful["low"] < certain["low"] < certain["high"] < doubtful["high"]


def test_differences_of_the_environment_are_noted(traces, diff):
    traces(a={"info": "info framework torch 2.11.0"}, b={"info": "info framework torch 2.12.0"})
    notes = diff("a.isc", "b.isc")[0]["notes"]
    assert "torch differs: 2.11.0 before, 2.12.0 after" in notes


def test_the_terminal_says_it_first(traces, inferscope):
    traces(a={}, b={"kernel_us": 600})
    done = inferscope("diff", "a.isc", "b.isc")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "inferscope diff  infer"
    assert lines[2].strip().startswith("slower by 3")
    assert "95 % interval" in lines[3]
    assert max(len(line) for line in lines) <= 80
    assert any(line.split()[0] == "gemm_bf16_tn" and line.endswith(" *") for line in lines if line)
    assert "\033" not in done.stdout


def test_reports_in_all_formats(traces, inferscope, work):
    traces(a={}, b={"kernel_us": 600})
    done = inferscope("diff", "a.isc", "b.isc", "--report", "d.md", "--report", "d.html",
                      "--report", "d.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("reports d.md, d.html, d.json\n")
    markdown = (work / "d.md").read_text()
    assert markdown.startswith("# InferScope diff\n\n**slower by ")
    for chapter in "Step time", "Classes of time", "Kernels", "Functions", "Lines", "Notes":
        assert "\n## %s\n" % chapter in markdown
    assert "| `gemm_bf16_tn` | 4" in markdown
    page = (work / "d.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "<code>gemm_bf16_tn</code>" in page
    assert "<title>InferScope diff: infer</title>" in page
    # on standard output the report has it to itself
    alone = inferscope("diff", "a.isc", "b.isc", "--report", "-")
    assert alone.stdout == markdown and alone.stderr.startswith("inferscope diff")


def test_names_cannot_write_markup(traces, inferscope, work):
    traces(a={"name": "a|b`<img>"}, b={"name": "a|b`<img>", "kernel": "k<script>|`"})
    assert inferscope("diff", "a.isc", "b.isc", "--quiet", "--report", "d.html").returncode == 0
    page = (work / "d.html").read_text()
    assert "<img" not in page and page.count("<script") == 1


def test_the_result_depends_on_the_traces_alone(traces, inferscope, work):
    traces(a={}, b={"kernel_us": 600})
    elsewhere = {"LANG": "de_DE.UTF-8", "COLUMNS": "200", "TZ": "Asia/Tokyo"}
    for name, env in ("x", {}), ("y", elsewhere):
        inferscope("diff", "a.isc", "b.isc", "--report", name + ".json", "--report", name + ".md",
                   env=env)
    assert (work / "x.json").read_bytes() == (work / "y.json").read_bytes()
    assert (work / "x.md").read_bytes() == (work / "y.md").read_bytes()


def test_a_part_of_a_trace_is_compared_with_a_warning(traces, inferscope, work):
    traces(a={}, b={})
    whole = (work / "b.isc").read_bytes()
    (work / "b.isc").write_bytes(whole[:-40])
    done = inferscope("diff", "a.isc", "b.isc")
    assert done.returncode == 0
    assert done.stderr.startswith("inferscope: warning: b.isc: ")
    assert "b.isc is partial" in done.stdout


def test_traces_of_other_tools_are_compared(diff, root):
    folder = os.path.join(root, "../shared/traces")
    if not os.path.isdir(folder):
        folder = "/work/shared/traces"
    if not os.path.isdir(folder):
        pytest.skip("../shared/traces is absent")
    result, _ = diff(os.path.join(folder, "kineto_h100_bert_inference.json.gz"),
                     os.path.join(folder, "kineto_h100_qwen_inference.json.gz"))
    assert result["before"]["step"] == result["after"]["step"]
    assert {"new", "gone", "both"} == {k["state"] for k in result["kernels"]}


def kineto_service(path, steps, kernel):
    """What nsys_file.service() writes, as PyTorch's profiler does: times are microseconds."""
    def complete(name, cat, ts, dur, tid=10, pid=10, **args):
        return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                "args": args}
    events = []
    for i in range(steps):
        at, work = 1000 + 100 * i, {"device": 0, "context": 1, "stream": 7}
        events += [complete("step %d" % i, "user_annotation", at, 70 + kernel),
                   complete("cudaLaunchKernel", "cuda_runtime", at + 4, 5, correlation=10 * i + 1),
                   complete("gemm", "kernel", at + 10, kernel, 7, 0, correlation=10 * i + 1,
                            **work)]
    path.write_text(json.dumps({"traceEvents": events}))


def test_a_trace_of_pytorch_s_profiler_against_one_of_nsight_systems(diff, work):
    kineto_service(work / "a.json", 40, 20)
    nsys_file.service(work / "b.sqlite", 40)
    same, _ = diff("a.json", "b.sqlite")
    assert same["before"]["step"] == same["after"]["step"] == "step #"
    assert same["change"]["ratio"] == 0 and not same["change"]["significant"]
    gemm = row(same, "kernels", "gemm")
    assert gemm["state"] == "both" and gemm["before_ms"] == gemm["after_ms"] == 0.02
    kineto_service(work / "slower.json", 40, 29)
    slower, status = diff("b.sqlite", "slower.json", "--fail-on", "5%")
    assert (slower["change"]["ratio"], slower["change"]["significant"], status) == (0.1, True, 3)


def test_a_trace_of_ours_against_its_export(diff, inferscope, root, work):
    trace = os.path.join(root, "examples/traces/h200_gpt2_decode.isc")
    assert inferscope("export", trace, "--to", "chrome", "-o", "e.json").returncode == 0
    result, _ = diff(trace, "e.json")
    assert result["change"]["ratio"] == 0 and not result["change"]["significant"]
    assert {k["state"] for k in result["kernels"]} == {"both"}
    assert [k["name"] for k in result["kernels"] if k["before_ms"] != k["after_ms"]] == []


def test_runs_without_steps_are_compared_as_a_whole(story, diff):
    for name, end in ("a", 600000), ("b", 900000):
        story("info command python3\ninfo command app.py\nprocess 1 77 app.py 0 1000000\n"
              "thread 1 1 77 MainThread 0 1000000 0\n"
              "1: +main@1000 +work@2000 -work@%d -main@950000\nend 1000000 0\n" % end,
              name + ".isc")
    result, _ = diff("a.isc", "b.isc")
    assert not result["change"]["tested"]
    assert row(result, "functions", "work")["change_ms"] == pytest.approx(0.3)


@pytest.mark.parametrize("args, says", [
    ([], "diff: two traces are compared: diff BEFORE AFTER"),
    (["a.isc"], "diff: two traces are compared: diff BEFORE AFTER"),
    (["a.isc", "a.isc", "x.isc"],
     "diff: unexpected 'x.isc'; several traces per side: --before A B --after C D"),
    (["--before", "a.isc"], "diff: --after is missing"),
    (["--after", "a.isc"], "diff: --before is missing"),
    (["--before", "--after", "a.isc"], "--before needs a value: --before TRACE..."),
    (["x.isc", "--before", "a.isc", "--after", "a.isc"],
     "diff: unexpected 'x.isc' beside --before and --after"),
    (["a.isc", "a.isc", "--fail-on", "much"],
     "--fail-on: expected a percentage such as 5%, not 'much'"),
    (["a.isc", "a.isc", "--fail-on", "-5%"],
     "--fail-on: expected a percentage such as 5%, not '-5%'"),
    (["a.isc", "a.isc", "--fail-on", "nan"],
     "--fail-on: expected a percentage such as 5%, not 'nan'"),
    (["a.isc", "a.isc", "--statistic", "max"],
     "--statistic: expected median|mean|p95|p99, not 'max'"),
    (["a.isc", "a.isc", "--report", "a.isc"], "cannot write 'a.isc': it is a trace to read; "
                                              "choose another file"),
    (["a.isc", "a.isc", "--report", "d.txt"],
     "cannot write 'd.txt': the name of a report must end in .md, .html or .json"),
    (["a.isc", "a.isc", "--report", "d.md", "--report", "./d.md"],
     "report './d.md' is given twice"),
])
def test_mistakes_are_usage_errors(traces, refused, args, says):
    traces(a={})
    assert refused("diff", *args) == says


def test_what_cannot_be_read_is_named(traces, refused, work):
    traces(a={})
    (work / "junk").write_bytes(b"no trace")
    assert "gone.isc" in refused("diff", "a.isc", "gone.isc", status=1)
    assert "junk" in refused("diff", "junk", "a.isc", status=1)


def test_recorded_runs_are_compared(inferscope, diff, work):
    (work / "app.py").write_text(
        "import sys\n"
        "from inferscope import scope\n"
        "def work(n):\n"
        "    return sum(range(n))\n"
        "for i in range(60):\n"
        "    with scope('step'):\n"
        "        work(int(sys.argv[1]))\n")
    for name, size in ("a", "2000"), ("b", "200000"):
        done = inferscope("run", "--quiet", "--python", sys.executable, "--trace", name + ".isc",
                          "--report", "/dev/null", "app.py", size)
        assert done.returncode == 0, done.stderr
    result, _ = diff("a.isc", "b.isc")
    assert result["change"]["ratio"] > 1
    assert result["before"]["traces"][0]["command"].endswith("app.py 2000")
