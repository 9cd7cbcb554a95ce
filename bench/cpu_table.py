"""The results of bench_cpu.py: kept in a file, summed up, printed.

A cell is what one tool did to one workload on one version of Python: pairs of neighbouring runs,
plain and with the tool.  The file holds every pair, so that a table can be made again with
nothing measured, and a run that was broken off goes on where it ended.
"""

import json
import os
import statistics
from collections import namedtuple

import paired

GOAL_AUTO = 1.05
GOAL_TRUST = 0.02

# version, row, cores ("free" or "one"), tool
Key = namedtuple("Key", "version row cores tool")
# Of one run: seconds of the loop, of the whole process, the report's trust.overhead_share, and the
# CPU time of the workload's process in the loop.
Run = namedtuple("Run", "loop whole share cpu")


def key_text(key):
    return "%s %s%s %s" % (key.version, key.row, " (one core)" if key.cores == "one" else "",
                           key.tool)


class Cell:
    """`pairs` of (plain Run, tool Run), or the reason why there are none."""

    def __init__(self, identity, pairs=(), failure=None):
        self.identity = identity
        self.pairs = [(Run(*plain), Run(*tool)) for plain, tool in pairs]
        self.failure = failure

    def ratio(self, field="loop"):
        return paired.summarize([(getattr(plain, field), getattr(tool, field))
                                 for plain, tool in self.pairs])

    def spread(self):
        """How much plain runs differ, as the machine does other things: quartiles by median."""
        loops = [plain.loop for plain, _ in self.pairs]
        if len(loops) < 2:
            return 0.0
        low, middle, high = statistics.quantiles(loops, n=4)
        return (high - low) / middle

    def share(self):
        """By how much the reports say that recording slowed it down; None: they do not."""
        shares = [tool.share for _, tool in self.pairs if tool.share is not None]
        return statistics.median(shares) if shares else None

    def trust_error(self):
        """How far that is from what was measured."""
        share = self.share()
        return None if share is None else abs(share - (self.ratio().median - 1))


class Results:
    def __init__(self, path):
        self.path = path
        self.cells = {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for entry in json.load(file)["cells"]:
                    if any(len(run) != len(Run._fields) for pair in entry["pairs"] for run in pair):
                        continue  # of an older benchmark, which took down less
                    self.cells[Key(*entry["key"])] = Cell(entry["identity"], entry["pairs"],
                                                          entry["failure"])

    def find(self, key, identity, pairs):
        """A cell that need not be measured again, or None."""
        cell = self.cells.get(key)
        if cell and cell.identity == identity and (cell.failure or len(cell.pairs) >= pairs):
            return cell
        return None

    def put(self, key, cell):
        self.cells[key] = cell
        if self.path:
            entries = [{"key": k, "identity": c.identity, "pairs": c.pairs, "failure": c.failure}
                       for k, c in self.cells.items()]
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump({"cells": entries}, file)
            os.replace(self.path + ".new", self.path)


def show_ratio(ratio):
    return "%.2f (%.2f – %.2f)" % ratio if ratio.median >= 1.2 else "%.3f (%.3f – %.3f)" % ratio


def notes_of(keys, cells):
    """Why cells are empty, each reason once."""
    places = {}
    for key in keys:
        cell = cells.get(key)
        if cell and cell.failure:
            places.setdefault((key.tool, cell.failure), []).append(key)
    for (tool, failure), where in places.items():
        yield "%s, %s: %s" % (tool, ", ".join("%s %s%s" % (
            key.version, key.row, ", one core" if key.cores == "one" else "") for key in where),
            failure)


def table(keys, cells, titles, field):
    """Markdown of the cells `keys`, a row for each workload of each version."""
    tools = list(dict.fromkeys(key.tool for key in keys))
    rows = list(dict.fromkeys((key.version, key.row, key.cores) for key in keys))
    trust = field == "loop" and any(
        cells[key].share() is not None for key in keys if key in cells and key.tool == "auto")
    yield "| Python | workload | %s |%s" % (" | ".join(titles[tool] for tool in tools),
                                            " auto: said – measured |" if trust else "")
    yield "|---" * (2 + len(tools) + trust) + "|"
    for version, row, cores in rows:
        columns = []
        for tool in tools:
            cell = cells.get(Key(version, row, cores, tool))
            columns.append(show_ratio(cell.ratio(field)) if cell and cell.pairs else "–")
        if trust:
            auto = cells.get(Key(version, row, cores, "auto"))
            error = auto.trust_error() if auto and auto.pairs else None
            columns.append("–" if error is None else "%.1f points" % (100 * error))
        yield "| %s | %s%s | %s |" % (version, row.replace("_", " "),
                                      ", one core" if cores == "one" else "",
                                      " | ".join(columns))


class Verdict:
    """
    A promise over all cells that were measured.  A cell keeps it, misses it, or its interval says
    that the machine was too noisy to tell.
    """

    def __init__(self, title):
        self.title = title
        self.judged, self.misses, self.undecided = 0, [], []

    def judge(self, met, possible, miss):
        """Does the cell keep it?  If not: would it, by the better end of its interval?"""
        self.judged += 1
        if not met:
            (self.undecided if possible else self.misses).append(miss)

    def text(self):
        if not self.judged:
            return "%s: not measured" % self.title
        parts = ["%s on %d of %d: %s" % (word, len(cells), self.judged, "; ".join(cells))
                 for word, cells in (("MISSED", self.misses), ("undecided", self.undecided))
                 if cells]
        return "%s: %s" % (self.title, ". ".join(parts) or "met on all %d" % self.judged)


def verdicts(keys, cells):
    """By the loop: auto keeps its budget, trace is no slower, trust is right."""
    budget = Verdict("auto ≤ %.2f" % GOAL_AUTO)
    rival = Verdict("trace not slower than VizTracer")
    trust = Verdict("overhead_share within %.0f points of the measurement" % (100 * GOAL_TRUST))
    for key in keys:
        cell = cells.get(key)
        if not cell or not cell.pairs:
            continue
        ratio = cell.ratio()
        where = key_text(key._replace(tool="")).strip()
        if key.tool == "auto":
            budget.judge(ratio.median <= GOAL_AUTO, ratio.low <= GOAL_AUTO,
                         "%s %s" % (where, show_ratio(ratio)))
            share = cell.share()
            if share is not None:
                near = ratio.low - GOAL_TRUST <= share + 1 <= ratio.high + GOAL_TRUST
                trust.judge(cell.trust_error() <= GOAL_TRUST, near,
                            "%s %.1f (said %.3f, measured %s)" % (
                                where, 100 * cell.trust_error(), 1 + share, show_ratio(ratio)))
        other = cells.get(key._replace(tool="viztracer"))
        if key.tool == "trace" and other and other.pairs:
            theirs = other.ratio()
            rival.judge(ratio.median <= theirs.median, ratio.low <= theirs.high,
                        "%s %s against %s" % (where, show_ratio(ratio), show_ratio(theirs)))
    return [budget, rival, trust]


def noise(keys, cells):
    """A sentence about the machine."""
    spreads = [cells[key].spread() for key in keys if key in cells and cells[key].pairs]
    if not spreads:
        return "nothing was measured"
    return ("the middle half of the plain runs of a cell spans %.1f %% of their median (%.1f %% in "
            "the worst cell)" % (100 * statistics.median(spreads), 100 * max(spreads)))


def markdown(keys, cells, titles, head):
    pairs = [len(cells[key].pairs) for key in keys if key in cells and cells[key].pairs]
    yield head
    yield ""
    if pairs and min(pairs) < paired.MIN_PAIRS:
        yield "**Fewer than %d pairs: a look, not a measurement.**" % paired.MIN_PAIRS
        yield ""
    yield "The loop of each workload, times its plain run (median, 95 %% interval; pairs: %s):" % (
        min(pairs) if pairs else "none")
    yield ""
    yield from table(keys, cells, titles, "loop")
    yield ""
    yield ("CPU time of the workload's process in the loop; other programs on the machine disturb "
           "it less, but it does not see the profiler's own process:")
    yield ""
    yield from table(keys, cells, titles, "cpu")
    yield ""
    yield "Whole processes, start-up and reports included:"
    yield ""
    yield from table(keys, cells, titles, "whole")
    yield ""
    for verdict in verdicts(keys, cells):
        yield "- " + verdict.text()
    yield "- noise: " + noise(keys, cells)
    for note in notes_of(keys, cells):
        yield "- " + note
