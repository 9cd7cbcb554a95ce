"""BentoML: a service with one worker process and an ONNX Runtime model; little load.

    bentoml serve bento_one:Classify
"""
import time

import bentoml
import numpy as np
import onnxruntime

import clock
from onnx_model import mlp

took = []


@bentoml.service(workers=1)
class Classify:
    def __init__(self):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(mlp(width=1024, layers=8), settings)

    @bentoml.api
    def predict(self, rows: list[list[float]]) -> list[int]:
        begin = time.perf_counter()
        labels = self.session.run(None, {"x": np.asarray(rows, np.float32)})[0].argmax(1).tolist()
        took.append(time.perf_counter() - begin)
        return labels

    @bentoml.on_shutdown
    def end(self):
        clock.write("handler", took)
