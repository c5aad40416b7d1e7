#!/usr/bin/env bash
# Proves the CUDA methods on the GPU of this machine: build, tests with label gpu, compute-sanitizer, and the benchmark beside
# cuSPARSE in the same run. Prints a short table last. See docs/benchmarking.md.
#
#   scripts/gpu-check.sh [--data FOLDER] [--factors FOLDER] [--deps PREFIX] [--out FOLDER] [--nrhs LIST] [--methods LIST] [--bench-args "ARGS"]
#                        [--parts LIST] [--soak MINUTES] [--batch-args "ARGS"] [--schur-args "ARGS"] [--devices-args "ARGS"] [--stream-args "ARGS"]
#
#   --data    folder of triangles (.h5) to measure; default: data/
#   --factors folder of NAME_splu.h5 and NAME_rhs.h5 to solve with every method; default: data/
#   --deps    a prefix with unpacked packages (dpkg -x) for what the machine lacks: Criterion, Jansson
#   --methods to measure, default all; --bench-args: more options and inputs of sptrsm-bench, separated by blanks
#   --parts   of build,test,sanitize,factors,bench,batch,schur,devices,stream,pages; default: all but the last five. pages: the code blocks of documentation
#             that need a device, in Python where it has NumPy, SciPy and pytest
#   --soak    random plans, solves, new values and captures on four threads for MINUTES, beside the parts; default: a few in the tests
#   --batch-args for compare_batch_cuda, which the part batch runs after the tests of batches (with "batch" and without "build" and
#             "test" it builds and tests no more than these): --cudss FILE and others, separated by blanks
#   --schur-args for compare_schur_cuda, which the part schur runs after the tests of Schur complements and memcheck on them; likewise
#   --devices-args for compare_devices, which the part devices runs after the tests of clones and of several contexts, those of the program,
#             and memcheck; likewise. Its first argument is a file of factors
#   --stream-args for compare_stream, which the part stream runs after the tests of factors that stream and memcheck; likewise
#   --out     where logs and bench.json go; default: the build folder
set -euo pipefail
cd "$(dirname "$0")/.."

data=data factors=data deps= out= nrhs=1,32,128 parts=build,test,sanitize,factors,bench methods=all bench_args=() batch_args=() schur_args=() stream_args=() soak=
devices_args=(data/sherman5_splu.h5)
while [ $# -gt 0 ]; do
  case $1 in
  --data) data=$2 ;;
  --factors) factors=$2 ;;
  --deps) deps=$(realpath "$2") ;;
  --out) out=$2 ;;
  --nrhs) nrhs=$2 ;;
  --methods) methods=$2 ;;
  --bench-args) read -ra bench_args <<<"$2" ;;
  --parts) parts=$2 ;;
  --soak) soak=$2 ;;
  --batch-args) read -ra batch_args <<<"$2" ;;
  --schur-args) read -ra schur_args <<<"$2" ;;
  --devices-args) read -ra devices_args <<<"$2" ;;
  --stream-args) read -ra stream_args <<<"$2" ;;
  -h | --help) sed -n '2,23p' "$0" && exit 0 ;;
  *) echo "gpu-check.sh: unknown option $1; try --help" >&2 && exit 2 ;;
  esac
  shift 2
done
has() { [[ ",$parts," == *",$1,"* ]]; }

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || { echo "gpu-check.sh: no GPU is visible" >&2; exit 7; }
if [ -n "$deps" ]; then
  libraries=$deps/usr/lib/x86_64-linux-gnu
  find "$libraries/pkgconfig" -name '*.pc' -exec sed -i "s|^prefix=.*|prefix=$deps/usr|" {} +
  export CMAKE_PREFIX_PATH=$deps/usr PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries:${LD_LIBRARY_PATH:-}
  export LIBRARY_PATH=$libraries CMAKE_LIBRARY_PATH=$libraries
  command -v pkg-config >/dev/null || export PATH=$PATH:$deps/usr/bin
fi
build=build/gpu
out=${out:-$build}
mkdir -p "$out"

if has build; then
  cmake --preset gpu >"$out/configure.log" 2>&1 || { tail -30 "$out/configure.log"; exit 1; }
  cmake --build --preset gpu >"$out/build.log" 2>&1 || { grep -E 'error|FAILED' -A5 "$out/build.log" | head -60; exit 1; }
fi
failed=0
if has test; then
  ctest --test-dir $build -L gpu --output-on-failure --no-tests=error 2>&1 | tee "$out/ctest.log" | tail -40 || failed=1
fi
if [ -n "$soak" ]; then
  log=$out/soak.log
  if SOAK_SECONDS=$((60 * soak)) SOAK_SEED=${SOAK_SEED:-$(date +%s)} "$build/tests/core/test_soak" --timeout $((60 * soak + 600)) >"$log" 2>&1; then
    echo "soak of $soak minutes: $(grep 'threads:' "$log")"
  else
    echo "soak: FAILED" && grep -vE '^\[====\]' "$log" | head -20 && failed=1
  fi
fi
# Small systems: the tools slow kernels down a hundredfold. The tests that time how long giving up takes are left out. racecheck takes words in
# shared memory that are their own flags, read and written by relaxed accesses without a barrier, for races: the three kernels that use
# them are left to the emulator's tests (docs/simt.md), the others must be clean.
if has sanitize; then
  for tool in memcheck racecheck synccheck initcheck; do
    log=$out/sanitize-$tool.log leave_out=()
    if [ $tool = racecheck ]; then
      for kernel in levels_lanes_kernel levels_warps_kernel syncfree_csr_block_kernel syncfree_csc_one_kernel; do
        leave_out+=(--kernel-name-exclude "kernel_substring=$kernel")
      done
    fi
    if SPTRSM_PATIENCE=100 timeout 240 compute-sanitizer --tool $tool "${leave_out[@]}" --error-exitcode 9 --target-processes all "$build/tests/core/test_gpu_small" --filter '!(gpu_lost)/*' >"$log" 2>&1; then
      echo "compute-sanitizer $tool: $(grep -E 'SUMMARY' "$log" | tail -1)"
    else
      echo "compute-sanitizer $tool: FAILED" && grep -E '=========|FAIL|Assert' "$log" | head -20 && failed=1
    fi
  done
fi
# Every method of the device; those that can't take a factor set say so, which is no failure.
if has factors; then
  cuda_methods=$("$build/apps/sptrsm-info" --methods | awk '$2 == "cuda" { print $1 }')
  for rhs in "$factors"/*_rhs.h5; do
    set=${rhs%_rhs.h5}
    for method in auto $cuda_methods; do
      code=0
      "$build/apps/sptrsm-solve" "${set}_splu.h5" "$rhs" --device cuda --method "$method" --force -q -o "$out/x.h5" 2>"$out/solve.log" || code=$?
      if [ $code = 2 ]; then
        echo "$(basename "$set") $method: not supported: $(head -1 "$out/solve.log")"
        continue
      fi
      if [ $code != 0 ]; then
        echo "$(basename "$set") $method: FAILED: $(cat "$out/solve.log")" && failed=1
        continue
      fi
      "$build/apps/sptrsm-verify" "${set}_splu.h5" "$rhs" "$out/x.h5" >"$out/verify.log" || { failed=1 && cat "$out/verify.log"; }
      echo "$(basename "$set") $method: $(grep X_true "$out/verify.log" | tr -s ' ')"
    done
  done
fi
if has bench; then
  "$build/apps/sptrsm-bench" "$data" --nrhs "$nrhs" --methods "$methods" --json "$out/bench.json" --force "${bench_args[@]}" | tee "$out/bench.txt" || failed=1
fi
# Builds what a part needs, unless everything is built.
build_targets() {
  if has build; then return; fi
  cmake --preset gpu >"$out/configure.log" 2>&1 || { tail -30 "$out/configure.log"; exit 1; }
  cmake --build --preset gpu --target gpu_present "$@" >"$out/build.log" 2>&1 || { grep -E 'error|FAILED' -A5 "$out/build.log" | head -60; exit 1; }
}
memcheck() { # memcheck TEST FILTER LOG
  if timeout 240 compute-sanitizer --tool memcheck --error-exitcode 9 --target-processes all "$build/tests/core/$1" --jobs 1 --filter "$2" >"$3" 2>&1; then
    echo "compute-sanitizer memcheck: $(grep -E 'SUMMARY' "$3" | tail -1)"
  else
    failed=1
    echo "compute-sanitizer memcheck: FAILED"
    grep -E '=========|FAIL|Assert' "$3" | head -20 || true
  fi
}
if has batch; then
  build_targets test_batch_gpu test_batch_errors_gpu compare_batch_cuda sptrsm-gen sptrsm-solve
  ctest --test-dir $build -R '^batch_(errors_)?gpu$' --output-on-failure --no-tests=error 2>&1 | tee "$out/batch-test.log" | tail -20 || failed=1
  memcheck test_batch_errors_gpu 'batch_errors/*' "$out/batch-errors-memcheck.log"
  memcheck test_batch_gpu 'mixed/f64' "$out/batch-mixed-memcheck.log"
  "$build/apps/compare_batch_cuda" "${batch_args[@]}" | tee "$out/batch.txt" || failed=1
  # What the bound of a mixed batch's workspace costs: its own panel, then others, then limits of 1 GiB and 512 MiB (a quarter of what is
  # said), by which the items are solved in two and three parts. Generating subdomains needs SuiteSparse.
  if "$build/apps/sptrsm-gen" feti 10 10 -o "$out/feti.h5"; then
    rm -f "$out/batch-panels.txt"
    for memory in '' '--panel 8' '--panel 32' '--panel 128' '--memory-limit 4G' '--memory-limit 2G'; do
      # shellcheck disable=SC2086 # two words
      "$build/apps/sptrsm-solve" "$out/feti.h5" "$out/feti.h5" -o "$out/feti_x.h5" --force --device cuda $memory |
        grep -E '^(method|time)' | tee -a "$out/batch-panels.txt" || failed=1
    done
  fi
fi
if has schur; then
  build_targets test_schur_gpu compare_schur_cuda
  ctest --test-dir $build -R '^schur_gpu$' --output-on-failure --no-tests=error 2>&1 | tee "$out/schur-test.log" | tail -20 || failed=1
  memcheck test_schur_gpu 'schur/@(new_values|a_dense|a_bad)*' "$out/schur-memcheck.log"
  "$build/apps/compare_schur_cuda" "${schur_args[@]}" | tee "$out/schur.txt" || failed=1
fi
# No page may be left out for want of a device, or lack all that it needs.
if has pages; then
  build_targets src/all apps/all
  ctest --test-dir $build -L device --output-on-failure --no-tests=error --verbose >"$out/pages.log" 2>&1 || failed=1
  grep -E ': [0-9]+ blocks|partly skipped|this block failed|tests passed|\(Failed\)' "$out/pages.log" || failed=1
  if grep -E 'needs [^;]*cuda' "$out/pages.log"; then failed=1; fi
  if python3 -c 'import numpy, scipy, pytest' 2>/dev/null; then
    SPTRSM_LIBRARY=$PWD/$build/src/libsptrsm.so PYTHONPATH=python XLA_PYTHON_CLIENT_PREALLOCATE=false python3 -B -m pytest -q -rs -p no:cacheprovider -k blocks_run python/tests/test_docs.py |
      tee "$out/pages-python.log" || failed=1
  else
    echo "blocks in Python: skipped, since Python has not NumPy, SciPy and pytest"
  fi
fi

# Several devices: those of the machine, two contexts on one of them, a GPU and the host. X of all has few other bits, and the same residual.
if has devices; then
  build_targets test_clone_host_cuda test_clone_cuda_cuda test_clone_cuda_host test_multi_gpu test_multi_mixed test_visitor compare_devices sptrsm-solve \
    sptrsm-verify
  ctest --test-dir $build -R '^(clone_.*|multi_.*|visitor)$' --output-on-failure --no-tests=error 2>&1 | tee "$out/devices-test.log" | tail -20 || failed=1
  memcheck test_multi_gpu 'multi/@(plans|new_values)*' "$out/devices-memcheck.log"
  for list in cuda:0 cuda:0,0 cuda:0,host cuda:all; do
    if "$build/apps/sptrsm-solve" data/sherman5_splu.h5 data/sherman5_rhs.h5 --device $list --stream=1 --force -o "$out/x.h5" >"$out/devices-solve.log" 2>&1 &&
      "$build/apps/sptrsm-verify" data/sherman5_splu.h5 data/sherman5_rhs.h5 "$out/x.h5" >"$out/verify.log"; then
      echo "sptrsm-solve --device $list: $(grep -oE '[0-9]+ panels? in [^,]*' "$out/devices-solve.log" | tr '\n' ';') $(grep X_true "$out/verify.log" | tr -s ' ')"
    else
      echo "sptrsm-solve --device $list: FAILED" && cat "$out/devices-solve.log" && failed=1
    fi
  done
  "$build/apps/compare_devices" "${devices_args[@]}" | tee "$out/devices.txt" || failed=1
  "$build/apps/compare_devices" "${devices_args[@]}" --resident | tee "$out/devices-resident.txt" || failed=1
fi
# Factors that stream from host memory: same bits as on the device; times beside those of the bus.
if has stream; then
  build_targets test_stream_gpu compare_stream
  ctest --test-dir $build -R '^stream_gpu$' --output-on-failure --no-tests=error 2>&1 | tee "$out/stream-test.log" | tail -20 || failed=1
  memcheck test_stream_gpu 'stream/@(factor_sets|borrowed)*' "$out/stream-memcheck.log"
  "$build/apps/compare_stream" "${stream_args[@]}" | tee "$out/stream.txt" || failed=1
  for overlap in 2 3 4; do # kernels of that number of pieces at the same time
    echo "overlap=$overlap"
    "$build/apps/compare_stream" --nrhs 128 "${stream_args[@]}" --method block-streamed:overlap=$overlap | tee "$out/stream-overlap-$overlap.txt" || failed=1
  done
fi
exit $failed
