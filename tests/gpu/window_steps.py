"""What a window of the GPU's costs at its edges: times of GPT-2's steps behind each switch.

    tests/gpu/window_steps.py [--windows N] [--steps N]

Runs itself recorded, with no bound, and lets go of the GPU and takes it again, as the overhead
budget does (src/agent/gpu_windows.c).
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import kit

EDGE = 0.5  # of the steps: what is behind is taken for the state that lasts


def steps_of(step, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def inside(args):
    import gpt2_decode
    import torch
    from inferscope import _agent

    model = gpt2_decode.build("cuda", 12)
    token = torch.zeros(1, 1, dtype=torch.long, device="cuda")

    def step():
        with torch.inference_mode():
            model(input_ids=token, use_cache=True).logits[:, -1:].argmax(-1).item()

    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    steps_of(step, 100)
    seen = {"off": [], "on": []}
    switching = {"off": [], "on": []}
    for _ in range(args.windows):
        for state, switch in (("off", _agent.gpu_pause), ("on", _agent.gpu_resume)):
            begin = time.perf_counter()
            switch()
            switching[state].append(1e3 * (time.perf_counter() - begin))
            seen[state].append(steps_of(step, args.steps))
    lasting = {}
    for state, windows in seen.items():
        at = [statistics.median(window[n] for window in windows) for n in range(args.steps)]
        lasting[state] = statistics.median(at[int(EDGE * args.steps):])
        edge = at[:int(EDGE * args.steps)]
        print("%3s: the switch %.1f ms; a step %.3f ms in the end; what the first %d take longer "
              "together %.1f ms: %s"
              % (state, statistics.median(switching[state]), lasting[state], len(edge),
                 sum(edge) - len(edge) * lasting[state],
                 " ".join("%.2f" % (ms - lasting[state]) for ms in edge[:12])))
    print("on / off in the end: %.4f" % (lasting["on"] / lasting["off"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=25)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        sys.path.insert(0, os.path.dirname(kit.script("gpt2_decode.py")))
        return inside(args)
    problem = kit.obstacle()
    if problem:
        print("window_steps: SKIP, %s" % problem)
        return kit.NOTHING
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.abspath(__file__), "--inside", "--windows", str(args.windows),
                   "--steps", str(args.steps)]
        return subprocess.call(kit.recorded(command, os.path.join(folder, "t.isc"),
                                            os.path.join(folder, "r.json"), ["--no-cpu"]),
                               env=kit.environment())


if __name__ == "__main__":
    sys.exit(main())
