"""SERIES blocks of a trace file, from docs/FORMAT.md alone: for isc_decode.py."""

import struct

from isc_cursor import Broken, Cursor, checked_time

PREFIX = struct.Struct("<q4I")
SERIES_NAMES = {
    1: "rss_bytes", 2: "virtual_bytes", 3: "minor_faults", 4: "major_faults", 5: "cpu_user_us",
    6: "cpu_system_us", 7: "threads", 8: "rss_peak_bytes", 9: "rss_anon_bytes",
    10: "rss_file_bytes", 11: "rss_shared_bytes", 12: "swap_bytes", 13: "locked_bytes",
    14: "main_voluntary_switches", 15: "main_involuntary_switches", 16: "read_bytes",
    17: "written_bytes", 18: "read_calls_bytes", 19: "write_calls_bytes", 20: "pss_bytes",
    21: "private_dirty_bytes", 22: "anon_bytes", 23: "huge_anon_bytes", 24: "swap_pss_bytes",
    25: "numa_node_bytes", 26: "numa_threads", 32: "machine_total_bytes",
    33: "machine_available_bytes",
    34: "machine_cached_bytes", 35: "machine_swap_total_bytes", 36: "machine_swap_free_bytes",
    40: "psi_cpu_some_us", 41: "psi_memory_some_us", 42: "psi_memory_full_us",
    43: "psi_io_some_us", 44: "psi_io_full_us", 48: "node_hit_pages", 49: "node_miss_pages",
    50: "node_foreign_pages", 51: "node_local_pages", 52: "node_other_pages",
    64: "cgroup_memory_bytes", 65: "cgroup_memory_max_bytes", 66: "cgroup_cache_bytes",
    67: "cgroup_swap_bytes", 68: "cgroup_high_events", 69: "cgroup_max_events", 70: "cgroup_ooms",
    71: "cgroup_oom_kills", 72: "cgroup_cpu_us", 73: "cgroup_cpu_limit_millicpus",
    74: "cgroup_cpu_periods", 75: "cgroup_throttled_periods", 76: "cgroup_throttled_us",
    77: "cgroup_psi_cpu_some_us", 78: "cgroup_psi_memory_some_us",
    79: "cgroup_psi_memory_full_us", 80: "cgroup_psi_io_some_us", 81: "cgroup_psi_io_full_us",
    96: "gpu_memory_used_bytes", 97: "gpu_memory_total_bytes", 98: "gpu_process_memory_bytes",
    99: "gpu_busy_percent", 100: "gpu_memory_busy_percent", 101: "gpu_sm_clock_mhz",
    102: "gpu_sm_clock_max_mhz", 103: "gpu_memory_clock_mhz", 104: "gpu_power_mw",
    105: "gpu_power_limit_mw", 106: "gpu_temperature_celsius", 107: "gpu_throttle_reasons",
    108: "gpu_pcie_generation", 109: "gpu_pcie_generation_max", 110: "gpu_pcie_width",
    111: "gpu_pcie_width_max", 112: "torch_allocated_bytes", 113: "torch_allocated_peak_bytes",
    114: "torch_reserved_bytes", 115: "torch_reserved_peak_bytes", 116: "torch_split_bytes",
    117: "torch_retries", 118: "torch_ooms"}


class Point:
    """The value of a series at a time; process 0 is the machine."""

    __slots__ = ("time_ns", "process", "kind", "instance", "value")

    def __init__(self, time_ns, process, kind, instance, value):
        self.time_ns = time_ns
        self.process = process
        self.kind = kind
        self.instance = instance
        self.value = value


def decode_series(payload, count):
    prefix = Cursor(payload)
    base_ns, *sizes = PREFIX.unpack(prefix.take(PREFIX.size))
    table, times, places, values = columns = [Cursor(prefix.take(size)) for size in sizes]
    prefix.end()
    series = []
    while table.left():
        series.append((table.id(), table.varint((1 << 16) - 1), table.id()))
    if not 1 <= len(series) <= count:
        raise Broken("%d series of %d points" % (len(series), count))
    latest = [0] * len(series)
    time_us = checked_time(base_ns) // 1000
    points = []
    for _ in range(count):
        time_us += times.zigzag()
        place = places.varint(len(series) - 1)
        latest[place] = (latest[place] + values.zigzag() + (1 << 63)) % (1 << 64) - (1 << 63)
        points.append(Point(checked_time(time_us * 1000), *series[place], latest[place]))
    for column in columns:
        column.end()
    return points
