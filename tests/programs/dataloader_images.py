"""torchvision's transforms in a DataLoader with two workers, for a network that is faster."""
import argparse
import io
import time

import numpy as np
import torch
from PIL import Image
from torch import nn

import clock
from no_operators import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="photos are kept at the size that is used")
options = parser.parse_args()
transforms = torchvision.transforms


def photo(side):
    pixels = np.random.default_rng(2).integers(0, 255, (side // 8, side // 8, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize((side, side)).save(file, "jpeg")
    return file.getvalue()


class Photos(torch.utils.data.Dataset):
    def __init__(self, count, side):
        self.count = count
        self.jpeg = photo(side)
        self.transform = transforms.Compose([
            transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
            transforms.Normalize([0.5] * 3, [0.25] * 3)])

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.transform(Image.open(io.BytesIO(self.jpeg)).convert("RGB"))


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = nn.Sequential(nn.Conv2d(3, 16, 7, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
                            nn.Flatten(), nn.Linear(256, 10)).eval()
    photos = Photos(320, 256 if options.fixed else 1200)
    loader = torch.utils.data.DataLoader(photos, batch_size=8, num_workers=2)
    took, labels = [], []
    begin = time.perf_counter()
    with torch.no_grad():
        for batch in loader:
            labels += network(batch).argmax(1).tolist()
            end = time.perf_counter()
            took.append(end - begin)
            begin = end
    clock.write("batch", took)
    print("labels:", len(labels), sum(labels))


if __name__ == "__main__":
    main()
