"""Encodes a corpus in large bf16 batches that wait on the GPU: nothing to fix."""

import argparse
import time

import torch
from torch import nn


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--width", type=int, default=2048)
    args = parser.parse_args()
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(args.width, args.width // 64, 4 * args.width,
                                       batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    model = model.to(args.device, torch.bfloat16).eval()
    texts = torch.randn(args.batch, 256, args.width, device=args.device, dtype=torch.bfloat16)
    model(texts).sum().item()
    steps, start, vectors = 0, time.perf_counter(), None
    while steps < 20 or time.perf_counter() - start < args.seconds:
        pending, vectors = vectors, model(texts).mean(1).float()
        if pending is not None:
            pending.sum().item()
        steps += 1
    vectors.cpu()
    print("steps=%d ms_per_step=%.3f" % (steps, (time.perf_counter() - start) * 1000 / steps))


if __name__ == "__main__":
    main()
