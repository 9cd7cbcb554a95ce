"""What only the command-line tests need; the program itself is run by tests/conftest.py."""

import json
import os
import subprocess

import jsonschema
import pytest


@pytest.fixture(scope="session")
def event_schema(root):
    with open(os.path.join(root, "docs/schema/events.schema.json")) as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


@pytest.fixture
def exported(inferscope, event_schema):
    """Exports a trace; the result obeys the schema."""
    def run(path, warning=""):
        done = inferscope("export", path, "--to", "json")
        assert done.returncode == 0, done.stderr
        assert warning in done.stderr if warning else done.stderr == ""
        result = json.loads(done.stdout)
        event_schema.validate(result)
        return result
    return run


@pytest.fixture
def refused(inferscope):
    """Runs the program, which must refuse with one line and say nothing else; returns the line."""
    def run(*args, status=2, **more):
        done = inferscope(*args, **more)
        assert done.returncode == status, done.stderr
        assert done.stdout == ""
        lines = done.stderr.splitlines()
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("inferscope: ")
        return lines[0][len("inferscope: "):]
    return run


@pytest.fixture
def story(binary, work):
    """Writes a story as a trace into the working directory; returns its name."""
    tool = os.path.join(os.path.dirname(binary), "../../tests/unit/story_trace")

    def write(text, name="run.isc"):
        (work / "story").write_text(text)
        subprocess.run([tool, "story", name], cwd=str(work), check=True)
        return name
    return write


@pytest.fixture
def golden(story, root):
    def write(name):
        with open(os.path.join(root, "tests/golden", name + ".story")) as f:
            return story(f.read(), name + ".isc")
    return write
