"""Everything that has ever upset CUPTI or a heap under it, at random and in a hurry.

Threads that launch work and end, pools that are created and destroyed, weights that are replaced,
caches that are emptied, streams, events, pinned memory, CUDA graphs in another thread, children.
The last line of its output is a digest that does not depend on the order of things.
"""

import argparse
import concurrent.futures
import multiprocessing.pool
import random
import subprocess
import sys
import threading

import torch

import truth


def model():
    with torch.device("cuda"):
        return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(),
                                   torch.nn.Linear(128, 64)).eval()


@torch.inference_mode()
def infer(net, stream=None):
    with torch.cuda.stream(stream):
        x = torch.ones(8, 64, device="cuda")
        for _ in range(10):
            x = net(x)
        return float(x.sum().cpu())


def threads_that_end(net, state):
    threads = [threading.Thread(target=infer, args=(net, torch.cuda.Stream())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def pools(net, state):
    with multiprocessing.pool.ThreadPool(3) as pool:
        pool.map(lambda _: infer(net), range(6))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: infer(net, torch.cuda.Stream()), range(6)))


def replace_weights(net, state):
    net.load_state_dict({name: value.clone() for name, value in state.items()})


def empty_cache(net, state):
    torch.empty(1 << 22, device="cuda")
    torch.cuda.empty_cache()


def pinned(net, state):
    host = torch.ones(1 << 18).pin_memory()
    host.to("cuda", non_blocking=True).add_(1).to("cpu")


def child(net, state):
    subprocess.run([sys.executable, "-c", "sum(range(1000))"], check=True)


def events(net, state):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    infer(net)
    end.record()
    end.synchronize()
    begin.elapsed_time(end)


@torch.inference_mode()
def capture(net):
    x, side = torch.ones(8, 64, device="cuda"), torch.cuda.Stream()
    with torch.cuda.stream(side):
        net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x)
    return graph


def replay(graph, done):
    while not done.wait(0.0005):
        graph.replay()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--graphs", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(0)
    net = model()
    state = {name: value.clone() for name, value in net.state_dict().items()}
    infer(net)
    done, replaying = threading.Event(), None
    if args.graphs:
        replaying = threading.Thread(target=replay, args=(capture(model()), done))
        replaying.start()
    choose = random.Random(args.seed)
    for _ in range(args.turns):
        choose.choice((threads_that_end, pools, replace_weights, empty_cache, pinned, child,
                       events))(net, state)
    done.set()
    if replaying:
        replaying.join()
    truth.tell("churn", result=infer(net))


if __name__ == "__main__":
    main()
