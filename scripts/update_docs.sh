#!/usr/bin/env bash
# Writes what docs/ has from lists in the code: docs/operations.md and the codes of docs/diagnostics.md. Tests
# fail when these are stale. Usage: update_docs.sh [RUN_IR]
set -euo pipefail
cd "$(dirname "$0")/.."
run_ir=${1:-build/release/bin/run_ir}

# A list that fails leaves the files as they are.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$run_ir" ops --markdown >"$folder/operations.md"
# What stands above the codes is written by hand.
sed '/^### /,$d' docs/diagnostics.md >"$folder/diagnostics.md"
"$run_ir" codes --markdown >>"$folder/diagnostics.md"
cp "$folder/operations.md" "$folder/diagnostics.md" docs/
