"""transformers: a random GPT-2 answers prompts one by one with generate()."""
import argparse
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="eight prompts in one call")
options = parser.parse_args()

torch.manual_seed(1)
torch.set_num_threads(1)
config = GPT2Config(vocab_size=2000, n_positions=256, n_embd=256, n_layer=6, n_head=8,
                    bos_token_id=0, eos_token_id=None, pad_token_id=0)
model = GPT2LMHeadModel(config).eval()


def answer(prompts):
    with torch.no_grad():
        return model.generate(prompts, max_new_tokens=32, min_new_tokens=32, do_sample=False)


def main():
    prompts = torch.randint(1, 2000, (64, 16))
    took, total = [], 0
    for some in prompts.split(8 if options.fixed else 1):
        begin = time.perf_counter()
        total += answer(some).numel()
        took.append(time.perf_counter() - begin)
    clock.write("answer", took)
    print("tokens:", total)


main()
