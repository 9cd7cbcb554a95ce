"""A healthy service: large matrices in bfloat16, input copied ahead; the GPU is the limit."""

import itertools

import torch

from harness import Clock, options
from models import build, encoder

WIDTH = 2048


class Pipeline:
    """Launches a batch before the answers of the one before it are read."""

    def __init__(self, model, device):
        self.model = model
        self.device = device
        self.copies = torch.cuda.Stream()

    def upload(self, batch):
        with torch.cuda.stream(self.copies):
            return batch.to(self.device, non_blocking=True)

    def launch(self, batch):
        torch.cuda.current_stream().wait_stream(self.copies)
        batch.record_stream(torch.cuda.current_stream())
        best = self.model(batch).mean(dim=1).argmax(dim=-1)
        answer = torch.empty_like(best, device="cpu", pin_memory=True)
        answer.copy_(best, non_blocking=True)
        done = torch.cuda.Event()
        done.record()
        return answer, done

    @torch.inference_mode()
    def answers(self, batches):
        waiting = None
        following = self.upload(next(batches))
        while True:
            batch, following = following, self.upload(next(batches))
            launched = self.launch(batch)
            if waiting:
                waiting[1].synchronize()
                yield waiting[0].tolist()
            waiting = launched


def main():
    args = options(__doc__, steps=150)
    stored = [torch.randn(64, 256, WIDTH, dtype=torch.bfloat16).pin_memory() for _ in range(4)]
    pipeline = Pipeline(build(lambda: encoder(WIDTH, 16, 8), args.device, torch.bfloat16),
                        args.device)
    clock = Clock(args)
    for answer in pipeline.answers(itertools.cycle(stored)):
        if clock.step(answer):
            break
    clock.finish()


if __name__ == "__main__":
    main()
