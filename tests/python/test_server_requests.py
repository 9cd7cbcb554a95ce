"""Requests of servers and work of pools as steps, on every interpreter and in every mode."""

import json
import os
import re
import textwrap

import pytest
from layer_kit import DOUBLE

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# A stand-in for uvicorn's file: its functions are known by file and name.
UVICORN = """
    import asyncio

    class RequestResponseCycle:
        def __init__(self, app, number):
            self.app, self.number = app, number

        async def run_asgi(self, app):
            return await app(self.number)
"""

PROGRAM = """
    import asyncio, sys, time
    sys.path.insert(0, {path!r})
    import uvicorn.protocols.http.h11_impl as http
    import json.tool  # something is always imported behind it

    async def app(number):
        await asyncio.sleep(0.002)
        if number % 10 == 3:
            raise ValueError(number)
        if number == 25:
            await asyncio.sleep(60)
        sum(range(2000))

    async def main():
        tasks = []
        for number in range(60):
            cycle = http.RequestResponseCycle(app, number)
            tasks.append(asyncio.ensure_future(cycle.run_asgi(app)))
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        tasks[25].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        print(sum(isinstance(d, ValueError) for d in done),
              sum(isinstance(d, asyncio.CancelledError) for d in done),
              http.RequestResponseCycle.run_asgi.__name__,
              http.RequestResponseCycle.run_asgi.__qualname__)

    asyncio.run(main())
"""


@pytest.fixture
def fake_uvicorn(work):
    folder = work / "lib" / "uvicorn" / "protocols" / "http"
    folder.mkdir(parents=True)
    (folder / "h11_impl.py").write_text(textwrap.dedent(UVICORN))
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text("")
    return str(work / "lib")


def first_step(work, inferscope, python, source, *options, **env):
    (work / "program.py").write_text(textwrap.dedent(source))
    done = inferscope("run", "--python", python, "--report", "r.json", "--trace", "t.isc",
                      "--quiet", *options, "program.py", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads((work / "r.json").read_text())["steps"][0], done.stdout


@pytest.mark.parametrize("mode", [[], ["--cpu", "sample"], ["--max-overhead", "0.1"]])
def test_each_request_is_a_step_however_it_ends(work, inferscope, python, fake_uvicorn, mode):
    step, out = first_step(work, inferscope, python, PROGRAM.format(path=fake_uvicorn), *mode)
    assert out.split() == ["6", "1", "run_asgi", "RequestResponseCycle.run_asgi"]
    assert (step["name"], step["source"]) == ("request: uvicorn", "request")
    # From 3.12 on the end by an exception may be left out of the trace for the budget's sake.
    assert step["count"] + step["unended"] == 60
    assert step["count"] >= 53
    assert step["p50_ms"] >= 2


def test_work_of_a_pool_is_a_step(work, inferscope, python):
    step, _ = first_step(work, inferscope, python, """
        import time
        from concurrent.futures import ThreadPoolExecutor
        import json.tool

        def task(number):
            time.sleep(0.002)

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(task, range(50)))
    """, "--cpu", "sample")
    assert (step["name"], step["source"], step["count"]) == \
        ("work item: ThreadPoolExecutor", "request", 50)


def test_native_calls_of_a_script_are_steps(work, inferscope, python, version):
    """From 3.12 on, and only of packages; short ones soon cost nothing."""
    if version < (3, 12):
        pytest.skip("before CPython 3.12 native functions are not listened to")
    step, out = first_step(work, inferscope, python, """
        from zlib import compress, crc32, decompress
        compress.__module__ = crc32.__module__ = "packed"
        data = bytes(range(256)) * 8192

        def main():
            size = 0
            for number in range(500):
                size += crc32(b"short") > 0
            for number in range(12):
                try:
                    size += len(decompress(b"no data"))
                except Exception:
                    size += len(compress(data, 9))
            return size

        print(main() > 512)
    """)
    assert out == "True\n"
    assert (step["name"], step["count"]) == ("packed.compress", 12)
    with open(work / "r.json") as file:
        found = {c["name"]: c for c in json.load(file)["step_candidates"]}
    assert found["packed.compress"]["found_by"] == "native calls"
    assert found["packed.crc32"]["count"] < 50
    assert not [name for name in found if name.endswith("decompress")]


def test_native_calls_run_no_code_of_the_program(work, inferscope, python, version):
    """What may be asked for its name by Python code is not asked."""
    if version < (3, 12):
        pytest.skip("before CPython 3.12 native functions are not listened to")
    _, out = first_step(work, inferscope, python, """
        class Loud(type):
            def __getattribute__(cls, name):
                print("class asked for", name)
                return super().__getattribute__(name)

        class Rows(list, metaclass=Loud):
            pass

        class CompiledFunction:
            def __getattr__(self, name):
                print("object asked for", name)
                raise AttributeError(name)

            def __call__(self, number):
                return number

        method = type("method", (CompiledFunction,), {})

        def main():
            rows = Rows()
            calls = [CompiledFunction(), method()]
            for number in range(6):
                rows.append(number)
                for call in calls:
                    call(number)
            return len(rows)

        print(main())
    """)
    assert out == "6\n"


def test_a_framework_inside_a_server_counts_once(work, inferscope, python, fake_uvicorn):
    folder = work / "lib" / "flask"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "app.py").write_text(textwrap.dedent("""
        import time

        class Flask:
            def wsgi_app(self, number):
                time.sleep(0.001)
    """))
    step, _ = first_step(work, inferscope, python, """
        import sys
        sys.path.insert(0, {path!r})
        import flask.app
        from wsgiref.handlers import BaseHandler
        import json.tool

        class Handler(BaseHandler):
            def setup_environ(self):
                self.environ = {{}}
            def finish_response(self):
                pass

        app = flask.app.Flask()
        for number in range(20):
            Handler().run(lambda environ, start: app.wsgi_app(number))
    """.format(path=fake_uvicorn))
    assert (step["name"], step["count"]) == ("request: wsgiref", 20)


def test_only_contained_functions_are_wrapped():
    """What raises to the program would show a wrapper in its tracebacks."""
    with open(os.path.join(ROOT, "src/agent/hooks/server_requests.c")) as file:
        rows = re.findall(r'X\("([^"]+)\.py",\s*"([^"]+)",\s*'
                          r'(REQUEST|WORK|CALL)_SCOPES\s*"([^"]+)",'
                          r'\s*(true|false)\)', file.read().replace("\\\n", ""))
    starts = {"REQUEST": "request: ", "WORK": "work item: ", "CALL": "call: "}
    contained = {(module.replace("/", "."), name, starts[kind] + label)
                 for module, name, kind, label, wrapped in rows if wrapped == "true"}
    assert len(rows) > len(contained) > 10
    with open(os.path.join(ROOT, "python/inferscope/_served.py")) as file:
        table = re.search(r"waiting_for = (\{.*?\n\})", file.read(), re.S).group(1)
    assert contained == {(module, name, label) for module, functions in eval(table).items()
                         for name, label in functions}
    assert not [row for row in contained if row[2].startswith("call: ")]


MODEL = """
    import time
    from torch import nn

    class Block(nn.Module):
        def forward(self, x):
            time.sleep(0.001)
            return x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Block(), Block()

        def forward(self, x):
            return self.second(self.first(x))

    class Odd(Net):
        def forward(self, x):
            raise ValueError(x)

    net, odd = Net(), Odd()
    for x in range(40):
        net(x)
        time.sleep(0.001)
        try:
            odd(x)
        except ValueError:
            pass
    print(type(net).__call__ is nn.Module.__call__, Net.__call__ is nn.Module.__call__)
"""


@pytest.mark.parametrize("mode", [[], ["--cpu", "sample"], ["--max-overhead", "0.1"]])
def test_calls_of_models_are_counted_whatever_is_recorded_of_calls(work, inferscope, python,
                                                                   version, mode):
    step, out = first_step(work, inferscope, python, MODEL, *mode, PYTHONPATH=DOUBLE,
                           PYTHONDONTWRITEBYTECODE="1")
    assert out.split() == ["True", "True"]
    # Before 3.12 the class is known from its first call on, or from an event of the interpreter's.
    if mode == ["--cpu", "sample"] and version < (3, 12):
        assert step["source"] in ("whole-run", "module")
        return
    assert step["name"] in ("Net", "Net in program.py")
    assert step["source"] in ("module", "loop")
    assert 39 <= step["count"] <= 40
    assert step["p50_ms"] >= 2
