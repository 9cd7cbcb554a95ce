"""ResNet-50, batch 8: pageable and pinned inputs in turn, one .item() for each request."""

import argparse

import torch
import torchvision

import truth
from truth import copy, scope

BATCH = 8


@torch.inference_mode()
def classify(model, images, device):
    with scope("request"):
        images = images.to(device, non_blocking=True)
        best = model(images).softmax(-1).amax()
        return best.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--pixels", type=int, default=224)
    parser.add_argument("--requests", type=int, default=20, help="of each kind of memory")
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    with torch.device(args.device):
        model = torchvision.models.resnet50(weights=None).eval()
    pageable = torch.rand(BATCH, 3, args.pixels, args.pixels)
    pinned = pageable.pin_memory() if args.device == "cuda" else pageable
    answers = []
    for _ in range(args.requests):
        answers.append(classify(model, pageable, args.device))
        answers.append(classify(model, pinned, args.device))
    nbytes = pageable.numel() * pageable.element_size() * args.requests
    parts = ("ResNet", "conv1", "layer1.0.conv2", "layer4", "fc")
    truth.tell("resnet50", requests=2 * args.requests,
               layer_calls={name: 2 * args.requests for name in parts},
               digest=truth.digest(torch.tensor(answers, dtype=torch.float64)),
               inputs=[copy("HtoD", "pageable", "device", args.requests, nbytes),
                       copy("HtoD", "pinned", "device", args.requests, nbytes)])


if __name__ == "__main__":
    main()
