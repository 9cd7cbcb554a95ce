"""Checks the GPU recording on a machine with a GPU: counts, times, clocks, lines, ways to end.

Each workload runs alone, where it makes sense under torch.profiler, and recorded; one row
says what was expected, what was got, and whether that is right.

    python3 tests/gpu/check.py [--out DIR] [--budget S] [word ...]

Words choose workloads by their names; `layers` all in which models are looked into.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

import comparisons as c
import gpu_events
import kit
import layer_comparisons as m
from kit import FAIL, OK, SKIP, Row

TIMEOUT_S = 100
WORKERS = 4
KEEP_BYTES = 6 << 20

# alone: its times are checked, so nothing else may use the GPU while it is recorded.
Case = collections.namedtuple("Case", "name command checks needs options profiler alone step env")


def case(name, *command, checks, needs=("torch",), options=(), profiler=False, alone=False,
         step=None, env=()):
    return Case(name, list(command), [c.status] + checks, list(needs), list(options), profiler,
                alone, step, dict(env))


EAGER = [c.output, c.profiler_counts, c.matching, c.causality, c.lines]
MODEL = [m.layers, m.layer_calls, m.profiler_layers]
# Compilers, and what transformers imports, are long programs in Python: not for the checks.
COMPILED = ["--cpu", "sample"]
UNCACHED = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}  # each run compiles all by itself

GPT2 = ("torch", "transformers")
COMPILER = (*GPT2, "triton")

CASES = [
    case("native", "native", "3", needs=(), alone=True,
         checks=[c.own_counts, c.spins, c.matching, c.causality, c.shares]),
    case("gpt2_decode", "gpt2_decode.py", needs=GPT2, profiler=True, alone=True,
         step="token", checks=EAGER + MODEL + [c.clock, c.shares]),
    case("gpt2_compile", "gpt2_window.py", "compile", needs=COMPILER, options=COMPILED,
         env=UNCACHED, checks=[c.output, m.layers, m.dynamo, c.causality]),
    case("gpt2_reduced", "gpt2_window.py", "reduce-overhead", needs=COMPILER, options=COMPILED,
         env=UNCACHED, checks=[c.output, m.layers, m.graph_layers, m.dynamo, c.replays_known,
                               c.causality]),
    case("gpt2_graph", "gpt2_window.py", "graph", needs=GPT2, profiler=True,
         options=COMPILED, checks=[c.output, c.profiler_counts, m.layers, m.graph_layers,
                                   c.replays_known, c.causality]),
    case("resnet50", "resnet50.py", needs=("torch", "torchvision"), profiler=True, alone=True,
         step="request", checks=EAGER + MODEL + [c.input_copies, c.clock]),
    case("dataloader", "loader_pipeline.py", profiler=True, checks=EAGER + MODEL + [
        c.input_copies, m.loading]),
    case("autocast", "autocast.py", profiler=True, checks=EAGER + MODEL),
    case("torch_nvtx", "torch_nvtx.py", checks=[c.output, m.nvtx, m.layers, m.layer_calls]),
    case("encoder", "encoder.py", profiler=True, alone=True, step="step",
         checks=EAGER + [c.saturated, c.clock, c.shares]),
    case("two_streams", "two_streams.py", alone=True,
         checks=[c.own_counts, c.overlap, c.causality]),
    case("triton_kernel", "triton_kernel.py", needs=("torch", "triton"), profiler=True,
         checks=EAGER + [c.own_counts]),
    case("cuda_graph", "cuda_graph.py", profiler=True,
         checks=[c.output, c.profiler_counts, c.graphs, c.causality]),
    case("graph_decode", "graph_decode.py", profiler=True,
         checks=[c.output, c.profiler_counts, c.captures, c.graph_rows, m.layers, m.graph_layers,
                 c.causality]),
    case("graph_compiled", "graph_decode.py", "--compiled", needs=("torch", "triton"),
         env=UNCACHED,
         checks=[c.output, c.replays_known, m.layers, m.graph_layers, m.dynamo, c.causality]),
    case("copies", "copies.py", profiler=True,
         checks=[c.output, c.own_counts, c.profiler_counts, c.causality]),
    case("multi_context", "multi_context.py", needs=(), checks=[c.own_counts, c.matching]),
    case("fork_after_init", "fork_after_init.py", needs=(), checks=[c.own_counts, c.child]),
    case("profiler_inside", "torch_profiler_inside.py", checks=[c.profiler_inside]),
    case("busy_exit", "busy_exit.py", alone=True, checks=[c.prompt_end]),
    case("no libcupti", "multi_context.py", needs=(), checks=[c.degraded],
         env={"INFERSCOPE_CUPTI": "/nonexistent/libcupti.so"}),
    case("cupti_taken", "cupti_taken.py", needs=(), checks=[c.degraded]),
    case("late_init", "late_init.py", checks=[c.own_counts, c.matching, c.lines]),
    case("no_cuda", "no_cuda.py", checks=[c.output, c.nothing_loaded]),
] + [
    case("exit " + way, "exits.py", way, checks=[c.own_counts])
    for way in ("return", "exception", "sys.exit", "os._exit", "SIGTERM", "SIGKILL")
]


class Session:
    """One run of the checks: where its files are and how much time is left."""

    def __init__(self, folder, budget_s, options):
        self.folder = folder
        self.deadline = time.monotonic() + budget_s
        self.options = options
        self.native, self.native_problem = kit.build_native(folder)

    def path(self, case, suffix):
        return os.path.join(self.folder, case.name.replace(" ", "_") + suffix)

    def command(self, case):
        first = kit.script(case.command[0]) if case.command[0].endswith(".py") else self.native
        return [first] + case.command[1:]

    def run(self, case, kind, arguments):
        """None: there is no time left.  The output is kept."""
        left = self.deadline - time.monotonic()
        if left < 1:
            return None
        done = kit.execute(arguments, min(TIMEOUT_S, left), cwd=self.folder,
                           env=kit.environment(**case.env))
        with open(self.path(case, ".%s.log" % kind), "w", encoding="utf-8") as log:
            log.write("$ %s\nstatus %s, %.1f s\n%s%s" % (" ".join(arguments), done.status,
                                                        done.seconds, done.stdout, done.stderr))
        return done

    def plain(self, case):
        return self.run(case, "plain", kit.plain(self.command(case)))

    def profiled(self, case):
        """What torch.profiler counts; None: it was not asked or could not answer."""
        if not case.profiler:
            return None
        counts = self.path(case, ".counts.json")
        options = ["--counts", counts] + ["--layers"] * (m.profiler_layers in case.checks)
        self.run(case, "profiler", [sys.executable, os.path.join(kit.HERE, "under_profiler.py"),
                                    *options] + self.command(case))
        return gpu_events.read_counts(counts) if os.path.exists(counts) else None

    def recorded(self, case):
        return self.run(case, "recorded", kit.recorded(
            self.command(case), self.path(case, ".isc"), self.path(case, ".json"),
            self.options + case.options))

    def export(self, case):
        with subprocess.Popen([kit.binary(), "export", self.path(case, ".isc"), "--to", "json",
                               "-o", "-"], stdout=subprocess.PIPE, universal_newlines=True,
                              env=kit.environment()) as process:
            return gpu_events.Recording(process.stdout)


def obstacle(session, case):
    lacking = kit.missing(case.needs)
    if lacking:
        return "no " + ", ".join(lacking)
    if case.command[0] == "native" and not session.native:
        return session.native_problem
    return None


def judge(case, outcome):
    """One row for each comparison; one that breaks is a failure and stops no other."""
    rows = []
    for check in case.checks:
        if check in (c.profiler_counts, m.profiler_layers) and outcome.counts is None:
            rows.append(Row(case.name, check.__name__, "counts", "it gave none", FAIL))
            continue
        try:
            for what, expected, got, right in check(outcome):
                rows.append(Row(case.name, what, expected, got, OK if right else FAIL))
        except Exception as error:
            rows.append(Row(case.name, check.__name__, "an answer", repr(error), FAIL))
    return rows


def compare(session, case, plain, counts, recorded):
    if plain is None or recorded is None:
        return [Row(case.name, "", "", "no time left", SKIP)]
    facts, plain_facts = kit.truth_of(recorded.stdout), kit.truth_of(plain.stdout)
    if facts is None or plain_facts is None:
        who = "recorded" if plain_facts else "plain"
        run = recorded if plain_facts else plain
        last = (run.stderr.strip().splitlines() or [""])[-1]
        return [Row(case.name, who + " run", "its JSON line", "status %s" % run.status, FAIL),
                Row(case.name, "last words", "", last, FAIL)]
    try:
        events = session.export(case)
        with open(session.path(case, ".json"), encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError, KeyError) as error:
        return [Row(case.name, "recording", "trace and report", repr(error), FAIL)]
    return judge(case, c.Outcome(case.name, case.step, plain, recorded, facts, plain_facts, counts,
                                 events, report))


def run_all(session, cases):
    """Rows in the order of the cases.  What is not timed runs side by side."""
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        plain = {case.name: pool.submit(session.plain, case) for case in cases}
        counts = {case.name: pool.submit(session.profiled, case) for case in cases}
        recorded = {case.name: pool.submit(session.recorded, case) for case in cases
                    if not case.alone}
    for case in cases:
        if case.alone:
            recorded[case.name] = concurrent.futures.Future()
            recorded[case.name].set_result(session.recorded(case))
    rows = []
    for case in cases:
        its = compare(session, case, *(runs[case.name].result()
                                       for runs in (plain, counts, recorded)))
        kit.show(its)
        sys.stdout.flush()
        rows += its
    return rows


def worth_keeping(folder, rows):
    """Logs and reports, and the traces of what failed: a test of a file's name."""
    failed = {row.workload.replace(" ", "_") for row in rows if row.verdict == FAIL}

    def keep(name):
        base, suffix = os.path.splitext(name)
        small = os.path.getsize(os.path.join(folder, name)) <= KEEP_BYTES
        return small and (suffix in (".log", ".json") or (suffix == ".isc" and base in failed))
    return keep


def chosen(case, words):
    return (any(word in case.name for word in words)
            or ("layers" in words and m.layers in case.checks))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=os.environ.get("OUT"), help="where results are kept")
    parser.add_argument("--budget", type=float, default=420, metavar="S",
                        help="start nothing after so many seconds")
    parser.add_argument("--option", action="append", default=[], metavar="OPT",
                        help="for `inferscope run` as well, e.g. --option=--no-cpu; repeatable")
    parser.add_argument("words", nargs="*", help="only workloads whose name contains one of these; "
                        "`layers`: those in which models are looked into")
    args = parser.parse_args()

    cases = [case for case in CASES if not args.words or chosen(case, args.words)]
    if not cases:
        parser.error("no workload of that name")
    problem = kit.obstacle()
    if problem:
        rows = [Row(case.name, "", "", problem, SKIP) for case in cases]
        kit.show(rows)
    else:
        with tempfile.TemporaryDirectory(prefix="inferscope-check-") as folder:
            session = Session(folder, args.budget, args.option)
            problems = {case.name: obstacle(session, case) for case in cases}
            rows = [Row(name, "", "", why, SKIP) for name, why in problems.items() if why]
            kit.show(rows)
            rows += run_all(session, [case for case in cases if not problems[case.name]])
            if args.out:
                kit.pack(rows, folder, os.path.join(args.out, "check.tar.gz"),
                         worth_keeping(folder, rows))
    # Once more, all together: of a long output often the end is all that is seen.
    kit.show([row for row in rows if row.verdict == FAIL])
    print("check: " + kit.tally(rows))
    return kit.status(rows)


if __name__ == "__main__":
    sys.exit(main())
