#!/bin/sh
# Builds the vendor's project and looks at what came out. check.sh SOURCE BUILD PLUGIN_API
set -eu
source=$1 build=$2 api=$3
rm -rf "$build"
cmake -S "$source" -B "$build" -DMOTLEY_PLUGIN_API="$api" -DCMAKE_BUILD_TYPE=Release > /dev/null
cmake --build "$build" > /dev/null
library=$build/lib/motley/minimal.so manifest=$build/lib/motley/minimal.plugin.toml

symbols=$(nm -D --defined-only "$library" | awk '{print $3}')
[ "$symbols" = motley_plugin_query ] || { echo "exported: $symbols; must be motley_plugin_query alone"; exit 1; }
needed=$(objdump -p "$library" | awk '$1 == "NEEDED" {print $2}' | grep -v '^libc\.so' || true)
[ -z "$needed" ] || { echo "a C plugin needs $needed"; exit 1; }
sum=$(sha256sum "$library" | cut -d' ' -f1)
for line in 'library = "minimal.so"' 'abi = "0.1"' 'kind = "other"' 'cpu_features = ["sse2", "avx"]' \
            "arch = \"$(uname -m)\"" "sha256 = \"$sum\""; do
  grep -qxF "$line" "$manifest" || { echo "$manifest has no line: $line"; cat "$manifest"; exit 1; }
done
