"""transformers: a text-classification pipeline that is called for one text at a time."""
import argparse
import time

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast,
                          pipeline)

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="batches of 32 texts")
options = parser.parse_args()

WORDS = ("the a train is late again because of snow and nobody tells us when it will leave while "
         "this seat was very good food friendly staff clean rooms we come back next year").split()


def make_tokenizer():
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]",
                                   cls_token="[CLS]", sep_token="[SEP]")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    config = BertConfig(vocab_size=64, hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
                        intermediate_size=256, max_position_embeddings=64)
    classify = pipeline("text-classification", model=BertForSequenceClassification(config).eval(),
                        tokenizer=make_tokenizer(), device=-1)
    texts = [" ".join(WORDS[i % 7:i % 7 + 12]) for i in range(2560)]
    size = 32 if options.fixed else 1
    took, labels = [], []
    for first in range(0, len(texts), size):
        begin = time.perf_counter()
        labels += classify(texts[first:first + size], batch_size=size)
        took.append(time.perf_counter() - begin)
    clock.write("call", took)
    print("labels:", len(labels), sum(label["label"] == "LABEL_1" for label in labels))


main()
