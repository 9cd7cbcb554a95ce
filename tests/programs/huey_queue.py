"""huey: a consumer with one worker thread and SQLite, a task every 60 ms; nothing to mend."""
import os
import tempfile
import threading
import time

import numpy as np
import onnxruntime
from huey import SqliteHuey
from huey.signals import SIGNAL_COMPLETE, SIGNAL_EXECUTING

import clock
from onnx_model import mlp

TASKS = 120
huey = SqliteHuey(filename=os.path.join(tempfile.mkdtemp(), "queue.db"))
settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(mlp(width=1024, layers=8), settings)
took, labels, begun, service = [], [], [], []
done = threading.Event()


@huey.task()
def classify(seed):
    begin = time.perf_counter()
    x = np.random.default_rng(seed).standard_normal((64, 64)).astype(np.float32)
    labels.append(int(session.run(None, {"x": x})[0].argmax(1).sum()))
    took.append(time.perf_counter() - begin)
    if len(took) == TASKS:
        done.set()


@huey.signal(SIGNAL_EXECUTING)
def begins(*_):
    begun.append(time.perf_counter())


@huey.signal(SIGNAL_COMPLETE)
def ends(*_):
    service.append(time.perf_counter() - begun[-1])


def main():
    consumer = huey.create_consumer(workers=1, periodic=False, initial_delay=0.01, max_delay=0.02)
    consumer.start()
    for seed in range(TASKS):
        classify(seed)
        time.sleep(0.06)
    done.wait()
    consumer.stop(graceful=True)
    clock.write("task", took)
    clock.write("service", service)
    print("tasks:", len(labels), sum(labels))


main()
