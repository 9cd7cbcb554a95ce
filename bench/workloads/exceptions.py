"""Exceptions for everything: raised deep, passed on through frames, caught, chained."""

import timed


class Missing(Exception):
    pass


def look_up(table, key):
    if key not in table:
        raise Missing(key)
    return table[key]


def middle(table, key):
    return look_up(table, key)


def outer(table, key):
    try:
        return middle(table, key)
    except Missing as error:
        raise KeyError(key) from error


def parse(text):
    try:
        return int(text)
    except ValueError:
        return None


def work(rounds):
    table, found = {"a": 1}, 0
    for _ in range(rounds):
        for key in ("a", "b", "c", "d"):
            try:
                found += outer(table, key)
            except KeyError:
                pass
            found += parse(key) is None
    return found


if __name__ == "__main__":
    timed.main(work, 140000)
