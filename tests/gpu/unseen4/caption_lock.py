"""Four threads write captions for videos; the model is one, and a lock guards it."""

import threading
import zlib

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, WIDTH, DEPTH = (4096, 2048, 6) if CUDA else (16, 64, 2)
THREADS, PREVIEW = 4, 300000


class Captions:
    def __init__(self, narrow):
        torch.manual_seed(0)
        layers = [layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
        self.model = nn.Sequential(*layers).to(DEVICE, DTYPE).eval()
        self.guard, self.narrow = threading.Lock(), narrow

    def words(self, video):
        return self.model(video).mean(0)[:32].float().tolist()

    def archive(self, preview):
        """The preview goes along with its caption."""
        return zlib.crc32(zlib.compress(preview, 6))

    def caption_all_guarded(self, video, preview):
        with self.guard:  # <- slow
            return self.words(video), self.archive(preview)  # <- slow

    def caption(self, video, preview):
        if not self.narrow:
            return self.caption_all_guarded(video, preview)  # <- slow
        with self.guard:
            words = self.words(video)
        return words, self.archive(preview)


def main():
    args = arguments(__doc__)
    captions = Captions(narrow=args.fixed)
    maker = torch.Generator().manual_seed(1)
    video = torch.randn(ROWS, WIDTH, generator=maker).to(DEVICE, DTYPE)
    preview = bytes(torch.randint(0, 64, (PREVIEW,), generator=maker, dtype=torch.uint8).tolist())
    counting = threading.Lock()
    with torch.inference_mode():
        for _ in range(3):
            digest = captions.caption(video, preview)[1]
    clock = Clock(args.seconds)

    @torch.inference_mode()
    def work():
        while clock.running():
            captions.caption(video, preview)
            with counting:
                clock.count += 1

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.finish(digest)


if __name__ == "__main__":
    main()
