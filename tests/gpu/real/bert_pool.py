"""transformers' BERT, called by the eight threads of a pool: they take turns with the GIL."""

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from transformers import BertConfig, BertModel

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)


class Embedder:
    def __init__(self):
        torch.manual_seed(0)
        config = BertConfig(vocab_size=4000, hidden_size=384, num_hidden_layers=6,
                            num_attention_heads=6, intermediate_size=1536)
        self.model = BertModel(config).to(DEVICE, DTYPE).eval()

    @torch.inference_mode()
    def embed(self, tokens):
        return self.model(input_ids=tokens.to(DEVICE)).pooler_output.float().cpu()  # <- slow


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="one thread")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    embedder = Embedder()
    texts = torch.randint(0, 4000, (64, 1, 32), generator=torch.Generator().manual_seed(1))
    embedder.embed(texts[0])
    took, count = [], 0

    def timed(tokens):
        begin = time.perf_counter()
        rows = len(embedder.embed(tokens))
        took.append(time.perf_counter() - begin)
        return rows

    start = time.perf_counter()
    with ThreadPoolExecutor(1 if args.fixed else 8) as pool:
        while time.perf_counter() - start < args.seconds:
            count += sum(pool.map(timed, texts))
    print(json.dumps({"digest": 0, "steps": count,
                      "ms_per_step": sum(took) * 1000 / len(took)}))


if __name__ == "__main__":
    main()
