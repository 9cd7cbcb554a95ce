"""Prints line tables of the standard library's code objects, and what they mean.

For each code object one line: minor version, first line, the raw table in hex,
and the line of each two bytes of code (0: none) as the interpreter tells it.
Runs on every CPython from 3.8 on; test_gpu_lines.c compares.
"""

import dis
import os
import sys

MODULES = ["argparse", "ast", "dataclasses", "datetime", "decimal", "difflib", "enum", "functools",
           "inspect", "json/decoder", "json/encoder", "asyncio/base_events", "asyncio/tasks",
           "logging/__init__", "pickle", "pdb", "subprocess", "tarfile", "threading", "typing",
           "turtle", "unittest/mock", "zipfile"]


def codes(code):
    yield code
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield from codes(const)


def lines(code):
    count = len(code.co_code) // 2
    if sys.version_info >= (3, 11):
        return [position[0] or 0 for position in code.co_positions()]
    table = [0] * count
    if sys.version_info >= (3, 10):
        for start, end, line in code.co_lines():
            table[start // 2:end // 2] = [line or 0] * ((end - start) // 2)
        return table
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for i in range(count):
        line = starts.get(2 * i, line)
        table[i] = line
    return table


def main():
    library = os.path.dirname(os.__file__)
    for module in MODULES:
        path = os.path.join(library, *module.split("/")) + ".py"
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            source = file.read()
        for code in codes(compile(source, path, "exec")):
            table = code.co_lnotab if sys.version_info < (3, 10) else code.co_linetable
            print(sys.version_info[1], code.co_firstlineno, table.hex() or "-", *lines(code))


main()
