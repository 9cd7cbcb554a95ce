"""What real libcupti libraries said, replayed to the agent: it records exactly that.

tests/data/cupti holds taps from an H200 (tests/gpu/run_all.sh taps), each with what the
program said of itself.  An independent decoder, tests/gpu/tap_decode.py, says what has to be in
the trace.  Taps of the doubles go the same way, so that the way itself is tested
without them.
"""

import collections
import json
import os
import struct
import subprocess
import sys

import pytest

import gpu_trace

HERE = os.path.dirname(os.path.abspath(__file__))
GPU = os.path.join(os.path.dirname(HERE), "gpu")
DATA = os.path.join(os.path.dirname(HERE), "data", "cupti")
sys.path.append(GPU)

import tap_decode  # noqa: E402
from tap_decode import COPY, DEVICE, KERNEL, MEMSET, OVERHEAD, PEER_COPY  # noqa: E402

VERSIONS = ["11.8", "12.9", "13.0"]
CUDA_MALLOC = 2, 20  # domain and number of the callback


class Tapped:
    """A tap, where it is, and what the program said that was tapped."""

    def __init__(self, path):
        self.path = path
        self.tap = tap_decode.load(path)
        with open(os.path.splitext(path)[0] + ".json", encoding="utf-8") as file:
            self.truth = json.load(file)


def file_name(version):
    return "tap_%s.tap" % version.replace(".", "_")


@pytest.fixture(scope="session")
def tap_double(binary, doubles, root, tmp_path_factory):
    """Records the double of a version with the script that records the real ones; once each."""
    made = {}

    def record(version, **env):
        key = version, tuple(env.items())
        if key not in made:
            out = tmp_path_factory.mktemp("taps")
            sources = os.path.join(root, "tests", "doubles")
            subprocess.run(
                [sys.executable, os.path.join(GPU, "record_taps.py"), "--out", str(out),
                 "--program", os.path.join(sources, "every_kind.py"),
                 "--cupti", "%s=%s" % (version, doubles.path("libfake_cupti.so"))],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60,
                env={**os.environ, "INFERSCOPE_BIN": binary, "PYTHONPATH": sources,
                     "FAKE_CUDA": doubles.path("libfake_cuda.so"),
                     "FAKE_CUPTI_VERSION": version, **env})
            made[key] = Tapped(str(out / file_name(version)))
        return made[key]
    return record


@pytest.fixture(params=VERSIONS + ["double of " + version for version in VERSIONS])
def tapped(request, tap_double):
    if request.param not in VERSIONS:
        return tap_double(request.param.split()[-1])
    path = os.path.join(DATA, file_name(request.param))
    if not os.path.exists(path):
        pytest.skip("no tap of libcupti %s yet: tests/gpu/run_all.sh taps" % request.param)
    return Tapped(path)


@pytest.fixture
def replay(inferscope, doubles, work):
    """Records a program that replays a tap; the trace, with by how much times were `shifted`."""
    def run(path):
        done = inferscope("run", "--quiet", "--report", "r.json", "--trace", "t.isc", "--",
                          doubles.path("tap_program"),
                          env={"INFERSCOPE_CUPTI": doubles.path("libtap_cupti.so"),
                               "CUPTI_REPLAY_FILE": path})
        assert (done.returncode, done.stderr) == (0, "")
        trace = gpu_trace.load(str(work / "t.isc"))
        assert trace.whole and all(thread.lost() == 0 for thread in trace.threads.values())
        trace.shifted = int(done.stdout)
        return trace
    return run


def span(trace, record):
    """(start, duration) as the agent stores it: 0, 0 where the device did not say."""
    start, end = record["start"], record["end"]
    return (start + trace.shifted, end - start) if start and end >= start else (0, 0)


def place(record):
    return tuple(record[name] for name in ("deviceId", "contextId", "streamId", "correlationId"))


def node(record):
    return record["graphId"], record["graphNodeId"]


def test_kernels(tapped, replay):
    trace = replay(tapped.path)
    expected = [
        (k["name"], *span(trace, k), *place(k), k["gridX"], k["gridY"], k["gridZ"], k["blockX"],
         k["blockY"], k["blockZ"], k["registersPerThread"], k["staticSharedMemory"],
         k["dynamicSharedMemory"], *node(k)) for k in tapped.tap.records(KERNEL)]
    assert [(k.name, *k[2:]) for k in trace.kernels] == expected
    assert len(expected) == sum(k["count"] for k in tapped.truth["kernels"])


def test_copies(tapped, replay):
    trace = replay(tapped.path)
    expected = [
        (c["copyKind"], *span(trace, c), *place(c), c["bytes"], c["srcKind"], c["dstKind"],
         c["flags"] & 1, *(node(c) if c["kind"] == COPY else (0, 0)))
        for c in tapped.tap.records(COPY, PEER_COPY)]
    assert [(c.kind, *c[2:]) for c in trace.copies] == expected
    assert len(expected) == sum(c["count"] for c in tapped.truth["copies"])


def test_memsets(tapped, replay):
    trace = replay(tapped.path)
    expected = [(m["memoryKind"], *span(trace, m), *place(m), m["bytes"], m["value"],
                 m["flags"] & 1, *node(m)) for m in tapped.tap.records(MEMSET)]
    assert [(m.memory, *m[2:]) for m in trace.memsets] == expected
    assert len(expected) == sum(m["count"] for m in tapped.truth["memsets"])


def test_device_overheads_and_version(tapped, replay):
    trace = replay(tapped.path)
    assert [tuple(device) for device in trace.devices] == [
        (d["id"], d["globalMemorySize"], d["globalMemoryBandwidth"], d["numMultiprocessors"],
         d["coreClockRate"], 10 * d["computeCapabilityMajor"] + d["computeCapabilityMinor"],
         d["name"]) for d in tapped.tap.records(DEVICE)]
    assert [(o[0], o[1], o[2]) for o in trace.overheads] == [
        (o["overheadKind"], *span(trace, o)) for o in tapped.tap.records(OVERHEAD)]
    # No driver says its version here: of 11.8 a second line tells what that means.
    assert [state.text.splitlines()[0] for state in trace.states] \
        == ["CUPTI %d" % tapped.tap.number]
    assert trace.dropped == tapped.tap.dropped == 0


def test_calls(tapped, replay):
    trace = replay(tapped.path)
    made = tapped.tap.outermost_calls()
    assert [c.correlation for c in trace.calls] == [enter.correlation for enter, _ in made]
    assert all(c.end_ns is not None for c in trace.calls)
    names = collections.Counter(c.name for c in trace.calls)
    assert {name: names[name] for name in tapped.truth["calls"]} == tapped.truth["calls"]
    assert [c.bytes for c in trace.calls if c.name == "cudaMalloc"] == [
        enter.second for enter, _ in made if (enter.domain, enter.id) == CUDA_MALLOC] != []
    assert [c.waited for c in trace.calls if c.waited] == [
        1 + s.id for s in tapped.tap.streams if s.result == 0]


def test_work_is_linked_to_the_calls_that_started_it(tapped, replay, read_trace):
    trace = replay(tapped.path)
    numbers = collections.Counter(c.correlation for c in trace.calls)
    exported = read_trace("t.isc")
    work = exported.of("gpu_kernel") + exported.of("gpu_memcpy") + exported.of("gpu_memset")
    assert len(work) == len(trace.activities()) > 0
    assert set(numbers.values()) == {1}
    assert [a for a in trace.activities() if a.correlation not in numbers] == []


def test_what_the_program_said_is_what_cupti_said(tapped):
    assert tapped.tap.facts() == tap_decode.told(tapped.truth)
    assert [tapped.tap.offsets(b) for b in tapped.tap.buffers] == [
        b.offsets for b in tapped.tap.buffers]


def test_each_lane_of_the_program_is_one_stream(tapped):
    streams = collections.defaultdict(set)
    for k in tapped.tap.records(KERNEL):
        key = k["name"], k["gridX"], k["blockX"]
        for said in tapped.truth["kernels"]:
            if key == (said["name"], said["grid"][0], said["block"][0]) \
                    and said["lane"] is not None:
                streams[said["lane"]].add(k["streamId"])
    assert sorted(map(len, streams.values())) == [1, 1]
    assert streams[0] != streams[1]


def test_dropped_records_are_counted(tap_double, replay):
    tapped = tap_double("13.0", FAKE_CUPTI_DROP="4")
    trace = replay(tapped.path)
    assert trace.dropped == tapped.tap.dropped > 0
    assert len(trace.kernels) == len(tapped.tap.records(KERNEL)) > 0


def grown(tap, more):
    """The tap as a later version would write it, whose records are longer by some bytes."""
    data = struct.pack("<8sII", b"CUPTITAP", tap.number + 100, tap_decode.FORMAT)
    for entry in tap.buffers:
        ends = entry.offsets[1:] + [len(entry.data)]
        records = [entry.data[at:end] + b"\xa5" * more for at, end in zip(entry.offsets, ends)]
        body = struct.pack("<Q", sum(map(len, records))) + b"".join(records)
        offsets = [at + more * nth for nth, at in enumerate(entry.offsets)]
        body += struct.pack("<%dI" % (1 + len(offsets)), len(offsets), *offsets)
        body += struct.pack("<I", len(entry.names))
        for pointer, text in entry.names.items():
            body += struct.pack("<QI", pointer, len(text)) + text.encode()
        data += struct.pack("<IIQ", tap_decode.BUFFER, len(body), entry.time_ns) + body
    return data


def test_records_of_a_later_version_may_be_longer(tap_double, replay, work):
    tapped = tap_double("13.0")
    path = work / "later.tap"
    path.write_bytes(grown(tapped.tap, 16))
    trace = replay(str(path))
    assert [(k.name, k.grid_x, k.duration) for k in trace.kernels] == [
        (k["name"], k["gridX"], k["end"] - k["start"]) for k in tapped.tap.records(KERNEL)]
    assert [c.bytes for c in trace.copies] == [
        c["bytes"] for c in tapped.tap.records(COPY, PEER_COPY)]


def test_a_damaged_tap_is_no_test_data(tap_double, inferscope, doubles, work):
    tapped = tap_double("13.0")
    with open(tapped.path, "rb") as file:
        data = file.read()
    path = work / "damaged.tap"
    path.write_bytes(data[:-1])
    with pytest.raises(ValueError):
        tap_decode.load(str(path))
    done = inferscope("run", "--quiet", "--", doubles.path("tap_program"),
                      env={"INFERSCOPE_CUPTI": doubles.path("libtap_cupti.so"),
                           "CUPTI_REPLAY_FILE": path})
    assert done.returncode == 2 and "damaged.tap cannot be read" in done.stderr
