"""Sentence embeddings with a cache of the ones asked for lately.

    sentence_cache.py [--fixed]
"""

import argparse
import random
import time
from collections import OrderedDict

import torch
from torch import nn


class LruCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.entries = OrderedDict()
        self.hits = self.misses = 0

    def get(self, key):
        if key in self.entries:
            self.entries.move_to_end(key)
            self.hits += 1
            return self.entries[key]
        self.misses += 1
        return None

    def put(self, key, value):
        self.entries[key] = value
        if len(self.entries) > self.capacity:
            self.entries.popitem(last=False)


class Encoder(nn.Module):
    def __init__(self, width=192, layers=3):
        super().__init__()
        self.tokens = nn.Embedding(8000, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, ids):
        return nn.functional.normalize(self.layers(self.tokens(ids)).mean(1), dim=1)


class EmbeddingService:
    def __init__(self, fixed):
        self.encoder = Encoder().eval()
        self.cache = LruCache(400)
        self.embed = self.embed_together if fixed else self.embed_each

    def embed_each(self, sentences):
        vectors = []
        for sentence in sentences:
            vector = self.cache.get(sentence)
            if vector is None:
                ids = torch.tensor([sentence])
                vector = self.encoder(ids)[0]
                self.cache.put(sentence, vector)
            vectors.append(vector)
        return torch.stack(vectors)

    def embed_together(self, sentences):
        found = {sentence: self.cache.get(sentence) for sentence in sentences}
        missing = [sentence for sentence, vector in found.items() if vector is None]
        if missing:
            for sentence, vector in zip(missing, self.encoder(torch.tensor(missing))):
                found[sentence] = vector
                self.cache.put(sentence, vector)
        return torch.stack([found[sentence] for sentence in sentences])


def requests(count, per_request=24):
    rng = random.Random(10)
    popular = [tuple(rng.randrange(8000) for _ in range(8)) for _ in range(200)]
    for _ in range(count):
        fresh = [tuple(rng.randrange(8000) for _ in range(8)) for _ in range(per_request)]
        yield [rng.choice(popular) if rng.random() < 0.3 else sentence for sentence in fresh]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--requests", type=int, default=110)
    args = parser.parse_args()
    torch.manual_seed(10)
    torch.set_num_threads(1)
    service = EmbeddingService(args.fixed)
    total = torch.zeros(192)
    began = time.perf_counter()
    with torch.inference_mode():
        for sentences in requests(args.requests):
            total += service.embed(sentences).sum(0)
    took = time.perf_counter() - began
    print(f"norm {total.norm().item():.3f}, {service.cache.hits} hits")
    count = args.requests
    print(f"{count} requests of {1e3 * took / count:.2f} ms: {count / took:.2f} steps/s")


if __name__ == "__main__":
    main()
