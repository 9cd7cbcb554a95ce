"""Pillow: thumbnails of large photos, which are decoded at their full size."""
import argparse
import io
import time

import numpy as np
from PIL import Image

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="JPEG is decoded at a quarter")
options = parser.parse_args()


def thumbnail(jpeg):
    image = Image.open(io.BytesIO(jpeg))
    if options.fixed:
        image.draft("RGB", (320, 240))
    image = image.resize((160, 120), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, "webp", quality=60)
    return len(file.getvalue())


def main():
    pixels = np.random.default_rng(1).integers(0, 255, (75, 100, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize((1600, 1200)).save(file, "jpeg")
    took, total = [], 0
    for _ in range(100):
        begin = time.perf_counter()
        total += thumbnail(file.getvalue())
        took.append(time.perf_counter() - begin)
    clock.write("photo", took)
    print("thumbnails:", len(took), total > 0)


main()
