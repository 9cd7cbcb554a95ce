"""Flask under waitress, four threads that share one session, and hold a lock while it runs.

    waitress-serve waitress_lock:app                 FIXED=1: no lock, the session needs none
"""
import atexit
import contextlib
import os
import threading
import time

import numpy as np
import onnxruntime
from flask import Flask, jsonify, request

import clock
from onnx_model import mlp

app = Flask(__name__)
settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(mlp(width=1024, layers=8), settings)
lock = contextlib.nullcontext() if os.environ.get("FIXED") else threading.Lock()
took = []
atexit.register(lambda: clock.write("handler", took))


def run_model(x):
    with lock:
        return session.run(None, {"x": x})[0]


@app.post("/predict")
def predict():
    begin = time.perf_counter()
    x = np.repeat(np.asarray(request.get_json()["rows"], np.float32), 8, 0)
    answer = jsonify(labels=run_model(x).argmax(1).tolist())
    took.append(time.perf_counter() - begin)
    return answer
