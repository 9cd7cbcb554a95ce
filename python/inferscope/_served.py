"""Scopes around requests of servers before CPython 3.12, where calls are traced at times only.

Called by the agent (src/agent/hooks/server_requests.c), whose table has more functions, for later
versions.  A function is replaced when its module is completely imported, by one that only opens a
scope around it.  Only functions that handle all exceptions themselves are replaced: the wrapper
appears in no traceback, and no warning is attributed to it.
Imports nothing: the program may be in the middle of an import.
"""

import sys

from inferscope._agent import scope

_COROUTINE = 0x80  # of code.co_flags
_GENERATOR = 0x20

# Module -> functions, and the names of their scopes (src/format/request_scopes.h).
waiting_for = {
    "uvicorn.protocols.http.h11_impl": [("RequestResponseCycle.run_asgi", "request: uvicorn")],
    "uvicorn.protocols.http.httptools_impl": [
        ("RequestResponseCycle.run_asgi", "request: uvicorn"),
    ],
    "hypercorn.asyncio.task_group": [("_handle", "request: hypercorn")],
    "gunicorn.workers.sync": [("SyncWorker.handle", "request: gunicorn")],
    "gunicorn.workers.gthread": [("ThreadWorker.handle", "request: gunicorn")],
    "waitress.channel": [("HTTPChannel.service", "request: waitress")],
    "wsgiref.handlers": [("BaseHandler.run", "request: wsgiref")],
    "werkzeug.serving": [("WSGIRequestHandler.run_wsgi", "request: werkzeug")],
    "tornado.web": [("RequestHandler._execute", "request: Tornado")],
    "grpc._server": [("_call_behavior", "request: gRPC")],
    "rq.worker": [("Worker.perform_job", "request: RQ")],
    "rq.worker.base": [("BaseWorker.perform_job", "request: RQ")],
    "dramatiq.worker": [("_WorkerThread.process_message", "request: Dramatiq")],
    "arq.worker": [("Worker.run_job", "request: arq")],
    "concurrent.futures.thread": [("_WorkItem.run", "work item: ThreadPoolExecutor")],
}


def _wrap(function, name):
    if function.__code__.co_flags & _COROUTINE:

        async def wrapper(*args, **kwargs):
            with scope(name):
                return await function(*args, **kwargs)

    else:

        def wrapper(*args, **kwargs):
            with scope(name):
                return function(*args, **kwargs)

    for attribute in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(wrapper, attribute, getattr(function, attribute))
    wrapper.__dict__.update(function.__dict__)
    wrapper.__wrapped__ = function
    return wrapper


def _replace(module, path, name):
    owner = module
    *outer, last = path.split(".")
    for part in outer:
        owner = owner.__dict__[part]
    function = owner.__dict__[last]
    # Nothing but a plain function: another tool may have put something of its own there.
    if type(function) is type(_wrap) and not function.__code__.co_flags & _GENERATOR:
        setattr(owner, last, _wrap(function, name))


def install():
    for module_name in list(waiting_for):
        module = sys.modules.get(module_name)
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            continue
        for path, name in waiting_for.pop(module_name):
            try:
                _replace(module, path, name)
            except (KeyError, AttributeError, TypeError):
                pass  # another version of the library
