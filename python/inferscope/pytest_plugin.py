"""pytest plugin: records tests, and fails them on findings or on a regression.

    pytest --inferscope                          record every test, list what was found
    pytest --inferscope --inferscope-fail-on high
    pytest --inferscope --inferscope-baseline perf/    compare with stored recordings

    @pytest.mark.inferscope(fail_on="launch-bound", max_regression="10%")
    def test_decode(): ...

    def test_encode(inferscope_profile):         records without --inferscope as well
        model = load()
        with inferscope_profile(fail_on=["high"]) as p:
            for batch in batches:
                model(batch)
        assert p.steps[0]["mean_ms"] < 20
"""

import contextlib
import os
import re
import shutil
import subprocess

import pytest

LEVELS = {"high": 0.8, "medium": 0.6}  # as --fail-on of `inferscope analyze`


def pytest_addoption(parser):
    group = parser.getgroup("inferscope", "InferScope: why is it slow?")
    group.addoption("--inferscope", action="store_true",
                    help="record every test and list what limits its speed")
    group.addoption("--inferscope-fail-on", metavar="WHAT", action="append", default=[],
                    help="fail a recorded test on a finding: high, medium or the id of a rule; "
                         "repeatable")
    group.addoption("--inferscope-baseline", metavar="DIR",
                    help="compare recorded tests with the recordings in this folder; a test that "
                         "has none yet stores its own")
    group.addoption("--inferscope-max-regression", metavar="PCT", default="5%",
                    help="fail when a step is significantly slower than the baseline by this much "
                         "(default 5%%)")
    group.addoption("--inferscope-update-baseline", action="store_true",
                    help="replace the stored recordings by the new ones")
    group.addoption("--inferscope-reports", metavar="DIR",
                    help="write an HTML report for each recorded test into this folder")


def pytest_configure(config):
    config.addinivalue_line("markers", "inferscope(fail_on=..., max_regression=..., **settings): "
                                       "how to record and judge this test with InferScope")
    if not config.getoption("--inferscope-baseline") and (
            config.getoption("--inferscope-update-baseline")):
        raise pytest.UsageError("--inferscope-update-baseline needs --inferscope-baseline DIR")


@pytest.fixture
def inferscope_profile(request):
    """Records a block: `with inferscope_profile(fail_on="high") as p:` (see profile())."""
    @contextlib.contextmanager
    def record(**settings):
        with _recorded(request.node, settings) as result:
            yield result

    return record


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    wanted = pyfuncitem.config.getoption("--inferscope")
    if not wanted or "inferscope_profile" in pyfuncitem.fixturenames:
        yield
        return
    marker = pyfuncitem.get_closest_marker("inferscope")
    from inferscope import is_recording

    if is_recording():
        yield  # pytest itself is recorded: one recording at a time
        return
    from inferscope._profile import profile

    settings = dict(marker.kwargs if marker else {})
    criteria = _take_criteria(pyfuncitem, settings)
    with profile(**settings) as result:
        outcome = yield
    if outcome.excinfo is None:
        try:
            _judge(pyfuncitem, result, criteria)
        except pytest.fail.Exception as failure:
            outcome.force_exception(failure) if hasattr(outcome, "force_exception") else (
                _replace_result(outcome, failure))


def _replace_result(outcome, failure):
    """pluggy before 1.1"""
    outcome._excinfo = (type(failure), failure, failure.__traceback__)


@contextlib.contextmanager
def _recorded(item, settings):
    from inferscope._profile import profile

    criteria = _take_criteria(item, settings)
    with profile(**settings) as result:
        yield result
    _judge(item, result, criteria)


def _take_criteria(item, settings):
    option = item.config.getoption
    fail_on = settings.pop("fail_on", None) or option("--inferscope-fail-on")
    return {"fail_on": [fail_on] if isinstance(fail_on, str) else list(fail_on),
            "max_regression": settings.pop("max_regression", option(
                "--inferscope-max-regression"))}


def _judge(item, result, criteria):
    item.user_properties.append(("inferscope", _summary(result)))
    folder = item.config.getoption("--inferscope-reports")
    if folder:
        os.makedirs(folder, exist_ok=True)
        result.to_html(os.path.join(folder, _file_name(item) + ".html"))
    guilty = [f for f in result.findings if _fires(f, criteria["fail_on"])]
    if guilty:
        pytest.fail("\n".join(["InferScope: %d finding%s of %s" % (
            len(guilty), "s" * (len(guilty) > 1), ", ".join(criteria["fail_on"]))] +
            [_describe(f) for f in guilty]), pytrace=False)
    _compare(item, result, criteria["max_regression"])


def _fires(finding, fail_on):
    return any(finding["confidence"] >= LEVELS[what] if what in LEVELS else finding["id"] == what
               for what in fail_on)


def _describe(finding):
    where = finding["where"]
    place = " at %s:%s" % (where["file"], where["line"]) if where else ""
    saving = "" if finding["saving_ms"] is None else ", saves %.3g ms" % finding["saving_ms"]
    return "  %s%s: %s (confidence %.2f%s)\n    %s" % (
        finding["id"], place, finding["title"], finding["confidence"], saving,
        (finding["suggestions"] or [""])[0])


def _compare(item, result, max_regression):
    folder = item.config.getoption("--inferscope-baseline")
    if not folder:
        return
    stored = os.path.join(folder, _file_name(item) + ".isc")
    if item.config.getoption("--inferscope-update-baseline") or not os.path.exists(stored):
        os.makedirs(folder, exist_ok=True)
        shutil.copyfile(result.trace, stored + ".new")
        os.replace(stored + ".new", stored)
        return
    from inferscope._program import find_program

    done = subprocess.run([find_program(), "diff", stored, result.trace, "--fail-on",
                           str(max_regression)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode == 3:
        pytest.fail("InferScope: slower than %s\n%s" % (stored, text), pytrace=False)
    if done.returncode:
        pytest.fail("InferScope: cannot compare with %s\n%s" % (stored, text), pytrace=False)


def _file_name(item):
    return re.sub(r"[^A-Za-z0-9._-]+", "_", item.nodeid)


def _summary(result):
    steps = result.data["steps"]
    first = result.findings[0] if result.findings else None
    return {"step": steps[0]["name"] if steps else "", "count": steps[0]["count"] if steps else 0,
            "mean_ms": steps[0]["mean_ms"] if steps else None,
            "finding": _describe(first).strip().splitlines()[0] if first else "no finding"}


def pytest_terminal_summary(terminalreporter):
    rows = [(report.nodeid, value) for reports in terminalreporter.stats.values()
            for report in reports if getattr(report, "when", None) == "call"
            for key, value in report.user_properties if key == "inferscope"]
    if not rows:
        return
    terminalreporter.section("InferScope")
    for nodeid, row in rows:
        mean = "" if row["mean_ms"] is None else "%d x %s of %.3g ms; " % (
            row["count"], row["step"], row["mean_ms"])
        terminalreporter.write_line("%s: %s%s" % (nodeid, mean, row["finding"]))
