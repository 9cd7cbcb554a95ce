"""Combines a model's scores by a formula of the request, which is compiled for the GPU."""

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, WIDTH, DEPTH = (4096, 2048, 6) if CUDA else (64, 64, 2)


class Formulas:
    """a * weight + b, by one kernel; the weight is the request's."""

    def kernel(self, weight):
        code = "template <typename T> T mix(T a, T b) { return a * T(%.9f) + b; }" % weight
        return torch.cuda.jiterator._create_jit_fn(code)

    def mix(self, a, b, weight):
        return self.kernel(weight)(a, b) if CUDA else a * weight + b  # <- slow


class OneFormula(Formulas):
    """The weight is an argument of the kernel."""

    def __init__(self):
        code = "template <typename T> T mix(T a, T b, T weight) { return a * weight + b; }"
        self.kernel = torch.cuda.jiterator._create_jit_fn(code, weight=0.0)

    def mix(self, a, b, weight):
        return self.kernel(a, b, weight=weight) if CUDA else a * weight + b


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    torch.manual_seed(0)
    layers = [layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers).to(DEVICE, DTYPE).eval()
    formulas = OneFormula() if args.fixed else Formulas()
    given = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(1)).to(DEVICE, DTYPE)

    def answer(number):
        scores = model(given).float()
        mixed = formulas.mix(scores, scores.flip(1), 1 / (number + 3))  # <- slow
        return mixed.amax(1).cpu()

    digest = round(sum(answer(number).mean().item() for number in range(3)), 2)
    clock = Clock(args.seconds)
    while clock.running():
        answer(clock.count + 3)
        clock.count += 1
    clock.finish(digest)


if __name__ == "__main__":
    main()
