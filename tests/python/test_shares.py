"""
What functions of less than a microsecond get of the looks: a program that only calls, with a
clock inside that says where it really was (tests/native/stack_clock.c).
"""

import json
import math
import os
import shutil
import subprocess
from collections import Counter

import isc_decode as isc
import pytest

pytestmark = pytest.mark.measures

PROGRAM = """
import ctypes, json, sys, time
from collections import Counter

clock = ctypes.CDLL(sys.argv[1])
clock.clock_stack.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_uint64)]
codes = {}

def name_codes(code):
    codes[id(code)] = code.co_name
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            name_codes(constant)

class Box:
    def method(self, n):
        t = 0
        for i in range(n):
            t += i
        return t

def three(x):
    for i in range(3):
        x += i
    return x
def ten(x):
    for i in range(10):
        x += i
    return x
def plus(x): return x + 1
def minus(x): return x - 1
def both(x):
    return three(x) + ten(x)
def tiny(x):
    for _ in range(3):
        x = plus(x)
        x = minus(x)
    return x
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def odd(n): return n and even(n - 1)
def even(n): return n and odd(n - 1)
def down(n):
    if n:
        return down(n - 1)
    return fib(4)
def numbers(n):
    for i in range(n):
        x = i * i + i
        yield x
def generate():
    t = 0
    for x in numbers(6):
        t += x
    return t
def listed(n):
    return [plus(i) for i in range(n)]
def throws(x):
    if x & 1:
        raise ValueError
    return x
def catches(x):
    try:
        return throws(x)
    except ValueError:
        return 0
def methods(box):
    for _ in range(3):
        box.method(4)

def work(n, box):
    x = 0
    for i in range(n):
        x = both(x)
        tiny(i)
        fib(5)
        even(8)
        generate()
        listed(4)
        catches(i)
        methods(box)
        if not i % 8:
            down(40)

# The clock takes time of its own, so it rests while looks count.
def looked_at(end, box):
    while time.perf_counter() < end:
        work(50, box)
def timed(end, box):
    while time.perf_counter() < end:
        work(50, box)

def main(seconds):
    box = Box()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        assert not clock.clock_set(sys.hexversion, 700)
        timed(time.perf_counter() + 0.1, box)
        clock.clock_set(sys.hexversion, 0)
        looked_at(time.perf_counter() + 0.1, box)

name_codes(sys._getframe().f_code)
main(float(sys.argv[2]))
truth, stack = Counter(), (ctypes.c_uint64 * 128)()
for tick in range(clock.clock_ticks()):
    n = clock.clock_stack(tick, stack)
    truth["/".join(codes.get(stack[i], "?") for i in reversed(range(n)))] += 1
print(json.dumps(truth))
"""
CALLS = {"<module>": {"main"}, "main": {"timed", "looked_at"}, "timed": {"work"},
         "looked_at": {"work"},
         "work": {"both", "tiny", "fib", "even", "generate", "listed", "catches", "methods",
                  "down"},
         "both": {"three", "ten"}, "tiny": {"plus", "minus"}, "fib": {"fib"}, "odd": {"even"},
         "even": {"odd"}, "down": {"down", "fib"}, "generate": {"numbers"},
         "listed": {"<listcomp>", "plus"}, "<listcomp>": {"plus"}, "catches": {"throws"},
         "methods": {"method"}}
RECURSIVE = {"fib", "odd", "even", "down"}


@pytest.fixture(scope="module")
def clock(root, tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    path = str(tmp_path_factory.mktemp("clock") / "stack_clock.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-I", os.path.join(root, "src"),
                    os.path.join(root, "tests/native/stack_clock.c"), "-o", path], check=True)
    return path


def one_core():
    """The workload and the recorder have a core between them."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def looks_of(trace):
    """
    Stacks, outermost first, and how often each was seen.  A thread that has no CPU stands
    still and is found in the same place again and again; its time goes on, the clock's does not.
    """
    looks = Counter()
    for sample in trace.samples:
        frames = trace.stacks.get(sample.stack, [])
        if frames and not sample.flags & isc.NATIVE_FLAG:
            names = tuple(trace.codes[code]["name"].split(".")[-1] for code, _ in reversed(frames))
            looks[names] += sample.count if sample.count < 3 else 1
    return looks


def shares(stacks, phase, of):
    """Of the stacks in that phase, by what `of` says of one; and how many there are."""
    found, count = Counter(), 0
    for names, times in stacks.items():
        if phase in names and "work" in names:
            count += times
            for name in of(names[names.index("work"):]):
                found[name] += times
    return {name: times / count for name, times in found.items()}, count


@pytest.mark.parametrize("cores", ["all", "one"])
def test_shares_of_short_functions_are_true(python, version, inferscope, write, work, clock, cores):
    done = inferscope("run", "--quiet", "--cpu", "sample", "--python", python, "--report",
                      "r.json", "--trace", "t.isc", write(PROGRAM), clock, "5",
                      preexec_fn=one_core if cores == "one" else None)
    assert (done.returncode, done.stderr) == (0, "")
    truth = {tuple(names.split("/")): times for names, times in json.loads(done.stdout).items()}
    looks = looks_of(isc.load(str(work / "t.isc")))

    wrong = {names: times for names, times in looks.items() if names[:2] == ("<module>", "main") and
             any(inner not in CALLS.get(outer, ()) for outer, inner in zip(names, names[1:]))}
    thousandth = 0.001 * sum(looks.values())
    assert sum(wrong.values()) < thousandth + 3 * math.sqrt(thousandth) + 1, wrong

    # Before 3.11 recursive functions share frames: which of them it was is seen too late.
    def name(function):
        return "recursive" if version < (3, 11) and function in RECURSIVE else function

    for what, of in (("self", lambda names: {name(names[-1])}),
                     ("total", lambda names: {name(n) for n in names})):
        true, ticks = shares(truth, "timed", of)
        seen, count = shares(looks, "looked_at", of)
        assert ticks > 50 and count > 10, (ticks, count)
        for function in true.keys() | seen.keys():
            p = true.get(function, 0)
            by_chance = math.sqrt(p * (1 - p) * (1 / ticks + 1 / count))
            assert abs(seen.get(function, 0) - p) < 0.02 + 4 * by_chance, (
                what, function, seen, true)
