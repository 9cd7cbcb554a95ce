"""What scopes and marks carry arrives in the trace as it was, or says that it did not."""

import json
import math

PROGRAM = """
    import enum
    from inferscope import mark_event, scope

    class Tensor:
        def __repr__(self): raise RuntimeError("looked at")
        __str__ = __len__ = __bool__ = __int__ = __float__ = __index__ = __repr__

    class Phase(str, enum.Enum):
        PREFILL = "prefill"

    class Level(enum.IntEnum):
        HIGH = 3

    values = dict(
        zero=0, small=-5, most=2 ** 63 - 1, least=-2 ** 63, beyond=2 ** 70, far=10 ** 400,
        real=1.5, tiny=5e-324, yes=True, no=False, none=None, text="grün \\N{SNOWMAN}", empty="",
        tensor=Tensor(), data=b"bytes", items=[1, 2], kind=int, phase=Phase.PREFILL,
        level=Level.HIGH, surrogate="a\\udc80b", zero_byte="a\\0b", quote='"\\\\\\n')
    with scope("scope", **values):
        mark_event("mark", **values)
"""
VALUES = {
    "zero": 0, "small": -5, "most": 2 ** 63 - 1, "least": -2 ** 63, "beyond": 2.0 ** 70,
    "far": {"type": "int"}, "real": 1.5, "tiny": 5e-324, "yes": True, "no": False, "none": None,
    "text": "grün \N{SNOWMAN}", "empty": "", "tensor": {"type": "Tensor"},
    "data": {"type": "bytes"}, "items": {"type": "list"}, "kind": {"type": "type"},
    "phase": "prefill", "level": 3, "zero_byte": "a\0b", "quote": '"\\\n'}


def typed(values):
    """1, 1.0 and True are equal; here they must not be."""
    return {key: (type(value), value) for key, value in values.items()}


def test_every_type_of_value(python, record):
    recording = record(python, PROGRAM)
    (enter, _), = recording.scopes("scope")
    mark, = recording.of("instant", "mark")
    for event in (enter, mark):
        surrogate = event["args"].pop("surrogate")
        assert surrogate[0] == "a" and surrogate[-1] == "b"
        assert typed(event["args"]) == typed(VALUES)
        assert list(event["args"]) == list(VALUES), "in the order they were given"
        assert "args_cut" not in event


def test_numbers_that_json_cannot_say(python, record):
    recording = record(python, """
        from inferscope import mark_event
        mark_event("mark", infinite=float("inf"), nan=float("nan"), after=1)
    """)
    mark, = recording.of("instant", "mark")
    assert mark["args"]["after"] == 1
    for key in ("infinite", "nan"):
        assert mark["args"][key] is None or not math.isfinite(float(mark["args"][key]))


def test_too_much_is_cut_and_marked(python, record):
    recording = record(python, """
        from inferscope import mark_event, scope
        with scope("many", **{"key_%d" % i: i for i in range(1000)}):
            pass
        mark_event("long", text="x" * 10000, after=1)
        mark_event("long key", **{"k" * 10000: 1, "after": 1})
        mark_event("many long", **{"key_%d" % i: "y" * 900 for i in range(10)})
    """)
    (many, _), = recording.scopes("many")
    assert many["args_cut"] is True
    assert many["args"] == {"key_%d" % i: i for i in range(len(many["args"]))}
    assert 100 < len(many["args"]) < 1000
    marks = {event["name"]: event for event in recording.of("instant")}
    text = marks["long"]["args"]["text"]
    assert 1000 <= len(text) < 10000 and set(text.rstrip("…")) == {"x"}
    assert marks["long"]["args"]["after"] == 1
    assert marks["long key"]["args"]["after"] == 1
    assert marks["many long"]["args_cut"] is True
    assert list(marks["many long"]["args"]) == ["key_%d" % i
                                                for i in range(len(marks["many long"]["args"]))]


def test_numpy_scalars_are_numbers(record, python_with):
    recording = record(python_with("numpy"), """
        import numpy as np
        from inferscope import mark_event
        mark_event("mark", i8=np.int8(-3), u64=np.uint64(2 ** 64 - 1), f16=np.float16(0.5),
                   f32=np.float32(1.5), f64=np.float64(2.5), yes=np.bool_(True),
                   no=np.bool_(False), array=np.zeros(1), flat=np.array(5), c=np.complex64(1))
    """)
    mark, = recording.of("instant", "mark")
    assert typed(mark["args"]) == typed({
        "i8": -3, "u64": 2.0 ** 64, "f16": 0.5, "f32": 1.5, "f64": 2.5, "yes": True, "no": False,
        "array": {"type": "ndarray"}, "flat": {"type": "ndarray"}, "c": {"type": "complex64"}})


def test_names_are_kept_whole(python, record):
    names = ["", "plain", "grün \N{SNOWMAN}", "a\nb", "x" * 4000]
    recording = record(python, """
        import json, sys
        from inferscope import mark_event, scope
        for name in json.loads(sys.argv[1]):
            with scope(name):
                mark_event(name)
    """, json.dumps(names))
    assert [event["name"] for event in recording.of("instant")] == names
    assert [enter["name"] for enter, _ in recording.scopes()] == names


def test_a_hundred_thousand_names(python, record):
    """A program that makes up names: each is right, and the agent does not grow for ever."""
    recording = record(python, """
        from inferscope import mark_event
        for i in range(100000):
            mark_event("request %d" % i)
    """)
    assert [e["name"] for e in recording.of("instant")] == ["request %d" % i for i in range(100000)]
