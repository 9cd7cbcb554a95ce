"""What parts of recording cost a program: variants of one workload take turns on one core.

    bench/turns.py --python ~/.pyenv/versions/3.9.18/bin/python asyncio_echo \\
        control auto:"" sample:"--cpu sample" trace:"--cpu trace"

A variant is NAME:OPTIONS of `inferscope run`, or a NAME alone: a second plain process, which shows
what the method is good for.  All are started together with a plain one; then each is asked in turn
for a block of its work, which it times itself, while the others sleep and their recorders stand
still (SIGSTOP).  So neighbours in time are compared, hundreds of them in a minute, where
bench_cpu.py has one pair of processes in ten seconds.  Fresh processes in every round keep the luck
of one process (where its memory lies) from becoming the result.

Credit is earned and samples are paced by the clock, in the turns of others, too: of N variants one
records, and is looked at, up to N times as often as it would be alone.  So take few at a time, and
compare what one costs with what the report's account says, which is printed as a share of its work.

Prints lines of the protocol of bench/README.md.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import cpu_tools
import paired

BASE = "plain"
BLOCK_S = 0.1
END_S = 60


class Variant:
    """A process that does a block of work when it is asked to (workloads/timed.py)."""

    def __init__(self, word, row, args, folder):
        self.name, recorded, options = word.partition(":")
        self.folder = os.path.join(folder, self.name)
        os.mkdir(self.folder)
        command = [args.python, cpu_tools.script_of(row)]
        if recorded:
            command = [args.binary, "run", "--quiet", "--report", cpu_tools.REPORT,
                       *options.split(), "--python", *command]
        self.recorded = bool(recorded)
        self.began = time.monotonic()
        self.worked = 0.0
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, BENCH_SERVE="1"))
        self.answer()
        self.rest(True)

    def answer(self):
        """The numbers of the next line."""
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("%s ended" % self.name)
        return [float(word) for word in line.split()]

    def rest(self, on):
        if self.recorded:  # the process that was started is the recorder
            self.process.send_signal(signal.SIGSTOP if on else signal.SIGCONT)

    def block(self, rounds):
        """(seconds, seconds of CPU time)"""
        self.rest(False)
        self.process.stdin.write("%d\n" % rounds)
        self.process.stdin.flush()
        seconds, cpu = self.answer()
        self.rest(True)
        self.worked += seconds
        return seconds, cpu

    def end(self):
        """What its account says, of the time at work; None: it has none."""
        lived = time.monotonic() - self.began
        self.rest(False)
        self.process.stdin.close()
        if self.process.wait(END_S):
            raise SystemExit("%s: exit status %d" % (self.name, self.process.returncode))
        if not self.recorded:
            return None
        with open(os.path.join(self.folder, cpu_tools.REPORT), encoding="utf-8") as file:
            share = json.load(file)["trust"]["overhead_share"]
        return None if share is None else share / (1 + share) * lived / self.worked

    def close(self):
        if self.process.poll() is None:
            self.rest(False)
            self.process.kill()
            self.process.wait()


def play_round(row, args):
    """(turns [{name: (seconds, CPU seconds)}], {name: account}) of fresh processes."""
    with tempfile.TemporaryDirectory(prefix="bench-turns-") as folder:
        variants = []
        try:
            for word in [BASE, *args.variants]:
                variants.append(Variant(word, row, args, folder))
            rounds = args.block
            if not rounds:
                variants[0].block(1)
                rounds = max(1, round(BLOCK_S / variants[0].block(1)[0]))
            turns = []
            for nth in range(args.turns + 1):
                order = paired.order_of(nth, len(variants))
                turns.append({variants[i].name: variants[i].block(rounds) for i in order})
            return turns[1:], {v.name: v.end() for v in variants}
        finally:
            for variant in variants:
                variant.close()


def ratio_of(turns, name, which):
    return paired.trimmed([(turn[BASE][which], turn[name][which]) for turn in turns])


def show(row, rounds):
    turns = [turn for found, _ in rounds for turn in found]
    yield "# turns.%s: %d turns, a block %.0f ms" % (
        row, len(turns), 1e3 * statistics.median(turn[BASE][0] for turn in turns))
    for name in turns[0]:
        if name == BASE:
            continue
        clock, cpu = ratio_of(turns, name, 0), ratio_of(turns, name, 1)
        said = [accounts[name] for _, accounts in rounds if accounts[name] is not None]
        each = " ".join("%.4f" % ratio_of(found, name, 0).median for found, _ in rounds)
        account = ", account %.4f" % (1 + statistics.fmean(said)) if said else ""
        yield "turns.%s.%s %.4f times" % (row, name, clock.median)
        yield ("# turns.%s.%s: 95 %% interval %.4f .. %.4f, CPU time %.4f (%.4f .. %.4f)%s; "
               "rounds %s" % (row, name, clock.low, clock.high, *cpu, account, each))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--bin", dest="binary", default=os.environ.get("INFERSCOPE_BIN"))
    parser.add_argument("--turns", type=int, default=100, help="in a round")
    parser.add_argument("--rounds", type=int, default=3, help="of fresh processes")
    parser.add_argument("--block", type=int, help="rounds of work in a block; about 0.1 s")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("row", choices=cpu_tools.ROWS)
    parser.add_argument("variants", nargs="+")
    args = parser.parse_args()
    if not args.binary:
        parser.error("--bin, or INFERSCOPE_BIN")
    args.binary = os.path.abspath(args.binary)

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-args.cores:])
    for line in show(args.row, [play_round(args.row, args) for _ in range(args.rounds)]):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
