"""Records the programs of this folder and judges what is said of them.

    run_programs.py --bin INFERSCOPE [--venvs FOLDER] [--out FOLDER] [--column first_sight|now]
           [--again] [--judge] [--write PAGE] [PROGRAM...]

Makes the virtual environments of programs.json (once; needs a package registry), runs each program
plain, fixed and recorded with default settings, and leaves OUT/PROGRAM.json, .txt and .isc (report,
summary, trace) and .runs.json.  --again keeps the plain runs that are there.  --judge only judges
what lies in OUT, with reports made anew.
--column keeps the rows in results.json under that name; a first sight is never overwritten.
--write puts the chapter into the page.  The status is 0 whatever the table says.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import judge

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENVIRONMENTS = json.loads((HERE / "programs.json").read_text(encoding="utf-8"))
RESULTS = HERE / "results.json"
LIMIT_S = 300
STOP_S = 60
# How long pytest took, the time of a line, an object's address: they differ in plain runs, too.
VARIES = re.compile(r"\bin [\d.]+s\b.*|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|0x[0-9a-f]+")


def pythons():
    """Version as in programs.json to the path of that CPython."""
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "find_pythons.py")],
                          stdout=subprocess.PIPE, text=True, check=True)
    found = {}
    for path in done.stdout.strip().split(":"):
        version = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                 stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        found[version] = path
    return found


def make_environment(name, folder, versions):
    """The interpreter of a virtual environment that has what programs.json lists, or None."""
    wanted = ENVIRONMENTS[name]
    python = folder / name / "bin" / "python"
    mark = folder / (name + ".installed")
    digest = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    if python.exists() and mark.exists() and mark.read_text() == digest:
        return python
    if wanted["python"] not in versions:
        print("%s: no CPython %s here" % (name, wanted["python"]), file=sys.stderr)
        return None
    folder.mkdir(parents=True, exist_ok=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        subprocess.run([versions[wanted["python"]], "-m", "venv", str(folder / name)], check=True)
        subprocess.run(pip + wanted["packages"], check=True)
        if wanted.get("alone"):
            subprocess.run(pip + ["--no-deps"] + wanted["alone"], check=True)
    except subprocess.CalledProcessError as error:
        print("%s: cannot be installed: %s" % (name, error), file=sys.stderr)
        return None
    mark.write_text(digest)
    return python


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def commands(python, words, port):
    """The program's command, and the one that records it, which starts with these options."""
    words = [word.format(port=port) for word in words]
    if words[0].endswith(".py"):
        return [str(python), *words], ["--python", str(python), *words]
    tool = [str(python.parent / words[0]), *words[1:]]
    return tool, ["--", *tool]


def exit_status(code):
    return 128 - code if code < 0 else code


def stop(process, name):
    """Asks a server to end; the status that it ends with."""
    process.send_signal(getattr(signal, name))
    try:
        return process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def run_load(load, port, environment, server):
    """What the load generator printed; it gives up when the server ends."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as body:
        words = [sys.executable, str(HERE / "load.py"),
                 "http://127.0.0.1:%d%s" % (port, load["path"]),
                 "--requests", str(load["requests"]),
                 "--concurrency", str(load.get("concurrency", 1)),
                 "--interval-ms", str(load.get("interval_ms", 0))]
        if "body" in load:
            json.dump(load["body"], body)
            body.flush()
            words += ["--body", body.name]
        users = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        end = time.monotonic() + LIMIT_S
        while users.poll() is None and server.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        if users.poll() is None:
            users.kill()
        return users.communicate()[0]


def run(truth, python, options, variables, recorder=None):
    """Runs a program once: exit status, output, the lines of its clock and the wall time."""
    port = free_port()
    plain, recorded = commands(python, truth["command"] + options, port)
    words = recorder + recorded if recorder else plain
    with tempfile.TemporaryDirectory(prefix="inferscope-programs-") as folder:
        clock = Path(folder) / "clock"
        environment = dict(os.environ, PROGRAM_CLOCK=str(clock), PYTHONDONTWRITEBYTECODE="1",
                           HF_HUB_OFFLINE="1", TMPDIR=folder, **truth.get("variables", {}))
        environment.update(variables)
        begin = time.monotonic()
        with open(os.path.join(folder, "out"), "w+") as out, \
                open(os.path.join(folder, "errors"), "w+") as errors:
            process = subprocess.Popen(words, stdout=out, stderr=errors, cwd=HERE, env=environment,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            said = ""
            try:
                if "load" in truth:
                    said = run_load(truth["load"], port, environment, process)
                    status = stop(process, truth.get("stop", "SIGTERM"))
                else:
                    status = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                status = process.wait()
            out.seek(0)
            errors.seek(0)
            lines = clock.read_text().splitlines() if clock.exists() else []
            said = VARIES.sub("…", out.read()) + said
            return {"exit": exit_status(status), "output": said,
                    "errors": errors.read()[-20000:], "clock": [json.loads(line) for line in lines],
                    "wall_s": round(time.monotonic() - begin, 2)}


def record(binary, name, python, out, again):
    """OUT/NAME.runs.json and what a recording leaves; again: with the plain runs that are there."""
    truth = judge.TRUTH[name]
    fixed = truth.get("fixed")
    kept = out / (name + ".runs.json")
    if again and kept.exists():
        runs = json.loads(kept.read_text())
    else:
        runs = {"python": ENVIRONMENTS[truth["environment"]]["python"],
                "plain": run(truth, python, [], {})}
        if fixed:
            runs["fixed"] = run(truth, python, fixed.get("options", []),
                                fixed.get("variables", {}))
    report = out / (name + ".json")
    report.unlink(missing_ok=True)
    runs["recorded"] = run(truth, python, [], {}, [
        binary, "run", "--report", str(report), "--trace", str(out / (name + ".isc"))])
    (out / (name + ".txt")).write_text(runs["recorded"]["errors"])
    kept.write_text(json.dumps(runs, ensure_ascii=False))


def judge_again(binary, name, out, fresh):
    """The row of a program that was recorded into OUT, or None."""
    runs = out / (name + ".runs.json")
    if not runs.exists():
        return None
    report, trace = out / (name + ".json"), out / (name + ".isc")
    if fresh and trace.exists():
        report.unlink(missing_ok=True)
        subprocess.run([binary, "analyze", "--quiet", str(trace), "--report", str(report)],
                       check=False, cwd=HERE)
    said = json.loads(report.read_text()) if report.exists() else None
    return judge.judge(judge.TRUTH[name], said, json.loads(runs.read_text()))


def keep(column, rows):
    """Adds the rows to a column of results.json."""
    with open(RESULTS, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several runs may share it
        results = json.load(file)
        kept = results.setdefault(column, {})
        kept.update((name, row) for name, row in rows.items()
                    if column != "first_sight" or name not in kept)
        file.seek(0)
        file.write(json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        file.truncate()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--venvs", type=Path, default=ROOT / "build" / "programs" / "venvs")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "programs" / "out")
    parser.add_argument("--column", choices=["first_sight", "now"])
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--write", type=Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    # A shell's background jobs ignore it, and so would the servers that it has to stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    binary, out = os.path.abspath(options.bin), options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    versions = {} if options.judge else pythons()
    for name in options.programs or sorted(judge.TRUTH):
        if not options.judge:
            python = make_environment(judge.TRUTH[name]["environment"], options.venvs.resolve(),
                                      versions)
            if python is None:
                print("%s: not run" % name, file=sys.stderr)
                continue
            record(binary, name, python, out, options.again)
        row = judge_again(binary, name, out, options.judge)
        if row:
            print("%-18s own %s; %s: steps %s; %s: %s; %s; gain %s" % (
                name, row.get("own"), row["step"], row["steps"], row["said"], row["finding"],
                row["place"], judge.percent(row["gain"])), flush=True)
            if options.column:
                keep(options.column, {name: row})
    if options.write:
        text = judge.chapter(json.loads(RESULTS.read_text()))
        page = options.write.read_text(encoding="utf-8")
        options.write.write_text(judge.replace_chapter(page, text), encoding="utf-8")


if __name__ == "__main__":
    main()
