"""Rates comments: clients are quicker than the GPU, so that its thread always finds a long queue.
The model is a CUDA graph; the GPU has no break between two requests."""

import queue
import threading

import torch
import torch.nn.functional as F
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
WIDTH, LAYERS, HEADS, LENGTH = (1024, 12, 16, 64) if CUDA else (64, 2, 4, 16)
CLIENTS, MOST = 64, 32


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        rows = x.shape[0]
        qkv = self.qkv(self.before(x)).view(rows, LENGTH, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, LENGTH, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Rater(nn.Module):
    """Of so many comments at once; fewer are padded."""

    def __init__(self, rows):
        super().__init__()
        torch.manual_seed(0)
        self.letters, self.head = nn.Embedding(256, WIDTH), nn.Linear(WIDTH, 1)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.to(DEVICE, DTYPE).eval()
        self.given = torch.zeros(rows, LENGTH, dtype=torch.long, device=DEVICE)
        self.staged = torch.zeros(rows, LENGTH, dtype=torch.long, pin_memory=CUDA)
        self.graph = torch.cuda.CUDAGraph() if CUDA else None
        self.answer = self.compute()
        if CUDA:
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.answer = self.compute()

    def compute(self):
        return self.head(self.blocks(self.letters(self.given)).mean(1)).float().sigmoid()

    def rate(self, comments):
        for row, comment in enumerate(comments):
            self.staged[row] = comment
        self.given.copy_(self.staged, non_blocking=True)
        if self.graph:
            self.graph.replay()  # <- slow
        else:
            self.answer = self.compute()
        return self.answer[:len(comments), 0].tolist()  # <- slow


class Desk:
    def __init__(self, most):
        self.waiting, self.most, self.rater = queue.Queue(), most, None
        self.thread = threading.Thread(target=self.work)
        self.closed = threading.Event()

    def ask(self, comment):
        reply = queue.Queue()
        self.waiting.put((comment, reply))
        return reply

    def collect(self):
        found = [self.waiting.get()]
        while len(found) < self.most:
            try:
                found.append(self.waiting.get_nowait())
            except queue.Empty:
                break
        return found

    def work(self):
        with torch.inference_mode():
            while not self.closed.is_set():
                asked = self.collect()  # <- slow
                answers = self.rater.rate([comment for comment, _ in asked])  # <- slow
                for (_, reply), answer in zip(asked, answers):
                    reply.put(answer)


def main():
    args = arguments(__doc__)
    desk = Desk(MOST if args.fixed else 1)
    with torch.inference_mode():
        desk.rater = Rater(desk.most)
    desk.thread.start()
    comments = torch.randint(0, 256, (CLIENTS, LENGTH), generator=torch.Generator().manual_seed(1))
    digest = round(sum(desk.ask(comment).get() for comment in comments[:4]), 1)
    replies = [desk.ask(comment) for comment in comments]
    clock = Clock(args.seconds)
    while clock.running():
        which = clock.count % CLIENTS
        replies[which].get()
        replies[which] = desk.ask(comments[which])
        clock.count += 1
    clock.finish(digest)
    desk.closed.set()
    desk.ask(comments[0])
    desk.thread.join()


if __name__ == "__main__":
    main()
