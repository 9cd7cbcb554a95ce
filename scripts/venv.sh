#!/bin/sh
# Makes .venv: what the tests import (tests/requirements.txt) and PyTorch for the
# demo.  Says in one line what it holds and where that came from.
#
# INFERSCOPE_TORCH   where PyTorch comes from
#   auto           (default) the CPU build from PyPI, else the distribution's;
#                  an existing .venv is kept, whichever it was
#   pypi           PyPI: the CPU build, the plain one where there is no other
#   distribution   everything from the distribution's packages, no pip at all
#   none           no PyTorch
#
# "PyPI" is whatever registry pip is configured for.  A CPU build is a version
# that ends in "+cpu".  A registry may hold none, and its plain build brings
# gigabytes of CUDA libraries that nothing here uses; `auto` then prefers the
# distribution's build and takes the plain one only where that fails as well.
set -u
cd "$(dirname "$0")/.." || exit 1

want=${INFERSCOPE_TORCH:-auto}
venv=.venv
stamp=$venv/inferscope-setup
case $want in
auto | pypi | distribution | none) ;;
*)
	echo "INFERSCOPE_TORCH=$want: must be auto, pypi, distribution or none"
	exit 2
	;;
esac

# The stamp: where PyTorch came from, a check sum of this recipe, the line to print.
inputs=$(cat tests/requirements.txt scripts/venv.sh | cksum)
if [ -x $venv/bin/python ] && [ -r $stamp ]; then
	{ read -r took && read -r made_of && read -r line; } <$stamp
	case $want/$took in
	auto/pypi | auto/distribution | "$took/$took")
		if [ "$made_of" = "$inputs" ]; then
			echo "$line"
			exit 0
		fi
		;;
	esac
fi

pip="$venv/bin/python -m pip"
pip_install="$pip install --disable-pip-version-check --no-input --retries 1 --timeout 30"

# finish SOURCE TEXT: writes the stamp and ends.
finish() {
	line="python: $($venv/bin/python -V 2>&1) in $venv, $2"
	printf '%s\n' "$1" "$inputs" "$line" >$stamp
	echo "$line"
	exit 0
}

# finish_torch SOURCE TEXT: the same, if torch can be imported.
finish_torch() {
	version=$($venv/bin/python -c 'import torch; print(torch.__version__)') || return 1
	finish "$1" "torch $version $2"
}

# The python3 of the PATH if it will do, else the distribution's.
first_python() {
	for candidate in python3 /usr/bin/python3; do
		"$candidate" -c 'import ensurepip, sys
assert sys.version_info >= (3, 8)
print(sys.executable)' 2>/dev/null && return
	done
	echo "no python3 of version 3.8 or later with the venv module" >&2
	return 1
}

# $pip and $pip_install are lists of words.
# shellcheck disable=SC2086
venv_from_pypi() {
	scripts/packages.sh python && base=$(first_python) || return 1
	rm -rf $venv
	scripts/step.sh venv "making $venv with $base" "$base" -m venv $venv &&
		scripts/step.sh pip-tests "installing tests/requirements.txt from PyPI" \
			$pip_install -r tests/requirements.txt
}

# The newest CPU build that pip sees for this Python and machine; "" if none.
# shellcheck disable=SC2086
cpu_build() {
	$pip index versions torch --retries 1 --timeout 20 2>/dev/null </dev/null |
		sed -n 's/^Available versions: //p' | tr -d ' ' | tr ',' '\n' | grep -m1 '+cpu$'
}

# torch_from_pypi REQUIREMENT
# shellcheck disable=SC2086
torch_from_pypi() {
	scripts/step.sh pip-torch "installing $1 from PyPI" $pip_install "$1" numpy &&
		finish_torch pypi "from PyPI"
}

# venv_from_distribution GROUP...
venv_from_distribution() {
	scripts/packages.sh pytools "$@" || return 1
	rm -rf $venv
	scripts/step.sh venv "making $venv with the distribution's Python packages" \
		/usr/bin/python3 -m venv --system-site-packages --without-pip $venv
}

torch_from_distribution() {
	venv_from_distribution torch && finish_torch distribution "from the distribution (python3-torch)"
}

case $want in
none)
	venv_from_pypi || venv_from_distribution || exit 1
	finish none "no torch, as INFERSCOPE_TORCH=none asks"
	;;
distribution)
	torch_from_distribution
	;;
pypi)
	venv_from_pypi || exit 1
	build=$(cpu_build)
	torch_from_pypi "torch${build:+==$build}"
	;;
auto)
	# A failure has a way out here: its last lines are enough.
	export INFERSCOPE_LOG_LINES=2
	if ! venv_from_pypi; then
		echo "PyPI cannot be used: taking the distribution's packages"
	elif build=$(cpu_build); then
		torch_from_pypi "torch==$build"
	else
		echo "PyPI offers no CPU build of torch for this machine: taking the distribution's"
	fi
	torch_from_distribution
	echo "the distribution has no torch either: taking the plain build from PyPI, which is large"
	venv_from_pypi && torch_from_pypi torch
	;;
esac
echo "no PyTorch could be installed; INFERSCOPE_TORCH=none goes on without it"
exit 1
