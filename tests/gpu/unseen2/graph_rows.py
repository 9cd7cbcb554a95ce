"""Scores the passages of a question with an encoder that was captured into a CUDA graph."""

import argparse
import json
import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
PASSAGES, TOKENS, WIDTH, LAYERS = (16, 96, 512, 8) if CUDA else (4, 8, 32, 1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(4096, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, words):
        return self.score(self.body(self.words(words)).mean(1)).flatten()


class Captured:
    """The model for one shape of input, replayed."""

    def __init__(self, model, batch):
        self.words = torch.zeros(batch, TOKENS, dtype=torch.long, device=DEVICE)
        self.model, self.graph = model, None
        if not CUDA:
            return
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(self.words)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.scores = model(self.words)

    def __call__(self, words):
        self.words.copy_(words)
        if self.graph is None:
            return self.model(self.words)
        self.graph.replay()
        return self.scores.clone()


class Reader:
    def __init__(self, fixed):
        torch.manual_seed(0)
        model = Encoder().to(DEVICE, DTYPE).eval()
        self.scorer = Captured(model, PASSAGES if fixed else 1)
        self.rank = self.rank_all if fixed else self.rank_each

    def rank_each(self, passages):
        scores = [self.scorer(passage[None]) for passage in passages]  # <- slow
        return torch.cat(scores).argsort(descending=True)

    def rank_all(self, passages):
        return self.scorer(passages).argsort(descending=True)


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    reader = Reader(args.fixed)
    questions = torch.randint(4096, (8, PASSAGES, TOKENS), device=DEVICE)
    best = [reader.rank(question).tolist()[0] for question in questions]
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        reader.rank(questions[steps % 8]).tolist()
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": sum(best), "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
