#!/usr/bin/env bash
# packages.sh [OUT] -- writes the Debian packages to OUT (default: build/packages), and has lintian check them where it is installed.
# With the CUDA methods where SPTRSM_CUDA=ON is set and nvcc is found (SPTRSM_ARCHITECTURES, default: all-major). The maintainer is
# DEBFULLNAME <DEBEMAIL>, as for Debian's own tools.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

out=${1:-build/packages}
need_build_tools
need dpkg-buildflags dpkg-dev
need file file
install_missing
want_header suitesparse/umfpack.h libsuitesparse-dev # for sptrsm-factor
want_header superlu/slu_ddefs.h libsuperlu-dev
want_header png.h libpng-dev # for pictures of sptrsm-info as PNG
install_wanted

build=build/packages-cpu
cuda=(-DSPTRSM_CUDA=OFF)
if [[ ${SPTRSM_CUDA:-OFF} == ON ]]; then
  find_nvcc || die "SPTRSM_CUDA=ON, but there is no nvcc"
  build=build/packages-cuda
  cuda=(-DSPTRSM_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$(tr ' ' ';' <<<"${SPTRSM_ARCHITECTURES:-all-major}")")
fi
maintainer=()
[[ -z ${DEBEMAIL:-} ]] || maintainer=("-DSPTRSM_MAINTAINER=${DEBFULLNAME:-libsptrsm developers} <$DEBEMAIL>")

mkdir -p "$build" "$out"
quietly() { "$@" >>"$build.log" 2>&1 || { tail -n 40 "$build.log" >&2; die "failed: $*   (whole log: $ROOT/$build.log)"; }; }
: >"$build.log"
say "Building in $build"
eval "$(DEB_CFLAGS_STRIP=-g DEB_CXXFLAGS_STRIP=-g DEB_BUILD_MAINT_OPTIONS=hardening=+bindnow dpkg-buildflags --export=sh)"
quietly cmake -S . -B "$build" -G Ninja "${cuda[@]}" "${maintainer[@]}" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  "-DCMAKE_INSTALL_LIBDIR=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" -DCMAKE_SKIP_INSTALL_RPATH=ON \
  -DSPTRSM_ZSH_COMPLETIONS=share/zsh/vendor-completions -DSPTRSM_BUILD_TESTS=OFF -DSPTRSM_BUILD_EXAMPLES=OFF -DSPTRSM_MPI=OFF # packages of one MPI would exclude the others
quietly cmake --build "$build" --parallel "$JOBS"
rm -f "$build"/*.deb
(cd "$build" && cpack) >>"$build.log" 2>&1 || { tail -n 20 "$build.log" >&2; die "cpack failed (whole log: $ROOT/$build.log)"; }
packages=("$build"/*.deb)
cp "${packages[@]}" "$out"
(cd "$build" && ls -l -- *.deb)
command -v lintian >/dev/null || { echo "not checked: lintian is not installed"; exit 0; }
suppressed=()
[[ ${DEBEMAIL:-} ]] || suppressed=(--suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog) # nobody has said who maintains these packages
say "lintian"
lintian --fail-on error "${suppressed[@]}" "${packages[@]}"
echo "lintian: no errors"
