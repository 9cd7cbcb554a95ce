#!/bin/sh
# bench_cpu.py on a machine that has neither pip nor network:
#
#   bench/pack_pythons.py build-gpu/packs; make stage-gpu        here
#   bench/packed.sh build-gpu/packs --all --lanes 7 ...          there, with both folders carried along
#
# Unpacks what was not unpacked before, takes PyTorch from that machine's own Python, and hands the rest to bench_cpu.py.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
packs=$1
shift
for pack in "$packs"/python-*.tar.xz; do
    [ -e "$pack" ] || continue # unpacked in an earlier call
    version=${pack##*/python-}
    folder=.venv-bench-${version%.tar.xz}
    [ -d "$root/$folder" ] || tar -C "$root" -xJf "$pack"
done
for folder in "$root"/.venv-bench-*/lib; do
    LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
done
python=$(command -v python3)
if [ ! -e "$root/.venv" ]; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    torch=$("$python" -c 'import importlib.util as i; s = i.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")')
    mkdir -p "$root/.venv/lib/python$version"
    [ -z "$torch" ] || ln -s "${torch%/torch}" "$root/.venv/lib/python$version/site-packages"
fi
export LD_LIBRARY_PATH
exec "$python" "$root/bench/bench_cpu.py" --bin "$root/build-gpu/stage/bin/inferscope" "$@"
