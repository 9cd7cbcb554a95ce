"""Answers' sources for a batch of questions: embed, search an index on the GPU, rerank what was
found.  A batch's answer is read when the next one is under way."""

import argparse
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
QUESTIONS, LENGTH, FOUND, WORDS = (64, 32, 8, 8192) if CUDA else (4, 8, 2, 256)
PASSAGES, PASSAGE = (200000, 64) if CUDA else (500, 8)
WIDTH, LAYERS, HEADS = (1024, 8, 16) if CUDA else (64, 2, 4)


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
        seen = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Encoder(nn.Module):
    def __init__(self, answers):
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, answers)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))

    def forward(self, tokens):
        return self.head(self.blocks(self.words(tokens)).mean(1))


class Sources:
    def __init__(self):
        torch.manual_seed(0)
        with torch.device(DEVICE):
            self.embedder = Encoder(WIDTH).to(DTYPE).eval()
            self.reranker = Encoder(1).to(DTYPE).eval()
        self.index = torch.randn(PASSAGES, WIDTH, device=DEVICE).to(DTYPE)
        self.texts = torch.randint(0, WORDS, (PASSAGES, PASSAGE), device=DEVICE)

    def search(self, questions):
        """Passages' numbers, the best first."""
        scores = F.normalize(self.embedder(questions), dim=1) @ self.index.T
        found = scores.topk(FOUND, 1).indices
        pairs = torch.cat([questions[:, None].expand(-1, FOUND, -1), self.texts[found]], 2)
        ranks = self.reranker(pairs.flatten(0, 1)).view(-1, FOUND)
        return found.gather(1, ranks.argsort(1, descending=True))


class Answers:
    """Two buffers: one is filled while the other one is read."""

    def __init__(self):
        self.hosts = [torch.empty(QUESTIONS, FOUND, dtype=torch.long, pin_memory=CUDA)
                      for _ in range(2)]
        self.under_way = []

    def begin(self, number, found):
        host = self.hosts[number % 2]
        host.copy_(found, non_blocking=True)
        self.under_way.append((host, torch.cuda.current_stream().record_event() if CUDA else None))

    def finish(self):
        host, done = self.under_way.pop(0)
        if done:
            done.synchronize()
        return host.tolist()


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    sources, answers = Sources(), Answers()
    maker = torch.Generator().manual_seed(1)
    batches = [torch.randint(0, WORDS, (QUESTIONS, LENGTH), generator=maker) for _ in range(4)]
    batches = [batch.pin_memory() if CUDA else batch for batch in batches]
    for _ in range(3):
        answers.begin(0, sources.search(batches[0].to(DEVICE, non_blocking=True)))
        digest = sum(map(sum, answers.finish()))
    steps, start = 0, time.perf_counter()
    while steps < 6 or time.perf_counter() - start < args.seconds:
        questions = batches[steps % len(batches)].to(DEVICE, non_blocking=True)
        answers.begin(steps, sources.search(questions))
        if steps:
            answers.finish()
        steps += 1
    answers.finish()
    took = time.perf_counter() - start
    print("%.0f questions/s" % (steps * QUESTIONS / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
