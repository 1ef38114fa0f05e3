#!/usr/bin/env bash
# Damages models under AddressSanitizer and UndefinedBehaviorSanitizer: scripts/mutate.sh COUNT [FOLDER...].
# Without folders: models/. COUNT mutations per model; what is found lands in MUTATE_BUILD/finds (default build folder:
# build/asan).
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -lt 1 || ! $1 =~ ^[0-9]+$ ]]; then
  echo "usage: scripts/mutate.sh COUNT [FOLDER...]" >&2
  exit 2
fi
count=$1
shift
folders=("$@")
[[ ${#folders[@]} -gt 0 ]] || folders=(models)
build=${MUTATE_BUILD:-build/asan}

cmake --preset asan -B "$build" >/dev/null
cmake --build "$build" --target mutate
export ASAN_OPTIONS=max_allocation_size_mb=1024:detect_leaks=0
"$build/bin/mutate" --count "$count" --keep "$build/finds" "${folders[@]}"
