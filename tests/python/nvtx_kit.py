"""NVTX for tests: a double of ours, NVIDIA's libraries and headers, the nvtx package.

What is NVIDIA's comes out of wheels that pip can fetch, kept under build/; what cannot be had is
skipped, and seen to be.
"""

import glob
import os
import subprocess
import sys
import zipfile

import pytest

from file_lock import locked

# By version: libnvToolsExt (NVTX 2) and headers; the library and headers of NVTX 3.
WHEELS = {"11.8": "nvidia-nvtx-cu11==11.8.86", "12.9": "nvidia-nvtx-cu12==12.9.79",
          "13.4": "nvidia-nvtx==13.4.92"}

# The newest that each interpreter has a wheel of.
PACKAGE = {(3, 8): "nvtx==0.2.14"}
PACKAGE_SINCE = "nvtx==0.2.16"


def fetch(root, folder, requirement, *options):
    """Unpacks a wheel under build/nvtx, once; the test is skipped where pip cannot get it."""
    place = os.path.join(root, "build", "nvtx", folder)
    os.makedirs(place, exist_ok=True)
    with locked(place + "/lock"):
        if not os.path.exists(place + "/done"):
            download(place, requirement, *options)
    return place


def download(place, requirement, *options):
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input",
         "--disable-pip-version-check", "--retries", "1", "--timeout", "15",
         "--only-binary", ":all:", *options, "--dest", place + "/wheels", requirement],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        universal_newlines=True)
    if done.returncode:
        lines = done.stdout.strip().splitlines() or ["no reason given"]
        pytest.skip("pip cannot get %s: %s" % (requirement, lines[-1]))
    for wheel in glob.glob(place + "/wheels/*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
        os.remove(wheel)
    open(place + "/done", "w").close()


def found(place, pattern):
    paths = glob.glob("%s/**/%s" % (place, pattern), recursive=True)
    return paths[0] if paths else pytest.skip("no %s in %s" % (pattern, place))


def library(root, doubles, version):
    """A shared library with NVTX's functions: ours, or NVIDIA's of a CUDA version."""
    if version == "double":
        return doubles.path("libfake_nvtx.so")
    return found(fetch(root, version, WHEELS[version]), "lib/libnv*.so.1")


def headers(root, version):
    """The folder in which the folder nvtx3 is."""
    place = fetch(root, version, WHEELS[version])
    return os.path.dirname(os.path.dirname(found(place, "nvtx3/nvToolsExt.h")))


def package(root, version):
    """The folder with the nvtx package for an interpreter of this version."""
    number = "%d.%d" % version
    return fetch(root, "package-" + number, PACKAGE.get(version, PACKAGE_SINCE),
                 "--python-version", number)
