"""Pipelines of generators: every value passes through several frames that yield."""

import timed


def numbers(count):
    for n in range(count):
        yield n


def squares(source):
    for n in source:
        yield n * n


def odd(source):
    for n in source:
        if n % 2:
            yield n


def walk(tree):
    if tree:
        left, value, right = tree
        yield from walk(left)
        yield value
        yield from walk(right)


def grow(depth):
    return (grow(depth - 1), depth, grow(depth - 1)) if depth else None


TREE = grow(7)


def work(rounds):
    total = 0
    for _ in range(rounds):
        total += sum(odd(squares(numbers(400))))
        total += sum(walk(TREE))
    return total


if __name__ == "__main__":
    timed.main(work, 13000)
