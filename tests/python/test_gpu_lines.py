"""Every launch knows its Python line: the innermost one and the user's."""

import pytest

from gpu_double import told


@pytest.mark.parametrize("gil", ["free_gil", "hold_gil"])
def test_the_python_line_of_every_launch(python, record_gpu, gil):
    trace = record_gpu(python, """
        import fake_cuda, json, sys, threading
        fake_cuda.init()
        lib = getattr(fake_cuda, sys.argv[1])
        here = sys._getframe
        lines = []

        def launch():
            return lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000)

        def direct():
            lines.append([lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno])

            lines.append([lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno])
            if lines:
                for _ in range(3):
                    lines.append([lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno])

        def outer():
            def inner():
                lines.append([fake_cuda.launch("k", library=lib), here().f_lineno])
            inner()

        def generate():
            yield lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno
            yield lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno

        async def coroutine():
            lines.append([lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno])

        class Model:
            def __call__(self):
                lines.append([lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno])

            @property
            def item(self):
                lines.append([lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno])

        direct()
        outer()
        lines.extend(map(list, generate()))
        try: coroutine().send(None)
        except StopIteration: pass
        Model()()
        Model().item
        lines += [[lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno] for _ in "ab"]
        by_lambda = lambda: [lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno]
        lines.append(by_lambda())
        def key(_): return lines.append([launch_k(b"k", SHAPE, 7, 1), here().f_lineno]) or 0
        launch_k, SHAPE = lib.fake_launch, fake_cuda.SHAPE
        sorted([1, 2], key=key)
        try:
            raise ValueError
        except ValueError:
            lines.append([lib.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000), here().f_lineno])
        exec(compile("lines.append([launch(), 1])", "<made>", "exec"))
        thread = threading.Thread(target=direct)
        thread.start()
        thread.join()
        lib.fake_sync_device()
        print(json.dumps(lines))
    """, gil)
    expected = dict(told(trace)[0])
    assert len(expected) == 23
    launches = [c for c in trace.calls if c.what == 1]
    assert {c.correlation for c in launches} == expected.keys()
    for call in launches:
        frames = trace.stack(call)
        user = [f for f in frames if "site-packages" not in f.file]
        if user[0].function == "launch":  # called from the made-up code
            assert (user[1].file, user[1].line) == ("<made>", 1)
        else:
            assert user[0].line == expected[call.correlation], frames
            assert user[0].file.endswith("program.py")
        inside = frames[0].function == "launch" and "site-packages" in frames[0].file
        assert inside == (user[0].function == "outer.<locals>.inner")
    linked = {k.correlation for k in trace.kernels}
    assert linked == expected.keys()
    functions = {f.function for c in launches for f in trace.stack(c)}
    assert {"Model.__call__", "Model.item", "outer.<locals>.inner", "generate", "coroutine",
            "<module>"} <= functions
    assert trace.stack(launches[0])[-1].function == "<module>"


def test_fifty_threads_launch_at_once(python, record_gpu):
    trace = record_gpu(python, """
        import fake_cuda, json, sys, threading
        fake_cuda.init()
        start = threading.Barrier(50)
        lines = {}

        def work(number):
            mine, name = lines.setdefault(number, []), "k%d" % number
            start.wait()
            for i in range(40):
                mine.append([fake_cuda.launch(name, number), sys._getframe().f_lineno])
                mine.append([fake_cuda.launch(name, number), sys._getframe().f_lineno])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(50)]
        for t in threads: t.start()
        for t in threads: t.join()
        fake_cuda.free_gil.fake_sync_device()
        print(json.dumps(lines))
    """)
    expected = told(trace)[0]
    calls = {c.correlation: c for c in trace.calls if c.what == 1}
    kernels = {k.correlation: k for k in trace.kernels}
    assert len(calls) == len(kernels) == len(trace.kernels) == 4000
    threads = set()
    for number, mine in expected.items():
        assert len({calls[correlation].thread for correlation, _ in mine}) == 1
        threads.add(calls[mine[0][0]].thread)
        for correlation, line in mine:
            inner, user = trace.stack(calls[correlation])[:2]
            assert (inner.function, user.function, user.line) == ("launch", "work", line)
            assert kernels[correlation].name == "k" + number
    assert len(threads) == 50


def test_functions_that_come_and_go(python, record_gpu):
    """Addresses of code objects come back; a name or line never goes with them."""
    trace = record_gpu(python, """
        import fake_cuda, json
        fake_cuda.init()
        addresses = set()
        for i in range(2000):
            text = "\\n" * (i % 97) + "def made_%d():\\n  return launch('k')\\n" % i
            space = {"launch": fake_cuda.launch}
            exec(compile(text, "made_%d.py" % i, "exec"), space)
            addresses.add(id(space["made_%d" % i].__code__))
            print(json.dumps([space["made_%d" % i](), i]))
        print(json.dumps(len(addresses)))
    """)
    *made, addresses = told(trace)
    assert addresses < 1500  # they do come back
    calls = {c.correlation: c for c in trace.calls}
    for correlation, i in made:
        user = trace.stack(calls[correlation])[1]
        assert user == ("made_%d" % i, "made_%d.py" % i, i % 97 + 2)


@pytest.mark.parametrize("depth", [100, 127, 128, 129, 500])
def test_deep_stacks_are_cut_at_their_outer_end(python, record_gpu, depth):
    trace = record_gpu(python, """
        import fake_cuda, sys
        fake_cuda.init()

        def dive(left):
            if left:
                return dive(left - 1)
            return fake_cuda.free_gil.fake_launch(b"k", fake_cuda.SHAPE, 7, 1000)

        dive(int(sys.argv[1]) - 2)
    """, depth)
    call, = trace.calls
    frames = trace.stack(call)
    assert len(frames) == min(depth, 128)
    assert frames[0][::2] == ("dive", 8)
    whole = depth <= 128
    assert {f[::2] for f in frames[1:len(frames) - whole]} == {("dive", 7)}
    assert (frames[-1].function == "<module>") == whole


def test_large_functions(python, record_gpu):
    """Lines far down: long jumps in the line tables."""
    body = "".join("    x = 1\n" * 5 + "\n" * (i * 7) for i in range(30))
    trace = record_gpu(python, "import fake_cuda, json, sys\nfake_cuda.init()\n"
                       "def large():\n" + body +
                       "    print(json.dumps([fake_cuda.launch(), sys._getframe().f_lineno]))\n"
                       + "large()\n")
    (correlation, line), = told(trace)
    call, = trace.calls
    assert call.correlation == correlation and line > 3000
    assert trace.stack(call)[1][::2] == ("large", line)


@pytest.mark.parametrize("lines", [300, 3000])
def test_long_scripts(python, record_gpu, lines):
    """Much code in one function makes a line table that does not fit as it is."""
    trace = record_gpu(python, "import fake_cuda\nfake_cuda.init()\ni = 0\n" + "".join(
        "x = len(str(i), ) + min(2, i, len('abc'))\n" + "\n" * (300 * (n == 50))
        for n in range(lines)) + "fake_cuda.launch('k')\n")
    call, = trace.calls
    assert trace.stack(call)[1][::2] == ("<module>", 3 + lines + 300 + 1)


def test_a_thread_that_c_code_made(python, record_gpu):
    """Before 3.12 such a thread is found when another one looks around."""
    trace = record_gpu(python, """
        import ctypes, fake_cuda, threading
        fake_cuda.init()
        libc = ctypes.CDLL(None)
        arrived, go = threading.Event(), threading.Event()

        def inside(_):
            arrived.set()
            go.wait()
            for _ in range(20):
                step()
            return None

        def step():
            fake_cuda.launch("k")

        def main_thread_works():
            pass

        body = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(inside)
        handle = ctypes.c_ulong()
        assert libc.pthread_create(ctypes.byref(handle), None, body, None) == 0
        arrived.wait()
        for _ in range(3000):
            main_thread_works()
        go.set()
        libc.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
        assert libc.pthread_join(handle, None) == 0
    """)
    assert len(trace.calls) == len(trace.kernels) == 20
    for call in trace.calls:
        assert [f[::2] for f in trace.stack(call)][1] == ("step", 15)
