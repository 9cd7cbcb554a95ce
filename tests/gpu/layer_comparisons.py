"""The single checks of what an adapter tells: layers, loading of data, compilation, NVTX.

As in comparisons.py: truth comes from the program, from torch.profiler, from the run without
us, or, where the report is judged, from the events, which it is not made of.
"""

import collections
import re

from comparisons import close, equal, same_tables

ONE_OF_SEVERAL = re.compile(r"#\d+$")  # behind the name of a second model of the same class


def plain(name):
    return ONE_OF_SEVERAL.sub("", name)


def layers(o):
    """All GPU time and every kernel is some layer's or outside, as each single event says."""
    rows, outside = o.report["layers"], o.report["layers_outside"]
    all_ms = sum(event["end_us"] - event["start_us"] for event in o.events.timed) / 1e3
    yield "layers", "some", len(rows), len(rows) > 0
    yield close("layers + outside, ms", all_ms,
                sum(row["self_gpu_ms"] for row in rows) + outside["gpu_ms"])
    yield equal("kernels of all", len(o.events.kernels),
                sum(row["self_kernels"] for row in rows) + outside["kernels"])
    told = collections.Counter()
    for row in rows:
        told[row["class"], plain(row["name"])] += row["self_kernels"]
    told["", ""] = outside["kernels"]
    yield same_tables("kernels by layer", o.events.kernels_of_layers(), +told)


def layer_calls(o):
    """Against the program, which knows how often it called some of its modules."""
    calls = collections.Counter()
    for row in o.report["layers"]:
        calls[row["name"]] += row["calls"]
    for name, count in o.truth["layer_calls"].items():
        yield equal("calls of " + name, count, calls[name])


def profiler_layers(o):
    """Kernels by class against torch.profiler, with each call of a module annotated."""
    told = collections.Counter({"": o.report["layers_outside"]["kernels"]})
    for row in o.report["layers"]:
        told[row["class"]] += row["self_kernels"]
    yield same_tables("by class = profiler", +collections.Counter(o.counts.layers), +told)


def graph_layers(o):
    """What replays of graphs run has the layer of its capture, but for so many nodes."""
    nodes = [event for event in o.events.activities if event.get("graph_node_id")]
    named = [layer for layer in map(o.events.layer_of, nodes) if layer]
    outside = o.truth["nodes_outside"]
    yield ("nodes with a layer", len(nodes) - outside, len(named),
           len(named) == len(nodes) - outside > 0)
    yield "their layers", o.truth["layers_in_graph"], len(set(named)), (
        len(set(named)) >= o.truth["layers_in_graph"])


def dynamo(o):
    """The compiler did what it does without us, and each compilation is told."""
    without, told = o.plain_truth["dynamo"], o.truth["dynamo"]
    yield equal("compilations", without["compilations"], told["compilations"])
    yield same_tables("dynamo's counters", without["counters"], told["counters"])
    yield equal("compilations recorded", len(told["compilations"]),
                len(o.events.scopes("torch: compile")))


def loading(o):
    """Each batch was loaded in a worker and waited for in the main process."""
    scopes = collections.Counter((event["name"], event["pid"])
                                 for event in o.events.events["scope_enter"])
    expected = {("torch: DataLoader load", pid): count for pid, count in o.truth["loaded"]}
    expected["torch: DataLoader wait", o.truth["pid"]] = sum(expected.values())
    yield same_tables("loads and waits", expected,
                      {key: count for key, count in scopes.items() if "DataLoader" in key[0]})
    recorded = {row["pid"] for row in o.report["processes"]}
    workers = {pid for pid, _ in o.truth["loaded"]}
    yield equal("worker processes", len(workers), len(workers & recorded))


def nvtx(o):
    """Every range that the program made or had made, as often as it did."""
    ranges = o.events.ranges()
    for name, count in o.truth["ranges"].items():
        yield equal("range " + name, count, ranges[name])
