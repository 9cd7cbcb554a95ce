"""What profilers cost Python programs: one table, InferScope beside the others.

    bench/bench_cpu.py                          auto on 3.12, a few minutes
    bench/bench_cpu.py --rows fib --columns auto,trace --versions 3.9,3.13
    bench/bench_cpu.py --all --markdown -       everything, hours

Rows are the scripts of bench/workloads, which time their own loop; "one core" means that
workload and profiler share one.  Every cell is the median ratio to a plain run over interleaved
pairs.  Cells that were measured before with the same program, tool and workload are taken from
--results.  Without --markdown the results come as bench/README.md describes.  On a machine with
many cores --lanes measures several cells at a time, each on cores of its own.
"""

import argparse
import contextlib
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import cpu_table
import cpu_tools
import paired
from cpu_table import Cell, Key, Results, Run
from run import machine

VERSIONS = ("3.9", "3.11", "3.12", "3.13")
CORES = {"free": ("free",), "one": ("one",), "both": ("free", "one")}
QUICK = {"versions": ("3.12",), "columns": ("auto",), "cores": "free"}
WHOLE = {"versions": VERSIONS, "columns": tuple(cpu_tools.TOOLS), "cores": "both"}
RUN_S = 1.1        # of a plain process, about; a guess that the measurement soon replaces
TIMEOUT_S = 120
OTHERS_BYTES = 8 << 30  # Scalene on 3.11 was seen to take 17 GB


class Failed(Exception):
    """A run ended badly; the text says how."""


@contextlib.contextmanager
def on_cores(cores):
    """All that this thread starts inside runs on one core where `cores` says so."""
    before = os.sched_getaffinity(0)
    if cores == "one":
        os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def say(text):
    print(text, file=sys.stderr, flush=True)


def overhead_share(folder):
    try:
        with open(os.path.join(folder, cpu_tools.REPORT), encoding="utf-8") as file:
            return json.load(file)["trust"]["overhead_share"]
    except FileNotFoundError:
        return None


def run_to_end(arguments, limit_bytes, **keywords):
    """The exit status.  What hangs is killed with all that it started."""
    # A session of its own has a process group of its own: Scalene runs the program in a child.
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, start_new_session=True,
                               stderr=subprocess.STDOUT, **keywords)
    try:
        if limit_bytes:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (limit_bytes, limit_bytes))
        return process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Failed("took more than %d s" % TIMEOUT_S) from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run_once(arguments, scale, limit_bytes=0, variables=()):
    """One run of a workload in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-cpu-") as folder:
        seconds = os.path.join(folder, "seconds")
        environment = dict(os.environ, BENCH_SCALE=str(scale), BENCH_SECONDS=seconds)
        environment.update(variables)
        log = os.path.join(folder, "log")
        with open(log, "w+", encoding="utf-8", errors="replace") as file:
            start = time.perf_counter()
            status = run_to_end(arguments, limit_bytes, cwd=folder, env=environment, stdout=file)
            whole = time.perf_counter() - start
            file.seek(0)
            text = file.read()
        if status:
            raise Failed("exit status %d: %s" % (status, cpu_tools.reason_of(text)))
        try:
            with open(seconds, encoding="utf-8") as file:
                loop, cpu = map(float, file.read().split())
        except FileNotFoundError:
            raise Failed("the workload did not run: " + cpu_tools.reason_of(text)) from None
        return Run(loop, whole, overhead_share(folder), cpu)


def measure(env, key, pairs, scale):
    """The pairs of a cell, after one warm-up of each."""
    script = cpu_tools.script_of(key.row)
    plain = [env.python, script]
    tool = cpu_tools.TOOLS[key.tool].command(env, script)
    limit = 0 if key.tool in cpu_tools.OURS else OTHERS_BYTES
    variables = env.variables(key.row)

    def run_plain():
        return run_once(plain, scale, 0, variables)

    def run_tool():
        return run_once(tool, scale, limit, variables)

    with on_cores(key.cores):
        run_plain()
        run_tool()
        return paired.interleave(run_plain, run_tool, pairs)


class Clock:
    """How long the rest will take: by guess at first, by what was seen afterwards."""

    def __init__(self, keys, pairs, scale, lanes):
        self.lanes = lanes
        self.weights = {key: (pairs + 1) * RUN_S * max(scale, 0.1)
                        * (1 + cpu_tools.TOOLS[key.tool].factor) for key in keys}
        self.guessed = self.seen = 0.0

    def took(self, key, seconds):
        self.guessed += self.weights.pop(key)
        self.seen += seconds

    def skip(self, key):
        del self.weights[key]

    def left_s(self):
        factor = self.seen / self.guessed if self.guessed else 1
        return sum(self.weights.values()) * factor / self.lanes

    def text(self):
        left = self.left_s()
        if left < 5400:
            return "about %.0f min left" % (left / 60)
        return "about %.1f h left" % (left / 3600)


def identity_of_new(env, key, results, args, clock):
    """What the results of a cell are kept under; None where there is nothing to measure."""
    try:
        identity = "%s scale %g" % (env.identity(cpu_tools.TOOLS[key.tool], key.row), args.scale)
    except cpu_tools.Missing as missing:
        clock.skip(key)
        results.put(key, Cell("missing", failure=str(missing)))
        return say("%s: – %s" % (cpu_table.key_text(key), missing))
    if not args.again and results.find(key, identity, args.pairs):
        clock.skip(key)
        return say("%s: measured before" % cpu_table.key_text(key))
    return identity


def take(env, key, results, args, clock, lock):
    """Measures one cell, or finds it in the results.  `lock` guards all but the measuring."""
    with lock:
        identity = identity_of_new(env, key, results, args, clock)
    if not identity:
        return
    start = time.monotonic()
    try:
        cell = Cell(identity, measure(env, key, args.pairs, args.scale))
        text = cpu_table.show_ratio(cell.ratio())
    except Failed as failed:
        cell, text = Cell(identity, failure=str(failed)), "– %s" % failed
    with lock:
        clock.took(key, time.monotonic() - start)
        results.put(key, cell)
        say("%s: %s; %s" % (cpu_table.key_text(key), text, clock.text()))


def cores_of_lanes(count, width):
    """`width` cores for each lane; a single lane has them all."""
    cores = sorted(os.sched_getaffinity(0))
    if count == 1:
        return [set(cores)]
    if width * count > len(cores):
        sys.exit("%d lanes need %d cores; there are %d" % (count, width * count, len(cores)))
    return [set(cores[width * lane:width * (lane + 1)]) for lane in range(count)]


def take_all(keys, environments, results, args, clock):
    """Every cell, in as many lanes as were asked for.  The first trouble ends all lanes, each
    after the cell that it is at."""
    waiting, lock, troubles = queue.SimpleQueue(), threading.Lock(), []
    for key in keys:
        waiting.put(key)

    def lane(cores):
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores)  # of this thread, and of what it starts
        try:
            while not troubles:
                key = waiting.get_nowait()
                take(environments[key.version], key, results, args, clock, lock)
        except queue.Empty:
            pass
        except BaseException as trouble:
            troubles.append(trouble)
        finally:
            os.sched_setaffinity(0, before)

    first, *others = cores_of_lanes(args.lanes, 1 if args.cores == "one" else 2)
    threads = [threading.Thread(target=lane, args=(cores,)) for cores in others]
    for thread in threads:
        thread.start()
    lane(first)
    for thread in threads:
        thread.join()
    if troubles:
        raise troubles[0]


def make_environments(versions, pythons, args):
    """{version: Environment}; a version that this machine does not have is left out."""
    environments = {}
    for version in versions:
        env = cpu_tools.Environment(version, args.venvs, args.binary)
        try:
            if version not in pythons and not os.path.exists(env.python):
                raise cpu_tools.Missing("no Python %s on this machine" % version)
            env.make(pythons.get(version))
        except cpu_tools.Missing as missing:
            say("%s: left out: %s" % (version, missing))
            continue
        environments[version] = env
    return environments


def print_protocol(keys, cells):
    """The lines of bench/README.md."""
    for key in keys:
        cell = cells.get(key)
        if not cell or not cell.pairs:
            continue
        ratio = cell.ratio()
        name = "cpu.%s.%s%s.%s" % (key.version, key.row, ".one_core" * (key.cores == "one"),
                                   key.tool)
        print("%s %.3f times%s" % (name, ratio.median,
                                   " <= %g" % cpu_table.GOAL_AUTO if key.tool == "auto" else ""))
        print("# %s: 95 %% interval %.3f .. %.3f, CPU time %.3f (%.3f .. %.3f), whole process "
              "%.3f" % (name, ratio.low, ratio.high, *cell.ratio("cpu"),
                        cell.ratio("whole").median))
    for line in [*(v.text() for v in cpu_table.verdicts(keys, cells)),
                 "noise: " + cpu_table.noise(keys, cells), *cpu_table.notes_of(keys, cells)]:
        print("# cpu: " + line)


def words(known):
    def parse(text):
        chosen = tuple(text.split(","))
        for word in chosen:
            if word not in known:
                raise argparse.ArgumentTypeError("%s: one of %s" % (word, ", ".join(known)))
        return chosen
    return parse


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true",
                        help="the whole table, where nothing else is said")
    parser.add_argument("--versions", type=lambda text: tuple(text.split(",")), metavar="X.Y,...")
    parser.add_argument("--rows", type=words(cpu_tools.ROWS), default=tuple(cpu_tools.ROWS),
                        metavar="ROW,...", help=", ".join(cpu_tools.ROWS))
    parser.add_argument("--columns", type=words(cpu_tools.TOOLS), metavar="TOOL,...",
                        help=", ".join(cpu_tools.TOOLS))
    parser.add_argument("--cores", choices=CORES, help="not pinned, pinned to one core, or both")
    parser.add_argument("--pairs", type=int, default=paired.MIN_PAIRS, metavar="N")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X",
                        help="times as much work in each run")
    parser.add_argument("--lanes", type=int, default=1, metavar="N",
                        help="cells at a time, each on cores of its own: two, one with --cores one")
    parser.add_argument("--results", default=os.path.join(cpu_tools.ROOT, "build-bench",
                                                          "bench_cpu.json"), metavar="FILE")
    parser.add_argument("--again", action="store_true", help="measure what is in there, too")
    parser.add_argument("--venvs", default=cpu_tools.ROOT, metavar="FOLDER",
                        help="where the .venv-bench-X.Y are or will be")
    parser.add_argument("--bin", dest="binary", metavar="FILE",
                        default=os.environ.get("INFERSCOPE_BIN", os.path.join(
                            cpu_tools.ROOT, "build-bench", "stage", "bin", "inferscope")))
    parser.add_argument("--markdown", metavar="FILE", help="the table, for docs; -: on stdout")
    parser.add_argument("--estimate", action="store_true", help="say how long it takes; no more")
    args = parser.parse_args(arguments)
    args.binary = os.path.abspath(args.binary)
    for name, value in (WHOLE if args.all else QUICK).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.pairs < 1 or args.scale <= 0 or args.lanes < 1:
        parser.error("--pairs, --scale and --lanes must be positive")
    return args


def write_markdown(path, lines):
    text = "\n".join(lines) + "\n"
    if path == "-":
        print(text, end="")
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(arguments=None):
    args = parse_arguments(arguments)
    pythons = cpu_tools.find_pythons()
    if args.versions == QUICK["versions"] and not set(args.versions) & set(pythons):
        args.versions = ("%d.%d" % sys.version_info[:2],)  # a quick look needs no certain one
    keys = [Key(version, row, cores, tool) for version in args.versions
            for cores in CORES[args.cores] for row in args.rows for tool in args.columns]
    clock = Clock(keys, args.pairs, args.scale, args.lanes)
    say("%d cells, %d pairs each: %s at most" % (len(keys), args.pairs, clock.text()[:-5]))
    if args.estimate:
        return 0
    if not os.access(args.binary, os.X_OK):
        sys.exit("%s: no such program; `make bench` builds it, or --bin" % args.binary)
    os.makedirs(os.path.dirname(os.path.abspath(args.results)), exist_ok=True)
    results = Results(args.results)
    environments = make_environments(args.versions, pythons, args)
    measured = [key for key in keys if key.version in environments]
    for key in set(keys) - set(measured):
        clock.skip(key)
    take_all(measured, environments, results, args, clock)
    if args.markdown:
        titles = {tool.key: tool.title for tool in cpu_tools.TOOLS.values()}
        write_markdown(args.markdown,
                       cpu_table.markdown(measured, results.cells, titles, machine()))
    else:
        print_protocol(measured, results.cells)
    ours_failed = [key for key in measured if key.tool in cpu_tools.OURS
                   and results.cells[key].failure and results.cells[key].identity != "missing"]
    return 1 if ours_failed else 0


if __name__ == "__main__":
    sys.exit(main())
