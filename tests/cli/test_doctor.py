"""`inferscope doctor`: what can be recorded here, and what to do about the rest."""

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import sys

import jsonschema
import pytest
import sandbox

NAMES = ["agent", "Python", "trace buffer", "memory", "memory pressure", "limits", "trace file",
         "clock", "child processes", "thread states", "samples", "native samples", "system figures",
         "GPU driver", "CUPTI", "CUDA injection", "NVTX injection", "NVML"]

# A libcuda of which the test decides what goes wrong.
DRIVER = r"""
#include <stdlib.h>
#include <string.h>
int cuInit(unsigned flags)
{
	if (getenv("CRASH"))
		abort();
	return flags + (getenv("INIT") ? 100 : 0);
}
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { *count = getenv("NONE") ? 0 : 2; return 0; }
int cuDeviceGetName(char *name, int size, int device)
{
	strncpy(name, "Double", size);
	return device;
}
"""


@pytest.fixture(scope="session")
def schema(root):
    with open(os.path.join(root, "docs/schema/doctor.schema.json")) as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


@pytest.fixture
def answers(inferscope, schema):
    """(exit status, answers by name) of doctor with these options, environment and more."""
    def ask(*options, more=None, **env):
        done = inferscope("doctor", "--json", *options, env=env, **(more or {}))
        found = json.loads(done.stdout)
        schema.validate(found)
        assert found["well"] == (done.returncode == 0)
        assert found["well"] == all(a["status"] != "problem" for a in found["answers"])
        return done.returncode, {answer["name"]: answer for answer in found["answers"]}
    return ask


@pytest.fixture
def problem(answers):
    """The one answer that is a problem: its name is known, what it says is returned."""
    def ask(name, *options, **more):
        status, found = answers(*options, **more)
        assert status == 1
        assert [a["name"] for a in found.values() if a["status"] == "problem"] == [name]
        return found[name]["found"] + " -> " + found[name]["fix"]
    return ask


@pytest.fixture
def script(work):
    """An interpreter that is none."""
    def write(text):
        path = work / "interpreter"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path
    return write


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """The folder of a libcuda.so.1 without a GPU."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "driver.c", "-o", "libcuda.so.1"],
                   cwd=str(folder), check=True)
    return str(folder)


def test_every_question_is_answered(answers):
    _, found = answers()
    assert list(found) == NAMES
    assert found["agent"]["status"] == "ok" and "_agent.abi3.so" in found["agent"]["found"]


def test_text_and_json_say_the_same(inferscope, answers):
    def without_figures(text):  # free space and memory change from one run to the next
        return re.sub(r"[0-9.]+ ([kMGT]?B)", r"N \1", text)

    _, found = answers()
    text = without_figures(inferscope("doctor").stdout)
    for answer in found.values():
        assert without_figures(answer["found"]) in text


def test_python_is_recorded_for_the_answer(answers):
    status, found = answers("--python", sys.executable)
    assert found["Python"]["status"] == "ok", found
    assert "CPython %d.%d.%d" % sys.version_info[:3] in found["Python"]["found"]
    assert sys.executable in found["Python"]["found"]


@pytest.mark.parametrize("text, expected", [
    ("exit 0", "ran, but the agent was not loaded into it"),
    ("exit 7", "cannot run a program (exit status 7)"),
    ("kill -9 $$", "cannot run a program (signal 9)"),
    ("exec python3 -I \"$@\"", "ran, but the agent was not loaded into it"),
])
def test_an_interpreter_that_cannot_be_recorded(problem, script, text, expected):
    said = problem("Python", "--python", script(text))
    assert expected in said and "--python" in said


def test_an_interpreter_that_is_not_there(problem, work):
    assert "No such file" in problem("Python", "--python", work / "nowhere")


def test_an_interpreter_that_the_agent_refuses(problem, script):
    """As Python 3.7 would: the shim leaves a note and nothing joins."""
    said = problem("Python", "--python", script(
        "IFS=. read -r pid fd note token <<END\n$INFERSCOPE_SESSION\nEND\n"
        "echo \"$$ Python 3.7 is too old\" >>/proc/$pid/fd/$note\n"))
    assert "Python 3.7 is too old" in said and "3.8" in said


@pytest.mark.parametrize("name", ["/proc/no.isc", "nowhere/t.isc"])
def test_a_trace_that_cannot_be_written(problem, name):
    assert name + " cannot be written" in problem("trace file", "--trace", name)


def test_no_trace_is_no_problem(answers):
    assert answers("--no-trace")[1]["trace file"]["status"] == "absent"


def test_the_trace_file_leaves_nothing_behind(answers, work):
    before = sorted(os.listdir(str(work)))
    answers()
    assert sorted(os.listdir(str(work))) == before


@pytest.mark.parametrize("limit, value, expected", [
    (resource.RLIMIT_AS, 300 << 20, "ulimit -v"), (resource.RLIMIT_FSIZE, 64 << 20, "ulimit -f"),
    (resource.RLIMIT_NOFILE, 20, "ulimit -n")])
def test_limits_that_are_in_the_way(problem, limit, value, expected):
    def lower():
        resource.setrlimit(limit, (value, value))
    assert expected in problem("limits", more={"preexec_fn": lower})


def test_a_small_buffer_needs_little(answers):
    def lower():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    assert answers("--trace-size-mb", 8, more={"preexec_fn": lower})[1]["limits"]["status"] == "ok"


def test_an_agent_of_another_version(binary, clean_env, work, tmp_path, schema):
    tree = tmp_path / "tree"
    shutil.copytree(os.path.dirname(os.path.dirname(binary)), str(tree))
    agent = tree / "lib/inferscope/python/inferscope/_agent.abi3.so"
    (tmp_path / "agent.c").write_text("const char inferscope_agent_version[] = \"0.0.1\";\n")

    def ask():
        done = subprocess.run([str(tree / "bin/inferscope"), "doctor", "--json"], env=clean_env,
                              cwd=str(work), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert done.returncode == 1
        found = json.loads(done.stdout)
        schema.validate(found)
        answer = found["answers"][0]
        assert (answer["name"], answer["status"]) == ("agent", "problem")
        return answer["found"] + " -> " + answer["fix"]

    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "agent.c"), "-o", str(agent)],
                   check=True)
    assert "has version 0.0.1" in ask()
    agent.write_bytes(b"not a library")
    assert "reinstall InferScope, for this machine" in ask()
    agent.unlink()
    assert "cannot open shared object file" in ask()
    shutil.rmtree(str(tree / "lib"))
    assert "the installation is incomplete" in ask()


def test_a_driver_that_works(answers, driver):
    assert answers(LD_LIBRARY_PATH=driver)[1]["GPU driver"] == {
        "name": "GPU driver", "status": "ok", "found": "CUDA 12.4, 2 GPUs: Double", "fix": None}


@pytest.mark.parametrize("fault, expected", [
    ("INIT", "the driver does not start (error 100)"), ("NONE", "CUDA_VISIBLE_DEVICES"),
    ("CRASH", "no answer, or a crash")])
def test_a_driver_that_does_not(problem, driver, fault, expected):
    assert expected in problem("GPU driver", LD_LIBRARY_PATH=driver, **{fault: "1"})


def test_another_injected_tool_is_a_problem_with_a_fix(problem):
    said = problem("CUDA injection", CUDA_INJECTION64_PATH="/opt/other/tool.so")
    assert "/opt/other/tool.so" in said and "unset CUDA_INJECTION64_PATH" in said
    said = problem("NVTX injection", NVTX_INJECTION64_PATH="/opt/other/tool.so")
    assert "/opt/other/tool.so" in said and "unset NVTX_INJECTION64_PATH" in said


def test_a_libcupti_that_cannot_be_loaded_is_a_problem(problem):
    assert "/nowhere/libcupti.so" in problem("CUPTI", INFERSCOPE_CUPTI="/nowhere/libcupti.so")


def test_a_libcupti_that_is_too_old_is_a_problem(problem, driver):
    old = os.path.join(driver, "libcupti.so.11.7")
    subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", old], check=True,
                   input=b"int cuptiGetVersion(unsigned *v) { *v = 17; return 0; }")
    said = problem("CUPTI", INFERSCOPE_CUPTI=old)
    assert "version 17" in said and "11.8 or newer" in said


@pytest.mark.parametrize("word", ["gpu", "--verbose"])
def test_unknown_words_are_usage_errors(inferscope, word):
    result = inferscope("doctor", word)
    assert result.returncode == 2
    assert word in result.stderr


@pytest.mark.skipif(not sandbox.supported(), reason="no seccomp filter for this machine")
def test_refused_perf_events_are_absent_and_say_how_to_permit_them(answers):
    _, found = answers(more={"preexec_fn": sandbox.refuse("perf_event_open")})
    answer = found["native samples"]
    assert answer["status"] == "absent"
    assert answer["found"].startswith("perf_event_open: Operation not permitted")
    assert "seccomp" in answer["fix"] or "perf_event_paranoid" in answer["fix"]


@pytest.mark.skipif(not sandbox.supported(), reason="no seccomp filter for this machine")
@pytest.mark.parametrize("error, said", [(errno.EPERM, "Operation not permitted"),
                                         (errno.ENOSYS, "Function not implemented")])
def test_refused_reading_says_how_stacks_are_read_then_and_how_to_permit_it(answers, error, said):
    _, found = answers(more={"preexec_fn": sandbox.refuse("process_vm_readv", error=error)})
    answer = found["samples"]
    assert answer["status"] == "absent"
    assert "from inside" in answer["found"] and said in answer["found"]
    assert "--cap-add SYS_PTRACE" in answer["fix"]


def test_stacks_of_a_child_are_read_from_outside(answers):
    _, found = answers()
    assert found["samples"]["status"] == "ok" and "from outside" in found["samples"]["found"]


def test_thread_states_of_a_child_are_seen(answers):
    _, found = answers()
    answer = found["thread states"]
    assert answer == {"name": "thread states", "status": "ok",
                      "found": "/proc/PID/task/TID/syscall, schedstat", "fix": None}
