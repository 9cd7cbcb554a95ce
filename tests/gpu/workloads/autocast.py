"""Convolutions and a transformer layer with 32-bit weights, under autocast to bf16."""

import argparse

import torch
from torch import nn

import truth
from truth import scope

WIDTH = 256


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, WIDTH, 8, 8), nn.GELU())
        self.block = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.block(x).mean(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    with torch.device(args.device):
        model, x = Net().eval(), torch.rand(8, 3, 64, 64)
    with torch.no_grad(), torch.autocast(args.device, torch.bfloat16):
        for _ in range(args.steps):
            with scope("step"):
                y = model(x)
    calls = {name: args.steps for name in ("Net", "stem", "stem.0", "block.linear1", "head")}
    truth.tell("autocast", digest=truth.digest(y.cpu()), dtype=str(y.dtype), layer_calls=calls)


if __name__ == "__main__":
    main()
