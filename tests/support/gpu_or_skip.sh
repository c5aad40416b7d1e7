#!/bin/sh
# gpu_or_skip.sh PRESENT TEST [ARGUMENTS]: runs TEST where PRESENT finds a device, else 77, which ctest reports as skipped.
[ -x "$1" ] || { echo "$1 is not built"; exit 1; }
"$1" || { echo "skipped: no CUDA device"; exit 77; }
shift
exec "$@"
