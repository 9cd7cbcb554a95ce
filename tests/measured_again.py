"""
Tests with the marker `measures` compare times on a machine that others use as well.  Where one
fails it is run once more, and only a second failure counts; the summary says which, and how they
failed first, so that a test which needs its second chance too often is seen.
"""

import pytest
from _pytest.runner import runtestprotocol

FIRST = "failed first"  # a property of the report: lanes hand those over to who sums up


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if not item.get_closest_marker("measures"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    failed = [report for report in reports if report.failed]
    if failed:
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        reports[-1].user_properties.append((FIRST, first_line(failed[0])))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def first_line(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else report.longreprtext).splitlines()[0]


def pytest_terminal_summary(terminalreporter):
    lines = ["%s - %s" % (report.nodeid, value) for reports in terminalreporter.stats.values()
             for report in reports for name, value in getattr(report, "user_properties", ())
             if name == FIRST]
    if lines:
        terminalreporter.section("measured again")
    for line in lines:
        terminalreporter.line(line)
