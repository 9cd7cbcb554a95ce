"""Flask under gunicorn, two workers: every request reads the model from its file again.

    gunicorn gunicorn_reload:app --workers 2         FIXED=1: the model is read once
"""
import atexit
import functools
import os
import tempfile
import time

import joblib
import numpy as np
from flask import Flask, jsonify, request
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import clock

app = Flask(__name__)
path = os.path.join(tempfile.gettempdir(), "gunicorn_reload_%d.joblib" % os.getpid())
rows, labels = make_classification(3000, 64, random_state=3)
joblib.dump(RandomForestClassifier(50, random_state=3).fit(rows, labels), path)
took = []
atexit.register(lambda: clock.write("handler", took) if took else None)


def load_model():
    return joblib.load(path)


if os.environ.get("FIXED"):
    load_model = functools.lru_cache(load_model)


@app.post("/predict")
def predict():
    begin = time.perf_counter()
    x = np.asarray(request.get_json()["rows"], np.float32)
    model = load_model()
    answer = jsonify(labels=model.predict(x).tolist())
    took.append(time.perf_counter() - begin)
    return answer
