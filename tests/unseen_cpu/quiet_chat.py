"""A chat service in the small hours: a decoder with its cache, a request now and then.

    quiet_chat.py [--requests N]
"""

import argparse
import queue
import random
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LONGEST, VOCABULARY = 768, 12, 96, 12000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, cache, position):
        q, k, v = self.qkv(self.norm1(x)).view(-1, 3, HEADS, WIDTH // HEADS).permute(1, 2, 0, 3)
        length = position + q.shape[1]
        cache[0][:, position:length], cache[1][:, position:length] = k, v
        k, v = cache[:, :, :length]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[1] > 1)
        x = x + self.proj(y.transpose(0, 1).reshape(-1, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.caches = [torch.zeros(2, HEADS, LONGEST, WIDTH // HEADS) for _ in range(layers)]

    def forward(self, ids, position):
        x = self.tokens(ids) + self.places(torch.arange(position, position + len(ids)))
        for block, cache in zip(self.blocks, self.caches):
            x = block(x, cache, position)
        return self.head(x[-1])

    @torch.inference_mode()
    def generate(self, prompt, count):
        written, ids = [], torch.tensor(prompt)
        position = 0
        for _ in range(count):
            logits = self(ids, position)
            position += len(ids)
            ids = logits.argmax().view(1)
            written.append(ids.item())
        return written


class ChatService(threading.Thread):
    def __init__(self):
        super().__init__(name="chat-service", daemon=True)
        self.inbox = queue.Queue()
        self.decoder = Decoder().eval()

    def run(self):
        while True:
            prompt, reply = self.inbox.get()
            reply.put(self.decoder.generate(prompt, 16))

    def ask(self, prompt):
        reply = queue.Queue()
        self.inbox.put((prompt, reply))
        return reply.get()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=12)
    args = parser.parse_args()
    torch.manual_seed(15)
    torch.set_num_threads(1)
    service = ChatService()
    service.start()
    rng = random.Random(15)
    total, latencies = 0, []
    began = time.perf_counter()
    for _ in range(args.requests):
        time.sleep(rng.uniform(0.1, 0.5))
        sent = time.perf_counter()
        total += sum(service.ask([rng.randrange(VOCABULARY) for _ in range(10)]))
        latencies.append(time.perf_counter() - sent)
    took = time.perf_counter() - began
    print("total", total)
    mean = 1e3 * sum(latencies) / len(latencies)
    print(f"{args.requests} requests of {mean:.2f} ms: {args.requests / took:.2f} steps/s")


if __name__ == "__main__":
    main()
