"""The GPU kit without a GPU: its rulers measure right, what cannot run is seen to be skipped."""

import argparse
import glob
import json
import os
import py_compile
import subprocess
import sys
import tarfile
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "workloads")]

import check  # noqa: E402
import comparisons  # noqa: E402
import cupti_versions  # noqa: E402
import gpu_events  # noqa: E402
import kit  # noqa: E402
import overhead  # noqa: E402
import record_examples  # noqa: E402
import record_taps  # noqa: E402
import record_unseen  # noqa: E402
import sizes  # noqa: E402
import stress  # noqa: E402
import truth  # noqa: E402

PROGRAMS = ["check.py", "overhead.py", "sizes.py", "cupti_versions.py", "golden_traces.py",
            "record_examples.py", "record_unseen.py", "record_taps.py", "services.py",
            "stress.py", "under_profiler.py"]
SCRIPTS = sorted(glob.glob(os.path.join(HERE, "**", "*.py"), recursive=True))
PID = 71


def run(*arguments, **environment):
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment}
    return subprocess.run(list(arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, universal_newlines=True, env=env, timeout=60)


# ---- what the kit makes of an export

def call(correlation, name, start, end, **more):
    return {"event_type": "cuda_api", "name": name, "start_us": start, "end_us": end, "pid": PID,
            "correlation_id": correlation, "file": "/x/torch/nn.py", "line": 8,
            "user_file": "/x/gpt2_decode.py", "user_line": 30, **more}


def kernel(correlation, name, start, end, stream=7):
    return {"event_type": "gpu_kernel", "name": name, "start_us": start, "end_us": end, "pid": PID,
            "device_id": 0, "stream_id": stream, "grid_dim": [1, 1, 1], "block_dim": [1, 1, 1],
            "correlation_id": correlation}


def copied(correlation, kind, source, destination, nbytes, start, end):
    return {"event_type": "gpu_memcpy", "name": kind, "kind": kind, "source": source, "pid": PID,
            "destination": destination, "bytes": nbytes, "start_us": start, "end_us": end,
            "stream_id": 7, "correlation_id": correlation}


def scoped(name, instance, start, end):
    common = {"name": name, "pid": PID, "instance": instance}
    return [{"event_type": "scope_enter", "start_us": start, **common},
            {"event_type": "scope_exit", "start_us": end, **common}]


def export(events):
    """The lines of an export, as `inferscope export --to json` writes them."""
    def compact(value):
        return json.dumps(value, separators=(",", ":"))
    noise = {"event_type": "cpu_function", "name": "gpu_kernel", "start_us": 0, "end_us": 1}
    body = ",\n".join(compact(event) for event in [noise] + events)
    text = ('{\n"inferscope":{\n"version":"0.1.0",\n"notes":["CUPTI was taken"]\n},\n"events":[\n'
            + body + "\n]\n}\n")
    return text.splitlines(keepends=True)


def good_events():
    """A program with two kernels of 2 ms, one of them alone, a copy, a memset and a wait."""
    return [call(1, "cudaLaunchKernel", 100, 105), kernel(1, "spin_alone", 110, 2110),
            call(2, "cudaLaunchKernel", 2200, 2205), kernel(2, "spin_busy", 2210, 4210, stream=9),
            call(3, "cudaMemcpyAsync", 2300, 2310),
            copied(3, "host_to_device", "pinned", "device", 4096, 4220, 4225),
            call(4, "cudaMemsetAsync", 2320, 2330),
            {"event_type": "gpu_memset", "name": "memset", "bytes": 64, "start_us": 4230,
             "end_us": 4232, "pid": PID, "stream_id": 7, "correlation_id": 4},
            call(5, "cudaDeviceSynchronize", 2400, 4300),
            ] + scoped("timed", 1, 90, 4310) + scoped("token", 2, 90, 4310)


GOOD_TRUTH = {"workload": "native", "kernels": 2, "named": {"spin_alone": 1, "spin_busy": 1},
              "spin_ns": 2e6, "event_ms": 2.001, "memsets": 1, "memset_bytes": 64, "cupti": [],
              "copies": [truth.copy("HtoD", "pinned", "device", 1, 4096)], "digest": "ab" * 32,
              "child_status": 7}
GOOD_REPORT = {"trust": {"causality_violations": 0, "clock_error_us": 3.5, "notes": []},
               "gpu": {"busy_share": 0.9, "idle_share": 0.1}}


def outcome(events=None, facts=None, report=None, status=3, counts=None):
    recording = gpu_events.Recording(export(good_events() if events is None else events))
    done = kit.Run(3, "", "", 1.0, 50.0)
    return comparisons.Outcome(
        "native", "token", done, done._replace(status=status), {**GOOD_TRUTH, **(facts or {})},
        GOOD_TRUTH, counts or recording.counts(), recording,
        {**GOOD_REPORT, **(report or {})})


ALL = [comparisons.status, comparisons.output, comparisons.own_counts, comparisons.profiler_counts,
       comparisons.causality, comparisons.clock, comparisons.matching, comparisons.lines,
       comparisons.spins, comparisons.shares, comparisons.child]


def verdicts(result):
    case = check.case("native", "native", checks=ALL[1:])
    return {row.check: row.verdict for row in check.judge(case, result)}


def test_a_right_recording_passes_every_check():
    assert set(verdicts(outcome()).values()) == {kit.OK}


def without(kind):
    return [event for event in good_events() if event["event_type"] != kind]


def changed(nth, **fields):
    events = good_events()
    events[nth] = {**events[nth], **fields}
    return events


@pytest.mark.parametrize("what, broken", [
    ("exit status", lambda: outcome(status=0)),
    ("output digest", lambda: outcome(facts={"digest": "cd" * 32})),
    ("kernels", lambda: outcome(events=without("gpu_kernel"))),
    ("kernel spin_busy", lambda: outcome(facts={"named": {"spin_busy": 2}})),
    ("copies, bytes", lambda: outcome(events=changed(5, bytes=4097))),
    ("copies, bytes", lambda: outcome(events=changed(5, source="pageable"))),
    ("memsets", lambda: outcome(events=without("gpu_memset"))),
    ("memset bytes", lambda: outcome(facts={"memset_bytes": 65})),
    ("kernels = profiler", lambda: outcome(events=without("gpu_kernel"),
                                           counts=outcome().events.counts())),
    ("copies = profiler", lambda: outcome(events=without("gpu_memcpy"),
                                          counts=outcome().events.counts())),
    ("before their launch", lambda: outcome(events=changed(1, start_us=99.999))),
    ("without times", lambda: outcome(events=changed(5, start_us=0, end_us=0))),
    ("without times", lambda: outcome(events=changed(5, start_us=None, end_us=None))),
    ("after their wait", lambda: outcome(events=changed(3, end_us=4300.001))),
    ("violations (report)", lambda: outcome(report={"trust": {"causality_violations": 1}})),
    ("violations (report)", lambda: outcome(report={"trust": {}})),
    ("clock error us", lambda: outcome(report={"trust": {"clock_error_us": 42.3}})),
    ("clock error us", lambda: outcome(report={"trust": {"clock_error_us": -1}})),
    ("clock error us", lambda: outcome(report={"trust": {"clock_error_us": None}})),
    ("launches matched", lambda: outcome(events=changed(1, correlation_id=77))),
    ("activities linked", lambda: outcome(events=changed(5, correlation_id=77))),
    ("launches with a line", lambda: outcome(events=changed(0, line=None))),
    ("... with a user's line", lambda: outcome(events=changed(0, user_file="/x/torch/nn.py"))),
    ("spin us, mean", lambda: outcome(events=changed(1, end_us=2131))),
    ("kernel ms = events", lambda: outcome(facts={"event_ms": 2.03})),
    ("busy + idle (report)", lambda: outcome(report={"gpu": {"busy_share": 0.9}})),
    ("child's exit status", lambda: outcome(facts={"child_status": 1})),
])
def test_each_check_fires(what, broken):
    assert verdicts(broken())[what] == kit.FAIL


def test_a_check_that_breaks_is_a_failure_and_stops_no_other():
    result = outcome(facts={"spin_ns": None})
    assert verdicts(result)["spins"] == kit.FAIL
    assert verdicts(result)["busy + idle (report)"] == kit.OK


def test_a_profiler_that_gave_no_counts_is_a_failure():
    rows = check.judge(check.case("x", "x.py", checks=[comparisons.profiler_counts]),
                       outcome()._replace(counts=None))
    assert rows[-1].verdict == kit.FAIL


def test_nothing_recorded_is_no_match():
    assert verdicts(outcome(events=scoped("token", 1, 0, 9)))["launches matched"] == kit.FAIL


def test_without_cupti_a_note_and_the_scopes_are_what_is_asked_for():
    rounds = scoped("round", 1, 0, 9)

    def rights(events, note):
        result = outcome(events=events, facts={"rounds": 1})
        result.events.head["notes"] = [note]
        return [right for *_, right in comparisons.degraded(result)]
    assert rights(rounds, "libcupti could not be loaded") == [True, True, True]
    assert rights(rounds, "nothing to say") == [True, False, True]
    assert rights(good_events(), "CUPTI is taken") == [False, True, False]


def two_streams(events, overlap_ms):
    facts = {name: {"ms": 4, "sum_ms": 4, "overlap_ms": overlap_ms} for name in
             ("chained", "together")}
    spans = scoped("chained", 1, 0, 9000) + scoped("together", 2, 0, 9000)
    return list(comparisons.overlap(outcome(events=events + spans, facts=facts)))


def test_overlap_of_streams_is_measured():
    side_by_side = [kernel(1, "a", 100, 2100, stream=1), kernel(2, "a", 600, 2600, stream=2)]
    in_turn = [kernel(1, "a", 100, 2100, stream=1), kernel(2, "a", 2100, 4100, stream=2)]
    for events, overlap_ms in ((side_by_side, 1.5), (in_turn, 0.0)):
        assert all(right for *_, right in two_streams(events, overlap_ms))
    assert not all(right for *_, right in two_streams(in_turn, 1.5))
    assert not all(right for *_, right in two_streams([], 0.0))


def test_nodes_of_graphs_need_the_lines_of_their_capture():
    def node(number, function="forward", line=12, file="/x/native.py"):
        return {**kernel(1, "a", 100, 200), "graph_id": 2, "graph_node_id": number,
                "captured_function": function, "captured_file": file, "captured_line": line}

    def rights(check, *events, **row):
        row = {"replays": 2, "replays_by_node": 2, "nodes": 1, "known_nodes": 1, "copies": 1,
               "memsets": 1, **row}
        result = outcome(list(events), {"captured": ["forward"], "graphs": [2]},
                         {"gpu": {"cuda_graphs": [row]}})
        return [right for *_, right in check(result)]
    assert rights(comparisons.captures, node(1), node(1)) == [True, True]
    assert rights(comparisons.captures, node(1), node(1, "main")) == [True, False]
    for wrong in (node(1, line=0), node(1, file="/x/torch/graphs.py")):
        assert rights(comparisons.captures, node(1), wrong) == [False, True]
    assert rights(comparisons.captures) == [False, False]
    both = node(1), node(1)
    assert rights(comparisons.graph_rows, *both) == [True] * 4
    assert rights(comparisons.graph_rows, *both, replays_by_node=1) == [False, True, True, True]
    assert rights(comparisons.graph_rows, *both, known_nodes=0) == [True, False, True, True]
    assert rights(comparisons.graph_rows, *both, copies=0) == [True, True, False, True]
    assert rights(comparisons.graph_rows, both[0]) == [True, True, True, False]
    assert rights(comparisons.replays_known, *both) == [True]
    assert rights(comparisons.replays_known, *both, known_nodes=0) == [False]


def test_time_that_two_kernels_share_counts_once():
    assert gpu_events.union_us([(5, 6), (0, 2), (1, 3), (1, 2)]) == 4


def test_what_is_no_export_is_refused():
    with pytest.raises(ValueError):
        gpu_events.Recording(["{}\n"])


def test_the_profilers_export_is_counted(tmp_path):
    counts = gpu_events.counts_of_kineto({"traceEvents": [
        {"cat": "kernel", "name": "gemm"}, {"cat": "kernel", "name": "gemm"},
        {"cat": "cuda_runtime", "name": "cudaLaunchKernel"}, {"ph": "M", "name": "process_name"},
        {"cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "args": {"bytes": 12}},
        {"cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "args": {"bytes": "8"}},
        {"cat": "gpu_memset", "name": "Memset (Device)", "args": {"bytes": 4}}]})
    assert counts == gpu_events.Counts({"gemm": 2}, {("HtoD", "pageable", "device"): (2, 20)}, 1, 4)
    path = str(tmp_path / "counts.json")
    gpu_events.write_counts(counts, path)
    assert gpu_events.read_counts(path) == counts


@pytest.mark.parametrize("text", ["host_to_device", "HtoD", "H2D", "host to device",
                                  "Memcpy HtoD (Pinned -> Device)"])
def test_every_spelling_of_a_direction_is_known(text):
    assert gpu_events.direction_of(text) == "HtoD"


# ---- running things

def test_the_truth_is_the_last_line_that_names_its_workload():
    assert kit.truth_of('noise\n{"workload": "a", "x": 1}\n{"workload": "a", "x": 2}\n{bad\n'
                        "{}\n") == {"workload": "a", "x": 2}
    assert kit.truth_of("no JSON\n") is None


@pytest.mark.parametrize("code, status, killed", [
    ("import sys; sys.exit(5)", 5, False),
    ("import os; os.kill(os.getpid(), 15)", 143, True),
    ("import sys; sys.exit(139)", 139, False)])  # a recorder whose program crashed
def test_a_run_has_the_status_that_a_shell_would_say(code, status, killed):
    done = kit.execute([sys.executable, "-c", code], 30)
    assert (done.status, done.killed) == (status, killed)


def test_what_failed_is_kept_first():
    rows = [kit.Row("a", "", "", "", kit.OK), kit.Row("b", "", "", "", kit.SKIP),
            kit.Row("c", "", "", "", kit.FAIL), kit.Row("d", "", "", "", kit.OK)]
    assert record_examples.to_keep(rows) == ["c", "a", "d"]


def test_a_run_that_hangs_is_ended():
    done = kit.execute([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"],
                       1.5)
    assert done.status is None and done.stdout == "1\n" and done.seconds < 30


SERVER = """
import sys
sys.path.insert(0, %r)
import truth
print("other output")
truth.serve(lambda: None, lambda: 0.25)
""" % os.path.join(HERE, "workloads")


class FakeVariant(overhead.Variant):
    def __init__(self, name, code):
        super().__init__(name)
        self.code = code

    def arguments(self, command, folder):
        return [sys.executable, "-c", self.code]


def test_variants_take_turns_and_end(tmp_path):
    variants = [FakeVariant("off", SERVER), FakeVariant("default", SERVER)]
    workload = overhead.WORKLOADS[0]
    times, ends = overhead.play_round(workload, variants, 8, str(tmp_path))
    assert times == [{"off": 0.25, "default": 0.25}] * 8
    assert set(ends) == {"off", "default"} and all(end.bytes == 0 for end in ends.values())


def test_a_variant_that_dies_is_told_with_its_last_words(tmp_path):
    dying = FakeVariant("gpu", "import sys; sys.exit('no such device')")
    with pytest.raises(overhead.Stuck, match="gpu: ended; no such device"):
        overhead.play_round(overhead.WORKLOADS[0], [dying], 8, str(tmp_path))


def test_overhead_is_reported_with_goal_interval_and_end():
    ends = {"off": overhead.Ended(0.1, 0, None), "off2": overhead.Ended(0.1, 0, None),
            "default": overhead.Ended(0.5, 10_000, 0.031)}
    rounds = [([{"off": 0.9, "off2": 1.1, "default": seconds}] * 8, ends)
              for seconds in (1.01, 1.03)]
    lines = list(overhead.summarize(overhead.WORKLOADS[0], rounds))
    assert "overhead.gpu_bound.default 1.0200 times <= 1.05" in lines
    assert ("# overhead.gpu_bound.default: 95 % interval 0.8929 .. 1.1471; rounds 1.0100 1.0300"
            in lines)
    assert ("# overhead.gpu_bound.default: of it for the GPU, by its own account, "
            "1.0310 1.0310") in lines
    assert "overhead.gpu_bound.off2 1.1000 times" in lines
    assert "end.gpu_bound.default 0.50 s" in lines


def test_what_we_add_to_cupti_is_reported_where_it_was_measured_alone():
    ends = {name: overhead.Ended(0.1, 0, None) for name in ("off", "cupti", "default")}
    rounds = [([{"off": 1.0, "cupti": 1.1, "default": 1.1 * more}] * 8, ends)
              for more in (1.04, 1.06)]
    lines = list(overhead.summarize(overhead.WORKLOADS[1], rounds))
    assert "overhead.launch_bound.default_by_cupti 1.0500 times <= 1.05" in lines
    assert "# overhead.launch_bound.default_by_cupti: 95 % interval 0.9229 .. 1.1771" in lines


def test_rounds_end_with_the_time_that_was_given(monkeypatch):
    played = []
    monkeypatch.setattr(overhead, "play_round", lambda *_: played.append(1) or time.sleep(0.05))
    args = argparse.Namespace(rounds=1000, turns=8, seconds=0.5, out=None, parts="", other=None,
                              copies=1, lead=1)
    assert len(overhead.measure(overhead.WORKLOADS[0], args)) == len(played) <= 10
    args.seconds = 0
    assert len(overhead.measure(overhead.WORKLOADS[0], args)) == 2


def test_another_build_takes_turns_with_this_one(tmp_path):
    args = argparse.Namespace(parts="", other="their/bin/inferscope", copies=1)
    *_, ours, other = overhead.chosen(args)
    assert (ours.name, other.name) == ("default", "other")
    assert ours.arguments(["a.py"], str(tmp_path))[0] == kit.binary()
    assert other.arguments(["a.py"], str(tmp_path))[0] == os.path.abspath("their/bin/inferscope")
    # Two builds of the agent in one process would write into the same recording.
    package = kit.environment(other.program)["PYTHONPATH"].split(os.pathsep)[0]
    assert package == os.path.abspath("their/lib/inferscope/python")


def test_processes_that_are_the_same_count_together():
    names = ("off", "default", "default2")
    ends = {name: overhead.Ended(0.1, 0, None) for name in names}
    rounds = [([{"off": 1.0, "default": 1.02, "default2": 1.06}] * 8, ends)] * 2
    lines = list(overhead.summarize(overhead.WORKLOADS[0], rounds))
    assert "overhead.gpu_bound.defaults 1.0400 times <= 1.05" in lines
    assert "overhead.gpu_bound.default2 1.0600 times" in lines


def test_turns_of_the_lead_do_not_count(tmp_path):
    server = SERVER.replace("lambda: 0.25", "iter([9.0] * 3 + [0.25] * 8).__next__")
    times, _ = overhead.play_round(overhead.WORKLOADS[0], [FakeVariant("off", server)], 8,
                                   str(tmp_path), lead=3)
    assert times == [{"off": 0.25}] * 8


def test_intervals_get_narrower_with_every_round():
    widths = [overhead.of_rounds([1.0, 1.02] * pairs)[1] for pairs in range(1, 16)]
    assert all(narrower < wide for wide, narrower in zip(widths, widths[1:]))


def test_sizes_are_compared():
    sizes_ = {"gpu": 10, "default": 90, "torch_profiler": 1000, "torch_profiler_stacks": 3000}
    lines = list(sizes.summarize(sizes.WORKLOADS[0], sizes_))
    assert "size.gpu_bound.gpu 0.0100 of_torch_profiler <= 0.05" in lines
    assert "size.gpu_bound.default 0.0300 of_torch_profiler_stacks" in lines


def test_the_versions_of_libcupti_are_told_apart(tmp_path):
    names = {"libcupti.so.11.8": 18, "libcupti.so.2025.2.0": 28, "libcupti.so.13": 130001,
             "libcupti.so.10.2": 12, "libcupti.so.broken": None}
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "libcupti.so").symlink_to(tmp_path / "libcupti.so.11.8")
    found = cupti_versions.find([str(tmp_path / "**" / "libcupti.so*")],
                                lambda path: names[os.path.basename(path)])
    assert {version: os.path.basename(path) for version, path in found.items()} == {
        "11.8": "libcupti.so.11.8", "12.9": "libcupti.so.2025.2.0", "13.0": "libcupti.so.13"}


# ---- taps, of the doubles

@pytest.fixture(params=cupti_versions.WANTED)
def recorded_tap(request, binary, tmp_path):
    """(version, what record_taps.py printed, the tap's path without suffix)"""
    doubles = os.path.abspath(os.path.join(os.path.dirname(binary), "..", "..", "tests", "doubles"))
    if not os.path.exists(os.path.join(doubles, "libfake_cupti.so")):
        pytest.skip("no doubles of CUDA beside %s" % binary)
    sources = os.path.join(os.path.dirname(HERE), "doubles")
    done = run(sys.executable, os.path.join(HERE, "record_taps.py"), "--out", str(tmp_path),
               "--program", os.path.join(sources, "every_kind.py"),
               "--cupti", "%s=%s/libfake_cupti.so" % (request.param, doubles),
               INFERSCOPE_BIN=binary, PYTHONPATH=sources, FAKE_CUPTI_VERSION=request.param,
               FAKE_CUDA=os.path.join(doubles, "libfake_cuda.so"))
    assert done.returncode == 0, done.stdout
    return request.param, done.stdout, str(tmp_path / ("tap_" + request.param.replace(".", "_")))


def test_a_tap_says_what_the_program_says(recorded_tap):
    version, output, path = recorded_tap
    assert "taps: 0 failed, 8 passed, 2 skipped" in output
    with open(path + ".json", encoding="utf-8") as file:
        facts = json.load(file)
    assert facts["cupti"] == version and facts["library"] == "libfake_cupti.so"

    def failures(**changes):
        return [row.check for row in record_taps.compare(version, path + ".tap",
                                                         {**facts, **changes})
                if row.verdict == kit.FAIL]
    assert failures() == []
    assert failures(copies=facts["copies"][1:]) == ["copies"]
    assert failures(kernels=[{**k, "grid": [1, 1, 9]} for k in facts["kernels"]]) == ["kernels"]
    assert failures(graph_nodes=0) == ["graph nodes"]
    with open(path + ".tap", "r+b") as file:
        file.truncate(os.path.getsize(path + ".tap") - 1)
    assert failures() == ["tap"]


def test_recordings_are_chosen_by_program_variant_or_both():
    def names(*words):
        return ["%s_%s" % (program.name, variant)
                for program, variant in record_examples.chosen(words)]
    assert names("held_lock", "healthy_balanced", "held_lock_slow") == [
        "held_lock_slow", "held_lock_fixed", "healthy_balanced_slow"]
    fixed = names("gil_fight_fixed", "fixed")
    assert fixed[0] == "gil_fight_fixed" and len(fixed) == len(set(fixed)) >= 16
    with pytest.raises(ValueError):
        names("nonsense")


def test_recordings_are_packed_in_archives_that_can_be_carried(tmp_path, monkeypatch):
    monkeypatch.setattr(record_examples, "ARCHIVE_BYTES", 100)
    monkeypatch.setattr(record_examples, "ARCHIVES", 2)
    folder = tmp_path / "in"
    folder.mkdir()
    for name, size in (("a", 60), ("b", 60), ("c", 30), ("d", 60), ("huge", 200)):
        (folder / (name + ".isc")).write_bytes(bytes(size))
        (folder / (name + ".md")).write_bytes(b"x")
    left_out = record_examples.pack(str(folder), ["a", "b", "c", "d", "huge"], str(tmp_path))
    assert left_out == ["d", "huge"]
    packed = []
    for number in (1, 2):
        with tarfile.open(str(tmp_path / ("examples-%d.tar" % number))) as tar:
            packed.append(tar.getnames())
    assert packed == [["a.isc", "a.md", "c.isc", "c.md"], ["b.isc", "b.md"]]


def test_programs_never_seen_say_what_they_did_and_mark_what_is_slow():
    assert record_unseen.said("x\nsteps=40 ms_per_step=2.500\n") == {"steps": 40,
                                                                    "ms_per_step": 2.5}
    assert record_unseen.said("steps=40\n") is None
    programs = record_unseen.programs()
    assert len(programs) >= 12 and sum(program.finding is None for program in programs) == 2
    assert [p.name for p in programs if bool(p.places) != bool(p.finding)] == []


def test_the_second_set_has_a_fixed_variant_of_each_slow_program():
    programs = record_unseen.programs("unseen2")
    assert len(programs) >= 16 and sum(program.finding is None for program in programs) == 2
    assert [p.name for p in programs if bool(p.places) != bool(p.finding)] == []
    assert record_unseen.said('x\n{"digest": 3, "steps": 40, "ms_per_step": 2.5}\n')["steps"] == 40
    names = [name for name, _, _ in record_unseen.runs(record_unseen.SETS)]
    assert len(names) == len(set(names)) and names[0] == "thumbnails"
    assert names.index("moe_router_slow") < names.index("moe_router_fixed")
    assert "clip_stream_slow" in names and "clip_stream_fixed" not in names
    slow, fixed = (programs[0].command(each) for each in ("slow", "fixed"))
    assert fixed == slow + ["--fixed"]


def test_the_third_set_tells_its_slow_lines_and_its_reasons():
    programs = record_unseen.programs("unseen3")
    assert len(programs) == 14 and sum(program.finding is None for program in programs) == 3
    assert [p.name for p in programs if bool(p.places) != bool(p.finding)] == []
    ids = [program.finding for program in programs if program.finding]
    assert len(ids) == len(set(ids))
    names = {name for name, _, _ in record_unseen.runs(["unseen3"])}
    assert len(names) == 25 and {"spec_verify_fixed", "calm_server_slow"} <= names


def test_the_fourth_set_tells_its_slow_lines_and_its_reasons():
    programs = record_unseen.programs("unseen4")
    assert len(programs) >= 10 and sum(program.finding is None for program in programs) == 2
    assert [p.name for p in programs if bool(p.places) != bool(p.finding)] == []
    names = {name for name, _, _ in record_unseen.runs(["unseen4"])}
    assert {"toxic_queue_fixed", "sort_ranks_slow"} <= names and "sort_ranks_fixed" not in names


# ---- the scripts themselves

@pytest.mark.parametrize("path", SCRIPTS, ids=os.path.basename)
def test_scripts_compile(path, tmp_path):
    py_compile.compile(path, cfile=str(tmp_path / "c"), doraise=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_explain_themselves(program):
    done = run(sys.executable, os.path.join(HERE, program), "--help")
    assert done.returncode == 0 and "usage:" in done.stdout


@pytest.mark.parametrize("program", PROGRAMS[:7])
def test_what_cannot_run_is_seen_to_be_skipped(program, tmp_path):
    done = run(sys.executable, os.path.join(HERE, program), "--out", str(tmp_path))
    assert done.returncode == kit.NOTHING, done.stdout
    assert "SKIP" in done.stdout and "OK" not in done.stdout


def test_every_workload_is_checked():
    used = {case.command[0].replace("native", "native.cu") for case in check.CASES}
    used.add(record_taps.WORKLOAD)
    used |= {program.command[0] for program in stress.PROGRAMS}
    helpers = {"truth.py", "driver.py", "cuda_check.h", "__pycache__"}
    assert used == set(os.listdir(os.path.join(HERE, "workloads"))) - helpers


def test_unknown_workloads_and_parts_are_refused(tmp_path):
    assert run(sys.executable, os.path.join(HERE, "check.py"), "nonsense").returncode == 2
    done = run(os.path.join(HERE, "run_all.sh"), "nonsense", OUT=str(tmp_path))
    assert done.returncode == 2 and "no part 'nonsense'" in done.stdout


def test_the_whole_kit_ends_with_a_summary(tmp_path):
    done = run(os.path.join(HERE, "run_all.sh"), "check", "cupti", OUT=str(tmp_path))
    assert done.returncode == 0
    summary = done.stdout.split("==== summary\n")[1]
    assert "== check: SKIPPED" in summary and "== cupti: SKIPPED" in summary


def test_a_case_runs_through_plain_and_recorded(binary, tmp_path, monkeypatch):
    """The one workload that needs no GPU, through everything that the others go through."""
    pytest.importorskip("torch")
    monkeypatch.setenv("INFERSCOPE_BIN", binary)
    case = next(case for case in check.CASES if case.name == "no_cuda")
    session = check.Session(str(tmp_path), 100, [])
    rows = check.compare(session, case, session.plain(case), None, session.recorded(case))
    assert [row for row in rows if row.verdict != kit.OK] == []
    assert {row.check for row in rows} == {"exit status", "output digest", "driver libraries",
                                           "libcupti", "GPU events"}
