"""A service of four threads, each with a stream of its own; every request goes into an access log,
which another process stores."""

import argparse
import json
import logging
import multiprocessing
import queue
import socket
import threading
import time

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, LENGTH, WIDTH, LAYERS, HEADS = (64, 128, 1024, 6, 16) if CUDA else (2, 16, 64, 2, 4)
THREADS, STORING = 4, 0.006


def storage(theirs):
    """Another process: a number, so many lines; says when they are safe."""
    stream = theirs.makefile("rwb")
    while count := stream.readline():
        for _ in range(int(count)):
            stream.readline()
        time.sleep(STORING)
        stream.write(b"stored\n")
        stream.flush()


class StoredLog(logging.Handler):
    def __init__(self, ours):
        super().__init__()
        self.stream = ours.makefile("rwb")

    def store(self, lines):
        self.stream.write(b"%d\n" % len(lines))
        self.stream.writelines(line.encode() + b"\n" for line in lines)
        self.stream.flush()
        self.stream.readline()  # <- slow

    def emit(self, record):
        self.store([self.format(record)])  # <- slow


class LaterLog(StoredLog):
    """A thread stores what has come while it stored what came before."""

    def __init__(self, ours):
        super().__init__(ours)
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.drain, daemon=True).start()

    def emit(self, record):
        self.lines.put(self.format(record))

    def drain(self):
        while True:
            lines = [self.lines.get()]
            while not self.lines.empty():
                lines.append(self.lines.get())
            self.store(lines)


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
        self.words, self.head = nn.Embedding(4096, WIDTH), nn.Linear(WIDTH, 8)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))

    def forward(self, tokens):
        return self.head(self.blocks(self.words(tokens)).mean(1)).argmax(-1)


class Service:
    def __init__(self, log):
        torch.manual_seed(0)
        with torch.device(DEVICE):
            self.model = Classifier().to(DTYPE).eval()
        self.log, self.served = log, [0] * THREADS

    @torch.inference_mode()
    def answer(self, tokens):
        return self.model(tokens.to(DEVICE)).tolist()

    def serve(self, number, tokens, enough):
        stream = torch.cuda.Stream() if CUDA else None
        with torch.cuda.stream(stream):
            while not enough(self.served[number]):
                begin = time.perf_counter()
                answers = self.answer(tokens)
                self.served[number] += 1
                self.log.info("POST /classify %d rows, best %d, %.1f ms",  # <- slow
                              len(answers), max(answers), (time.perf_counter() - begin) * 1000)


def run(service, tokens, enough):
    threads = [threading.Thread(target=service.serve, args=(number, tokens, enough))
               for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    ours, theirs = socket.socketpair()
    multiprocessing.get_context("fork").Process(target=storage, args=(theirs,), daemon=True).start()
    log = logging.getLogger("access")
    log.setLevel(logging.INFO)
    log.addHandler((LaterLog if args.fixed else StoredLog)(ours))
    service = Service(log)
    tokens = torch.randint(0, 4096, (ROWS, LENGTH), generator=torch.Generator().manual_seed(1))
    digest = sum(service.answer(tokens))
    start = time.perf_counter()

    def enough(served):
        return served >= 6 and time.perf_counter() - start >= args.seconds

    run(service, tokens, enough)
    took, steps = time.perf_counter() - start, sum(service.served)
    print("%.1f requests/s" % (steps / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
