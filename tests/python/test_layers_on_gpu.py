"""What each layer launched, from the agent to the report: doubles of PyTorch and of CUDA."""

import json
import os

import pytest
from layer_kit import DOUBLE

PROGRAM = """
    import fake_cuda, threading
    from torch import nn

    class Linear(nn.Module):
        def __init__(self, kernels):
            super().__init__()
            self.kernels = kernels

        def forward(self, x):
            for ns in self.kernels:
                fake_cuda.launch("gemm", ns=ns)
            return x

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn = Linear([1000, 2000])
            self.mlp = Linear([4000])

        def forward(self, x):
            fake_cuda.launch("norm", ns=500)
            return self.mlp(self.attn(x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.h0, self.h1 = Block(), Block()

        def forward(self, x):
            fake_cuda.copy(4096, 1, 1, 3, 1, ns=300)
            return self.h1(self.h0(x))

    fake_cuda.init()
    net = Net()
    for x in range(5):
        fake_cuda.launch("outside", ns=100)
        net(x)
    other = threading.Thread(target=fake_cuda.launch, args=("elsewhere", 7, 70))
    other.start()
    other.join()
    fake_cuda.free_gil.fake_sync_device()
"""


@pytest.mark.parametrize("cpu", ["trace", "off"])
def test_every_kernel_has_a_layer_or_is_outside(record_gpu, gpu_env, work, python, cpu):
    record_gpu(python, PROGRAM, env={
        "PYTHONPATH": os.pathsep.join([DOUBLE, gpu_env["PYTHONPATH"]]), "INFERSCOPE_CPU": cpu,
        "PYTHONDONTWRITEBYTECODE": "1", "INFERSCOPE_MAX_OVERHEAD": "100"})
    report = json.loads((work / "r.json").read_text())
    layers = {layer["name"]: layer for layer in report["layers"]}
    block_us = 0.5 + 1 + 2 + 4
    figures = {name: (layers[name]["calls"], layers[name]["kernels"],
                      round(1000 * layers[name]["gpu_ms"], 3),
                      round(1000 * layers[name]["self_gpu_ms"], 3))
               for name in ("Net", "h0", "h0.attn", "h1.mlp")}
    assert figures == {"Net": (5, 40, 5 * (2 * block_us + 0.3), 1.5),
                       "h0": (5, 20, 5 * block_us, 2.5),
                       "h0.attn": (5, 10, 15, 15), "h1.mlp": (5, 5, 20, 20)}
    assert report["layers_outside"] == {"gpu_ms": pytest.approx(0.00057), "kernels": 6}
    section, = report["gpu"]["processes"]
    whole_ms = sum(kernel["ms"] for kernel in section["kernels"]) + sum(
        copy["ms"] for copy in section["copies"])
    assert sum(layer["self_gpu_ms"] for layer in report["layers"]) + report["layers_outside"][
        "gpu_ms"] == pytest.approx(whole_ms, abs=1e-6)
    if cpu == "trace":
        step = report["steps"][0]
        assert (step["name"], step["source"], step["count"]) == ("Net in program.py", "loop", 5)
        # From one call to the next: the launch before the next one belongs to this step.
        assert step["gpu"]["kernels"] == 9
