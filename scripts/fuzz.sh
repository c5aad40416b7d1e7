#!/usr/bin/env bash
# fuzz.sh MINUTES [TARGET...] -- builds the fuzz targets of tests/fuzz with clang, AddressSanitizer and UBSan, and runs each for MINUTES on
# all cores (JOBS). Inputs that reach new code are kept in build/fuzz/corpus, and a finding in build/fuzz/TARGET-crash-...; exit code 1 if
# there is one. fuzz.sh --runs COUNT [TARGET...] runs each with its corpus and COUNT inputs that follow from a fixed seed instead.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

if [[ ${1:-} == --runs ]]; then
  [[ ${2:-} =~ ^[0-9]+$ ]] || die "usage: fuzz.sh MINUTES [TARGET...], or fuzz.sh --runs COUNT [TARGET...]"
  runs=$2 minutes=
  shift 2
else
  [[ ${1:-} =~ ^[1-9][0-9]*$ ]] || die "usage: fuzz.sh MINUTES [TARGET...], or fuzz.sh --runs COUNT [TARGET...]"
  runs= minutes=$1
  shift
fi
known=(tests/fuzz/corpus/*/)
known=("${known[@]#tests/fuzz/corpus/}")
known=("${known[@]%/}")
targets=("${@:-${known[@]}}")
for target in "${targets[@]}"; do [[ " ${known[*]} " == *" $target "* ]] || die "unknown target $target; there are ${known[*]}"; done

need_build_tools
need clang clang
install_missing

folder=build/fuzz
options=()
if command -v ccache >/dev/null; then options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
mkdir -p $folder
say "$folder: build"
cmake -S . -B $folder -G Ninja -DSPTRSM_FUZZ=ON -DSPTRSM_CUDA=OFF -DSPTRSM_BUILD_TESTS=OFF -DSPTRSM_BUILD_EXAMPLES=OFF -DSPTRSM_INSTALL=OFF \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ "${options[@]}" >$folder/build.log 2>&1 &&
  cmake --build $folder --parallel "$JOBS" --target "${targets[@]/#/fuzz_}" >>$folder/build.log 2>&1 ||
  { tail -n 40 $folder/build.log >&2; die "building the targets failed (whole log: $folder/build.log)"; }

# Files of the targets lie in memory where there is a folder for that.
memory=/dev/shm
[[ -w $memory ]] || memory=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d -p "$memory")
export TMPDIR ASAN_OPTIONS=quarantine_size_mb=32
trap 'rm -rf "$TMPDIR"' EXIT

# fuzz TARGET: prints what was run, what was reached and what was found; fails if something was found.
fuzz() {
  local target=$1 log=$folder/$1.log kept=$TMPDIR/$1 code=0 # libFuzzer adds what it finds to the first folder of inputs
  local arguments=(-print_final_stats=1 -max_len=2000 -len_control=0 -timeout=60 -rss_limit_mb=4096 "-artifact_prefix=$folder/$target-")
  [[ ! -e tests/fuzz/$target.dict ]] || arguments+=("-dict=tests/fuzz/$target.dict")
  if [[ $minutes ]]; then
    kept=$folder/corpus/$target
    arguments+=("-max_total_time=$((60 * minutes))")
    [[ $JOBS -eq 1 ]] || arguments+=("-fork=$JOBS")
  else
    arguments+=("-runs=$runs" -seed=1)
  fi
  mkdir -p "$kept"
  "$folder/tests/fuzz/fuzz_$target" "${arguments[@]}" "$kept" "tests/fuzz/corpus/$target" >"$log" 2>&1 || code=1
  summary "$target" "$log"
  [[ $code -eq 0 ]] || { grep -E 'does not hold|ERROR: |runtime error|SUMMARY|Test unit' "$log" | head -n 20 || true; tail -n 3 "$log"; }
  return $code
}

# summary TARGET LOG: executions and the coverage at the end, which libFuzzer prints in one way with -fork and in another without.
summary() {
  awk -v target="$1" '
    /cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
    /^#[0-9]+:? / { count = substr($1, 2); sub(/:$/, "", count); if (count + 0 > runs + 0) runs = count }
    /number_of_executed_units/ { runs = $2 }
    END { printf "%-8s %9d executions, %5d edges reached\n", target, runs, cov }' "$2"
}

found=()
say "fuzzing: ${targets[*]}"
if [[ $minutes ]]; then
  for target in "${targets[@]}"; do fuzz "$target" || found+=("$target"); done
else # one process each, as many at a time as there are cores
  running=()
  for target in "${targets[@]}"; do
    [[ $(jobs -rp | wc -l) -lt $JOBS ]] || wait -n || true
    fuzz "$target" >"$folder/$target.said" 2>&1 &
    running+=($!)
  done
  for k in "${!targets[@]}"; do
    wait "${running[k]}" || found+=("${targets[k]}")
    cat "$folder/${targets[k]}.said"
  done
fi
[[ ${#found[@]} -eq 0 ]] || { printf 'FOUND something: %s (inputs: %s)\n' "${found[*]}" "$folder/TARGET-crash-..."; exit 1; }
echo "Nothing was found."
