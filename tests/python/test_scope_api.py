"""scope, mark_event and is_recording are the same, recorded or not, with or without the agent."""

import os

import pytest

MODES = ["not recording", "recording", "without the agent"]
WITHOUT_AGENT = """
    import sys
    sys.modules["inferscope._agent"] = None
"""


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


@pytest.fixture
def run(python, mode, plain, record, write):
    """Runs a program whose assertions are the test; it must end well and say nothing."""
    def run(text):
        if mode == "recording":
            assert record(python, text).done.stdout == ""
            return
        write((WITHOUT_AGENT if mode == "without the agent" else "") + text)
        done = plain(python, "program.py")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return run


def test_is_recording(run, mode):
    run("""
    import inferscope
    assert inferscope.is_recording() is %s
    assert inferscope.__all__ == [
        "scope", "mark_event", "counter", "is_recording", "start", "stop", "profile"]
    """ % (mode == "recording"))


def test_context_manager(run):
    run("""
    from inferscope import scope

    s = scope("step", batch=8)
    assert s.name == "step"
    assert repr(s) == "<inferscope.scope 'step'>"
    with s as entered:
        assert entered is s
        with s, scope("inner"), s:  # again, before it is left
            pass
    with s:
        pass

    error = KeyError("x")
    try:
        with scope("raises"):
            raise error
    except KeyError as caught:
        assert caught is error
    else:
        raise AssertionError("the exception was swallowed")
    assert scope("x").__exit__(None, None, None) is None

    def leaves_early():
        for i in range(3):
            with scope("loop"):
                if i == 1:
                    return i
    assert leaves_early() == 1
    """)


def test_async_context_manager(run):
    run("""
    import asyncio
    from inferscope import scope

    async def main():
        s = scope("step")
        async with s as entered:
            assert entered is s
            async with s:
                await asyncio.sleep(0)
        try:
            async with scope("raises"):
                raise KeyError("x")
        except KeyError:
            return "caught"
    assert asyncio.run(main()) == "caught"
    """)


def test_wrong_arguments(run):
    run("""
    from inferscope import mark_event, scope

    class Text(str):
        pass

    for function in (scope, mark_event):
        for args, kwargs in [((), {}), ((1,), {}), ((None,), {}), (("a", "b"), {}),
                             ((b"a",), {}), ((), {"name": "a"})]:
            try:
                function(*args, **kwargs)
            except TypeError as error:
                assert str(error) == (
                    "%s() takes one name, a str, and metadata as key=value" % function.__name__)
            else:
                raise AssertionError((function, args, kwargs))
        function("a", name="b", self=1, module=2, args=3)
        function("")
        function("\\udcff \\0 \\N{SNOWMAN}" * 2000)
        function(Text("a"))
    assert mark_event("x") is None
    assert scope(Text("step")).name == "step"
    for nonsense in (1, None, int, "text"):
        try:
            scope("x")(nonsense)
        except TypeError:
            pass
        else:
            raise AssertionError(nonsense)
    try:
        type(scope("x"))()
    except TypeError:
        pass
    else:
        raise AssertionError("a scope without a name")
    """)


def test_a_decorated_function_cannot_be_told_from_the_plain_one(run):
    run("""
    import functools, inspect
    from inferscope import scope

    def plain(a, b=2, *rest, c: int = 3, **more) -> int:
        "Says what it does."
        return a, b, rest, c, more

    decorated = scope("step", batch=1)(plain)
    for f in (decorated, plain):
        assert f(1, 5, 6, c=7, d=8) == (1, 5, (6,), 7, {"d": 8})
        assert f.__name__ == f.__qualname__ == "plain" and f.__module__ == "__main__"
        assert f.__doc__ == "Says what it does." and f.__annotations__["return"] is int
        assert inspect.signature(f) == inspect.signature(plain)
        try:
            f()
        except TypeError as error:
            assert "missing 1 required positional argument" in str(error)

    class Model:
        @scope("method")
        def method(self, x): return self, x

        @classmethod
        @scope("class method")
        def of_class(cls, x): return cls, x

        @staticmethod
        @scope("static method")
        def static(x): return x

        @property
        @scope("property")
        def size(self): return 5

        @scope("call")
        def __call__(self): return "called"

    m = Model()
    assert m.method(1) == (m, 1) and Model.method(m, 2) == (m, 2)
    assert m.of_class(1) == (Model, 1) and Model.static(3) == m.static(3) == 3
    assert m.size == 5 and m() == "called"

    @scope("recursive")
    def factorial(n): return n * factorial(n - 1) if n else 1
    assert factorial(50) // factorial(49) == 50
    assert scope("partial")(functools.partial(plain, 1))(9) == (1, 9, (), 3, {})
    assert scope("builtin")(len)("abc") == 3
    assert scope("object")(m)() == "called"

    error = ValueError("x")
    @scope("raises")
    def raises(): raise error
    try:
        raises()
    except ValueError as caught:
        assert caught is error
    """)


def test_decorated_generators_pass_everything_through(run):
    run("""
    import inspect
    from inferscope import scope

    def plain(log):
        log.append("began")
        try:
            while True:
                try:
                    got = yield len(log)
                    log.append(got)
                    if got == "end":
                        return "result"
                except KeyError as error:
                    log.append(repr(error))
        finally:
            log.append("cleaned up")

    def drive(generator):
        log = []
        g = generator(log)
        log.append(next(g))
        log.append(g.send("one"))
        log.append(g.throw(KeyError("two")))
        try:
            g.send("end")
        except StopIteration as stop:
            log.append(stop.value)
        closed = generator(log)
        next(closed)
        closed.close()
        unused = generator(log)
        unused.close()
        failing = generator(log)
        next(failing)
        try:
            failing.throw(ValueError("three"))
        except ValueError as error:
            log.append(repr(error))
        return log

    decorated = scope("generator")(plain)
    assert drive(decorated) == drive(plain)
    assert len(drive(plain)) > 10
    for f in (plain, decorated):
        assert inspect.isgeneratorfunction(f) and inspect.isgenerator(f([]))
    """)


def test_decorated_coroutines_and_async_generators(run):
    run("""
    import asyncio, inspect, warnings
    from inferscope import scope

    async def coroutine(x, log):
        await asyncio.sleep(0)
        if x is None:
            raise KeyError("x")
        return x

    async def numbers(log):
        try:
            for i in range(3):
                try:
                    got = yield i
                    log.append(got)
                except KeyError as error:
                    log.append(repr(error))
                    yield "survived"
            await asyncio.sleep(0)
        finally:
            log.append("cleaned up")

    async def drive(f, g):
        log = [await f(5, None)]
        try:
            await f(None, None)
        except KeyError as error:
            log.append(repr(error))
        async for i in g(log):
            log.append(i)
        a = g(log)
        log.append(await a.__anext__())
        log.append(await a.asend("sent"))
        log.append(await a.athrow(KeyError("thrown")))
        await a.aclose()
        b = g(log)
        await b.__anext__()
        try:
            await b.athrow(ValueError("through"))
        except ValueError as error:
            log.append(repr(error))
        c = g(log)
        try:
            while True:
                await c.__anext__()
        except StopAsyncIteration:
            log.append("end")
        task = asyncio.ensure_future(f(1, None))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            log.append("cancelled")
        return log

    decorated = scope("coroutine")(coroutine), scope("async generator")(numbers)
    expected = asyncio.run(drive(coroutine, numbers))
    assert len(expected) > 10
    assert asyncio.run(drive(*decorated)) == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # asyncio's own question is on its way out since 3.14
        assert asyncio.iscoroutinefunction(decorated[0])
    assert inspect.iscoroutinefunction(decorated[0])
    assert inspect.isasyncgenfunction(decorated[1])
    """)


def test_nothing_leaks(run):
    """Many more rounds than there are blocks allowed to stay."""
    run("""
    import asyncio, gc, sys
    from inferscope import mark_event, scope

    name, value = "a name of its own", object()

    @scope("decorated", batch=1)
    def decorated(x): return x

    @scope("generator")
    def generator():
        yield 1

    async def asynchronous():
        async with scope(name, value=value):
            pass

    def once(loop):
        with scope(name, value=value, i=10 ** 30, f=1.5, s=name) as s:
            with s:
                pass
        mark_event(name, value=value)
        decorated(value)
        next(generator())
        list(generator())
        scope(name)(once)
        loop.run_until_complete(asynchronous())
        try:
            scope(1)
        except TypeError:
            pass
        try:
            with scope(name):
                raise KeyError
        except KeyError:
            pass

    def rounds(n):
        for _ in range(n):
            once(loop)
        gc.collect()
        counts = [sys.getrefcount(o) for o in (name, value, type(scope("x")), KeyError, scope)]
        return sys.getallocatedblocks(), counts

    loop = asyncio.new_event_loop()
    rounds(300)
    blocks, counts = rounds(100)
    more_blocks, more_counts = rounds(2000)
    assert [abs(b - a) < 20 for a, b in zip(counts, more_counts)] == [True] * 5, more_counts
    assert abs(more_blocks - blocks) < 1000, (blocks, more_blocks)
    loop.close()
    """)


def test_the_memory_of_a_recorded_program_stays_flat(python, record):
    recording = record(python, """
        from inferscope import mark_event, scope

        def own_kb():  # without the rings, which are shared
            with open("/proc/self/status") as status:
                return [int(line.split()[1]) for line in status if line.startswith("RssAnon")][0]

        def work(n):
            for i in range(n):
                with scope("step", i=i, text="text"):
                    mark_event("mark")

        work(5000)
        before = own_kb()
        work(50000)
        print(own_kb() - before)
    """)
    assert int(recording.done.stdout) < 1000


def test_a_scope_is_not_copied_or_subclassed(python, plain, write):
    write("""
    import copy, pickle
    from inferscope import scope
    for attempt in (lambda: pickle.dumps(scope("x")), lambda: copy.copy(scope("x")),
                    lambda: type("Mine", (type(scope("x")),), {})):
        try:
            attempt()
        except TypeError:
            continue
        raise AssertionError
    """)
    done = plain(python, "program.py")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_types_are_right(package, tmp_path, monkeypatch):
    """py.typed is there, and mypy agrees with what the programs above do."""
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    assert os.path.exists(os.path.join(package, "inferscope", "py.typed"))
    (tmp_path / "use.py").write_text("""
from typing import List
from inferscope import is_recording, mark_event, scope, start, stop

@scope("step", batch=8)
def double(x: int) -> int:
    with scope("inner") as s:
        mark_event(s.name, value=x)
    return 2 * x

async def serve() -> None:
    async with scope("request", id=1):
        pass

start(["a.md", "b.json"], trace="t.isc", trace_size_mb=200)
files: List[str] = stop() if is_recording() else []
reveal_type(double(3))
scope(1)
mark_event()
""")
    monkeypatch.setenv("MYPYPATH", package)
    out, err, _ = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), "--config-file", "",
                           str(tmp_path / "use.py")])
    assert 'Revealed type is "' in out and "int" in out, out + err
    errors = [line for line in out.splitlines() if ": error:" in line]
    assert len(errors) == 2 and ":18:" in errors[0] and ":19:" in errors[1], out


def test_counter(run):
    run("""
    from inferscope import counter

    class Text(str):
        pass

    class Pretends:
        def __float__(self):
            raise AssertionError("nobody may ask")
        __index__ = __float__

    for value in (0, -1, 2.5, True, 2**5000, float("nan")):
        assert counter("queue", value) is None
    counter(Text("queue"), 1)
    counter("", 1)
    for args in [(), ("a",), ("a", "1"), ("a", None), (1, 1), ("a", 1, 2), ("a", Pretends())]:
        try:
            counter(*args)
        except TypeError as error:
            assert str(error) == \\
                "counter() takes a name, a str, and a number, an int or a float"
        else:
            raise AssertionError(args)
    try:
        counter("a", value=1)
    except TypeError:
        pass
    else:
        raise AssertionError("no keywords")
    """)
