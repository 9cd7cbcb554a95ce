"""Generates text for a batch of prompts and looks at every token of every sequence at once.

Slow:  .item() on each new token: the GPU runs dry as often as a token is looked at.
Fixed: the ends are noted on the GPU and asked for once in a while.
"""

import torch

from harness import Clock, options
from models import Decoder, build

VOCABULARY = 8000
END = 0
ASK_EVERY = 16  # tokens


class Generator:
    def __init__(self, model, batch, device):
        self.model = model
        self.batch = batch
        self.positions = torch.arange(1024, device=device).split(1)

    def next_tokens(self, tokens, place):
        return self.model(tokens, self.positions[place]).argmax(dim=-1)

    @torch.inference_mode()
    def generate_checked(self, prompt, count):
        """Stops as soon as all sequences are at their end."""
        tokens, finished, texts = prompt, [False] * self.batch, []
        for place in range(count):
            tokens = self.next_tokens(tokens, place)
            for row in range(self.batch):
                if tokens[row].item() == END:  # <- slow
                    finished[row] = True
            texts.append(tokens)
            if all(finished):
                break
        return torch.stack(texts, dim=1).tolist()

    @torch.inference_mode()
    def generate_ahead(self, prompt, count):
        """Generates up to ASK_EVERY tokens that nobody needs, and waits seldom."""
        tokens, texts = prompt, []
        finished = torch.zeros_like(prompt, dtype=torch.bool)
        for place in range(count):
            tokens = self.next_tokens(tokens, place)
            finished |= tokens == END
            texts.append(tokens)
            if place % ASK_EVERY == ASK_EVERY - 1 and finished.all().item():
                break
        return torch.stack(texts, dim=1).tolist()


def main():
    args = options(__doc__, steps=30, cpu_steps=15)
    batch, width, layers, count = (32, 1024, 8, 48) if args.on_gpu else (4, 64, 2, 24)
    model = build(lambda: Decoder(VOCABULARY, batch, width, 8, layers, 256), args.device,
                  args.dtype)
    generator = Generator(model, batch, args.device)
    generate = generator.generate_ahead if args.fixed else generator.generate_checked
    clock = Clock(args)
    while True:
        prompt = torch.randint(1, VOCABULARY, (batch,)).to(args.device)
        if clock.step(generate(prompt, count)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
