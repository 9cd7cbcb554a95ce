#!/bin/sh
# Unpacks the distribution's arm64 libraries, and its Python, into a directory, and
# puts two programs beside it that run arm64's inferscope and Python in QEMU.
# The machine's own package database is not touched: no foreign architecture is
# added, nothing is installed, and root is not needed.
#
#   scripts/sysroot_arm64.sh DIRECTORY
set -eu
mkdir -p "$1"
root=$(cd "$1" && pwd)
packages="libc6-dev libzstd-dev zlib1g-dev libyaml-dev libsqlite3-dev libiberty-dev libelf-dev libcmocka-dev python3"
stamp=$root/unpacked
[ "$(cat "$stamp" 2>/dev/null)" != "$packages" ] || exit 0

# apt-get with the machine's sources, but a state of its own in which nothing is
# installed, so that it resolves everything down to the C library.
state=$root/apt
rm -rf "$root"
mkdir -p "$state/lists/partial" "$state/archives/partial"
: >"$state/status"
apt() {
	apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
		-o Dir::State="$state" -o Dir::State::Lists="$state/lists" \
		-o Dir::State::status="$state/status" -o Dir::Cache="$state" \
		-o Dir::Cache::archives="$state/archives" -o Debug::NoLocking=1 \
		-o Acquire::Languages=none -o APT::Sandbox::User= "$@"
}
apt update
# $packages is a list of words.
# shellcheck disable=SC2086
apt install -y --download-only --no-install-recommends $packages
for package in "$state"/archives/*.deb; do
	dpkg -x "$package" "$root"
done
rm -rf "$state"

# Links to absolute paths would lead out of the tree.
find "$root" -type l -lname '/*' | while read -r link; do
	ln -sfr "$root$(readlink "$link")" "$link"
done

# in_qemu NAME PROGRAM
in_qemu() {
	printf '#!/bin/sh\nexec qemu-aarch64-static -L %s %s "$@"\n' "$root" "$2" >"$root/../$1"
	chmod +x "$root/../$1"
}
in_qemu inferscope "$(dirname "$root")/stage/bin/inferscope"
in_qemu python3 "$root/usr/bin/python3"
echo "$packages" >"$stamp"
