"""GPT-2 over a window of tokens that moves: eager, compiled, in graphs of the compiler's, or in
one captured by hand.  Random weights: the kernels are those of the real model.

Compiled, a second length of window makes the compiler work once more.
"""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import truth
from truth import scope

WINDOWS = (64, 96)
LAYERS = 2
MODES = {"compile": "default", "reduce-overhead": "reduce-overhead"}


class Graph:
    """A model for one length of window, captured."""

    def __init__(self, model, ids):
        self.ids = ids.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries set themselves up before the capture
            for _ in range(3):
                model(self.ids, use_cache=False)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = model(self.ids, use_cache=False).logits

    def __call__(self, ids):
        self.ids.copy_(ids)
        self.graph.replay()
        return self.logits


def decode(forward, ids, tokens):
    for _ in range(tokens):
        with scope("token"):
            torch.compiler.cudagraph_mark_step_begin()
            logits = forward(ids)
            ids = torch.cat([ids[:, 1:], logits[:, -1:].argmax(-1)], 1)
            ids[0, -1].item()
    return ids, logits.clone()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=["eager", "graph", *MODES])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tokens", type=int, default=20, help="of each length of window")
    args = parser.parse_args()

    torch.manual_seed(0)
    with torch.device(args.device):
        model = GPT2LMHeadModel(GPT2Config(n_layer=LAYERS)).eval()
    results = []
    run = torch.compile(model, mode=MODES[args.way]) if args.way in MODES else model
    with torch.inference_mode():
        for length in WINDOWS:
            prompt = torch.arange(length, device=args.device).reshape(1, length)
            forward = (Graph(model, prompt) if args.way == "graph" else
                       lambda ids: run(ids, use_cache=False).logits)
            results += decode(forward, prompt, args.tokens)
    # In graphs there is nothing but the model; the compiler's have it as one layer.
    truth.tell("gpt2_window", digest=truth.digest(*(result.cpu() for result in results)),
               dynamo=truth.dynamo() if args.way in MODES else None, nodes_outside=0,
               layers_in_graph=1 if args.way in MODES else 5 * LAYERS)


if __name__ == "__main__":
    main()
