"""Tells sung notes from spoken words: pitch curves by numpy, then a small recurrent network.

    pitch_track.py [--fixed]
"""

import argparse
import time

import numpy as np
import torch

RATE = 16000
FRAME = 1024
HOP = 512


def synthesize(rng, seconds=2.0):
    t = np.arange(int(RATE * seconds)) / RATE
    base = rng.uniform(90, 300)
    glide = base * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(0.3, 2) * t))
    tone = np.sin(2 * np.pi * np.cumsum(glide) / RATE)
    return (tone + 0.3 * rng.standard_normal(t.size)).astype(np.float32)


def frame(signal):
    return np.lib.stride_tricks.sliding_window_view(signal, FRAME)[::HOP] * np.hanning(FRAME)


def autocorrelation(frames):
    rows = []
    for row in frames:
        rows.append(np.correlate(row, row, mode="full")[FRAME - 1 :])
    return np.stack(rows)


def autocorrelation_fft(frames):
    spectrum = np.fft.rfft(frames, 2 * FRAME, axis=1)
    return np.fft.irfft(spectrum * spectrum.conj(), axis=1)[:, :FRAME]


def pitch_curve(signal, correlate):
    corr = correlate(frame(signal))
    low, high = RATE // 400, RATE // 60
    lag = corr[:, low:high].argmax(1) + low
    strength = corr[np.arange(len(lag)), lag] / corr[:, 0]
    return np.stack([RATE / lag / 400, strength], 1).astype(np.float32)


class NoteNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(2, 96, num_layers=2, batch_first=True)
        self.head = torch.nn.Linear(96, 2)

    def forward(self, curve):
        states, _ = self.rnn(curve)
        return self.head(states[:, -1])


def classify(model, signal, correlate):
    curve = pitch_curve(signal, correlate)
    with torch.inference_mode():
        return model(torch.from_numpy(curve)[None]).softmax(1)[0, 1].item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--clips", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(5)
    torch.set_num_threads(1)
    rng = np.random.default_rng(5)
    clips = [synthesize(rng) for _ in range(10)]
    model = NoteNet().eval()
    correlate = autocorrelation_fft if args.fixed else autocorrelation
    sung = 0.0
    began = time.perf_counter()
    for number in range(args.clips):
        sung += classify(model, clips[number % len(clips)], correlate)
    took = time.perf_counter() - began
    print(f"sung {sung:.4f}")
    count = args.clips
    print(f"{count} clips of {1e3 * took / count:.2f} ms: {count / took:.2f} steps/s")
