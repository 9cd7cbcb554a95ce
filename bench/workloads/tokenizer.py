"""A byte pair tokenizer in pure Python: learns merges from a text, then encodes it."""

import timed

TEXT = ("the quick brown fox jumps over the lazy dog while the other dogs bark at the moon and "
        "every token that a model reads was once a piece of text that someone split in two ") * 2


def pairs_of(pieces):
    return zip(pieces, pieces[1:])


def count_pairs(words):
    counts = {}
    for pieces in words:
        for pair in pairs_of(pieces):
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(pieces, pair):
    out, at = [], 0
    while at < len(pieces):
        if at + 1 < len(pieces) and (pieces[at], pieces[at + 1]) == pair:
            out.append(pieces[at] + pieces[at + 1])
            at += 2
        else:
            out.append(pieces[at])
            at += 1
    return out


def learn(words, merges):
    ranks = {}
    for rank in range(merges):
        counts = count_pairs(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        ranks[best] = rank
        words = [merge(pieces, best) for pieces in words]
    return ranks


def encode(word, ranks):
    pieces = list(word)
    while len(pieces) > 1:
        best = min(pairs_of(pieces), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        pieces = merge(pieces, best)
    return pieces


def work(rounds):
    total = 0
    for _ in range(rounds):
        ranks = learn([list(word) for word in TEXT.split()], 40)
        total += sum(len(encode(word, ranks)) for word in TEXT.split())
    return total


if __name__ == "__main__":
    timed.main(work, 270)
