"""A healthy service with little to do: a request every 40 ms or so; it waits for the next one."""

import queue
import random
import threading
import time

import torch

from harness import Clock, options
from models import build, encoder


class Visitors(threading.Thread):
    """Asks now and then."""

    def __init__(self, requests, width, dtype, mean_s):
        super().__init__(name="visitors", daemon=True)
        self.requests = requests
        self.rng = random.Random(7)
        self.mean_s = mean_s
        self.questions = [torch.randn(2, 32, width, dtype=dtype) for _ in range(8)]

    def run(self):
        number = 0
        while True:
            time.sleep(self.rng.uniform(0.5, 1.5) * self.mean_s)
            self.requests.put(self.questions[number % len(self.questions)])
            number += 1


class Server:
    def __init__(self, model, device):
        self.model = model
        self.device = device
        self.requests = queue.Queue()

    @torch.inference_mode()
    def answer(self, question):
        hidden = self.model(question.to(self.device))
        return hidden.mean(dim=1).argmax(dim=-1).tolist()

    def serve(self, clock):
        while True:
            question = self.requests.get()
            if clock.step(self.answer(question)):
                return


def main():
    args = options(__doc__, steps=90, cpu_steps=60)
    width, layers = (512, 4) if args.on_gpu else (64, 1)
    server = Server(build(lambda: encoder(width, 8, layers), args.device, args.dtype),
                    args.device)
    Visitors(server.requests, width, args.dtype, mean_s=0.04).start()
    clock = Clock(args)
    server.serve(clock)
    clock.finish()


if __name__ == "__main__":
    main()
