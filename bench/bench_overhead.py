"""What recording costs: whole runs with and without it, in interleaved pairs.

A ratio includes everything: start-up, the recording itself and the reports.
"""

import os
import sys
import tempfile

import paired

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Nothing but calls: the worst case.
FIB = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(27)
"""


def bench(name, folder, script, *arguments):
    workload = [os.path.join(ROOT, "examples", script), *arguments]
    recorded = [os.environ["INFERSCOPE_BIN"], "run", "--quiet", "--python", sys.executable]
    ratio = paired.ratio(paired.command([sys.executable] + workload, cwd=folder),
                         paired.command(recorded + workload, cwd=folder))
    print("overhead.%s %.3f times" % (name, ratio.median))
    print("# overhead.%s: 95 %% interval %.3f .. %.3f" % (name, ratio.low, ratio.high))


def main():
    with tempfile.TemporaryDirectory() as folder:
        fib = os.path.join(folder, "fib.py")
        with open(fib, "w", encoding="utf-8") as file:
            file.write(FIB)
        bench("fib", folder, fib)
        bench("asyncio", folder, "asyncio_server.py")
        try:
            import torch  # noqa: F401
        except ImportError:
            print("# overhead.demo: left out, torch is not installed")
        else:
            bench("demo", folder, "torch_cpu_inference.py", "--requests", "60")


if __name__ == "__main__":
    main()
