"""A model whose layers wait in pinned host memory; the next one travels while this one computes."""

import argparse
import contextlib
import json
import time

import torch
import torch.nn.functional as F

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
LAYERS, WIDTH, TOKENS = (12, 2048, 256) if CUDA else (3, 32, 8)


def make_layer():
    weights = torch.randn(8 * WIDTH * WIDTH, device=DEVICE) * WIDTH ** -0.5
    return torch.empty(weights.shape, dtype=DTYPE, pin_memory=CUDA).copy_(weights)


def mlp(x, weights):
    up = weights[:4 * WIDTH * WIDTH].view(4 * WIDTH, WIDTH)
    down = weights[4 * WIDTH * WIDTH:].view(WIDTH, 4 * WIDTH)
    return F.layer_norm(x + F.linear(F.gelu(F.linear(x, up)), down), (WIDTH,))


class Offloaded:
    """Two places on the device; a layer is sent to one while the other is used."""

    def __init__(self, layers):
        self.layers = layers
        self.slots = [torch.empty_like(layers[0], device=DEVICE) for _ in range(2)]
        if CUDA:
            self.copies = torch.cuda.Stream()
            self.arrived = [torch.cuda.Event() for _ in range(2)]
            self.free = [torch.cuda.Event() for _ in range(2)]

    def send(self, nth):
        slot = nth % 2
        with torch.cuda.stream(self.copies) if CUDA else contextlib.nullcontext():
            if CUDA:
                self.copies.wait_event(self.free[slot])
            self.slots[slot].copy_(self.layers[nth], non_blocking=True)  # <- slow
            if CUDA:
                self.arrived[slot].record()

    def weights(self):
        """Each layer's, in turn."""
        self.send(0)
        for nth in range(len(self.layers)):
            if nth + 1 < len(self.layers):
                self.send(nth + 1)
            if CUDA:
                torch.cuda.current_stream().wait_event(self.arrived[nth % 2])
            yield self.slots[nth % 2]
            if CUDA:
                self.free[nth % 2].record()


class Resident:
    def __init__(self, layers):
        self.layers = [layer.to(DEVICE) for layer in layers]

    def weights(self):
        return iter(self.layers)


@torch.inference_mode()
def infer(store, x):
    for weights in store.weights():
        x = mlp(x, weights)
    return x.mean(0).argmax().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    layers = [make_layer() for _ in range(LAYERS)]
    store = (Resident if args.fixed else Offloaded)(layers)
    inputs = torch.randn(4, TOKENS, WIDTH, device=DEVICE, dtype=DTYPE)
    digest = sum(infer(store, inputs[nth]) for nth in range(4))
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        infer(store, inputs[steps % 4])
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
