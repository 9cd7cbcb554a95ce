"""Serves an encoder beside other processes on the GPU and is polite about its memory.

Slow:  after each request the allocator gives everything back, and asks for it again.
Fixed: the allocator keeps what the next request will need.
"""

import torch

from harness import Clock, options
from models import build, encoder

WIDTH = 1024


class PoliteServer:
    def __init__(self, model, device, give_back):
        self.model = model
        self.device = device
        self.give_back = give_back

    @torch.inference_mode()
    def embed(self, batch):
        hidden = self.model(batch.to(self.device, non_blocking=True))
        return torch.nn.functional.normalize(hidden.mean(dim=1), dim=-1)

    def handle(self, batch):
        vectors = self.embed(batch)
        answer = vectors.argmax(dim=-1).tolist()
        del vectors
        if self.give_back:
            self.clean_up()
        return answer

    def clean_up(self):
        torch.cuda.empty_cache()  # <- slow


def main():
    args = options(__doc__, steps=300)
    model = build(lambda: encoder(WIDTH, 16, 4), args.device, torch.bfloat16)
    server = PoliteServer(model, args.device, give_back=not args.fixed)
    stored = [torch.randn(rows, 128, WIDTH, dtype=torch.bfloat16).pin_memory()
              for rows in (24, 32, 16, 28)]
    clock = Clock(args)
    while not clock.step(server.handle(stored[clock.count % len(stored)])):
        pass
    clock.finish()


if __name__ == "__main__":
    main()
