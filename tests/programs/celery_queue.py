"""Celery: a worker takes tasks from a broker in a folder and runs an ONNX model for each.

    celery_queue.py          puts tasks into the queue, then works as `celery worker` does
"""
import os
import signal
import tempfile
import time

import numpy as np
import onnxruntime
from celery import Celery

import clock
from onnx_model import mlp

TASKS = 200
folder = os.environ.setdefault("QUEUE_FOLDER", tempfile.mkdtemp())
app = Celery("celery_queue", broker="filesystem://")
app.conf.update(
    broker_transport_options={"data_folder_in": folder, "data_folder_out": folder,
                              "control_folder": folder + "/control"},
    worker_hijack_root_logger=False, worker_redirect_stdouts=False,
    task_ignore_result=True)
settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(mlp(width=1024, layers=8), settings)
took, labels, ends = [], [], []


@app.task
def classify(seed):
    begin = time.perf_counter()
    x = np.random.default_rng(seed).standard_normal((32, 64)).astype(np.float32)
    labels.append(int(session.run(None, {"x": x})[0].argmax(1).sum()))
    ends.append(time.perf_counter())
    took.append(ends[-1] - begin)
    if len(took) == TASKS:
        os.kill(os.getpid(), signal.SIGTERM)


def main():
    for seed in range(TASKS):
        classify.delay(seed)
    try:
        app.worker_main(["worker", "--pool", "solo", "--without-mingle", "--without-gossip",
                         "--without-heartbeat", "--loglevel", "error"])
    except SystemExit:
        pass
    clock.write("task", took)
    clock.write("interval", [end - begin for begin, end in zip(ends, ends[1:])])
    print("tasks:", len(labels), sum(labels))


main()
