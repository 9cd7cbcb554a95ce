"""What hearing of layers costs a model that is bound by Python (CPython 3.12 and later).

    bench/layer_events.py --python PYTHON_WITH_TORCH

Records a small transformer on the CPU with nothing but its layers and no bound.  The model's own
process switches our events off and on in turns, so that both are measured in one process, with the
same memory at the same addresses; the account says what it takes the events to have cost.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import paired

STEPS = 12    # in a turn, after half as many that are not timed
TURNS = 300
LAYERS = 12


def build(torch):
    nn, width = torch.nn, 64

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.act, self.down = nn.Linear(width, 256), nn.GELU(), nn.Linear(256, width)

        def forward(self, x):
            return self.down(self.act(self.up(x)))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = Mlp()

        def forward(self, x):
            q, k, v = (part.view(1, -1, 4, width // 4).transpose(1, 2)
                       for part in self.qkv(self.first(x)).chunk(3, -1))
            y = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.project(y.transpose(1, 2).reshape(1, -1, width))
            return x + self.mlp(self.second(x))

    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(LAYERS))).eval(), torch.randn(1, 8, width)


def measure():
    import torch
    torch.set_num_threads(1)
    model, x = build(torch)
    tool = next(n for n in range(6) if sys.monitoring.get_tool(n) == "inferscope")
    events = sys.monitoring.get_events(tool)

    def turn(on):
        sys.monitoring.set_events(tool, events if on else 0)
        for n in range(STEPS // 2 + STEPS):
            if n == STEPS // 2:
                begin = time.perf_counter()
            with torch.inference_mode():
                model(x)
        return (time.perf_counter() - begin) / STEPS

    turn(True)
    pairs = []
    for n in range(TURNS):
        first = turn(n % 2)
        second = turn(not n % 2)
        pairs.append((first, second) if n % 2 else (second, first))
    modules = sum(1 for _ in model.modules())
    json.dump({"pairs": pairs, "events": 2 * modules}, sys.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--bin", default=os.environ.get("INFERSCOPE_BIN", "inferscope"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "r.json")
        done = subprocess.run([args.bin, "run", "--quiet", "--cpu", "off", "--no-memory",
                               "--max-overhead", "100", "--report", report, "--trace",
                               os.path.join(folder, "t.isc"), "--python", args.python,
                               os.path.abspath(__file__), "--inside"], check=True,
                              stdout=subprocess.PIPE, universal_newlines=True)
        with open(report, encoding="utf-8") as file:
            trust = json.load(file)["trust"]
    told = json.loads(done.stdout)
    ratio, low, high = paired.summarize([(off, on) for on, off in told["pairs"]])
    step = statistics.median(off for _, off in told["pairs"])
    print("layers.on %.4f times (%.4f - %.4f) of %.0f us" % (ratio, low, high, step * 1e6))
    print("layers.event %.0f ns, of %d a step" % ((ratio - 1) * step * 1e9 / told["events"],
                                                  told["events"]))
    print("# the account, of the whole run, in half of which they are on: %.4f"
          % trust["overhead_share"])


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["--inside"] else main()
