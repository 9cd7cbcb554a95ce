"""Encodes a corpus for translation: large batches of one length, answers fetched a batch late."""

import argparse
import json
import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
BATCH, TOKENS, WIDTH, LAYERS = (64, 512, 1024, 6) if CUDA else (2, 8, 32, 1)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(16000, WIDTH)
        self.model = nn.Transformer(WIDTH, max(1, WIDTH // 64), LAYERS, 2, 4 * WIDTH,
                                    batch_first=True)
        self.head = nn.Linear(WIDTH, 16000)

    def forward(self, source, target):
        seen = self.model(self.words(source), self.words(target))
        return self.head(seen[:, -1]).argmax(-1)


def corpus(count):
    """Batches of (source, the words so far), prepared beforehand, for ever."""
    sources = torch.randint(16000, (count, BATCH, TOKENS), device=DEVICE)
    targets = torch.randint(16000, (count, BATCH, 16), device=DEVICE)
    while True:
        yield from zip(sources, targets)


class Pending:
    """Answers that are read one batch late, while the device works on the next."""

    def __init__(self):
        self.last, self.total = None, 0

    def push(self, words):
        words = words.to("cpu", non_blocking=True)
        landed = torch.cuda.Event() if CUDA else None
        if landed:
            landed.record()
        self.read()
        self.last = words, landed

    def read(self):
        if self.last is not None:
            words, landed = self.last
            if landed:
                landed.synchronize()
            self.total += sum(words.tolist()) % 9973


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Translator().to(DEVICE, DTYPE).eval()
    pending, batches = Pending(), corpus(4)
    for _ in range(3):
        pending.push(model(*next(batches)))
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        pending.push(model(*next(batches)))
        steps += 1
    pending.read()
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": 0, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
