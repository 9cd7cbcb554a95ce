"""Imports torch and never uses CUDA: recording must load and start nothing."""

import argparse

import torch

import truth


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.manual_seed(0)
    x = torch.rand(64, 64) @ torch.rand(64, 64)
    truth.tell("no_cuda", kernels=0, digest=truth.digest(x), driver=truth.libraries("libcuda.so"),
               initialized=torch.cuda.is_initialized())


if __name__ == "__main__":
    main()
