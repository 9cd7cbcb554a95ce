#!/bin/sh
# Every check that needs no run of the program.  All of them run; any complaint
# makes the status 1.
#
#   scripts/lint.sh BUILD      a directory with compile_commands.json of clang
set -u
build=$1
failed=0
python=.venv/bin/python

check() {
	scripts/step.sh "$@" || failed=1
}

tracked() {
	git ls-files --cached --others --exclude-standard -- "$@"
}

# The lists below are words without spaces: file names of this tree.
# shellcheck disable=SC2046
{
	check format 'formatting (make format mends it)' \
		clang-format --dry-run -Werror $(tracked '*.c' '*.h')
	# The fuzzers are not in the compilation database.
	tracked 'src/*.c' 'tests/unit/*.c' >"$build/tidy-files"
	check tidy 'clang-tidy' xargs -a "$build/tidy-files" -n 4 -P "$(nproc)" \
		clang-tidy --quiet -p "$build"
	check compileall 'Python syntax' "$python" -m compileall -q -f $(tracked '*.py')
	if "$python" -m ruff --version >/dev/null 2>&1; then
		check ruff 'ruff' "$python" -m ruff check $(tracked '*.py')
	elif command -v ruff >/dev/null 2>&1; then
		check ruff 'ruff' ruff check $(tracked '*.py')
	else
		echo 'ruff ... skipped: not installed'
	fi
	check shellcheck 'shellcheck' shellcheck $(tracked '*.sh') .ci/run
	check layers 'layers and tree rules' "$python" -m pytest -q tests/test_layers.py
}
exit "$failed"
