"""An API process and an engine process that talk over ZeroMQ; the engine naps between polls."""
import argparse
import multiprocessing
import tempfile
import time

import torch
import zmq
from torch import nn

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="the engine waits for a message")
options = parser.parse_args()


def engine(address, naps):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = nn.Sequential(*[layer for _ in range(4)
                              for layer in (nn.Linear(512, 512), nn.ReLU())]).eval()
    socket = zmq.Context().socket(zmq.REP)
    socket.bind(address)
    took = []
    while True:
        if naps:
            try:
                request = socket.recv_pyobj(zmq.NOBLOCK)
            except zmq.Again:
                time.sleep(0.02)
                continue
        else:
            request = socket.recv_pyobj()
        if request is None:
            break
        begin = time.perf_counter()
        with torch.inference_mode():
            label = int(network(torch.tensor(request)).argmax())
        socket.send_pyobj(label)
        took.append(time.perf_counter() - begin)
    clock.write("engine", took)
    socket.send_pyobj(None)


def ask(socket, row):
    socket.send_pyobj(row)
    return socket.recv_pyobj()


def main():
    with tempfile.TemporaryDirectory() as folder:
        address = "ipc://" + folder + "/engine"
        process = multiprocessing.get_context("spawn").Process(
            target=engine, args=(address, not options.fixed))
        process.start()
        socket = zmq.Context().socket(zmq.REQ)
        socket.connect(address)
        row = [0.01 * i for i in range(512)]
        ask(socket, row)
        took, total = [], 0
        for _ in range(300):
            begin = time.perf_counter()
            total += ask(socket, row)
            took.append(time.perf_counter() - begin)
        ask(socket, None)
        process.join()
    clock.write("request", took)
    print("labels:", total)


if __name__ == "__main__":
    main()
