"""Classifies pictures; what was said of each goes to an audit log, which a shipper takes away."""

import argparse
import json
import logging
import subprocess
import sys
import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
BATCH, SIDE, WIDTH = (64, 224, 64) if CUDA else (4, 32, 8)
CLASSES = 1000

# Sends what it reads to a machine far away, 64 kB at a time.
SHIPPER = """
import os, time
while os.read(0, 65536):
    time.sleep(0.003)
"""


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [3, WIDTH, 2 * WIDTH, 4 * WIDTH, 8 * WIDTH]
        stages = []
        for before, after in zip(widths, widths[1:]):
            stages += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after),
                       nn.ReLU()]
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(8 * WIDTH, CLASSES)

    def forward(self, pictures):
        return self.head(self.stages(pictures).mean((2, 3)))


class Service:
    def __init__(self, audit, verbose):
        torch.manual_seed(0)
        self.model = Classifier().to(DEVICE).eval()
        self.pictures = torch.randn(4, BATCH, 3, SIDE, SIDE, device=DEVICE)
        self.audit, self.verbose = audit, verbose

    @torch.inference_mode()
    def answer(self, number):
        logits = self.model(self.pictures[number % 4]).cpu()
        labels = logits.argmax(1).tolist()
        if self.verbose:
            record = logits.numpy().tobytes().hex()
            self.audit.info("request %d logits %s", number, record)  # <- slow
        else:
            self.audit.info("request %d labels %s", number, labels)
        return labels


def open_audit():
    """A logger whose records go to the shipper's standard input."""
    shipper = subprocess.Popen([sys.executable, "-c", SHIPPER], stdin=subprocess.PIPE,
                               text=True)
    handler = logging.StreamHandler(shipper.stdin)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    audit = logging.getLogger("audit")
    audit.setLevel(logging.INFO)
    audit.addHandler(handler)
    return audit, shipper


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    audit, shipper = open_audit()
    service = Service(audit, verbose=not args.fixed)
    digest = sum(sum(service.answer(number)) for number in range(4))
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        service.answer(steps)
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": ms}))
    shipper.stdin.close()
    shipper.wait()


if __name__ == "__main__":
    main()
