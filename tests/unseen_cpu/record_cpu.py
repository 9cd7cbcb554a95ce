"""Records the programs of this folder, and judges what was said of them by unseen_cpu_truth.json.

    record_cpu.py --bin INFERSCOPE [--python PYTHON] --out FOLDER [--pairs N] [--judge] [PROGRAM...]

Each program is run as it is and with --fixed, plain, N times in turn: what fixing it really brings,
by the program's own clock. Then both are recorded with default settings. OUT/PROGRAM.json has the
report, .txt the summary as its owner sees it, .isc the trace, and PROGRAM.fixed.* the same of the
mended one; OUT/judged.md is the table. --judge only judges what lies in OUT, from reports made anew
of the traces. The status is 1 where a program's output or status was changed by recording, or a
finding is sure and wrong; a bottleneck that is not found is in the table and no more: what a busy
machine shows of a program differs from run to run.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TRUTH = json.loads((HERE / "unseen_cpu_truth.json").read_text())["programs"]
OWN_CLOCK = re.compile(r"^(\d+) \w+ of ([\d.]+) ms: ([\d.]+) steps/s$", re.M)
SURE = 0.8


def own_clock(output):
    """Steps, milliseconds of one and steps a second, as the program printed them."""
    found = OWN_CLOCK.search(output)
    return int(found[1]), float(found[2]), float(found[3])


def variants(name):
    """The program as it is and, where something is planted, mended."""
    return {name: [], f"{name}.fixed": ["--fixed"]} if TRUTH[name]["ids"] else {name: []}


def command(python, name, options):
    return [python, str(HERE / f"{name}.py"), *options]


def run_plain(python, name, options):
    done = subprocess.run(
        command(python, name, options), capture_output=True, text=True, timeout=300, check=False
    )
    return {"exit": done.returncode, "output": done.stdout, "errors": done.stderr}


def run_recorded(binary, python, name, variant, options, out):
    reports = [f"--report={out / variant}.json", f"--report={out / variant}.md"]
    done = subprocess.run(
        [binary, "run", *reports, f"--trace={out / variant}.isc", f"--python={python}"]
        + command(python, name, options)[1:],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    (out / f"{variant}.txt").write_text(done.stderr)
    return {"exit": done.returncode, "output": done.stdout}


def record(binary, python, name, pairs, out):
    """OUT/NAME.runs.json: what plain runs and the recorded one printed."""
    runs = {variant: {"plain": []} for variant in variants(name)}
    for _ in range(pairs):
        for variant, options in variants(name).items():
            runs[variant]["plain"].append(run_plain(python, name, options))
    for variant, options in variants(name).items():
        runs[variant]["recorded"] = run_recorded(binary, python, name, variant, options, out)
    (out / f"{name}.runs.json").write_text(json.dumps(runs, indent=1))


def is_at(where, places):
    """Whether a finding's place is one of these."""
    if where is None:
        return False
    return any(
        ("/" + where["file"]).endswith("/" + place["file"])
        and place["lines"][0] <= where["line"] <= place["lines"][1]
        for place in places
    )


def is_unchanged(runs):
    """Whether a program ended as ever and said what it says in every plain run, times apart."""
    def said(run):
        return OWN_CLOCK.sub(r"\1 steps", run["output"]).splitlines()

    plain = [said(run) for run in runs["plain"]]
    recorded = said(runs["recorded"])
    ended = all(run["exit"] == runs["recorded"]["exit"] for run in runs["plain"])
    same_length = all(len(lines) == len(recorded) for lines in plain)
    return ended and same_length and all(
        len(set(lines)) > 1 or line == lines[0] for line, *lines in zip(recorded, *plain)
    )


def step_of(report, finding):
    """The kind of step that a finding speaks of, else the most important one."""
    for step in report["steps"]:
        if finding and step["name"] == finding["step"]:
            return step
    return report["steps"][0] if report["steps"] else None


def true_counts(truth, counted):
    """How many steps there really were, for each thing that may be called one."""
    return {
        kind["what"]: kind["count"] if kind["count"] is not None else counted / kind["per"]
        for kind in truth["steps"]
    }


def analyze(binary, trace):
    """The report that the present program makes of a trace."""
    with tempfile.TemporaryDirectory(prefix="inferscope-unseen-") as folder:
        path = Path(folder) / "report.json"
        subprocess.run(
            [binary, "analyze", "--quiet", f"--report={path}", trace],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return json.loads(path.read_text())


def judge(name, report, runs):
    """Everything that can be said of one program, as a row of the table."""
    truth = TRUTH[name]
    slow = runs[name]
    sure = [finding for finding in report["findings"] if finding["confidence"] >= SURE]
    first = report["findings"][0] if report["findings"] else None
    allowed = set(truth["ids"]) | set(truth["also"])
    wrong = [finding for finding in sure if finding["id"] not in allowed]
    row = {"program": name, "kind": truth["kind"]}
    row["said"] = f"{first['id']} {first['confidence']:.2f}" if first else "nothing"
    place = first["where"] if first else None
    row["place"] = f"{Path(place['file']).name}:{place['line']}" if place else ""
    if truth["ids"]:
        row["id right"] = first is not None and first["id"] in truth["ids"]
        row["line right"] = is_at(place, truth["at"])
        if not row["line right"] and is_at(place, truth.get("waits", [])):
            row["line right"] = "half"
    else:
        row["id right"] = not wrong
        row["line right"] = ""
    row["sure and wrong"] = [f"{finding['id']} {finding['confidence']:.2f}" for finding in wrong]
    row["verdict"] = report["verdict"]["bound"]
    row["verdict right"] = row["verdict"] in truth["verdict"]

    counted, recorded_ms, recorded_rate = own_clock(slow["recorded"]["output"])
    step = step_of(report, first)
    row["steps true"] = true_counts(truth, counted)
    row["steps said"] = step["count"] if step else 0
    row["step"] = f"{step['name']} ({step['source']})" if step else ""
    row["steps right"] = bool(step) and any(
        abs(step["count"] - count) <= max(1, 0.02 * count) for count in row["steps true"].values()
    )
    row["ms said"] = step["mean_ms"] if step else 0
    row["ms own clock"] = recorded_ms

    plain_ms = statistics.median(own_clock(run["output"])[1] for run in slow["plain"])
    plain_rate = statistics.median(own_clock(run["output"])[2] for run in slow["plain"])
    row["overhead said"] = report["trust"]["overhead_share"]
    row["overhead seen"] = plain_rate / recorded_rate - 1
    if f"{name}.fixed" in runs:
        plain = [own_clock(run["output"])[1] for run in runs[f"{name}.fixed"]["plain"]]
        row["saving true"] = 1 - statistics.median(plain) / plain_ms
    if first and step and step["mean_ms"]:
        row["saving low"] = first["saving_low_ms"] / step["mean_ms"]
        row["saving high"] = first["saving_high_ms"] / step["mean_ms"]
        if "saving true" in row:
            row["saving inside"] = row["saving low"] <= row["saving true"] <= row["saving high"]
    row["unchanged"] = all(is_unchanged(run) for run in runs.values())
    return row


def yes(value):
    return {True: "yes", False: "NO"}.get(value, value)


def table(rows):
    lines = [
        "| program | planted | first finding | place | id | line | verdict | sure and wrong "
        "| saving true | said | inside | steps true | said | own ms | said ms "
        "| overhead said | seen | unchanged |",
        "|" + "---|" * 18,
    ]
    for row in rows:
        share = f"{row['saving true']:.0%}" if "saving true" in row else ""
        said = f"{row['saving low']:.0%}-{row['saving high']:.0%}" if "saving low" in row else ""
        counts = ", ".join(f"{count:.0f} {what}" for what, count in row["steps true"].items())
        steps = f"{row['steps said']} {row['step']} {yes(row['steps right'])}"
        own = row["overhead said"]
        cells = [
            row["program"],
            row["kind"],
            row["said"],
            row["place"],
            yes(row["id right"]),
            yes(row["line right"]),
            f"{row['verdict']} {yes(row['verdict right'])}",
            ", ".join(row["sure and wrong"]),
            share,
            said,
            yes(row.get("saving inside", "")),
            counts,
            steps,
            f"{row['ms own clock']:.2f}",
            f"{row['ms said']:.2f}",
            "" if own is None else f"{own:.1%}",
            f"{row['overhead seen']:.1%}",
            yes(row["unchanged"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="inferscope")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("programs", nargs="*", default=list(TRUTH))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    out = args.out.resolve()
    rows = []
    for name in args.programs or list(TRUTH):
        if not args.judge:
            record(args.bin, args.python, name, args.pairs, out)
        runs = json.loads((out / f"{name}.runs.json").read_text())
        rows.append(judge(name, analyze(args.bin, out / f"{name}.isc"), runs))
        print(json.dumps(rows[-1]), flush=True)
    (out / "judged.md").write_text(table(rows))
    return 1 if any(row["sure and wrong"] or not row["unchanged"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
