"""Tests in lanes: side by side, but for those that measure."""

import textwrap

import pytest

import pytest_within

pytest.importorskip("xdist")

# Each leaves when it began and ended, by a clock that all processes share.
PRELUDE = """
    import os, pathlib, time
    import pytest

    here = pathlib.Path(__file__).parent

    @pytest.fixture(autouse=True)
    def noted(request):
        begin = time.monotonic()
        yield
        (here / (request.node.name + ".time")).write_text("%r %r" % (begin, time.monotonic()))
"""


@pytest.fixture
def in_lanes(tmp_path):
    """Runs tests in two lanes; what pytest says."""
    def run(text):
        (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = measures: here\n")
        (tmp_path / "test_it.py").write_text(textwrap.dedent(PRELUDE) + textwrap.dedent(text))
        done = pytest_within.run(tmp_path, "-n", "2", "-p", "lanes", "-p", "run_again")
        return done.stdout, done.returncode
    return run


def times(folder):
    return {path.stem: tuple(map(float, path.read_text().split()))
            for path in folder.glob("*.time")}


def test_who_measures_is_alone(in_lanes, tmp_path):
    said, _ = in_lanes("""
        @pytest.mark.measures
        @pytest.mark.parametrize("n", range(6))
        def test_alone(n):
            time.sleep(0.05)

        @pytest.mark.parametrize("n", range(20))
        def test_with_others(n):
            time.sleep(0.01 * (n % 4))
    """)
    assert "26 passed" in said, said
    spans = times(tmp_path)
    alone = {name: span for name, span in spans.items() if name.startswith("test_alone")}
    assert (len(alone), len(spans)) == (6, 26)
    for name, (begin, end) in alone.items():
        assert not [other for other, span in spans.items()
                    if other != name and span[0] < end and begin < span[1]]


def test_the_others_are_not(in_lanes):
    """Each waits for the other."""
    said, _ = in_lanes("""
        @pytest.mark.parametrize("mine, other", ["ab", "ba"])
        def test_pair(mine, other):
            (here / mine).touch()
            end = time.monotonic() + 20
            while not (here / other).exists():
                assert time.monotonic() < end
                time.sleep(0.01)
    """)
    assert "2 passed" in said, said


def test_lanes_tell_who_was_run_again(in_lanes):
    said, _ = in_lanes("""
        @pytest.mark.measures
        def test_slow_at_first():
            seen = here / "seen"
            if not seen.exists():
                seen.touch()
                raise AssertionError("too slow")
    """)
    assert "1 passed" in said, said
    assert "test_it.py::test_slow_at_first - AssertionError: too slow" in said, said


@pytest.mark.parametrize("fails, tests, status", [(1, 5, 0), (1, 6, 1), (2, 1, 1)])
def test_who_fails_beside_others_runs_again_alone(in_lanes, tmp_path, fails, tests, status):
    said, code = in_lanes("""
        @pytest.mark.parametrize("n", range(%d))
        def test_shy(n):
            time.sleep(0.05)
            seen = here / ("seen %%d" %% n)
            count = int(seen.read_text()) if seen.exists() else 0
            seen.write_text(str(count + 1))
            assert count >= %d, "somebody is here"
    """ % (tests, fails))
    assert code == status, said
    assert ("%d passed" % tests in said) == (fails < 2), said
    assert "run again, alone" in said
    assert said.count(" - AssertionError: somebody is here") >= tests
    spans = sorted(times(tmp_path).values())  # of the second runs
    assert len(spans) == tests
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))
