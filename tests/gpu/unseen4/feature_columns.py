"""Click prediction: a request has three hundred columns, and each is a tensor of its own."""

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, WIDTH, DEPTH = (2048, 2048, 4) if CUDA else (64, 64, 2)
COLUMNS = 300


class Clicks(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(COLUMNS, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH))
        self.leave = nn.Linear(WIDTH, 1)

    def forward(self, columns):
        x = self.enter(columns.to(DTYPE))
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.leave(x)[:, 0]


def each_column(columns):
    there = [column.to(DEVICE) for column in columns]  # <- slow
    return torch.stack(there, 1)


def all_columns(columns):
    return torch.stack(columns).to(DEVICE).T


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    torch.manual_seed(0)
    clicks = Clicks().to(DEVICE, DTYPE).eval()
    gather = all_columns if args.fixed else each_column
    maker = torch.Generator().manual_seed(1)
    request = [torch.randn(ROWS, generator=maker) for _ in range(COLUMNS)]
    for _ in range(3):
        digest = round(clicks(gather(request)).float().mean().item(), 2)
    clock = Clock(args.seconds)
    while clock.running():
        clicks(gather(request)).max().item()
        clock.count += 1
    clock.finish(digest)


if __name__ == "__main__":
    main()
