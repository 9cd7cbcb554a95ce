"""sentence-transformers: a random encoder embeds a catalogue, one sentence a call."""
import argparse
import tempfile
import time

import torch
from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel

import clock
from tiny_text import make_tokenizer, text

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="encode 32 sentences a call")
options = parser.parse_args()


def make_encoder():
    config = BertConfig(vocab_size=64, hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
                        intermediate_size=256, max_position_embeddings=64)
    with tempfile.TemporaryDirectory() as folder:
        BertModel(config).save_pretrained(folder)
        make_tokenizer().save_pretrained(folder)
        words = models.Transformer(folder)
    return SentenceTransformer(modules=[words, models.Pooling(128)], device="cpu")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    encoder = make_encoder()
    sentences = [text(i) for i in range(960)]
    size = 32 if options.fixed else 1
    took, rows = [], 0
    for first in range(0, len(sentences), size):
        begin = time.perf_counter()
        rows += len(encoder.encode(sentences[first:first + size], show_progress_bar=False))
        took.append(time.perf_counter() - begin)
    clock.write("call", took)
    print("embedded:", rows)


main()
