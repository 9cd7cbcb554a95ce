"""How fast a trace becomes another tool's file, and with how much memory.

The trace is that of bench_analysis: a service of launches and kernels.  One process per format,
by its user CPU time; the time to open the trace and to link its launches is part of it.
"""

import glob
import os
import subprocess
import tempfile

BINARY = os.environ["INFERSCOPE_BIN"]
FORMATS = ["json", "chrome", "perfetto", "sqlite", "arrow", "speedscope"]
EVENTS = 4_000_000


def spent(arguments):
    """(user seconds, peak memory in MB)"""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s ended with status %d" % (arguments, status))
    return usage.ru_utime, usage.ru_maxrss / 1024


def size_mb(path):
    if os.path.isdir(path):
        return sum(size_mb(entry.path) for entry in os.scandir(path))
    return os.path.getsize(path) / 1e6


def main():
    build = os.path.join(os.path.dirname(BINARY), "../..")
    generator = glob.glob(os.path.join(build, "**/bench_analysis"), recursive=True)[0]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "service.isc")
        subprocess.run([generator, str(EVENTS), "service", trace], check=True,
                       stdout=subprocess.DEVNULL)
        print("# export: a trace of %.0f million events, %.1f MB" % (EVENTS / 1e6, size_mb(trace)))
        for to in FORMATS:
            out = os.path.join(folder, "out-" + to)
            seconds, memory = spent([BINARY, "export", trace, "--to", to, "-o", out])
            print("export.%s %.2f Mevents/s" % (to, EVENTS / 1e6 / seconds))
            print("export.%s.memory %.0f MB" % (to, memory))
            print("export.%s.size %.1f MB" % (to, size_mb(out)))


main()
