"""Pythons with the benchmark's tools, to be carried to a machine that has neither pip nor network.

    bench/pack_pythons.py FOLDER [X.Y ...]       FOLDER/python-X.Y.tar.xz

A pack unpacks to .venv-bench-X.Y, where bench_cpu.py --venvs finds it: an interpreter of this
machine with its standard library, numpy and the tools that pip can get.  It finds itself by where
it lies; only its libpython must be found for it: LD_LIBRARY_PATH=.venv-bench-X.Y/lib.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import cpu_tools
from bench_cpu import VERSIONS

# Of the standard library, what no workload and no tool imports.
LEFT_OUT = ("site-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip",
            "lib2to3", "__pycache__", "config-*", "_tkinter*", "pydoc_data")
# Of the packages: VizTracer's viewer is a third of everything.
LEFT_OUT_OF_PACKAGES = {"tests", "html", "__pycache__"}


def sysconfig_of(python):
    code = ("import sys, sysconfig as s\n"
            "print('%d.%d' % sys.version_info[:2], sys.base_prefix,"
            " s.get_config_var('LIBDIR'), s.get_config_var('INSTSONAME'), sep='\\n')")
    output = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(("version", "prefix", "libdir", "soname"), output.stdout.split("\n")))


def strip(path):
    subprocess.run(["strip", "--strip-debug", path], check=True)


def install_tools(python, folder):
    """Everything that pip can get; what it cannot the benchmark will miss, and say so."""
    packages = {tool.package for tool in cpu_tools.TOOLS.values() if tool.package} | {"numpy"}
    for package in sorted(packages):
        status, text = cpu_tools.output_of(
            [python, "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check",
             "--only-binary", ":all:", "--ignore-installed", "--prefix", folder, package])
        if status:
            print("%s: %s" % (package, cpu_tools.reason_of(text)), file=sys.stderr)


def fill(folder, python):
    found = sysconfig_of(python)
    library = os.path.join(folder, "lib", "python" + found["version"])
    shutil.copytree(os.path.join(found["prefix"], "lib", "python" + found["version"]), library,
                    symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    os.makedirs(os.path.join(folder, "bin"))
    shutil.copy(os.path.realpath(python), os.path.join(folder, "bin", "python"))
    if found["soname"].endswith(".so") or ".so." in found["soname"]:
        shutil.copy(os.path.join(found["libdir"], found["soname"]), os.path.join(folder, "lib"))
        strip(os.path.join(folder, "lib", found["soname"]))
    install_tools(python, folder)
    for where, folders, names in os.walk(library):
        if "site-packages" in where:
            for name in LEFT_OUT_OF_PACKAGES & set(folders):
                shutil.rmtree(os.path.join(where, name))
                folders.remove(name)
        for name in names:
            if name.endswith(".so") and ".libs" not in where:
                strip(os.path.join(where, name))


def pack(python, version, path):
    with tempfile.TemporaryDirectory() as scratch:
        name = ".venv-bench-" + version
        fill(os.path.join(scratch, name), python)
        subprocess.run(["tar", "-C", scratch, "-cJf", path, name], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="X.Y")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    pythons = cpu_tools.find_pythons()
    for version in args.versions:
        if version not in pythons:
            sys.exit("no Python %s on this machine" % version)
        path = os.path.join(args.folder, "python-%s.tar.xz" % version)
        pack(pythons[version], version, path)
        print("%s: %.1f MB" % (path, os.path.getsize(path) / 1e6), flush=True)


if __name__ == "__main__":
    main()
