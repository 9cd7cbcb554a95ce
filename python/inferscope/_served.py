"""Requests of servers before CPython 3.12, where calls are recorded in bursts: scopes around them.

Called by the agent (src/agent/hooks/server_requests.c), which has the same table for later versions.
A function is replaced when its module is whole, by one that does nothing but open a scope around it.
Imports nothing: the program may be in the middle of an import.
"""

import sys

from inferscope._agent import scope

_COROUTINE = 0x80  # of code.co_flags
_GENERATOR = 0x20

# Module -> functions, and the names of their scopes (src/format/request_scopes.h).
waiting_for = {
    "uvicorn.protocols.http.h11_impl": [("RequestResponseCycle.run_asgi", "request: uvicorn")],
    "uvicorn.protocols.http.httptools_impl": [("RequestResponseCycle.run_asgi", "request: uvicorn")],
    "hypercorn.asyncio.task_group": [("_handle", "request: hypercorn")],
    "gunicorn.workers.sync": [("SyncWorker.handle_request", "request: gunicorn")],
    "gunicorn.workers.gthread": [("ThreadWorker.handle_request", "request: gunicorn")],
    "gunicorn.workers.base_async": [("AsyncWorker.handle_request", "request: gunicorn")],
    "waitress.task": [("Task.service", "request: waitress")],
    "cheroot.server": [("HTTPRequest.respond", "request: cheroot")],
    "wsgiref.handlers": [("BaseHandler.run", "request: wsgiref")],
    "werkzeug.serving": [("WSGIRequestHandler.run_wsgi", "request: werkzeug")],
    "flask.app": [("Flask.wsgi_app", "request: Flask")],
    "bottle": [("Bottle.wsgi", "request: Bottle")],
    "falcon.app": [("App.__call__", "request: Falcon")],
    "django.core.handlers.wsgi": [("WSGIHandler.__call__", "request: Django")],
    "django.core.handlers.asgi": [("ASGIHandler.handle", "request: Django")],
    "aiohttp.web_app": [("Application._handle", "request: aiohttp")],
    "tornado.web": [("RequestHandler._execute", "request: Tornado")],
    "sanic.app": [("Sanic.handle_request", "request: Sanic")],
    "grpc._server": [("_call_behavior", "request: gRPC")],
    "rq.worker": [("Worker.perform_job", "request: RQ")],
    "rq.worker.base": [("BaseWorker.perform_job", "request: RQ")],
    "dramatiq.worker": [("_WorkerThread.process_message", "request: Dramatiq")],
    "huey.api": [("Huey._execute", "request: Huey")],
    "arq.worker": [("Worker.run_job", "request: arq")],
    "transformers.generation.utils": [("GenerationMixin.generate", "call: generate")],
    "transformers.pipelines.base": [("Pipeline.__call__", "call: pipeline")],
    "sentence_transformers.SentenceTransformer": [("SentenceTransformer.encode", "call: encode")],
    "sentence_transformers.cross_encoder.CrossEncoder": [
        ("CrossEncoder.predict", "call: predict"),
    ],
    "ultralytics.engine.model": [("Model.predict", "call: predict")],
    "onnxruntime.capi.onnxruntime_inference_collection": [("Session.run", "call: Session.run")],
    "llama_cpp.llama": [("Llama.create_completion", "call: create_completion")],
    "sklearn.pipeline": [
        ("Pipeline.predict", "call: predict"),
        ("Pipeline.predict_proba", "call: predict_proba"),
    ],
    "sklearn.ensemble._forest": [
        ("ForestClassifier.predict", "call: predict"),
        ("ForestClassifier.predict_proba", "call: predict_proba"),
        ("ForestRegressor.predict", "call: predict"),
    ],
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": [
        ("HistGradientBoostingClassifier.predict", "call: predict"),
    ],
    "sklearn.linear_model._base": [
        ("LinearClassifierMixin.predict", "call: predict"),
        ("LinearModel.predict", "call: predict"),
    ],
    "sklearn.neural_network._multilayer_perceptron": [("MLPClassifier.predict", "call: predict")],
    "sklearn.neighbors._classification": [("KNeighborsClassifier.predict", "call: predict")],
    "xgboost.sklearn": [("XGBModel.predict", "call: predict")],
    "xgboost.core": [("Booster.predict", "call: predict")],
    "lightgbm.basic": [("Booster.predict", "call: predict")],
    "keras.src.backend.tensorflow.trainer": [
        ("TensorFlowTrainer.predict", "call: predict"),
        ("TensorFlowTrainer.evaluate", "call: evaluate"),
    ],
    "keras.src.backend.jax.trainer": [("JAXTrainer.predict", "call: predict")],
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
