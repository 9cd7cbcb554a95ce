"""Eight workers answer requests; each answer is stored, compressed, in one cache."""

import argparse
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


class Cache:
    def __init__(self):
        self.lock = threading.Lock()
        self.entries = {}

    def put(self, key, text):
        with self.lock:  # <- slow
            self.entries[key % 64] = zlib.compress(text, 9)


class Service:
    def __init__(self, device, seconds):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))
        self.model = self.model.to(device).eval()
        self.device, self.seconds = device, seconds
        self.cache = Cache()
        self.documents = [torch.randint(48, 60, (64 << 10,), dtype=torch.uint8).numpy().tobytes()
                          for _ in range(8)]

    @torch.inference_mode()
    def handle(self, key):
        query = torch.full((32, 512), key % 7 / 7, device=self.device)
        best = self.model(query).argmax(1)[0].item()
        self.cache.put(key, self.documents[(key + best) % 8])
        return best

    def work(self, first):
        """One worker's requests; how many there were."""
        start, count = time.perf_counter(), 0
        while count < 4 or time.perf_counter() - start < self.seconds:
            self.handle(first + count)
            count += 1
        return count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    service = Service(args.device, args.seconds)
    service.handle(0)
    start = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        steps = sum(pool.map(service.work, range(8)))
    print("steps=%d ms_per_step=%.3f" % (steps, (time.perf_counter() - start) * 1000 / steps))


if __name__ == "__main__":
    main()
