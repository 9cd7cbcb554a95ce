#!/bin/sh
# CPythons that this Debian does not have yet, from the unstable suite of the
# archive that apt is set to use.  Nothing is installed: they are unpacked into
# a folder together with the libraries they need, the C library included, and
# told where those are.  Prints their paths, colon separated.
#
#   scripts/newer_pythons.sh FOLDER VERSION...      such as 3.14 3.15
set -eu
folder=$1
shift
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/root apt=$folder/apt

list() {
	found=
	for version in "$@"; do
		found=$found${found:+:}$root/usr/bin/python$version
	done
	echo "$found"
}

missing() {
	for version in "$@"; do
		"$root/usr/bin/python$version" -c '' 2>/dev/null || return 0
	done
	return 1
}

if missing "$@"; then
	# shellcheck disable=SC2016 # apt expands it
	site=$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' 'Created-By: Packages' |
		head -n 1)
	if [ -z "$site" ] || ! command -v patchelf >/dev/null 2>&1; then
		echo "this needs apt with a Debian archive, and patchelf" >&2
		exit 1
	fi
	rm -rf "$root" "$apt"
	mkdir -p "$root" "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status" # nothing is installed there: every dependency is fetched
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site unstable main" \
		>"$apt/sources.list"
	cat >"$apt/conf" <<-END
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::State "$apt";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		APT::Install-Recommends "false";
	END
	packages=
	for version in "$@"; do
		packages="$packages python$version libpython$version-dev python$version-venv"
	done
	{
		APT_CONFIG=$apt/conf apt-get -q update
		# shellcheck disable=SC2086 # words
		APT_CONFIG=$apt/conf apt-get -q -y --download-only install $packages
	} >&2
	for package in "$apt"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink
	done
	libraries=$(dirname "$(find "$root" -name libc.so.6 | head -n 1)")
	for version in "$@"; do
		patchelf --set-interpreter "$(find "$libraries" -name 'ld-linux*')" --force-rpath \
			--set-rpath "$libraries" "$root/usr/bin/python$version"
	done
fi
list "$@"
