"""The calls of a model's modules are layers with the names that the model gives them.

Most of it runs on every CPython with a double of PyTorch.
"""

import collections
import json

import isc_decode as isc
import pytest
from layer_kit import DOUBLE, threads_of_layers

MODEL = """
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn = nn.Leaf()
            self.mlp = nn.Leaf()

        def forward(self, x):
            if x == "bad":
                raise ValueError
            return self.mlp(self.attn(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Block()
            self.second = Block()
            self.unused = nn.Leaf()

        def forward(self, x):
            return self.second(self.first(x))
"""

BLOCK = ["{}", "{}.attn", "{}.mlp"]
ONE_CALL = [(0, "Model")] + [(1 + (at > 0), text.format(name)) for name in ("first", "second")
                             for at, text in enumerate(BLOCK)]


@pytest.fixture
def layers(inferscope, write, work, version):
    """Records a program with the double; the layers of each thread that has any."""
    def run(python, text, torch="2", cpu="trace", overhead=None, notes=0):
        path = write(MODEL + text)
        # Before 3.12 there are hooks only without a bound.
        overhead = overhead or ("5" if version >= (3, 12) else "100")
        done = inferscope("run", "--quiet", "--python", python, "--cpu", cpu, "--max-overhead",
                          overhead, "--report", "r.json", "--trace", "t.isc", path, env={
                              "PYTHONPATH": DOUBLE, "PYTHONDONTWRITEBYTECODE": "1",
                              "FAKE_TORCH": torch})
        assert (done.returncode, done.stderr) == (0, "")
        run.output = done.stdout
        run.source = [line.strip() for line in path.read_text().splitlines()]
        run.trace = isc.load(str(work / "t.isc"))
        assert run.trace.whole
        assert notes is None or len(run.trace.notes) == notes, run.trace.notes
        assert not any(thread.lost() for thread in run.trace.threads.values())
        return threads_of_layers(run.trace)
    return run


@pytest.mark.parametrize("cpu", ["trace", "auto", "sample", "off"])
def test_each_call_of_a_module_is_a_layer(layers, python, cpu):
    assert layers(python, """
    model = Model()
    assert [model(1), model(2)] == [5, 6]
    """, cpu=cpu) == [2 * ONE_CALL]
    by_name = {layer["name"]: layer for layer in layers.trace.layers.values()}
    root = next(id for id, layer in layers.trace.layers.items() if layer["class"] == "Model")
    assert by_name[""] == {"root": 0, "class": "Model", "name": ""}
    assert by_name["first.attn"] == {"root": root, "class": "Leaf", "name": "first.attn"}
    assert by_name["unused"]["root"] == root


@pytest.mark.parametrize("cpu", ["trace", "sample"])
@pytest.mark.parametrize("torch", ["1", "2"])
def test_a_call_that_raises_has_an_end(layers, python, torch, cpu):
    found, = layers(python, """
    model = Model()
    for x in ("bad", "bad", 1, "bad"):
        try:
            model(x)
        except ValueError:
            pass
    model(1)
    """, torch=torch, cpu=cpu)
    bad = [(0, "Model"), (1, "first")]
    assert found == bad + bad + ONE_CALL + bad + ONE_CALL


def test_a_model_inside_a_call_that_raised_is_not_taken_for_part_of_it(layers, python):
    """The exception is caught by the module around: what it calls next is its own part."""
    found, = layers(python, """
    class Careful(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Model()
            self.rest = nn.Leaf()

        def forward(self, x):
            try:
                self.inner(x)
            except ValueError:
                return self.rest(1)

    Careful()("bad")
    """, cpu="sample")
    assert found == [(0, "Careful"), (1, "inner"), (2, "inner.first"), (1, "rest")]


def test_a_function_in_the_place_of_a_call_that_raised_is_not_taken_for_it(layers, python):
    """Frames lie where others lay: what `again` calls is inside nothing."""
    found, = layers(python, """
    def again(model):
        return model(1)

    model = Model()
    try:
        model("bad")
    except ValueError:
        pass
    again(model)
    """, cpu="sample")
    assert found == [(0, "Model"), (1, "first")] + ONE_CALL


def test_a_part_that_was_called_by_itself_gets_its_full_name(layers, python):
    found, = layers(python, """
    model = Model()
    model.second(1)
    model(1)
    """)
    assert found == [(0, "second"), (1, "second.attn"), (1, "second.mlp")] + ONE_CALL


def test_parts_that_come_later_are_named(layers, python):
    found, = layers(python, """
    model = Model()
    model(1)
    model.first.attn = Block()
    model(1)
    """)
    assert found[len(ONE_CALL):] == [
        (0, "Model"), (1, "first"), (2, "first.attn"), (3, "first.attn.attn"),
        (3, "first.attn.mlp"), (2, "first.mlp"), (1, "second"), (2, "second.attn"),
        (2, "second.mlp")]


def test_modules_that_are_made_for_one_call_share_an_id(layers, python):
    found, = layers(python, """
    class Maker(nn.Module):
        def forward(self, x):
            return sum(nn.Leaf()(x) for _ in range(200))

    Maker()(1)
    """)
    assert found == [(0, "Maker")] + 200 * [(1, "Leaf")]
    assert len(layers.trace.layers) == 2


def test_an_address_that_comes_back_has_no_old_name(layers, python):
    """Models of two classes, made and dropped by turns, lie where others lay."""
    found, = layers(python, """
    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = nn.Leaf()

        def forward(self, x):
            return self.part(x)

    for _ in range(20):
        Model()(1)
        Other()(1)
    """)
    assert found == 20 * (ONE_CALL + [(0, "Other"), (1, "part")])


def test_cycles_and_shared_modules_are_harmless(layers, python):
    found, = layers(python, """
    model = Model()
    model.first.back = model
    model.second._modules["attn"] = model.first.attn
    model._modules["nothing"] = None
    model._modules[3] = nn.Leaf()
    model(1)
    """)
    assert found == [(depth, "first.attn" if name == "second.attn" else name)
                     for depth, name in ONE_CALL]


def test_a_model_may_run_in_several_threads_at_once(layers, python):
    assert layers(python, """
    import threading
    model = Model()
    threads = [threading.Thread(target=lambda: [model(1) for _ in range(20)]) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    """) == 4 * [20 * ONE_CALL]


def test_modules_of_a_forked_child_keep_their_names(layers, python):
    assert layers(python, """
    import os
    model = Model()
    model(1)
    if not os.fork():
        model(1)
        os._exit(0)
    os.wait()
    """) == 2 * [ONE_CALL]


def test_a_second_recording_knows_the_names_too(layers, python, package):
    """What was named in one recording has no id in the next."""
    assert layers(python, """
    import os, sys
    model = Model()
    model(1)
    sys.path.insert(0, %r)
    from inferscope import _agent
    where = os.environ["INFERSCOPE_SESSION"]
    _agent.detach()
    model(1)
    _agent.attach(where)
    model(1)
    """ % package, notes=None) == 2 * [ONE_CALL]


def test_hooks_of_ours_are_gone_before_the_compiler_looks(layers, python, version):
    """Before 3.12 layers come from hooks; torch.compile must not find any."""
    found = layers(python, """
    model = Model()
    model(1)
    import torch._dynamo
    assert torch._dynamo.hooks_found == 0
    model(1)
    """, notes=int(version < (3, 12)))
    assert found == [2 * ONE_CALL if version >= (3, 11) else ONE_CALL]


def test_what_the_hooks_were_in_is_as_it_was_afterwards(layers, python, package):
    layers(python, """
    import sys
    Model()(1)
    sys.path.insert(0, %r)
    from inferscope import _agent
    module = sys.modules["torch.nn.modules.module"]
    _agent.detach()
    assert not [name for name in vars(module) if name.startswith("_global") and vars(module)[name]]
    """ % package, notes=None)


def scopes_of(trace):
    """[(name, its scopes of the main thread that ended)]; an end without a begin is an error."""
    begun, ended = {}, []
    for event in next(iter(trace.threads.values())).events:
        if event.kind == isc.SCOPE_BEGIN:
            begun[isc.Payload(event).instance] = trace.name(event.id), isc.Payload(event).args
        elif event.kind == isc.SCOPE_END:
            ended.append(begun.pop(isc.Payload(event).instance))
    return ended, begun


SEEN = ["trace", "auto", "sample"]  # before 3.12 functions are seen only where all calls are


@pytest.mark.parametrize("cpu", SEEN)
def test_waiting_for_data_and_loading_it_are_scopes(layers, python, version, cpu):
    layers(python, """
    from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter
    from torch.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
    model, workers = Model(), _MultiProcessingDataLoaderIter()
    for loader in (_MapDatasetFetcher([1, 2]), _IterableDatasetFetcher([1])):
        try:
            for index in range(3):
                model(loader.fetch(index))
                model(workers._get_data())
        except (IndexError, StopIteration):
            model(1)
    """, cpu=cpu)
    ended, without_end = scopes_of(layers.trace)
    names = [name for name, _ in ended]
    if version < (3, 12) and cpu == "sample":
        assert not names
    else:
        assert names == ["torch: DataLoader load", "torch: DataLoader wait"] * 2 + [
            "torch: DataLoader load"] * 2 + ["torch: DataLoader wait", "torch: DataLoader load"]
    assert not without_end


@pytest.mark.parametrize("cpu", SEEN)
def test_compilations_are_scopes_that_say_what_is_compiled(layers, python, version, cpu):
    layers(python, """
    import torch._dynamo
    from torch._dynamo.convert_frame import SkipFrame, _compile

    def step(x):
        return x

    for skips in (False, True, False):
        try:
            _compile(step.__code__, skips)
        except SkipFrame:
            pass
    """, cpu=cpu, notes=None)
    ended, without_end = scopes_of(layers.trace)
    if version < (3, 12) and cpu == "sample":
        assert not ended
    else:
        assert [name for name, _ in ended] == 3 * ["torch: compile"]
    for _, args in ended:
        if version >= (3, 11):  # before, the argument lies in a cell that is not known
            known = dict(args.pairs)
            assert known["function"] == "step" and known["file"].endswith("program.py")
            assert known["line"] == 1 + layers.source.index("def step(x):")
    assert not without_end


BUSY = """
    import time
    class Pause(nn.Module):
        def forward(self, x):
            time.sleep(0.002)
            return x

    class Busy(nn.Module):
        def __init__(self):
            super().__init__()
            self.tiny = Model()
            self.pause = Pause()

        def forward(self, x):
            for _ in range(10):
                self.tiny(x)
            return self.pause(x)

    model = Busy()
    for _ in range(400):
        model(1)
"""


@pytest.mark.parametrize("cpu", ["auto", "sample", "off"])
@pytest.mark.measures
def test_before_3_12_pytorch_has_no_hooks_of_ours_within_a_budget(layers, python, version, cpu):
    """They would cost more than it, whatever they do."""
    if version >= (3, 12):
        pytest.skip("there are none at all")
    found = layers(python, """
    import sys, torch.utils.data.dataloader
    model = Model()
    for _ in range(100):
        model(1)
        sum(range(400000))  # C code pays nothing, and earns
    module = sys.modules["torch.nn.modules.module"]
    assert not [name for name in vars(module) if name.startswith("_global") and vars(module)[name]]
    """, cpu=cpu, overhead="30", notes=None)
    if version == (3, 11) and cpu == "auto":  # layers are known where calls are recorded
        trace = layers.trace
        events = [event for thread in trace.threads.values() for event in thread.events]
        calls = [event for event in events if event.kind == isc.CALL
                 and trace.codes[event.id]["name"] == "Module._wrapped_call_impl"]
        assert len(calls) == sum(event.kind == isc.LAYER_BEGIN for event in events)
        assert any(found[0][at:at + len(ONE_CALL)] == ONE_CALL for at in range(len(found[0])))
    else:
        assert found == []
    note, = (text for text in layers.trace.notes if "its layers" in text)
    assert "--max-overhead 100" in note


@pytest.mark.measures
def test_short_layers_are_folded_where_they_cost_too_much(layers, python, version):
    """
    Ten small models to one pause of 2 ms: the pauses stay, and what is around them.  Where even
    folded ones take more than there is (on a slow machine), all go, but those come last.
    """
    if version < (3, 12):
        pytest.skip("within a budget there are no hooks before 3.12")
    layers(python, BUSY, cpu="auto", overhead="2", notes=None)
    names = {id: layer["name"] for id, layer in layers.trace.layers.items()}
    short = {name for name in names.values() if name.startswith("tiny") and "unused" not in name}
    assert len(short) == len(ONE_CALL)
    folded, ever, pauses = set(), set(), 0
    for event in next(iter(layers.trace.threads.values())).events:
        if event.kind == isc.LAYERS_FOLDED:
            folded = folded | {names[event.id]} if event.id else set()
        elif event.kind == isc.LAYER_BEGIN:
            assert names[event.id] not in folded
            assert folded <= short or folded >= short
            ever |= folded
            pauses += bool(folded) and names[event.id] == "pause"
    assert {"tiny.first.attn", "tiny.second.mlp"} <= ever
    assert pauses > 10


# Leaves whose calls are too many to be heard of, and some work beside them.
LEAVES = """
    import time

    class Wide(nn.Module):
        def __init__(self):
            super().__init__()
            for n in range(24):
                setattr(self, "leaf%d" % n, nn.Leaf())

        def forward(self, x):
            for n in range(24):
                x = getattr(self, "leaf%d" % n)(x)
            return self.rest(x)

        def rest(self, x):
            sum(range(20000))  # C code pays nothing, and earns
            return x

    class Wider(Wide):
        def forward(self, x):
            return super().forward(x)

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide, self.wider = Wide(), Wider()

        def forward(self, x):
            return self.wider(self.wide(x))

    model, calls, end = Deep(), 0, time.monotonic() + 2.5
    while time.monotonic() < end:
        model(1)
        calls += 1
    print(calls)
"""


@pytest.mark.parametrize("cpu", ["auto", "off"])
@pytest.mark.measures
def test_what_models_run_tells_where_their_calls_are_too_many(layers, python, version, cpu):
    """The model and its parts are heard of all the time, for leaves are switched off."""
    if version < (3, 12):
        pytest.skip("within a budget there are no hooks before 3.12")
    found, = layers(python, LEAVES, cpu=cpu, overhead="4", notes=None)
    count = collections.Counter(found)
    calls = int(layers.output)
    leaves = count[2, "wide.leaf0"], count[2, "wider.leaf23"]
    assert max(leaves) < 0.5 * calls, (count, calls)
    # What is amid a call when others are listened to is lost.
    for one in (0, "Deep"), (1, "wide"), (1, "wider"):
        assert 0.97 * calls - 10 <= count[one] <= calls, (count, calls)
    assert {depth for depth, _ in count} == {0, 1, 2}


# Nothing but calls of modules that do nothing.
TINY = """
    import time
    model, end = Model(), time.monotonic() + 1.5
    while time.monotonic() < end:
        for _ in range(100):
            assert model(1) == 5
"""


@pytest.mark.parametrize("cpu", ["auto", "off"])
@pytest.mark.measures
def test_where_even_folded_layers_cost_too_much_nobody_listens(layers, python, version, cpu, work):
    if version < (3, 12):
        pytest.skip("within a budget there are no hooks before 3.12")
    layers(python, TINY, cpu=cpu, overhead="5", notes=None)
    thread, = (thread for thread in layers.trace.threads.values()
               if any(event.kind == isc.LAYER_BEGIN for event in thread.events))
    told = [event for event in thread.events if event.kind in (isc.LAYER_BEGIN, isc.LAYERS_FOLDED)]
    folded = [event.id for event in told if event.kind == isc.LAYERS_FOLDED]
    assert {layers.trace.layers[id]["name"] for id in folded if id} >= {"", "first", "second.mlp"}
    # It was told at once, and nothing comes behind it.
    assert told[-1].kind == isc.LAYERS_FOLDED and told[-1].time_ns < 1e9
    assert json.loads((work / "r.json").read_text())["trust"]["overhead_share"] < 0.05


def test_a_module_that_keeps_its_parts_elsewhere_is_a_layer(layers, python):
    """As those of TorchScript do: what they hold is not run by Python."""
    assert layers(python, """
    class Parts:
        def __getattr__(self, name):
            raise AssertionError("asked for " + name)

    class ScriptModule(nn.Module):
        def __init__(self):
            self.__dict__["_modules"] = Parts()

        def forward(self, x):
            return x

    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.scripted = ScriptModule()

        def forward(self, x):
            return self.scripted(x)

    ScriptModule()(1)
    Around()(1)
    """) == [[(0, "ScriptModule"), (0, "Around"), (1, "scripted")]]


def test_no_layer_is_folded_without_a_bound(layers, python):
    found, = layers(python, BUSY.replace("400", "3"), cpu="sample", overhead="100", notes=None)
    assert not [event for thread in layers.trace.threads.values() for event in thread.events
                if event.kind == isc.LAYERS_FOLDED]
    assert len(found) == 3 * (2 + 10 * len(ONE_CALL))
