"""CUPTI alone (cupti_alone.c): the environment that puts it into a program."""

import os
import subprocess

import cupti_versions
import kit


def build(folder):
    path = os.path.join(folder, "cupti_alone.so")
    if not os.path.exists(path):
        subprocess.check_call(["cc", "-std=gnu11", "-O2", "-shared", "-fPIC",
                               "-I" + kit.ROOT + "/src", "-o", path, kit.HERE + "/cupti_alone.c",
                               "-ldl"])
    return path


def environment(mode, folder):
    newest = max(cupti_versions.find().items())[1]
    return {"CUDA_INJECTION64_PATH": build(folder), "CUPTI_ALONE_LIBRARY": newest,
            "CUPTI_ALONE_MODE": mode}
