"""What layers a trace has, for tests; and a double of PyTorch that every CPython can import."""

import os

import isc_decode as isc

DOUBLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "doubles",
                      "fake_torch")


def label(layer):
    """Model, or Model:block.0 for a part of it."""
    return layer["name"] or layer["class"]


def threads_of_layers(trace):
    """Of each thread that has any: [[depth, layer], ...] in order of their begins."""
    return [calls for calls in map(lambda thread: calls_of(trace, thread.events),
                                   trace.threads.values()) if calls]


def calls_of(trace, events):
    """Checks that begins and ends nest; an end closes what was begun inside and has none."""
    calls, opened = [], []
    for event in events:
        if event.kind == isc.LAYER_BEGIN:
            calls.append((len(opened), label(trace.layers[event.id])))
            opened.append(event.id)
        elif event.kind == isc.LAYER_END:
            assert event.id in opened, "the end of what never began"
            while opened.pop() != event.id:
                pass
        elif event.kind == isc.LAYERS_FOLDED:  # what is open of it has no end
            opened = [id for id in opened if id != event.id]
    assert not opened, "%d layers without an end" % len(opened)
    return calls
