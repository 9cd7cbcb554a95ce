"""Programs whose output, errors and exit status must be the same with and without recording."""

import os
import re
import subprocess
import sys

import pytest

import run_suite

PYTHONS = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")

HTTP = """
import concurrent.futures, http.server, threading, urllib.request

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ("you asked for " + self.path).encode()
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

def get(path):
    try:
        with urllib.request.urlopen(url + path) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
url = "http://127.0.0.1:%d" % server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for answer in pool.map(get, ["/%d" % i for i in range(50)] + ["/missing"]):
        print(*answer)
server.shutdown()
"""

POOL = """
import multiprocessing, sys

def square(n):
    return n * n

def fail(n):
    raise ValueError(n)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(3) as pool:
        print(pool.map(square, range(100)))
        try:
            pool.map(fail, [7])
        except ValueError as error:
            print("caught", error)
    worker = context.Process(target=sys.exit, args=(5,))
    worker.start()
    worker.join()
    print(worker.exitcode)
"""

EXECUTORS = """
import concurrent.futures as futures

def chain(n):
    return sum(i * n for i in range(200))

if __name__ == "__main__":
    for kind in (futures.ThreadPoolExecutor, futures.ProcessPoolExecutor):
        with kind(3) as pool:
            print(kind.__name__, list(pool.map(chain, range(20))))
"""

ASYNCIO = """
import asyncio

async def serve(reader, writer):
    async for line in reader:
        writer.write(line.upper())
        await writer.drain()
    writer.close()

async def ask(port, text):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text.encode() + b"\\n")
    answer = await reader.readline()
    writer.close()
    return answer.decode().strip()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(await asyncio.gather(*(ask(port, "request %d" % i) for i in range(50))))
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.01)
    except asyncio.TimeoutError:
        print("timed out")
    server.close()

asyncio.run(main())
"""

FORKS = """
import os, sys
for status in range(3):
    pid = os.fork()
    if not pid:
        sys.exit(status)
    print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]), flush=True)
"""

UNITTEST = """
import unittest

class Sums(unittest.TestCase):
    def test_good(self):
        self.assertEqual(sum([1, 2]), 3)

    @unittest.skip("not today")
    def test_skipped(self):
        pass
"""

OWN_HOOKS = """
import sys

def work():
    return len("x")

def note(frame, event, arg):
    seen.append((event, frame.f_code.co_name, getattr(arg, "__name__", None)))
    return note

for name in "profile", "trace":
    print(getattr(sys, "get" + name)())
    seen = []
    getattr(sys, "set" + name)(note)
    work()
    getattr(sys, "set" + name)(None)
    print(seen, getattr(sys, "get" + name)())
"""

CPROFILE = """
import cProfile
import pstats

def work(n):
    return n and work(n - 1)

profile = cProfile.Profile()
profile.runcall(work, 10)
print(pstats.Stats(profile).total_calls)
"""

RECURSION = """
def down(n):
    return n and 1 + down(n - 1)

print(down(900))
try:
    down(10**6)
except RecursionError as error:
    print(error)
"""

THREAD_RAISES = """
import threading
thread = threading.Thread(target=lambda: 1 / 0, name="t")
thread.start()
thread.join()
"""

WORK_AT_EXIT = """
import atexit, threading
atexit.register(print, "bye")
threading.Timer(0.1, print, ["late"]).start()
"""

# Name: arguments of the interpreter and standard input.  FILE is the program's source in a file.
PROGRAMS = {
    "pip-list": (["-m", "pip", "--disable-pip-version-check", "list"], ""),
    "json-tool": (["-m", "json.tool"], '{"a": [1, 2.5, null]}'),
    "json-tool-refuses": (["-m", "json.tool"], '{"a": '),
    "unittest": (["-m", "unittest", "-q", "program"], UNITTEST),
    "http-server": (["FILE"], HTTP),
    "pool-fork": (["FILE", "fork"], POOL),
    "pool-spawn": (["FILE", "spawn"], POOL),
    "pool-forkserver": (["FILE", "forkserver"], POOL),
    "executors": (["FILE"], EXECUTORS),
    "asyncio": (["FILE"], ASYNCIO),
    "forks": (["FILE"], FORKS),
    "own-hooks": (["FILE"], OWN_HOOKS),
    "cprofile": (["FILE"], CPROFILE),
    "recursion": (["FILE"], RECURSION),
    "raises": (["FILE"], "def f():\n    raise KeyError('x')\nf()\n"),
    "thread-raises": (["FILE"], THREAD_RAISES),
    "work-at-exit": (["FILE"], WORK_AT_EXIT),
    "exit-with-text": (["-c", "import sys; sys.exit('no')"], ""),
    "exit-at-once": (["-c", "import os; print(1, flush=True); os._exit(7)"], ""),
    "killed": (["-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"], ""),
    "interrupted": (["-c", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"], ""),
    "aborts": (["-c", "import os; os.abort()"], ""),
    "isolated": (["-I", "-c", "import sys; print('sitecustomize' in sys.modules)"], ""),
    "from-standard-input": (["-"], "print(sum(range(10)))"),
}


def outcome(command, text, cwd):
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, cwd=str(cwd), timeout=120,
                          env=run_suite.environment(str(cwd)))
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return status, done.stdout, re.sub(r"\d+\.\d+s", "SECONDS", done.stderr)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_output_errors_and_status_are_those_of_a_plain_run(python, name, tmp_path):
    arguments, text = PROGRAMS[name]
    program = tmp_path / "program.py"
    program.write_text(text)
    command = [python] + [str(program) if word == "FILE" else word for word in arguments]
    report = str(tmp_path / "report.json")
    recorder = [run_suite.binary(), "run", "--quiet", "--log-level", "error", "--no-trace",
                "--report", report, "--"]
    assert outcome(recorder + command, text, tmp_path) == outcome(command, text, tmp_path)
    assert os.path.exists(report)
