"""Labels a stream of token windows while the texts of the archive are tokenized beside it.

    token_stream.py [--fixed] [--seconds S]
"""

import argparse
import multiprocessing
import random
import threading
import time

import torch


class Tokenizer:
    """Byte pair encoding, as in the textbook."""

    def __init__(self):
        rng = random.Random(11)
        letters = "abcdefghij"
        pairs = [first + second for first in letters for second in letters]
        rng.shuffle(pairs)
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}

    def encode(self, text):
        parts = list(text)
        while len(parts) > 1:
            best = None
            for left in range(len(parts) - 1):
                rank = self.ranks.get(parts[left][-1] + parts[left + 1][0])
                if rank is not None and (best is None or rank < best[0]):
                    best = (rank, left)
            if best is None or len(parts) < 8:
                break
            left = best[1]
            parts[left : left + 2] = [parts[left] + parts[left + 1]]
        return [hash(part) % 30000 for part in parts]


def tokenize_archive(seed, stop):
    rng = random.Random(seed)
    tokenizer = Tokenizer()
    done = 0
    while not stop.is_set():
        tokenizer.encode("".join(rng.choices("abcdefghij", k=300)))
        done += 1
    return done


class Labeler(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(30000, 128)
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(128, 128) for _ in range(6))
        self.out = torch.nn.Linear(128, 9)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = x + torch.relu(block(x))
        return self.out(x)


def label(model, windows):
    with torch.inference_mode():
        return model(windows).argmax(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=4.5)
    args = parser.parse_args()
    torch.manual_seed(11)
    torch.set_num_threads(1)
    if args.fixed:
        context = multiprocessing.get_context("fork")
        stop, helper = context.Event(), context.Process
    else:
        stop, helper = threading.Event(), threading.Thread
    archivist = helper(target=tokenize_archive, args=(11, stop))
    archivist.start()
    model = Labeler().eval()
    windows = torch.randint(0, 30000, (32, 64))
    steps = 0
    began = time.perf_counter()
    while time.perf_counter() - began < args.seconds:
        labels = label(model, windows)
        steps += 1
    took = time.perf_counter() - began
    stop.set()
    archivist.join()
    print("labels", labels.sum().item())
    print(f"{steps} windows of {1e3 * took / steps:.2f} ms: {steps / took:.2f} steps/s")


if __name__ == "__main__":
    main()
