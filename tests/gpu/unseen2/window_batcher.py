"""Gathers the requests of several clients for some milliseconds and answers them at once."""

import argparse
import json
import threading
import time
from concurrent.futures import Future

import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
TOKENS, WIDTH, LAYERS = (128, 768, 6) if CUDA else (8, 32, 1)
MOST, WINDOW, CLIENTS = 32, 0.015, 6


class Batcher:
    def __init__(self, model, window):
        self.model, self.window = model, window
        self.ready = threading.Condition()
        self.waiting, self.closed, self.batches = [], False, 0
        self.thread = threading.Thread(target=self.run, name="batcher")
        self.thread.start()

    def submit(self, x):
        future = Future()
        with self.ready:
            self.waiting.append((x, future))
            self.ready.notify()
        return future

    def take(self):
        """The next batch: full, or what has come when the window closes."""
        with self.ready:
            while not self.waiting and not self.closed:
                self.ready.wait()
            end = time.monotonic() + self.window
            while len(self.waiting) < MOST and not self.closed:
                left = end - time.monotonic()
                if left <= 0:
                    break
                self.ready.wait(left)  # <- slow
            batch, self.waiting = self.waiting[:MOST], self.waiting[MOST:]
            return batch

    @torch.inference_mode()
    def run(self):
        while True:
            batch = self.take()
            if not batch:
                return
            answers = self.model(torch.stack([x for x, _ in batch])).mean(1).argmax(-1).tolist()
            for (_, future), answer in zip(batch, answers):
                future.set_result(answer)
            self.batches += 1

    def close(self):
        with self.ready:
            self.closed = True
            self.ready.notify_all()
        self.thread.join()


def build():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, max(1, WIDTH // 64), 4 * WIDTH, batch_first=True)
    model = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    return model.to(DEVICE, DTYPE).eval()


def client(batcher, inputs, nth, until, answers):
    count = 0
    while count < 8 or time.perf_counter() < until:
        answer = batcher.submit(inputs[(nth + count) % len(inputs)]).result()
        if count < 8:
            answers.append(answer)
        count += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    batcher = Batcher(build(), 0 if args.fixed else WINDOW)
    inputs = torch.randn(16, TOKENS, WIDTH, device=DEVICE, dtype=DTYPE)
    for nth in range(3):
        batcher.submit(inputs[nth]).result()
    before, start, answers = batcher.batches, time.perf_counter(), []
    clients = [threading.Thread(target=client, args=(batcher, inputs, nth, start + args.seconds,
                                                     answers)) for nth in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    spent, steps = time.perf_counter() - start, batcher.batches - before
    batcher.close()
    ms = spent * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": sum(answers), "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
