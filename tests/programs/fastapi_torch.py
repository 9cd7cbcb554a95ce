"""FastAPI under uvicorn on CPython 3.11, a torch model, one request per 50 ms; nothing to mend.

    uvicorn fastapi_torch:app
"""
import contextlib
import time

import torch
from fastapi import FastAPI
from pydantic import BaseModel
from torch import nn

import clock

took = []


@contextlib.asynccontextmanager
async def lifespan(app):
    yield
    clock.write("handler", took)


app = FastAPI(lifespan=lifespan)
torch.manual_seed(1)
torch.set_num_threads(1)
network = nn.Sequential(*[layer for _ in range(6)
                          for layer in (nn.Linear(1024, 1024), nn.ReLU())]).eval()


class Rows(BaseModel):
    rows: list[list[float]]


@app.post("/predict")
def predict(body: Rows):
    begin = time.perf_counter()
    with torch.inference_mode():
        labels = network(torch.tensor(body.rows).repeat(4, 16)).argmax(1).tolist()
    took.append(time.perf_counter() - begin)
    return {"labels": labels}
