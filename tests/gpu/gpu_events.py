"""GPU events as `inferscope export --to json` and torch.profiler tell them; questions to them.

Pure functions of the text: tests/gpu/test_kit.py feeds them by hand.
"""

import bisect
import collections
import json
import re

# An export has one event a line, the type first; the calls of Python, most of it, are not for us.
WANTED = tuple('{"event_type":"%s' % kind for kind in ("gpu_", "cuda_api", "scope_", "layer"))
COPY_WORDS = {"hosttodevice": "HtoD", "devicetohost": "DtoH", "devicetodevice": "DtoD",
              "hosttohost": "HtoH", "h2d": "HtoD", "d2h": "DtoH", "d2d": "DtoD", "htod": "HtoD",
              "dtoh": "DtoH", "dtod": "DtoD"}
EPSILON_US = 0.0005  # half of the export's resolution

# layers: kernels of each class of modules by themselves, "" what none launched; None: not asked.
Counts = collections.namedtuple("Counts", "kernels copies memsets memset_bytes layers",
                                defaults=[None])
LAYER = "layer "  # begins the name of a module's call in torch.profiler, see under_profiler.py


def direction_of(text):
    """"HtoD" of "host_to_device", "H2D", "Memcpy HtoD (Pageable -> Device)"."""
    plain = re.sub(r"[^a-z0-9]", "", str(text).lower())
    for word, direction in COPY_WORDS.items():
        if word in plain:
            return direction
    return str(text)


def copy_key(event):
    """(direction, source memory, destination memory) of an exported copy."""
    direction = direction_of(event.get("kind", event.get("copy_kind", event.get("name"))))
    return (direction, str(event.get("source", "")).lower(),
            str(event.get("destination", "")).lower())


class Nest:
    """Spans (start, end, what) that lie inside each other or apart: which is the innermost?"""

    def __init__(self, spans):
        self.spans = sorted(spans, key=lambda span: (span[0], -span[1]))
        self.starts = [span[0] for span in self.spans]
        self.around, opened = [], []
        for nth, (start, _, _) in enumerate(self.spans):
            while opened and self.spans[opened[-1]][1] <= start:
                opened.pop()
            self.around.append(opened[-1] if opened else None)
            opened.append(nth)

    def find(self, time):
        """What lasts at this moment, the innermost; None: nothing does."""
        nth = bisect.bisect_right(self.starts, time) - 1
        nth = nth if nth >= 0 else None
        while nth is not None and self.spans[nth][1] <= time:
            nth = self.around[nth]
        return None if nth is None else self.spans[nth][2]


def nests_of(spans):
    """A Nest for each thread of [(thread, start, end, what)]."""
    threads = collections.defaultdict(list)
    for thread, *span in spans:
        threads[thread].append(span)
    return {thread: Nest(its) for thread, its in threads.items()}


def layers_of_kineto(trace):
    """Kernels by the class of the innermost module whose operators launched them.

    By the operator that the profiler names for a kernel, whose clock is that of the modules; by
    the call where it names none, as for what libraries launch when they set themselves up."""
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    host = [event for event in events if event.get("cat") in ("cpu_op", "user_annotation")]
    nests = nests_of((event["tid"], event["ts"], event["ts"] + event["dur"],
                      event["name"][len(LAYER):]) for event in host
                     if event["name"].startswith(LAYER))
    operators = {event["args"]["External id"]: event for event in host
                 if "External id" in event.get("args", {})}
    calls = {event["args"]["correlation"]: event for event in events
             if event.get("cat") in ("cuda_runtime", "cuda_driver")
             and "correlation" in event.get("args", {})}
    layers = collections.Counter()
    for event in events:
        if event.get("cat") == "kernel":
            starter = (operators.get(event["args"].get("External id"))
                       or calls.get(event["args"].get("correlation")))
            nest = nests.get(starter["tid"]) if starter else None
            layers[(nest.find(starter["ts"]) if nest else None) or ""] += 1
    return layers


def counts_of_kineto(trace):
    """Counts of what torch.profiler exported, a Chrome trace as an object."""
    kernels, copies = collections.Counter(), {}
    memsets = memset_bytes = 0
    for event in trace["traceEvents"]:
        category, name = event.get("cat"), event.get("name", "")
        if category == "kernel":
            kernels[name] += 1
        elif category == "gpu_memcpy":
            memory = re.search(r"\((\w+) -> (\w+)\)", name)
            source, destination = memory.groups() if memory else ("", "")
            key = (direction_of(name), source.lower(), destination.lower())
            add_copy(copies, key, event.get("args", {}).get("bytes", 0))
        elif category == "gpu_memset":
            memsets += 1
            memset_bytes += int(event.get("args", {}).get("bytes", 0))
    return Counts(kernels, copies, memsets, memset_bytes)


def write_counts(counts, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**counts._asdict(), "copies": [[*key, *value] for key, value
                                                  in sorted(counts.copies.items())]}, file)


def read_counts(path):
    with open(path, encoding="utf-8") as file:
        fields = json.load(file)
    copies = {tuple(row[:3]): tuple(row[3:]) for row in fields["copies"]}
    return Counts(**{**fields, "copies": copies})


def add_copy(copies, key, nbytes):
    count, total = copies.get(key, (0, 0))
    copies[key] = (count + 1, total + int(nbytes))


def union_us(spans):
    """Time covered by at least one of the (start, end)."""
    covered, reach = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return covered


def span_of(event):
    return event["start_us"], event["end_us"]


def is_timed(event):
    """False where the device did not say when: a kernel still running at the end, for one."""
    return bool(event.get("start_us")) and bool(event.get("end_us"))


class Recording:
    """The GPU's part of an export."""

    def __init__(self, lines):
        self.head = None
        self.events = collections.defaultdict(list)
        head = []
        for line in lines:
            if self.head is None:
                if line.startswith('"events"'):
                    self.head = json.loads("".join(head).rstrip().rstrip(",") + "}")["inferscope"]
                head.append(line)
            elif line.startswith(WANTED):
                event = json.loads(line.rstrip().rstrip(","))
                self.events[event["event_type"]].append(event)
        if self.head is None:
            raise ValueError("not an export: no events in it")
        self.kernels = self.events["gpu_kernel"]
        self.copies = self.events["gpu_memcpy"]
        self.memsets = self.events["gpu_memset"]
        self.activities = self.kernels + self.copies + self.memsets + self.events["gpu_graph"]
        self.timed = [event for event in self.activities if is_timed(event)]
        self.layers = self.events["layer"]
        self.nests = nests_of(((event["pid"], event["tid"]), event["start_us"], event["end_us"],
                               (event["class"], event["name"])) for event in self.layers)
        self.calls = self.events["cuda_api"]
        self.call_of = {(call.get("pid"), call.get("correlation_id")): call for call in self.calls}

    def counts(self):
        copies = {}
        for event in self.copies:
            add_copy(copies, copy_key(event), event["bytes"])
        kernels = collections.Counter(event.get("full_name", event["name"])
                                      for event in self.kernels)
        return Counts(kernels, copies, len(self.memsets),
                      sum(event["bytes"] for event in self.memsets))

    def starter(self, activity):
        """The call that started an activity; None: unknown."""
        return self.call_of.get((activity.get("pid"), activity.get("correlation_id")))

    def launches(self):
        return [call for call in self.calls if "Launch" in call["name"]
                and "HostFunc" not in call["name"]]

    def matched(self):
        """(launches that started something, all launches, activities with a call, all of them)."""
        started = {(event.get("pid"), event.get("correlation_id")) for event in self.activities}
        launches = self.launches()
        return (sum((call.get("pid"), call.get("correlation_id")) in started for call in launches),
                len(launches), sum(self.starter(event) is not None for event in self.activities),
                len(self.activities))

    def before_launch(self):
        """Activities that start before the call that started them."""
        return sum(call is not None and event["start_us"] < call["start_us"] - EPSILON_US
                   for event, call in ((event, self.starter(event)) for event in self.timed))

    def after_wait(self):
        """Activities that end after a wait for the whole device that began after their launch."""
        waits = collections.defaultdict(list)
        for call in self.calls:
            if call["name"].startswith("cudaDeviceSynchronize"):
                waits[call.get("pid")].append(span_of(call))
        late = 0
        for spans in waits.values():
            spans.sort()
        for event in self.timed:
            call = self.starter(event)
            spans = waits.get(event.get("pid")) if call else None
            if not spans:
                continue
            nth = bisect.bisect_left(spans, (call["end_us"], float("-inf")))
            late += nth < len(spans) and event["end_us"] > spans[nth][1] + EPSILON_US
        return late

    def layer_of(self, activity):
        """(class, name) of the layer that launched it, or, of a graph's node, in which it was
        captured; None: outside of all layers.  Of captures the export names no thread."""
        if "captured_us" in activity:
            places = [(thread, activity["captured_us"]) for thread in self.nests
                      if thread[0] == activity["pid"]]
        else:
            call = self.starter(activity)
            places = [((call["pid"], call["tid"]), call["start_us"])] if call else []
        found = [self.nests[thread].find(time) for thread, time in places if thread in self.nests]
        return next((layer for layer in found if layer), None)

    def kernels_of_layers(self):
        """{(class, name): kernels of its own}, "" twice for what is outside."""
        return collections.Counter(self.layer_of(event) or ("", "") for event in self.kernels)

    def ranges(self):
        """How often each range of NVTX began."""
        return collections.Counter(event["name"] for event in self.events["scope_enter"]
                                   if "nvtx" in event)

    def scopes(self, name):
        """[(start, end)] in µs."""
        ends = {(event["pid"], event["instance"]): event["start_us"]
                for event in self.events["scope_exit"]}
        return [(event["start_us"], ends[event["pid"], event["instance"]])
                for event in self.events["scope_enter"]
                if event["name"] == name and (event["pid"], event["instance"]) in ends]

    def kernels_in(self, span):
        start, end = span
        return [event for event in self.kernels if is_timed(event)
                and start <= event["start_us"] and event["end_us"] <= end]


def busy_us(kernels):
    return union_us(span_of(event) for event in kernels)


def overlap_us(kernels):
    """Time in which more than one stream ran a kernel (two streams: exactly)."""
    streams = collections.defaultdict(list)
    for event in kernels:
        streams[event["stream_id"]].append(span_of(event))
    return sum(map(union_us, streams.values())) - busy_us(kernels)
