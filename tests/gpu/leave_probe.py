"""What CUPTI leaves behind in a process, and how to get rid of it: cuptiFinalize().

    tests/gpu/leave_probe.py [--cupti VERSION] [SCENARIO ...]

  costs     a launch of PyTorch's with CUPTI in one state after the other, many rounds
  at_end    threads launch while CUPTI is taken and finalized at the end of a call
  graphs    the same, and one of them replays a CUDA graph
  outside   the same, finalized by a thread that makes no call

Each scenario is a process of its own, for some of them crash or hang: src/agent/gpu_leave.c.
"""

import argparse
import ctypes
import faulthandler
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import cupti_versions
import kit

LAUNCHES, BLOCKS, ROUNDS = 400, 12, 12
THREADS, SECONDS, WINDOW_S, PAUSE_S = 3, 6, 0.15, 0.05
LIMIT_S = 40


def build(folder):
    path = folder + "/leave_probe.so"
    subprocess.check_call(["cc", "-std=gnu11", "-O2", "-shared", "-fPIC", "-I" + kit.ROOT + "/src",
                           "-o", path, kit.HERE + "/leave_probe.c", "-ldl"])
    return path


class Probe:
    """Every function of leave_probe.c; what CUPTI refuses ends the scenario."""

    def __init__(self, library, cupti):
        self.library = ctypes.CDLL(library)
        self("open", cupti.encode())

    def __call__(self, name, *args):
        result = getattr(self.library, "probe_" + name)(*args)
        if result:
            sys.exit("%s%s: %d" % (name, args, result))

    def leave_at_end(self, call=lambda: time.sleep(0.001)):
        """False: no call came."""
        self.library.probe_ask()
        end = time.monotonic() + 5
        while self.library.probe_answer() < 0 and time.monotonic() < end:
            call()
        if self.library.probe_answer() > 0:
            sys.exit("cuptiFinalize: %d" % self.library.probe_answer())
        return self.library.probe_answer() == 0


def costs(probe):
    import torch
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    x = torch.zeros(64, device="cuda")
    took = {}

    def measure(state):
        blocks = []
        for _ in range(BLOCKS):
            began = time.perf_counter()
            for _ in range(LAUNCHES):
                x.add_(1)
            blocks.append(time.perf_counter() - began)
            torch.cuda.synchronize()
        took.setdefault(state, []).append(1e6 * statistics.median(blocks) / LAUNCHES)

    steps = [
        ("subscribed", [("subscribe",)]),
        ("the runtime's launches heard", [("hear", 1, 0)]),
        ("the driver's launches heard", [("hear", 0, 1)]),
        ("both heard", [("hear", 1, 1)]),
        ("both heard, activities", [("record", 1)]),
        ("the driver's heard, activities", [("hear", 0, 1)]),
        ("activities", [("hear", 0, 0)]),
        ("all off", [("record", 0), ("flush",)]),
        ("unsubscribed", [("unsubscribe",)]),
    ]
    measure("never touched")
    for _ in range(ROUNDS):
        for state, calls in steps:
            for call in calls:
                probe(*call)
            measure(state)
        probe("subscribe")
        probe("hear", 1, 1)
        if not probe.leave_at_end(lambda: x.add_(1)):
            sys.exit("no call was heard")
        measure("finalized")
    base = took["finalized"]
    for state, each in took.items():
        more = statistics.median(a - b for a, b in zip(each, base))
        print("  %-32s %6.2f us, %+5.2f" % (state, statistics.median(each), more))


def stress(probe, leave, graphs=False):
    import torch
    faulthandler.enable()
    done = threading.Event()
    counts = [0] * THREADS
    x = torch.randn(64, 64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.relu(x @ x)
    torch.cuda.synchronize()
    if graphs:
        with torch.cuda.graph(graph):
            torch.relu(torch.relu(x @ x) @ x)

    def work(number):
        with torch.cuda.stream(torch.cuda.Stream()):
            while not done.is_set():
                for _ in range(20):
                    torch.relu(x @ x)
                if graphs and number == 0:
                    graph.replay()
                counts[number] += 1
                if counts[number] % 50 == 0:
                    torch.cuda.current_stream().synchronize()

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    end, times, worst = time.monotonic() + SECONDS, 0, 0
    while time.monotonic() < end:
        for call in [("subscribe",), ("hear", 1, 1), ("record", 1)]:
            probe(*call)
        time.sleep(WINDOW_S)
        began = time.monotonic()
        probe("record", 0)
        probe("flush")
        if leave() is False:
            sys.exit("no call was heard")
        worst = max(worst, time.monotonic() - began)
        times += 1
        time.sleep(PAUSE_S)
    done.set()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    print("  left %d times, %.0f ms at most; turns of the threads: %s; buffers not returned: %d"
          % (times, 1e3 * worst, counts, probe.library.probe_buffers()))


SCENARIOS = {
    "costs": costs,
    "at_end": lambda probe: stress(probe, probe.leave_at_end),
    "graphs": lambda probe: stress(probe, probe.leave_at_end, graphs=True),
    "outside": lambda probe: stress(probe, lambda: probe("finalize")),
}


def run(library, version, cupti, scenario):
    print("== CUPTI %s: %s" % (version, scenario), flush=True)
    try:
        status = subprocess.call([sys.executable, __file__, "--in", library, cupti, scenario],
                                 timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        print("  not done after %d s" % LIMIT_S, flush=True)
        return
    if status:
        print("  status %d" % kit.shell_status(status), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS), metavar="SCENARIO")
    parser.add_argument("--cupti", action="append", metavar="VERSION", help="only these")
    parser.add_argument("--in", nargs=2, dest="inside", help=argparse.SUPPRESS)
    args = parser.parse_args()

    if args.inside:
        SCENARIOS[args.scenarios[0]](Probe(*args.inside))
        return 0
    with tempfile.TemporaryDirectory(prefix="inferscope-leave-") as folder:
        library = build(folder)
        for version, cupti in sorted(cupti_versions.find().items()):
            if not args.cupti or version in args.cupti:
                for scenario in args.scenarios:
                    run(library, version, cupti, scenario)
    return 0


if __name__ == "__main__":
    sys.exit(main())
