"""INFERSCOPE_ENABLE=1: record this process without `inferscope run`.

Imported by inferscope.pth when the interpreter starts.  A failure is one line
on standard error; the program runs on.
"""

import os
import sys

from inferscope._program import is_launcher


def autostart():
    """True: this process takes part in the recording of another, and the shim has nothing to do."""
    session = os.environ.get("INFERSCOPE_SESSION")
    try:
        if is_launcher():
            return False  # `inferscope` itself: it records others
        if session:
            from inferscope import _agent

            if _agent.is_recording():
                return False
            if _agent.attach(session):
                os.register_at_fork(before=_agent.fork_begins, after_in_parent=_agent.fork_ends,
                                    after_in_child=_agent.forked)
                return True
        from inferscope import _recorder

        _recorder.start(None, None, {"quiet": False})
    except Exception as error:  # never disturb the workload
        sys.stderr.write("inferscope: not recording: %s\n" % (error,))
    return False


joined = autostart()
