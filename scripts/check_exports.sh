#!/bin/sh
# Exported files through programs that we did not write: Perfetto's schema with protoc, VizTracer,
# speedscope's schema, DuckDB, chDB (ClickHouse), pandas, Polars, pyarrow.
#
#   make build && scripts/check_exports.sh [FOLDER]
#
# FOLDER (default: build/export-tools) gets a virtual environment with the tools, from the package
# index; what cannot be had is named, and its tests are skipped.
set -u
folder=${1:-build/export-tools}
python=$folder/bin/python

[ -x "$python" ] || python3 -m venv "$folder" || exit 1
for package in pytest pytest-timeout jsonschema zstandard perfetto protobuf viztracer duckdb chdb \
	'pandas<3' pyarrow polars; do
	"$python" -m pip install -q "$package" >"$folder/pip.log" 2>&1 || echo "not installed: $package"
done

# protoc takes the schema as a set of descriptors, which the Python package carries.
schema=$folder/perfetto.desc
"$python" - "$schema" <<'END' || echo "no schema of Perfetto's"
import sys
from google.protobuf import descriptor_pb2
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

descriptors = descriptor_pb2.FileDescriptorSet()
perfetto_trace_pb2.DESCRIPTOR.CopyToProto(descriptors.file.add())
with open(sys.argv[1], "wb") as file:
    file.write(descriptors.SerializeToString())
END
command -v protoc >/dev/null || echo "not installed: protoc (protobuf-compiler)"
[ -f "$schema" ] && PERFETTO_TRACE_PROTO=$schema && export PERFETTO_TRACE_PROTO

package=$folder/speedscope
if [ ! -f "$package/package/dist/release/file-format-schema.json" ] && command -v npm >/dev/null; then
	mkdir -p "$package"
	(cd "$package" && npm pack --silent speedscope >npm.log 2>&1 && tar xzf speedscope-*.tgz)
fi
if [ -f "$package/package/dist/release/file-format-schema.json" ]; then
	SPEEDSCOPE_SCHEMA=$package/package/dist/release/file-format-schema.json
	export SPEEDSCOPE_SCHEMA
else
	echo "no schema of speedscope's: npm is needed"
fi

INFERSCOPE_BIN=${INFERSCOPE_BIN:-build/stage/bin/inferscope}
export INFERSCOPE_BIN
exec "$python" -m pytest -q -rs tests/cli/test_export_viewers.py tests/cli/test_export_tables.py
