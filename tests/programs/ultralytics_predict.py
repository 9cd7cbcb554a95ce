"""ultralytics: a random YOLO11n looks for objects in large camera frames, one at a time."""
import os
import time

os.environ["YOLO_OFFLINE"] = "1"
os.environ["YOLO_AUTOINSTALL"] = "false"

import numpy as np  # noqa: E402
import torch  # noqa: E402

import clock  # noqa: E402
import no_operators  # noqa: E402, F401
from ultralytics import YOLO  # noqa: E402


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = YOLO("yolo11n.yaml")
    frame = np.random.default_rng(1).integers(0, 255, (720, 1280, 3), np.uint8)
    network.predict(frame, imgsz=320, verbose=False)
    took, boxes = [], 0
    for _ in range(60):
        begin = time.perf_counter()
        boxes += len(network.predict(frame, imgsz=320, verbose=False)[0].boxes)
        took.append(time.perf_counter() - begin)
    clock.write("frame", took)
    print("boxes:", boxes)


main()
