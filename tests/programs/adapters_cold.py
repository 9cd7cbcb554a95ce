"""safetensors: an adapter is read for each request, from files that no cache holds."""
import argparse
import os
import tempfile
import time

import torch
from safetensors.torch import load_file, save_file

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="adapters stay in memory")
options = parser.parse_args()


class Adapters:
    def __init__(self, folder):
        self.folder = folder
        self.kept = {}

    def load(self, name):
        if name in self.kept:
            return self.kept[name]
        weights = load_file(os.path.join(self.folder, name))["weight"]
        if options.fixed:
            self.kept[name] = weights
        return weights


def forget(path):
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as folder:
        for i in range(4):
            save_file({"weight": torch.randn(4096, 2048)}, os.path.join(folder, str(i)))
        os.sync()
        adapters = Adapters(folder)
        x = torch.randn(1, 4096)
        took, total = [], 0
        for number in range(40):
            forget(os.path.join(folder, str(number % 4)))
            begin = time.perf_counter()
            total += (x @ adapters.load(str(number % 4))).shape[1]
            took.append(time.perf_counter() - begin)
    clock.write("request", took)
    print("values:", total)


main()
