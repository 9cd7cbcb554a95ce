"""--max-memory: a trace that needs more than there is gives a partial report that says so."""

import json
import os

import jsonschema
import pytest

import isc_encode as isc

MB = 1 << 20


@pytest.fixture(autouse=True)
def allocator_of_the_system(binary):
    """A sanitizer's own allocator takes memory ahead, and dies where it gets none."""
    with open(binary, "rb") as file:
        if b"__asan_init" in file.read():
            pytest.skip("the program is built with a sanitizer")


def block_of_scopes(nth, scopes=1000):
    """Instances of three bytes each, so that all blocks are of one size."""
    rows = []
    for i in range(nth * scopes, (nth + 1) * scopes):
        rows += [(isc.SCOPE_BEGIN, 9, 100_000 * i, isc.varints((1 << 14) + i, 0)),
                 (isc.SCOPE_END, 9, 100_000 * i + 50_000, isc.varint((1 << 14) + i))]
    return isc.events(1, 2 * scopes * nth, *rows)


@pytest.fixture(scope="session")
def trace(tmp_path_factory):
    """4 s of a loop: 40,000 scopes, of which about 600 bytes each are kept."""
    path = tmp_path_factory.mktemp("trace") / "t.isc"
    path.write_bytes(b"".join([
        isc.header(), isc.process(1, 40, "serve.py"), isc.thread(1, 1, 40, "MainThread"),
        isc.string(9, "step"), *map(block_of_scopes, range(40)), isc.end(4_000_000_000)]))
    return path


def test_a_report_on_the_part_that_fits(inferscope, trace, work, root):
    done = inferscope("analyze", trace, "--max-memory", "6M", "--report", "r.json",
                      "--report", "r.md", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    report = json.loads((work / "r.json").read_text())
    with open(os.path.join(root, "docs/schema/report.schema.json")) as file:
        jsonschema.validate(report, json.load(file))
    trust = report["trust"]
    assert trust["partial"] and 0 < trust["read_share"] < 1
    assert trust["events"] == pytest.approx(80_000 * trust["read_share"], rel=0.05)
    assert report["run"]["wall_ms"] == pytest.approx(4000 * trust["read_share"], rel=0.05)
    why = "only the first %.1f %% of the trace was read" % (100 * trust["read_share"])
    assert trust["notes"][0].startswith("partial report: " + why)
    assert why in done.stderr and "--max-memory" in done.stderr and done.stderr.count("\n") == 1
    assert why in done.stdout.replace("\n          ", " ")
    assert why in (work / "r.md").read_text() and why in (work / "r.html").read_text()


def test_without_need_nothing_changes(inferscope, trace, work):
    for name, options in (("a.json", []), ("b.json", ["--max-memory", "1G"])):
        done = inferscope("analyze", trace, "--report", name, *options)
        assert (done.returncode, done.stderr) == (0, "")
    assert (work / "a.json").read_bytes() == (work / "b.json").read_bytes()
    assert "read_share" not in json.loads((work / "a.json").read_text())["trust"]


@pytest.mark.parametrize("size", [MB + 8192 * n * n for n in range(0, 48, 3)])
def test_an_allocation_may_fail_anywhere(inferscope, trace, work, size):
    """Whichever it is: a report, or one line and status 1."""
    done = inferscope("analyze", trace, "--max-memory", size, "--report", "r.json",
                      "--report", "r.html")
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    if done.returncode:
        assert done.stderr.startswith("inferscope: out of memory: ") and done.stdout == ""
    else:
        assert json.loads((work / "r.json").read_text())["trust"]["events"] <= 80_000


def test_less_than_the_first_block_takes(inferscope, work, tmp_path):
    path = tmp_path / "large.isc"
    path.write_bytes(isc.header() + isc.entries(isc.NOTE, b"x" * 3 * MB) + isc.end(1))
    done = inferscope("analyze", path, "--max-memory", "1M", "--report", "r.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("inferscope: out of memory: ")
    assert done.stderr.endswith(
        " needs more than the 1 MB of --max-memory; raise it, or use a machine with more memory\n")
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("to", ["json", "folded"])
def test_exports(inferscope, trace, work, to):
    done = inferscope("export", trace, "--to", to, "-o", "e", "--max-memory", "4M")
    assert done.returncode == 0 and "only the first" in done.stderr, done.stderr
    if to == "json":
        assert "only the first" in (work / "e").read_text()
    piped = inferscope("export", trace, "--to", to, "--max-memory", "4M")
    assert piped.returncode == 1 and piped.stderr.startswith("inferscope: out of memory: ")


def test_the_setting_in_the_environment(inferscope, trace):
    done = inferscope("analyze", trace, env={"INFERSCOPE_MAX_MEMORY": "6M"})
    assert done.returncode == 0 and "only the first" in done.stderr
    bad = inferscope("analyze", trace, "--max-memory", "much")
    assert (bad.returncode, bad.stderr) == (
        2, "inferscope: --max-memory: expected a size from 1M on, such as 512M or 4G, "
           "not 'much'\n")


def test_a_small_file_that_unpacks_to_a_large_one(inferscope, root, work):
    path = os.path.join(root, "tests/fuzz/corpus/mutants/unpacks_to_half_a_gigabyte")
    done = inferscope("analyze", path, "--report", "r.json")
    assert done.returncode == 0
    assert ("the file unpacks to more than a trace of this size can contain, at offset"
            in done.stderr)
    assert json.loads((work / "r.json").read_text())["trust"]["events"] == 400_000
