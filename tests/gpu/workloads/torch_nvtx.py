"""PyTorch's own ways to NVTX: ranges, marks, and its operators by emit_nvtx()."""

import argparse

import torch
from torch.cuda import nvtx

import truth

LINEARS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()

    torch.manual_seed(0)
    with torch.device("cuda"):
        model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(LINEARS)]).eval()
        x = torch.rand(8, 256)
    with torch.inference_mode():
        for _ in range(args.steps):
            nvtx.range_push("pushed")
            started = nvtx.range_start("started")
            with nvtx.range("with"):
                y = model(x)
            nvtx.mark("mark")
            nvtx.range_end(started)
            nvtx.range_pop()
        with torch.autograd.profiler.emit_nvtx():
            for _ in range(args.steps):
                y = model(y)
    counts = {name: args.steps for name in ("pushed", "started", "with")}
    counts["aten::linear"] = LINEARS * args.steps
    truth.tell("torch_nvtx", digest=truth.digest(y.cpu()), ranges=counts,
               layer_calls={"Sequential": 2 * args.steps, "0": 2 * args.steps})


if __name__ == "__main__":
    main()
