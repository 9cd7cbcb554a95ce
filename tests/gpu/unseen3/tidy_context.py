"""Recognizes speech: an acoustic model on the GPU, a lexicon of words as a tree in Python."""

import argparse
import contextlib
import gc
import json
import random
import string
import time
import zlib

import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, FRAMES, BANDS = 16, 400, 80
WIDTH, LAYERS = (768, 6) if CUDA else (32, 1)
LETTERS = "-" + string.ascii_lowercase
WORDS = 50000


class Node:
    def __init__(self):
        self.next, self.word = {}, None


class Lexicon:
    def __init__(self):
        some, self.root = random.Random(0), Node()
        for _ in range(WORDS):
            self.add("".join(some.choices(LETTERS[1:], k=some.randint(3, 9))))

    def add(self, word):
        node = self.root
        for letter in word:
            if letter not in node.next:
                node.next[letter] = Node()
            node = node.next[letter]
        node.word = word

    def words(self, text):
        """The longest words that the text is made of; what is none is skipped."""
        found, at = [], 0
        while at < len(text):
            node, best = self.root, None
            for letter in text[at:at + 9]:
                node = node.next.get(letter)
                if node is None:
                    break
                best = node.word or best
            found += [best] if best else []
            at += len(best) if best else 1
        return found


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv1d(BANDS, WIDTH, 5, 2, 2)
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, sound):
        return self.head(self.body(self.enter(sound).mT)).argmax(-1)


@contextlib.contextmanager
def own_memory(tidy):
    """A request's memory is given back with it."""
    try:
        yield
    finally:
        if tidy:
            gc.collect()  # <- slow


class Recognizer:
    def __init__(self, tidy):
        torch.manual_seed(0)
        self.model, self.lexicon = Acoustic().to(DEVICE, DTYPE).eval(), Lexicon()
        self.tidy = tidy

    def text(self, best):
        """Repeated letters are one, and pauses are none."""
        letters = [letter for letter, before in zip(best, [0] + best) if letter != before]
        return "".join(LETTERS[letter] for letter in letters if letter)

    @torch.inference_mode()
    def recognize(self, sound):
        with own_memory(self.tidy):
            best = self.model(sound.to(DEVICE, DTYPE)).tolist()
            return [self.lexicon.words(self.text(row)) for row in best]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    recognizer = Recognizer(tidy=not args.fixed)
    maker = torch.Generator().manual_seed(1)
    sounds = [torch.randn(ROWS, BANDS, FRAMES, generator=maker) for _ in range(3)]
    digest = zlib.crc32(repr([recognizer.recognize(sound) for sound in sounds]).encode())
    steps, words, start = 0, 0, time.perf_counter()
    while steps < 6 or time.perf_counter() - start < args.seconds:
        words += sum(map(len, recognizer.recognize(sounds[steps % len(sounds)])))
        steps += 1
    took = time.perf_counter() - start
    print("%.1f requests/s, %d words" % (steps / took, words))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
