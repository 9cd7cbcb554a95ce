"""Our declarations of CUPTI against NVIDIA's headers, wherever those can be had.

Three ways to the headers: a CUDA toolkit under /usr/local; the wheels that pip can
fetch, kept under build/; folders named in INFERSCOPE_CUPTI_HEADERS (colon separated).
What cannot be had is skipped, and seen to be.
"""

import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile

import pytest

from file_lock import locked

WHEELS = {"11.8": "nvidia-cuda-cupti-cu11==11.8.87", "12.9": "nvidia-cuda-cupti-cu12==12.9.79",
          "13.0": "nvidia-cuda-cupti==13.0.85"}

# Ours, the agent's and the double's: their record, our field: NVIDIA's.
KERNEL = {
    "registers": "registersPerThread", "start": "start", "end": "end", "completed": "completed",
    "device": "deviceId", "context": "contextId", "stream": "streamId", "grid": "gridX",
    "block": "blockX", "static_shared": "staticSharedMemory",
    "dynamic_shared": "dynamicSharedMemory", "correlation": "correlationId", "grid_id": "gridId",
    "name": "name", "queued": "queued", "submitted": "submitted", "launch_type": "launchType",
    "graph_node": "graphNodeId", "graph": "graphId"}
COPY = {
    "copy": "copyKind", "source": "srcKind", "destination": "dstKind", "flags": "flags",
    "bytes": "bytes", "start": "start", "end": "end", "device": "deviceId",
    "context": "contextId", "stream": "streamId", "correlation": "correlationId",
    "runtime_correlation": "runtimeCorrelationId", "graph_node": "graphNodeId", "graph": "graphId"}
PEER = {
    "copy": "copyKind", "source": "srcKind", "destination": "dstKind", "flags": "flags",
    "bytes": "bytes", "start": "start", "end": "end", "device": "deviceId",
    "context": "contextId", "stream": "streamId", "source_device": "srcDeviceId",
    "source_context": "srcContextId", "destination_device": "dstDeviceId",
    "destination_context": "dstContextId", "correlation": "correlationId",
    "graph_node": "graphNodeId", "graph": "graphId"}
MEMSET = {
    "value": "value", "bytes": "bytes", "start": "start", "end": "end", "device": "deviceId",
    "context": "contextId", "stream": "streamId", "correlation": "correlationId",
    "flags": "flags", "memory": "memoryKind", "graph_node": "graphNodeId", "graph": "graphId"}
GRAPH = {
    "correlation": "correlationId", "start": "start", "end": "end", "device": "deviceId",
    "graph": "graphId", "context": "contextId", "stream": "streamId"}
OVERHEAD = {"overhead": "overheadKind", "object_kind": "objectKind", "object": "objectId",
            "start": "start", "end": "end"}
DEVICE = {
    "flags": "flags", "bandwidth_kb_s": "globalMemoryBandwidth",
    "memory_bytes": "globalMemorySize", "constant_bytes": "constantMemorySize",
    "l2_bytes": "l2CacheSize", "warp": "numThreadsPerWarp", "core_clock_khz": "coreClockRate",
    "copy_engines": "numMemcpyEngines", "multiprocessors": "numMultiprocessors",
    "limits": "maxIPC", "major": "computeCapabilityMajor", "minor": "computeCapabilityMinor",
    "id": "id", "ecc": "eccEnabled", "uuid": "uuid", "name": "name"}
CALLBACK = {
    "site": "callbackSite", "function": "functionName", "params": "functionParams",
    "result": "functionReturnValue", "symbol": "symbolName", "context": "context",
    "context_uid": "contextUid", "correlation_data": "correlationData",
    "correlation": "correlationId"}
RESOURCE = {"context": "context", "stream": "resourceHandle", "descriptor": "resourceDescriptor"}
GRAPH_DATA = {
    "graph": "graph", "original_graph": "originalGraph", "node": "node",
    "original_node": "originalNode", "node_type": "nodeType", "dependency": "dependency",
    "exec": "graphExec"}

# By version: which of NVIDIA's records the library of that version delivers.
RECORDS = {
    "11.8": {"kernel": "Kernel8", "copy": "Memcpy5", "peer_copy": "MemcpyPtoP4",
             "memset": "Memset4", "overhead": "Overhead", "device": "Device4",
             "graph": "GraphTrace"},
    "12.9": {"kernel": "Kernel9", "copy": "Memcpy6", "peer_copy": "MemcpyPtoP4",
             "memset": "Memset4", "overhead": "Overhead3", "device": "Device5",
             "graph": "GraphTrace2"},
    "13.0": {"kernel": "Kernel10", "copy": "Memcpy6", "peer_copy": "MemcpyPtoP4",
             "memset": "Memset4", "overhead": "Overhead3", "device": "Device5",
             "graph": "GraphTrace2"},
}
FIELDS = {"kernel": KERNEL, "copy": COPY, "peer_copy": PEER, "memset": MEMSET,
          "overhead": OVERHEAD, "device": DEVICE, "graph": GRAPH}

NUMBERS = {
    "CUPTI_OK": "CUPTI_SUCCESS", "CUPTI_NO_MORE_RECORDS": "CUPTI_ERROR_MAX_LIMIT_REACHED",
    "CUPTI_TAKEN": "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
    "CUPTI_INSUFFICIENT_PRIVILEGES": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
    "CUPTI_KIND_COPY": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_KIND_MEMSET": "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_KIND_DEVICE": "CUPTI_ACTIVITY_KIND_DEVICE",
    "CUPTI_KIND_CONCURRENT_KERNEL": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "CUPTI_KIND_OVERHEAD": "CUPTI_ACTIVITY_KIND_OVERHEAD",
    "CUPTI_KIND_PEER_COPY": "CUPTI_ACTIVITY_KIND_MEMCPY2",
    "CUPTI_KIND_GRAPH": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_DOMAIN_RESOURCE": "CUPTI_CB_DOMAIN_RESOURCE",
    "CUPTI_GRAPH_NODE_CREATED": "CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED",
    "CUPTI_GRAPH_NODE_CLONED": "CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED",
    "CUPTI_GRAPH_EXEC_CREATED": "CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED",
    "CUPTI_DOMAIN_DRIVER": "CUPTI_CB_DOMAIN_DRIVER_API",
    "CUPTI_DOMAIN_RUNTIME": "CUPTI_CB_DOMAIN_RUNTIME_API",
    "CUPTI_ENTER": "CUPTI_API_ENTER", "CUPTI_EXIT": "CUPTI_API_EXIT",
    "CUPTI_FLUSH_FORCED": "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED",
    "GPU_COPY_HOST_TO_DEVICE": "CUPTI_ACTIVITY_MEMCPY_KIND_HTOD",
    "GPU_COPY_DEVICE_TO_HOST": "CUPTI_ACTIVITY_MEMCPY_KIND_DTOH",
    "GPU_COPY_DEVICE_TO_DEVICE": "CUPTI_ACTIVITY_MEMCPY_KIND_DTOD",
    "GPU_COPY_HOST_TO_HOST": "CUPTI_ACTIVITY_MEMCPY_KIND_HTOH",
    "GPU_COPY_PEER": "CUPTI_ACTIVITY_MEMCPY_KIND_PTOP",
    "GPU_MEMORY_PAGEABLE": "CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE",
    "GPU_MEMORY_PINNED": "CUPTI_ACTIVITY_MEMORY_KIND_PINNED",
    "GPU_MEMORY_DEVICE": "CUPTI_ACTIVITY_MEMORY_KIND_DEVICE",
    "GPU_MEMORY_ARRAY": "CUPTI_ACTIVITY_MEMORY_KIND_ARRAY",
    "GPU_MEMORY_MANAGED": "CUPTI_ACTIVITY_MEMORY_KIND_MANAGED",
}

# The few types that CUPTI's headers take from cuda.h, where there is no toolkit.
CUDA_H = """
#pragma once
#include <stddef.h>
typedef int CUresult, CUdevice, CUdevice_attribute, CUfunction_attribute;
typedef struct { char bytes[16]; } CUuuid;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmod_st *CUmodule;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef int CUgraphNodeType, CUstreamAttrID, CUstreamAttrValue;
typedef struct { void *base_ptr; size_t num_bytes; } CUaccessPolicyWindow;
typedef unsigned long long CUdeviceptr;
"""


def installed(version):
    """Folders with the headers of this version."""
    named = os.environ.get("INFERSCOPE_CUPTI_HEADERS", "").split(":")
    toolkits = sorted(glob.glob("/usr/local/cuda*/include")
                      + glob.glob("/usr/local/cuda*/extras/CUPTI/include"))
    number = {"11.8": "18", "12.9": "28", "13.0": "130001"}[version]
    for folder in named + toolkits:
        try:
            with open(os.path.join(folder, "cupti_version.h"), encoding="utf-8") as file:
                if re.search(r"define CUPTI_API_VERSION %s\b" % number, file.read()):
                    yield folder
        except OSError:
            pass


def fetched(root, version):
    """The headers out of a wheel, kept under build/; None where pip cannot get it."""
    cache = os.path.join(root, "build", "cupti-headers", version)
    os.makedirs(cache, exist_ok=True)
    with locked(cache + "/lock"):
        return found_in(cache) or downloaded(cache, WHEELS[version])


def found_in(folder):
    found = glob.glob(folder + "/**/cupti_activity.h", recursive=True)
    return os.path.dirname(found[0]) if found else None


def downloaded(cache, requirement):
    wheels = os.path.join(cache, "wheels")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input",
         "--disable-pip-version-check", "--retries", "1", "--timeout", "15",
         "--only-binary", ":all:", "--platform", "manylinux_2_25_x86_64", "--platform",
         "manylinux2014_x86_64", "--dest", wheels, requirement],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    if done.returncode:
        return None
    for wheel in glob.glob(wheels + "/*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(cache, [name for name in archive.namelist()
                                       if "/include/" in name])
        os.remove(wheel)
    return found_in(cache)


@pytest.fixture(scope="module", params=sorted(WHEELS))
def headers(request, root):
    """(version, folder)"""
    folder = next(installed(request.param), None) or fetched(root, request.param)
    if folder is None:
        pytest.skip("no headers of CUPTI %s here, and pip cannot fetch them" % request.param)
    return request.param, folder


@pytest.fixture
def compile_with(headers, root, tmp_path):
    """Compiles and runs C that includes the real headers and ours; returns what it prints."""
    def run(body, *sources):
        compiler = shutil.which("cc") or pytest.skip("no C compiler")
        version, folder = headers
        include = [folder]
        if not os.path.exists(os.path.join(folder, "cuda.h")):
            toolkit = glob.glob("/usr/local/cuda*/include/cuda.h")
            if toolkit:
                include.append(os.path.dirname(toolkit[0]))
            else:
                (tmp_path / "cuda.h").write_text(CUDA_H)
                (tmp_path / "builtin_types.h").write_text("")
                include.append(str(tmp_path))
        program = tmp_path / "abi.c"
        program.write_text(
            '#include <stddef.h>\n#include <stdio.h>\n#include <cuda.h>\n'
            '#include <cupti_activity.h>\n#include <cupti_callbacks.h>\n#include <cupti_result.h>\n'
            '#include "agent/gpu/cupti.h"\n#include "agent/gpu/cupti.h"\n'
            '#include "fake_records.h"\n'
            "int main(void)\n{\n%s\treturn 0;\n}\n" % body)
        flags = ["-isystem" + folder for folder in include]
        subprocess.check_call(
            [compiler, "-std=gnu11", "-w", "-I%s/src" % root, "-I%s/tests/doubles" % root] + flags
            + [str(program)] + [os.path.join(root, source) for source in sources]
            + ["-o", str(tmp_path / "abi")])
        return subprocess.check_output([str(tmp_path / "abi")], universal_newlines=True)
    return run


def test_fields_lie_where_ours_do(headers, compile_with):
    version, _ = headers
    rows = [("struct cupti_" + ours, "CUpti_Activity" + theirs, FIELDS[ours])
            for ours, theirs in RECORDS[version].items()]
    rows += [("struct cupti_callback_data", "CUpti_CallbackData", CALLBACK),
             ("struct cupti_resource_data", "CUpti_ResourceData", RESOURCE),
             ("struct cupti_graph_data", "CUpti_GraphData", GRAPH_DATA)]
    body = ""
    for ours, theirs, fields in rows:
        for mine, real in fields.items():
            body += ('\tprintf("%s.%s %%zu %%zu %%zu %%zu\\n", offsetof(%s, %s), offsetof(%s, %s), '
                     "sizeof(((%s *)0)->%s), sizeof(((%s *)0)->%s));\n" % (
                         ours, mine, ours, mine, theirs, real, ours, mine, theirs, real))
    lines = compile_with(body).splitlines()
    assert len(lines) == sum(len(fields) for _, _, fields in rows)
    arrays = ("grid", "block", "limits")  # ours span several of theirs
    for line in lines:
        name, mine, theirs, my_size, their_size = line.rsplit(" ", 4)
        assert mine == theirs, line
        assert my_size == their_size or name.rsplit(".", 1)[1] in arrays, line


def test_every_field_that_the_agent_reads_is_compared(root):
    with open(root + "/src/agent/gpu/gpu_activity.c", encoding="utf-8") as file:
        text = file.read()
    for function, fields in (("on_kernel", KERNEL), ("on_copy", COPY), ("on_peer_copy", PEER),
                             ("on_memset", MEMSET), ("on_overhead", OVERHEAD),
                             ("on_device", DEVICE)):
        body = re.search(r"static void %s\(.*?, const struct \w+ \*(\w)\)\n(.*?)\n}" % function,
                         text, re.S)
        read = set(re.findall(r"\b%s->(\w+)" % body.group(1), body.group(2)))
        assert read and read <= fields.keys()


def test_the_doubles_lay_records_out_as_the_real_ones(headers, compile_with):
    version, _ = headers
    body = ""
    for name, theirs in RECORDS[version].items():
        theirs = "CUpti_Activity" + theirs
        fields = set(FIELDS[name].values()) - {"objectId"}
        for field in sorted(fields):
            body += ('\tprintf("%s.%s %%d\\n", offsetof(struct %s_record, %s) '
                     "== offsetof(%s, %s));\n" % (name, field, name, field, theirs, field))
        kind = {"kernel": "KERNEL", "copy": "COPY", "peer_copy": "PEER_COPY", "memset": "MEMSET",
                "overhead": "OVERHEAD", "device": "DEVICE", "graph": "GRAPH"}[name]
        body += '\tprintf("%s %%d\\n", fake_record_bytes(FAKE_%s, FAKE_%s) == sizeof(%s));\n' % (
            theirs, version.replace(".", "_"), kind, theirs)
    lines = compile_with(body, "tests/doubles/fake_records.c").splitlines()
    assert [line for line in lines if not line.endswith(" 1")] == []
    assert len(lines) > 50


def test_the_decoder_of_taps_reads_where_the_real_ones_write(headers, compile_with, root):
    """tests/gpu/tap_decode.py, which says what has to be in a trace."""
    version, _ = headers
    sys.path.append(os.path.join(root, "tests", "gpu"))
    import tap_decode

    body, expected = "", []
    for kind, (name, size) in tap_decode.STRUCTS[version].items():
        theirs = "CUpti_Activity" + name
        body += '\tprintf("%s %%zu\\n", sizeof(%s));\n' % (theirs, theirs)
        expected.append("%s %d" % (theirs, size))
        for field, (offset, layout) in tap_decode.FIELDS[kind].items():
            body += ('\tprintf("%s.%s %%zu %%zu\\n", offsetof(%s, %s), '
                     "sizeof(((%s *)0)->%s));\n" % (theirs, field, theirs, field, theirs, field))
            expected.append("%s.%s %d %d" % (theirs, field, offset, struct.calcsize(layout)))
    assert compile_with(body).splitlines() == expected


def test_numbers_are_theirs(compile_with):
    body = "".join('\tprintf("%s %%d %%d\\n", (int)%s, (int)%s);\n' % (ours, ours, theirs)
                   for ours, theirs in NUMBERS.items())
    lines = [line.split() for line in compile_with(body).splitlines()]
    assert len(lines) == len(NUMBERS)
    assert [line for line in lines if line[1] != line[2]] == []


def test_the_library_has_a_version_that_we_take(headers, compile_with):
    version, folder = headers
    with open(os.path.join(folder, "cupti_version.h"), encoding="utf-8") as file:
        number = int(re.search(r"define CUPTI_API_VERSION (\d+)", file.read()).group(1))
    lowest = int(compile_with('\tprintf("%u\\n", CUPTI_VERSION_MIN);\n'))
    assert number >= lowest and (version != "11.8" or number == lowest)


def callback_ids(folder, domain):
    """{name: number} out of cupti_runtime_cbid.h or cupti_driver_cbid.h."""
    with open(os.path.join(folder, "cupti_%s_cbid.h" % domain), encoding="utf-8") as file:
        return {name: int(number) for name, number in re.findall(
            r"CUPTI_%s_TRACE_CBID_(\w+)\s*=\s*(\d+)" % domain.upper(), file.read())}


def test_the_table_of_calls_has_their_numbers(headers, root):
    _, folder = headers
    with open(root + "/src/agent/gpu/cuda_calls.c", encoding="utf-8") as file:
        rows = re.findall(r'{ (RUNTIME|DRIVER), (\d+), CUDA_CALL_\w+, "(\w+)" }', file.read())
    assert len(rows) > 200
    known = 0
    for domain, number, name in rows:
        ids = callback_ids(folder, domain.lower())
        if name in ids:  # an older header does not know the newer calls
            known += 1
            assert ids[name] == int(number), name
    assert known > len(rows) * 0.8


def test_no_copy_and_no_memset_is_missing_from_the_table(headers, root):
    """A call of the runtime that is missing would go by the name of the driver's inside it."""
    _, folder = headers
    with open(root + "/src/agent/gpu/cuda_calls.c", encoding="utf-8") as file:
        names = set(re.findall(r'CUDA_CALL_\w+, "(\w+)" }', file.read()))
    theirs = {name for domain in ("runtime", "driver") for name in callback_ids(folder, domain)
              if re.match(r"cu(da)?Mem(cpy|set)", name)}
    assert len(theirs) > 100 and theirs - names == set()


def test_the_newest_headers_know_every_call_of_the_table(headers, root):
    version, folder = headers
    if version != "13.0":
        pytest.skip("only the newest version knows them all")
    with open(root + "/src/agent/gpu/cuda_calls.c", encoding="utf-8") as file:
        rows = re.findall(r'{ (RUNTIME|DRIVER), (\d+), CUDA_CALL_\w+, "(\w+)" }', file.read())
    ids = {domain: callback_ids(folder, domain.lower()) for domain in ("RUNTIME", "DRIVER")}
    assert [row for row in rows if ids[row[0]].get(row[2]) != int(row[1])] == []
