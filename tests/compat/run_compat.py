"""Programs that use what a recorder can get in the way of, alone and recorded: equal outcomes.

    run_compat.py [--bin INFERSCOPE] [--python PATH]... [--program NAME]... [--cpu MODE]...
                  [--venvs DIR]

tracemalloc, faulthandler, coverage, gevent and uvloop, with every mode of --cpu.  The outcome is
the exit status, standard output and standard error, with addresses, thread ids and times replaced
(and see AGENT_IN_CRASH).  A run that takes longer than its limit hangs, and that is a failure.

Packages come from a virtual environment for each version of Python, made with pip under --venvs on
the first call (only there is a network or a folder of wheels needed) and kept.  Where a package
cannot be installed the cell of the matrix says so and the status is 0, unless nothing could run.
`make test-long` runs this; test_compat.py runs the part without packages in `make test`.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODES = ["auto", "trace", "sample", "off"]
LIMIT_S = 90

# Enough calls for a recording to pause and go on where it is limited (--max-overhead).
WORK = """
import os, sys, threading

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def work(rounds=20):
    return sum(fib(16) for _ in range(rounds))
"""

Program = collections.namedtuple("Program", "text package env command after")


def program(text, package=None, env=None, command=("{python}", "{file}"), after=None):
    return Program(WORK + textwrap.dedent(text), package, env or {}, command, after)


PROGRAMS = {
    "PYTHONTRACEMALLOC=1": program("""
        import tracemalloc
        print(work(), tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())
        kept = [bytearray(1000) for _ in range(10)]
        snapshot = tracemalloc.take_snapshot()
        mine = snapshot.filter_traces([tracemalloc.Filter(True, __file__)])
        print(sorted(t.size for t in mine.traces if t.size > 1000))
    """, env={"PYTHONTRACEMALLOC": "1"}),
    "tracemalloc and threads": program("""
        import tracemalloc
        def visit():
            tracemalloc.start()
            work(4)
            tracemalloc.stop()
        threads = [threading.Thread(target=visit) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        print(work(4), tracemalloc.is_tracing())
    """),
    "tracemalloc and fork": program("""
        import tracemalloc
        tracemalloc.start()
        work()
        for i in range(5):
            child = os.fork()
            if not child:
                work(8)
                os.write(1, b"child %d\\n" % i)
                os._exit(i)
            print(i, os.waitpid(child, 0)[1] >> 8, flush=True)
    """),
    "faulthandler, a crash": program("""
        import faulthandler, signal
        faulthandler.enable()
        work()
        os.kill(os.getpid(), signal.SIGSEGV)
    """),
    "faulthandler, later": program("""
        import faulthandler
        work()
        (told, tell), (ended, end), (text_out, text_in) = os.pipe(), os.pipe(), os.pipe()
        # One line each: whenever the dump comes, that is where a thread is.
        def wait(): os.write(tell, b"1"), os.read(ended, 1)
        thread = threading.Thread(target=wait)
        thread.start()
        os.read(told, 1)
        text = b""
        faulthandler.dump_traceback_later(0.3, file=text_in)
        while not text.endswith(b"in <module>\\n"): text += os.read(text_out, 65536)
        print(text.decode())
        os.write(end, b"1")
        thread.join()
        print(work())
    """),
    "faulthandler, on a signal": program("""
        import faulthandler, signal
        faulthandler.register(signal.SIGUSR1, all_threads=False, chain=False)
        for _ in range(3):
            work(4)
            os.kill(os.getpid(), signal.SIGUSR1)
        print(work())
    """),
    "coverage": program("""
        def branches(n):
            if n > 3:
                return 1
            return 0
        thread = threading.Thread(target=branches, args=(5,))
        thread.start()
        thread.join()
        print(work())
    """, "coverage", command=("{python}", "-m", "coverage", "run", "--branch", "{file}"),
        after=("{python}", "-m", "coverage", "report", "--show-missing")),
    "gevent": program("""
        from gevent import monkey
        monkey.patch_all()
        import gevent, gevent.pool, gevent.subprocess, queue, socket
        results = queue.Queue()
        def task(n):
            gevent.sleep(0.01 * n)
            results.put(fib(10 + n))
        gevent.joinall([gevent.spawn(task, n) for n in range(5)])
        print([results.get() for _ in range(5)])
        print(gevent.pool.Pool(3).map(fib, range(12)))
        left, right = socket.socketpair()
        reader = gevent.spawn(right.recv, 5)
        left.sendall(b"hello")
        print(reader.get(timeout=30))
        threads = [threading.Thread(target=work, args=(3,)) for _ in range(3)]
        for t in threads: t.start()
        for t in threads: t.join()
        print(gevent.subprocess.check_output([sys.executable, "-c", "print(1)"]))
        print(gevent.get_hub().threadpool.apply(work, (2,)))
        child = os.fork()
        if not child:
            gevent.sleep(0.01)
            os._exit(work(2) % 100)
        print(os.waitpid(child, 0)[1] >> 8)
        gevent.spawn(lambda: 1 // 0).join()
    """, "gevent"),
    "uvloop": program("""
        import asyncio, signal, uvloop
        async def serve(reader, writer):
            writer.write((await reader.readline()).upper())
            await writer.drain()
            writer.close()
        async def main():
            loop = asyncio.get_running_loop()
            print(type(loop).__module__)
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            for _ in range(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"hello\\n")
                print(await reader.readline())
                writer.close()
            server.close()
            print(await asyncio.gather(*[loop.run_in_executor(None, work, n) for n in range(4)]))
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", "print(1)", stdout=asyncio.subprocess.PIPE)
            print(await child.communicate(), child.returncode)
            arrived = asyncio.Event()
            loop.add_signal_handler(signal.SIGUSR1, arrived.set)
            os.kill(os.getpid(), signal.SIGUSR1)
            await asyncio.wait_for(arrived.wait(), 30)
            print(work())
            raise ValueError("last")
        uvloop.install()
        asyncio.run(main())
    """, "uvloop"),
}


def environment(scratch):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("INFERSCOPE_", "XDG_", "PYTHON", "COVERAGE_"))}
    env.update(HOME=scratch, TMPDIR=scratch)
    return env


# From 3.10 on a crash report names the extension modules that are loaded.  Who reads one is to know
# that the agent was there.
AGENT_IN_CRASH = "\nExtension modules: inferscope._agent (total: 1)\n"


def normalised(text):
    text = text.replace(AGENT_IN_CRASH, "")
    return re.sub(r"0x[0-9a-f]+|<Greenlet at [^>]*>|\d{4}-\d\d-\d\dT[0-9:]+Z", "-", text)


def run(command, scratch, env):
    """(exit status, output, errors); "hangs" for the status at the limit."""
    child = subprocess.Popen(command, cwd=scratch, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True, start_new_session=True)
    try:
        out, errors = child.communicate(timeout=LIMIT_S)
        status = 128 - child.returncode if child.returncode < 0 else child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        out, errors = child.communicate()
        status = "hangs"
    return status, normalised(out), normalised(errors)


def outcome(name, python, scratch, binary=None, mode=None):
    """Of a program under an interpreter, in a folder of its own; recorded if there is a binary."""
    wanted = PROGRAMS[name]
    os.mkdir(scratch)  # the same for all runs: tracebacks name it
    try:
        path = os.path.join(scratch, "program.py")
        with open(path, "w") as text:
            text.write(wanted.text)

        def words(command):
            return [word.format(python=python, file="program.py") for word in command]

        env = dict(environment(scratch), **wanted.env)
        recorder = [binary, "run", "--quiet", "--no-trace", "--report", "r.json", "--cpu", mode,
                    "--"] if binary else []
        results = [run(recorder + words(wanted.command), scratch, env)]
        if wanted.after:
            results.append(run(words(wanted.after), scratch, env))
        if binary and not os.path.exists(os.path.join(scratch, "r.json")):
            results.append("no report was written")
        return results
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def difference(alone, recorded):
    """In words; None where there is none."""
    for one, other in zip(alone, recorded):
        for what, a, b in zip(("exit status", "output", "errors"), one, other):
            if a != b:
                return "%s: alone\n%s\nrecorded\n%s" % (what, a, b)
    return None if len(alone) == len(recorded) else "recorded: %s" % (recorded[-1],)


def differences(name, python, binary, modes):
    """{mode: what differs}; None where nothing does."""
    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        scratch = os.path.join(folder, "run")
        alone = outcome(name, python, scratch)
        return {mode: difference(alone, outcome(name, python, scratch, binary, mode))
                for mode in modes}


def version_of(python):
    return subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                          stdout=subprocess.PIPE, universal_newlines=True,
                          check=True).stdout.strip()


def venv_python(python, folder):
    """The interpreter of a virtual environment with all packages that can be installed."""
    path = os.path.join(folder, version_of(python))
    inner = os.path.join(path, "bin", "python")
    if not os.path.exists(inner):
        subprocess.run([python, "-m", "venv", path], check=True, stdout=subprocess.DEVNULL)
        for package in sorted({p.package for p in PROGRAMS.values() if p.package}):
            subprocess.run([inner, "-m", "pip", "install", "--quiet", "--only-binary", ":all:",
                            package], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return inner


def has(python, package):
    return not subprocess.run([python, "-c", "import " + package],
                              stderr=subprocess.DEVNULL).returncode


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=os.environ.get(
        "INFERSCOPE_BIN", os.path.join(ROOT, "build/stage/bin/inferscope")))
    parser.add_argument("--python", action="append")
    parser.add_argument("--program", action="append", choices=list(PROGRAMS))
    parser.add_argument("--cpu", action="append", choices=MODES)
    parser.add_argument("--venvs", default=os.path.join(tempfile.gettempdir(), "compat-venvs"))
    args = parser.parse_args()
    if not args.python:
        args.python = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")
    return args


def main():
    args = arguments()
    binary = os.path.abspath(args.bin)
    modes = args.cpu or MODES
    ran = bad = 0
    for python in sorted(args.python, key=lambda p: int(version_of(p).split(".")[1])):
        version = version_of(python)
        for name in args.program or PROGRAMS:
            package = PROGRAMS[name].package
            chosen = venv_python(python, args.venvs) if package else python
            if package and not has(chosen, package):
                print("%-5s %-26s %s cannot be installed" % (version, name, package), flush=True)
                continue
            found = differences(name, chosen, binary, modes)
            print("%-5s %-26s %s" % (version, name, "  ".join(
                "%s %s" % (mode, "DIFFERS" if found[mode] else "ok") for mode in modes)),
                flush=True)
            for mode in modes:
                if found[mode]:
                    print(textwrap.indent("--cpu %s: %s" % (mode, found[mode]), "    "), flush=True)
            ran += 1
            bad += sum(map(bool, found.values()))
    if bad or not ran:
        sys.exit("%d outcomes differ" % bad if bad else "nothing could run")


if __name__ == "__main__":
    main()
