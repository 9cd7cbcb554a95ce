"""Queries over a million kernels, as a user waits for them: a trace is opened, read and asked.

Times are CPU times of the whole process, the best of three.
"""

import os
import resource
import subprocess
import sys
import tempfile

BIN = os.environ["INFERSCOPE_BIN"]
WRITER = os.path.join(os.path.dirname(BIN), "../../bench_analysis")
EVENTS = 5200000  # of which a fifth are kernels
QUERIES = [
    ("count", "SELECT count(*) FROM kernels", None),
    ("group_by_name", "SELECT name, count(*), sum(duration_ns) FROM kernels GROUP BY name", 1),
    ("group_by_two", "SELECT stream, name, sum(duration_ns) FROM kernels GROUP BY stream, name", 1),
    ("group_by_step", "SELECT step, count(*) FROM kernels GROUP BY step", None),
    ("join_of_one_step", "SELECT a.name, k.name FROM kernels k JOIN api a ON a.id = k.api "
                         "WHERE k.step = 5000", None),
]


def cpu_seconds(trace, sql):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([BIN, "query", trace, sql, "--format", "csv"], check=True,
                   stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "service.isc")
        subprocess.run([WRITER, str(EVENTS), "service", trace], check=True)
        kernels = subprocess.run([BIN, "query", trace, QUERIES[0][1], "--format", "csv"],
                                 check=True, stdout=subprocess.PIPE, universal_newlines=True)
        print("query.kernels %s kernels" % kernels.stdout.split()[1])
        for name, sql, goal in QUERIES:
            seconds = min(cpu_seconds(trace, sql) for _ in range(3))
            print("query.%s %.2f s%s" % (name, seconds, " <= %d" % goal if goal else ""))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
