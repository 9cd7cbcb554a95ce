"""Records what each libcupti says about one small program, as test data: at most 100 KB each.

Leaves tap_11_8.tap and so on (format: cupti_tap.c), and beside each a .json with what the
program itself says it did.  They belong into tests/data/cupti, where CI replays them.

    tests/gpu/record_taps.py [--out DIR]
    tests/gpu/record_taps.py --program PATH --cupti 13.0=PATH ...     with doubles, without a GPU
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile

import cupti_versions
import kit
import tap_decode
from kit import FAIL, OK, SKIP, Row

WORKLOAD = "every_kind.cu"
LIMIT_BYTES = 100_000
TIMEOUT_S = 40


def build_tap(folder):
    """(path, None) of the library, built there, or (None, why not)."""
    path = os.path.join(folder, "tap.so")
    try:
        done = subprocess.run(["cc", "-std=gnu11", "-O2", "-shared", "-fPIC", "-o", path,
                               os.path.join(kit.HERE, "cupti_tap.c"), "-ldl", "-lpthread"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                              universal_newlines=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, "cc: %s" % error
    return (None, "cc failed: %s" % done.stdout[-200:]) if done.returncode else (path, None)


def gpu_name():
    try:
        return subprocess.check_output(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            universal_newlines=True, timeout=20).strip()
    except (OSError, subprocess.SubprocessError):
        return None


def compare(version, path, facts):
    """Rows: is the tap whole, and does it say what the program says?"""
    size = os.path.getsize(path)
    rows = [Row(version, "bytes", "<= %d" % LIMIT_BYTES, size, OK if size <= LIMIT_BYTES else FAIL)]
    try:
        tap = tap_decode.load(path)
        walked = [tap.offsets(buffer) for buffer in tap.buffers]
        found, expected = tap.facts(), tap_decode.told(facts)
    except (ValueError, KeyError) as error:
        return rows + [Row(version, "tap", "can be read", repr(error), FAIL)]
    rows.append(Row(version, "version", version, tap.release,
                    OK if tap.release == version else FAIL))
    rows.append(Row(version, "records", sum(len(b.offsets) for b in tap.buffers),
                    sum(map(len, walked)),
                    OK if walked == [b.offsets for b in tap.buffers] else FAIL))
    rows.append(Row(version, "calls", "> 0", len(tap.calls), OK if tap.calls else FAIL))
    for what, right in expected.items():
        same = found[what] == right
        lacking = "" if same else "%s" % (right - found[what])
        excess = "as told" if same else "%s" % (found[what] - right)
        rows.append(Row(version, what, lacking, excess, OK if same else FAIL))
    return rows


def record(version, library, tap, command, folder, out):
    name = os.path.join(out, "tap_" + version.replace(".", "_"))
    env = kit.environment(INFERSCOPE_CUPTI=tap, CUPTI_TAP_REAL=library,
                          CUPTI_TAP_FILE=name + ".tap")
    done = kit.execute(kit.recorded(command, os.path.join(folder, version + ".isc"),
                                    os.path.join(folder, version + ".md")),
                       TIMEOUT_S, cwd=folder, env=env)
    facts = kit.truth_of(done.stdout)
    if done.status != 0 or facts is None or not os.path.exists(name + ".tap"):
        last = (done.stderr.strip().splitlines() or ["no tap"])[-1]
        return [Row(version, "recorded", "status 0", "status %s: %s" % (done.status, last), FAIL)]
    facts.update(cupti=version, library=os.path.basename(library), gpu=gpu_name())
    with open(name + ".json", "w", encoding="utf-8") as file:
        json.dump(facts, file, indent=1)
        file.write("\n")
    return compare(version, name + ".tap", facts)


def record_all(args, folder):
    tap, problem = build_tap(folder)
    program = args.program
    if not problem and not program:
        program, problem = kit.build_native(folder, WORKLOAD)
    if problem:
        return [Row("taps", "built", "tap and program", problem, FAIL)]
    found = dict(pair.split("=", 1) for pair in args.cupti) or cupti_versions.find()
    rows = []
    for version in cupti_versions.WANTED:
        if version in found:
            rows += record(version, found[version], tap, [program], folder, args.out)
        else:
            rows.append(Row(version, "libcupti", "found", "not on this machine", SKIP))
    return rows


def pack(folder):
    """One archive beside the files: few files come back from another machine."""
    with tarfile.open(os.path.join(folder, "taps.tar.gz"), "w:gz") as tar:
        for name in sorted(os.listdir(folder)):
            if name.startswith("tap_"):
                tar.add(os.path.join(folder, name), name)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.environ.get("OUT", "."), help="where they are left")
    parser.add_argument("--program", help="instead of workloads/" + WORKLOAD)
    parser.add_argument("--cupti", action="append", default=[], metavar="VERSION=PATH",
                        help="instead of those on the machine")
    args = parser.parse_args()
    args.out = os.path.abspath(args.out)
    problem = None if args.program else kit.obstacle()
    if problem:
        rows = [Row(version, "", "", problem, SKIP) for version in cupti_versions.WANTED]
    else:
        os.makedirs(args.out, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="inferscope-taps-") as folder:
            rows = record_all(args, folder)
        pack(args.out)
    kit.show(rows)
    print("taps: " + kit.tally(rows))
    return kit.status(rows)


if __name__ == "__main__":
    sys.exit(main())
