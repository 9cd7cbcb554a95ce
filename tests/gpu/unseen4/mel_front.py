"""Recognises sounds: spectra of clips of ten seconds, then a network over them."""

import numpy as np
import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
CLIPS, SAMPLES, WINDOW, HOP = (8, 160000, 1024, 160) if CUDA else (2, 16000, 256, 64)
WIDTH, DEPTH = (1024, 8) if CUDA else (64, 2)


class NumpySpectra:
    def __init__(self):
        self.window = np.hanning(WINDOW).astype(np.float32)

    def __call__(self, sound):
        frames = np.lib.stride_tricks.sliding_window_view(sound.numpy(), WINDOW, 1)[:, ::HOP]
        power = np.abs(np.fft.rfft(frames * self.window)) ** 2  # <- slow
        return torch.from_numpy(np.log1p(power).astype(np.float32)).to(DEVICE)  # <- slow


class TorchSpectra:
    def __init__(self):
        self.window = torch.from_numpy(np.hanning(WINDOW).astype(np.float32)).to(DEVICE)

    def __call__(self, sound):
        frames = sound.to(DEVICE).unfold(1, WINDOW, HOP)
        return torch.fft.rfft(frames * self.window).abs().square().log1p()


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    torch.manual_seed(0)
    spectra = TorchSpectra() if args.fixed else NumpySpectra()
    layers = [nn.Linear(WINDOW // 2 + 1, WIDTH), nn.ReLU()]
    layers += [layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers).to(DEVICE, DTYPE).eval()
    sound = torch.randn(CLIPS, SAMPLES, generator=torch.Generator().manual_seed(1))

    def listen():
        features = spectra(sound)  # <- slow
        return model(features.to(DTYPE)).mean(1).argmax(1).tolist()

    for _ in range(3):
        listen()
    clock = Clock(args.seconds)
    while clock.running():
        listen()
        clock.count += 1
    clock.finish(0)


if __name__ == "__main__":
    main()
