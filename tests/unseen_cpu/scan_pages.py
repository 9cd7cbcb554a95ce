"""Reads scanned pages: a process of its own cleans them while the network reads the page before.

    scan_pages.py
"""

import multiprocessing
import time

import numpy as np
import torch

PAGES = 60


def clean(number):
    """One page, straightened: a median of neighbours, then the ink's threshold."""
    rng = np.random.default_rng(number)
    page = rng.random((512, 512), dtype=np.float32)
    shifts = [np.roll(page, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    page = np.mean(shifts, 0)
    return (page > np.quantile(page[::4, ::4], 0.4)).astype(np.uint8)


class PageReader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = torch.nn.Sequential(
            torch.nn.Conv2d(1, 16, 5, stride=2, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv2d(16, 32, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(32, 32, 3, stride=2, padding=1),
            torch.nn.ReLU(),
        )
        self.letters = torch.nn.Linear(32 * 16, 80)

    def forward(self, page):
        seen = self.eyes(page[None, None])
        columns = torch.nn.functional.adaptive_avg_pool2d(seen, (16, 64))
        return self.letters(columns.permute(0, 3, 1, 2).flatten(2))


def main():
    torch.manual_seed(16)
    torch.set_num_threads(1)
    model = PageReader().eval()
    letters = 0
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(clean, (0,))
        began = time.perf_counter()
        with torch.inference_mode():
            for page in pool.imap(clean, range(PAGES)):
                letters += model(torch.from_numpy(page).float()).argmax(-1).sum().item()
        took = time.perf_counter() - began
    print("letters", letters)
    print(f"{PAGES} pages of {1e3 * took / PAGES:.2f} ms: {PAGES / took:.2f} steps/s")


if __name__ == "__main__":
    main()
