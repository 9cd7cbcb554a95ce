"""Reads a trace twice, with isc_decode.py and with the program, and holds one against the other."""

import json
import os
import re
import subprocess

import jsonschema

import isc_decode as isc
from isc_cursor import MAX_ID
from trace_facts import facts_of_export, facts_of_trace, load_export


class TwoReaders:
    """`folder` is where the program runs and where traces that were made up are put."""

    def __init__(self, binary, root, folder):
        self.binary = binary
        self.folder = str(folder)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("INFERSCOPE_", "XDG_", "PYTHON"))}
        self.env["HOME"] = self.folder
        self.env["INFERSCOPE_CPU"] = "trace"  # every call, whatever it costs
        self.events_schema = load_schema(root, "events")
        self.report_schema = load_schema(root, "report")

    def command(self, *args):
        return [self.binary] + [str(arg) for arg in args]

    def run(self, *args):
        return subprocess.run(self.command(*args), cwd=self.folder, env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=60)

    def record(self, name, source, *options, status=0):
        """Records a program; returns the path of the trace."""
        script = os.path.join(self.folder, "workload-%s.py" % name)
        trace = os.path.join(self.folder, name + ".isc")
        with open(script, "w", encoding="utf-8") as file:
            file.write(source)
        done = self.run("run", "--quiet", "--report", name + ".run.json", "--trace", trace,
                        *options, script)
        assert done.returncode == status, done.stderr
        return trace

    def export(self, path):
        done = self.run("export", path, "--to", "json")
        assert done.returncode == 0, done.stderr
        return load_export(done.stdout)

    def put(self, data):
        path = os.path.join(self.folder, "made-up.isc")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def agree(self, path):
        """Both readers say the same of the trace; returns it, and the export."""
        trace = isc.load(path)
        export = self.export(path)
        assert differences(facts_of_trace(trace), facts_of_export(export)) == []
        damage = export["inferscope"]["damage"]
        if trace.damage:
            assert re.search(r"at offset (\d+) of (\d+)", damage).groups() == (
                str(trace.damage[0]), str(trace.file_bytes))
        return trace, export

    def refuse(self, path):
        """Neither reader takes the file; returns what the program says about it."""
        try:
            isc.load(path)
        except isc.Foreign:
            done = self.run("export", path, "--to", "json")
            assert (done.returncode, done.stdout) == (1, "")
            return done.stderr
        raise AssertionError("isc_decode.py reads " + path)

    def check_schemas(self, path, export):
        """The export and the report of the trace are as docs/schema says; returns the report."""
        shapes = {shape_of(event): event for event in export["events"]}
        self.events_schema.validate(dict(export, events=list(shapes.values())))
        target = os.path.join(self.folder, "made.json")
        done = self.run("analyze", "--quiet", path, "--report", target)
        assert done.returncode == 0, done.stderr
        with open(target, encoding="utf-8") as file:
            report = json.load(file)
        self.report_schema.validate(report)
        return report


def worked_example(page):
    """The bytes of the hex dump in docs/FORMAT.md, whose columns must agree."""
    lines = re.findall(r"^([0-9a-f]{8}): ((?:[0-9a-f]{2} )+) +(.*)$", page, re.M)
    data = b""
    for offset, digits, shown in lines:
        assert int(offset, 16) == len(data)
        row = bytes.fromhex(digits)
        assert shown == "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        data += row
    return data


def load_schema(root, name):
    with open(os.path.join(root, "docs/schema", name + ".schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def shape_of(value):
    """What a schema can tell apart in an event; one of each shape is worth validating."""
    if isinstance(value, dict):
        return tuple(sorted((key, shape_of(member)) for key, member in value.items()))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return type(value).__name__, value < 0, value > MAX_ID
    return type(value).__name__


def differences(ours, theirs):
    """A few words for each fact on which the two differ."""
    found = []
    for key in ours:
        if key == "events":
            for thread in sorted(set(ours[key]) | set(theirs[key])):
                mine, other = (set(facts[key].get(thread, {}).items()) for facts in (ours, theirs))
                if mine != other:
                    found.append((thread, "isc_decode.py", sorted(mine - other, key=str)[:4],
                                  "export", sorted(other - mine, key=str)[:4]))
        elif ours[key] != theirs[key]:
            found.append((key, "isc_decode.py", ours[key], "export", theirs[key]))
    return found
