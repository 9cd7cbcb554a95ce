"""Routes support tickets to a team: an asyncio service, and its clients in the same process.

    ticket_api.py [--fixed] [--seconds S]
"""

import argparse
import asyncio
import itertools
import random
import time
import zlib

import torch

TEAMS = ("billing", "login", "delivery", "refund", "other")
WORDS = "card invoice password reset parcel late broken refund app crash login address".split()


class App:
    def __init__(self):
        self.routes = {}

    def post(self, path):
        def register(handler):
            self.routes[path] = handler
            return handler

        return register

    async def __call__(self, path, body):
        handler = self.routes.get(path)
        if handler is None:
            return {"status": 404}
        return {"status": 200, "body": await handler(body)}


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.EmbeddingBag(5000, 512)
        self.body = torch.nn.Sequential(
            torch.nn.Linear(512, 2048),
            torch.nn.GELU(),
            torch.nn.Linear(2048, 2048),
            torch.nn.GELU(),
            torch.nn.Linear(2048, len(TEAMS)),
        )

    def forward(self, ids):
        return self.body(self.words(ids))


class MicroBatcher:
    """Gathers concurrent requests so that the model sees them together."""

    def __init__(self, model, window_s, max_batch=32):
        self.model = model
        self.window_s = window_s
        self.max_batch = max_batch
        self.waiting = asyncio.Queue()
        self.batches = 0

    async def submit(self, ids):
        answer = asyncio.get_running_loop().create_future()
        await self.waiting.put((ids, answer))
        return await answer

    async def run(self):
        while True:
            batch = [await self.waiting.get()]
            if self.window_s:
                await asyncio.sleep(self.window_s)
            while len(batch) < self.max_batch and not self.waiting.empty():
                batch.append(self.waiting.get_nowait())
            self.answer(batch)
            self.batches += 1

    def answer(self, batch):
        with torch.inference_mode():
            logits = self.model(torch.tensor([ids for ids, _ in batch]))
        for (_, future), team in zip(batch, logits.argmax(1).tolist()):
            future.set_result(team)


def tokenize(text, length=12):
    ids = [zlib.crc32(word.encode()) % 5000 for word in text.split()]
    return (ids + [0] * length)[:length]


async def user(app, seed, until, latencies):
    rng = random.Random(seed)
    for number in itertools.count():
        if time.perf_counter() > until:
            return number
        text = " ".join(rng.choices(WORDS, k=9))
        began = time.perf_counter()
        reply = await app("/route", {"text": text})
        latencies.append(time.perf_counter() - began)
        assert reply["status"] == 200


async def serve(args):
    torch.manual_seed(1)
    batcher = MicroBatcher(Classifier().eval(), 0.0 if args.fixed else 0.02)
    app = App()

    @app.post("/route")
    async def route(body):
        team = await batcher.submit(tokenize(body["text"]))
        return {"team": TEAMS[team]}

    runner = asyncio.create_task(batcher.run())
    latencies = []
    began = time.perf_counter()
    await asyncio.gather(*(user(app, seed, began + args.seconds, latencies) for seed in range(8)))
    took = time.perf_counter() - began
    runner.cancel()
    count, mean = len(latencies), 1e3 * sum(latencies) / len(latencies)
    print(f"{count / batcher.batches:.1f} requests in a batch")
    print(f"{count} requests of {mean:.2f} ms: {count / took:.2f} steps/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=4)
    asyncio.run(serve(parser.parse_args()))
