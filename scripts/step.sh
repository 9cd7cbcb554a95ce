#!/bin/sh
# Runs one step calmly: a line that says what, the output in build/logs/, shown
# only when the step fails.
#
#   scripts/step.sh NAME 'what it does' command [args]
set -u
name=$1
what=$2
shift 2
logs=${INFERSCOPE_LOGS:-build/logs}
log=$logs/$name.log
mkdir -p "$logs"

printf '%s ... ' "$what"
start=$(date +%s)
if "$@" >"$log" 2>&1 </dev/null; then
	printf 'done (%s s)\n' $(($(date +%s) - start))
	exit 0
else
	status=$?
fi
printf 'FAILED\n'
tail -n "${INFERSCOPE_LOG_LINES:-60}" "$log"
printf 'step "%s" failed with status %s; all of its output: %s\n' "$what" "$status" "$log"
exit "$status"
