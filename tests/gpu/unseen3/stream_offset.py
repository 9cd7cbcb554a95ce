"""Streaming speech: the frames of a long meeting go through a compiled encoder, chunk by chunk."""

import argparse
import json
import time

import torch
import torch._dynamo
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, FRAMES, PAST, BANDS = 8, 32, 96, 80
WIDTH, LAYERS, HEADS = (512, 6, 8) if CUDA else (64, 2, 4)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.kv = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, past):
        """Looks back at the last frames, too; (states, the past of the next chunk)."""
        both = torch.cat([past, self.norm(x)], 1)
        q = self.q(both[:, -FRAMES:]).unflatten(2, (HEADS, -1)).transpose(1, 2)
        k, v = self.kv(both).unflatten(2, (2, HEADS, -1)).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.mlp(self.between(x)), both[:, -PAST:]


class Encoder(nn.Module):
    def __init__(self, offset):
        super().__init__()
        self.enter = nn.Linear(BANDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 256)
        self.offset = offset
        rates = 10000 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("rates", rates, persistent=False)

    def places(self):
        """Where in the meeting the frames are."""
        angle = (torch.arange(FRAMES, device=DEVICE) + self.offset)[:, None] * self.rates
        return torch.cat([angle.sin(), angle.cos()], 1)

    def forward(self, chunk, past):
        x, kept = self.enter(chunk) + self.places().to(chunk.dtype), []
        for layer, before in zip(self.layers, past):
            x, after = layer(x, before)
            kept.append(after)
        return self.head(x).argmax(-1), kept


class Meeting:
    def __init__(self, offset):
        torch.manual_seed(0)
        self.encoder = Encoder(offset).to(DEVICE, DTYPE).eval()
        self.encoder.compile(backend="aot_eager", dynamic=False)
        self.past = [torch.zeros(ROWS, PAST, WIDTH, device=DEVICE, dtype=DTYPE)
                     for _ in range(LAYERS)]

    @torch.inference_mode()
    def hear(self, chunk):
        words, self.past = self.encoder(chunk.to(DEVICE, DTYPE), self.past)  # <- slow
        self.encoder.offset += FRAMES  # <- slow
        return words.cpu()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch._dynamo.config.recompile_limit = 100000  # it had warned of eight
    torch._dynamo.config.accumulated_recompile_limit = 100000
    meeting = Meeting(torch.zeros((), dtype=torch.long, device=DEVICE) if args.fixed else 0)
    maker = torch.Generator().manual_seed(1)
    chunks = [torch.randn(ROWS, FRAMES, BANDS, generator=maker) for _ in range(4)]
    digest = sum(int(meeting.hear(chunk).sum()) for chunk in chunks)
    steps, start = 0, time.perf_counter()
    while steps < 6 or time.perf_counter() - start < args.seconds:
        meeting.hear(chunks[steps % len(chunks)])
        steps += 1
    took = time.perf_counter() - start
    print("%.0f frames/s" % (steps * ROWS * FRAMES / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
