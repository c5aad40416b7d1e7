#!/usr/bin/env bash
# test.sh -- installs what is missing, then everything that must hold before a change is merged:
#   1. house rules (check-rules.sh)
#   2. default build, with the CUDA code wherever nvcc is found; all tests, the examples and the install test
#   3. AddressSanitizer + UBSan build of the host code; the same tests
# Tests that need a GPU are reported as skipped where there is none. Settings: JOBS=2, SPTRSM_WERROR=ON, SPTRSM_CUDA=OFF.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
export OMP_WAIT_POLICY=passive # tests run side by side: idle threads should sleep, not spin

need_build_tools
need_header criterion/criterion.h libcriterion-dev
install_missing
want_header suitesparse/umfpack.h libsuitesparse-dev # for sptrsm-factor
want_header superlu/slu_ddefs.h libsuperlu-dev
install_wanted

options=("-DSPTRSM_WERROR=${SPTRSM_WERROR:-OFF}")
if command -v ccache >/dev/null; then
  for language in C CXX CUDA; do options+=("-DCMAKE_${language}_COMPILER_LAUNCHER=ccache"); done
fi
if [[ ${SPTRSM_CUDA:-} != OFF ]] && find_nvcc; then
  cuda=(-DSPTRSM_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$(gpu_architecture 90)")
else
  cuda=(-DSPTRSM_CUDA=OFF)
fi

# build_and_test FOLDER OPTION...: stops at a failed build; a failed test is remembered, so that the rest still runs.
failed=()
build_and_test() {
  local folder=$1 start=$SECONDS
  shift
  say "$folder: build ($*)"
  cmake -S . -B "$folder" -G Ninja "${options[@]}" "$@" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; die "configuring $folder failed"; }
  cmake --build "$folder" --parallel "$JOBS" >>"$folder.log" 2>&1 || { tail -n 60 "$folder.log" >&2; die "building $folder failed (whole log: $folder.log)"; }
  echo "built in $((SECONDS - start)) s"
  say "$folder: tests"
  ctest --test-dir "$folder" --output-on-failure --parallel "$JOBS" || failed+=("tests of $folder")
}

mkdir -p build
say "House rules"
scripts/check-rules.sh || failed+=("house rules")
build_and_test build/test "${cuda[@]}"
say "Exported symbols"
scripts/check-rules.sh --symbols build/test || failed+=("exported symbols")
build_and_test build/test-asan -DSPTRSM_CUDA=OFF -DSPTRSM_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo

say "Result after $SECONDS s"
if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "All checks passed."
