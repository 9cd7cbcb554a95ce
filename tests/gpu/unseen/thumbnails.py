"""Classifies a folder of plain-text images, batch after batch, with a ResNet-18."""

import argparse
import random
import time

import torch
from torchvision.models import resnet18

SIDE = 96


def make_image(rng):
    """A P3 (text) PPM, as cheap cameras write them."""
    values = " ".join(str(rng.randrange(256)) for _ in range(SIDE * SIDE * 3))
    return "P3\n%d %d\n255\n%s\n" % (SIDE, SIDE, values)


def decode(text):
    """Planes of normalised values, mirrored."""
    _, size, peak, body = text.split("\n", 3)
    width, height = (int(word) for word in size.split())
    words = body.split()
    planes = [[], [], []]
    for y in range(height):
        for x in reversed(range(width)):
            at = (y * width + x) * 3
            for channel in range(3):
                planes[channel].append(int(words[at + channel]) / int(peak) - 0.5)  # <- slow
    return planes


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--device", default="cuda")
parser.add_argument("--seconds", type=float, default=3)
parser.add_argument("--batch", type=int, default=4)
args = parser.parse_args()

rng = random.Random(1)
images = [make_image(rng) for _ in range(16)]
model = resnet18(weights=None).to(args.device).eval()

with torch.inference_mode():
    model(torch.zeros(args.batch, 3, SIDE, SIDE, device=args.device))
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        batch = [decode(images[(steps + n) % len(images)]) for n in range(args.batch)]
        pixels = torch.tensor(batch).view(args.batch, 3, SIDE, SIDE).to(args.device)
        labels = model(pixels).argmax(1).tolist()
        steps += 1
    spent = time.perf_counter() - start

print("last labels", labels)
print("steps=%d ms_per_step=%.3f" % (steps, 1000 * spent / steps))
