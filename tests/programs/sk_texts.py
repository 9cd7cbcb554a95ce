"""scikit-learn: TF-IDF with a tokenizer of Python, then a linear model, batch by batch."""
import argparse
import re
import time

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="scikit-learn's own pattern")
options = parser.parse_args()
WORDS = "late train snow seat food staff room clean loud slow nice refund ticket bus again".split()


def words_of(text):
    found = []
    for word in re.split(r"\W+", text.lower()):
        stem = word
        for ending in ("ing", "ed", "es", "s", "ly"):
            if stem.endswith(ending) and len(stem) > len(ending) + 2:
                stem = stem[:-len(ending)]
        if stem:
            found.append("".join(letter for letter in stem if letter.isalpha()))
    return found


def main():
    texts = [" ".join(WORDS[(i * 5 + j * j) % len(WORDS)] for j in range(80)) for i in range(3200)]
    vectorizer = TfidfVectorizer() if options.fixed else \
        TfidfVectorizer(tokenizer=words_of, token_pattern=None)
    model = make_pipeline(vectorizer, SGDClassifier(random_state=1))
    model.fit(texts[:200], [i % 2 for i in range(200)])
    took, total = [], 0
    for first in range(0, len(texts), 32):
        begin = time.perf_counter()
        total += int(model.predict(texts[first:first + 32]).sum())
        took.append(time.perf_counter() - begin)
    clock.write("batch", took)
    print("complaints:", total > 0)


main()
