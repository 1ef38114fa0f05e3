#!/usr/bin/env bash
# Installs the build into a temporary prefix and builds and runs consumers against the package and a part of it; looks at
# what the sources are built as.
# usage: install_test.sh BUILD_DIR SOURCE_DIR GENERATOR
set -euo pipefail

build=$1
source=$2
export CMAKE_GENERATOR=$3  # cmake's own default may not be installed
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/tests/install" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/consumer" "$source/models/small_cnn/model.xml"
"$work/build/c_consumer" "$source/models/small_cnn/model.xml"

cmake -S "$source/tests/install/c_only" -B "$work/c_only" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/c_only" >/dev/null
"$work/c_only/c_consumer" "$source/models/small_cnn/model.xml"
test -f "$work/prefix/share/doc/ir_runtime/LICENSE"

# The sources, where nobody says what to build for.
cmake -S "$source" -B "$work/plain" -DIR_RUNTIME_BUILD_TESTS=OFF -DIR_RUNTIME_BUILD_SAMPLES=OFF >/dev/null
grep -q '^CMAKE_BUILD_TYPE:STRING=Release$' "$work/plain/CMakeCache.txt"
