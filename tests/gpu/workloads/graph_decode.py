"""A small decoder in CUDA graphs: one for each batch size, with a copy inside,
replayed by the main thread and by another one; or, with --compiled, in the graphs that
torch.compile makes of it."""

import argparse
import threading
import time

import torch

import truth
from truth import scope

WIDTH, BLOCKS, SIZES = 256, 4, (1, 8)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x):
        q, k, v = self.project(x).chunk(3, dim=-1)
        return torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ v


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.mlp = Attention(), torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return torch.nn.functional.gelu(self.mlp(x + self.attention(x)))


def capture(model, x, out):
    """The graph of one step, which leaves its result in `out`."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # libraries set themselves up before the capture
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out.zero_()
        out.copy_(model(x))
    return graph


def replay(graph, times):
    for _ in range(times):
        with scope("replay"):
            graph.replay()
            torch.cuda.synchronize()


def by_hand(model, inputs, replays):
    outs = [torch.empty_like(x) for x in inputs]
    graphs = [capture(model, x, out) for x, out in zip(inputs, outs)]
    replay(graphs[0], replays)
    other = threading.Thread(target=replay, args=(graphs[1], replays))
    other.start()
    other.join()
    return outs


def compiled(model, inputs, replays):
    fast = torch.compile(model, mode="reduce-overhead")
    for _ in range(replays):
        torch.compiler.cudagraph_mark_step_begin()
        out = fast(inputs[0]).clone()
        torch.cuda.synchronize()
    return [out]


def serve(model, x, replays):
    with torch.inference_mode():
        graph = capture(model, x, torch.empty_like(x))

    def block():
        start = time.perf_counter()
        replay(graph, replays)
        return time.perf_counter() - start

    truth.serve(lambda: replay(graph, 1 + replays // 8), block)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replays", type=int, default=40)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--serve", action="store_true", help="measure on demand")
    args = parser.parse_args()

    torch.manual_seed(0)
    with torch.device("cuda"):
        model = torch.nn.Sequential(*[Block() for _ in range(args.blocks)]).eval()
        inputs = [torch.rand(size, 16, WIDTH) for size in SIZES]
    if args.serve:
        serve(model, inputs[0], args.replays)
        return
    with torch.inference_mode():
        outs = (compiled if args.compiled else by_hand)(model, inputs, args.replays)
    result = torch.cat([out.flatten() for out in outs])
    truth.tell("graph_decode", digest=truth.digest(result.cpu()),
               graphs=None if args.compiled else [args.replays] * len(SIZES),
               dynamo=truth.dynamo() if args.compiled else None,
               # Each graph begins with a fill and ends with a copy; of a compiled model the
               # compiler's own module is the one layer.
               nodes_outside=0 if args.compiled else 2 * args.replays * len(SIZES),
               layers_in_graph=1 if args.compiled else 3 * args.blocks,
               captured=["Attention.forward", "Block.forward", "capture"])


if __name__ == "__main__":
    main()
