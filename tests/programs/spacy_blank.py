"""spaCy: a blank pipeline with rules reads letters one by one; nothing to mend."""
import time

import spacy

import clock


def main():
    read = spacy.blank("en")
    read.add_pipe("sentencizer")
    rules = read.add_pipe("entity_ruler")
    rules.add_patterns([{"label": "ORG", "pattern": "Acme Ltd."},
                        {"label": "NO", "pattern": [{"LOWER": "order"}, {"IS_DIGIT": True}]}])
    letters = [" ".join("Dear Acme Ltd. team, order %d is late since day %d. Please call me." %
                        (1000 + i, j) for j in range(20)) for i in range(1000)]
    took, entities = [], 0
    for letter in letters:
        begin = time.perf_counter()
        entities += len(read(letter).ents)
        took.append(time.perf_counter() - begin)
    clock.write("letter", took)
    print("entities:", entities)


main()
