#!/usr/bin/env bash
# Writes what docs/ has from lists in the code: docs/operations.md and the codes of docs/diagnostics.md. Tests
# fail when these are stale. Usage: update_docs.sh [RUN_IR]
set -euo pipefail
cd "$(dirname "$0")/.."
run_ir=${1:-build/release/bin/run_ir}

"$run_ir" ops --markdown >docs/operations.md

# What stands above the codes is written by hand.
codes=$(mktemp)
trap 'rm -f "$codes"' EXIT
sed '/^### /,$d' docs/diagnostics.md >"$codes"
"$run_ir" codes --markdown >>"$codes"
cp "$codes" docs/diagnostics.md
