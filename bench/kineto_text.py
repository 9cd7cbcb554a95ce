"""Writes a trace as PyTorch's profiler does, of any size, for bench_import.py.

    python bench/kineto_text.py MEGABYTES FILE

The layout, the keys and the mix of events are those of libkineto with record_shapes and
with_stack on: of 16 events 6 are Python functions, 5 operators, 2 runtime calls with a flow of
two, and 1 kernel.
"""

import sys

HEAD = """
{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 84930002944,
      "computeMajor": 9, "computeMinor": 0, "numSms": 132
    }
  ],
  "cupti_version": 22, "record_shapes": 1, "with_stack": 1,
  "traceEvents": ["""
TAIL = """
  ],
  "traceName": "trace.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1751410836000000000
}
"""
KERNEL = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
          "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, "
          "std::array<char*, 3ul>)")
FUNCTIONS = ["serve.py(%d): infer", "nn.Module: Linear_%d",
             "torch/nn/modules/linear.py(%d): forward",
             "torch/nn/modules/module.py(%d): _call_impl",
             "transformers/models/bert.py(%d): forward", "<built-in function linear>"]
OPERATORS = ["aten::linear", "aten::t", "aten::transpose", "aten::as_strided", "aten::addmm"]


def event(category, name, ts, dur, args, pid=4242, tid=4242):
    return """
  {
    "ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      %s
    }
  }""" % (category, name, pid, tid, *divmod(ts, 1000), *divmod(dur, 1000), args)


def flow(phase, number, ts, pid, tid, more=""):
    return """
  {
    "ph": "%s", "id": %d, "pid": %d, "tid": %d, "ts": %d.%03d,
    "cat": "ac2g", "name": "ac2g"%s
  }""" % (phase, number, pid, tid, *divmod(ts, 1000), more)


def call(i):
    """One call of a layer, 100 us long."""
    ts = 1419247332596028 + 100000 * i
    for depth, name in enumerate(FUNCTIONS):
        full = name % (i % 50 + 1) if "%" in name else name
        yield event("python_function", full, ts + 1000 * depth, 90000 - 2000 * depth,
                    '"Python parent id": %d, "Python id": %d, "Ev Idx": %d'
                    % (16 * i + depth, 16 * i + depth + 1, 16 * i + depth))
    for depth, name in enumerate(OPERATORS):
        yield event("cpu_op", name, ts + 10000 + 1000 * depth, 60000 - 2000 * depth,
                    '"External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", "1"], '
                    '"Input type": ["float", "float", "Scalar"], "Input Strides": [[4096, 1], '
                    '[1, 4096], []], "Input Dims": [[16, 4096], [4096, 4096], []], "Ev Idx": %d'
                    % (16 * i + depth, 16 * i + 6 + depth))
    correlation = 1000 + 2 * i
    for k, name in enumerate(("cudaStreamIsCapturing", "cudaLaunchKernel")):
        yield event("cuda_runtime", name, ts + 20000 + 8000 * k, 5000,
                    '"External id": %d, "cbid": 211, "correlation": %d' % (i, correlation + k))
    yield flow("s", correlation + 1, ts + 28000, 4242, 4242)
    yield flow("f", correlation + 1, ts + 40000, 0, 7, ', "bp": "e"')
    yield event("kernel", KERNEL, ts + 40000, 50000,
                '"External id": %d, "queued": 0, "device": 0, "context": 1, "stream": 7, '
                '"correlation": %d, "registers per thread": 32, "shared memory": 0, '
                '"blocks per SM": 0.48, "warps per SM": 3.87, "grid": [64, 1, 1], '
                '"block": [256, 1, 1], "est. achieved occupancy %%": 6' % (i, correlation + 1),
                0, 7)


def write(megabytes, file):
    written = file.write(HEAD)
    i, comma = 0, ""
    while written < megabytes * 1000000:
        written += file.write(comma + ",".join(call(i)))
        i, comma = i + 1, ","
    file.write(TAIL)
    return i


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="ascii") as to:
        calls = write(float(sys.argv[1]), to)
    print("%d calls of a layer, %d events" % (calls, 16 * calls))
