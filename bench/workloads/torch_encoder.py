"""A transformer encoder on the CPU, eager, one thread of torch: framework code and small layers."""

import timed
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=-1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


MODEL = nn.Sequential(*[Block() for _ in range(6)]).eval()
BATCH = torch.randn(2, 32, 64)


def work(rounds):
    with torch.inference_mode():
        for _ in range(rounds):
            MODEL(BATCH)


if __name__ == "__main__":
    timed.main(work, 750)
