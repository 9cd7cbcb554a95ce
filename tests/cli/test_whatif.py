"""inferscope whatif: traces told as stories and recorded on a GPU, through the real program."""

import json
import os
import re

import jsonschema
import pytest

MS = 1000000
RECORDED = ["h200_encoder", "h200_gpt2_decode", "h200_resnet50", "h200_two_streams"]
HEAD = """\
info command python3
info command serve.py
info cwd /srv/app
process 1 100 serve.py 0 200000000
thread 1 1 100 MainThread 0 200000000 0
thread 2 1 102 cupti 0 200000000 0
code infer /srv/app/serve.py 40
code preprocess /srv/app/serve.py 10
stack 1 infer:44
stack 2 infer:46
"""
GPU = "info gpu on\ngpu 1 1 10 CUPTI 130000\ndevice 1 0 20 NVIDIA H200\n"


def service(gpu=True, steps=True):
    """Ten steps of 2 ms of preprocessing and, with a GPU, a kernel of 3 ms that is waited for."""
    lines = [HEAD + (GPU if gpu else "")]
    for i in range(10):
        at = MS + 6 * MS * i
        call = 2 * i + 1
        if steps:
            lines.append("1: [request#%d/0@%d" % (i + 1, at))
        lines.append("1: +preprocess@%d -preprocess@%d" % (at, at + 2 * MS))
        end = at + 2 * MS
        if gpu:
            lines.append("1: {cudaLaunchKernel#%d:1/1@%d }%d@%d" % (call, end, call, end + 5000))
            lines.append("1: {cudaStreamSynchronize#%d:6/2@%d }%d@%d" % (
                call + 1, end + 5000, call + 1, end + 3020000))
            lines.append("2: kernel:gemm#%d@%d:%d+%d/7" % (call, end + 9000, end + 10000, 3 * MS))
            end += 3020000
        if steps:
            lines.append("1: ]#%d@%d" % (i + 1, end))
    return "\n".join(lines) + "\nend 200000000 0\n"


@pytest.fixture(scope="session")
def schema(root):
    with open(os.path.join(root, "docs/schema/whatif.schema.json")) as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


@pytest.fixture
def whatif(inferscope, schema):
    def run(trace, *options):
        done = inferscope("whatif", trace, "--json", *options)
        assert (done.returncode, done.stderr) == (0, "")
        answer = json.loads(done.stdout)
        schema.validate(answer)
        return answer
    return run


def test_the_answer_is_one_line_and_what_it_assumes(inferscope, story):
    done = inferscope("whatif", story(service()), "--free", "preprocess", "--speedup", "gemm=2")
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first.startswith("request: 5.02 ms -> 1.52 ms a step, 3.50 ms (69.7 %) saved; ")
    assert "GPU idle 2.02 ms -> " in first
    assert [line.split(" assumes: ")[0] for line in rest] == [
        "  --free preprocess", "  --speedup gemm=2"]


def test_json_says_the_same(whatif, story):
    answer = whatif(story(service()), "--free", "preprocess", "--speedup", "gemm=2")
    assert (answer["step"], answer["steps"]) == ("request", 9)
    assert answer["measured_ms"] == pytest.approx(5.02)
    assert answer["saving_ms"] == pytest.approx(3.5)
    assert answer["saving_low_ms"] <= answer["saving_ms"] <= answer["saving_high_ms"]
    assert [edit["factor"] for edit in answer["edits"]] == [None, 2]
    assert answer["replay"]["reliable"]


def test_the_same_question_has_the_same_answer(inferscope, story):
    trace = story(service())
    answers = {inferscope("whatif", trace, "--graph", "all", "--overlap", "preprocess",
                          "--remove-sync", "46", "--json").stdout for _ in range(3)}
    assert len(answers) == 1


@pytest.mark.parametrize("where, ms", [
    ("preprocess", 2), ("serve.py:46", 0.003), ("serve.py", 2.008), ("all", 2.008)])
def test_where_is_a_function_a_line_a_file_or_all(whatif, story, where, ms):
    answer = whatif(story(service()), "--free", where)
    assert answer["saving_ms"] == pytest.approx(ms, abs=0.02)


def test_a_step_that_runs_ahead_still_takes_the_device(whatif, story):
    answer = whatif(story(service()), "--overlap", "preprocess")
    assert answer["predicted_ms"] == pytest.approx(3.02)


def test_a_program_without_a_gpu_has_host_time_to_change(whatif, story):
    answer = whatif(story(service(gpu=False)), "--faster", "preprocess=4")
    assert answer["saving_ms"] == pytest.approx(1.5)
    assert answer["gpu_idle_ms"] is None


@pytest.mark.parametrize("options, says", [
    (["--free", "preproces"], "--free: no function 'preproces' in the steps; did you mean "
                              "'preprocess'?"),
    (["--free", "zzzzzzzzzz"], "--free: no function 'zzzzzzzzzz' in the steps; `inferscope "
                               "analyze` lists them"),
    (["--speedup", "gem=2"], None),
    (["--speedup", "conv=2"], "--speedup: no kernel 'conv' in the steps"),
    (["--remove-sync", "44"], "--remove-sync: nothing in the steps applies at '44'"),
    (["--pin", "all"], "--pin: the steps contain nothing of this kind"),
    (["--remove", "gc"], "--remove: the steps have no time of 'gc'"),
    (["--remove", "time"], "--remove: expected allocation, compile, gc, gil, io, locks or sleep, "
                           "not 'time'"),
    (["--speedup", "gemm"], "--speedup: expected a name and how many times faster, such as "
                            "gemm=2, not 'gemm'"),
    (["--faster", "preprocess=0"], "--faster: expected a name and how many times faster, such as "
                                   "preprocess=2, not 'preprocess=0'"),
    (["--speedup", "=2"], "--speedup: expected a name and how many times faster, such as gemm=2, "
                          "not '=2'"),
    ([], "whatif: nothing to change; for example --free FUNCTION or --remove-sync LINE"),
])
def test_a_mistake_is_told_in_one_line(refused, inferscope, story, options, says):
    trace = story(service())
    if says is None:  # a part of a kernel's name is enough
        assert inferscope("whatif", trace, *options).returncode == 0
        return
    assert refused("whatif", trace, *options).startswith(says)


def test_kernels_need_a_gpu(refused, story):
    assert refused("whatif", story(service(gpu=False)), "--speedup", "all=2") == \
        "--speedup: the steps have no GPU work"


def test_without_steps_there_is_no_answer(refused, story):
    text = HEAD + "1: +preprocess@%d -preprocess@%d\nend 200000000 0\n" % (MS, 3 * MS)
    assert "no steps were recorded completely" in refused(
        "whatif", story(text), "--free", "preprocess", status=1)


def test_operands(refused, story):
    trace = story(service())
    assert refused("whatif") == "whatif: no trace given; whatif TRACE --free FUNCTION"
    assert refused("whatif", trace, trace, "--free", "all").startswith("whatif: one trace at a")
    assert refused("whatif", "missing.isc", "--free", "all", status=1).startswith("cannot open")


@pytest.mark.parametrize("name", RECORDED)
def test_an_unchanged_replay_is_what_was_recorded(whatif, root, name):
    answer = whatif(os.path.join(root, "examples/traces", name + ".isc"), "--free", "all")
    print(name, answer["replay"])
    assert answer["replay"]["step_error_share"] <= 0.03
    assert answer["replay"]["gpu_idle_error_share"] <= 0.05
    assert answer["replay"]["reliable"]
    assert 0 <= answer["predicted_ms"] <= answer["replayed_ms"]


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("options", [
    ["--overlap", "all"], ["--graph", "all"], ["--speedup", "all=3"], ["--remove-sync", "all"],
    ["--overlap", "all", "--graph", "all", "--speedup", "all=1000", "--free", "all"]])
def test_times_stay_times(inferscope, schema, root, name, options):
    done = inferscope("whatif", os.path.join(root, "examples/traces", name + ".isc"), "--json",
                      *options)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    schema.validate(answer)
    assert answer["predicted_ms"] >= 0
    assert answer["gpu_idle_predicted_ms"] >= 0


def test_every_option_is_documented(inferscope, root):
    text = inferscope("whatif", "--help").stdout
    with open(os.path.join(root, "docs/WHATIF.md")) as file:
        page = file.read()
    for option in re.findall(r"^\s+(--[a-z-]+) (?:WHERE|WHAT|KERNEL)", text, re.M):
        assert "`%s " % option in page, option


@pytest.mark.parametrize("name", [
    "kineto_h100_bert_inference", "kineto_h100_qwen_inference", "kineto_v100_resnet_ns_resolution",
    "kineto_b200_eager_step", "kineto_mi250_minitoy"])
def test_traces_of_other_tools_are_replayed(inferscope, schema, root, name):
    folders = [os.path.join(root, "../shared/traces"), "/work/shared/traces"]
    paths = [os.path.join(folder, name + ".json.gz") for folder in folders]
    found = [path for path in paths if os.path.exists(path)]
    if not found:
        pytest.skip("../shared/traces is absent")
    done = inferscope("whatif", found[0], "--json", "--speedup", "all=2", "--graph", "all")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    schema.validate(answer)
    assert answer["replay"]["reliable"], answer["replay"]
