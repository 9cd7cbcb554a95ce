"""`inferscope doctor`: what can be recorded here, and what to do about the rest."""

import json

import pytest

NAMES = ["agent", "trace buffer", "clock", "child processes", "GPU driver", "CUPTI",
         "CUDA injection"]


def answers(inferscope, **env):
    result = inferscope("doctor", "--json", env=env)
    return result.returncode, {answer["name"]: answer for answer in json.loads(result.stdout)}


def test_every_question_is_answered(inferscope):
    _, found = answers(inferscope)
    assert list(found) == NAMES
    for answer in found.values():
        assert answer["status"] in ("ok", "absent", "problem")
        assert answer["found"]
        assert (answer["fix"] is not None) == (answer["status"] == "problem")


def test_text_and_json_say_the_same(inferscope):
    _, found = answers(inferscope)
    text = inferscope("doctor").stdout
    for answer in found.values():
        assert answer["found"] in text


def test_another_injected_tool_is_a_problem_with_a_fix(inferscope):
    status, found = answers(inferscope, CUDA_INJECTION64_PATH="/opt/other/tool.so")
    assert status == 1
    assert "/opt/other/tool.so" in found["CUDA injection"]["found"]
    assert "unset CUDA_INJECTION64_PATH" in found["CUDA injection"]["fix"]


def test_a_libcupti_that_cannot_be_loaded_is_a_problem(inferscope):
    status, found = answers(inferscope, INFERSCOPE_CUPTI="/nowhere/libcupti.so")
    assert status == 1
    assert found["CUPTI"]["status"] == "problem"
    assert "/nowhere/libcupti.so" in found["CUPTI"]["fix"]


@pytest.mark.parametrize("word", ["gpu", "--verbose"])
def test_unknown_words_are_usage_errors(inferscope, word):
    result = inferscope("doctor", word)
    assert result.returncode == 2
    assert word in result.stderr
