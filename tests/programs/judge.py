"""Judges what a report says of a program of this folder, and writes the chapter about all of them.

programs_truth.json says what is true of each program; its first lines explain the keys.  A step
of the report is right where its count is within 2 % and its mean within 5 % of the program's own
clock.
"""

import json
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
TRUTH = json.loads((HERE / "programs_truth.json").read_text(encoding="utf-8"))["programs"]
SURE = 0.8
COUNT_TOLERANCE = 0.02
MEAN_TOLERANCE = 0.05
HEADING = "## Real programs"


def clocks(lines, what):
    """The durations in ms that each process wrote under this name."""
    return [line["ms"] for line in lines if line["what"] == what and line["ms"]]


def mean(values):
    return sum(values) / len(values) if values else 0.0


def own_clock(level, lines, warmup=0):
    """(count, lowest true mean, highest true mean) in ms; the first `warmup` are in no mean.

    A level with "to" lies between two clocks: a request lasts longer than its handler and shorter
    than what its user waits.
    """
    own = clocks(lines, level["clock"])
    skipped = [part[round(warmup / len(own)):] or part for part in own]
    low = mean([ms for part in skipped for ms in part])
    high = low
    if "to" in level:
        high = max(low, mean([ms for part in clocks(lines, level["to"]) for ms in part]))
    return sum(map(len, own)), low, high


def first_step(report):
    """The most important kind of step; the same kind in several processes is one."""
    steps = report["steps"]
    if not steps or steps[0]["source"] == "whole-run":
        return None
    same = [s for s in steps if (s["name"], s["source"]) == (steps[0]["name"], steps[0]["source"])]
    timed = [step["count"] - step.get("warmup", 0) for step in same]
    total_ms = sum(count * step["mean_ms"] for count, step in zip(timed, same))
    return {"name": same[0]["name"], "source": same[0]["source"],
            "count": sum(step["count"] for step in same),
            "warmup": sum(step.get("warmup", 0) for step in same),
            "mean_ms": total_ms / max(1, sum(timed))}


def step_fits(step, level, lines):
    count, low, high = own_clock(level, lines, step["warmup"])
    return (abs(step["count"] - count) <= max(1, COUNT_TOLERANCE * count)
            and low * (1 - MEAN_TOLERANCE) <= step["mean_ms"] <= high * (1 + MEAN_TOLERANCE))


def is_at(where, places):
    """Whether a finding's place is in one of these files and functions."""
    return where is not None and any(
        os.path.basename(where["file"]) == place["file"]
        and where["function"].split(".")[-1] == place["function"] for place in places)


def judge_finding(truth, report):
    """right, minor (true, but not the main cause), wrong or missing.

    Of a healthy program: rightly none, right (it is true) or wrong.
    """
    first = report["findings"][0] if report["findings"] else None
    if first is None:
        return "missing" if truth["ids"] and not truth.get("none_ok") else "rightly none"
    if first["id"] in truth["also"]:
        return "minor" if truth["ids"] else "right"
    return "right" if first["id"] in truth["ids"] else "wrong"


def gain(truth, slow, fixed):
    """The share of time that the fixed variant saves, by the programs' own clocks."""
    if "load" in truth:
        def cost(run):
            return mean([ms for part in clocks(run["clock"], "latency") for ms in part])
    else:
        def cost(run):
            return sum(sum(part) for part in clocks(run["clock"], truth["steps"][0]["clock"]))
    return 1 - cost(fixed) / cost(slow) if cost(slow) else None


def cost_ms(truth, run):
    """The time of the first kind of step in all."""
    return sum(sum(part) for part in clocks(run["clock"], truth["steps"][0]["clock"]))


def judge(truth, report, runs):
    """One row of the table.  report is None where the recording left none."""
    plain, recorded = runs["plain"], runs["recorded"]
    row = {"python": runs["python"],
           "outcome equal": all(plain[key] == recorded[key] for key in ("exit", "output")),
           "gain": gain(truth, plain, runs["fixed"]) if "fixed" in runs else None}
    plain_ms = cost_ms(truth, plain)
    row["overhead"] = cost_ms(truth, recorded) / plain_ms if plain_ms else None
    if report is None:
        return dict(row, step="no report", steps="wrong", finding="wrong", said="no report",
                    place="", sure_and_wrong=[])
    step = first_step(report)
    count, low, _ = own_clock(truth["steps"][0], recorded["clock"], step["warmup"] if step else 0)
    row["own"] = "%d × %.2f ms" % (count, low)
    row["step"] = "%d × %.2f ms `%s`" % (step["count"], step["mean_ms"], step["name"]) \
        if step else "none"
    row["steps"] = "missing" if step is None else "right" if any(
        step_fits(step, level, recorded["clock"]) for level in truth["steps"]) else "wrong"
    first = report["findings"][0] if report["findings"] else None
    row["finding"] = judge_finding(truth, report)
    row["said"] = "`%s` %.2f" % (first["id"], first["confidence"]) if first else "nothing"
    row["saving"] = first["saving_share"] if first else None
    row["place"] = ""
    if first and first["where"]:
        where = first["where"]
        row["place"] = "%s `%s` %s:%d" % (
            "right" if is_at(where, truth["at"]) else "wrong", where["function"],
            os.path.basename(where["file"]), where["line"])
    allowed = set(truth["ids"]) | set(truth["also"])
    row["sure_and_wrong"] = ["`%s` %.2f" % (finding["id"], finding["confidence"])
                             for finding in report["findings"]
                             if finding["confidence"] >= SURE and finding["id"] not in allowed]
    return row


def share(part, whole):
    return "%d of %d" % (part, whole)


def totals(rows):
    """What a column of the summary says of these rows."""
    good = ("right", "rightly none")
    found = [row for row in rows if row["finding"] == "right" and row["place"]]
    return [share(sum(row["steps"] == "right" for row in rows), len(rows)),
            share(sum(row["finding"] in good for row in rows), len(rows)),
            share(sum(row["place"].startswith("right") for row in found), len(found)),
            str(sum(bool(row["sure_and_wrong"]) for row in rows)),
            share(sum(row["outcome equal"] for row in rows), len(rows))]


def percent(value):
    return "–" if value is None else "%.0f %%" % (100 * value)


def table(rows):
    lines = ["| program | Python | own clock | steps said | steps | expected | first finding "
             "| it is | place | saving: said, measured | overhead | outcome |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for name, row in sorted(rows.items()):
        expected = ", ".join("`%s`" % i for i in TRUTH[name]["ids"]) or "healthy"
        lines.append("| " + " | ".join([
            name, row["python"], row.get("own", "–"), row["step"], row["steps"], expected,
            row["said"], row["finding"], row["place"] or "–",
            "%s, %s" % (percent(row.get("saving")), percent(row["gain"])),
            "%.2f×" % row["overhead"] if row["overhead"] else "–",
            "equal" if row["outcome equal"] else "**differs**"]) + " |")
    return lines


INTRODUCTION = """{heading}

`tests/programs`: {count} programs that only start unmodified third-party packages, with random
weights or a model inside its wheel; servers run under a load generator. The truth about each is
in `tests/programs/programs_truth.json`, written before its first recording by an author who
knew only the list of ids. `make programs` records them and writes this chapter;
`tests/programs/results.json` has its data.

- **Steps** are right where the count is within 2 % and the mean within 5 % of the program's own
  clock in the same run.
- **First finding**: right, minor (true, but not the main cause), wrong, missing, or rightly none.
  **Place**: the file and function where the user would act. **Saving measured**: what the obvious
  fix saves in plain runs.
- **First sight**: the analyzer that had not seen the programs. **Now**: after fixing.
- **Overhead**: by the program's own clock, recorded against plain, one run each on a machine with
  two cores that other programs kept busy: noise of tens of percent, up to a factor of two.
"""


def chapter(results):
    """The chapter as text, without a line break at its end."""
    columns = [(title, results[key]) for key, title in (("first_sight", "first sight"),
                                                        ("now", "now")) if results.get(key)]
    lines = [INTRODUCTION.format(heading=HEADING, count=len(columns[0][1]))]
    lines += ["| | " + " | ".join(title for title, _ in columns) + " |", "|---" * (len(columns) + 1)
              + "|"]
    names = ["steps right", "first finding right or rightly none", "place of those right",
             "programs with a wrong finding of confidence 0.8 or more",
             "exit status and output as in the plain run"]
    figures = [totals(list(rows.values())) for _, rows in columns]
    for i, name in enumerate(names):
        lines.append("| %s | %s |" % (name, " | ".join(figure[i] for figure in figures)))
    builds = results.get("builds", {})
    for title, rows in columns:
        lines += ["", "### Real programs, " + title, ""]
        lines += [builds[title], ""] if title in builds else []
        lines += table(rows)
    return "\n".join(lines)


def replace_chapter(page, text):
    """The page with this chapter instead of the one that it has, or at its end."""
    before, found, after = page.partition("\n" + HEADING + "\n")
    if not found:
        return page.rstrip("\n") + "\n\n" + text + "\n"
    _, next_heading, rest = after.partition("\n## ")
    return before + "\n" + text + "\n" + (next_heading + rest if next_heading else "")
