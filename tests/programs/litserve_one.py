"""LitServe: a server process and a worker process with a torch model; little load."""
import sys
import time

import litserve
import torch
from torch import nn

import clock

took = []


class Classify(litserve.LitAPI):
    def setup(self, device):
        torch.manual_seed(1)
        torch.set_num_threads(1)
        self.network = nn.Sequential(*[layer for _ in range(6)
                                       for layer in (nn.Linear(1024, 1024), nn.ReLU())]).eval()

    def decode_request(self, request):
        return torch.tensor(request["rows"]).repeat(1, 16)

    def predict(self, rows):
        begin = time.perf_counter()
        with torch.inference_mode():
            label = int(self.network(rows).argmax())
        took.append(time.perf_counter() - begin)
        if len(took) == 150:
            clock.write("predict", took)
        return label

    def encode_response(self, label):
        return {"label": label}


if __name__ == "__main__":
    litserve.LitServer(Classify(), accelerator="cpu").run(
        host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="warning")
