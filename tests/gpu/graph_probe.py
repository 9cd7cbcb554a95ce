"""Asks every libcupti there is what it does with CUDA graphs; see graph_probe.cu.

Prints its answers, one JSON line each, and what came of a scenario that did not end.
"""

import argparse
import subprocess
import sys
import tempfile

import cupti_versions
import kit

SCENARIOS = ["numbers", "pauses", "races", "costs", "whole_first", "whole_unseen",
             "whole_late"]


def build(folder):
    path = folder + "/graph_probe"
    subprocess.check_call(["nvcc", "-O2", "-std=c++17", "-arch=native", "-w",
                           "-I" + kit.ROOT + "/src", "-o", path, kit.HERE + "/graph_probe.cu",
                           "-ldl"])
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS, metavar="SCENARIO",
                        help="of " + ", ".join(SCENARIOS))
    parser.add_argument("--cupti", action="append", metavar="VERSION", help="only these")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="inferscope-graphs-") as folder:
        probe = build(folder)
        for version, library in sorted(cupti_versions.find().items()):
            if args.cupti and version not in args.cupti:
                continue
            for scenario in args.scenarios:
                print("== CUPTI %s: %s" % (version, scenario), flush=True)
                try:
                    done = subprocess.run([probe, library, scenario], stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          universal_newlines=True, timeout=60)
                    print(done.stdout.strip())
                    if done.returncode:
                        print("status %d" % kit.shell_status(done.returncode))
                except subprocess.TimeoutExpired as late:
                    print("%s\nnot done after 60 s" % (late.stdout or b"").decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
