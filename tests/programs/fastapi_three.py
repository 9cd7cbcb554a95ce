"""FastAPI under uvicorn with three workers: each session starts eight threads on few cores.

    uvicorn fastapi_three:app --workers 3            FIXED=1: one thread a session
"""
import contextlib
import os
import time

import numpy as np
import onnxruntime
from fastapi import FastAPI, Request

import clock
from onnx_model import mlp

took = []


@contextlib.asynccontextmanager
async def lifespan(app):
    yield
    clock.write("handler", took)


app = FastAPI(lifespan=lifespan)
settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = 1 if os.environ.get("FIXED") else 8
session = onnxruntime.InferenceSession(mlp(width=1024, layers=6), settings)


@app.post("/predict")
async def predict(request: Request):
    body = await request.json()
    begin = time.perf_counter()
    x = np.asarray(body["rows"], np.float32)
    y = session.run(None, {"x": x})[0]
    took.append(time.perf_counter() - begin)
    return {"labels": y.argmax(1).tolist()}
