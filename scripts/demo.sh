#!/usr/bin/env bash
# demo.sh -- a first look: installs what is missing, builds, solves a real system and checks the answer.
#
# Debian 12 or Ubuntu 24.04, as root or with sudo; nothing has to be there beforehand. Builds for the GPU only where one is
# visible and nvcc is found, so that a first look takes minutes. Everything it makes lies in build/.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

need_build_tools
install_missing

if gpu_visible && find_nvcc; then
  build=build/demo-cuda
  cuda=(-DSPTRSM_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$(gpu_architecture 90)")
  say "Building with the CUDA methods into $build"
else
  build=build/demo
  cuda=(-DSPTRSM_CUDA=OFF)
  if gpu_visible; then say "Building without CUDA (a GPU is here, but no nvcc) into $build"; else say "Building without CUDA (no GPU visible) into $build"; fi
fi

mkdir -p "$build"
log=$build/demo.log
quietly() { "$@" >>"$log" 2>&1 || { tail -n 40 "$log" >&2; die "failed: $*   (whole log: $ROOT/$log)"; }; }
: >"$log"
quietly cmake -S . -B "$build" -G Ninja "${cuda[@]}" -DSPTRSM_BUILD_TESTS=OFF -DSPTRSM_BUILD_EXAMPLES=OFF
quietly cmake --build "$build" --parallel "$JOBS"
PATH=$PWD/$build/apps:$PATH

run() { printf '\n$ %s\n' "$*"; "$@"; }
factors=data/sherman5_splu.h5
rhs=data/sherman5_rhs.h5
solution=$build/sherman5.solution.h5
say "What is in the file: the LU factors of an oil reservoir problem, as SciPy wrote them"
run sptrsm-info "$factors"
say "The main job: solve A X = B with these factors, eight right-hand sides at once"
run sptrsm-solve "$factors" "$rhs" -o "$solution" --force --json "$build/solve.json"
say "Is it right? Residuals of the stored solution, computed anew"
run sptrsm-verify "$factors" "$rhs" "$solution"
sptrsm-verify "$factors" "$rhs" "$solution" --json >"$build/verify.json"

# number FILE KEY: the first number of that key in a report.
number() { sed -n "s/.*\"$2\": \([-+.0-9e]*\).*/\1/p" "$1" | head -n 1; }
say "In short"
awk -v n="$(number "$build/solve.json" n)" -v nrhs="$(number "$build/solve.json" nrhs)" -v time="$(number "$build/solve.json" solve)" \
  -v berr="$(number "$build/solve.json" max_berr)" -v error="$(number "$build/verify.json" max_error)" 'BEGIN {
    printf "Solved %d systems of %d equations at once, from stored factors, in %.2f ms.\n", nrhs, n, 1e3 * time
    printf "The equations hold to %.1e of their size (componentwise backward error); the right-hand sides were made from a\n", berr
    printf "known X, whose entries are small integers: the largest difference from it is %.1e.\n", error
  }'
cat <<TEXT

X is in $ROOT/$solution (dataset /X; h5dump or h5py read it).
Your own factors:   $ROOT/$build/apps/sptrsm-solve FACTORS.h5 RHS.h5   (README.md: From SciPy)
All methods:        $ROOT/$build/apps/sptrsm-info --methods
Build and test all: $ROOT/scripts/test.sh
TEXT
