"""Suggests articles: towers for readers and articles, and the scores of all pairs."""

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
READERS, ARTICLES, WIDTH, DEPTH, BEST = (4096, 8192, 2048, 4, 20) if CUDA else (64, 256, 64, 2, 5)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))  # <- slow
        return self.out(x)  # <- slow


class Suggestions:
    def __init__(self):
        torch.manual_seed(0)
        self.readers, self.articles = (Tower().to(DEVICE).eval() for _ in range(2))
        self.news = torch.randn(ARTICLES, WIDTH, device=DEVICE)

    def suggest(self, readers):
        keys = self.articles(self.news)  # <- slow
        scores = self.readers(readers) @ keys.T  # <- slow
        return scores.topk(BEST, 1).indices


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    torch.backends.cuda.matmul.allow_tf32 = args.fixed
    suggestions = Suggestions()
    readers = torch.randn(READERS, WIDTH, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    for _ in range(3):
        suggestions.suggest(readers).cpu()
    clock = Clock(args.seconds)
    while clock.running():
        suggestions.suggest(readers)[:, 0].cpu()  # <- slow
        clock.count += 1
    clock.finish(0)


if __name__ == "__main__":
    main()
