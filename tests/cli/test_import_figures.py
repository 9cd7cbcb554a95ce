"""Figures of traces that other people recorded, against tests/trace_figures.py.

The files lie beside the checkout (shared/traces); they are not part of the repository.
"""

import glob
import json
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import trace_figures  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = [os.path.join(ROOT, "..", "shared", "traces"), "/work/shared/traces"]
FOLDER = next((os.path.abspath(folder) for folder in FOLDERS if os.path.isdir(folder)), None)
FILES = sorted(os.path.basename(path) for kind in ("*.json*", "*.sqlite")
               for path in glob.glob(os.path.join(FOLDER or "", kind))) if FOLDER else []


def ns(ms):
    """report.json has milliseconds with six decimals."""
    return round(ms * 1000000)


def reported(inferscope, path, work):
    done = inferscope("analyze", "--quiet", path, "--report", "r.json", "--detail", "full")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((work / "r.json").read_text())
    gpu = report["gpu"]
    kernels = gpu["kernels"]
    return report, {
        "kernels": sum(kernel["count"] for kernel in kernels),
        "copies": sum(copy["count"] for copy in gpu["copies"]),
        "memsets": gpu["memsets"]["count"] if kernels else 0,
        "kernel_ns": sum(ns(kernel["ms"]) for kernel in kernels),
        "span_ns": ns(gpu.get("span_ms", 0)),
        "busy_ns": ns(gpu.get("busy_ms", 0)),
        "idle_ns": ns(gpu.get("idle_ms", 0)),
    }


@pytest.mark.skipif(not FILES, reason="no shared/traces beside the checkout")
@pytest.mark.parametrize("name", FILES or ["none"])
def test_gpu_figures_are_exact(inferscope, work, name):
    path = os.path.join(FOLDER, name)
    report, got = reported(inferscope, path, work)
    assert got == trace_figures.figures(path)
    assert len(report["gpu"]["processes"]) <= 1
    assert report["trust"]["dropped"] == 0


SUMS = """
    WITH work AS (SELECT start_ns, end_ns FROM kernels UNION ALL
                  SELECT start_ns, end_ns FROM copies UNION ALL
                  SELECT start_ns, end_ns FROM memsets),
         ends AS (SELECT start_ns, end_ns, max(end_ns) OVER (
                      ORDER BY start_ns, end_ns
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until FROM work)
    SELECT (SELECT count(*) FROM kernels), (SELECT count(*) FROM copies),
           (SELECT count(*) FROM memsets), (SELECT coalesce(sum(duration_ns), 0) FROM kernels),
           coalesce(max(end_ns) - min(start_ns), 0),
           coalesce(sum(max(0, end_ns - max(start_ns, coalesce(until, start_ns)))), 0) FROM ends"""


@pytest.mark.skipif(not FILES, reason="no shared/traces beside the checkout")
@pytest.mark.parametrize("name", FILES or ["none"])
def test_queries_give_the_same_figures(inferscope, name):
    path = os.path.join(FOLDER, name)
    done = inferscope("query", path, SUMS, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    kernels, copies, memsets, kernel_ns, span_ns, busy_ns = json.loads(done.stdout)[0].values()
    assert trace_figures.figures(path) == {
        "kernels": kernels, "copies": copies, "memsets": memsets, "kernel_ns": kernel_ns,
        "span_ns": span_ns, "busy_ns": busy_ns, "idle_ns": span_ns - busy_ns}


@pytest.mark.skipif(not FILES, reason="no shared/traces beside the checkout")
@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("kineto_")] or ["none"])
def test_work_is_linked_as_its_correlation_says(inferscope, work, name):
    path = os.path.join(FOLDER, name)
    events = trace_figures.load_json(path)
    calls = {str(event["args"]["correlation"]) for event in events
             if event.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime")
             and "correlation" in event.get("args", {})}
    alone = [event for event in events
             if trace_figures.KINDS.get(event.get("cat")) and event["ph"] == "X"
             and str(event["args"].get("correlation", 0)) not in calls]
    report, _ = reported(inferscope, path, work)
    assert report["trust"]["unmatched_activities"] == len(alone)
