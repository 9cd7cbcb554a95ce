"""tokenizers: a trained BPE encodes documents, one call for each."""
import time

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import clock

WORDS = "late train snow seat food staff room clean loud slow nice refund ticket bus again".split()


def main():
    documents = [" ".join(WORDS[(i * 5 + j * j + j // 7) % len(WORDS)] for j in range(400))
                 for i in range(6000)]
    tokenizer = Tokenizer(models.BPE(unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(documents[:50], trainers.BpeTrainer(
        vocab_size=120, special_tokens=["?"], show_progress=False))
    took, tokens = [], 0
    for document in documents:
        begin = time.perf_counter()
        tokens += len(tokenizer.encode(document).ids)
        took.append(time.perf_counter() - begin)
    clock.write("document", took)
    print("tokens:", tokens)


main()
