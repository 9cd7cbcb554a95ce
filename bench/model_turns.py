"""What disturbs a model that is bound by Python, and how much, in turns in one process.

    bench/model_turns.py --python PYTHON_WITH_TORCH layers        our events of its layers (3.12+)
    bench/model_turns.py --python PYTHON_WITH_TORCH events        all our events of it (3.12+)
    bench/model_turns.py --python PYTHON_WITH_TORCH recorder      our other process
    bench/model_turns.py --python PYTHON_WITH_TORCH interrupts    the kernel's samples of its thread
    bench/model_turns.py --python PYTHON_WITH_TORCH neighbour     somebody busy on another CPU

A small transformer on the CPU; --model gpt2: that of transformers, on the GPU where there is one.
Its own process switches each of them on and off, so that both are measured with the same memory at
the same addresses, a few milliseconds apart.
"""

import argparse
import contextlib
import ctypes
import functools
import gc
import json
import mmap
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import types

import paired

STEPS = 12  # in a turn, after half as many that are not timed
TURNS = 300
BLOCKS = 12
INTERRUPTS_HZ = 250
SPIN = "import sys\nwhile True: sum(range(1000))"

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
PERF_SOFTWARE, PERF_TASK_CLOCK, PERF_IP_TID_TIME = 1, 1, 7
PERF_EXCLUDE_KERNEL_AND_HV = 3 << 5


def small(torch):
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
    model, x = nn.Sequential(*(Block() for _ in range(BLOCKS))).eval(), torch.randn(1, 8, width)
    return model, lambda: model(x)


def gpt2(torch):
    from transformers import GPT2Config, GPT2LMHeadModel

    device = "cuda" if torch.cuda.is_available() else "cpu"
    width = {} if device == "cuda" else {"n_embd": 64, "n_head": 4}
    with torch.device(device):
        model = GPT2LMHeadModel(GPT2Config(n_layer=BLOCKS, **width)).eval()
        token = torch.zeros(1, 1, dtype=torch.long)
    return model, lambda: model(input_ids=token, use_cache=True).logits[:, -1:].argmax(-1).item()


MODELS = {function.__name__: function for function in (small, gpt2)}


def our_tool():
    return next(n for n in range(6) if sys.monitoring.get_tool(n) == "inferscope")


def switch_global(events):
    """Returns what was on."""
    tool = our_tool()
    before = sys.monitoring.get_events(tool)
    sys.monitoring.set_events(tool, events)
    return before


@contextlib.contextmanager
def layers():
    switch_global(layers.events)
    yield
    switch_global(0)


@functools.lru_cache(maxsize=None)
def all_code():
    """Of the functions that there are, and of those inside them."""
    found, look_at = set(), [thing.__code__ for thing in gc.get_objects()
                             if type(thing) is types.FunctionType]
    while look_at:
        code = look_at.pop()
        if code not in found:
            found.add(code)
            look_at += [const for const in code.co_consts if type(const) is types.CodeType]
    return found


@contextlib.contextmanager
def events_rest():
    tool = our_tool()
    everywhere = switch_global(0)
    local = [(code, wanted) for code in all_code()
             for wanted in [sys.monitoring.get_local_events(tool, code)] if wanted]
    for code, _ in local:
        sys.monitoring.set_local_events(tool, code, 0)
    yield
    for code, wanted in local:
        sys.monitoring.set_local_events(tool, code, wanted)
    switch_global(everywhere)


@contextlib.contextmanager
def recorder_rests():
    os.kill(os.getppid(), signal.SIGSTOP)
    yield
    os.kill(os.getppid(), signal.SIGCONT)


@contextlib.contextmanager
def interrupts():
    """A clock of this thread's CPU time, as perf_events.c has it."""
    attributes = (ctypes.c_char * 128)()
    struct.pack_into("IIQQQQQ", attributes, 0, PERF_SOFTWARE, 128, PERF_TASK_CLOCK,
                     1000000000 // INTERRUPTS_HZ, PERF_IP_TID_TIME, 0, PERF_EXCLUDE_KERNEL_AND_HV)
    libc = ctypes.CDLL(None, use_errno=True)
    event = libc.syscall(PERF_EVENT_OPEN, attributes, 0, -1, -1, 0)
    if event < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    with mmap.mmap(event, 5 * mmap.PAGESIZE):
        yield
    os.close(event)


@contextlib.contextmanager
def neighbour():
    busy = subprocess.Popen([sys.executable, "-S", "-c", SPIN])
    time.sleep(0.1)
    yield
    busy.kill()
    busy.wait()


# What is around a turn that is disturbed, and around one that is not.
nothing = contextlib.nullcontext
DISTURBANCES = {
    "layers": (layers, nothing),
    "events": (nothing, events_rest),
    "recorder": (nothing, recorder_rests),
    "interrupts": (interrupts, nothing),
    "neighbour": (neighbour, nothing),
}


def measure(what, model_of, turns):
    import torch
    torch.set_num_threads(1)
    model, step = model_of(torch)
    disturbance, rest = DISTURBANCES[what]

    def turn(around):
        with around, torch.inference_mode():
            for n in range(STEPS // 2 + STEPS):
                if n == STEPS // 2:
                    begin = time.perf_counter()
                step()
            return (time.perf_counter() - begin) / STEPS

    if what == "layers":
        layers.events = switch_global(0)
    pairs = []
    for n in range(turns):
        if n % 2:
            plain, disturbed = turn(rest()), turn(disturbance())
        else:
            disturbed, plain = turn(disturbance()), turn(rest())
        pairs.append((plain, disturbed))
    json.dump({"pairs": pairs, "events": 2 * sum(1 for _ in model.modules())}, sys.stdout)


RECORDED = {"layers": ["--cpu", "off", "--no-memory", "--no-gpu", "--max-overhead", "100"],
            "events": ["--no-gpu"], "recorder": ["--no-gpu"]}


def run(args, folder):
    """What was measured, and what the account says where there is one."""
    program = [os.path.abspath(__file__), "--inside", "--model", args.model, "--turns",
               str(args.turns), args.what]
    command, report = [args.python, *program], os.path.join(folder, "r.json")
    if args.what in RECORDED:
        command = [args.bin, "run", "--quiet", *RECORDED[args.what], "--report", report, "--trace",
                   os.path.join(folder, "t.isc"), "--python", args.python, *program]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True)
    if args.what not in RECORDED:
        return json.loads(done.stdout), None
    with open(report, encoding="utf-8") as file:
        return json.loads(done.stdout), json.load(file)["trust"]["overhead_share"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=DISTURBANCES)
    parser.add_argument("--model", choices=MODELS, default="small")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--bin", default=os.environ.get("INFERSCOPE_BIN", "inferscope"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        return measure(args.what, MODELS[args.model], args.turns)
    with tempfile.TemporaryDirectory() as folder:
        told, account = run(args, folder)
    ratio, low, high = paired.summarize(told["pairs"])
    step_us = 1e6 * statistics.median(plain for plain, _ in told["pairs"])
    print("%s: %.4f times (%.4f - %.4f) of %.0f us" % (args.what, ratio, low, high, step_us))
    if args.what == "layers":
        print("a begin or an end: %.0f ns, of %d a step; the account, of the whole run: %.4f"
              % (1e3 * (ratio - 1) * step_us / told["events"], told["events"], account))
    elif account is not None:
        print("the account, of the whole run: %.4f" % account)
    if args.what == "interrupts":
        print("each of %d a second: %.0f us" % (INTERRUPTS_HZ, 1e6 * (ratio - 1) / INTERRUPTS_HZ))
    if args.what == "neighbour":
        losses = [1 - plain / disturbed for plain, disturbed in told["pairs"]]
        print("on average it loses %.2f of its speed, in a tenth of the turns %.2f and more"
              % (statistics.fmean(losses), statistics.quantiles(losses, n=10)[-1]))


if __name__ == "__main__":
    main()
