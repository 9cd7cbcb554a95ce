"""Speculative decoding: a small model drafts six tokens, the large one checks them in one pass.
Both are captured as CUDA graphs."""

import argparse
import json
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, WINDOW, DRAFTED, WORDS = 16, 64, 6, 2048
WIDTH, LAYERS, HEADS = (1024, 12, 16) if CUDA else (64, 2, 4)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        rows, length, _ = x.shape
        qkv = self.qkv(self.before(x)).view(rows, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Large(nn.Module):
    def __init__(self, pairs):
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.pairs = pairs

    def forward(self, tokens):
        """The best token after each of the last DRAFTED + 1."""
        tail = tokens[:, -DRAFTED - 1:]
        states = self.blocks(self.words(tokens))[:, -DRAFTED - 1:]
        return (self.pairs[tail] + 0.05 * self.head(states)).argmax(-1)


class Small(nn.Module):
    """Knows which word follows which."""

    def __init__(self, pairs):
        super().__init__()
        self.pairs = pairs

    def forward(self, tokens):
        drafted = [tokens[:, -1]]
        for _ in range(DRAFTED):
            drafted.append(self.pairs[drafted[-1]].argmax(-1))
        return torch.stack(drafted[1:], 1)


class Captured:
    """A model as one graph; its next call overwrites what it answered."""

    def __init__(self, model, example):
        self.model, self.given, self.graph = model, example.clone(), None
        if not CUDA:
            return
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                model(self.given)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.answer = model(self.given)

    def __call__(self, given):
        if not self.graph:
            return self.model(given)
        self.given.copy_(given)
        self.graph.replay()
        return self.answer


@dataclass
class Round:
    drafted: torch.Tensor
    checked: torch.Tensor

    @property
    def kept(self):
        """How many tokens of each row the large model would have said as well."""
        counts = []
        for drafted, checked in zip(self.drafted, self.checked):
            count = 0
            while count < DRAFTED and drafted[count] == checked[count]:  # <- slow
                count += 1
            counts.append(count)
        return torch.tensor(counts, device=DEVICE)


class RoundAtOnce(Round):
    @property
    def kept(self):
        same = self.drafted == self.checked[:, :DRAFTED]
        return same.long().cumprod(1).sum(1)


class Decoder:
    def __init__(self, kind):
        torch.manual_seed(0)
        pairs = torch.randn(WORDS, WORDS, device=DEVICE).to(DTYPE)
        self.window = torch.randint(0, WORDS, (ROWS, WINDOW), device=DEVICE)
        with torch.device(DEVICE):
            large = Large(pairs).to(DTYPE).eval()
        with torch.inference_mode():
            self.large = Captured(large, self.window)
            self.small = Captured(Small(pairs), self.window)
        self.kind, self.places = kind, torch.arange(WINDOW, device=DEVICE)

    @torch.inference_mode()
    def round(self):
        """Each row goes on by what was kept, and the large model's next token."""
        drafted = self.small(self.window)
        checked = self.large(torch.cat([self.window, drafted], 1)[:, DRAFTED:])
        kept = self.kind(drafted, checked).kept
        both = torch.cat([self.window, checked], 1)
        self.window = both.gather(1, self.places + kept[:, None] + 1)
        return sum(kept.tolist()) + ROWS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    decoder = Decoder(RoundAtOnce if args.fixed else Round)
    for _ in range(4):
        decoder.round()
    digest = int(decoder.window.sum())
    steps, tokens, start = 0, 0, time.perf_counter()
    while steps < 6 or time.perf_counter() - start < args.seconds:
        tokens += decoder.round()
        steps += 1
    took = time.perf_counter() - start
    print("%.0f tokens/s, %.1f of %d kept" % (tokens / took, tokens / steps / ROWS - 1, DRAFTED))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
