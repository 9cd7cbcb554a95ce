"""run.frameworks: seen by the recorder, without a word from the workload."""

import json
import subprocess

import isc_decode as isc

USES = """
import torch
import numpy.linalg
torch.work()
print(sorted(name for name in __import__("sys").modules if "importlib.metadata" in name))
"""


def test_the_versions_of_what_was_imported_are_told(python, inferscope, work, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True)
    site, = (venv / "lib").glob("python*/site-packages")
    for folder, text in (("torch", "def work():\n    pass\n"), ("numpy", ""), ("jax", "")):
        (site / folder).mkdir()
        (site / folder / "__init__.py").write_text(text)
    (site / "numpy" / "linalg.py").write_text("def norm():\n    pass\nnorm()\n")
    (site / "torch-9.8.7+cpu.dist-info").mkdir()
    (site / "jax-0.1.dist-info").mkdir()  # installed, not imported
    (work / "program.py").write_text(USES)
    done = inferscope("run", "--python", str(venv / "bin" / "python"), "--report", "r.json",
                      "--report", "r.md", "--trace", "t.isc", "program.py")
    assert done.returncode == 0, done.stderr
    assert "[]" in done.stdout  # nothing of ours was imported for it
    run = json.loads((work / "r.json").read_text())["run"]
    assert run["frameworks"] == {"numpy": None, "torch": "9.8.7+cpu"}
    assert "\n- Frameworks: torch 9.8.7+cpu, numpy\n" in (work / "r.md").read_text()
    assert "torch 9.8.7+cpu, numpy" in done.stderr + done.stdout
    trace = isc.load(str(work / "t.isc"))
    assert [value for key, value in trace.info if key == "framework"] == [
        "numpy", "torch 9.8.7+cpu"]
