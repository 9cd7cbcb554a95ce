"""A DataLoader with two worker processes and pinned memory feeds a small model."""

import argparse
import collections
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset

import truth
from truth import copy, scope

BATCH, WIDTH = 16, 4096


class Samples(Dataset):
    """Each sample takes a while; it says which process made it."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.0005)
        return torch.full((WIDTH,), float(index)), os.getpid()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batches", type=int, default=40)
    args = parser.parse_args()

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, 512), torch.nn.GELU(),
                                torch.nn.Linear(512, 8)).eval().to(args.device)
    loader = DataLoader(Samples(args.batches * BATCH), BATCH, num_workers=2,
                        pin_memory=args.device == "cuda")
    loaded, results = collections.Counter(), []
    with torch.inference_mode():
        for samples, pids in loader:
            loaded[int(pids[0])] += 1
            with scope("batch"):
                results.append(model(samples.to(args.device, non_blocking=True)).cpu())
    nbytes = args.batches * BATCH * WIDTH * 4
    truth.tell("loader_pipeline", pid=os.getpid(), digest=truth.digest(*results),
               loaded=sorted(loaded.items()), layer_calls={"Sequential": args.batches,
                                                           "0": args.batches},
               inputs=[copy("HtoD", "pinned", "device", args.batches, nbytes)])


if __name__ == "__main__":
    main()
