"""Tests of CPython that cannot have the same outcome under recording, and why.

`test` is the test's id, or "(module)" for the exit status of the whole module.  Whoever adds a row
has understood the difference: it must come from the test looking at how recording works, not from
what recording does to a program.
"""

import collections

Difference = collections.namedtuple("Difference", "versions module test why")

FRAME_AT_EVERY_EVENT = (
    "The test starts a collection at a certain allocation of a frame object and counts on it being"
    " the first one. Any profile function makes CPython 3.11 allocate a frame object at every call;"
    " sys.setprofile(lambda *event: None) fails it in the same way.")

DEAD_FREE_FUNCTION = (
    "The module registers a ctypes callback as the free function of a co_extra slot and lets it die"
    " at exit. CPython calls it, with NULL, for every code object on which anybody has set any slot"
    " since, as the recorder does where there is no PyCode_AddWatcher() yet; all tests of the"
    " module have passed by then.")

BOUND_FOR_THE_PROFILER = (
    "The test counts on no collection between next() and put() in q.put(next(gen)). Under any"
    " profile function CPython 3.9 and 3.10 make a bound method for the call, an allocation at"
    " which a collection may start; sys.setprofile(lambda *event: None) fails it in the same way.")

INSTRUMENTED = (
    "The test looks for specialized instructions in a disassembly. The first instruction and the"
    " returns of a function are instrumented for any tool of sys.monitoring, as for ours.")

NOT_SPECIALIZED = (
    "The test looks whether CPython 3.11 has specialized the bytecode of a function that ran often."
    " Under any profile function it specializes nothing; sys.setprofile(lambda *event: None) fails"
    " the same tests.")

EXPECTED = [
    Difference(("3.11",), "test_frame",
               "test.test_frame.TestIncompleteFrameAreInvisible.test_sneaky_frame_object",
               FRAME_AT_EVERY_EVENT),
    Difference(("3.11",), "test_frame", "(module)", FRAME_AT_EVERY_EVENT),
    Difference(("3.11",), "test_code", "(module)", DEAD_FREE_FUNCTION),
    Difference(("3.9", "3.10"), "test_queue", "test.test_queue.CSimpleQueueTest.test_reentrancy",
               BOUND_FOR_THE_PROFILER),
    Difference(("3.9", "3.10"), "test_queue", "(module)", BOUND_FOR_THE_PROFILER),
    Difference(("3.11",), "test_dis", "(module)", NOT_SPECIALIZED),
    Difference(("3.12", "3.13"), "test_dis", "(module)", INSTRUMENTED),
] + [
    Difference(versions, "test_dis", "test.test_dis.%s.%s" % (case, test), why)
    for case in ("DisTests", "DisWithFileTests")
    for versions, why, more in ((("3.11",), NOT_SPECIALIZED, ()),
                                (("3.12", "3.13"), INSTRUMENTED, ("test_super_instructions",)))
    for test in ("test_binary_specialize", "test_call_specialize", "test_load_attr_specialize",
                 "test_loop_quicken") + more
]
