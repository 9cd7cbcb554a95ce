"""Runs one module of CPython's test suite and keeps a record of every test's outcome.

    python one_module.py RECORD MODULE

RECORD gets a line of JSON, [test id, outcome], when a test begins and when it ends, so that after a
crash or a hang it still tells which test it was.  Resources that tests must ask for (network, large
files, minutes of processor time) are not granted, as in a plain `python -m test`.
"""

import json
import os
import sys
import unittest

from test import support


class Recorder(unittest.TestResult):
    def __init__(self, record):
        super().__init__()
        self.record = record
        self.owner = os.getpid()

    def note(self, test, outcome):
        if os.getpid() == self.owner:  # not a child that came back from a fork
            self.record.write(json.dumps([test.id(), outcome]) + "\n")
            self.record.flush()

    def startTest(self, test):
        super().startTest(test)
        self.note(test, "unfinished")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "ok")

    def addError(self, test, err):
        super().addError(test, err)
        self.fell(test, err, "ERROR")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.fell(test, err, "FAIL")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.fell(test, err, "FAIL" if issubclass(err[0], test.failureException) else "ERROR")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "unexpected success")

    def fell(self, test, err, outcome):
        self.note(test, outcome)
        text = self._exc_info_to_string(err, test)
        sys.__stderr__.write("%s %s\n%s\n" % (outcome, test.id(), text))


def make_room_for_the_recorder():
    """test_monitoring takes tools 3 and 4 and wants no other tool to have events.

    The recorder is tool 3: the tests get 4 and 5, and are not shown our events.  The rest of the
    module then tells whether other tools work beside the recorder as they do alone.
    """
    from test import test_monitoring

    ours = 3
    monitoring = sys.monitoring
    get_events, all_events = monitoring.get_events, monitoring._all_events
    monitoring.get_events = lambda tool: 0 if tool == ours else get_events(tool)
    monitoring._all_events = lambda: {event: tools & ~(1 << ours) for event, tools
                                      in all_events().items() if tools != 1 << ours}
    test_monitoring.TEST_TOOL2, test_monitoring.TEST_TOOL3 = 4, 5


def leave_out_a_deadlock():
    """Where the thread that feeds a process pool takes the lock under which the pool joins it.

    CPython's own bug (issue 125451, mended in 3.12.8 and 3.13.1), with or without a recorder: a job
    that cannot be pickled while the pool shuts down.  One test does just that; it hangs now and
    then.
    """
    import inspect
    from concurrent.futures.process import _SafeQueue

    if "shutdown_lock" in inspect.signature(_SafeQueue.__init__).parameters:
        try:
            from test.test_concurrent_futures import test_deadlock as module
        except ImportError:
            from test import test_concurrent_futures as module
        tests = module.ExecutorDeadlockTest
        tests.test_shutdown_deadlock_pickle = unittest.skip("deadlock")(
            tests.test_shutdown_deadlock_pickle)


PREPARE = {"test_concurrent_futures": leave_out_a_deadlock,
           "test_monitoring": make_room_for_the_recorder}


def main():
    record, module = sys.argv[1:]
    PREPARE.get(module, lambda: None)()
    support.use_resources = []
    support.verbose = False
    with open(record, "w") as lines:
        result = Recorder(lines)
        unittest.defaultTestLoader.loadTestsFromName("test." + module).run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
