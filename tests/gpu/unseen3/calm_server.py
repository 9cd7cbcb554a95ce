"""Classifies texts for an internal tool, over TCP: now and then somebody asks; one thread has the
GPU, and no request waits for another one."""

import argparse
import asyncio
import json
import random
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
TEXTS, LENGTH, WIDTH, LAYERS, HEADS = (16, 256, 2048, 8, 16) if CUDA else (2, 16, 64, 2, 4)
GAP = 0.07


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


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.head = nn.Embedding(256, WIDTH), nn.Linear(WIDTH, 32)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))

    def forward(self, letters):
        return self.head(self.blocks(self.letters(letters)).mean(1)).argmax(-1)


class Server:
    def __init__(self):
        torch.manual_seed(0)
        with torch.device(DEVICE):
            self.model = Classifier().to(DTYPE).eval()
        self.gpu = ThreadPoolExecutor(1, "gpu")

    @torch.inference_mode()
    def classify(self, texts):
        data = b"".join(text.encode()[:LENGTH].ljust(LENGTH) for text in texts)
        letters = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(len(texts), LENGTH)
        return self.model(letters.to(DEVICE).long()).tolist()

    async def connected(self, reader, writer):
        loop = asyncio.get_running_loop()
        while line := await reader.readline():
            texts = json.loads(line)
            answer = await loop.run_in_executor(self.gpu, self.classify, texts)
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        writer.close()


async def ask(reader, writer, texts):
    """How long the answer took, and what it was."""
    begin = time.perf_counter()
    writer.write(json.dumps(texts).encode() + b"\n")
    answer = json.loads(await reader.readline())
    return time.perf_counter() - begin, answer


async def run(args):
    server = Server()
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0, limit=1 << 20)
    reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
    texts = ["somebody wrote the text number %d, and it is of some length" % nth
             for nth in range(TEXTS)]
    for _ in range(3):
        _, answer = await ask(reader, writer, texts)
    people, took, start = random.Random(0), [], time.perf_counter()
    while len(took) < 6 or time.perf_counter() - start < args.seconds:
        await asyncio.sleep(people.uniform(0.5, 1.5) * GAP)
        took.append((await ask(reader, writer, texts))[0])
    writer.close()
    listening.close()
    print("%d requests, %.1f/s" % (len(took), len(took) / (time.perf_counter() - start)))
    print(json.dumps({"digest": sum(answer), "steps": len(took),
                      "ms_per_step": sum(took) * 1000 / len(took)}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    asyncio.run(run(parser.parse_args()))
