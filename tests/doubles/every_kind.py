"""What tests/gpu/workloads/every_kind.cu does, on the fake CUDA: tells what it did likewise."""

import json

import fake_cuda

ROUNDS, REPLAYS = 3, 3
# kind and memories as CUPTI numbers them, then in words
COPIES = [(1, 1, 3, 0, 98304, "HtoD", "pageable", "device"),
          (1, 2, 3, 1, 1000, "HtoD", "pinned", "device"),
          (8, 3, 3, 1, 2000, "DtoD", "device", "device"),
          (2, 3, 2, 1, 3000, "DtoH", "device", "pinned"),
          (9, 2, 2, 1, 4000, "HtoH", "pinned", "pinned"),
          (3, 2, 4, 1, 65536, "HtoA", "pinned", "array"),
          (10, 3, 3, 1, 5000, "PtoP", "device", "device")]
KERNELS = [("bump", (4, 3, 2), (32, 2, 2), 0, 0), ("shared_sum", (7, 1, 1), (256, 1, 1), 1024, 1),
           ("_Z5scaleIfEvPT_S0_i", (5, 1, 1), (64, 1, 1), 0, 0)]
MEMSETS = [4096, 12288]
LANES = [13, 14]


def main():
    fake_cuda.init()
    library = fake_cuda.free_gil
    library.fake_malloc(98304)
    for _ in range(ROUNDS):
        for name, grid, block, shared, lane in KERNELS:
            shape = fake_cuda.Shape(grid, block, 16, 0, shared)
            library.fake_launch(name.encode(), shape, LANES[lane], 2000)
    library.fake_sync_stream(LANES[0])
    for kind, source, destination, asynchronous, size, *_ in COPIES:
        fake_cuda.copy(size, kind, source, destination, asynchronous, LANES[1])
    for size in MEMSETS:
        library.fake_memset(size, 0x5a, LANES[0], 1000)
    for _ in range(REPLAYS):
        library.fake_graph_launch(b"node", 5, 2, LANES[0], 1000)
    library.fake_sync_device()
    kernels = [{"name": name, "grid": grid, "block": block, "dynamic_shared": shared, "lane": lane,
                "count": ROUNDS} for name, grid, block, shared, lane in KERNELS]
    kernels.append({"name": "node", "grid": [0, 0, 0], "block": [0, 0, 0], "dynamic_shared": 0,
                    "lane": None, "count": 2 * REPLAYS})
    print(json.dumps({
        "workload": "every_kind", "kernels": kernels,
        "copies": [{"kind": kind, "source": source, "destination": destination, "count": 1,
                    "bytes": size} for *_, size, kind, source, destination in COPIES],
        "memsets": [{"bytes": size, "count": 1} for size in MEMSETS],
        "graph_nodes": 2 * REPLAYS,
        "calls": {"cudaGraphLaunch": REPLAYS, "cudaStreamSynchronize": 1,
                  "cudaDeviceSynchronize": 1}}), flush=True)


if __name__ == "__main__":
    main()
