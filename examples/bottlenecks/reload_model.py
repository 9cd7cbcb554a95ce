"""Serves encoders of two customers, whose weights are kept in memory as files.

Slow:  each request loads its customer's weights into the model.
Fixed: each model is built once, when the program starts.
"""

import copy
import io

import torch

from harness import Clock, options
from models import build, encoder

CUSTOMERS = 2


class Server:
    def __init__(self, files, skeleton):
        self.files = files
        self.skeleton = skeleton

    def model_of(self, customer):
        model = self.skeleton
        weights = torch.load(io.BytesIO(self.files[customer]), weights_only=True)  # <- slow
        model.load_state_dict(weights, assign=True)  # <- slow
        return model

    @torch.inference_mode()
    def handle(self, customer, batch):
        hidden = self.model_of(customer)(batch)
        return hidden.mean(dim=1).argmax(dim=-1).tolist()


class CachingServer(Server):
    def __init__(self, files, skeleton):
        super().__init__(files, skeleton)
        self.models = []
        for customer in range(len(files)):
            self.skeleton = copy.deepcopy(skeleton)
            self.models.append(super().model_of(customer))

    def model_of(self, customer):
        return self.models[customer]


def main():
    args = options(__doc__, steps=200, cpu_steps=100)
    width, layers = (768, 6) if args.on_gpu else (384, 4)
    skeleton = build(lambda: encoder(width, 8, layers), args.device, args.dtype)
    files = []
    for customer in range(CUSTOMERS):
        file = io.BytesIO()
        torch.save({name: tensor + 0.001 * customer
                    for name, tensor in skeleton.state_dict().items()}, file)
        files.append(file.getvalue())
    server = (CachingServer if args.fixed else Server)(files, skeleton)
    stored = [torch.randn(1, 16, width, dtype=args.dtype, device=args.device) for _ in range(4)]
    clock = Clock(args)
    while not clock.step(server.handle(clock.count % CUSTOMERS, stored[clock.count % len(stored)])):
        pass
    clock.finish()


if __name__ == "__main__":
    main()
