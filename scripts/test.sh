#!/usr/bin/env bash
# test.sh [--all] -- installs what is missing, builds the project once and runs all its tests.
#   1. rules of the sources (check-rules.sh)
#   2. build, with the CUDA code wherever nvcc is found; all tests, the examples and the install test; rules of the build;
#      the Python package's wheel and its tests, where Python and PyPI are there (check-python.sh)
# --all adds what must hold before a change is merged; .ci/run calls it:
#   3. format (clang-format), ABI beside the stored one (check-abi.sh), the site with the API pages (site.sh), static analysis
#      (clang-tidy), the fuzz targets with their corpora and a fixed number of drawn inputs (fuzz.sh --runs)
#   4. AddressSanitizer + UBSan build of the host code, of the tests and the kernels on the emulator with AddressSanitizer alone; the same
#      tests, without those that scripts/nightly.sh runs there. Tests with the label "sanitized" run there only.
# Tests that need a GPU are reported as skipped where there is none. Settings: JOBS=2, SPTRSM_WERROR=ON, SPTRSM_CUDA=OFF.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

all=
case ${1:-} in
  '') ;;
  --all) all=yes ;;
  *) die "usage: test.sh [--all]" ;;
esac

need_build_tools
need_header criterion/criterion.h libcriterion-dev
if [[ $all ]]; then
  need clang clang
  need clang-format-14 clang-format-14
  need clang-tidy-14 clang-tidy-14
  need doxygen doxygen
  need abidiff abigail-tools
fi
install_missing
want_header suitesparse/umfpack.h libsuitesparse-dev # for sptrsm-factor
want_header superlu/slu_ddefs.h libsuperlu-dev
command -v mpicc >/dev/null || WANTED+=(libopenmpi-dev) # for several ranks of sptrsm-solve
want_header png.h libpng-dev # for pictures of sptrsm-info as PNG
want_header eigen3/Eigen/SparseLU libeigen3-dev # for the tests of bindings
command -v gfortran >/dev/null || WANTED+=(gfortran)
python_works || WANTED+=(python3 python3-venv) # for the Python package
install_wanted

options=("-DSPTRSM_WERROR=${SPTRSM_WERROR:-OFF}")
if command -v ccache >/dev/null; then
  for language in C CXX CUDA; do options+=("-DCMAKE_${language}_COMPILER_LAUNCHER=ccache"); done
fi
if [[ ${SPTRSM_CUDA:-} != OFF ]] && find_nvcc; then
  fast=
  # Kernels that no GPU here will run are compiled in a third of the time, without most optimizations.
  if [[ $all ]] && ! gpu_visible && [[ $(nvcc --help) == *--Ofast-compile* ]]; then fast=-Ofc=max; fi
  cuda=(-DSPTRSM_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$(gpu_architecture 90)" "-DCMAKE_CUDA_FLAGS=$fast")
else
  cuda=(-DSPTRSM_CUDA=OFF)
fi

# A failed check is remembered, so that the rest still runs; a failed build ends the script.
failed=()
check() { # check NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  say "$name"
  "$@" || failed+=("$name")
  echo "($name: $((SECONDS - start)) s)"
}
# beside NAME COMMAND...: a check that hardly uses more than one processor, while others run; its output is shown by wait_beside.
beside=()
beside() {
  local log="build/${1// /-}.log"
  ("${@:2}" >"$log" 2>&1) &
  beside+=("$!:$log:$1:$SECONDS")
}
wait_beside() {
  local entry pid log name start
  for entry in "${beside[@]}"; do
    IFS=: read -r pid log name start <<<"$entry"
    wait "$pid" || failed+=("$name")
    say "$name"
    cat "$log"
    echo "($name: ended $((SECONDS - start)) s after it began, beside others)"
  done
  beside=()
}
build() { # build FOLDER OPTION...
  local folder=$1 start=$SECONDS
  shift
  say "$folder: build ($*)"
  cmake -S . -B "$folder" -G Ninja "${options[@]}" "$@" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; die "configuring $folder failed"; }
  cmake --build "$folder" --parallel "$JOBS" >>"$folder.log" 2>&1 || { tail -n 60 "$folder.log" >&2; die "building $folder failed (whole log: $folder.log)"; }
  echo "built in $((SECONDS - start)) s"
}
run_tests() { ctest --test-dir "$1" --output-on-failure --parallel "$JOBS"; } # run_tests FOLDER

mkdir -p build
check "rules of the sources" scripts/check-rules.sh
build build/test "${cuda[@]}" "-DSPTRSM_LEAVE_OUT_TESTS=${all:+sanitized}"
check "tests of build/test" run_tests build/test
check "rules of the build" scripts/check-rules.sh --build build/test
if [[ $all ]]; then
  # The library is compiled with all optimizations by scripts/nightly.sh python, and above.
  beside "Python package" env "CMAKE_ARGS=${CMAKE_ARGS:-} -DCMAKE_C_FLAGS_RELEASE=-O1" scripts/check-python.sh
  check "format" scripts/check-format.sh
  check "ABI" scripts/check-abi.sh
  check "site, with the API pages" scripts/site.sh
  check "static analysis" scripts/check-tidy.sh build/test
  check "fuzz targets" scripts/fuzz.sh --runs 1000
  wait_beside
  build build/test-asan -DSPTRSM_CUDA=OFF -DSPTRSM_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSPTRSM_BUILD_BINDINGS=OFF \
    -DSPTRSM_LEAVE_OUT_TESTS=nightly_sanitized -DSPTRSM_TEST_OPTIONS=-fno-sanitize=undefined
  check "tests of build/test-asan" run_tests build/test-asan
else
  check "Python package" scripts/check-python.sh
fi

say "Result after $SECONDS s"
if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "All checks passed."
