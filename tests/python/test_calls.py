"""Every call of a known program is in the trace, once, under its right name, on every CPython."""

import json

import pytest

CLOCK_US = 1000  # the recorder's clock against the program's, on a machine that is in use


def pieces(recording, *names):
    """{name: (calls, resumptions)}"""
    return {name: (len(recording.calls(name)), len(recording.resumptions(name))) for name in names}


def assert_whole(recording, but=("<module>",)):
    """Every end had a beginning and every beginning an end: nothing was guessed."""
    for event in recording.functions():
        guessed = {"repaired", "open_start", "open_end", "gap"} & event.keys()
        assert not guessed or event["name"] in but, event


PLAIN = """
    import functools

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    class Model:
        class Layer:
            def forward(self):
                return (lambda: 1)()

        def __init__(self):
            self.layer = self.Layer()

        def __call__(self):
            return self.layer.forward()

        @staticmethod
        def fixed():
            return 0

        @classmethod
        def make(cls):
            return cls()

        @property
        def size(self):
            return 3

    def outer():
        def inner():
            class Local:
                def method(self):
                    return 1
            return Local().method()
        return inner() + inner()

    def logged(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)
        return wrapper

    @logged
    def decorated(x):
        return x

    def comprehensions():
        return [a for a in "ab"], {b for b in "ab"}, {c: c for c in "ab"}, sum(d for d in (1, 2))

    fib(10)
    model = Model.make()
    for _ in range(7):
        model()
    model.fixed(), model.size
    outer()
    decorated(decorated(1))
    comprehensions()
    print("done")
"""


def test_calls_are_counted_exactly(python, record):
    recording = record(python, PLAIN)
    assert recording.done.stdout == "done\n"
    assert {name: len(recording.calls(name)) for name in (
        "fib", "Model.make", "Model.__init__", "Model.__call__", "Model.Layer.forward",
        "Model.Layer.forward.<locals>.<lambda>", "Model.fixed", "Model.size", "outer",
        "outer.<locals>.inner", "outer.<locals>.inner.<locals>.Local",
        "outer.<locals>.inner.<locals>.Local.method", "logged", "logged.<locals>.wrapper",
        "decorated", "comprehensions", "Model", "Model.Layer",
    )} == {
        "fib": 177, "Model.make": 1, "Model.__init__": 1, "Model.__call__": 7,
        "Model.Layer.forward": 7, "Model.Layer.forward.<locals>.<lambda>": 7, "Model.fixed": 1,
        "Model.size": 1, "outer": 1, "outer.<locals>.inner": 2,
        "outer.<locals>.inner.<locals>.Local": 2, "outer.<locals>.inner.<locals>.Local.method": 2,
        "logged": 1, "logged.<locals>.wrapper": 2, "decorated": 2, "comprehensions": 1,
        "Model": 1, "Model.Layer": 1,
    }
    assert_whole(recording)


def test_comprehensions_are_functions_until_3_12(python, version, record):
    recording = record(python, PLAIN)
    inlined = version >= (3, 12)
    for kind in ("listcomp", "setcomp", "dictcomp"):
        calls = recording.calls("comprehensions.<locals>.<%s>" % kind)
        assert len(calls) == (0 if inlined else 1)
    # A generator expression is a generator everywhere: two values, then its end.
    assert pieces(recording, "comprehensions.<locals>.<genexpr>") == {
        "comprehensions.<locals>.<genexpr>": (1, 2)}


def test_every_name_is_the_one_that_python_gives(python, record):
    """What the program says of itself: __qualname__, file and first line of each function."""
    recording = record(python, """
        import json, sys
        seen = []

        def told(function):
            seen.append([function.__qualname__, function.__code__.co_filename,
                         function.__code__.co_firstlineno])
            return function

        @told
        def top(): pass

        class A:
            @told
            def method(self): pass

            class B:
                @told
                def __secret(self): pass

                def run(self):
                    self.__secret()

        def factory():
            @told
            def made():
                @told
                def deeper(): pass
                deeper()

            class C:
                @told
                def method(self): pass
            return made, C

        top(); A().method(); A.B().run()
        made, C = factory()
        made(); C().method()
        told(lambda: 0)()
        told(eval("lambda: 1"))()
        names = {}
        exec(compile("class X:\\n  def y(self): pass", "program.py", "exec"), names)
        told(names["X"].y)(0)
        json.dump(seen, sys.stdout)
    """)
    seen = [tuple(entry) for entry in json.loads(recording.done.stdout)]
    assert len(seen) == 9
    recorded = {(e["name"], e["file"], e["line"]) for e in recording.of("cpu_function")}
    assert set(seen) - recorded == set()


def test_generators_are_called_once_and_resumed(python, version, record):
    recording = record(python, """
        def count(n):
            for i in range(n):
                yield i

        def delegate():
            result = yield from count(3)
            return result

        def echo():
            received = None
            while True:
                received = yield received

        def careful():
            try:
                yield 1
                yield 2
            finally:
                cleanup()

        def cleanup(): pass

        def stubborn():
            try:
                yield 1
            except KeyError:
                yield "survived"

        list(count(5))
        list(delegate())
        g = echo(); next(g); g.send(1); g.send(2); g.close()
        c = careful(); next(c); c.close()
        s = stubborn(); next(s)
        assert s.throw(KeyError("x")) == "survived"
        assert list(s) == []
        for i in count(10):
            if i == 2:
                break
    """)
    # 3.13 closes a generator that has nothing to clean up without a word.
    closing = 0 if version == (3, 13) else 1
    assert pieces(recording, "count", "delegate", "echo", "careful", "cleanup", "stubborn") == {
        # 5 + 3 values and an end each; 3 values of the loop that breaks
        "count": (3, 5 + 3 + 2 + closing), "delegate": (1, 3), "echo": (1, 2 + closing),
        "careful": (1, 1), "cleanup": (1, 0), "stubborn": (1, 2)}
    assert_whole(recording)


def test_a_generator_is_inside_whoever_resumes_it(python, record):
    recording = record(python, """
        def numbers():
            yield 1
            yield 2

        def first(g): return next(g)
        def second(g): return next(g)

        g = numbers()
        first(g)
        second(g)
    """)
    for consumer, piece in zip(("first", "second"), recording.functions("numbers")):
        outer, = recording.calls(consumer)
        assert outer["start_us"] <= piece["start_us"] <= piece["end_us"] <= outer["end_us"]
        assert piece["depth"] == outer["depth"] + 1


def test_coroutines_and_async_generators(python, record):
    recording = record(python, """
        class Pause:
            def __await__(self):
                yield

        async def inner():
            await Pause()
            await Pause()
            return 5

        async def outer():
            return await inner()

        async def ticks():
            for i in range(3):
                await Pause()
                yield i

        async def consume():
            return [i async for i in ticks()]

        def drive(coroutine):
            turns = 0
            try:
                while True:
                    coroutine.send(None)
                    turns += 1
            except StopIteration as stop:
                return turns, stop.value

        assert drive(outer()) == (2, 5)
        assert drive(consume()) == (3, [0, 1, 2])
        never = inner()
        never.close()
    """)
    assert pieces(recording, "outer", "drive", "consume") == {
        "outer": (1, 2), "drive": (2, 0),
        # Until 3.11 the comprehension is a coroutine of its own, awaited once.
        "consume": (1, 3)}
    assert pieces(recording, "inner")["inner"] in ((1, 2), (2, 2)), "closing an unused one"
    # One call; each of the three: resumed after its pause; each yield but the last asks for more.
    assert pieces(recording, "ticks") == {"ticks": (1, 6)}
    assert pieces(recording, "Pause.__await__") == {"Pause.__await__": (5, 5)}
    assert_whole(recording)


def test_exceptions_unwind_every_frame(python, record):
    recording = record(python, """
        def raises(): raise KeyError
        def middle():
            raises()
        def outer():
            middle()
        def catches():
            try:
                outer()
            except KeyError:
                after()
        def after(): pass
        for _ in range(4):
            catches()
    """)
    assert pieces(recording, "raises", "middle", "outer", "catches", "after") == dict.fromkeys(
        ("raises", "middle", "outer", "catches", "after"), (4, 0))
    assert_whole(recording)
    depths = {name: {e["depth"] for e in recording.calls(name)}
              for name in ("catches", "outer", "middle", "raises", "after")}
    base, = depths["catches"]
    assert depths == {"catches": {base}, "outer": {base + 1}, "middle": {base + 2},
                      "raises": {base + 3}, "after": {base + 1}}


def test_sys_exit_in_a_nested_call_ends_all_of_them(python, record):
    recording = record(python, """
        import sys
        def leave(): sys.exit(3)
        def inner(): leave()
        def outer(): inner()
        outer()
    """, status=3)
    assert pieces(recording, "leave", "inner", "outer") == dict.fromkeys(
        ("leave", "inner", "outer"), (1, 0))
    assert_whole(recording)


def test_recursion_to_its_limit(python, record):
    recording = record(python, """
        depth = 0
        def down():
            global depth
            depth += 1
            down()
        for _ in range(3):
            try:
                down()
            except RecursionError:
                pass
        print(depth)
    """)
    entered = int(recording.done.stdout)
    assert entered > 2000
    assert len(recording.calls("down")) == entered
    assert_whole(recording)


def test_reused_addresses_do_not_inherit_names(python, record):
    recording = record(python, """
        import gc
        addresses = set()
        for i in range(2000):
            names = {}
            exec(compile("def made_%d(): pass" % i, "made_%d.py" % i, "exec"), names)
            names["made_%d" % i]()
            addresses.add(id(names["made_%d" % i].__code__))
            del names
            if i % 100 == 0:
                gc.collect()  # a function and its globals are a cycle
        assert len(addresses) < 1500, "no address was used twice: this proves nothing"
    """)
    made = [(e["name"], e["file"]) for e in recording.of("cpu_function")
            if e["name"].startswith("made_")]
    assert made == [("made_%d" % i, "made_%d.py" % i) for i in range(2000)]


def test_collections_are_pauses_of_their_generation(python, record):
    recording = record(python, """
        import gc
        gc.disable()

        class Node:
            pass

        def collect():
            for generation in (0, 1, 2, 2, 0):
                gc.collect(generation)
            for _ in range(100):
                node = Node()
                node.self = node
            del node
            gc.collect()
        collect()
    """)
    outer, = recording.calls("collect")
    pauses = [e for e in recording.of("gc")
              if outer["start_us"] <= e["start_us"] <= outer["end_us"]]
    assert [e["generation"] for e in pauses] == [0, 1, 2, 2, 0, 2]
    assert pauses[-1]["collected"] >= 100
    assert all(e["start_us"] < e["end_us"] <= outer["end_us"] for e in pauses)
    assert pauses[0]["collected"] < 100


def test_durations_are_those_of_the_program(python, record):
    """A call lasts longer than what it measures itself and less than what its caller measures."""
    recording = record(python, """
        import json, sys, time
        now = time.perf_counter
        inside_us, around_us = [], []

        def busy(seconds):
            start = now()
            while now() - start < seconds:
                pass
            inside_us.append((now() - start) * 1e6)

        for milliseconds in (5, 20, 100) * 2:
            start = now()
            busy(milliseconds / 1000)
            around_us.append((now() - start) * 1e6)
        json.dump([inside_us, around_us], sys.stdout)
    """)
    inside_us, around_us = json.loads(recording.done.stdout)
    spans = [e["end_us"] - e["start_us"] for e in recording.calls("busy")]
    assert len(spans) == len(inside_us) == len(around_us) == 6
    for recorded_us, low_us, high_us in zip(spans, inside_us, around_us):
        assert low_us - CLOCK_US <= recorded_us <= high_us + CLOCK_US


def test_self_time_is_what_the_callees_leave(python, record):
    recording = record(python, """
        import time
        def spin(seconds):
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                pass
        def parent():
            spin(0.02)
            end = time.perf_counter() + 0.01
            while time.perf_counter() < end:
                pass
            spin(0.02)
        parent()
    """)
    parent, = recording.calls("parent")
    children = recording.calls("spin")
    assert len(children) == 2
    total_us = parent["end_us"] - parent["start_us"]
    inner_us = sum(e["end_us"] - e["start_us"] for e in children)
    assert parent["self_us"] == pytest.approx(total_us - inner_us, abs=0.01)
    assert all(e["self_us"] == pytest.approx(e["end_us"] - e["start_us"], abs=0.01)
               for e in children)


def test_the_report_counts_the_same_calls(python, record, report):
    record(python, PLAIN)
    functions = {f["name"]: f for f in report()["cpu"]["functions"]}
    assert functions["fib"]["calls"] == 177
