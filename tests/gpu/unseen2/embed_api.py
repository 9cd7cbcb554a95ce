"""An embedding service on asyncio: lines of JSON come over TCP, vectors go back."""

import argparse
import asyncio
import base64
import json
import time
from dataclasses import dataclass

import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
TEXTS, WIDTH, LAYERS = (16, 1024, 8) if CUDA else (4, 64, 2)
CLIENTS = 4


@dataclass
class Request:
    number: int
    texts: list

    @classmethod
    def parse(cls, line):
        body = json.loads(line)
        return cls(body["number"], body["texts"])


class Embedder:
    def __init__(self):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.body = self.body.to(DEVICE, DTYPE).eval()
        self.words = nn.Embedding(256, WIDTH).to(DEVICE, DTYPE)

    @torch.inference_mode()
    def embed(self, texts):
        rows = [list(text.encode()[:64].ljust(64)) for text in texts]
        words = self.words(torch.tensor(rows, device=DEVICE))
        return self.body(words).mean(1).float().cpu()


def as_numbers(number, vectors):
    body = {"number": number, "vectors": vectors.tolist()}
    return json.dumps(body).encode()  # <- slow


def as_bytes(number, vectors):
    data = base64.b64encode(vectors.half().numpy().tobytes()).decode()
    return json.dumps({"number": number, "width": vectors.shape[1], "data": data}).encode()


class Server:
    def __init__(self, answer):
        self.embedder, self.answer, self.served = Embedder(), answer, 0

    async def connected(self, reader, writer):
        while line := await reader.readline():
            request = Request.parse(line)
            vectors = self.embedder.embed(request.texts)
            writer.write(self.answer(request.number, vectors) + b"\n")
            await writer.drain()
            self.served += 1
        writer.close()


async def client(port, texts, enough):
    """Asks again as soon as it has its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    number, size = 0, 0
    while not enough(number):
        body = json.dumps({"number": number, "texts": texts})
        writer.write(body.encode() + b"\n")
        size += len(await reader.readline())
        number += 1
    writer.close()
    return size


async def run(args):
    server = Server(as_bytes if args.fixed else as_numbers)
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0, limit=1 << 24)
    port = listening.sockets[0].getsockname()[1]
    texts = ["a text about the number %d and a few more words" % nth for nth in range(TEXTS)]
    await client(port, texts, lambda number: number >= 3)
    server.served, start = 0, time.perf_counter()

    def enough(number):
        return number >= 6 and time.perf_counter() - start >= args.seconds

    sizes = await asyncio.gather(*(client(port, texts, enough) for _ in range(CLIENTS)))
    ms = (time.perf_counter() - start) * 1000 / server.served
    print("%.1f steps/s, %.1f MB sent" % (1000 / ms, sum(sizes) / 1e6))
    print(json.dumps({"digest": 0, "steps": server.served, "ms_per_step": ms}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    asyncio.run(run(parser.parse_args()))
