"""FastAPI under uvicorn, one worker, an ONNX Runtime model; little load, nothing to mend.

    uvicorn fastapi_one:app
"""
import contextlib
import time

import numpy as np
import onnxruntime
from fastapi import FastAPI
from pydantic import BaseModel

import clock
from onnx_model import mlp

took = []


@contextlib.asynccontextmanager
async def lifespan(app):
    yield
    clock.write("handler", took)


app = FastAPI(lifespan=lifespan)
settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(mlp(width=1024, layers=8), settings)


class Rows(BaseModel):
    rows: list[list[float]]


@app.post("/predict")
def predict(body: Rows):
    begin = time.perf_counter()
    x = np.asarray(body.rows, np.float32)
    y = session.run(None, {"x": x})[0]
    answer = {"labels": y.argmax(1).tolist()}
    took.append(time.perf_counter() - begin)
    return answer
