"""Predicted against measured savings: one line for each finding whose cause was planted and fixed.

A finding predicts what a step would be shorter by, and an interval that shall contain it in 80 of
100 cases.  The truth is what the fixed variant takes less, by the program's own clock.  All are
shares of the slow variant's step.
"""

import math
from collections import namedtuple

LEVEL = 0.8  # of the interval: docs/ANALYSIS.md
NORMAL_LEVEL = 1.2816  # standard deviations to each side that hold it
GOALS = "error at most 15 %, 75–90 % of the intervals contain the truth, none wider than ± 30 %"

Saved = namedtuple("Saved", "name id low likely high actual first")


def shares(finding):
    """(low, likely, high) saving as shares of the step; None where the finding tells none."""
    likely, share = finding.get("saving_ms"), finding.get("saving_share")
    if not likely or share is None:
        return None
    return tuple(share * finding.get(key, likely) / likely
                 for key in ("saving_low_ms", "saving_ms", "saving_high_ms"))


def planted(program, report, actual):
    """What is predicted for the planted cause, wherever it stands in the report; None: nothing."""
    ids = [program.finding] if program.finding else []
    for finding in (report.get("findings") or []) if actual is not None else []:
        if finding["id"] in ids and shares(finding):
            first = report["findings"][0]["id"] == finding["id"]
            return Saved(program.name, finding["id"], *shares(finding), actual, first)
    return None


def error(saved):
    """Of the prediction, as a share of what was saved."""
    return abs(saved.likely - saved.actual) / saved.actual if saved.actual > 0 else None


def half_width(saved):
    """Of the interval, as a share of the prediction."""
    return (saved.high - saved.low) / 2 / saved.likely


def contains(saved):
    return saved.low <= saved.actual <= saved.high


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return None if not values else values[middle] if len(values) % 2 else \
        (values[middle - 1] + values[middle]) / 2


def percent(share):
    return "–" if share is None else "%.0f %%" % (100 * share)


def fix_spread(every):
    """SAVING_FIX_SPREAD of src/rules/saving.h: how far fixes are from their predictions, where a
    share s of the step counts as sqrt(s (1 - s)); the standard deviation of a normal distribution
    that has as many of them in the middle 80 %."""
    off = sorted(abs(each.actual - each.likely) / math.sqrt(each.likely * (1 - each.likely))
                 for each in every if 0 < each.likely < 1)
    return off[math.ceil(LEVEL * len(off)) - 1] / NORMAL_LEVEL if off else None


def row(saved):
    wide = half_width(saved)
    return [saved.name, "`%s`" % saved.id,
            "%s (%s–%s)" % (percent(saved.likely), percent(saved.low)[:-2], percent(saved.high)),
            percent(saved.actual), percent(error(saved)), "± " + percent(wide),
            "yes" if contains(saved) else "**no**"]


def summary(every):
    """[cases, median error, share of intervals that contain the truth, median half width, ...]"""
    errors = [error(each) for each in every if error(each) is not None]
    return [str(len(every)), percent(median(errors)),
            percent(sum(each <= 0.15 for each in errors) / len(errors)) if errors else "–",
            percent(sum(map(contains, every)) / len(every)) if every else "–",
            "± " + percent(median([half_width(each) for each in every])),
            percent(sum(half_width(each) <= 0.3 for each in every) / len(every))
            if every else "–"]


HEADER = ["cases", "median error", "error ≤ 15 %", "contained", "median half width", "≤ ± 30 %"]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(each) + " |" for each in rows]) + "\n"


def chapter(sets):
    """Of [(name of the set, [Saved])]."""
    sets = [(name, [each for each in saved if each]) for name, saved in sets]
    sets = [(name, saved) for name, saved in sets if saved]
    every = [each for _, saved in sets for each in saved]
    spread = fix_spread(sets[0][1]) if sets else None
    spread = "–" if spread is None else "%.2f" % spread
    text = """## Predicted and measured savings

Of each program whose planted cause is among its findings. *Predicted*: what the step would be
shorter by, with the interval that shall contain it in %.0f of 100 cases. *Measured*: what the fixed
variant takes less by the program's own clock. *Error*: their difference as a share of the
measured. *Half width*: half the interval as a share of the prediction.
Goal: %s.

Part of each interval is which fix somebody chooses: how many workers, what else is changed, how
close new kernels come to the device's rate on paper. How much that is was measured on the first
set of the table (%s now; `SAVING_FIX_SPREAD` in src/rules/saving.h is what it was then); the
other sets check it.

""" % (100 * LEVEL, GOALS, spread)
    rows = [["`%s`" % name] + summary(saved) for name, saved in sets]
    if len(sets) > 1:
        rows.append(["all"] + summary(every))
    text += table(["set"] + HEADER, rows)
    for name, saved in sets:
        text += "\n`%s`:\n\n" % name + table(
            ["program", "finding", "predicted", "measured", "error", "half width", "contained"],
            [row(each) for each in saved])
    return text
