"""The same small check with every libcupti there is: 11.8, 12.9 and 13.0 must be among them.

One binary of the agent serves all of them; INFERSCOPE_CUPTI tells it which to use.  They are
found beside Nsight Compute, in the CUDA toolkit and in the Python packages.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

import check
import comparisons as c
import kit
import tap_decode
from kit import FAIL, OK, SKIP, Row

WANTED = ["11.8", "12.9", "13.0"]
PLACES = ["/opt/nvidia/nsight-compute/**/libcupti.so*", "/usr/local/cuda*/**/libcupti.so*",
          "/opt/torch/.venv/lib/python3*/site-packages/nvidia/**/libcupti.so*"]

ASK = """
import ctypes, sys
version = ctypes.c_uint32()
ctypes.CDLL(sys.argv[1]).cuptiGetVersion(ctypes.byref(version))
print(version.value)
"""

CASES = [
    check.case("native", "native", needs=(), alone=True,
               checks=[c.own_counts, c.spins, c.matching, c.causality]),
    check.case("copies", "copies.py", alone=True,
               checks=[c.output, c.own_counts, c.matching, c.causality]),
    check.case("gpt2", "gpt2_decode.py", "--tokens", "8", "--requests", "2", alone=True,
               needs=("torch", "transformers"), profiler=True, checks=check.EAGER),
]


# CUPTI 11.8 cannot tell the driver calls of CUDA 13: the kernels that cuBLAS starts through them
# are recorded, but linked to nothing, and the report says so.
LEFT_OUT = {("11.8", "gpt2"): (c.matching, [c.launches_matched, c.told])}


def cases_for(version):
    for case in CASES:
        without, instead = LEFT_OUT.get((version, case.name), (None, []))
        yield case._replace(checks=[each for each in case.checks if each is not without] + instead)


def number_of(path):
    """What cuptiGetVersion() says, asked in a process of its own; None: it cannot be loaded."""
    asked = subprocess.run([sys.executable, "-c", ASK, path], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, universal_newlines=True)
    return int(asked.stdout) if asked.returncode == 0 else None


def version_of(path, number):
    """"12.9": by the file's name where it says so, else by the number."""
    named = re.fullmatch(r"libcupti\.so\.(1[1-9]\.\d+)(\.\d+)*", os.path.basename(path))
    if named:
        return named.group(1)
    return tap_decode.release_of(number)


def find(places=None, ask=number_of):
    """{version: path}, one file for each version that can be loaded."""
    paths = sorted({os.path.realpath(path) for place in places or PLACES
                    for path in glob.glob(place, recursive=True)})
    found = {}
    for path in paths:
        number = ask(path)
        if number is not None and number >= 18:
            found.setdefault(version_of(path, number), path)
    return found


def used(case, run, path):
    """Whether the library that was asked for is the one that the workload had loaded."""
    mapped = (kit.truth_of(run.stdout) or {}).get("cupti", []) if run else []
    right = path in [os.path.realpath(each) for each in mapped]
    return Row(case.name, "libcupti in use", os.path.basename(path),
               ", ".join(map(os.path.basename, mapped)), OK if right else FAIL)


def check_version(session, version, path, plain, counts):
    rows = []
    os.environ["INFERSCOPE_CUPTI"] = path
    for case in cases_for(version):
        why = check.obstacle(session, case)
        its = case._replace(name="%s %s" % (version, case.name))
        if why:
            rows.append(Row(its.name, "", "", why, SKIP))
            continue
        run = session.recorded(its)
        rows.append(used(its, run, path))
        rows += check.compare(session, its, plain[case.name], counts[case.name], run)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=os.environ.get("OUT"), help="where results are kept")
    parser.add_argument("--budget", type=float, default=150, metavar="S",
                        help="start nothing after so many seconds")
    parser.add_argument("--all", action="store_true", help="every version found, not the three")
    args = parser.parse_args()

    problem = kit.obstacle()
    if problem:
        rows = [Row(version, "", "", problem, SKIP) for version in WANTED]
    else:
        found = find()
        rows = [Row(version, "libcupti", "found", "not on this machine", SKIP)
                for version in WANTED if version not in found]
        with tempfile.TemporaryDirectory() as folder:
            session = check.Session(folder, args.budget, [])
            able = [case for case in CASES if not check.obstacle(session, case)]
            plain = {case.name: session.plain(case) for case in able}
            counts = {case.name: session.profiled(case) for case in able}
            for version in sorted(found):
                if args.all or version in WANTED:
                    rows += check_version(session, version, found[version], plain, counts)
            if args.out:
                kit.pack(rows, folder, os.path.join(args.out, "cupti.tar.gz"),
                         check.worth_keeping(folder, rows))
    kit.show(rows)
    print("cupti: " + kit.tally(rows))
    return kit.status(rows)


if __name__ == "__main__":
    sys.exit(main())
