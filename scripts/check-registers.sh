#!/usr/bin/env bash
# check-registers.sh [--update] -- compiles one file of each family of CUDA kernels for five architectures, and holds what ptxas says of
# registers and spills against scripts/registers.txt, so that a change shows in review. --update writes that file anew.
# Both depend on the compiler: another release of nvcc than that of the table compiles the files, and compares nothing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
update=
case ${1:-} in
'') ;;
--update) update=1 ;;
-h | --help) sed -n '2,4p' "$0" && exit 0 ;;
*) echo "check-registers.sh: unknown option $1; try --help" >&2 && exit 2 ;;
esac
find_nvcc || { echo "skipped: no nvcc"; exit 0; }

table=scripts/registers.txt
files=(src/trsm/block/gpu/{f32,f64,c64,c128}.cu src/trsm/gather/f64.cu src/trsm/syncfree_csc/kernels.cu src/trsv/levelset/gpu/kernels.cu
  src/trsv/recblock/syncfree_kernels.cu src/trsv/structgrid/{pencils,tiles}/f64.cu src/trsv/syncfree_csr/packed_kernels.cu
  src/trsv/tiles/levelset/kernels.cu)
architectures=(75 80 90 100 120)

# A line of the table: FILE ARCHITECTURE, then its kernels, the most registers of one and those of all, bytes of spill stores and of loads.
measure() { # measure FILE ARCHITECTURE
  local log
  local ptx=$(($2 < 90 ? $2 : 90)) # as builds for all architectures have it (cmake/SptrsmArchitectures.cmake)
  log=$(nvcc -std=c++17 -O3 -DNDEBUG -Isrc -Iinclude -gencode "arch=compute_$ptx,code=sm_$2" -Xptxas -v -cubin -o /dev/null "$1" 2>&1) ||
    { printf '%s, sm_%s: %s\n' "$1" "$2" "$log" >&2; return 255; }
  awk -v name="$1" -v architecture="$2" '
    match($0, /Used [0-9]+ registers/) {
      used = substr($0, RSTART + 5) + 0
      kernels++; all += used
      if (used > most) most = used
    }
    match($0, /[0-9]+ bytes spill stores/) { stores += substr($0, RSTART) }
    match($0, /[0-9]+ bytes spill loads/) { loads += substr($0, RSTART) }
    END { print name, architecture, kernels + 0, most + 0, all + 0, stores + 0, loads + 0 }' <<<"$log"
}
export -f measure

release=$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
found=$(for file in "${files[@]}"; do printf "$file %s\n" "${architectures[@]}"; done |
  xargs -P "$JOBS" -L 1 bash -c 'measure "$@"' - | sort -k1,1 -k2,2n)
made=$(
  echo "# nvcc $release. Made by scripts/check-registers.sh --update."
  printf '%s\n' "file architecture kernels most-registers all-registers spill-stores spill-loads" "$found" |
    awk '{ printf "%-40s %12s %7s %14s %13s %12s %11s\n", $1, $2, $3, $4, $5, $6, $7 }'
)
if [[ $update ]]; then
  echo "$made" >"$table"
  exit
fi
grep -qF "# nvcc $release." "$table" || { echo "nvcc $release compiles all; $table is of another release"; exit 0; }
diff -u --label "$table" --label "this code" "$table" - <<<"$made" || die "registers or spills have changed: if that is meant, run scripts/check-registers.sh --update"
echo "registers and spills are those of $table"
