"""A tokenizer of a few words for the random transformers of this folder."""
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

WORDS = ("the a train is late again because of snow and nobody tells us when it will leave while "
         "this seat was very good food friendly staff clean rooms we come back next year").split()


def make_tokenizer(max_length=64):
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]",
                                   cls_token="[CLS]", sep_token="[SEP]",
                                   model_max_length=max_length)


def text(number, words=12):
    return " ".join(WORDS[(number + 3 * i) % len(WORDS)] for i in range(words))
