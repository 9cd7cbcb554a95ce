"""Generates text for a batch of prompts with captured kernels, and looks at every token at once.

Slow:  .item() on each new token of each sequence: the GPU runs dry while the host asks.
Fixed: the ends are noted on the GPU and asked for once in a while.
"""

import torch

from harness import Clock, options
from models import Decoder, build

VOCABULARY = 8000
END = 0
ASK_EVERY = 16  # tokens


class Step:
    """The next token of each sequence; on a GPU all of its kernels are one graph."""

    def __init__(self, model, batch, device):
        self.model = model
        self.tokens = torch.zeros(batch, dtype=torch.long, device=device)
        self.position = torch.zeros(1, dtype=torch.long, device=device)
        self.graph = self.capture() if device == "cuda" else None

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.advance()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.advance()
        return graph

    def advance(self):
        self.tokens.copy_(self.model(self.tokens, self.position).argmax(dim=-1))
        self.position.add_(1)

    def start(self, prompt):
        self.tokens.copy_(prompt)
        self.position.zero_()

    def __call__(self):
        if self.graph:
            self.graph.replay()
        else:
            self.advance()
        return self.tokens


class Generator:
    def __init__(self, step, batch):
        self.step = step
        self.batch = batch

    @torch.inference_mode()
    def generate_checked(self, prompt, count):
        """Stops as soon as all sequences are at their end."""
        finished, texts = [False] * self.batch, []
        self.step.start(prompt)
        for _ in range(count):
            tokens = self.step()
            texts.append(tokens.clone())
            for row in range(self.batch):
                if tokens[row].item() == END:  # <- slow
                    finished[row] = True
            if all(finished):
                break
        return torch.stack(texts, dim=1).tolist()

    @torch.inference_mode()
    def generate_ahead(self, prompt, count):
        """Generates up to ASK_EVERY tokens that nobody needs, and waits seldom."""
        texts, finished = [], torch.zeros_like(prompt, dtype=torch.bool)
        self.step.start(prompt)
        for place in range(1, count + 1):
            tokens = self.step()
            texts.append(tokens.clone())
            finished |= tokens == END
            if place % ASK_EVERY == 0 and finished.all().item():
                break
        return torch.stack(texts, dim=1).tolist()


def main():
    args = options(__doc__, steps=30, cpu_steps=15)
    batch, width, layers, count = (32, 2048, 12, 32) if args.on_gpu else (4, 64, 2, 24)
    model = build(lambda: Decoder(VOCABULARY, batch, width, 16, layers, 256), args.device,
                  args.dtype)
    with torch.inference_mode():
        generator = Generator(Step(model, batch, args.device), batch)
    generate = generator.generate_ahead if args.fixed else generator.generate_checked
    clock = Clock(args)
    while True:
        prompt = torch.randint(1, VOCABULARY, (batch,)).to(args.device)
        if clock.step(generate(prompt, count)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
