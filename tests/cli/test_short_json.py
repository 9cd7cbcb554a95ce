"""report.json with --detail short: at most 8 kB, and nothing in it that the whole report denies."""

import json
import os

import jsonschema
import pytest

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
STORIES = sorted(name[:-len(".story")] for name in os.listdir(GOLDEN) if name.endswith(".story"))
LIMIT = 8000


@pytest.fixture(scope="session")
def schema(root):
    with open(os.path.join(root, "docs/schema/report_short.schema.json")) as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


@pytest.fixture
def reports(inferscope, work, schema):
    """The short report, which obeys its schema, and the whole one."""
    def analyze(trace):
        read = []
        for detail in "short", "full":
            done = inferscope("analyze", trace, "--quiet", "--detail", detail, "--report", "r.json")
            assert done.returncode == 0, done.stderr
            read.append((work / "r.json").read_bytes())
        assert len(read[0]) <= LIMIT
        short, whole = map(json.loads, read)
        schema.validate(short)
        return short, whole
    return analyze


def traces(root):
    folder = os.path.join(root, "examples/traces")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".isc")]


def agree(short, whole, where="report"):
    """What the short one has the whole one has: texts may be cut, times are rounded."""
    if isinstance(short, dict):
        for key, value in short.items():
            agree(value, whole[key], where + "." + key)
    elif isinstance(short, list):
        for one, other in zip(short, whole):
            agree(one, other, where)
    elif isinstance(short, str):
        assert whole.startswith(short.rstrip("…")) or whole.endswith(short.lstrip("…")) or \
            "?" in short, where
    elif isinstance(short, float):
        assert short == pytest.approx(whole, abs=0.00051), where
    else:
        assert short == whole, where


def check(short, whole):
    del short["inferscope"], short["finding_count"]
    if short["gpu"]:
        del short["gpu"]["name"]
    else:
        del short["gpu"]
    # In another order: by the time of their own.
    for layer in short.pop("layers"):
        names = [other["name"] for other in whole["layers"]]
        assert any(name.startswith(layer["name"].rstrip("…")) for name in names)
    agree(short, whole)


@pytest.mark.parametrize("name", STORIES)
def test_a_short_report_says_the_same_in_8_kb(name, golden, reports):
    check(*reports(golden(name)))


def test_traces_of_real_programs_fit_as_well(root, reports):
    for trace in traces(root):
        short, whole = reports(trace)
        assert len(short["findings"]) == min(5, len(whole["findings"]))
        assert short["steps"][0]["breakdown"] and short["gpu"]["kernels"]
        check(short, whole)
