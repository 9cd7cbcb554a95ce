#!/bin/sh
# Everything that is to be shown on a machine with a GPU, in parts that can be chosen:
#
#   tests/gpu/run_all.sh [check] [layers] [cupti] [stress] [sizes] [overhead] [golden] [taps] [examples]
#                                                    default: check, cupti, stress and overhead
#
#   check      counts, times, clocks, lines, ways to end             about 5 minutes
#   layers     of these what looks into models: layers, graphs, compilers, NVTX   2 minutes
#   cupti      libcupti 11.8, 12.9, 13.0                             1 minute
#   stress     programs that have died under recording, many times   8 minutes
#   sizes      of traces, beside torch.profiler's                    2 minutes
#   overhead   recorded and plain processes in turns                 3 minutes
#   golden     small traces for examples/traces                      1 minute
#   taps       what each libcupti says, for tests/data/cupti         1 minute
#   examples   examples/bottlenecks, for docs/ACCURACY.md             6 minutes
#
# Where a command may run only so long, call it once for some of them.
#
# INFERSCOPE_BIN is the program (default: build-gpu/stage/bin/inferscope, `make stage-gpu`);
# results are kept in $OUT (default: build-gpu/results).  The end of the output is a summary
# with what failed or was skipped; the status is 1 if anything failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
OUT=${OUT:-$root/build-gpu/results}
INFERSCOPE_BIN=${INFERSCOPE_BIN:-$root/build-gpu/stage/bin/inferscope}
PYTHONUNBUFFERED=1
PYTHONDONTWRITEBYTECODE=1
export OUT INFERSCOPE_BIN PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE
mkdir -p "$OUT"
summary=$(mktemp)
failed=0

# part NAME SECONDS COMMAND...: runs it, notes how it ended and which rows were not OK.
part() {
	name=$1
	limit=$2
	shift 2
	log=$OUT/$name.log
	start=$(date +%s)
	echo "== $name"
	timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
	status=$?
	cat "$log"
	{
		case $status in
		0) echo "== $name: passed ($(($(date +%s) - start)) s)" ;;
		77) echo "== $name: SKIPPED" ;;
		124 | 137) echo "== $name: FAILED, not done after $limit s" ;;
		*) echo "== $name: FAILED, status $status ($(($(date +%s) - start)) s)" ;;
		esac
		grep -E ' (FAIL|SKIP)$|SKIP,|FAILED,|MISSED|^(check|cupti|golden|taps|examples): ' "$log" | head -n 60
	} >>"$summary"
	[ $status -eq 0 ] || [ $status -eq 77 ] || failed=1
}

machine() {
	uname -srm
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
		echo "no nvidia-smi"
	python3 -V
	git -C "$root" describe --always --dirty 2>/dev/null
}

[ $# -gt 0 ] || set -- check cupti stress overhead
machine
for each in "$@"; do
	case $each in
	check) part check 500 python3 "$here/check.py" --budget 440 ;;
	layers) part layers 400 python3 "$here/check.py" --out "$OUT/layers" --budget 340 layers ;;
	cupti) part cupti 180 python3 "$here/cupti_versions.py" --budget 150 ;;
	stress) part stress 590 python3 "$here/stress.py" --seconds 480 ;;
	sizes) part sizes 300 python3 "$here/sizes.py" ;;
	overhead) part overhead 420 python3 "$here/overhead.py" --rounds 6 gpu launch ;;
	golden) part golden 150 python3 "$here/golden_traces.py" ;;
	taps) part taps 150 python3 "$here/record_taps.py" ;;
	examples) part examples 580 python3 "$here/record_examples.py" ;;
	*)
		echo "run_all.sh: no part '$each': check, layers, cupti, stress, sizes, overhead, golden, taps or examples" >&2
		exit 2
		;;
	esac
done
echo "==== summary"
cat "$summary"
rm -f "$summary"
exit $failed
