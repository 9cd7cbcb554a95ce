"""A deep encoder that may stop early: after each layer it looks whether all rows are sure."""

import torch
import torch.nn.functional as F
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, LENGTH, WIDTH, LAYERS, HEADS = (8, 256, 1024, 32, 16) if CUDA else (2, 16, 64, 8, 4)
CLASSES, SURE = 8, 0.9999


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        qkv = self.qkv(self.before(x)).view(ROWS, LENGTH, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(ROWS, LENGTH, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(4096, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

    def sure(self, x):
        """Of the least sure row."""
        return self.head(x.mean(1)).softmax(1).amax(1).amin()

    def enough(self, x):
        return bool(self.sure(x) > SURE)  # <- slow

    def forward(self, words, each):
        x = self.words(words)
        for number, block in enumerate(self.blocks, 1):
            x = block(x)
            if number % each == 0 and self.enough(x):  # <- slow
                break
        return self.head(x.mean(1)).argmax(1)


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    each = LAYERS if args.fixed else 1
    torch.manual_seed(0)
    with torch.device(DEVICE):
        encoder = Encoder().to(DTYPE).eval()
    words = torch.randint(0, 4096, (ROWS, LENGTH), generator=torch.Generator().manual_seed(1))
    words = words.to(DEVICE)
    for _ in range(3):
        digest = sum(encoder(words, each).tolist())
    clock = Clock(args.seconds)
    while clock.running():
        encoder(words, each).tolist()
        clock.count += 1
    clock.finish(digest)


if __name__ == "__main__":
    main()
