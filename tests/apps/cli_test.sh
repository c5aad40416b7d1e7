#!/usr/bin/env bash
# Tests of the command-line programs: cli_test.sh SECTION BIN_DIR HELPER DATA_DIR [FAIL_ONCE]
# Each section runs in a folder of its own. `run` keeps exit code, stdout and stderr of a program; `code`, `says`, `warns`
# and the like check them and count failures. A section that can't run here exits with 77.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
section=$1 bin=$(realpath "$2") helper=$(realpath "$3") data=$(realpath "$4") fail_once=${5:+$(realpath "$5")}
PATH=$bin:$PATH
unset NO_COLOR
export LC_ALL=C OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
export CUDA_VISIBLE_DEVICES= # on the host also where there is a GPU, on which `auto` would solve, with other bits
work=$(mktemp -d "${TMPDIR:-/tmp}/cli_${section}.XXXXXX") && cd "$work" || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
failures=0 checks=0

# ---- tools ----

run() { last="$*"; "$@" >stdout 2>stderr; rc=$?; }
# background COMMAND...: starts a program as $pid, with its output in stdout and stderr. Both files are empty before it starts, so text that is
# found in them later was written by this program. A signal must not be sent before there is such text: until exec the process is a bash,
# which would end in another way. Job control is on because without it bash makes background programs ignore SIGINT.
background() {
  last="$*"
  rm -f stdout stderr
  : >stdout
  : >stderr
  set -m
  (trap - EXIT; exec "$@") >>stdout 2>>stderr &
  pid=$!
  set +m
}
# limited OPTION VALUE COMMAND...: the command with a limit of ulimit, e.g. -f and the kB that its files may have. In a build for coverage gcov's
# own files would be cut off, too, and with them all counts so far, so those of this run go elsewhere.
limited() { (ulimit "$1" "$2"; shift 2; GCOV_PREFIX=$work/gcov exec "$@"); }
# ended: waits for the end of the program in the background and keeps its exit code
ended() { wait $pid 2>/dev/null; rc=$?; }
# until_true COMMAND...: runs the command every hundredth of a second until it succeeds. Fails when the program in the background ends
# without that, or after several minutes.
until_true() {
  local k running
  for ((k = 0; k < 20000; k++)); do
    running=0
    kill -0 $pid 2>/dev/null && running=1
    "$@" && return 0
    [ $running = 1 ] || return 1
    sleep 0.01
  done
  return 1
}
# until_said PATTERN FILE: waits until the program in the background has written a text line that fits to FILE, stdout or stderr
until_said() { until_true grep -qE "$1" "$2" || fail "never said in $2: $1"; }
fail() { failures=$((failures + 1)); printf 'FAIL: %s\n      after: %s\n' "$1" "$last"; sed 's/^/      | /' stdout stderr; }
check() { checks=$((checks + 1)); }
code() { check; [ "$rc" = "$1" ] || fail "exit code $rc, expected $1"; }
says() { check; grep -qF -- "$1" stdout || fail "stdout lacks: $1"; }
warns() { check; grep -qF -- "$1" stderr || fail "stderr lacks: $1"; }
# without_times FILE: prints a summary with T and S in place of times and speeds, which differ from run to run
without_times() { sed -E 's/[0-9.e+-]+ (us|ms|s|min)([, ]|$)/T\2/g; s/[0-9.e+-]+ GFLOP/S GFLOP/' "$1"; }
silent() { check; [ ! -s stdout ] && [ ! -s stderr ] || fail "expected no output"; }
exists() { check; [ -e "$1" ] || fail "$1 is missing"; }
missing() { check; [ ! -e "$1" ] || fail "$1 should not be there"; }
same() { check; cmp -s "$1" "$2" || fail "$1 and $2 differ"; }
no_leftovers() { check; [ -z "$(find . -name '.*.??????' -type f)" ] || fail "a temporary file is left: $(find . -name '.*.??????')"; }
field() { "$helper" json "$@"; } # field FILE key ...: the value in a JSON report
equals() { check; [ "$1" = "$2" ] || fail "got '$1', expected '$2'"; }
# at_most X LIMIT: X is a number and not above the limit; null and nothing are no numbers
at_most() { check; [[ $1 =~ ^-?[0-9] ]] && awk "BEGIN { exit !($1 <= $2) }" || fail "'$1' is above $2"; }
# rejects CODE TEXT command ...: the program fails with that code and a message that contains TEXT, and prints nothing on stdout
rejects() { local want=$1 text=$2; shift 2; run "$@"; code "$want"; warns "$text"; check; [ ! -s stdout ] || fail "stdout should be empty"; }
golden() { check; diff -u - "$1" >difference || { fail "output differs"; cat difference; }; }
built() { [ ! -x "$bin/sptrsm-$1" ] || echo "$1"; } # names a program that not every build has
system() { run sptrsm-gen -q "$@" -o s.h5 --force; code 0; } # s.h5 and s_rhs.h5
solves() { run sptrsm-solve -q s.h5 s_rhs.h5 --force "$@"; code 0; silent; }
verifies() { run sptrsm-verify -q s.h5 s_rhs.h5 s_rhs.solution.h5 "$@"; code 0; silent; }
# market FILE KIND TEXT_LINE ...: writes a Matrix Market file
market() {
  local file=$1
  printf '%%%%MatrixMarket matrix coordinate real %s\n' "$2" >"$file"
  shift 2
  printf '%s\n' "$@" >>"$file"
}

for file in solve batch schur rows refine files stream parts split ranks devices programs bench factor failures; do . "$here/cli_$file.sh"; done
declare -F "test_$section" >/dev/null || { echo "cli_test.sh: no section $section" >&2; exit 2; }
"test_$section"
echo "$section: $checks checks, $failures failed"
[ $failures = 0 ] && [ $checks -gt 0 ]
