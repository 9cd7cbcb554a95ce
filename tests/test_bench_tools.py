"""The tools that the benchmarks rely on: a wrong ruler is worse than none."""

import collections
import importlib.util
import json
import os
import random
import subprocess
import sys
import threading
import time
import types

import pytest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench")


def load(name):
    path = os.path.join(BENCH, name + ".py")
    spec = importlib.util.spec_from_file_location("bench_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, BENCH)  # the tools import each other
paired = load("paired")
run = load("run")
cpu = load("bench_cpu")
cpu_table = load("cpu_table")
cpu_tools = load("cpu_tools")
turns = load("turns")


def noisy_pairs(true_ratio, count=25, seed=5):
    """Pairs of a machine whose speed drifts by half while it measures."""
    rng = random.Random(seed)
    pairs = []
    for nth in range(count):
        speed = 1 + 0.5 * nth / count
        pairs.append((speed * rng.gauss(1, 0.01), true_ratio * speed * rng.gauss(1, 0.01)))
    return pairs


@pytest.mark.parametrize("true_ratio", [0.8, 1.0, 1.05, 3.0])
def test_the_interval_holds_the_true_ratio_in_spite_of_drift(true_ratio):
    ratio = paired.summarize(noisy_pairs(true_ratio))
    assert ratio.low <= true_ratio <= ratio.high
    assert ratio.low <= ratio.median <= ratio.high
    assert ratio.high - ratio.low < 0.03 * true_ratio


def test_pairs_are_interleaved_and_swap_their_order():
    calls = []
    times = paired.measure(lambda: calls.append("a"), lambda: calls.append("b"), 16)
    assert len(times) == 16
    assert "".join(calls) == "ab" + "abba" * 8


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_each_variant_follows_each_other_equally_often(count):
    orders = [paired.order_of(nth, count) for nth in range(2 * count)]
    assert all(sorted(order) == list(range(count)) for order in orders)
    follows = collections.Counter(pair for order in orders for pair in zip(order, order[1:]))
    assert len(follows) == count * (count - 1) and len(set(follows.values())) == 1


def test_too_few_pairs_are_refused():
    with pytest.raises(ValueError):
        paired.measure(lambda: None, lambda: None, 14)


def test_a_failing_command_is_not_a_measurement():
    with pytest.raises(subprocess.CalledProcessError):
        paired.command(["false"])()


def test_results_goals_and_remarks_are_read():
    results, remarks = run.parse("ring.push 14.5 ns <= 15\n"
                                 "# one core\n"
                                 "trace.write 9e6 events/s >= 2e7\n"
                                 "size 3 B\n")
    assert [(r.name, r.value, r.unit, r.met) for r in results] == [
        ("ring.push", "14.5", "ns", True), ("trace.write", "9e6", "events/s", False),
        ("size", "3", "B", None)]
    assert remarks == ["one core"]


@pytest.mark.parametrize("line", ["Segmentation fault", "ring.push fast ns", "ring.push 3", ""])
def test_anything_else_is_an_error(line):
    with pytest.raises(run.ProtocolError):
        run.parse(line + "\n")


def cell(ratio, share=None, count=15):
    """As if a tool took `ratio` times as long and its reports said `share`."""
    return cpu_table.Cell("x", [((1.0, 2.0, None, 1.0), (ratio, 2 * ratio, share, ratio))]
                          * count)


def key(tool, row="fib", cores="free"):
    return cpu_table.Key("3.12", row, cores, tool)


def verdict_texts(cells):
    return [verdict.text() for verdict in cpu_table.verdicts(list(cells), cells)]


def test_promises_that_are_kept_and_ones_that_are_not():
    kept = {key("auto"): cell(1.04, 0.03), key("trace"): cell(2.0), key("viztracer"): cell(3.0)}
    assert all("met on all 1" in text for text in verdict_texts(kept))
    broken = {key("auto"): cell(1.06, 0.01), key("trace"): cell(3.1),
              key("viztracer"): cell(3.0)}
    texts = verdict_texts(broken)
    assert ["MISSED on 1 of 1: 3.12 fib" in text for text in texts] == [True] * 3
    assert "5.0" in texts[2]  # 6 points were measured, 1 said
    assert all("not measured" in text for text in verdict_texts({}))


def test_a_noisy_machine_decides_nothing():
    noisy = cpu_table.Cell("x", [((1.0, 1, None, 1), (ratio, 1, 0.02, 1)) for ratio in
                                 (0.8, 0.9, 1.0, 1.1, 1.1, 1.1, 1.2, 1.3) * 2])
    texts = verdict_texts({key("auto"): noisy, key("trace"): noisy, key("viztracer"): cell(1.05)})
    assert all("undecided on 1 of 1: 3.12 fib" in text and "MISSED" not in text for text in texts)
    assert cell(1.0).spread() == 0
    uneven = [((loop, 1, None, 1), (1, 1, None, 1)) for loop in (1, 2, 3)]
    assert cpu_table.Cell("x", uneven).spread() == 1


def test_the_table_has_every_cell_and_says_why_one_is_empty():
    cells = {key("auto"): cell(1.04, 0.04), key("auto", cores="one"): cell(1.5),
             key("scalene"): cpu_table.Cell("x", failure="exit status 1: no such thing")}
    keys = [key(tool, cores=cores) for cores in ("free", "one") for tool in ("auto", "scalene")]
    titles = {"auto": "Auto", "scalene": "Scalene"}
    text = "\n".join(cpu_table.markdown(keys, cells, titles, "a machine"))
    assert "| 3.12 | fib | 1.040 (1.040 – 1.040) | – | 0.0 points |" in text
    assert "| 3.12 | fib, one core | 1.50 (1.50 – 1.50) | – | – |" in text
    assert "scalene, 3.12 fib: exit status 1: no such thing" in text
    assert "Fewer than" not in text
    few = "\n".join(cpu_table.markdown([key("auto")], {key("auto"): cell(1, count=3)}, titles, ""))
    assert "Fewer than 15 pairs" in few


def test_cells_outlive_the_run_until_something_changes(tmp_path):
    path = str(tmp_path / "results.json")
    results = cpu_table.Results(path)
    results.put(key("auto"), cell(1.25, 0.5))
    again = cpu_table.Results(path)
    assert again.cells[key("auto")].ratio() == cell(1.25).ratio()
    assert again.cells[key("auto")].share() == 0.5
    assert again.find(key("auto"), "x", 15)
    assert not again.find(key("auto"), "another program", 15)
    assert not again.find(key("auto"), "x", 16)
    assert not again.find(key("trace"), "x", 15)
    saved = json.loads((tmp_path / "results.json").read_text())
    for pair in saved["cells"][0]["pairs"]:
        pair[0].pop()  # as an older benchmark wrote it
    (tmp_path / "results.json").write_text(json.dumps(saved))
    assert not cpu_table.Results(path).cells


def test_the_time_left_follows_what_was_seen():
    keys = [key("auto"), key("auto", row="parsing")]
    clock = cpu.Clock(keys, 15, 1.0, 1)
    guess = clock.left_s()
    assert cpu.Clock(keys, 15, 1.0, 2).left_s() == pytest.approx(guess / 2)
    clock.took(keys[0], guess)  # twice as long as thought
    assert clock.left_s() == pytest.approx(guess)
    clock.skip(keys[1])
    assert clock.left_s() == 0


def test_one_core_is_one_core_for_all_that_is_started():
    ask = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    before = os.sched_getaffinity(0)
    with cpu.on_cores("one"):
        assert subprocess.run(ask, stdout=subprocess.PIPE, text=True).stdout.strip() == "1"
    assert os.sched_getaffinity(0) == before


def test_lanes_have_cores_of_their_own(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2, 5, 6, 9})
    assert cpu.cores_of_lanes(1, 2) == [{1, 2, 5, 6, 9}]
    assert cpu.cores_of_lanes(2, 2) == [{1, 2}, {5, 6}]
    assert cpu.cores_of_lanes(3, 1) == [{1}, {2}, {5}]
    with pytest.raises(SystemExit, match="3 lanes need 6 cores; there are 5"):
        cpu.cores_of_lanes(3, 2)


@pytest.mark.parametrize("trouble", [None, KeyError("of one lane")])
def test_lanes_share_the_work_and_stop_at_a_trouble(monkeypatch, trouble):
    own = os.sched_getaffinity(0)
    monkeypatch.setattr(cpu, "cores_of_lanes", lambda count, _: [own] * count)
    keys = [key("auto", row="row%d" % number) for number in range(40)]
    both_at_work, taken = threading.Barrier(2, timeout=200), []

    def take(_env, one, *_rest):
        if one in keys[:2]:
            both_at_work.wait()  # a single lane would wait in vain
        taken.append(one)
        if trouble and one == keys[0]:
            raise trouble
    monkeypatch.setattr(cpu, "take", take)
    args = types.SimpleNamespace(lanes=2, cores="free")
    if not trouble:
        cpu.take_all(keys, {"3.12": None}, None, args, None)
        assert sorted(taken) == sorted(keys)
        return
    with pytest.raises(KeyError, match="of one lane"):
        cpu.take_all(keys, {"3.12": None}, None, args, None)


@pytest.mark.parametrize("code, says", [
    ("import sys; sys.exit('the reason')", "exit status 1: the reason"),
    ("pass", "did not run")])
def test_a_run_that_failed_is_no_measurement(code, says):
    with pytest.raises(cpu.Failed, match=says):
        cpu.run_once([sys.executable, "-c", code], 1)


def test_what_hangs_is_killed_with_its_children(monkeypatch, tmp_path):
    monkeypatch.setattr(cpu, "TIMEOUT_S", 1)
    code = ("import subprocess; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True)\n"
            "p.wait()")
    with open(tmp_path / "out", "w+") as file:
        with pytest.raises(cpu.Failed, match="more than 1 s"):
            cpu.run_to_end([sys.executable, "-c", code], 0, stdout=file)
        file.seek(0)
        child = int(file.read())
    deadline = time.monotonic() + 120
    while os.path.exists("/proc/%d" % child) and time.monotonic() < deadline:
        with open("/proc/%d/stat" % child) as file:
            if file.read().split(") ")[1][0] == "Z":  # nobody here collects orphans
                break
        time.sleep(0.01)
    else:
        assert not os.path.exists("/proc/%d" % child)


@pytest.mark.parametrize("row", cpu_tools.ROWS)
def test_every_workload_times_its_loop_alone(row):
    for package in cpu_tools.ROWS[row]:
        pytest.importorskip(package)
    one = cpu.run_once([sys.executable, cpu_tools.script_of(row)], 0.002)
    assert 0 < one.loop < one.whole
    assert one.cpu > 0
    assert one.share is None


@pytest.mark.measures
def test_the_whole_way_to_the_table(tmp_path, capsys):
    version = "%d.%d" % sys.version_info[:2]
    binary = os.environ.get("INFERSCOPE_BIN")
    if not binary:
        pytest.skip("INFERSCOPE_BIN is not set")
    arguments = ["--versions", version, "--rows", "fib", "--columns", "auto,cprofile",
                 "--pairs", "2", "--scale", "0.02", "--cores", "both", "--bin", binary,
                 "--venvs", str(tmp_path), "--results", str(tmp_path / "r.json")]
    assert cpu.main(arguments) == 0
    said = capsys.readouterr()
    results, remarks = run.parse(said.out)
    assert [result.name for result in results] == [
        "cpu.%s.fib%s.%s" % (version, cores, tool)
        for cores in ("", ".one_core") for tool in ("auto", "cprofile")]
    assert all(float(result.value) > 0 for result in results)
    cells = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert [len(entry["pairs"]) for entry in cells] == [2] * 4
    assert cpu.main([*arguments, "--markdown", str(tmp_path / "t.md")]) == 0
    assert capsys.readouterr().err.count("measured before") == 4
    assert "| %s | fib, one core |" % version in (tmp_path / "t.md").read_text()


@pytest.mark.long  # it makes a virtual environment
def test_a_quick_look_takes_the_python_there_is(monkeypatch, capsys, tmp_path):
    own = "%d.%d" % sys.version_info[:2]
    monkeypatch.setattr(cpu.cpu_tools, "find_pythons", lambda: {own: sys.executable})
    monkeypatch.setattr(cpu, "take", lambda env, key, results, *_: results.put(
        key, cpu_table.Cell("missing", failure=env.version)))
    binary = tmp_path / "inferscope"
    binary.write_text("")
    binary.chmod(0o755)
    assert cpu.main(["--rows", "fib", "--bin", str(binary), "--venvs", str(tmp_path), "--results",
                     str(tmp_path / "r.json")]) == 0
    assert "auto, %s fib: %s" % (own, own) in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--rows", "fob"], ["--columns", "perf"], ["--pairs", "0"]])
def test_a_wrong_choice_is_a_usage_error(wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        cpu.main(wrong)
    assert ended.value.code == 2


def test_variants_take_turns_in_blocks_of_work(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["turns.py", "--turns", "3", "--rounds", "2", "--block", "1",
                                      "--bin", "/bin/false", "generators", "control"])
    before = os.sched_getaffinity(0)
    try:
        assert turns.main() == 0
    finally:
        os.sched_setaffinity(0, before)
    results, remarks = run.parse(capsys.readouterr().out)
    assert [result.name for result in results] == ["turns.generators.control"]
    assert remarks[0].startswith("turns.generators: 6 turns, a block ")


def test_a_variant_tells_its_account_as_a_share_of_its_work():
    turn = {"plain": (1.0, 1.0), "auto": (1.03, 1.01)}
    rounds = [([turn] * 4, {"plain": None, "auto": 0.02})] * 2
    lines = list(turns.show("fib", rounds))
    assert lines[1] == "turns.fib.auto 1.0300 times"
    assert "CPU time 1.0100 (1.0100 .. 1.0100), account 1.0200; rounds 1.0300 1.0300" in lines[2]
