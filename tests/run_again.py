"""
A second chance, where a machine that others use may be at fault: for tests that compare times (the
marker `measures`), and for those that failed beside other lanes, which are then alone.  Only the
second failure counts.  The summary says which tests needed it and how they failed first, and too
many that need not have failed beside others make the run fail: those are not the machine's fault.
"""

import pytest
from _pytest.runner import runtestprotocol

import lanes
import time_limit

FIRST = "failed first"  # a property of the report: lanes hand those over to who sums up
BESIDE_OTHERS = "failed beside others"
CHANCES = 5  # for these, in one run


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    measures = lanes.measures(item)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with lanes.room(item.config, measures), time_limit.bounded(item):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    failed = [report for report in reports if report.failed]
    if failed and (measures or hasattr(item.config, "workerinput")):
        item._initrequest()
        with lanes.room(item.config, True), time_limit.bounded(item):
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        reports[-1].user_properties.append((FIRST if measures else BESIDE_OTHERS,
                                            first_line(failed[0])))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def first_line(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else report.longreprtext).splitlines()[0]


def told(config, which):
    reporter = config.pluginmanager.getplugin("terminalreporter")
    return ["%s - %s" % (report.nodeid, value) for reports in reporter.stats.values()
            for report in reports for name, value in getattr(report, "user_properties", ())
            if name == which]


def too_many(config):
    return len(told(config, BESIDE_OTHERS)) > CHANCES


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput") and too_many(session.config):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    for which, title in (FIRST, "measured again"), (BESIDE_OTHERS, "run again, alone"):
        lines = told(config, which)
        if lines:
            terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)
    if too_many(config):
        terminalreporter.line("more than %d: the run fails" % CHANCES)
