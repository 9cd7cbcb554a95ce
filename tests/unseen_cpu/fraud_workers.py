"""Scores payments for fraud: worker threads take jobs from a queue and ask a feature store.

    fraud_workers.py [--fixed]
"""

import os
import queue
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import torch

FIXED = "--fixed" in sys.argv
JOBS = 900
WORKERS = 4


class FeatureClient:
    """Asks the store. One connection for all threads, or one for each."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.local = threading.local()
        self.shared = None if FIXED else self.connect()

    def connect(self):
        link = socket.socket(socket.AF_UNIX)
        link.connect(self.path)
        return link

    def features(self, payment):
        if FIXED:
            if not hasattr(self.local, "link"):
                self.local.link = self.connect()
            return self.ask(self.local.link, payment)
        with self.lock:
            return self.ask(self.shared, payment)

    def ask(self, link, payment):
        link.sendall(struct.pack("<q", payment))
        reply = b""
        while len(reply) < 160:
            reply += link.recv(160 - len(reply))
        return struct.unpack("<40f", reply)


class Worker(threading.Thread):
    def __init__(self, jobs, client, model, results):
        super().__init__(name="fraud-worker")
        self.jobs, self.client, self.model, self.results = jobs, client, model, results

    def run(self):
        while True:
            payment = self.jobs.get()
            if payment is None:
                return
            began = time.perf_counter()
            score = self.score(payment)
            self.results.append((payment, score, time.perf_counter() - began))

    def score(self, payment):
        row = torch.tensor(self.client.features(payment))
        with torch.inference_mode():
            return self.model(row[None].expand(16, -1)).mean().item()


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(40, 768),
        torch.nn.ReLU(),
        torch.nn.Linear(768, 768),
        torch.nn.ReLU(),
        torch.nn.Linear(768, 1),
    ).eval()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "store")
        script = os.path.join(os.path.dirname(__file__), "feature_store.py")
        store = subprocess.Popen([sys.executable, script, path])
        try:
            while not os.path.exists(path):
                time.sleep(0.02)
            time.sleep(0.1)
            client = FeatureClient(path)
            jobs, results = queue.Queue(), []
            for payment in range(JOBS):
                jobs.put(payment)
            for _ in range(WORKERS):
                jobs.put(None)
            workers = [Worker(jobs, client, model, results) for _ in range(WORKERS)]
            began = time.perf_counter()
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            took = time.perf_counter() - began
        finally:
            store.kill()
            store.wait()
    print(f"suspicious {sum(score > 0 for _, score, _ in results)}")
    mean = 1e3 * sum(spent for _, _, spent in results) / JOBS
    print(f"{JOBS} payments of {mean:.2f} ms: {JOBS / took:.2f} steps/s")


main()
