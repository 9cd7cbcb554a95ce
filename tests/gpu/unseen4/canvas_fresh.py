"""Puts screenshots of all sizes onto one canvas per batch, and scores them."""

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
ROWS, HEIGHT, WIDE, WIDTH = (24, 1080, 1920, 32) if CUDA else (4, 1080, 1920, 4)
GREY = 114


class Letterbox:
    """A canvas of its own for each batch."""

    def canvas(self):
        return torch.empty(ROWS, 3, HEIGHT, WIDE, dtype=torch.uint8)

    def __call__(self, shots):
        canvas = self.canvas()
        canvas.fill_(GREY)  # <- slow
        for row, shot in enumerate(shots):
            canvas[row, :, :shot.shape[1], :shot.shape[2]] = shot  # <- slow
        return canvas


class OneLetterbox(Letterbox):
    """The last batch's canvas: it has been copied to the device."""

    def __init__(self):
        self.kept = super().canvas()

    def canvas(self):
        return self.kept


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTH, 8, 8)
        self.body = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(4))
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, canvas):
        x = self.stem(canvas.to(DTYPE).div_(255))
        for layer in self.body:
            x = x + torch.relu(layer(x))
        return self.head(x.mean((2, 3)))


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    torch.manual_seed(0)
    scorer = Scorer().to(DEVICE, DTYPE).eval()
    letterbox = OneLetterbox() if args.fixed else Letterbox()
    maker = torch.Generator().manual_seed(1)
    shots = [torch.randint(0, 256, (3, 300 + 8 * row, 500 + 8 * row), generator=maker,
                           dtype=torch.uint8) for row in range(ROWS)]
    for _ in range(3):
        digest = round(scorer(letterbox(shots).to(DEVICE)).float().sum().item(), 1)
    clock = Clock(args.seconds)
    while clock.running():
        scorer(letterbox(shots).to(DEVICE)).argmax(1).tolist()
        clock.count += 1
    clock.finish(digest)


if __name__ == "__main__":
    main()
