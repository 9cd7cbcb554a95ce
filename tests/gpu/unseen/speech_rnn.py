"""A hand-written LSTM over the frames of an utterance; NVTX ranges for the vendor's tools."""

import argparse
import contextlib
import time

import torch
from torch import nn


def ranged(name, device):
    return torch.cuda.nvtx.range(name) if device == "cuda" else contextlib.nullcontext()


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.x = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.h = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x, h, c):
        i, f, g, o = (a(x) + b(h) for a, b in zip(self.x, self.h))  # <- slow
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)  # <- slow
        return torch.sigmoid(o) * torch.tanh(c), c  # <- slow


@torch.inference_mode()
def transcribe(cell, sound):
    h = c = torch.zeros_like(sound[0])
    heard = []
    for frame in sound:
        h, c = cell(frame, h, c)
        heard.append(h)
    return torch.stack(heard).argmax(-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--frames", type=int, default=100)
    args = parser.parse_args()
    torch.manual_seed(0)
    cell = Cell(256).to(args.device).eval()
    sound = torch.randn(args.frames, 1, 256, device=args.device)
    transcribe(cell, sound).cpu()
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        with ranged("utterance", args.device):
            transcribe(cell, sound).cpu()
        steps += 1
    print("steps=%d ms_per_step=%.3f" % (steps, (time.perf_counter() - start) * 1000 / steps))


if __name__ == "__main__":
    main()
