"""CPython's own test suite, once alone and once under `inferscope run`: the outcomes must be equal.

    run_suite.py [--bin INFERSCOPE] [--python PATH]... [--module NAME]... [--jobs N] [--keep DIR]

Every test of every module has an outcome (ok, FAIL, ERROR, skipped, ...); so has the module (its
exit status).  A difference that expected_differences.py does not list fails, and so does a listed
one that no longer occurs.  Whether a test passes alone does not matter: some do not in a container.

Tests that depend on the clock are not steady on a busy machine: where a pair differs, it is run
again, and only what differs twice counts.  A recorded run that dies of a signal is not forgiven.
`make test-cpython` runs everything; interpreters without the `test` package are named and left out.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from expected_differences import EXPECTED

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ONE_MODULE = os.path.join(HERE, "one_module.py")
WHOLE = "(module)"  # stands for the id of a test where the exit status is meant

# Seconds that a module may take alone; under recording it may take twice as long.
MODULES = {
    "test_asyncgen": 120,
    "test_asyncio": 900,
    "test_atexit": 120,
    "test_audit": 120,
    "test_bdb": 120,
    "test_builtin": 120,
    "test_call": 120,
    "test_capi": 600,
    "test_class": 120,
    "test_cmd_line": 300,
    "test_code": 120,
    "test_concurrent_futures": 900,
    "test_context": 120,
    "test_contextlib": 120,
    "test_contextlib_async": 120,
    "test_coroutines": 120,
    "test_cprofile": 120,
    "test_ctypes": 120,
    "test_dataclasses": 120,
    "test_decorators": 60,
    "test_descr": 120,
    "test_dis": 120,
    "test_dynamic": 60,
    "test_except_star": 60,
    "test_exception_group": 60,
    "test_exceptions": 300,
    "test_faulthandler": 300,
    "test_fork1": 120,
    "test_frame": 120,
    "test_funcattrs": 60,
    "test_functools": 120,
    "test_gc": 120,
    "test_generators": 120,
    "test_import": 300,
    "test_inspect": 120,
    "test_interpreters": 300,
    "test_io": 900,
    "test_logging": 300,
    "test_monitoring": 120,
    "test_multiprocessing_fork": 1200,
    "test_multiprocessing_forkserver": 1200,
    "test_multiprocessing_main_handling": 300,
    "test_multiprocessing_spawn": 1200,
    "test_os": 300,
    "test_patma": 60,
    "test_pdb": 300,
    "test_posix": 300,
    "test_profile": 120,
    "test_queue": 120,
    "test_runpy": 120,
    "test_sched": 60,
    "test_scope": 60,
    "test_select": 120,
    "test_selectors": 300,
    "test_signal": 300,
    "test_site": 120,
    "test_socket": 600,
    "test_socketserver": 120,
    "test_subprocess": 600,
    "test_super": 60,
    "test_sys": 300,
    "test_sys_setprofile": 120,
    "test_sys_settrace": 120,
    "test_thread": 120,
    "test_threading": 300,
    "test_threading_local": 120,
    "test_threadsignals": 120,
    "test_trace": 120,
    "test_traceback": 120,
    "test_tracemalloc": 120,
    "test_types": 60,
    "test_unittest": 120,
    "test_weakref": 300,
    "test_weakset": 60,
    "test_with": 120,
    "test_yield_from": 120,
    "test_zipimport": 120,
}
SLOWER = 2
LEFT_OUT = {
    # Creating a subinterpreter from a thread of 3.11.7 hangs, with `python -m test` alone as well.
    ("3.11", "test_interpreters"),
    # Where a tool of sys.monitoring, any tool, has events in a function, pdb.set_trace() of 3.13.0
    # stops in it one line later: all of the module's dialogues are different.
    ("3.13", "test_pdb"),
}

Run = collections.namedtuple("Run", "outcomes log seconds")
Python = collections.namedtuple("Python", "path version modules")


def binary():
    return os.environ.get("INFERSCOPE_BIN", os.path.join(ROOT, "build/stage/bin/inferscope"))


def environment(scratch):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("INFERSCOPE_", "XDG_", "PYTHON"))}
    env.update(TMPDIR=scratch, HOME=scratch)
    return env


def probe(path):
    """The interpreter with the modules that it has; None where it has no test suite."""
    code = ("import sys, importlib.util as u; import test.support\n"
            "print('%%d.%%d' %% sys.version_info[:2], *[m for m in %r if u.find_spec('test.' + m)])"
            % sorted(MODULES))
    done = subprocess.run([path, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          stdin=subprocess.DEVNULL, universal_newlines=True)
    if done.returncode:
        return None
    version, *modules = done.stdout.split()
    return Python(path, version, modules)


def last_outcomes(record):
    """The worst outcome of each test in a record: a test can fail and then be torn down well."""
    outcomes = {}
    if not os.path.exists(record):
        return outcomes
    with open(record) as lines:
        for line in lines:
            test, outcome = json.loads(line)
            if outcomes.get(test) not in ("FAIL", "ERROR"):
                outcomes[test] = outcome
    return outcomes


def status_of(command, scratch, log, limit):
    """The exit status as a word; ends the command and its children at the limit."""
    with open(log, "w") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                 cwd=scratch, env=environment(scratch), start_new_session=True)
        try:
            status = child.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return "hangs"
    if status < 0 or status > 128:
        return "killed by %s" % signal.Signals(-status if status < 0 else status - 128).name
    return "exit %d" % status


def run_once(python, module, binary, keep):
    """Runs a module, recorded if there is a binary."""
    name = "%s-%s-%s" % (python.version, module, "recorded" if binary else "alone")
    log = os.path.join(keep, name + ".log")
    record = os.path.join(keep, name + ".jsonl")
    report = os.path.join(keep, name + ".report.json")
    command = [python.path, ONE_MODULE, record, module]
    if binary:
        command = [binary, "run", "--quiet", "--no-trace", "--report", report, "--"] + command
    for stale in (record, report):
        if os.path.exists(stale):
            os.remove(stale)
    scratch = tempfile.mkdtemp(prefix="cpython-")
    began = time.monotonic()
    try:
        status = status_of(command, scratch, log, MODULES[module] * (SLOWER if binary else 1))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    outcomes = last_outcomes(record)
    outcomes[WHOLE] = status
    if binary and not events_in(report):
        outcomes[WHOLE] += ", nothing recorded"  # equal results would mean nothing
    return Run(outcomes, log, time.monotonic() - began)


def events_in(report):
    try:
        with open(report) as text:
            return json.load(text)["trust"]["events"]
    except FileNotFoundError:
        return 0


def differences(alone, recorded):
    """{test: (outcome alone, outcome recorded)} where they are not the same."""
    tests = set(alone.outcomes) | set(recorded.outcomes)
    pairs = {test: (alone.outcomes.get(test, "absent"), recorded.outcomes.get(test, "absent"))
             for test in tests}
    return {test: pair for test, pair in pairs.items() if pair[0] != pair[1]}


def expected(python, module):
    """{test: why} of the differences that this module must show under this version."""
    return {row.test: row.why for row in EXPECTED
            if row.module == module and python.version in row.versions}


class Verdict:
    """What became of one module under one interpreter."""

    def __init__(self, python, module, binary, keep):
        self.name = "%s %s" % (python.version, module)
        alone = run_once(python, module, None, keep)
        recorded = run_once(python, module, binary, keep)
        known = expected(python, module)
        found = differences(alone, recorded)
        self.unsteady = {}
        if set(found) != set(known) and "killed" not in recorded.outcomes[WHOLE]:
            again = differences(run_once(python, module, None, keep),
                                run_once(python, module, binary, keep))
            self.unsteady = {test: found[test] for test in found if test not in again}
            found = {test: again[test] for test in again if test in found}
        self.log = recorded.log
        self.tests = len(recorded.outcomes) - 1
        self.seconds = alone.seconds, recorded.seconds
        self.known = {test: found[test] for test in found if test in known}
        self.new = {test: found[test] for test in found if test not in known}
        self.gone = [test for test in known if test not in found]

    @property
    def good(self):
        return not self.new and not self.gone and self.tests > 0

    def __str__(self):
        lines = ["%-4s %-40s %4d tests  %6.1f s alone  %6.1f s recorded"
                 % (("ok" if self.good else "BAD", self.name, self.tests) + self.seconds)]
        for word, found in (("DIFFERS", self.new), ("expected", self.known),
                            ("unsteady", self.unsteady)):
            lines += ["     %s: %s: %s alone, %s recorded" % ((word, test) + pair)
                      for test, pair in sorted(found.items())]
        lines += ["     NO LONGER DIFFERS: %s" % test for test in sorted(self.gone)]
        if not self.good:
            lines.append("     see %s" % self.log)
        return "\n".join(lines)


def run(pythons, modules, binary, keep, jobs):
    """Yields a verdict for each module that each interpreter has, as they come."""
    # Started in the background we may ignore it, and so would the tests that send it to themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    work = [(python, module) for module in modules for python in pythons
            if module in python.modules and (python.version, module) not in LEFT_OUT]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(Verdict, python, module, binary, keep) for python, module in work]
        for done in concurrent.futures.as_completed(waiting):
            yield done.result()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=binary())
    parser.add_argument("--python", action="append")
    parser.add_argument("--module", action="append", choices=sorted(MODULES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="where logs and reports go")
    args = parser.parse_args()
    if not args.python:
        args.python = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")
    return args


def main():
    args = arguments()
    pythons = []
    for path in args.python:
        python = probe(path)
        if python:
            pythons.append(python)
        else:
            print("left out: %s has no test suite" % path)
    if not pythons:
        sys.exit("no interpreter with a test suite")
    keep = os.path.abspath(args.keep or tempfile.mkdtemp(prefix="inferscope-cpython-"))
    os.makedirs(keep, exist_ok=True)
    bad = 0
    for verdict in run(pythons, args.module or MODULES, os.path.abspath(args.bin), keep, args.jobs):
        print(verdict, flush=True)
        bad += not verdict.good
    if bad:
        sys.exit("%d modules behave differently under recording; logs in %s" % (bad, keep))
    if not args.keep:
        shutil.rmtree(keep)


if __name__ == "__main__":
    main()
