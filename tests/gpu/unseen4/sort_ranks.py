"""Ranks of many measurements: the GPU sorts, and counts what stands before a value.  There is
nothing to fix: it is what was asked for."""

import torch
from timing import Clock, arguments

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
VALUES, ASKED = (1 << 25, 1 << 20) if CUDA else (1 << 16, 1 << 8)


class Ranks:
    def __init__(self):
        self.maker = torch.Generator(DEVICE).manual_seed(0)
        self.asked = torch.randn(ASKED, device=DEVICE, generator=self.maker)

    def of_day(self, day):
        values = torch.randn(VALUES, device=DEVICE, generator=self.maker) + day % 3
        ordered, came_from = torch.sort(values)
        ranks = torch.searchsorted(ordered, self.asked)
        return ranks.float().mean() + came_from[0]


class Report:
    """The last day's line is written while the next day is sorted."""

    def __init__(self):
        self.host = [torch.empty((), pin_memory=CUDA) for _ in range(2)]
        self.coming = []

    def add(self, number, value):
        self.host[number % 2].copy_(value, non_blocking=True)
        done = torch.cuda.current_stream().record_event() if CUDA else None
        self.coming.append((self.host[number % 2], done))
        return self.oldest() if len(self.coming) > 1 else None

    def oldest(self):
        host, done = self.coming.pop(0)
        if done:
            done.synchronize()
        return host.item()


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    ranks, report = Ranks(), Report()
    for day in range(3):
        digest = round(ranks.of_day(day).item() / VALUES, 1)
    clock = Clock(args.seconds)
    while clock.running():
        report.add(clock.count, ranks.of_day(clock.count))
        clock.count += 1
    report.oldest()
    clock.finish(digest)


if __name__ == "__main__":
    main()
