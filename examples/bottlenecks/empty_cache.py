"""Embeds documents section by section, beside other processes on the GPU; polite about memory.

Slow:  after each document the allocator gives everything back, and asks for it again.
Fixed: the allocator keeps what the next document will need.
"""

import torch

from harness import Clock, options
from models import build, encoder

WIDTH = 1024


class Embedder:
    def __init__(self, model, device, give_back):
        self.model = model
        self.device = device
        self.give_back = give_back

    @torch.inference_mode()
    def embed(self, sections):
        """One vector for the document: its sections side by side, then their mean."""
        hidden = [self.model(section.to(self.device, non_blocking=True)) for section in sections]
        return torch.cat(hidden, dim=1).mean(dim=1)

    def handle(self, sections):
        vectors = self.embed(sections)
        answer = vectors.argmax(dim=-1).tolist()
        del vectors
        if self.give_back:
            self.clean_up()
        return answer

    def clean_up(self):
        torch.cuda.empty_cache()  # <- slow


def main():
    args = options(__doc__, steps=120)
    model = build(lambda: encoder(WIDTH, 16, 2), args.device, args.dtype)
    embedder = Embedder(model, args.device, give_back=not args.fixed)
    document = [torch.randn(48, tokens, WIDTH).to(args.dtype).pin_memory()
                for tokens in range(128, 256, 16)]
    clock = Clock(args)
    while not clock.step(embedder.handle(document)):
        document = document[1:] + document[:1]
    clock.finish()


if __name__ == "__main__":
    main()
