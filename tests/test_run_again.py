"""The second chance of tests that measure: one, for those alone, and never in silence."""

import textwrap

import pytest

import pytest_within


@pytest.fixture
def outcome(tmp_path):
    """Runs tests that fail the given number of times each; what pytest says."""
    def run(fails, marker):
        (tmp_path / "conftest.py").write_text(
            "from run_again import *\n"
            "def pytest_configure(config):\n"
            "    config.addinivalue_line('markers', 'measures: here')\n")
        (tmp_path / "test_it.py").write_text(textwrap.dedent("""
            import pytest
            runs = []
            @pytest.fixture
            def fresh(tmp_path):
                yield tmp_path
                assert tmp_path.exists()
            {marker}
            def test_it(fresh):
                assert not list(fresh.iterdir())
                (fresh / "trace").touch()
                runs.append(fresh)
                assert len(set(runs)) > {fails}, "too slow"
            def test_next():
                assert len(runs) == {runs}
        """).format(marker=marker, fails=fails, runs=min(fails + 1, 2 if marker else 1)))
        return pytest_within.run(tmp_path, "test_it.py")
    return run


def test_a_second_measurement_counts_and_the_first_is_told(outcome):
    done = outcome(1, "@pytest.mark.measures")
    assert done.returncode == 0 and "2 passed" in done.stdout
    assert "measured again" in done.stdout
    assert "test_it.py::test_it - AssertionError: too slow" in done.stdout


@pytest.mark.parametrize("fails, marker", [(2, "@pytest.mark.measures"), (1, "")])
def test_no_third_one_and_none_for_others(outcome, fails, marker):
    done = outcome(fails, marker)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout


def test_nothing_is_said_where_all_is_well(outcome):
    done = outcome(0, "@pytest.mark.measures")
    assert done.returncode == 0 and "measured again" not in done.stdout
