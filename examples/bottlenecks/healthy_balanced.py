"""A healthy service: the host prepares the next batch while the GPU computes this one, and both
take about as long."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from harness import Clock, options
from models import build, encoder

WIDTH, ROWS, TOKENS = 1024, 64, 128


def seconds(call):
    """How long it takes, the best of five."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


class Preparation:
    """Scales recorded sound with NumPy, which lets go of the interpreter while it works."""

    def __init__(self):
        rng = np.random.default_rng(7)
        self.sound = rng.standard_normal((ROWS, TOKENS, WIDTH)).astype(np.float32)
        self.scaled = self.sound.copy()
        self.buffers = [torch.empty(ROWS, TOKENS, WIDTH).pin_memory() for _ in range(3)]
        self.passes = 0  # over a row

    def prepare(self, number):
        for each in range(self.passes):
            row = each % ROWS
            np.multiply(self.sound[row], 0.99, out=self.scaled[row])
        buffer = self.buffers[number % len(self.buffers)]
        buffer.copy_(torch.from_numpy(self.scaled))
        return buffer

    def tune(self, wanted_s, helper, work):
        """Chooses the passes so that a batch takes that long beside the other thread's work."""
        self.passes = 4 * ROWS
        for _ in range(4):
            times = []
            for number in range(5):
                preparing = helper.submit(self.timed, number)
                work()
                times.append(preparing.result())
            self.passes = max(1, round(self.passes * wanted_s / sorted(times)[2]))

    def timed(self, number):
        begin = time.perf_counter()
        self.prepare(number)
        return time.perf_counter() - begin


class Recogniser:
    def __init__(self, model, device):
        self.model = model
        self.device = device

    @torch.inference_mode()
    def recognise(self, batch):
        hidden = self.model(batch.to(self.device, non_blocking=True).bfloat16())
        return hidden.mean(dim=1).argmax(dim=-1).tolist()


def main():
    args = options(__doc__, steps=250)
    recogniser = Recogniser(build(lambda: encoder(WIDTH, 16, 24), args.device, args.dtype),
                            args.device)
    preparation = Preparation()
    clock = Clock(args)
    with ThreadPoolExecutor(1, thread_name_prefix="prepare") as helper:
        def work():
            recogniser.recognise(preparation.buffers[0])
        # Both are slower beside each other than alone, and not on every machine by as much.
        preparation.tune(0.85 * seconds(work), helper, work)
        following = helper.submit(preparation.prepare, 0)
        while True:
            batch = following.result()
            following = helper.submit(preparation.prepare, clock.count + 1)
            if clock.step(recogniser.recognise(batch)):
                break
    clock.finish()


if __name__ == "__main__":
    main()
