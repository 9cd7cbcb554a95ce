"""InferScope: why is my inference slow, on which line, and what would the fix bring?

    from inferscope import counter, mark_event, scope

    with scope("request", batch=8):
        counter("queue", len(waiting))
        ...

Outside a recording this costs next to nothing.  Record with
``inferscope run script.py``, with ``INFERSCOPE_ENABLE=1``, from inside with ``start()`` and
``stop()``, or as a block whose results are an object:

    with inferscope.profile() as p:
        serve()
    print(p.report())
"""

try:
    from inferscope._agent import counter, is_recording, mark_event, scope
except ImportError:
    # A Python that the agent does not support: the program runs as if it were not recorded.
    from inferscope._fallback import counter, is_recording, mark_event, scope

__all__ = ["scope", "mark_event", "counter", "is_recording", "start", "stop", "profile"]


def start(report=None, *, trace=None, **settings):
    """Record this process from here on.

    report: a file name or a list of them; the ending (.md, .json) decides the format.
    trace: where the trace goes.  Further settings as in .inferscope.yaml,
    for example trace_size_mb=200.  Raises RuntimeError when start() was called
    before or the recorder cannot be started.  Under `inferscope run` it joins that recording, which
    goes on after stop(); stop() returns no files then.
    """
    from inferscope import _recorder

    _recorder.start(report, trace, settings)


def stop():
    """End the recording begun by start(), wait for the report; return the files written."""
    from inferscope import _recorder

    return _recorder.stop()


def profile(**settings):
    """Record a block of this process: ``with inferscope.profile() as p:``.

    After the block p.findings, p.steps, p.functions, p.layers and p.kernels are lists of dicts with
    to_pandas() and to_arrow(); p.report() is the summary, p.to_html(path) the page, p.data all of
    report.json.  Settings as for start().
    """
    from inferscope._profile import profile as new_profile

    return new_profile(**settings)


def load_ipython_extension(shell):
    """``%load_ext inferscope``: the magics %inferscope and %%inferscope."""
    from inferscope._magic import load

    load(shell)


# What the agent calls, when a recording begins, to learn what recording a call costs here.
def _nothing():
    pass


def _call_nothing(times):
    for _ in range(times):
        _nothing()


# A method: the interpreter makes an object of it for the profile function, unlike of len().
def _call_c(times):
    empty = ()
    for _ in range(times):
        empty.count(0)


def _loop(times):
    items = [1, 2, 3, 4]
    total = 0
    for i in range(times):
        if items[i & 3] != 2:
            total += i
