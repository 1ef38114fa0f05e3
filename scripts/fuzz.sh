#!/usr/bin/env bash
# Runs fuzz targets: scripts/fuzz.sh SECONDS [TARGET...]. Without targets: all. Needs clang (Debian: clang and
# libclang-rt-dev). Prints executions, coverage and what was found per target; fails when something was found.
#
# FUZZ_BUILD: build folder (default build/fuzz). FUZZ_SEEDS: folders with more models, separated by blanks.
# FUZZ_FLAGS: more flags for libFuzzer, such as "-seed=1 -runs=4000" for runs that are the same everywhere.
# What the fuzzers learn is kept in FUZZ_BUILD/learned and used by the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -lt 1 || ! $1 =~ ^[0-9]+$ ]]; then
  echo "usage: scripts/fuzz.sh SECONDS [TARGET...]" >&2
  exit 2
fi
if ! command -v clang++ >/dev/null; then
  echo "clang++ is missing; Debian: apt-get install clang libclang-rt-dev" >&2
  exit 2
fi
seconds=$1
shift
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] ||
  mapfile -t targets < <(sed -nE 's/^IR_FUZZ_TARGET\(([a-z_]+)\).*/\1/p' tests/fuzz/targets.inc)
build=${FUZZ_BUILD:-build/fuzz}

cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target make_corpus "${targets[@]/#/fuzz_}"
# shellcheck disable=SC2086  # FUZZ_SEEDS is a list
"$build/bin/make_corpus" "$build/seeds" models ${FUZZ_SEEDS:-}

# Line N of a libFuzzer log with coverage: "#N  DONE   cov: 1234 ft: 5678 corp: ..."
last_of() { grep -oE "$1: [0-9]+" "$2" | tail -1 | grep -oE '[0-9]+$' || echo 0; }

found=0
for target in "${targets[@]}"; do
  learned=$build/learned/$target
  finds=$build/finds/$target
  log=$build/$target.log
  mkdir -p "$learned" "$finds"
  # Allocations of more than 1 GB and inputs that take more than 20 s are finds.
  status=0
  # shellcheck disable=SC2086  # FUZZ_FLAGS is a list
  "$build/bin/fuzz_$target" ${FUZZ_FLAGS:-} "$learned" "$build/seeds/$target" -dict="$build/seeds/$target.dict" \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -malloc_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$finds/" >"$log" 2>&1 || status=$?
  executions=$(grep -oE 'stat::number_of_executed_units: [0-9]+' "$log" | grep -oE '[0-9]+' || echo 0)
  printf '%-10s %10s executions, cov %6s, ft %6s' "$target" "$executions" "$(last_of cov "$log")" \
    "$(last_of ft "$log")"
  if [[ $status -eq 0 ]]; then
    echo ", nothing found"
  else
    found=1
    echo ", FOUND: $(grep -m1 -E 'ERROR|runtime error|terminate' "$log" || echo "status $status") (see $log)"
  fi
done
exit $found
