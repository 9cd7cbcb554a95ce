"""Likelihood of texts under a small GPT-2: all logits go to the host, one of each row is used."""

import argparse
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--batch", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    config = GPT2Config(n_layer=3, n_head=8, n_embd=512)
    model = GPT2LMHeadModel(config).to(args.device, torch.bfloat16).eval()
    texts = torch.randint(config.vocab_size, (16, args.batch, 128))
    on_device = texts.to(args.device)
    on_host = torch.ones(args.batch, 128, config.vocab_size, dtype=torch.bfloat16)

    def likelihood(nth):
        logits = model(input_ids=on_device[nth], use_cache=False).logits
        on_host.copy_(logits)  # <- slow
        rows = on_host[:, :-1].gather(2, texts[nth, :, 1:, None])
        return rows.float().sum().item()

    likelihood(0)
    start = time.perf_counter()
    steps, total = 0, 0.0
    while steps < 20 or time.perf_counter() - start < args.seconds:
        total += likelihood(steps % 16)
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    print("total %.1f" % total)
    print("steps=%d ms_per_step=%.3f" % (steps, ms))


if __name__ == "__main__":
    main()
