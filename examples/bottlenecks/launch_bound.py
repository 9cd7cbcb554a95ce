"""Generates text for one user at a time with a small language model.

Slow:  some 300 tiny kernels for each token, launched one by one; the GPU waits for the host.
Fixed: a token's kernels are captured once in a CUDA graph and launched together.
"""

import torch

from harness import Clock, options
from models import Decoder, build

VOCABULARY = 8000
LENGTH = 32  # tokens of an answer
CONTEXT = 128


class EagerStep:
    """The next token, launched kernel by kernel."""

    def __init__(self, model, device):
        self.model = model
        self.token = torch.zeros(1, dtype=torch.long, device=device)
        self.position = torch.zeros(1, dtype=torch.long, device=device)

    def advance(self):
        scores = self.model(self.token, self.position)  # <- slow
        self.token.copy_(scores.argmax(dim=-1))
        self.position.add_(1)

    def __call__(self):
        self.advance()
        return self.token


class GraphStep(EagerStep):
    """The same kernels, as one graph."""

    def __init__(self, model, device):
        super().__init__(model, device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.advance()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.advance()

    def __call__(self):
        self.graph.replay()
        return self.token


class Chat:
    def __init__(self, step, device):
        self.step = step
        self.answer = torch.zeros(LENGTH, dtype=torch.long, device=device)

    @torch.inference_mode()
    def reply(self, token):
        self.step.token.fill_(token)
        self.step.position.zero_()
        for place in range(LENGTH):
            self.answer[place:place + 1] = self.step()
        return self.answer.tolist()


def main():
    args = options(__doc__, steps=40)
    model = build(lambda: Decoder(VOCABULARY, 1, 512, 8, 16, CONTEXT), args.device, torch.bfloat16)
    with torch.inference_mode():
        step = (GraphStep if args.fixed else EagerStep)(model, args.device)
    chat = Chat(step, args.device)
    clock = Clock(args)
    token = 1
    while True:
        answer = chat.reply(token)
        token = 1 + answer[-1] % (VOCABULARY - 1)
        if clock.step(answer):
            break
    clock.finish()


if __name__ == "__main__":
    main()
