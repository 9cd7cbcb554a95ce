"""What a trace says, told in the same words by two readers, so that they compare with ==.

`facts_of_trace` speaks for the decoder of isc_decode.py, `facts_of_export` for the
C reader behind `inferscope export --to json`.  The export joins entries and exits
to functions; here they are taken apart again, so that each event of the file is
held against its twin and nothing depends on how the timeline repairs nesting.
"""

import datetime
import decimal
import json
import math
from collections import Counter

import isc_decode as isc
from isc_series import SERIES_NAMES

SECOND = 1_000_000_000


FRAMES = isc.ENTERS + isc.EXITS + (isc.RUNNING, isc.GC_BEGIN, isc.GC_END)


def facts_of_trace(trace):
    return {
        "started": started(trace.realtime_ns),
        "wall_ns": trace.wall_ns,
        "exit_status": trace.exit_status,
        "whole": trace.whole,
        "info": trace.info,
        "notes": trace.notes,
        "processes": sorted((p["id"], p["pid"], p["parent_pid"], p["name"], p["start_ns"],
                             known_end(p["end_ns"])) for p in trace.processes.values()),
        "watched": sorted((p["id"], p["pid"], p["parent_pid"], p["name"], p["start_ns"],
                           known_end(p["end_ns"])) for p in trace.watched.values()),
        "threads": sorted(thread_of_trace(trace, t) for t in trace.threads.values()),
        "losses": {id: gaps(t) for id, t in trace.threads.items() if gaps(t)},
        "events": {id: events for id, events in
                   ((id, known_events(trace, t)) for id, t in trace.threads.items()) if events},
        "points": Counter((SERIES_NAMES[p.kind], p.time_ns, p.process, p.instance, p.value)
                          for p in trace.points if p.kind in SERIES_NAMES
                          and p.process in (0, *trace.processes, *trace.watched)),
    }


def started(realtime_ns):
    if realtime_ns < 0:
        return None
    whole = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=realtime_ns // SECOND)
    return "%s.%09dZ" % (whole.isoformat(), realtime_ns % SECOND)


def known_events(trace, thread):
    """Times as the export has them: never before the thread's start or the event before."""
    latest = latest_frame = thread.fields["start_ns"]
    known = Counter()
    for event in thread.events:
        # That exceptions are left out is told in the report.
        if event.kind not in isc.KIND_NAMES or event.kind == isc.UNWINDING:
            continue
        latest = max(latest, event.time_ns)
        if event.kind == isc.PAUSED:
            latest_frame = max(latest - 1000 * event.id, latest_frame)
            known["calls_paused", latest_frame] += 1
            continue
        if event.kind in FRAMES:
            latest_frame = latest
        known[event_of_trace(trace, event, latest)] += 1
    known.update(known_layers(trace, thread))
    return known


def known_layers(trace, thread):
    """The calls of layers, nested by the rules of docs/FORMAT.md; end None: it has none."""
    latest = thread.fields["start_ns"]
    index = 0
    calls = []
    open_ones = []
    for event in thread.events:
        if event.index != index:
            open_ones = []
        index = event.index + 1
        latest = max(latest, event.time_ns)
        if event.kind == isc.LAYER_BEGIN:
            calls.append({"id": event.id, "start": latest, "end": None})
            open_ones.append(calls[-1])
        elif event.kind == isc.LAYER_END and any(c["id"] == event.id for c in open_ones):
            while open_ones[-1]["id"] != event.id:
                open_ones.pop()
            open_ones.pop()["end"] = latest
        elif event.kind == isc.LAYERS_FOLDED:
            folded = [c for c in open_ones if c["id"] == event.id]
            open_ones = [c for c in open_ones if c["id"] != event.id]
            calls = [c for c in calls if not any(c is f for f in folded)]
    return [("layer", c["start"], c["end"], c["id"]) + layer_of(trace, c["id"]) for c in calls]


def layer_of(trace, id):
    layer = trace.layers.get(id)
    if layer is None:
        return "(unknown)", "(unknown)"
    return layer["name"] or layer["class"], layer["class"]


def known_end(time_ns):
    return None if time_ns == -1 else time_ns


def thread_of_trace(trace, thread):
    fields = thread.fields
    return (fields["id"], fields["process"], trace.processes[fields["process"]]["pid"],
            fields["tid"], fields["name"], fields["start_ns"], known_end(fields["end_ns"]),
            thread.produced(), thread.lost())


def gaps(thread):
    """How many events are missing, for each place where some are."""
    missing = []
    index = 0
    for event in thread.events:
        if event.index != index:
            missing.append(event.index - index)
        index = event.index + 1
    if thread.produced() > index:
        missing.append(thread.produced() - index)
    return missing


def event_of_trace(trace, event, time_ns):
    if event.kind in isc.ENTERS or event.kind == isc.RUNNING:
        return ("enter", time_ns, event.kind != isc.CALL) + code_of(trace, event.id)
    if event.kind in isc.EXITS:
        return ("exit", time_ns) + code_of(trace, event.id)
    if event.kind == isc.LEFT_OUT:
        return ("calls_left_out", time_ns) + code_of(trace, event.id) if event.id else \
            ("calls_traced_again", time_ns)
    if event.kind == isc.GC_BEGIN:
        return "gc_begin", time_ns, event.id
    payload = isc.Payload(event)
    if event.kind == isc.GC_END:
        return "gc_end", time_ns, payload.collected
    name = trace.name(event.id)
    name = "(unknown)" if name is None else name
    if event.kind == isc.COUNTER:
        return "counter", time_ns, name, payload.value if math.isfinite(payload.value) else None
    args = tuple((key, json_value(value)) for key, value in payload.args.pairs), payload.args.cut
    if event.kind == isc.SCOPE_END:
        return ("scope_exit", time_ns, name, payload.instance) + args
    if event.kind == isc.MARK:
        return ("instant", time_ns, name, payload.task) + args
    return ("scope_enter", time_ns, name, payload.instance, payload.task) + args


def code_of(trace, id):
    code = trace.codes.get(id, {"name": "(unknown)", "file": "", "line": 0})
    return code["name"], code["file"], code["line"]


def json_value(value):
    """As JSON can say it; the type comes along because 1 == True."""
    if isinstance(value, isc.Object):
        return "object", value.type_name
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    return isinstance(value, bool), value


def load_export(text):
    """The exported JSON with times in whole ns and args as pairs, which may repeat a key."""
    return json.loads(text, object_pairs_hook=Pairs, parse_float=Exact)


class Pairs(dict):
    """A JSON object that remembers all its pairs in order."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs


class Exact(float):
    """A number with a fraction that remembers how it was written."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def ns(microseconds):
    if microseconds is None:
        return None
    text = getattr(microseconds, "text", str(microseconds))
    exact = decimal.Decimal(text) * 1000
    assert exact == int(exact), "%s is not a whole number of ns" % text
    return int(exact)


def facts_of_export(export):
    run = export["inferscope"]
    losses = {}
    events = {}
    points = Counter()
    for event in export["events"]:
        if event["event_type"].startswith(("cuda_", "gpu_")):
            continue  # gpu_trace.py reads those
        if event["event_type"] in ("thread_state", "off_cpu"):
            continue  # made of samples, not of events
        if event["event_type"] == "counter" and "nature" in event:
            points[event["name"], ns(event["start_us"]), event.get("process", 0),
                   event.get("instance", 0), event["value"]] += 1
        elif event["event_type"] == "lost":
            losses.setdefault(event["thread"], []).append(event["events"])
        else:
            events.setdefault(event["thread"], Counter()).update(events_of_export(event))
    return {
        "started": run["started"],
        "wall_ns": ns(run["wall_us"]),
        "exit_status": run["exit_status"],
        "whole": run["damage"] is None,
        "info": [(pair["key"], pair["value"]) for pair in run["info"]],
        "notes": run["notes"],
        "processes": sorted((p["id"], p["pid"], p["parent_pid"], p["name"], ns(p["start_us"]),
                             ns(p["end_us"])) for p in run["processes"]),
        "watched": sorted((p["id"], p["pid"], p["parent_pid"], p["name"], ns(p["start_us"]),
                           ns(p["end_us"])) for p in run["watched"]),
        "threads": sorted((t["id"], t["process"], t["pid"], t["tid"], t["name"],
                           ns(t["start_us"]), ns(t["end_us"]), t["produced"], t["lost"])
                          for t in run["threads"]),
        "losses": losses,
        "events": events,
        "points": points,
    }


def events_of_export(event):
    """The events of the file that one exported event was made of."""
    kind = event["event_type"]
    start, end = ns(event["start_us"]), ns(event.get("end_us"))
    ends = not (event.get("repaired") or event.get("open_end") or event.get("paused"))
    if "sampled" in event:
        return  # no event of the file
    if kind == "cpu_function":
        code = event["name"], event["file"], event["line"]
        if not event.get("open_start"):
            yield ("enter", start, bool(event.get("resumed"))) + code
        if ends:
            yield ("exit", end) + code
    elif kind == "gc":
        if not event.get("open_start"):
            yield "gc_begin", start, event["generation"]
        if ends:
            yield "gc_end", end, event["collected"]
    elif kind in ("calls_paused", "calls_traced_again"):
        yield kind, start
    elif kind == "calls_left_out":
        yield kind, start, event["name"], event["file"], event["line"]
    elif kind == "layer":
        yield (kind, start, end if ends and not event.get("gap") else None, event["layer_id"],
               event["name"], event["class"])
    elif kind == "scope_exit":
        args = args_of_export(event["args"]) if "args" in event else ()
        yield kind, start, event["name"], event["instance"], args, bool(event.get("args_cut"))
    elif kind == "counter":
        yield kind, start, event["name"], event["value"]
    else:
        instance = (event["instance"],) if kind == "scope_enter" else ()
        yield ((kind, start, event["name"]) + instance + (event.get("task", 0),)
               + (args_of_export(event["args"]), bool(event.get("args_cut"))))


def args_of_export(args):
    return tuple((key, value_of_export(value)) for key, value in args.pairs)


def value_of_export(value):
    return json_value(isc.Object(value["type"]) if isinstance(value, Pairs) else value)
