"""A decoder that replays a CUDA graph for each token and reads each token back."""

import argparse
import json
import time

import torch
from torch import nn

TOKENS, WIDTH, VOCABULARY = 32, 1024, 8000


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                          nn.Linear(4 * WIDTH, WIDTH)) for _ in range(8))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, token):
        hidden = self.embed(token)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        return self.head(hidden).argmax(-1)


class Captured:
    """The decoder's step as a CUDA graph over static tensors."""

    def __init__(self, decoder):
        self.token = torch.zeros(1, dtype=torch.long, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                decoder(self.token)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.next = decoder(self.token)

    def step(self):
        self.graph.replay()
        self.token.copy_(self.next)


def answer(captured, prompt, read_each):
    captured.token.fill_(prompt)
    tokens = []
    for _ in range(TOKENS):
        captured.step()
        tokens.append(captured.token.item() if read_each else captured.token.clone())  # <- slow
    return tokens if read_each else torch.stack(tokens).flatten().tolist()


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="tokens are read once a request")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    captured = Captured(Decoder().to("cuda", torch.bfloat16).eval())
    first = answer(captured, 1, not args.fixed)
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        answer(captured, steps % VOCABULARY, not args.fixed)
        steps += 1
    took = time.perf_counter() - start
    print(json.dumps({"digest": first[-4:], "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
