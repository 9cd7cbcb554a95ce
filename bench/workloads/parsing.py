"""Reads a log: regular expressions find the fields, json the rest of each line, and back again."""

import json
import re

import timed

LINE = re.compile(r"(?P<time>\S+) \[(?P<level>\w+)\] (?P<host>[\w.-]+): (?P<rest>\{.*\})")
WORD = re.compile(r"[A-Za-z]+|\d+")

TEXT = ["2026-11-15T10:%02d:%02d [%s] node-%d.example: %s"
        % (n // 60 % 60, n % 60, ("INFO", "WARN")[n % 7 == 0], n % 12,
           json.dumps({"request": n, "path": "/v1/items/%d" % n, "tags": ["a", "b", str(n)],
                       "timing": {"queue": n / 7, "total": n / 3}}))
        for n in range(200)]


def parse(line):
    match = LINE.match(line)
    fields = match.groupdict()
    fields.update(json.loads(fields.pop("rest")))
    return fields


def words(record):
    return len(WORD.findall(record["path"])) + len(WORD.findall(record["time"]))


def work(rounds):
    total = 0
    for _ in range(rounds):
        records = [parse(line) for line in TEXT]
        total += sum(words(record) for record in records)
        total += len(json.dumps(records, sort_keys=True))
    return total


if __name__ == "__main__":
    timed.main(work, 550)
