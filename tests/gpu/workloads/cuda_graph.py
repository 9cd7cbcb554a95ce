"""A small network captured into a CUDA graph and replayed."""

import argparse

import torch

import truth
from truth import scope


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replays", type=int, default=50)
    args = parser.parse_args()

    torch.manual_seed(0)
    with torch.device("cuda"):
        layers = [torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU())
                  for _ in range(6)]
        model = torch.nn.Sequential(*layers).eval()
        x = torch.rand(64, 512)
    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries set themselves up before the capture
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        for _ in range(args.replays):
            with scope("replay"):
                graph.replay()
                torch.cuda.synchronize()
    truth.tell("cuda_graph", replays=args.replays, digest=truth.digest(y.cpu()))


if __name__ == "__main__":
    main()
