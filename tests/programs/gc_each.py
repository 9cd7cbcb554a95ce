"""transformers: a service collects garbage by hand after every request."""
import argparse
import gc
import time

import torch
from transformers import BertConfig, BertModel

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="the interpreter collects when it has to")
options = parser.parse_args()


class Service:
    def __init__(self):
        self.model = BertModel(BertConfig(vocab_size=2000, hidden_size=128, num_hidden_layers=4,
                                          num_attention_heads=4, intermediate_size=256)).eval()

    def answer(self, tokens):
        with torch.inference_mode():
            rows = len(self.model(input_ids=tokens).pooler_output)
        if not options.fixed:
            gc.collect()
        return rows


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    service = Service()
    took, rows = [], 0
    for _ in range(40):
        tokens = torch.randint(0, 2000, (2, 32))
        begin = time.perf_counter()
        rows += service.answer(tokens)
        took.append(time.perf_counter() - begin)
    clock.write("request", took)
    print("rows:", rows)


main()
