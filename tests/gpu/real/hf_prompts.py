"""transformers' generate() for one prompt at a time, eager GPT-2."""

import argparse
import json
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PROMPTS = 8


def load():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=4000, n_embd=512, n_layer=8, n_head=8, bos_token_id=1,
                        eos_token_id=None, pad_token_id=0)
    return GPT2LMHeadModel(config).to(DEVICE).eval()


@torch.inference_mode()
def complete(model, prompts):
    return model.generate(prompts.to(DEVICE), attention_mask=torch.ones_like(prompts).to(DEVICE),
                          max_new_tokens=24, do_sample=False, pad_token_id=0).tolist()  # <- slow


def serve(model, prompts, together):
    if together:
        return complete(model, prompts)
    return [complete(model, prompt[None])[0] for prompt in prompts]  # <- slow


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="all prompts in one call")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    model = load()
    prompts = torch.randint(2, 4000, (PROMPTS, 16), generator=torch.Generator().manual_seed(1))
    first = serve(model, prompts, args.fixed)
    steps, start = 0, time.perf_counter()
    while steps < 3 or time.perf_counter() - start < args.seconds:
        serve(model, prompts, args.fixed)
        steps += 1
    took = time.perf_counter() - start
    print(json.dumps({"digest": first[0][:20], "steps": steps * PROMPTS,
                      "ms_per_step": took * 1000 / steps / PROMPTS}))


if __name__ == "__main__":
    main()
