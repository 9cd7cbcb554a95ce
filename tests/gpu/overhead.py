"""What `inferscope run` as it comes costs on the GPU machine: variants of one workload take turns.

Each variant is a process of its own.  All are
started together and then asked in turn for one block of work each, which they time themselves,
warm-up excluded: neighbours in time are compared, and one start-up serves many pairs.  Their main
threads take turns on one core: cores of a machine that is shared differ by more than what is
looked for.  Blocks are short, for its speed changes within a second.  A process has its luck for
as long as it lives (where its memory lies): two plain ones differ by 2 % on average.  So all are
compared with the mean of three plain ones, with --copies 3 what is recorded by default is the mean
of three as well, and the interval is that of rounds with fresh processes.  --lead leaves the first
turns out.

    tests/gpu/overhead.py [--parts all|NAME,...] [--other PROGRAM] [--copies N] [--rounds N]
                          [--lead N] [--turns N] [--seconds S] [--out DIR] [word ...]

Prints lines of the protocol of bench/README.md.
"""

import argparse
import collections
import json
import os
import select
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import cupti_alone
import kit

sys.path.insert(0, os.path.join(kit.ROOT, "bench"))
import paired  # noqa: E402

START_S, BLOCK_S, END_S = 120, 60, 120
PLAIN = ("off", "off2", "off3")
DEFAULT = ("default", "default2", "default3")
TOGETHER = "defaults"  # of those, if there are several
# Of Student's distribution, two-sided 95 %, by the degrees of freedom from 1 on.
STUDENT = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
           2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086]
CORE = str(max(os.sched_getaffinity(0)))
# (a variant, one that it is compared with as well, goal): what CUPTI costs nobody can avoid.
COMPARED = [("default", "cupti", 1.05), (TOGETHER, "cupti", 1.05), ("gpu", "cupti", None),
            ("cupti_calls", "cupti", None), ("whole", "cupti_whole", 1.05),
            ("default", "other", None)]
PROMISED = {"default": 1.05, TOGETHER: 1.05}

Workload = collections.namedtuple("Workload", "name command goals needs gpu", defaults=(True,))
# account: what the process itself says recording the GPU cost, by the time that it worked.
Ended = collections.namedtuple("Ended", "seconds bytes account")

WORKLOADS = [
    Workload("gpu_bound", ["encoder.py", "--serve", "--steps", "8"],
             PROMISED, ["torch"]),
    Workload("launch_bound", ["gpt2_decode.py", "--serve", "--tokens", "10"],
             {}, ["torch", "transformers"]),
    Workload("graph_small", ["graph_decode.py", "--serve", "--replays", "200"], {}, ["torch"]),
    Workload("graph_large", ["graph_decode.py", "--serve", "--replays", "50", "--blocks", "24"],
             {}, ["torch"]),
    # What of it is no GPU's, for machines without one.
    Workload("python_bound", ["gpt2_decode.py", "--serve", "--tokens", "10", "--device", "cpu",
                              "--width", "64"],
             PROMISED, ["torch", "transformers"], gpu=False),
]


class Variant:
    """How a workload is started, and what it leaves.  profiler: options of under_profiler.py;
    program: an inferscope that is not the one under test."""

    def __init__(self, name, options=None, profiler=None, environment=lambda folder: {},
                 program=None):
        self.name, self.options, self.profiler = name, options, profiler
        self.environment = environment  # of the folder that it runs in
        self.program = program

    def product(self, folder):
        return os.path.join(folder, self.name + (".chrome.json" if self.profiler else ".isc"))

    def report(self, folder):
        return os.path.join(folder, self.name + ".report.json")

    def account(self, folder, worked):
        """What the recording itself says that recording the GPU cost, as a share of the time that
        the process worked without it; None of a process without one."""
        try:
            with open(self.report(folder), encoding="utf-8") as file:
                report = json.load(file)
        except FileNotFoundError:
            return None
        trust = report["trust"]
        share = trust.get("gpu_overhead_share", 0) + trust.get("graph_overhead_share", 0)
        cost = share * report["run"]["wall_ms"] / 1e3 / (1 + trust["overhead_share"])
        return cost / (worked - cost) if worked > cost else None

    def arguments(self, command, folder):
        if self.profiler:
            return [sys.executable, os.path.join(kit.HERE, "under_profiler.py"),
                    "--chrome", self.product(folder)] + self.profiler + command
        if self.options is None:
            return kit.plain(command)
        return kit.recorded(command, self.product(folder), self.report(folder), self.options,
                            budget=(), program=self.program)


def alone(mode):
    return lambda folder: cupti_alone.environment(mode, folder)


# Where it goes: without one part each; what nothing takes away, at a budget next to none.
PARTS = [
    Variant("cupti", environment=alone("activities")),
    Variant("cupti_calls", environment=alone("calls")),
    Variant("cupti_whole", environment=alone("graphs")),
    Variant("injected", environment=alone("nothing")),
    Variant("whole", ["--graph-nodes", "off"]),
    Variant("layers", ["--no-gpu", "--cpu", "off"]),
    Variant("samples", ["--no-gpu", "--cpu", "sample"]),
    Variant("no_gpu", ["--no-gpu"]),
    Variant("no_cpu", ["--no-cpu"]),
    Variant("no_memory", ["--no-memory"]),
    Variant("least", ["--max-overhead", "0.1"]),
    Variant("least_no_gpu", ["--max-overhead", "0.1", "--no-gpu"]),
    Variant("gpu", ["--no-cpu", "--max-overhead", "100"]),
]


class Stuck(Exception):
    pass


class Runner:
    """A process that serves blocks (workloads/truth.py)."""

    def __init__(self, variant, command, folder):
        self.variant, self.folder = variant, folder
        self.log = open(os.path.join(folder, variant.name + ".log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(variant.arguments(command, folder), cwd=folder,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log,
                                        env=kit.environment(variant.program, WORKLOAD_CORE=CORE,
                                                            **variant.environment(folder)),
                                        start_new_session=True)
        self.pending, self.worked = b"", 0

    def answer(self, timeout):
        """The next JSON line; anything else that the program prints is passed over."""
        deadline = time.monotonic() + timeout
        while True:
            line, newline, rest = self.pending.partition(b"\n")
            if newline:
                self.pending = rest
                if line.startswith(b"{"):
                    return json.loads(line.decode())
                continue
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not data:
                raise Stuck("%s: %s; %s" % (self.variant.name, "ended" if ready else "no answer",
                                            self.last_words()))
            self.pending += data

    def last_words(self):
        self.log.seek(0)
        return (self.log.read().strip().splitlines() or ["nothing on standard error"])[-1]

    def block(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        answer = self.answer(BLOCK_S)
        self.worked = answer.get("worked", 0)
        return answer["seconds"]

    def end(self):
        """Lets it end; how long that took, and the size of what it left."""
        start = time.monotonic()
        self.process.stdin.close()
        self.process.wait(END_S)
        product = self.variant.product(self.folder)
        return Ended(time.monotonic() - start,
                     os.path.getsize(product) if os.path.exists(product) else 0,
                     self.variant.account(self.folder, self.worked))

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


def take_turns(runners, turns):
    """[{variant: seconds}]"""
    times = []
    for nth in range(turns):
        order = [runners[which] for which in paired.order_of(nth, len(runners))]
        times.append({runner.variant.name: runner.block() for runner in order})
    return times


def play_round(workload, variants, turns, folder, lead=1):
    """(times of all turns, {variant: Ended}) of fresh processes.  Not among them are so many at
    first; what follows the others' start-up is not like the rest."""
    command = [kit.script(workload.command[0])] + workload.command[1:]
    runners = []
    try:
        for variant in variants:
            runners.append(Runner(variant, command, folder))
        for runner in runners:
            runner.answer(START_S)
        take_turns(runners, lead)
        times = take_turns(runners, turns)
        return times, {runner.variant.name: runner.end() for runner in runners}
    finally:
        for runner in runners:
            runner.close()


def plain(turn):
    return statistics.fmean(turn[name] for name in PLAIN if name in turn)


def with_mean_of_defaults(times):
    """The turns, with one more variant where several are the same."""
    if DEFAULT[1] not in times[0]:
        return times
    return [dict(turn, **{TOGETHER: statistics.fmean(turn[name] for name in DEFAULT
                                                     if name in turn)}) for turn in times]


def whole(times, name):
    return sum(turn[name] for turn in times) / sum(plain(turn) for turn in times)


def of_rounds(each):
    """The mean, and how far off it may be; None: one round does not tell."""
    if len(each) < 2:
        return each[0], None
    wide = STUDENT[min(len(each) - 1, len(STUDENT)) - 1]
    return statistics.fmean(each), wide * statistics.stdev(each) / len(each) ** 0.5


def interval(mean, wide):
    return "unknown" if wide is None else "%.4f .. %.4f" % (mean - wide, mean + wide)


def at_most(goal):
    return "" if goal is None else " <= %s" % goal


def summarize(workload, rounds):
    """Lines of the result; rounds = [(times, ends), ...]."""
    rounds = [(with_mean_of_defaults(times), ends) for times, ends in rounds]
    turns = [turn for times, _ in rounds for turn in times]
    names = sorted(name for name in turns[0] if name != PLAIN[0])
    yield "# %s: %d pairs in %d rounds, one block %.0f ms" % (
        workload.name, len(turns), len(rounds),
        1e3 * statistics.median(plain(turn) for turn in turns))
    for name in names:
        each = [paired.trimmed([(plain(turn), turn[name]) for turn in times]).median
                for times, _ in rounds]
        mean, wide = of_rounds(each)
        yield "overhead.%s.%s %.4f times%s" % (workload.name, name, mean,
                                               at_most(workload.goals.get(name)))
        yield "# overhead.%s.%s: 95 %% interval %s; rounds %s" % (
            workload.name, name, interval(mean, wide),
            " ".join("%.4f" % ratio for ratio in each))
        yield "# overhead.%s.%s: all turns together %s" % (
            workload.name, name, " ".join("%.4f" % whole(times, name) for times, _ in rounds))
        accounts = [ends[name].account if name in ends else None for _, ends in rounds]
        if None not in accounts:
            yield "# overhead.%s.%s: of it for the GPU, by its own account, %s" % (
                workload.name, name, " ".join("%.4f" % (1 + account) for account in accounts))
    for ours, theirs, goal in COMPARED:
        if ours in names and theirs in names:
            mean, wide = of_rounds([
                paired.trimmed([(turn[theirs], turn[ours]) for turn in times]).median
                for times, _ in rounds])
            name = "overhead.%s.%s_by_%s" % (workload.name, ours, theirs)
            yield "%s %.4f times%s" % (name, mean, at_most(goal))
            yield "# %s: 95 %% interval %s" % (name, interval(mean, wide))
    for name, ended in rounds[-1][1].items():
        yield "end.%s.%s %.2f s" % (workload.name, name, ended.seconds)


def chosen(args):
    """The variants that take part."""
    parts = [part for part in PARTS if args.parts == "all" or part.name in args.parts.split(",")]
    plain = [Variant(name) for name in PLAIN]
    default = [Variant(name, []) for name in DEFAULT[:args.copies]]
    other = [Variant("other", [], program=os.path.abspath(args.other))] if args.other else []
    return plain + default + other + parts


def keep_reports(folder, out):
    """In one file, those of the latest round."""
    if out:
        os.makedirs(out, exist_ok=True)
        with tarfile.open(os.path.join(out, "overhead.reports.tar.gz"), "w:gz") as archive:
            for name in sorted(os.listdir(folder)):
                if name.endswith(".report.json"):
                    archive.add(os.path.join(folder, name), name)


def measure(workload, args):
    """No round begins that would end beyond the time that was given, but for the first two."""
    rounds, began = [], time.monotonic()
    for nth in range(args.rounds):
        if nth >= 2 and (time.monotonic() - began) * (nth + 1) / nth > args.seconds:
            break
        folder = tempfile.mkdtemp(prefix="inferscope-overhead-")
        try:
            rounds.append(play_round(workload, chosen(args), args.turns, folder, args.lead))
            keep_reports(folder, args.out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return rounds


def run_workloads(name, workloads, args, measure, summarize):
    """Measures those that were asked for, prints what summarize() makes of each, keeps it all in
    NAME.json of args.out; the status of the program.  What cannot run is seen to be skipped."""
    failed, kept = False, {}
    for workload in workloads:
        if args.words and not any(word in workload.name for word in args.words):
            continue
        problem = kit.obstacle(workload.gpu)
        if problem:
            print("# %s.%s: SKIP, %s" % (name, workload.name, problem))
            continue
        lacking = kit.missing(workload.needs)
        if lacking:
            print("# %s.%s: SKIP, no %s" % (name, workload.name, ", ".join(lacking)))
            continue
        try:
            kept[workload.name] = measure(workload)
        except (Stuck, OSError, ValueError, subprocess.TimeoutExpired) as error:
            print("# %s.%s: FAILED, %s" % (name, workload.name, error))
            failed = True
            continue
        for line in summarize(workload, kept[workload.name]):
            print(line, flush=True)
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        with open(os.path.join(args.out, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(kept, file)
    return 1 if failed else 0 if kept else kit.NOTHING


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=16, help="of fresh processes")
    parser.add_argument("--copies", type=int, default=1, choices=range(1, len(DEFAULT) + 1),
                        help="processes that are recorded by default")
    parser.add_argument("--lead", type=int, default=1, help="turns of a round that do not count")
    parser.add_argument("--turns", type=int, default=20, help="in each round; each gives a pair")
    parser.add_argument("--parts", default="", metavar="NAME,...",
                        help="with parts switched off as well: all, or of %s"
                        % ", ".join(part.name for part in PARTS))
    parser.add_argument("--other", metavar="PROGRAM",
                        help="an inferscope of another build, which takes turns with this one")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="fewer rounds, if they take longer than this for a workload")
    parser.add_argument("--out", default=os.environ.get("OUT"), help="where results are kept")
    parser.add_argument("words", nargs="*", help="only workloads whose name contains one of these")
    args = parser.parse_args()
    if args.rounds * args.turns < paired.MIN_PAIRS:
        parser.error("fewer than %d pairs say nothing" % paired.MIN_PAIRS)

    return run_workloads("overhead", WORKLOADS, args, lambda workload: measure(workload, args),
                         summarize)


if __name__ == "__main__":
    sys.exit(main())
