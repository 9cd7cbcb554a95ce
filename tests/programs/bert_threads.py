"""transformers: eight threads of a pool share a small BERT and take turns with the GIL."""
import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from transformers import BertConfig, BertModel

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="one thread, eight texts a call")
options = parser.parse_args()

torch.manual_seed(1)
torch.set_num_threads(1)
model = BertModel(BertConfig(vocab_size=2000, hidden_size=64, num_hidden_layers=6,
                             num_attention_heads=2, intermediate_size=128)).eval()
took = []


def embed(tokens):
    begin = time.perf_counter()
    with torch.inference_mode():
        result = model(input_ids=tokens).pooler_output
    took.append(time.perf_counter() - begin)
    return len(result)


def main():
    texts = torch.randint(0, 2000, (1600, 16))
    begin = time.perf_counter()
    with ThreadPoolExecutor(1 if options.fixed else 8) as pool:
        rows = sum(pool.map(embed, texts.split(8 if options.fixed else 1)))
    clock.write("all", [time.perf_counter() - begin])
    clock.write("call", took)
    print("texts:", rows)


main()
