"""Classifies product descriptions; the tokenizer is a Python loop over every word's letters.

Slow:  each word is split anew, letter by letter, while the GPU waits for the batch.
Fixed: words repeat, so what a word was split into is kept.
"""

import functools
import random

import torch

from harness import Clock, options
from models import build, classifier

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LABELS = 16
TOKENS = 256  # in a row


class Tokenizer:
    """Longest match first, as WordPiece does it."""

    def __init__(self, rng, remember):
        pieces = list(LETTERS)
        pieces += {"".join(rng.choices(LETTERS, k=rng.randint(2, 4))) for _ in range(3000)}
        self.ids = {piece: number for number, piece in enumerate(sorted(set(pieces)), 1)}
        self.split = functools.lru_cache(maxsize=65536)(self.split_word) if remember \
            else self.split_word

    def split_word(self, word):
        ids, start = [], 0
        while start < len(word):
            end = len(word)
            while word[start:end] not in self.ids:  # <- slow
                end -= 1  # <- slow
            ids.append(self.ids[word[start:end]])
            start = end
        return ids

    def encode(self, text):
        ids = [number for word in text.split() for number in self.split(word)][:TOKENS]
        return ids + [0] * (TOKENS - len(ids))


class Service:
    def __init__(self, tokenizer, model, device):
        self.tokenizer = tokenizer
        self.model = model
        self.device = device

    @torch.inference_mode()
    def classify(self, texts):
        ids = torch.tensor([self.tokenizer.encode(text) for text in texts])
        scores = self.model(ids.to(self.device)).mean(dim=1)
        return scores.argmax(dim=-1).tolist()


def requests(rng, batch):
    lexicon = ["".join(rng.choices(LETTERS, k=rng.randint(10, 24))) for _ in range(1500)]
    while True:
        yield [" ".join(rng.choices(lexicon, k=24)) for _ in range(batch)]


def main():
    args = options(__doc__, steps=120, cpu_steps=40)
    rng = random.Random(7)
    tokenizer = Tokenizer(rng, remember=args.fixed)
    width, layers, batch = (512, 6, 32) if args.on_gpu else (32, 1, 8)
    model = build(lambda: classifier(1 + len(tokenizer.ids), width, width // 32, layers, LABELS),
                  args.device, args.dtype)
    service = Service(tokenizer, model, args.device)
    clock = Clock(args)
    for texts in requests(rng, batch):
        if clock.step(service.classify(texts)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
