"""torchvision's ResNet-50 over a DataLoader with four workers that resize images."""

import argparse
import json
import time

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
BATCH = 32


class Photos(Dataset):
    """Large photos, or those that were resized beforehand."""

    def __init__(self, resized):
        some = torch.Generator().manual_seed(0)
        size = (224, 224) if resized else (1080, 1440)
        self.photos = [torch.randint(0, 256, (3, *size), generator=some, dtype=torch.uint8)
                       for _ in range(8)]
        small = [] if resized else [transforms.Resize((224, 224), antialias=True)]
        self.prepare = transforms.Compose(small + [
            transforms.ConvertImageDtype(torch.float32),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, number):
        return self.prepare(self.photos[number % 8]), number


@torch.inference_mode()
def classify(model, loader, seconds):
    """The number of batches, the seconds they took, and the sum of their numbers."""
    steps, checked, start = -2, 0, time.perf_counter()
    for images, numbers in loader:  # <- slow
        model(images.to(DEVICE, non_blocking=True)).argmax(1).tolist()
        checked += int(numbers.sum()) if steps < 3 else 0
        steps += 1
        if steps == 0:  # two batches of warm-up
            start = time.perf_counter()
        if steps >= 5 and time.perf_counter() - start > seconds:
            return steps, time.perf_counter() - start, checked


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="photos resized beforehand")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = models.resnet50(weights=None).to(DEVICE).eval()
    loader = DataLoader(Photos(args.fixed), batch_size=BATCH, num_workers=4, pin_memory=CUDA)
    steps, took, digest = classify(model, loader, args.seconds)
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
