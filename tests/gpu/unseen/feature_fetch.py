"""Ranks with a small BERT; what is known of a user is kept by another server, asked over TCP."""

import argparse
import socket
import subprocess
import sys
import time

import torch
from transformers import BertConfig, BertModel

TOKENS = 64
STORE = """
import socket, sys, time
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    client, _ = server.accept()
    while True:
        key = client.recv(8)
        if not key:
            break
        time.sleep(0.015)  # a disk, far away
        client.sendall(key * %d)
""" % TOKENS


class FeatureStore:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", STORE], stdout=subprocess.PIPE,
                                        text=True)
        port = int(self.process.stdout.readline())
        self.socket = socket.create_connection(("127.0.0.1", port))

    def fetch(self, user):
        self.socket.sendall(b"%08d" % user)
        got = bytearray()
        while len(got) < 8 * TOKENS:
            got += self.socket.recv(65536)  # <- slow
        return [value for value in got[:TOKENS]]

    def close(self):
        self.socket.close()
        self.process.wait()


class Ranker:
    def __init__(self, device):
        torch.manual_seed(0)
        self.device = device
        self.model = BertModel(BertConfig(num_hidden_layers=3, hidden_size=256,
                                          intermediate_size=1024, num_attention_heads=4))
        self.model = self.model.to(device).eval()

    @torch.inference_mode()
    def rank(self, features):
        ids = torch.tensor([features], device=self.device)
        return self.model(input_ids=ids).last_hidden_state[0, 0, 0].item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    store, ranker = FeatureStore(), Ranker(args.device)
    ranker.rank(store.fetch(1))
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        ranker.rank(store.fetch(steps))
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    store.close()
    print("steps=%d ms_per_step=%.3f" % (steps, ms))


if __name__ == "__main__":
    main()
