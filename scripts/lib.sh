# lib.sh -- shared by the scripts: find the project, install what is missing, find CUDA. Sourced, not run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
JOBS=${JOBS:-$(nproc)}
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1 # what one clone has compiled serves the others

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# need COMMAND-or-file PACKAGE: notes PACKAGE as missing unless the command is on PATH or the file exists.
MISSING=()
need() {
  case $1 in
    /*) compgen -G "$1" >/dev/null && return ;;
    *) command -v "$1" >/dev/null && return ;;
  esac
  MISSING+=("$2")
}

# A C or C++ header, looked for where the compilers look on Debian and Ubuntu, and in /usr/local.
need_header() {
  local folder
  for folder in /usr/local/include /usr/include /usr/include/*-linux-gnu /usr/include/hdf5/serial; do
    [[ -e $folder/$1 ]] && return
  done
  MISSING+=("$2")
}

# want_header HEADER PACKAGE: as need_header, but without it only a part is left out.
WANTED=()
want_header() {
  local missing=("${MISSING[@]}")
  need_header "$@"
  [[ ${#MISSING[@]} -eq ${#missing[@]} ]] || WANTED+=("$2")
  MISSING=("${missing[@]}")
}

# Installs what want_header noted if that works.
install_wanted() {
  [[ ${#WANTED[@]} -eq 0 ]] && return
  local missing=("${WANTED[@]}")
  WANTED=() MISSING=("${missing[@]}")
  (install_missing) || echo "going on without ${missing[*]}"
  MISSING=()
}

need_build_tools() {
  need gcc gcc
  need g++ g++
  need cmake cmake
  need ninja ninja-build
  need pkg-config pkg-config
  need_header stdlib.h libc6-dev
  need_header hdf5.h libhdf5-dev
  need_header jansson.h libjansson-dev
  need_header zlib.h zlib1g-dev
}

# Installs what need* noted, and nothing else.
install_missing() {
  [[ ${#MISSING[@]} -eq 0 ]] && return
  local sudo=()
  command -v apt-get >/dev/null || die "missing: ${MISSING[*]} (names as in Debian); there is no apt-get here, so install them by other means and run this again"
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || die "missing packages: ${MISSING[*]}; run this as root, or first: apt-get install ${MISSING[*]}"
    sudo=(sudo)
  fi
  say "Installing ${MISSING[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q || die "apt-get update failed; is the network there?"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${MISSING[@]}" ||
    die "apt-get could not install: ${MISSING[*]}"
  MISSING=()
}

# Puts nvcc on PATH if there is one; fails if not.
find_nvcc() {
  local folder
  command -v nvcc >/dev/null && return
  for folder in "${CUDA_HOME:-}" /usr/local/cuda /usr/local/cuda-*; do
    [[ -n $folder && -x $folder/bin/nvcc ]] && { PATH=$PATH:$folder/bin; return; }
  done
  return 1
}

gpu_visible() { nvidia-smi -L 2>/dev/null | grep -q GPU || [[ -e /dev/nvidia0 ]]; }

# Compute capability of the first GPU as CMake writes it (90), or the argument where it can't be asked.
gpu_architecture() {
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ' || true)
  if [[ $capability =~ ^[0-9]+$ ]]; then echo "$capability"; else echo "$1"; fi
}

# A Python for the package: the oldest that it supports or a newer one, with the means to make virtual environments.
python_works() { python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; }

# make_venv FOLDER PACKAGE...: a fresh virtual environment with packages of PyPI. Fails, and says why, without Python or PyPI.
make_venv() {
  local folder=$1
  shift
  python_works || { echo "there is no Python >= 3.9 with venv (Debian: python3-venv)"; return 1; }
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  python3 -m venv "$folder" >"$folder.log" 2>&1 && "$folder/bin/python" -m pip install --no-compile "$@" >>"$folder.log" 2>&1 ||
    { tail -n 5 "$folder.log"; echo "the Python packages $* could not be installed from PyPI (whole log: $folder.log)"; return 1; }
}
