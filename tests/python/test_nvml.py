"""What NVML says about GPUs, with a library of our own in its place: tests/gpu has the real one."""

import json
import subprocess
import sys

import pytest

import isc_decode as isc
from isc_series import SERIES_NAMES

# Three devices of which the second has a process of ours, unless SOMEWHERE_ELSE is set: then, as
# in a container our process numbers are unknown there.  Declared apart from
# src/capture/system/nvml.c on purpose.
LIBRARY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
typedef struct { char number; } Device;
static Device devices[3] = { { 0 }, { 1 }, { 2 } };
static unsigned looks, open_;
static void log_(const char *text)
{
    FILE *f = fopen(getenv("NVML_LOG"), "a");
    fprintf(f, "%s\n", text);
    fclose(f);
}
static void burn(const char *ms)
{
    struct timespec t = { 0, 0 };
    long long end = ms ? atoi(ms) * 1000000ll : 0, now = 0, start = -1;
    while (start < 0 || now < start + end) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = t.tv_sec * 1000000000ll + t.tv_nsec;
        start = start < 0 ? now : start;
    }
}
int nvmlInit_v2(void)
{
    log_("init");
    burn(getenv("NVML_START_MS"));
    open_ = 1;
    return getenv("NO_DEVICE") ? 9 : 0;
}
int nvmlShutdown(void) { log_("shutdown"); return open_ ? 0 : 1; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, Device **d) { *d = &devices[i]; return 0; }
typedef struct { unsigned long long total, free, used; } Memory;
int nvmlDeviceGetMemoryInfo(Device *d, Memory *m)
{
    static unsigned asked;
    m->total = 80ull << 30;
    m->used = ((1ull + d->number) << 30) + (getenv("SLOW") ? asked++ : 0);
    m->free = m->total - m->used;
    return 0;
}
typedef struct { unsigned gpu, memory; } Busy;
int nvmlDeviceGetUtilizationRates(Device *d, Busy *b)
{
    static unsigned asked;
    b->gpu = 70 + d->number;
    if (getenv("SLOW")) {
        b->gpu = asked++;
        usleep(20000);
    }
    b->memory = 30;
    return 0;
}
int nvmlDeviceGetClockInfo(Device *d, int kind, unsigned *mhz)
{
    *mhz = kind == 1 ? 1980 : kind == 2 ? 2619 : 0;
    return kind == 1 || kind == 2 ? 0 : 2;
}
int nvmlDeviceGetMaxClockInfo(Device *d, int kind, unsigned *mhz)
{
    *mhz = 1985;
    return kind == 1 ? 0 : 2;
}
int nvmlDeviceGetPowerUsage(Device *d, unsigned *mw) { *mw = 300000 + looks++; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(Device *d, unsigned *mw) { *mw = 700000; return 0; }
int nvmlDeviceGetTemperature(Device *d, int sensor, unsigned *c) { *c = 55; return sensor ? 2 : 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(Device *d, unsigned long long *r)
{
    *r = 4;
    return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(Device *d, unsigned *n) { *n = 4; return 0; }
int nvmlDeviceGetMaxPcieLinkGeneration(Device *d, unsigned *n) { *n = 5; return 0; }
int nvmlDeviceGetCurrPcieLinkWidth(Device *d, unsigned *n) { *n = 8; return 0; }
int nvmlDeviceGetMaxPcieLinkWidth(Device *d, unsigned *n) { *n = 3; return 999; } /* refused */
typedef struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *n, Process *p)
{
    FILE *f = fopen(getenv("NVML_PID"), "r");
    if (*n < 2)
        return 7;
    *n = 0;
    if (!f)
        return 0;
    p[0].pid = 1;
    p[0].used = 5;
    *n = 1;
    if (d->number == 1 && !getenv("SOMEWHERE_ELSE") && fscanf(f, "%u", &p[1].pid) == 1) {
        p[1].used = 123456789;
        *n = 2;
    }
    fclose(f);
    return 0;
}
"""

WORK = """
    import os, time
    with open(os.environ["NVML_PID"], "w") as file:
        file.write(str(os.getpid()))
    import fake_cuda
    fake_cuda.init()
    fake_cuda.launch("kernel")
    time.sleep(2)
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nvml")
    (folder / "nvml.c").write_text(LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-w", str(folder / "nvml.c"), "-o",
                    str(folder / "libnvidia-ml.so.1")], check=True)
    return folder


@pytest.fixture
def env(library, work):
    (work / "log").write_text("")
    return {"LD_LIBRARY_PATH": str(library), "NVML_LOG": str(work / "log"),
            "NVML_PID": str(work / "pid")}


def series(path):
    """{(name, process, device): [values]} of the GPUs."""
    found = {}
    trace = isc.load(str(path))
    for point in trace.points:
        if SERIES_NAMES[point.kind].startswith("gpu_"):
            key = SERIES_NAMES[point.kind], point.process, point.instance
            found.setdefault(key, []).append(point.value)
    return trace, found


EXPECTED = {
    "gpu_memory_used_bytes": 2 << 30, "gpu_memory_total_bytes": 80 << 30, "gpu_busy_percent": 71,
    "gpu_memory_busy_percent": 30, "gpu_sm_clock_mhz": 1980, "gpu_sm_clock_max_mhz": 1985,
    "gpu_memory_clock_mhz": 2619, "gpu_power_limit_mw": 700000, "gpu_temperature_celsius": 55,
    "gpu_throttle_reasons": 4, "gpu_pcie_generation": 4, "gpu_pcie_generation_max": 5,
    "gpu_pcie_width": 8}


def test_the_device_of_the_program_is_looked_at(record_gpu, env, work):
    record_gpu(sys.executable, WORK, env=env)
    trace, found = series(work / "t.isc")
    power = found.pop(("gpu_power_mw", 0, 1))
    assert len(power) >= 2 and power == sorted(power) and power[0] >= 300000
    own = found.pop(("gpu_process_memory_bytes", 1, 1))
    assert set(own) == {123456789}
    assert {key: set(values) for key, values in found.items()} == {
        (name, 0, 1): {value} for name, value in EXPECTED.items()}
    assert (work / "log").read_text().split() == ["init", "shutdown"]


def test_where_nobody_knows_whose_they_are_all_are_looked_at(record_gpu, env, work):
    record_gpu(sys.executable, WORK, env={**env, "SOMEWHERE_ELSE": "1"})
    _, found = series(work / "t.isc")
    assert [set(found["gpu_memory_used_bytes", 0, device]) for device in range(3)] == [
        {1 << 30}, {2 << 30}, {3 << 30}]
    assert not [key for key in found if key[0] == "gpu_process_memory_bytes"]


@pytest.mark.measures
def test_what_takes_long_is_asked_rarely_and_nothing_else_is(record_gpu, env, work):
    """Each answer about these two is another, so that each is a point."""
    record_gpu(sys.executable, WORK.replace("(2)", "(1.5)"), env={**env, "SLOW": "1"})
    _, found = series(work / "t.isc")
    assert len(found["gpu_busy_percent", 0, 1]) <= 2, "how long the first takes says nothing"
    assert len(found["gpu_memory_used_bytes", 0, 1]) >= 3


@pytest.mark.measures
def test_what_takes_long_is_asked_again_all_the_same(record_gpu, env, work):
    """20 ms would be 100 s of rest: what was seen when CUDA began would stand for the whole run."""
    record_gpu(sys.executable, WORK.replace("(2)", "(11)"), env={**env, "SLOW": "1"})
    _, found = series(work / "t.isc")
    # Each 2 s where CPUs are idle, each 10 where they are not.
    assert 2 <= len(found["gpu_busy_percent", 0, 1]) <= 7


@pytest.mark.measures
@pytest.mark.parametrize("seconds, start_ms", [(8, 55), (6, 40)])
def test_the_start_is_made_up_for(record_gpu, env, work, seconds, start_ms):
    """A hundredth of a core at most, the start among it, and the figures are there."""
    record_gpu(sys.executable, WORK.replace("(2)", "(%d)" % seconds),
               env={**env, "NVML_START_MS": str(start_ms)})
    trace, found = series(work / "t.isc")
    facts = dict(trace.info)
    assert start_ms <= float(facts["memory.gpu_start_ms"]) < start_ms + 10
    assert float(facts["memory.cpu_share"]) < 0.01
    trust = json.loads((work / "r.json").read_text())["trust"]
    assert trust["system_gpu_start_ms"] == pytest.approx(float(facts["memory.gpu_start_ms"]), 0.01)
    assert not [note for note in trust["notes"] if "NVML" in note]
    assert len(found["gpu_power_mw", 0, 1]) >= seconds / 2, "two looks a second; fewer without CPUs"
    rss = [point for point in trace.points if SERIES_NAMES[point.kind] == "rss_bytes"]
    assert rss[-1].time_ns > (seconds - 1) * 1e9


@pytest.mark.measures
def test_a_short_run_says_what_the_start_took(record_gpu, env, work):
    """No way of looking less often makes up for it: the report says so, and has the figures."""
    record_gpu(sys.executable, WORK, env={**env, "NVML_START_MS": "55"})
    trace, found = series(work / "t.isc")
    share = float(dict(trace.info)["memory.cpu_share"])
    assert 0.01 < share < 0.055 / 2 + 0.005, "little besides"
    trust = json.loads((work / "r.json").read_text())["trust"]
    note, = [note for note in trust["notes"] if "NVML" in note]
    assert note.startswith("sampling memory and system figures took %.2f %% of a core, above the "
                           "limit of 1 %%: starting NVML" % (100 * share))
    for name in "gpu_power_mw", "gpu_sm_clock_mhz", "gpu_throttle_reasons", "gpu_memory_used_bytes":
        assert found[name, 0, 1]
    assert len(found["gpu_power_mw", 0, 1]) >= 3


def test_a_program_without_cuda_wakes_no_device(inferscope, env, write, work):
    done = inferscope("run", "--quiet", "--python", sys.executable, "--trace", "t.isc", "--report",
                      "r.json", write("import time; time.sleep(0.4)"), env=env)
    assert done.returncode == 0
    assert (work / "log").read_text() == ""
    assert not series(work / "t.isc")[1]


def test_a_driver_without_a_device_is_said_to_be_one(record_gpu, env, work):
    record_gpu(sys.executable, WORK, env={**env, "NO_DEVICE": "1"})
    trace, found = series(work / "t.isc")
    assert not found
    assert ("memory.missing", "gpu: libnvidia-ml.so.1 knows no device") in trace.info


def test_doctor_counts_the_devices(inferscope, env):
    done = inferscope("doctor", env=env)
    line, = [line for line in done.stdout.splitlines() if line.startswith("NVML")]
    assert line.split(None, 2) == ["NVML", "ok", "libnvidia-ml.so.1, 3 devices"]
