"""An encoder service whose layers' last activations can be asked for at /debug/activations, to see
how inputs drift."""

import argparse
import json
import time

import torch
from transformers import BertConfig, BertModel

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, LENGTH, WIDTH, LAYERS = (64, 256, 768, 12) if CUDA else (2, 32, 64, 2)


class Taps:
    """Keeps what each layer said last, where the debugging thread can read it."""

    def __init__(self, layers):
        self.last = {}
        for number, layer in enumerate(layers):
            self.last[number] = torch.empty(ROWS, LENGTH, WIDTH, dtype=DTYPE, pin_memory=CUDA)
            layer.register_forward_hook(self.hook(number))

    def hook(self, number):
        def keep(module, args, output):
            states = output[0] if isinstance(output, tuple) else output
            self.keep(number, states)
        return keep

    def keep(self, number, states):
        self.last[number].copy_(states)  # <- slow

    def snapshot(self):
        return {number: states.float().abs().mean().item() for number, states in self.last.items()}


class LazyTaps(Taps):
    """Leaves it on the device until somebody asks."""

    def keep(self, number, states):
        self.last[number] = states


class Service:
    def __init__(self, taps):
        torch.manual_seed(0)
        config = BertConfig(vocab_size=8192, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                            num_attention_heads=WIDTH // 64, intermediate_size=4 * WIDTH)
        with torch.device(DEVICE):
            self.model = BertModel(config, add_pooling_layer=False).to(DTYPE).eval()
        self.taps = taps(self.model.encoder.layer)

    @torch.inference_mode()
    def embed(self, tokens):
        states = self.model(input_ids=tokens.to(DEVICE)).last_hidden_state
        return states.mean(1).float().cpu()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    service = Service(LazyTaps if args.fixed else Taps)
    maker = torch.Generator().manual_seed(1)
    requests = [torch.randint(0, 8192, (ROWS, LENGTH), generator=maker) for _ in range(4)]
    for request in requests:
        service.embed(request)
    digest = round(sum(service.taps.snapshot().values()), 2)
    steps, start = 0, time.perf_counter()
    while steps < 6 or time.perf_counter() - start < args.seconds:
        service.embed(requests[steps % len(requests)])
        steps += 1
    took = time.perf_counter() - start
    print("%.0f texts/s" % (steps * ROWS / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
