"""The GPU in inferscope export --to json: traces made by hand, without the C writer."""

import pytest

import isc_encode as isc

LAUNCH, COPY, SYNC_DEVICE, GRAPH_LAUNCH, MEMSET, ALLOC = 1, 3, 5, 2, 4, 8
H2D, PAGEABLE, DEVICE = 1, 1, 3
(MODEL, FORWARD, LAUNCH_NAME, COPY_NAME, SYNC_NAME, GEMM, STACK, MEMSET_NAME, GRAPH_NAME,
 ALLOC_NAME) = range(10, 20)


def device(start_us, duration_us, correlation, stream=7):
    """What every activity begins with; start 0: the device did not say."""
    start = isc.MONOTONIC_NS + start_us * 1000 if start_us else 0
    return isc.varints(start, duration_us * 1000, 0, 1, stream, correlation)


def enter(what, correlation, stack=0, nbytes=0):
    return isc.varints(what, correlation, stack, nbytes)


def gpu_trace():
    calls = [
        (isc.GPU_STATE, 1, 500, b"CUPTI 130000"),
        (isc.GPU_DEVICE, 0, 600, isc.varints(141 * 10**9, 4_800_000_000, 132, 1_980_000, 90)
         + b"NVIDIA H200"),
        (isc.CUDA_ENTER, ALLOC_NAME, 900, enter(ALLOC, 1, nbytes=1 << 20)),
        (isc.CUDA_EXIT, 1, 1000, None),
        (isc.CUDA_ENTER, COPY_NAME, 1000, enter(COPY, 2, STACK)),
        (isc.CUDA_EXIT, 2, 2000, None),
        (isc.CUDA_ENTER, LAUNCH_NAME, 3000, enter(LAUNCH, 3, STACK)),
        (isc.CUDA_EXIT, 3, 8000, None),
        (isc.CUDA_ENTER, MEMSET_NAME, 9000, enter(MEMSET, 4)),
        (isc.CUDA_EXIT, 4, 9500, None),
        (isc.CUDA_ENTER, GRAPH_NAME, 10_000, enter(GRAPH_LAUNCH, 5)),
        (isc.CUDA_EXIT, 5, 11_000, None),
        (isc.CUDA_ENTER, SYNC_NAME, 12_000, enter(SYNC_DEVICE, 6, STACK)),
        (isc.CUDA_EXIT, 6, 90_000, None),
        (isc.GPU_STATE, 4, 95_000, "a second device got work \u20ac".encode()),
    ]
    work = [
        (isc.GPU_COPY, H2D, 70_000, device(5, 10, 2)
         + isc.varints(4096, PAGEABLE, DEVICE, 1, 0, 0)),
        (isc.GPU_KERNEL, GEMM, 70_000, device(20, 30, 3)
         + isc.varints(32, 2, 1, 256, 1, 1, 40, 1024, 2048, 0, 0)),
        (isc.GPU_MEMSET, DEVICE, 70_000, device(52, 1, 4) + isc.varints(64, 0, 1, 0, 0)),
        (isc.GPU_GRAPH, 0, 70_000, device(55, 4, 5) + isc.varints(9)),
        (isc.GPU_KERNEL, GEMM, 70_000, device(0, 0, 0xffffffff)
         + isc.varints(1, 1, 1, 1, 1, 1, 0, 0, 0, 9, 1 << 40)),
    ]
    return b"".join([
        isc.header(), isc.process(3, 4711, "serve.py", 0, 99_000),
        isc.thread(1, 3, 4711, "MainThread", 0, 99_000, produced=len(calls)),
        isc.thread(2, 3, 4712, "", 0, 99_000, produced=len(work)),
        isc.code(MODEL, 40, "infer", "/app/serve.py"),
        isc.code(FORWARD, 110, "forward", "/usr/lib/python3/dist-packages/torch/nn.py"),
        # As CPython 3.9 has it: every instruction is on the line after the one before it.
        isc.lines(MODEL, 9, b"\2\1" * 9), isc.lines(FORWARD, 9, b"\2\1" * 9),
        isc.stack(STACK, (FORWARD, 16), (MODEL, 8)),
        isc.string(LAUNCH_NAME, "cudaLaunchKernel"), isc.string(COPY_NAME, "cudaMemcpyAsync"),
        isc.string(SYNC_NAME, "cudaDeviceSynchronize"), isc.string(GEMM, "_Z4gemmILi4EEvPf"),
        isc.string(MEMSET_NAME, "cudaMemsetAsync"), isc.string(GRAPH_NAME, "cudaGraphLaunch"),
        isc.string(ALLOC_NAME, "cudaMalloc"),
        isc.events(1, 0, *calls), isc.events(2, 0, *work), isc.end(100_000),
    ])


@pytest.fixture
def events(exported, work):
    (work / "gpu.isc").write_bytes(gpu_trace())
    return exported(work / "gpu.isc")["events"]


def of_type(events, event_type):
    return [event for event in events if event["event_type"] == event_type]


def test_a_kernel_is_as_agreed(events):
    untimed, kernel = of_type(events, "gpu_kernel")
    assert kernel == {
        "event_type": "gpu_kernel", "name": kernel["name"], "full_name": "void gemm<4>(float*)",
        "start_us": 20.0, "end_us": 50.0, "pid": 4711, "device_id": 0, "context_id": 1,
        "stream_id": 7, "correlation_id": 3, "grid_dim": [32, 2, 1], "block_dim": [256, 1, 1],
        "registers": 40, "static_shared_bytes": 1024, "dynamic_shared_bytes": 2048}
    assert "gemm" in kernel["name"] and "float" not in kernel["name"]
    assert (untimed["start_us"], untimed["end_us"]) == (None, None)
    assert (untimed["graph_id"], untimed["graph_node_id"]) == (9, 1 << 40)


def test_a_copy_says_from_where_to_where(events):
    (copy,) = of_type(events, "gpu_memcpy")
    assert (copy["kind"], copy["source"], copy["destination"]) == ("H2D", "pageable", "device")
    assert (copy["async"], copy["bytes"], copy["start_us"], copy["end_us"]) == (True, 4096, 5, 15)


def test_memsets_and_whole_graphs(events):
    (memset,), (graph,) = of_type(events, "gpu_memset"), of_type(events, "gpu_graph")
    assert (memset["bytes"], memset["start_us"], memset["correlation_id"]) == (64, 52, 4)
    assert (graph["graph_id"], graph["end_us"], graph["correlation_id"]) == (9, 59, 5)


def test_a_call_knows_both_its_lines(events):
    launch = next(e for e in of_type(events, "cuda_api") if e["class"] == "launch")
    assert launch == {
        "event_type": "cuda_api", "name": "cudaLaunchKernel", "class": "launch",
        "start_us": 3.0, "end_us": 8.0, "correlation_id": 3, "pid": 4711, "tid": 4711, "thread": 1,
        "function": "forward", "file": "/usr/lib/python3/dist-packages/torch/nn.py", "line": 118,
        "user_function": "infer", "user_file": "/app/serve.py", "user_line": 44}


def test_a_call_without_python_has_no_line(events):
    alloc = next(e for e in of_type(events, "cuda_api") if e["class"] == "alloc")
    assert alloc["bytes"] == 1 << 20
    assert not {"function", "file", "line", "user_file"} & set(alloc)


def test_changes_and_devices(events):
    assert [(e["name"], e["text"], e["start_us"]) for e in of_type(events, "gpu_state")] == [
        ("recording", "CUPTI 130000", 0.5), ("stopped", "a second device got work \u20ac", 95.0)]
    (seen,) = of_type(events, "gpu_device")
    assert (seen["name"], seen["multiprocessors"], seen["compute_capability"]) == (
        "NVIDIA H200", 132, 9.0)


def test_every_gpu_event_of_the_schema_is_covered_here(events, event_schema):
    known = {entry["$ref"].rsplit("/", 1)[1]
             for entry in event_schema.schema["$defs"]["event"]["oneOf"]}
    assert {e["event_type"] for e in events} == {
        name for name in known if name.startswith(("gpu_", "cuda_"))}


@pytest.mark.parametrize("cut", range(900, 1540, 37))
def test_a_cut_trace_is_exported_up_to_there(exported, work, cut):
    whole = gpu_trace()
    assert cut < len(whole)
    (work / "cut.isc").write_bytes(whole[:cut])
    exported(work / "cut.isc", warning="is not complete")
