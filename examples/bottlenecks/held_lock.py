"""Ranks products with features from a store that a thread keeps up to date.

Slow:  the thread holds the store's lock while it fetches; requests wait at the lock.
Fixed: it fetches first and takes the lock for the exchange alone.
"""

import random
import threading
import time

import torch
from torch import nn

from harness import Clock, options
from models import build

PRODUCTS, FEATURES = 4096, 256
FETCH_S = 0.012  # what the database takes to answer
PAUSE_S = 0.004


class FeatureStore:
    def __init__(self):
        self.lock = threading.Lock()
        self.features = torch.rand(PRODUCTS, FEATURES)

    def fetch(self):
        time.sleep(FETCH_S)  # <- slow
        return random.randrange(PRODUCTS)

    def refresh(self):
        with self.lock:
            product = self.fetch()  # <- slow
            self.features[product] = self.features[product].flip(0)

    def select(self, products):
        with self.lock:  # <- slow
            return self.features[products]


class SwappingStore(FeatureStore):
    def refresh(self):
        product = self.fetch()
        row = self.features[product].flip(0)
        with self.lock:
            self.features[product] = row


class Refresher(threading.Thread):
    def __init__(self, store):
        super().__init__(name="refresher", daemon=True)
        self.store = store
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(PAUSE_S):
            self.store.refresh()


class Ranker:
    def __init__(self, model, store, device, dtype):
        self.model = model
        self.store = store
        self.device = device
        self.dtype = dtype

    @torch.inference_mode()
    def rank(self, products):
        features = self.store.select(products).to(self.device, self.dtype)
        return self.model(features).squeeze(-1).topk(5).indices.tolist()


def main():
    args = options(__doc__, steps=250, cpu_steps=120)
    store = (SwappingStore if args.fixed else FeatureStore)()
    width = 4096 if args.on_gpu else 128
    model = build(lambda: nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(),
                                        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)),
                  args.device, args.dtype)
    ranker = Ranker(model, store, args.device, args.dtype)
    refresher = Refresher(store)
    refresher.start()
    clock = Clock(args)
    while True:
        ranker.rank(torch.randint(0, PRODUCTS, (512,)))
        if clock.step(None):
            break
    clock.finish()
    refresher.stopped.set()
    refresher.join()


if __name__ == "__main__":
    main()
