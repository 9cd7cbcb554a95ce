#!/usr/bin/env python3
"""Records a steady workload for a long time and fails if anything grows that must not.

    soak.py --bin build/stage/bin/inferscope --minutes 60 [--ring] [--events-per-s N] [--churn N]

Recorder and workload are sampled once a second: their memory and the size of the trace.  After a
warm-up (the first quarter; with --ring at least until the buffer has been filled once):

  - A process's own memory must not creep: the median of the slopes of a dozen stretches, over the
    whole time, gives less than CREEP_MAX_BYTES, whatever the length of the run: the longer the run,
    the sharper the test.  The median, because a machine that is busy with other things lets events
    pile up now and then, and the recorder touches more of its working memory for good.
  - That memory is bounded as well: all in all it gains no more than BURST_MAX_BYTES.
  - What they share is the buffer, and must not be larger than it.
  - The trace of a plain run must grow along a line; with --ring it must fit the buffer.

`make soak` runs an hour of both, tests/soak/test_soak.py five minutes of them.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOAD = os.path.join(HERE, "steady_workload.py")

CREEP_MAX_BYTES = 256 << 10  # of each process, from the end of the warm-up to the end of the run
BURST_MAX_BYTES = 4 << 20  # 65 copies of blocks (drain.c) and full queues of a few threads
STRETCHES = 12
TABLES_BYTES = 2 << 20  # what the shared memory holds beside the buffer (src/format/shm.h)
BYTES_OF_AN_EVENT = 16  # in the buffer: how long --ring takes to fill it once
MEMORY = ("RssAnon", "RssShmem")


def memory_of(pid):
    """Bytes by kind; None when the process is gone."""
    try:
        with open("/proc/%d/status" % pid) as file:
            lines = dict(line.split(":", 1) for line in file)
        return {kind: int(lines[kind].split()[0]) << 10 for kind in MEMORY}
    except (OSError, KeyError):  # KeyError: a zombie has no memory
        return None


def child_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return int(file.read().split()[0])
    except (OSError, IndexError):
        return None


def line_through(points):
    """Slope of the least-squares line, and the farthest that a point is from it."""
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    slope = (sum((x - mean_x) * (y - mean_y) for x, y in points) /
             sum((x - mean_x) ** 2 for x, _ in points))
    return slope, max(abs(y - mean_y - slope * (x - mean_x)) for x, y in points)


def median_slope(points):
    size = max(3, len(points) // STRETCHES)
    slopes = [line_through(points[at:at + size])[0]
              for at in range(0, len(points) - size + 1, size)]
    return statistics.median(slopes)


def sample(process, trace, seconds):
    """One sample a second, until the workload is gone."""
    samples = []
    begun = time.monotonic()
    while process.poll() is None and time.monotonic() - begun < seconds + 60:
        workload = child_of(process.pid)
        memory = memory_of(process.pid), workload and memory_of(workload)
        if all(memory):
            samples.append({"s": time.monotonic() - begun, "trace": os.stat(trace).st_size,
                            "recorder": memory[0], "workload": memory[1]})
        elif samples:
            break  # what follows is the report
        time.sleep(1)
    return samples


def peak_of_children():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10


def run(options, folder):
    """Records; returns the samples and the figures that are there once."""
    seconds = options.minutes * 60
    trace, report = os.path.join(folder, "soak.isc"), os.path.join(folder, "soak.json")
    command = [options.bin, "run", "--quiet", "--no-gpu", "--cpu", "trace", "--trace", trace,
               "--report", report, "--trace-size-mb", str(options.trace_size_mb), "--python",
               options.python]
    if options.ring:
        command.append("--ring")
    command += [WORKLOAD, "--events-per-s", str(options.events_per_s), "--seconds", str(seconds),
                "--churn", str(options.churn)]
    process = subprocess.Popen(command)
    samples = sample(process, trace, seconds)
    ended = time.monotonic()
    status = process.wait()
    figures = {"status": status, "report_after_s": time.monotonic() - ended,
               "peak_with_report_bytes": peak_of_children(),
               "trace_bytes": os.stat(trace).st_size}
    with open(report) as file:
        trust = json.load(file)["trust"]
    figures["events"], figures["dropped"] = trust["events"], trust["dropped"]
    begun = time.monotonic()
    subprocess.run([options.bin, "analyze", "--quiet", trace, "--report", report], check=True)
    figures["analyze_s"] = time.monotonic() - begun
    return samples, figures


def judge(options, samples, figures):
    """Yields (what, value as text, good)."""
    buffer = options.trace_size_mb << 20
    fill_s = buffer / BYTES_OF_AN_EVENT / options.events_per_s
    warm_s = max(samples[-1]["s"] / 4, 1.5 * fill_s if options.ring else 0)
    steady = [one for one in samples if one["s"] >= warm_s]
    if len(steady) < 9:
        yield "samples", "%d after %.0f s of warm-up" % (len(steady), warm_s), False
        return
    length_s = steady[-1]["s"] - steady[0]["s"]
    for who in ("recorder", "workload"):
        own = [(one["s"], one[who]["RssAnon"]) for one in steady]
        slope = median_slope(own)
        gain = max(memory for _, memory in own) - own[0][1]
        yield "%s's own" % who, "%.1f MB, %+.0f kB in %.0f s (%+.3f MB/h), bursts %+.0f kB" % (
            own[-1][1] / 1e6, slope * length_s / 1e3, length_s, slope * 3600 / 1e6,
            gain / 1e3), slope * length_s <= CREEP_MAX_BYTES and gain <= BURST_MAX_BYTES
        shared = max(one[who]["RssShmem"] for one in samples)
        yield "%s's shared" % who, "at most %.1f MB of %.1f" % (
            shared / 1e6, buffer / 1e6), shared <= buffer + TABLES_BYTES
    slope, off = line_through([(one["s"], one["trace"]) for one in steady])
    if options.ring:
        yield "trace file", "%.1f MB of %.1f" % (figures["trace_bytes"] / 1e6, buffer / 1e6), \
            max(figures["trace_bytes"], steady[-1]["trace"]) <= buffer
    else:
        # A second of events may be under way, and a block of them.
        bound = max(0.02 * slope * length_s, 3 * slope)
        yield "trace file", "%.1f MB, %.3f MB/s, +-%.2f MB" % (
            figures["trace_bytes"] / 1e6, slope / 1e6, off / 1e6), slope > 0 and off <= bound
        made = figures["events"] / samples[-1]["s"]
        yield "events per s", "%.0f" % made, made >= 0.9 * options.events_per_s
        yield "dropped", "%d" % figures["dropped"], figures["dropped"] == 0
    yield "exit status", "%d" % figures["status"], figures["status"] == 0


def show(figures):
    print("  %d events, trace %.1f MB; report %.1f s after the end; peak with report %.0f MB; "
          "analyze %.1f s" % (figures["events"], figures["trace_bytes"] / 1e6,
                              figures["report_after_s"], figures["peak_with_report_bytes"] / 1e6,
                              figures["analyze_s"]))


def soak(options):
    """Runs, prints a line for each promise; the list of broken ones."""
    with tempfile.TemporaryDirectory(prefix="inferscope-soak-", dir=options.folder) as folder:
        samples, figures = run(options, folder)
        if options.keep:
            with open(options.keep, "w") as file:
                json.dump({"samples": samples, "figures": figures}, file)
    verdicts = list(judge(options, samples, figures)) if samples else [("samples", "none", False)]
    print("soak: %g minutes, %d events/s%s, churn %d" % (
        options.minutes, options.events_per_s, ", --ring" if options.ring else "", options.churn))
    for what, text, good in verdicts:
        print("  %-4s %-18s %s" % ("ok" if good else "FAIL", what, text))
    show(figures)
    return [what for what, _, good in verdicts if not good]


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="the inferscope program")
    parser.add_argument("--python", default=sys.executable, help="runs the workload")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--events-per-s", type=int, default=200000)
    parser.add_argument("--churn", type=int, default=0, help="short-lived threads per second")
    parser.add_argument("--ring", action="store_true")
    parser.add_argument("--trace-size-mb", type=int, default=100)
    parser.add_argument("--folder", help="for the trace, which may take gigabytes")
    parser.add_argument("--keep", help="write all samples to this file, as JSON")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(1 if soak(parse(sys.argv[1:])) else 0)
