"""A folder of traces, one for each rank: a section each and a comparison."""

import gzip
import json
import os

import jsonschema
import pytest


@pytest.fixture(scope="session")
def ranks_schema(root):
    loaded = {}
    for name in ("ranks", "report", "report_short"):
        with open(os.path.join(root, "docs/schema/%s.schema.json" % name)) as file:
            loaded[name] = jsonschema.Draft202012Validator(json.load(file))
    return loaded


def complete(name, cat, ts, dur, tid=10, pid=10, **args):
    return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


def rank_trace(rank, step=90, gemm=20, steps=4, communication=5, said=True):
    """Steps of `step` us with a kernel and a collective."""
    work = {"device": rank, "context": 1, "stream": 7}
    events = []
    for i in range(steps):
        at = 1000 + 200 * i
        events += [
            complete("infer", "user_annotation", at, step),
            complete("cudaLaunchKernel", "cuda_runtime", at + 1, 2, correlation=10 * i + 1),
            complete("gemm", "kernel", at + 5, gemm, tid=7, pid=0, correlation=10 * i + 1, **work),
            complete("cudaLaunchKernel", "cuda_runtime", at + 3, 2, correlation=10 * i + 2),
            complete("ncclDevKernel_AllReduce_Sum_f16_RING_LL", "kernel", at + 60, communication,
                     tid=7, pid=0, correlation=10 * i + 2, **work)]
    trace = {"schemaVersion": 1, "traceEvents": events}
    if said:
        trace["distributedInfo"] = {"rank": rank}
    return trace


@pytest.fixture
def folder(work):
    path = work / "traces"
    path.mkdir()

    def add(name, trace):
        data = json.dumps(trace).encode()
        (path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    add("b.json", rank_trace(0, step=90, gemm=20))
    add("a.json.gz", rank_trace(1, step=110, gemm=40))
    add("worker_rank10.json", rank_trace(10, step=100, gemm=30, said=False))
    (path / "notes.txt").write_text("no trace")
    (path / "README.md").write_text("neither")
    (path / ".hidden").write_text("")
    (path / "sub").mkdir()
    return add


def read(inferscope, work, *more):
    done = inferscope("analyze", "--quiet", "traces", "--report", "r.json", *more)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads((work / "r.json").read_text())


def test_ranks_are_compared(inferscope, work, folder, ranks_schema):
    result = read(inferscope, work)
    ranks_schema["ranks"].validate(result)
    assert [(r["rank"], r["trace"], r["guessed"]) for r in result["ranks"]] == [
        (0, "b.json", False), (1, "a.json.gz", False), (10, "worker_rank10.json", False)]
    assert [(r["steps"], r["step_mean_ms"], r["kernels"], r["communication_ms"], r["gpu_busy_ms"])
            for r in result["ranks"]] == [(4, 0.09, 8, 0.02, 0.1), (4, 0.11, 8, 0.02, 0.18),
                                          (4, 0.1, 8, 0.02, 0.14)]
    compared = result["comparison"]
    assert compared["step"] == "infer"
    assert compared["step_time"] == {"mean_ms": 0.1, "most_ms": 0.11, "least_ms": 0.09,
                                     "slowest_rank": 1, "fastest_rank": 0, "imbalance": 0.1}
    assert compared["own_work"]["slowest_rank"] == 1
    assert compared["own_work"]["imbalance"] == pytest.approx(1 / 3, abs=1e-6)
    assert result["notes"] == ["2 files are no traces: README.md, notes.txt"]
    for rank in result["ranks"]:
        ranks_schema["report"].validate(rank["report"])


def test_a_rank_has_the_report_of_its_trace(inferscope, work, folder):
    result = read(inferscope, work)
    assert inferscope("analyze", "--quiet", "traces/b.json", "--report", "b.json").returncode == 0
    assert result["ranks"][0]["report"] == json.loads((work / "b.json").read_text())
    one = read(inferscope, work, "--rank", "1")
    assert one == result["ranks"][1]["report"]
    named = read(inferscope, work, "--rank", "10")
    assert named == result["ranks"][2]["report"]


def test_markdown_html_and_terminal(inferscope, work, folder):
    done = inferscope("analyze", "traces", "--report", "r.md", "--report", "r.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 ranks, step infer" in done.stdout
    assert "rank 1 (slowest): 110 µs, 10.0 % above the mean of 100 µs" in " ".join(
        done.stdout.split())
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    text = (work / "r.md").read_text()
    headings = [line for line in text.splitlines() if line.startswith("# ")]
    assert headings == ["# InferScope: 3 ranks"]
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Rank 0", "## Rank 1", "## Rank 10"]
    assert "Rank 10" in (work / "r.html").read_text()


def test_ranks_without_numbers_and_steps(inferscope, work):
    (work / "traces").mkdir()
    for i, name in enumerate(["x2.json", "x10.json"]):
        trace = rank_trace(i, gemm=20 + i, said=False)
        for event in trace["traceEvents"]:
            event["name"] = event["name"].replace("infer", "infer" + "ab"[i])
        (work / "traces" / name).write_text(json.dumps(trace))
    result = read(inferscope, work)
    assert [(r["rank"], r["trace"], r["guessed"], r["step_mean_ms"]) for r in result["ranks"]] == [
        (0, "x2.json", True, None), (1, "x10.json", True, None)]
    assert result["comparison"]["step_time"] is None
    assert result["comparison"]["gpu_busy"]["slowest_rank"] == 1
    assert "no kind of step in common" in result["notes"][0]
    assert "numbered in order of the names" in result["notes"][1]


def test_reports_of_earlier_are_no_ranks(inferscope, work, folder):
    for _ in range(2):
        done = inferscope("analyze", "--quiet", "traces", "--report", "traces/r.json")
        assert (done.returncode, done.stderr) == (0, "")
        assert len(json.loads((work / "traces/r.json").read_text())["ranks"]) == 3


def test_findings_of_any_rank_count(inferscope, work, folder):
    quiet = inferscope("analyze", "--quiet", "traces", "--fail-on", "gc-pause")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    (work / "rules.yaml").write_text("bottleneck_rules:\n  - name: always\n"
                                     "    condition: '1 > 0'\n    suggestion: none\n")
    assert inferscope("analyze", "--quiet", "traces", "--rules", "rules.yaml",
                      "--fail-on", "always").returncode == 3


@pytest.mark.parametrize("args, says", [
    (["traces", "--rank", "7"], "has no trace of rank 7"),
    (["traces/b.json", "--rank", "3"], "is of rank 0, not of rank 3"),
    (["empty"], "empty holds no trace"),
    (["junk"], "junk holds no trace, only a, b"),
    (["one"], "is not an InferScope trace"),
])
def test_mistakes(refused, work, folder, args, says):
    for name, files in (("empty", ""), ("junk", "ab"), ("one", "a")):
        (work / name).mkdir()
        for file in files:
            (work / name / file).write_text("text")
    assert says in refused("analyze", *args, status=1)


def test_a_single_trace_of_that_rank(inferscope, work, folder):
    assert inferscope("analyze", "--quiet", "traces/b.json", "--rank", "0").returncode == 0
