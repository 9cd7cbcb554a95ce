"""aiohttp: a batching server that gathers for 25 ms, while all its users wait already.

    aiohttp_batcher.py PORT [--fixed]
"""
import argparse
import asyncio
import time

import numpy as np
import onnxruntime
from aiohttp import web

import clock
from onnx_model import mlp

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("--fixed", action="store_true", help="take what waits, at once")
options = parser.parse_args()

settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(mlp(width=512, layers=6), settings)
queue = asyncio.Queue()
handlers, batches = [], []


async def batcher():
    while True:
        waiting = [await queue.get()]
        begin = time.perf_counter()
        if not options.fixed:
            await asyncio.sleep(0.025)
        while not queue.empty():
            waiting.append(queue.get_nowait())
        y = session.run(None, {"x": np.concatenate([x for x, _ in waiting])})[0]
        for label, (_, future) in zip(y.argmax(1), waiting):
            future.set_result(int(label))
        batches.append(time.perf_counter() - begin)


async def predict(request):
    begin = time.perf_counter()
    rows = (await request.json())["rows"]
    future = asyncio.get_running_loop().create_future()
    await queue.put((np.asarray(rows[:1], np.float32), future))
    answer = web.json_response({"label": await future})
    handlers.append(time.perf_counter() - begin)
    return answer


async def start(app):
    app["batcher"] = asyncio.create_task(batcher())


async def stop(app):
    app["batcher"].cancel()


app = web.Application()
app.on_startup.append(start)
app.on_cleanup.append(stop)
app.router.add_post("/predict", predict)
web.run_app(app, host="127.0.0.1", port=options.port, print=None)
clock.write("handler", handlers)
clock.write("batch", batches)
