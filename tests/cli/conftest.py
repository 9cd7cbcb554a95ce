"""What only the command-line tests need; the program itself is run by tests/conftest.py."""

import json
import os

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
