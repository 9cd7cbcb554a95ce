"""Grades documents of every length with a compiled model.

    variable_docs.py [--fixed]
"""

import random
import sys
import time

import torch
import torch._dynamo

torch._dynamo.config.recompile_limit = 64


class Grader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(2000, 96)
        self.mix = torch.nn.ModuleList(torch.nn.Linear(96, 96) for _ in range(4))
        self.grade = torch.nn.Linear(96, 1)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.mix:
            x = torch.tanh(layer(x)) + x.roll(1, dims=1)
        return self.grade(x.mean(1)).squeeze(1)


def documents(count):
    rng = random.Random(13)
    for _ in range(count):
        yield [rng.randrange(2000) for _ in range(rng.randrange(40, 400, 24))]


def grade_all(model, docs):
    grades = []
    for document in docs:
        ids = torch.tensor([document] * 8)
        grades.append(model(ids).mean().item())
    return grades


def main():
    fixed = "--fixed" in sys.argv
    torch.manual_seed(13)
    torch.set_num_threads(1)
    model = torch.compile(Grader().eval(), backend="aot_eager", dynamic=True if fixed else False)
    docs = list(documents(120))
    began = time.perf_counter()
    with torch.inference_mode():
        grades = grade_all(model, docs)
    took = time.perf_counter() - began
    print(f"grades {sum(grades):.4f}")
    count = len(docs)
    print(f"{count} documents of {1e3 * took / count:.2f} ms: {count / took:.2f} steps/s")


if __name__ == "__main__":
    main()
