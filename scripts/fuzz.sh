#!/bin/sh
# Runs every fuzzer of a build directory for some seconds, from the committed
# corpus.  New inputs stay in the build directory; a crash stops with status 1
# and leaves its input there.
#
#   scripts/fuzz.sh BUILD SECONDS
set -u
build=$1
seconds=$2
ran=0

for fuzzer in $(find "$build" -type f -name 'fuzz_*' -perm -u+x | sort); do
	name=$(basename "$fuzzer")
	seeds=tests/fuzz/corpus/${name#fuzz_}
	found=$build/corpus/$name
	mkdir -p "$found" "$build/crashes"
	[ -d "$seeds" ] || seeds=
	# $seeds is one word or none.
	# shellcheck disable=SC2086
	scripts/step.sh "$name" "$name for $seconds s" "$fuzzer" -max_total_time="$seconds" \
		-timeout=20 -rss_limit_mb=2048 -artifact_prefix="$build/crashes/$name-" \
		"$found" $seeds || exit 1
	ran=$((ran + 1))
done
if [ "$ran" = 0 ]; then
	echo "no fuzzer in $build"
	exit 1
fi
