#!/bin/sh
# Installs the distribution packages that a group of make targets needs, but
# only those whose tool or header is not there yet: a machine that has them
# from elsewhere, or runs another distribution, is left alone.
#
#   scripts/packages.sh GROUP...      build python pytools torch lint coverage clang fuzz newer arm64 markdown browser
set -u
cd "$(dirname "$0")/.." || exit 1

has_tool() {
	command -v "$1" >/dev/null 2>&1
}

has_header() {
	echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1
}

has_firefox() {
	has_tool firefox-esr || has_tool firefox
}

# The distribution's own Python, whatever `python3` on the PATH may be.
has_module() {
	/usr/bin/python3 -c "import $1" >/dev/null 2>&1
}

has_library() {
	/usr/bin/python3 -c "import ctypes; ctypes.CDLL('$1')" >/dev/null 2>&1
}

missing=
# need PACKAGE PROBE WHAT
need() {
	"$2" "$3" || missing="$missing $1"
}

group_build() {
	need gcc has_tool cc
	need g++ has_tool g++ # tests/python/test_native_api.py
	need libc6-dev has_header stdio.h
	need cmake has_tool cmake
	need ninja-build has_tool ninja
	need libzstd-dev has_header zstd.h
	need zlib1g-dev has_header zlib.h
	need libyaml-dev has_header yaml.h
	need libsqlite3-dev has_header sqlite3.h
	need libiberty-dev has_header libiberty/demangle.h
	need libelf-dev has_header libelf.h
	need libisal-dev has_header isa-l/igzip_lib.h
	need libcmocka-dev has_header cmocka.h
}

group_python() {
	need python3 has_tool python3
	need python3-venv has_module ensurepip
}

# The distribution's packages for tests/requirements.txt.
group_pytools() {
	need python3 has_module sys
	need python3-venv has_module ensurepip
	need python3-pytest has_module pytest
	need python3-pytest-xdist has_module xdist
	need python3-pytest-timeout has_module pytest_timeout
	need python3-jsonschema has_module jsonschema
	need python3-zstandard has_module zstandard
}

group_torch() {
	need python3-torch has_module torch
	need python3-numpy has_module numpy
	# It runs on any BLAS; with the plain one the demo takes 125 s instead of 4.
	need libopenblas0 has_library libopenblas.so.0
}

group_lint() {
	need clang-format has_tool clang-format
	need clang-tidy has_tool clang-tidy
	need shellcheck has_tool shellcheck
}

group_coverage() {
	need gcovr has_tool gcovr
}

group_clang() {
	need clang has_tool clang
}

# For tests/cli/test_injection.py.
group_markdown() {
	need cmark-gfm has_tool cmark-gfm
}

# For tests/browser.
group_browser() {
	need chromium has_tool chromium
	need firefox-esr has_firefox firefox
}

group_newer() {
	need patchelf has_tool patchelf
}

# After the group clang: which release of it that was decides the package.
group_fuzz() {
	version=$(clang -dumpversion | cut -d. -f1)
	need "libclang-rt-$version-dev" links_fuzzer clang
}

# The compiler and the emulator; the libraries: scripts/sysroot_arm64.sh.
group_arm64() {
	need gcc-aarch64-linux-gnu has_tool aarch64-linux-gnu-gcc
	need qemu-user-static has_tool qemu-aarch64-static
}

links_fuzzer() {
	echo 'int LLVMFuzzerTestOneInput(const char *d, long n);
	      int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
		"$1" -fsanitize=fuzzer,address -x c -o /dev/null - >/dev/null 2>&1
}

for group in "$@"; do
	"group_$group"
done
[ -n "$missing" ] || exit 0

if ! has_tool apt-get; then
	echo "missing, and not a Debian or Ubuntu machine:$missing"
	echo "install what corresponds to these packages, then try again"
	exit 1
fi
if [ "$(id -u)" = 0 ]; then
	root=
elif has_tool sudo; then
	# Without a terminal nobody can type a password: fail at once instead of hanging.
	if [ -t 0 ]; then root=sudo; else root='sudo -n'; fi
else
	echo "missing:$missing"
	echo "run as root:  apt-get install$missing"
	exit 1
fi

apt="$root env DEBIAN_FRONTEND=noninteractive apt-get"
exec scripts/step.sh packages "installing$missing" \
	sh -c "$apt update && $apt install -y --no-install-recommends$missing"
