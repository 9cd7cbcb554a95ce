"""A large transformer encoder in bf16: bound by the GPU, the stream never runs dry.

CUDA events time the section "timed", in which nothing waits before its end.
"""

import argparse
import time

import torch

import truth
from truth import Stopwatch, scope


def build(args):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(args.width, args.width // 128, 4 * args.width,
                                             batch_first=True, activation="gelu",
                                             device=args.device, dtype=torch.bfloat16)
    return torch.nn.TransformerEncoder(layer, args.layers, enable_nested_tensor=False).eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--serve", action="store_true", help="measure on demand")
    args = parser.parse_args()

    model = build(args)
    with torch.device(args.device):
        x = torch.randn(args.batch, args.length, args.width, dtype=torch.bfloat16)

    @torch.inference_mode()
    def steps(count):
        for _ in range(count):
            with scope("step"):
                y = model(x)
        return y

    def wait():
        if args.device == "cuda":
            torch.cuda.synchronize()

    def warm_up():
        steps(1 + args.steps // 8)
        wait()

    def block():
        start = time.perf_counter()
        steps(args.steps)
        wait()
        return time.perf_counter() - start

    warm_up()
    if args.serve:
        truth.serve(warm_up, block)
        return
    watch = Stopwatch(args.device)
    with scope("timed"):
        watch.mark()
        y = steps(args.steps)
        watch.mark()
        wait()
    truth.tell("encoder", steps=args.steps, digest=truth.digest(y.cpu()), event_ms=watch.ms(),
               step_us=1e3 * watch.ms() / args.steps)


if __name__ == "__main__":
    main()
