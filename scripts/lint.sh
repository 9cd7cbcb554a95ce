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

# Prints the command; Debian has no package of it, so it comes from PyPI where that can be had.
find_ruff() {
	if "$python" -m ruff --version >/dev/null 2>&1; then
		echo "$python -m ruff"
	else
		command -v ruff
	fi
}

get_ruff() {
	find_ruff >/dev/null || INFERSCOPE_LOG_LINES=2 scripts/step.sh pip-ruff \
		'installing ruff from PyPI' "$python" -m pip install --disable-pip-version-check \
		--no-input --retries 1 --timeout 30 'ruff>=0.4,<1'
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
	if get_ruff; then
		check ruff 'ruff' $(find_ruff) check $(tracked '*.py')
	else
		echo 'ruff ... SKIPPED: it is not installed, and pip cannot get it'
	fi
	check shellcheck 'shellcheck' shellcheck $(tracked '*.sh') .ci/run
	check layers 'layers and tree rules' "$python" -m pytest -q tests/test_layers.py
}
exit "$failed"
