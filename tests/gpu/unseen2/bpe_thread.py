"""Scores texts; the next texts are split into word pieces while the model works on these."""

import argparse
import json
import multiprocessing
import random
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
WIDTH, LAYERS = (256, 24) if CUDA else (32, 2)
TEXTS, WORDS, LENGTH = (6, 240, 96) if CUDA else (2, 40, 32)
MERGES = {}


def learn_merges(count=400):
    letters = "etaoinshrdlu"
    pieces = list(letters)
    while len(MERGES) < count:
        pair = random.choice(pieces), random.choice(pieces)
        if pair not in MERGES and len(pair[0]) + len(pair[1]) < 7:
            MERGES[pair] = len(MERGES)
            pieces.append(pair[0] + pair[1])


def split_word(word):
    pieces = list(word)
    while len(pieces) > 1:
        ranks = [MERGES.get(pair, 1 << 30) for pair in zip(pieces, pieces[1:])]  # <- slow
        best = min(ranks)  # <- slow
        if best == 1 << 30:
            break
        at = ranks.index(best)  # <- slow
        pieces[at:at + 2] = [pieces[at] + pieces[at + 1]]  # <- slow
    return pieces


def encode(texts):
    """The numbers of the pieces of each text, all of one length."""
    rows = []
    for text in texts:
        row = [hash_of(piece) for word in text.split() for piece in split_word(word)]
        rows.append((row + [0] * LENGTH)[:LENGTH])
    return rows


def hash_of(piece):
    value = 7
    for letter in piece:
        value = (value * 31 + ord(letter)) % 5000
    return value


def write_texts(count):
    def word():
        return "".join(random.choices("etaoinshrdlu", k=random.randint(3, 12)))
    return [" ".join(word() for _ in range(WORDS)) for _ in range(count)]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.gate, self.up = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        heads = (part.unflatten(-1, (4, -1)).transpose(1, 2)
                 for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.out(F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2))
        normed = self.norm2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5000, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1)).argmax(1)


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    random.seed(1)
    learn_merges()
    requests = [write_texts(TEXTS) for _ in range(16)]
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("fork")) if args.fixed else \
        ThreadPoolExecutor(1)
    ahead = pool.submit(encode, requests[0])  # a process starts before CUDA does
    ahead.result()
    torch.manual_seed(0)
    model = Scorer().to(DEVICE).eval()
    answers, steps, start = [], -2, None
    while start is None or steps < 20 or time.perf_counter() - start < args.seconds:
        if steps == 0:
            start = time.perf_counter()
        rows, ahead = ahead.result(), pool.submit(encode, requests[(steps + 3) % 16])
        labels = model(torch.tensor(rows, device=DEVICE)).tolist()
        steps += 1
        if len(answers) < 16:
            answers.append(labels)
    ms = (time.perf_counter() - start) * 1000 / steps
    pool.shutdown()
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": sum(map(sum, answers)), "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
