"""CTranslate2: a random GPT-2, converted, writes answers one prompt a call."""
import argparse
import os
import tempfile
import time

import ctranslate2
import torch
from ctranslate2.converters import TransformersConverter
from transformers import GPT2Config, GPT2LMHeadModel

import clock
from tiny_text import WORDS, make_tokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="sixteen prompts a call")
options = parser.parse_args()


def make_generator(folder):
    torch.manual_seed(1)
    tokenizer = make_tokenizer()
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=256, n_embd=384, n_layer=6, n_head=6,
                        bos_token_id=2, eos_token_id=3)
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.bos_token, tokenizer.eos_token = "[CLS]", "[SEP]"
    tokenizer.save_pretrained(folder)
    converted = os.path.join(folder, "converted")
    TransformersConverter(folder).convert(converted)
    return ctranslate2.Generator(converted, device="cpu", intra_threads=1, inter_threads=1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        generator = make_generator(folder)
        prompts = [[WORDS[(i + j) % len(WORDS)] for j in range(8)] for i in range(64)]
        size = 16 if options.fixed else 1
        took, tokens = [], 0
        for first in range(0, len(prompts), size):
            begin = time.perf_counter()
            answers = generator.generate_batch(prompts[first:first + size], max_length=40,
                                               min_length=40)
            took.append(time.perf_counter() - begin)
            tokens += sum(len(answer.sequences_ids[0]) for answer in answers)
        clock.write("call", took)
        print("tokens:", tokens)


main()
