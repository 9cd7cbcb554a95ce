"""timm: a random MobileNet on batches of eight images that are there; nothing to mend."""
import time

import torch

import clock
import no_operators  # noqa: F401
import timm


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = timm.create_model("mobilenetv3_small_100", pretrained=False).eval()
    images = torch.rand(16, 8, 3, 160, 160)
    took, labels = [], 0
    with torch.inference_mode():
        for number in range(80):
            begin = time.perf_counter()
            labels += int(network(images[number % 16]).argmax(1).sum())
            took.append(time.perf_counter() - begin)
    clock.write("batch", took)
    print("labels:", labels)


main()
