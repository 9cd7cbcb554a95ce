"""What people do with PyTorch, and what came of it: one JSON object on standard output.

Run alone and recorded (test_torch_undisturbed.py); both must say the same.
"""

import copy
import hashlib
import json
import pickle
import sys
import threading
import warnings

import torch
from torch import nn

SECTIONS = []
warnings.simplefilter("always")
seen_warnings = []
warnings.showwarning = lambda message, *more: seen_warnings.append(str(message))


def section(function):
    SECTIONS.append(function)
    return function


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x):
        return x + self.mlp(self.attn(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def model():
    torch.manual_seed(1)
    return Model()


def inputs():
    torch.manual_seed(2)
    return torch.randn(5, 8)


def digest(tensor):
    data = tensor.detach().float().contiguous().view(-1).tolist()
    return [str(tensor.dtype), list(tensor.shape), hashlib.sha256(repr(data).encode()).hexdigest()]


@section
def forward():
    return digest(model()(inputs()))


@section
def inference_mode():
    with torch.inference_mode():
        result = model()(inputs())
    return [digest(result), result.is_inference()]


@section
def autocast():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return digest(model()(inputs()))


@section
def backward():
    net = model()
    net(inputs()).sum().backward()
    return [digest(parameter.grad) for parameter in net.parameters()]


@section
def copies_and_pickles():
    net = model()
    net(inputs())
    attributes = [sorted(module.__dict__) for module in net.modules()]
    again = copy.deepcopy(net)
    loaded = pickle.loads(pickle.dumps(net))
    return [attributes, digest(again(inputs())), digest(loaded(inputs()))]


@section
def hooks_of_the_program():
    net, log = model(), []
    net.out.register_forward_pre_hook(lambda module, args: log.append("before"))
    net.out.register_forward_hook(lambda module, args, result: log.append("after"))
    net.blocks[0].register_forward_hook(lambda module, args, result: result * 2)
    handle = nn.modules.module.register_module_forward_hook(
        lambda module, args, result: log.append(type(module).__name__))
    result = net(inputs())
    handle.remove()

    def refuse(module, args):
        raise KeyError("refused")

    net.blocks[1].register_forward_pre_hook(refuse)
    try:
        net(inputs())
    except KeyError as error:
        log.append(repr(error))
    return [digest(result), log]


@section
def exceptions():
    class Refuses(nn.Module):
        def forward(self, x):
            raise ValueError("refused")

    net, log = model(), []
    net.blocks[1].mlp[1] = Refuses()
    for _ in range(3):
        try:
            net(inputs())
        except ValueError as error:
            log.append(repr(error))
    return log


@section
def threads():
    net, x, results = model(), inputs(), {}

    def work(number):
        with torch.inference_mode():
            results[number] = digest(net(x * number))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(results.items())


@section
def replicas():
    """As DataParallel does it: copies of the model for each call, each in a thread."""
    class Parallel(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, x):
            results = {}

            def work(number):
                results[number] = copy.deepcopy(self.module)(x + number)

            workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            return results[0] + results[1]

    net = Parallel(model())
    return [digest(net(inputs())) for _ in range(3)]


@section
def generators():
    net = model()

    def stream():
        for number in range(3):
            yield net(inputs() + number)

    return [digest(result) for result in stream()]


@section
def fx():
    traced = torch.fx.symbolic_trace(model())
    return [traced.code, digest(traced(inputs()))]


@section
def jit_trace():
    traced = torch.jit.trace(model(), inputs())
    return [traced.code, digest(traced(inputs()))]


@section
def jit_script():
    scripted = torch.jit.script(model())
    return [scripted.code, digest(scripted(inputs()))]


def compiled(backend):
    import torch._dynamo
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    net = model()

    @torch.compile(backend=backend)
    def step(x):
        if x.shape[0] == 3:
            print(end="")  # breaks the graph
        return net(x).relu()

    whole = torch.compile(model(), backend=backend)
    results = [digest(step(inputs())), digest(step(inputs()[:3])), digest(step(inputs()[:2])),
               digest(whole(inputs())), digest(whole(inputs()[:3]))]
    return [results, {key: dict(value) for key, value in counters.items()}]


@section
def compile_eager():
    return compiled("eager")


@section
def compile_aot_eager():
    return compiled("aot_eager")


@section
def module_compile():
    net = model()
    net.blocks[1].compile(backend="eager")
    return [digest(net(inputs())), digest(net(inputs()[:3]))]


@section
def export():
    return str(torch.export.export(model(), (inputs(),)).graph)


class Alone:
    """A group of one process."""

    def __enter__(self):
        from torch import distributed

        self.distributed = distributed
        distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)

    def __exit__(self, *exception):
        self.distributed.destroy_process_group()


@section
def distributed_data_parallel():
    with Alone():
        net = nn.parallel.DistributedDataParallel(model())
        result = net(inputs())
        result.sum().backward()
        return [digest(result), [digest(parameter.grad) for parameter in net.parameters()],
                sorted(net.state_dict())]


@section
def fully_sharded():
    try:
        from torch.distributed import fsdp
    except ValueError as error:  # of PyTorch 1 on CPython 3.11: one of its classes is refused
        raise ImportError(error) from error

    results = []
    with Alone(), warnings.catch_warnings():  # on a CPU it has much to say, with addresses in it
        warnings.simplefilter("ignore")
        net = fsdp.FullyShardedDataParallel(model(), device_id=torch.device("cpu"))
        results.append(digest(net(inputs())))
        shard = getattr(fsdp, "fully_shard", None)
        if shard:
            net = model()
            for block in net.blocks:
                shard(block)
            results.append(digest(shard(net)(inputs())))
    return results


def main():
    wanted = sys.argv[1:]
    outcome = {"torch": torch.__version__}
    for function in SECTIONS:
        if wanted and function.__name__ not in wanted:
            continue
        try:
            outcome[function.__name__] = function()
        except (AttributeError, ImportError) as error:  # PyTorch 1 has not all of it
            outcome[function.__name__] = "absent: %s" % error
    outcome["warnings"] = seen_warnings
    print(json.dumps(outcome))


main()
