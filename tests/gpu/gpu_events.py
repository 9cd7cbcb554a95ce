"""GPU events as `inferscope export --to json` and torch.profiler tell them; questions to them.

Pure functions of the text: tests/gpu/test_kit.py feeds them by hand.
"""

import bisect
import collections
import json
import re

# An export has one event a line, the type first; the calls of Python, most of it, are not for us.
WANTED = tuple('{"event_type":"%s' % kind for kind in ("gpu_", "cuda_api", "scope_"))
COPY_WORDS = {"hosttodevice": "HtoD", "devicetohost": "DtoH", "devicetodevice": "DtoD",
              "hosttohost": "HtoH", "h2d": "HtoD", "d2h": "DtoH", "d2d": "DtoD", "htod": "HtoD",
              "dtoh": "DtoH", "dtod": "DtoD"}
EPSILON_US = 0.0005  # half of the export's resolution

Counts = collections.namedtuple("Counts", "kernels copies memsets memset_bytes")


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
        self.calls = self.events["cuda_api"]
        self.call_of = {(call.get("pid"), call.get("correlation_id")): call for call in self.calls}

    def counts(self):
        copies = {}
        for event in self.copies:
            add_copy(copies, copy_key(event), event["bytes"])
        return Counts(collections.Counter(event.get("full_name", event["name"]) for event in self.kernels), copies,
                      len(self.memsets), sum(event["bytes"] for event in self.memsets))

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
