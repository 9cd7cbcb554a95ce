"""The single checks: each compares one recorded workload with what is known about it.

A check takes an Outcome and yields (what, expected, got, is it right).  Truth comes from
the program itself, from CUDA events, from torch.profiler, or from the run without us;
never from the recording that is being judged.
"""

import os
import statistics
from collections import namedtuple

import gpu_events

# plain, recorded: the runs (kit.Run); plain_truth, truth: what they told of themselves; counts:
# what torch.profiler saw, None where it was not asked; step: the scope that is one step.
Outcome = namedtuple("Outcome", "name step plain recorded truth plain_truth counts events report")

TOLERANCE = 0.01
MATCHED = 0.999
FLUSH_S, REPORT_S = 2.0, 2.0


def equal(what, expected, got):
    return what, expected, got, expected == got


def close(what, expected, got, tolerance=TOLERANCE):
    right = expected is not None and abs(got - expected) <= tolerance * abs(expected)
    return what, expected, got, right


def at_most(what, limit, got):
    return what, "<= %.4g" % limit, got, got is not None and 0 <= got <= limit


def difference(expected, got):
    """The first entry in which two dictionaries differ, in a few words."""
    for key in sorted(set(expected) | set(got), key=str):
        if expected.get(key) != got.get(key):
            return "%s: %s" % (key if isinstance(key, str) else " ".join(map(str, key)),
                               got.get(key))
    return "equal"


def same_tables(what, expected, got):
    """Equal dictionaries; a difference shows the entry and not the whole."""
    if expected == got:
        return what, "%d kinds" % len(expected), "%d kinds" % len(got), True
    back = difference(got, expected)
    return what, back, difference(expected, got), False


def noted(o, what):
    """Something about CUPTI stands where the user reads it."""
    said = str([o.events.head["notes"], o.report["trust"].get("notes"), o.report.get("gpu")])
    told = "cupti" in said.lower() or "torch.profiler" in said
    return what, "a note", "a note" if told else "none", told


def status(o):
    yield equal("exit status", o.plain.status, o.recorded.status)


def output(o):
    """Bit for bit what the workload computes without us."""
    yield equal("output digest", o.plain_truth.get("digest", "")[:12],
                o.truth.get("digest", "")[:12])


def own_counts(o):
    """Against what the program says it did; it says nothing about the rest."""
    counts = o.events.counts()
    if "kernels" in o.truth:
        yield equal("kernels", o.truth["kernels"], sum(counts.kernels.values()))
    for name, count in o.truth.get("named", {}).items():
        yield equal("kernel " + name, count,
                    sum(event["name"] == name for event in o.events.kernels))
    if "copies" in o.truth:
        expected = {(c["direction"], c["source"], c["destination"]): (c["count"], c["bytes"])
                    for c in o.truth["copies"]}
        yield same_tables("copies, bytes", expected, counts.copies)
    if "memsets" in o.truth:
        yield equal("memsets", o.truth["memsets"], counts.memsets)
    if "memset_bytes" in o.truth:
        yield equal("memset bytes", o.truth["memset_bytes"], counts.memset_bytes)


def input_copies(o):
    """Copies of exactly an input's size: others may come from the framework."""
    for known in o.truth["inputs"]:
        key = (known["direction"], known["source"], known["destination"])
        each = known["bytes"] // known["count"]
        got = sum(gpu_events.copy_key(event) == key and event["bytes"] == each
                  for event in o.events.copies)
        yield equal("inputs, " + known["source"], known["count"], got)


def profiler_counts(o):
    ours, theirs = o.events.counts(), o.counts
    yield equal("kernels = profiler", sum(theirs.kernels.values()), sum(ours.kernels.values()))
    # Demanglers differ in their spelling; how often each kernel ran does not.
    yield equal("counts by kernel", sorted(theirs.kernels.values()), sorted(ours.kernels.values()))
    yield same_tables("copies = profiler", theirs.copies, ours.copies)
    yield equal("memsets = profiler", (theirs.memsets, theirs.memset_bytes),
                (ours.memsets, ours.memset_bytes))


def causality(o):
    yield equal("without times", 0, len(o.events.activities) - len(o.events.timed))
    yield equal("before their launch", 0, o.events.before_launch())
    yield equal("after their wait", 0, o.events.after_wait())
    yield equal("violations (report)", 0, o.report["trust"].get("causality_violations"))


def clock(o):
    """The bound that the report prints against the workload's own step."""
    steps = [end - start for start, end in o.events.scopes(o.step)]
    if "step_us" in o.truth:  # where the host runs ahead of the device
        steps = [o.truth["step_us"]]
    if not steps:
        yield "clock error us", "steps %r" % o.step, "none recorded", False
        return
    limit = TOLERANCE * statistics.median(steps)
    yield at_most("clock error us", limit, o.report["trust"].get("clock_error_us"))


def matching(o):
    launched, launches, linked, activities = o.events.matched()
    for what, part, whole in (("launches matched", launched, launches),
                              ("activities linked", linked, activities)):
        none_expected = what == "launches matched" and o.truth.get("kernels") == 0
        share = part / whole if whole else float(none_expected)
        yield what, ">= %.1f %%" % (100 * MATCHED), "%d of %d" % (part, whole), share >= MATCHED


def launches_matched(o):
    """Without regard to work of which the call is not known."""
    yield next(matching(o))


def lines(o):
    """Every launch has its Python line, and a line of the workload's own files."""
    launches = o.events.launches()
    own = {name for name in os.listdir(os.path.join(os.path.dirname(__file__), "workloads"))
           if name.endswith(".py")}
    placed = sum(bool(call.get("file")) and (call.get("line") or 0) > 0 for call in launches)
    users = sum(os.path.basename(call.get("user_file") or "") in own
                and (call.get("user_line") or 0) > 0 for call in launches)
    yield "launches with a line", len(launches), placed, placed == len(launches) > 0
    yield "... with a user's line", len(launches), users, users == len(launches) > 0


def saturated(o):
    """Kernel time of the section "timed" against CUDA events around it."""
    spans = o.events.scopes("timed")
    busy = gpu_events.busy_us(o.events.kernels_in(spans[0])) / 1e3 if spans else 0.0
    yield close("kernel ms = events", o.truth["event_ms"], busy)


def spins(o):
    """The native program's kernels of known length."""
    alone = [e["end_us"] - e["start_us"] for e in o.events.kernels if e["name"] == "spin_alone"]
    busy = [e for e in o.events.kernels if e["name"] == "spin_busy"]
    yield close("spin us, mean", o.truth["spin_ns"] / 1e3, statistics.fmean(alone or [0]))
    yield close("spin us, longest", o.truth["spin_ns"] / 1e3, max(alone or [0]))
    yield close("kernel ms = events", o.truth["event_ms"], gpu_events.busy_us(busy) / 1e3)


def overlap(o):
    """Two streams run side by side where the program made them, and nowhere else."""
    for name in ("chained", "together"):
        spans = o.events.scopes(name)
        kernels = o.events.kernels_in(spans[0]) if spans else []
        known = o.truth[name]
        got = gpu_events.overlap_us(kernels) / 1e3
        yield equal("%s: streams" % name, 2, len({e["stream_id"] for e in kernels}))
        yield ("%s: overlap ms" % name, known["overlap_ms"], got,
               abs(got - known["overlap_ms"]) <= 0.02 * known["sum_ms"])


def graphs(o):
    """Each replay is a launch, and what it started hangs on it."""
    replays = [call for call in o.events.calls if "GraphLaunch" in call["name"]]
    started = {(e.get("pid"), e.get("correlation_id")) for e in o.events.activities}
    hung = sum((call.get("pid"), call.get("correlation_id")) in started for call in replays)
    yield equal("graph launches", o.truth["replays"], len(replays))
    yield equal("... with their kernels", o.truth["replays"], hung)


def captures(o):
    """What ran of a graph has the line that was captured, in the workload's own functions."""
    nodes = [e for e in o.events.activities if e.get("graph_node_id")]
    own = [e for e in nodes if e.get("captured_file", "").endswith(o.truth["workload"] + ".py")
           and e["captured_line"] > 0]
    yield "nodes with their line", len(nodes), len(own), len(own) == len(nodes) > 0
    yield equal("captured in", o.truth["captured"], sorted({e["captured_function"] for e in own}))


def graph_rows(o):
    """The report has a row for each graph, with all its replays and nodes."""
    rows = o.report["gpu"]["cuda_graphs"]
    yield equal("replays of each graph", sorted(o.truth["graphs"]),
                sorted(row["replays_by_node"] for row in rows))
    yield equal("captures that are known", [row["nodes"] for row in rows],
                [row["known_nodes"] for row in rows])
    yield equal("graphs with a copy", [True] * len(rows), [row["copies"] > 0 for row in rows])
    nodes = sum(row["replays"] * row["nodes"] for row in rows)
    yield equal("nodes of all replays", nodes, sum("graph_node_id" in e
                                                   for e in o.events.activities))


def replays_known(o):
    """Graphs that a compiler captured: each node comes from somewhere."""
    rows = o.report["gpu"]["cuda_graphs"]
    known, nodes = (sum(row[key] for row in rows) for key in ("known_nodes", "nodes"))
    yield "nodes that are known", nodes, known, known == nodes > 0


def child(o):
    yield equal("child's exit status", o.plain_truth["child_status"], o.truth["child_status"])


def profiler_inside(o):
    """The workload's own profiler gets CUPTI; our GPU recording ends there and says so."""
    yield equal("its profiler saw", o.plain_truth["profiler_saw"], o.truth["profiler_saw"])
    for name, wanted in (("before", o.truth["kernels_before"]), ("after", 0)):
        spans = o.events.scopes(name)
        got = len(o.events.kernels_in(spans[0])) if spans else 0
        yield equal("kernels %s it" % name, wanted, got)
    yield noted(o, "the end is noted")


def told(o):
    yield noted(o, "what is missing is told")


def degraded(o):
    """Without CUPTI there is no GPU event, a note that says why, and all the rest."""
    yield equal("GPU activities", 0, len(o.events.activities))
    yield noted(o, "the cause is told")
    yield equal("scopes", o.truth["rounds"], len(o.events.scopes("round")))


def prompt_end(o):
    """A device that is still busy holds nobody up: the flush and the report have their limits."""
    plain_late = o.plain.end_s - o.plain_truth["end_s"]
    late = o.recorded.end_s - o.truth["end_s"]
    yield at_most("end after last word, s", plain_late + FLUSH_S + REPORT_S, late)
    done = len(o.events.kernels)
    yield "kernels done by then", o.truth["kernels_done"], done, done >= o.truth["kernels_done"]


def nothing_loaded(o):
    yield equal("driver libraries", o.plain_truth["driver"], o.truth["driver"])
    yield equal("libcupti", o.plain_truth["cupti"], o.truth["cupti"])
    yield equal("GPU events", 0, len(o.events.activities) + len(o.events.calls))


def shares(o):
    gpu = o.report.get("gpu") or {}
    busy, idle = gpu.get("busy_share"), gpu.get("idle_share")
    right = None not in (busy, idle) and 0 < busy <= 1 and abs(busy + idle - 1) < 1e-3
    yield "busy + idle (report)", 1, "%s + %s" % (busy, idle), right
