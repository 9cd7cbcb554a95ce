"""What comes before a vision model: decode-like bytes to a normalised batch, by numpy."""

import numpy as np
import timed

MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
SPREAD = np.array([0.229, 0.224, 0.225], dtype=np.float32)
IMAGES = np.random.default_rng(3).integers(0, 256, (8, 320, 400, 3), dtype=np.uint8)


def resize(image, height, width):
    rows = np.arange(height) * image.shape[0] // height
    columns = np.arange(width) * image.shape[1] // width
    return image[rows][:, columns]


def crop(image, size):
    top, left = (image.shape[0] - size) // 2, (image.shape[1] - size) // 2
    return image[top:top + size, left:left + size]


def normalise(image):
    return (image.astype(np.float32) / 255 - MEAN) / SPREAD


def prepare(image):
    return normalise(crop(resize(image, 256, 320), 224)).transpose(2, 0, 1)


def work(rounds):
    total = 0.0
    for _ in range(rounds):
        total += float(np.stack([prepare(image) for image in IMAGES]).mean())
    return total


if __name__ == "__main__":
    timed.main(work, 80)
