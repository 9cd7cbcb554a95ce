"""Runs the land cover pipeline over the scenes of an orbit.

    landcover_run.py [--fixed]
"""

import argparse
import time

import torch
from landcover.network import Segmentation
from landcover.radiometry import FreshCalibration, ReusingCalibration
from landcover.stage import Chain


def scenes(count, bands=4, side=2304):
    generator = torch.Generator().manual_seed(6)
    shape = (3, bands, side, side)
    store = torch.randint(0, 255, shape, dtype=torch.uint8, generator=generator)
    for number in range(count):
        yield store[number % len(store)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--scenes", type=int, default=24)
    args = parser.parse_args()
    torch.manual_seed(6)
    torch.set_num_threads(1)
    calibration = ReusingCalibration if args.fixed else FreshCalibration
    pipeline = Chain(calibration(1 / 255, -0.05), Segmentation())
    water = 0
    began = time.perf_counter()
    for scene in scenes(args.scenes):
        cover = pipeline(scene)
        water += (cover == 0).sum().item()
    took = time.perf_counter() - began
    print("water", water)
    count = args.scenes
    print(f"{count} scenes of {1e3 * took / count:.2f} ms: {count / took:.2f} steps/s")


if __name__ == "__main__":
    main()
