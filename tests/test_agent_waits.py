"""The agent never waits for another thread without a bound (src/agent/core/bounded_wait.h).

Every call in src/agent that can block is in this table with the reason why it is not such a wait.
To wait for another thread, call bounded_wait(), without the GIL.
"""

import glob
import os
import re

AGENT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src", "agent")
BLOCKING = re.compile(
    r"\b((?:nanosleep|clock_nanosleep|usleep|sleep|pause|sched_yield|poll|ppoll|select|epoll_wait|"
    r"pthread_join|pthread_timedjoin_np|pthread_mutex_lock|pthread_spin_lock|pthread_rwlock_\w+|"
    r"pthread_cond_\w*wait|pthread_barrier_wait|sem_wait|sem_timedwait|mtx_lock|cnd_\w*wait|"
    r"thrd_join|thrd_sleep|thrd_yield|call_once|waitpid|waitid|wait|flock|lockf|sigwait\w*|"
    r"_mm_pause|dlopen|pthread_once)(?=\s*\()|FUTEX_WAIT\w*|FUTEX_LOCK\w*|F_SETLKW)")

OWN_THREAD = "a thread of the agent sleeps until it has work; it has no GIL then"
ATFORK = "registers functions for forks, or maps the session; takes no lock of Python's"
GPU = "a thread of the agent without the GIL, or bounded by a time"
LOADED = "only finds or loads a library while the program does the same; see cupti.h, pyapi.h"
ALLOWED = {
    ("delayed_start.c", "FUTEX_WAIT"): OWN_THREAD,
    ("delayed_start.c", "pthread_once"): ATFORK,
    ("bounded_wait.c", "nanosleep"): "the wait that has a bound",
    ("cupti.c", "dlopen"): LOADED,
    ("gpu_recording.c", "nanosleep"): GPU,
    ("self_reader.c", "FUTEX_WAIT"): OWN_THREAD,
    ("self_reader.c", "pthread_once"): ATFORK,
    ("gil_activity.c", "nanosleep"): "a thread of the agent, 100 us at most, without the GIL",
    ("nvtx_inject.c", "pthread_once"): ATFORK,
    ("pyapi.c", "dlopen"): LOADED,
    ("session.c", "pthread_once"): ATFORK,
    ("gil_worker.c", "FUTEX_WAIT_BITSET_PRIVATE"): OWN_THREAD,
}
# Who waits, and for how long; each of them is called without the GIL.
WAITS = {("delayed_start.c", "WAIT_WITHOUT_GIL_MS"), ("self_reader.c", "WAIT_WITHOUT_GIL_MS"),
         ("module.c", "WAIT_WITHOUT_GIL_MS"), ("module.c", "DELAYED_START_ENDS_MS"),
         ("agent_threads.c", "COUNTED_MS")}


def without_comments(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', " ", text, flags=re.S)


def sources():
    for path in sorted(glob.glob(os.path.join(AGENT, "*", "*.[ch]"))):
        with open(path) as text:
            yield os.path.basename(path), without_comments(text.read())


def blocking_calls(text):
    return set(BLOCKING.findall(text))


def test_only_known_calls_can_block():
    found = {(name, call) for name, text in sources() for call in blocking_calls(text)}
    assert not found - set(ALLOWED), "call bounded_wait() of src/agent/core/bounded_wait.h instead"


def test_the_table_has_no_row_for_what_is_gone():
    """It would let it come back unnoticed."""
    found = {(name, call) for name, text in sources() for call in blocking_calls(text)}
    assert set(ALLOWED) - found == set()


def test_waits_are_known():
    found = {(name, bound) for name, text in sources()
             for bound in re.findall(r"\bbounded_wait\([^;{]*,\s*(\w+)\)", text)}
    assert found - {("bounded_wait.h", "most_ms"), ("bounded_wait.c", "most_ms")} == WAITS


def functions(text):
    """{name: body} of the functions of a C file in the style of this project."""
    return dict(re.findall(r"^\w[^\n;]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", text, re.S | re.M))


def test_the_module_waits_without_the_gil():
    """Whatever waits is called between releasing the GIL and taking it again."""
    text = dict(sources())["module.c"]
    waiting = re.compile(r"\b(bounded_wait|delayed_start_pause|self_reader_pause|"
                         r"agent_thread_wait)\(")
    bodies = {name: body for name, body in functions(text).items() if waiting.search(body)}
    # When at_python_end() is called there is no GIL any more.
    assert set(bodies) == {"settle_delayed_start", "pause_inside", "at_python_end"}
    for name in "settle_delayed_start", "pause_inside":
        held = re.sub(r"py\.Eval_SaveThread\(\).*?py\.Eval_RestoreThread\(", "", bodies[name],
                      flags=re.S)
        assert not waiting.search(held), name


def test_the_search_finds_calls_and_not_words():
    harmless = '/* sleep(1) */ f("poll("); wake(x); await(1); f(pause, 1);'
    assert blocking_calls(without_comments(harmless)) == set()
    assert blocking_calls("while (x)\n\tnanosleep (&t, NULL);") == {"nanosleep"}
    assert blocking_calls("syscall(SYS_futex, w, FUTEX_WAIT, 1);") == {"FUTEX_WAIT"}
