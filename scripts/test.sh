#!/usr/bin/env bash
# Second command: builds everything and runs the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
cmake --preset release
cmake --build --preset release
ctest --preset release -j "$(nproc)" "$@"
