"""An asyncio server: requests are gathered into batches, memory is given back after each."""

import argparse
import asyncio
import time

import torch
from torch import nn

BATCH = 16


class Tower(nn.Module):
    def __init__(self, width):
        super().__init__()
        widths = [width * grow for grow in range(1, 9)]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        kept = []
        for layer in self.layers:
            x = torch.relu(layer(x))
            kept.append(x.mean((1, 2)))
        return torch.stack(kept, 1)


class Server:
    def __init__(self, device, tokens, width):
        torch.manual_seed(0)
        dtype = torch.bfloat16
        self.model = Tower(width).to(device, dtype).eval()
        self.inputs = torch.randn(BATCH, tokens, width, device=device, dtype=dtype)
        self.queue = asyncio.Queue()
        self.batches = 0

    @torch.inference_mode()
    def infer(self, requests):
        scores = self.model(self.inputs[:len(requests)]).float().cpu()
        torch.cuda.empty_cache()  # <- slow
        self.batches += 1
        return scores

    async def serve(self):
        while True:
            requests = [await self.queue.get()]
            while len(requests) < BATCH and not self.queue.empty():
                requests.append(self.queue.get_nowait())
            for future, row in zip(requests, self.infer(requests)):
                future.set_result(row)
            await asyncio.sleep(0)

    async def ask(self):
        future = asyncio.get_running_loop().create_future()
        await self.queue.put(future)
        return await future


async def client(server, until):
    while server.batches < 22 or time.perf_counter() < until:
        await server.ask()


async def run(args):
    server = Server(args.device, args.tokens, args.width)
    server.infer([None] * BATCH)
    task = asyncio.create_task(server.serve())
    before, start = server.batches, time.perf_counter()
    await asyncio.gather(*(client(server, start + args.seconds) for _ in range(2 * BATCH)))
    spent, steps = time.perf_counter() - start, server.batches - before
    task.cancel()
    print("steps=%d ms_per_step=%.3f" % (steps, 1000 * spent / steps))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--width", type=int, default=512)
    asyncio.run(run(parser.parse_args()))
