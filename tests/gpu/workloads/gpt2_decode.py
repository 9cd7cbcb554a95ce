"""GPT-2, eager, batch 1, greedy decoding with a KV cache: bound by launches.

Random weights: the kernels are those of the real model.
"""

import argparse
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import truth
from truth import scope

PROMPT = 32


def build(device, layers, width):
    torch.manual_seed(0)
    with torch.device(device):
        return GPT2LMHeadModel(GPT2Config(n_layer=layers, n_embd=width, n_head=width // 64)).eval()


@torch.inference_mode()
def request(model, prompt, tokens):
    ids, past, said = prompt, None, []
    for _ in range(tokens):
        with scope("token"):
            step = model(input_ids=ids, past_key_values=past, use_cache=True)
            past = step.past_key_values
            ids = step.logits[:, -1:].argmax(-1)
            said.append(ids.item())
    return said, step.logits


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768, help="64: bound by Python on a CPU, too")
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--requests", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help="measure on demand")
    args = parser.parse_args()

    if args.device == "cpu":
        torch.set_num_threads(1)
    model = build(args.device, args.layers, args.width)
    prompt = torch.arange(PROMPT, device=args.device).reshape(1, PROMPT)
    said, logits = request(model, prompt, args.tokens)  # warm-up

    def block():
        start = time.perf_counter()
        request(model, prompt, args.tokens)  # every token is read back: nothing is left running
        return time.perf_counter() - start

    if args.serve:
        truth.serve(lambda: request(model, prompt, 1 + args.tokens // 8), block)
        return
    for _ in range(args.requests - 1):
        with scope("request"):
            said, logits = request(model, prompt, args.tokens)
    tokens = args.tokens * args.requests
    parts = ("transformer.h.0.attn.c_attn", "transformer.h.0.mlp", "transformer.ln_f", "lm_head")
    truth.tell("gpt2_decode", tokens=tokens, said=said, digest=truth.digest(logits.cpu()),
               layer_calls={name: tokens for name in ("GPT2LMHeadModel", *parts)})


if __name__ == "__main__":
    main()
