"""What is known of the programs of this folder: truth.json, and the marks in their sources.

truth.json, for each program:
    finding       the id that the report's first finding must have; null: there is nothing to fix
    also          ids that are true of it as well, at a smaller saving, fixed or not
    argued        {variant: {id: why}} of findings that nobody had foreseen, or that the fix left,
                  and that the program's source shows to be true
    verdict       where only one is right
    cpu           it has the same bottleneck without a GPU (default: false)
    same_answers  the fixed variant's digest is the slow one's (default: true)

The place is not written down: it is any line with the comment "# <- slow", and its function.
"""

import ast
import json
import os
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "# <- slow"

Place = namedtuple("Place", "function line")


class Program:
    def __init__(self, name, truth, folder=HERE):
        self.name = name
        self.path = os.path.join(folder, name + ".py")
        self.finding = truth["finding"]
        self.also = truth.get("also", [])
        self.argued = truth.get("argued", {})
        self.verdicts = truth.get("verdicts") or [truth.get("verdict")]
        self.on_cpu = truth.get("cpu", False)
        self.same_answers = truth.get("same_answers", True)
        self.places = marked(self.path)

    @property
    def variants(self):
        """A healthy program has nothing to fix."""
        return ["slow", "fixed"] if self.finding else ["slow"]

    def command(self, variant, *more):
        return [self.path, *(["--fixed"] if variant == "fixed" else []), *more]

    def here(self, where):
        """(function is right, line is right) of a finding's place in this program."""
        if not where or os.path.basename(where.get("file") or "") != self.name + ".py":
            return False, False
        function = (where.get("function") or "").split(".")[-1]
        return (function in {place.function for place in self.places},
                where.get("line") in {place.line for place in self.places})


def marked(path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    functions = [node for node in ast.walk(ast.parse(source))
                 if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    places = []
    for number, line in enumerate(source.splitlines(), 1):
        if line.endswith(MARK):
            around = [node for node in functions if node.lineno <= number <= node.end_lineno]
            places.append(Place(max(around, key=lambda node: node.lineno).name, number))
    return places


def programs(folder=HERE, truths="truth.json"):
    with open(os.path.join(folder, truths), encoding="utf-8") as file:
        return [Program(name, truth, folder) for name, truth in json.load(file).items()]


def said(stdout):
    """What a program's last line says; None where there is none."""
    for line in reversed(stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return None
