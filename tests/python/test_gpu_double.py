"""The agent against doubles of CUDA and CUPTI: what the device did is what is recorded."""

import pytest

import gpu_trace
from gpu_double import only_state, told

WORK = """
    import fake_cuda, json
    fake_cuda.init()
    say = lambda value: print(json.dumps(value), flush=True)
    lib = fake_cuda.free_gil
    for i in range(40):
        say(["kernel", fake_cuda.launch("kernel_%d" % (i % 5), stream=i % 3, ns=1000 + i)])
    say(["driver", lib.fake_launch_driver(b"by_the_driver", fake_cuda.SHAPE, 9, 4000)])
    say(["h2d", fake_cuda.copy(1 << 20, 1, 1, 3, 0, ns=30000)])
    say(["d2h", fake_cuda.copy(4096, 2, 3, 2, 1)])
    say(["peer", fake_cuda.copy(12345, 10, 3, 3, 1)])
    say(["memset", lib.fake_memset(777, 255, 4, 2500)])
    say(["graph", lib.fake_graph_launch(b"node", 77, 6, 5, 1500)])
    say(["malloc", lib.fake_malloc(1 << 33)])
    say(["free", lib.fake_free()])
    lib.fake_uninteresting()
    say(["stream", lib.fake_sync_stream(5)])
    say(["device", lib.fake_sync_device()])
"""


def correlations(trace, what):
    return [number for name, number in told(trace) if name == what]


@pytest.mark.parametrize("cupti", ["11.8", "12.9", "13.0"])
def test_all_that_the_device_did_is_recorded(python, record_gpu, cupti):
    trace = record_gpu(python, WORK, env={"FAKE_CUPTI_VERSION": cupti})
    # Two threads hand buffers over, so those of the file may be in another order.
    plain = sorted((k for k in trace.kernels if k.name.startswith("kernel_")),
                   key=lambda k: k.correlation)
    assert [k.correlation for k in plain] == correlations(trace, "kernel")
    assert [k.name for k in plain] == ["kernel_%d" % (i % 5) for i in range(40)]
    assert [k.stream for k in plain] == [i % 3 for i in range(40)]
    assert [k.duration for k in plain] == [1000 + i for i in range(40)]
    assert {k[8:] for k in plain} == {(8, 4, 2, 64, 2, 1, 40, 256, 512, 0, 0)}
    assert {(k.device, k.context) for k in plain} == {(0, 1)}

    driver, = [k for k in trace.kernels if k.name == "by_the_driver"]
    assert [driver.correlation] == correlations(trace, "driver") and driver.duration == 4000

    nodes = [k for k in trace.kernels if k.name == "node"]
    assert [k.correlation for k in nodes] == correlations(trace, "graph") * 6
    assert {k.graph for k in nodes} == {77} and len({k.node for k in nodes}) == 6

    up, down, peer = trace.copies
    assert (up.kind, up.bytes, up.source, up.destination, up.asynchronous) == (1, 1 << 20, 1, 3, 0)
    assert (down.kind, down.bytes, down.source, down.destination) == (2, 4096, 3, 2)
    assert (peer.kind, peer.bytes, down.asynchronous, up.duration) == (10, 12345, 1, 30000)
    assert [[c.correlation] for c in (up, down, peer)] == [
        correlations(trace, name) for name in ("h2d", "d2h", "peer")]
    memset, = trace.memsets
    assert (memset.bytes, memset.value, memset.memory, memset.duration) == (777, 255, 3, 2500)

    assert trace.dropped == 0 and len(trace.overheads) >= 1
    device, = trace.devices
    assert (device.name, device.capability, device.multiprocessors) == ("Fake H200", 90, 132)
    state = only_state(trace)
    version = {"11.8": "18", "12.9": "28", "13.0": "130001"}[cupti]
    assert (state.state, state.text) == (gpu_trace.RECORDING, "CUPTI " + version)


def test_calls_and_their_links(python, record_gpu):
    trace = record_gpu(python, WORK)
    assert [c.correlation for c in trace.calls] == [number for _, number in told(trace)]
    assert [c.name for c in trace.calls[39:]] == [
        "cuLaunchKernel", "cuLaunchKernel", "cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpyAsync",
        "cudaMemsetAsync", "cudaGraphLaunch", "cudaMalloc", "cudaFree", "cudaStreamSynchronize",
        "cudaDeviceSynchronize"]
    assert [c.what for c in trace.calls[39:]] == [1, 1, 3, 3, 3, 4, 2, 8, 9, 6, 5]
    malloc, = [c for c in trace.calls if c.name == "cudaMalloc"]
    assert malloc.bytes == 1 << 33
    by_correlation = {c.correlation: c for c in trace.calls}
    for a in trace.activities():
        call = by_correlation[a.correlation]
        assert a.start - trace.monotonic_ns > call.start_ns
        assert call.end_ns >= call.start_ns
    upload = by_correlation[correlations(trace, "h2d")[0]]
    assert upload.end_ns - upload.start_ns >= 30000
