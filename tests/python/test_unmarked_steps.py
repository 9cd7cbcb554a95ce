"""Steps of programs that mark none: what repeats around the calls of their models.

Each program says with marks, which are no steps, when a true one begins and ends.
"""

import textwrap

import pytest
from layer_kit import DOUBLE

PRELUDE = """
    import time
    from inferscope import mark_event as mark
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Leaf()

        def forward(self, x):
            time.sleep(0.002)
            return self.fc(x)

    class Other(Net):
        pass

    def pre(x):
        time.sleep(0.004)
        return x

    def post(x):
        time.sleep(0.002)

    net, other = Net(), Other()
"""

# Name of the step, how many, the program.
PROGRAMS = {
    "for loop": ("Net in program.py", 12, """
    for x in range(12):
        mark("begin")
        post(net(pre(x)))
        mark("end")
    """),
    "while loop": ("Net in serve", 12, """
    def serve(n):
        while n:
            mark("begin")
            y = net(pre(n))
            post(y)
            n -= 1
            mark("end")

    serve(12)
    """),
    "function in a loop": ("infer in main", 12, """
    def infer(x):
        return net(x)

    def main():
        for x in range(12):
            mark("begin")
            post(infer(pre(x)))
            mark("end")

    main()
    """),
    "generator": ("answers in program.py", 12, """
    def answers():
        for x in range(12):
            mark("begin")
            yield net(pre(x))

    for y in answers():
        post(y)
        mark("end")
    """),
    "asyncio server": ("handle in program.py", 12, """
    import asyncio

    async def handle(x, delay):
        await asyncio.sleep(delay)
        mark("begin")
        post(net(pre(x)))
        mark("end")

    async def serve():
        await asyncio.gather(*(handle(x, 0.02 * x) for x in range(12)))

    asyncio.run(serve())
    """),
    "thread pool": ("infer", 12, """
    from concurrent.futures import ThreadPoolExecutor

    def infer(x):
        mark("begin")
        post(net(pre(x)))
        mark("end")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(infer, range(12)))
    """),
    "nested batches": ("Net in run_batch", 12, """
    def run_batch(batch):
        for x in batch:
            mark("begin")
            post(net(pre(x)))
            mark("end")

    for first in range(0, 12, 4):
        run_batch(range(first, first + 4))
    """),
    "recursion": ("Net in search", 12, """
    def search(depth):
        mark("begin")
        post(net(pre(depth)))
        mark("end")
        if depth:
            search(depth - 1)

    search(11)
    """),
    "warm-up, then a loop": ("infer in program.py", 12, """
    def warm_up():
        for x in range(4):
            net(x)

    def infer(x):
        return net(x)

    warm_up()
    for x in range(12):
        mark("begin")
        post(infer(pre(x)))
        mark("end")
    """),
    "two models in turn": ("Net in program.py", 12, """
    for x in range(12):
        mark("begin")
        post(other(net(pre(x))))
        mark("end")
    """),
    "straight code": ("Net in program.py", 4, """
    mark("begin"); post(net(pre(1))); mark("end")
    mark("begin"); post(net(pre(2))); mark("end")
    mark("begin"); post(net(pre(3))); mark("end")
    mark("begin"); post(net(pre(4))); mark("end")
    """),
    "prefill and decode": ("decode in generate", 24, """
    def prefill(x):
        return net(pre(x))

    def decode(x):
        return net(x)

    def generate(x):
        prefill(x)
        for _ in range(6):
            mark("begin")
            post(decode(x))
            mark("end")

    for x in range(4):
        generate(x)
    """),
}


@pytest.fixture
def steps(record, report):
    def run(python, text, notes=0, **env):
        recording = record(python, PRELUDE + text, notes=notes, env={
            "PYTHONPATH": DOUBLE, "PYTHONDONTWRITEBYTECODE": "1", **env})
        begun = {}
        run.true_ms = []
        for mark in sorted(recording.of("instant"), key=lambda e: e["start_us"]):
            if mark["name"] == "begin":
                begun[mark["thread"]] = mark["start_us"]
            else:
                run.true_ms.append((mark["start_us"] - begun[mark["thread"]]) / 1000)
        return report()["steps"]
    return run


@pytest.mark.parametrize("cpu", ["trace", "auto"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_found_steps_are_the_true_ones(steps, python, version, program, cpu):
    if cpu == "auto" and version < (3, 12):
        pytest.skip("within a budget a model's calls are seen in bursts at most before 3.12")
    name, count, text = PROGRAMS[program]
    # These programs last a tenth of a second, and joining alone costs more than 5 % of that.
    found = steps(python, text, INFERSCOPE_CPU=cpu, INFERSCOPE_MAX_OVERHEAD="50")
    assert (found[0]["name"], found[0]["source"]) == (name, "loop"), found
    assert abs(found[0]["count"] - count) <= 1
    # Where they begin and end, to within one step: a busy machine has no usual length of one.
    true_ms = sum(steps.true_ms)
    assert abs(found[0]["total_ms"] - true_ms) < max(steps.true_ms) + 0.1 * true_ms, found


def test_models_that_take_turns_are_one_step(steps, python):
    """Nothing tells an iteration that calls both from two that call one each."""
    found = steps(python, """
    for x in range(12):
        post((net, other)[x % 2](pre(x)))
    """)
    assert (found[0]["name"], found[0]["count"]) == ("Net in program.py", 6)


def test_steps_of_several_kinds_the_innermost_first(steps, python):
    found = steps(python, PROGRAMS["prefill and decode"][2])
    assert [(s["name"], s["count"], s["depth"]) for s in found] == [
        ("decode in generate", 24, 1), ("prefill in generate", 4, 1),
        ("generate in program.py", 4, 0)]


def test_without_calls_the_models_are_the_steps(steps, python):
    # Before 3.12 a model's calls are seen only without a bound.
    found = steps(python, PROGRAMS["for loop"][2], INFERSCOPE_CPU="off",
                  INFERSCOPE_MAX_OVERHEAD="100")
    assert [(s["name"], s["source"], s["count"]) for s in found] == [("Net", "module", 12)]


def test_a_scope_of_the_users_is_a_step_and_nothing_else_is(steps, python):
    found = steps(python, """
    from inferscope import scope
    for x in range(5):
        with scope("mine"):
            net(x)
    """)
    assert [(s["name"], s["source"], s["count"]) for s in found] == [("mine", "scope", 5)]


def test_what_does_not_repeat_is_the_whole_run(steps, python):
    found = steps(python, """
    net(1)
    net(2)
    """)
    assert [(s["name"], s["source"]) for s in found] == [("whole run", "whole-run")]


@pytest.mark.measures
def test_without_calls_and_layers_samples_tell_when_models_are_called(steps, report, python,
                                                                      version):
    if version >= (3, 12):
        pytest.skip("from 3.12 on layers are recorded whatever the calls are")
    found = steps(python, """
    time.sleep(0.5)
    mark("begin")
    for x in range(100):
        post(net(pre(x)))
    mark("end")
    time.sleep(0.5)
    """, notes=None, INFERSCOPE_CPU="sample")
    assert [(s["name"], s["source"]) for s in found] == [
        ("from the model's first call to its last", "whole-run")]
    assert 0.9 * steps.true_ms[0] < found[0]["mean_ms"] < steps.true_ms[0] + 20
    first = report()["findings"][0]
    assert (first["id"], first["where"]["function"]) == ("io-wait", "pre")
    assert "of the run's " in first["evidence"][0]


RUNS = """
    import sys, time
    sys.path.insert(0, "site-packages")
    from onnxruntime.capi.onnxruntime_inference_collection import Session

    session = Session()

    def answer(x):
        time.sleep(0.002)
        return session.run([x])

    time.sleep(0.3)
    for x in range(%d):
        %s
"""


def sessions(work):
    """A double of ONNX Runtime."""
    folder = work / "site-packages" / "onnxruntime" / "capi"
    folder.mkdir(parents=True)
    (folder / "onnxruntime_inference_collection.py").write_text(
        "import time\nclass Session:\n    def run(self, inputs):\n        time.sleep(0.003)\n")


@pytest.mark.parametrize("line, name", [("answer(x)", "answer in program.py"),
                                        ("session.run([x])", "Session.run in program.py")])
def test_calls_of_a_framework_without_layers_are_found_as_well(inferscope, write, work, report,
                                                               python, line, name):
    sessions(work)
    write(RUNS % (20, line))
    done = inferscope("run", "--quiet", "--report", "r.json", "--python", python, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert [(s["name"], s["source"], s["count"]) for s in report()["steps"]] == [(name, "loop", 20)]


def library(work, name, text):
    """A module that is none of the user's."""
    folder = work / "site-packages"
    folder.mkdir(exist_ok=True)
    (folder / (name + ".py")).write_text(textwrap.dedent(text))


FACES = """
    import functools, time

    def decorated(function):
        @functools.wraps(function)
        def decorate_context(*args):
            return function(*args)
        return decorate_context

    class Detector:
        def __init__(self, first, second):
            self.first, self.second = first, second

        @decorated
        def detect(self, x):
            for _ in range(4):
                self.first(x)
                time.sleep(0.001)
            return self.second(x)

        @decorated
        def generate(self, x):
            for _ in range(4):
                self.first(x)
"""
DETECT = """
    import sys
    sys.path.insert(0, "site-packages")
    from faces import Detector

    detector = Detector(net, other)
    def answer(x):
        return detector.detect(x)

    for x in range(12):
        mark("begin")
        post(%s(pre(x)))
        mark("end")
"""


@pytest.mark.parametrize("call, name", [("detector.detect", "Detector.detect in program.py"),
                                        ("answer", "answer in program.py")])
def test_what_a_library_does_with_several_models_is_one_step(steps, work, python, call, name):
    library(work, "faces", FACES)
    found = steps(python, DETECT % call)
    assert [(s["name"], s["count"]) for s in found[:2]] == [
        (name, 12), ("Net in Detector.detect", 48)]
    true_ms = sum(steps.true_ms)
    assert abs(found[0]["total_ms"] - true_ms) < max(steps.true_ms) + 0.1 * true_ms, found


def test_what_a_library_does_again_and_again_with_one_model_are_steps(steps, work, python):
    library(work, "faces", FACES)
    found = steps(python, DETECT % "detector.generate")
    assert [(s["name"], s["count"]) for s in found] == [("Net in program.py", 48)]


def test_sessions_that_a_library_runs_one_after_the_other_are_one_step(inferscope, write, work,
                                                                       report, python):
    library(work, "ocr", """
        from onnxruntime.capi.onnxruntime_inference_collection import Session
        session = Session()
        def find(x):
            return session.run([x])
        def read(x):
            for _ in range(1 + x % 2):
                session.run([x])
        class Reader:
            def __call__(self, x):
                find(x)
                read(x)
        """)
    sessions(work)
    text = RUNS % (20, "reader(x)")
    write(text.replace("session = Session()", "import ocr; reader = ocr.Reader()"))
    done = inferscope("run", "--quiet", "--report", "r.json", "--python", python, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert [(s["name"], s["count"]) for s in report()["steps"]] == [
        ("Reader.__call__ in program.py", 20)]
