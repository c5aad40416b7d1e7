#!/usr/bin/env bash
# Tests of the command-line programs: cli_test.sh SECTION BIN_DIR HELPER DATA_DIR
# Each section runs in a folder of its own. `run` keeps exit code, stdout and stderr of a program; `code`, `says`, `warns`
# and the like check them and count failures. A section that can't run here exits with 77.
section=$1 bin=$(realpath "$2") helper=$(realpath "$3") data=$(realpath "$4")
PATH=$bin:$PATH
unset NO_COLOR
export LC_ALL=C OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
work=$(mktemp -d "${TMPDIR:-/tmp}/cli_${section}.XXXXXX") && cd "$work" || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
failures=0 checks=0

# ---- tools ----

run() { last="$*"; "$@" >stdout 2>stderr; rc=$?; }
fail() { failures=$((failures + 1)); printf 'FAIL: %s\n      after: %s\n' "$1" "$last"; sed 's/^/      | /' stdout stderr; }
check() { checks=$((checks + 1)); }
code() { check; [ "$rc" = "$1" ] || fail "exit code $rc, expected $1"; }
says() { check; grep -qF -- "$1" stdout || fail "stdout lacks: $1"; }
warns() { check; grep -qF -- "$1" stderr || fail "stderr lacks: $1"; }
silent() { check; [ ! -s stdout ] && [ ! -s stderr ] || fail "expected no output"; }
exists() { check; [ -e "$1" ] || fail "$1 is missing"; }
missing() { check; [ ! -e "$1" ] || fail "$1 should not be there"; }
same() { check; cmp -s "$1" "$2" || fail "$1 and $2 differ"; }
no_leftovers() { check; [ -z "$(find . -name '.*.??????' -type f)" ] || fail "a temporary file is left: $(find . -name '.*.??????')"; }
field() { "$helper" json "$@"; }                                     # field FILE key ...: the value in a JSON report
equals() { check; [ "$1" = "$2" ] || fail "got '$1', expected '$2'"; }
at_most() { check; awk "BEGIN { exit !($1 <= $2) }" || fail "$1 is above $2"; }   # NaN and null fail
# rejects CODE TEXT command ...: the program fails with that code, says that, and suggests nothing on stdout
rejects() { local want=$1 text=$2; shift 2; run "$@"; code "$want"; warns "$text"; check; [ ! -s stdout ] || fail "stdout should be empty"; }
golden() { check; diff -u - "$1" >difference || { fail "output differs"; cat difference; }; }
system() { run sptrsm-gen -q "$@" -o s.h5 --force; code 0; }          # s.h5 and s_rhs.h5
solves() { run sptrsm-solve -q s.h5 s_rhs.h5 --force "$@"; code 0; silent; }
verifies() { run sptrsm-verify -q s.h5 s_rhs.h5 s_rhs.solution.h5 "$@"; code 0; silent; }

# ---- sections ----

test_help() {
  for name in solve info gen verify; do
    run sptrsm-$name --help
    code 0
    check; [ "$(wc -l <stdout)" -le 24 ] || fail "--help is longer than a screen"
    check; [ "$(awk '{ if (length > most) most = length } END { print most }' stdout)" -le 100 ] || fail "--help is wider than 100 columns"
    check; head -1 stdout | grep -q "^sptrsm-" || fail "--help does not begin with an example"
    says "usage: sptrsm-$name"
    run sptrsm-$name --version
    code 0
    check; grep -qE "^sptrsm-$name [0-9]+\.[0-9]+\.[0-9]+$" stdout || fail "wrong --version"
  done
}

test_usage() {
  for name in solve info gen verify; do
    rejects 2 "Try 'sptrsm-$name --help'." sptrsm-$name
    rejects 2 "unknown or ambiguous option '--nonsense'" sptrsm-$name --nonsense
    check; [ "$(wc -l <stderr)" = 2 ] || fail "wrong usage takes one line and a hint"
    rejects 2 "option '--quiet' takes no value" sptrsm-$name --quiet=1
  done
  rejects 2 "option '--device' needs a value" sptrsm-solve a.h5 b.h5 --device
  rejects 2 "give FACTORS and RHS" sptrsm-solve a.h5
  rejects 2 "one argument too many: 'c.h5'" sptrsm-solve a.h5 b.h5 c.h5
  while read -r option value text; do
    rejects 2 "$text" sptrsm-solve a.h5 b.h5 "$option" "$value"
  done <<'END'
--device  gpu      --device: 'gpu' is not one of auto, cpu, cuda
--method  magic    --method: 'magic' is not one of auto, serial
--trans   X        --trans: 'X' is not one of N, T, C
--sys     Z        unknown system "Z"
--uplo    left     --uplo: 'left' is not one of lower, upper
--dtype   f16      --dtype: 'f16' is not one of f32, f64, c64, c128
--alpha   1,x      --alpha: '1,x' is not a number
--cols    4:2      --cols: '4:2' is not a range
--cols    -1:2     --cols: '-1:2' is not a range
--cols    :        --cols: ':' is not a range
--threads 0        --threads: '0' is not a whole number from 1
--panel   many     --panel: 'many' is not a whole number
--compress 10      --compress: '10' is not a whole number from 0 to 9
--memory-limit 3X  --memory-limit: '3X' is not a size
--max-berr nan     --max-berr: 'nan' is not a number
--max-berr -1      --max-berr: -1 is negative
END
  rejects 2 "unknown kind 'cube'" sptrsm-gen cube 3 -o x.h5
  rejects 2 "give D3N7 X Y Z" sptrsm-gen D3N7 3 3 -o x.h5
  rejects 2 "one argument too many: '4'" sptrsm-gen chain 3 4 -o x.h5
  rejects 2 "the order is above" sptrsm-gen D3N7 2000 2000 2000 -o x.h5
  rejects 2 "give the output: -o FILE" sptrsm-gen chain 3
  rejects 2 "--density is for random" sptrsm-gen chain 3 -o x.h5 --density 0.5
  missing x.h5
}

# Every kind, both triangles, four types, both orders, unit or not: the known X comes back, exactly for real numbers.
test_kinds() {
  local round=0
  while read -r kind; do
    for dtype in f32 f64 c64 c128; do
      for uplo in lower upper; do
        round=$((round + 1))
        options="--uplo $uplo --dtype $dtype"
        [ $((round % 2)) = 0 ] && options="$options --order F"
        [ $((round / 2 % 2)) = 0 ] && options="$options --unit"
        system $kind $options --nrhs 3 --seed $round
        op=$(echo N T C | cut -d' ' -f$((round % 3 + 1)))
        solves --trans $op
        run sptrsm-verify s.h5 s_rhs.h5 s_rhs.solution.h5 --trans $op --json
        last="$last # $kind $options"
        code 0
        [ $op = N ] || continue
        case $dtype in
          f32 | f64) equals "$(field stdout max_error)" 0.0 ;;
          c64) at_most "$(field stdout max_error)" 1e-4 ;;
          c128) at_most "$(field stdout max_error)" 1e-12 ;;
        esac
      done
    done
  done <<'END'
D3N7 5 4 3
D3N13 6 5 4
D3N27 4 5 6
D3N33 5 6 5
D2N5 9 7
D2N9 8 9
random 200 --row 6
random 60 --density 0.5
banded 120 7
chain 150
arrow 99
powerlaw 300 --row 5
dense 40
chain 1
END
  system chain 0 --nrhs 2
  solves
  system chain 5 --nrhs 1
  solves --threads 1
}

# Real factors: at most ten times the error of the solver that made them (SciPy), for every method on the host.
test_factors() {
  methods=$(sptrsm-info --methods | awk '$2 == "host" { print $1 }')
  check; [ "$(echo "$methods" | wc -l)" -ge 2 ] || fail "expected at least two methods on the host"
  while read -r name limit; do
    for method in auto $methods; do
      run sptrsm-solve "$data/${name}_splu.h5" "$data/${name}_rhs.h5" -o x.h5 --method "$method" --device cpu --force --json report --max-berr 1e-11
      code 0
      says "perm_r scatter (SciPy); perm_c gather (SciPy)"
      says "against A"
      run sptrsm-verify "$data/${name}_splu.h5" "$data/${name}_rhs.h5" x.h5 --json
      code 0
      at_most "$(field stdout max_error)" "$limit"
      equals "$(field stdout against)" A
      equals "$(field stdout max_berr)" "$(field report residual max_berr)"
    done
  done <<'END'
add32     6.7e-13
circuit_2 6.3e-13
sherman5  1.6e-11
END
  # The transposed system, too, is checked against A.
  run sptrsm-solve -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o x.h5 --trans T --force --max-berr 1e-11
  code 0
  run sptrsm-verify -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" x.h5 --trans T
  code 0
  run sptrsm-verify -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" x.h5
  code 1
}

# Every system of CHOLMOD and UMFPACK on factor sets with all parts, checked against the product of the factors.
test_systems() {
  for dtype in f64 c128; do
    for variant in 0 1 2 3; do
      rm -f set.h5 set_rhs.h5
      run "$helper" set set.h5 $dtype $variant
      code 0
      ops="N T C"
      [ $dtype = f64 ] && ops=N
      for system in A At Aat L Lt Lat U Ut Uat D LDLt LD DLt P Pt Pt_L Lt_P Lat_P U_Qt Q_Ut Q_Uat; do
        for op in $ops; do
          run sptrsm-solve -q set.h5 set_rhs.h5 -o x.h5 --force --sys $system --trans $op --max-berr 1e-12
          last="$last # variant $variant $dtype"
          code 0
        done
      done
    done
  done
  run sptrsm-verify set.h5 set_rhs.h5 x.h5 --sys Q_Uat --trans C
  code 0
  says "against the product of the factors"
  run sptrsm-verify -q set.h5 set_rhs.h5 x.h5 --sys Q_Ut --trans C
  code 1
  run sptrsm-solve -q set.h5 set_rhs.h5 -o x.h5 --force --sys CHOLMOD_LDLt --verify
  code 0
  system chain 20 --uplo upper
  rejects 2 "--sys L needs a factor set, this is one upper triangle; use --trans" sptrsm-solve s.h5 s_rhs.h5 --sys L
  solves --sys U
}

test_columns() {
  system D2N5 8 9 --nrhs 6
  solves --cols 2:5
  verifies --cols 2:5
  run sptrsm-solve s.h5 s_rhs.h5 --cols 3 --force --json -
  code 0
  equals "$(field stdout rhs columns)" "[3,4]"
  equals "$(field stdout rhs nrhs)" 1
  warns "1 column, 2-D dataset, C order (attribute) (of 6, from column 3)"
  verifies --cols 3:4
  run sptrsm-verify -q s.h5 s_rhs.h5 s_rhs.solution.h5 --cols 4
  code 1
  rejects 3 "has 1 columns" sptrsm-verify s.h5 s_rhs.h5 s_rhs.solution.h5 --cols 0:2
  rejects 2 "columns 4:9 asked for, but it has 6" sptrsm-solve s.h5 s_rhs.h5 --cols 4:9 --force
  solves --cols 4: --rhs-order C
  verifies --cols 4:6
  system D2N5 8 9 --nrhs 6 --order F
  solves --cols :2 --panel 1
  verifies --cols 0:2
  rejects 3 "--rhs-order" sptrsm-solve s.h5 s_rhs.h5 --force --rhs-order C
}

test_types() {
  sptrsm-gen -q banded 50 3 -o real.h5 --dtype f64 --nrhs 2
  sptrsm-gen -q banded 50 3 -o single.h5 --dtype f32 --nrhs 2
  sptrsm-gen -q banded 50 3 -o complex.h5 --dtype c128 --nrhs 2
  while read -r factors rhs taken; do
    run sptrsm-solve $factors.h5 ${rhs}_rhs.h5 -o x.h5 --force --json report --max-berr 1e-5
    code 0
    equals "$(field report factors dtype)" "$taken"
    says "both taken as $taken"
  done <<'END'
real complex c128
complex real c128
single real f64
real single f64
single complex c128
END
  run sptrsm-solve -q real.h5 real_rhs.h5 -o x.h5 --force --json report --dtype c64 --alpha 0,2 --verify
  code 0
  equals "$(field report factors dtype)" c64
  equals "$(field report alpha)" "[0.0,2.0]"
  rejects 2 "is complex, but the data are f64; add --dtype c128" sptrsm-solve real.h5 real_rhs.h5 -o x.h5 --force --alpha 1,2
  rejects 2 "values are complex and can't become real; use --dtype c128" sptrsm-solve complex.h5 complex_rhs.h5 -o x.h5 --force --dtype f64
  run sptrsm-solve -q real.h5 real_rhs.h5 -o x.h5 --force --alpha -2.5
  code 0
  run sptrsm-verify -q real.h5 real_rhs.h5 x.h5 --alpha -2.5
  code 0
  run sptrsm-verify -q real.h5 real_rhs.h5 x.h5
  code 1
}

test_outputs() {
  system banded 60 4 --nrhs 2
  echo precious >s_rhs.solution.h5
  cp s_rhs.solution.h5 old
  rejects 5 "s_rhs.solution.h5: exists; replace it with --force or choose another output" sptrsm-solve s.h5 s_rhs.h5
  same s_rhs.solution.h5 old
  run sptrsm-solve s.h5 s_rhs.h5 --dry-run --force
  code 0
  says "nothing solved (--dry-run)"
  says "output   would be s_rhs.solution.h5:/X"
  same s_rhs.solution.h5 old
  solves
  verifies
  run sptrsm-solve s.h5 s_rhs.h5 -o dry.h5 --dry-run
  code 0
  missing dry.h5
  cp s.h5 copy.h5 && cp s_rhs.h5 copy_rhs.h5
  rejects 2 "the output is the input s_rhs.h5" sptrsm-solve s.h5 s_rhs.h5 -o s_rhs.h5 --force
  rejects 2 "the output is the input s.h5:/L" sptrsm-solve s.h5:/L s_rhs.h5 -o ./s.h5 --force
  ln s.h5 linked.h5
  rejects 2 "the output is the input s.h5" sptrsm-solve s.h5 s_rhs.h5 -o linked.h5 --force
  rejects 2 "the output is the input s.h5" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --json s.h5
  rejects 2 "is the output of the solution too" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --json x.h5
  same s.h5 copy.h5
  same s_rhs.h5 copy_rhs.h5
  rejects 5 "there is no folder none; make it first" sptrsm-solve s.h5 s_rhs.h5 -o none/x.h5
  mkdir folder
  rejects 5 "folder: is a folder" sptrsm-solve s.h5 s_rhs.h5 -o folder --force
  rejects 5 "/dev/null: is not a regular file" sptrsm-solve s.h5 s_rhs.h5 -o /dev/null --force
  rejects 5 "folder: is a folder; --json needs a file" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --json folder
  rejects 5 "can't write the JSON report" sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --json /dev/full
  run sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --force --json - --verify
  code 0
  equals "$(field stdout exit_code)" 0
  equals "$(field stdout output)" x.h5
  equals "$(field stdout plans 0 factor)" T
  at_most "$(field stdout residual g1)" 1
  at_most "$(field stdout residual berr 1)" 1e-14
  run sptrsm-info x.h5
  code 0
  says "/berr"
  run sptrsm-solve -q s.h5 s_rhs.h5 -o small.h5 --compress 9 --checksum
  code 0
  run sptrsm-verify -q s.h5 s_rhs.h5 small.h5
  code 0
  chmod a-w folder
  if [ "$(id -u)" = 0 ]; then
    chmod 755 . && chmod a+r s.h5 s_rhs.h5
    as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    as_user cat s.h5 >/dev/null 2>&1 || return # the programs or this folder are out of reach for other users
  else
    as_user() { "$@"; }
  fi
  as_user "$bin/sptrsm-info" --version >/dev/null 2>&1 || return
  rejects 5 "folder/x.h5: folder folder: Permission denied; choose another output" as_user "$bin/sptrsm-solve" s.h5 s_rhs.h5 -o folder/x.h5
  no_leftovers
}

# market FILE KIND line ...: a Matrix Market file
market() {
  local file=$1
  printf '%%%%MatrixMarket matrix coordinate real %s\n' "$2" >"$file"
  shift 2
  printf '%s\n' "$@" >>"$file"
}

test_bad_input() {
  system chain 4
  cp s_rhs.solution.h5 old 2>/dev/null
  market upper.mtx general "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "2 3 1"
  market both.mtx general "4 4 6" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "2 3 1" "3 1 1"
  market missing.mtx general "4 4 4" "1 1 2" "2 2 2" "4 4 2" "4 1 1"
  market zero.mtx general "4 4 4" "1 1 2" "2 2 0" "3 3 2" "4 4 2"
  market nan.mtx general "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "4 1 nan"
  market infinite.mtx general "4 4 4" "1 1 2" "2 2 inf" "3 3 2" "4 4 2"
  market twice.mtx general "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "4 4 2"
  market wide.mtx general "4 5 4" "1 1 2" "2 2 2" "3 3 2" "4 4 2"
  market outside.mtx general "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "5 1 2"
  market short.mtx general "4 4 5" "1 1 2"
  market five.mtx general "5 5 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "5 5 2"
  market symmetric.mtx symmetric "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "2 1 1"
  echo text >text.h5
  : >empty.h5
  head -c 900 s.h5 >cut.h5
  mkdir folder.h5
  echo precious >s_rhs.solution.h5
  cp s_rhs.solution.h5 old
  while IFS='|' read -r want factors rhs options text; do
    rejects $want "$text" sptrsm-solve $factors $rhs --force $options
    check; grep -q "^sptrsm-solve: error: \(${factors%%:*}\|${rhs%%:*}\)" stderr || fail "the message does not name the file"
    same s_rhs.solution.h5 old
  done <<'END'
5|none.h5|s_rhs.h5||No such file
5|folder.h5|s_rhs.h5||not a regular file
5|text.h5|s_rhs.h5||neither an HDF5 file
5|empty.h5|s_rhs.h5||neither an HDF5 file
5|cut.h5|s_rhs.h5||truncated
5|s.h5:/none|s_rhs.h5||no such object; there is L
3|s_rhs.h5|s_rhs.h5||neither a matrix nor a factor set
3|s.h5:/L/data|s_rhs.h5||not a sparse matrix
3|upper.mtx|s_rhs.h5|--uplo lower|row 1 has entry (1,2) above the diagonal; use --uplo upper or --take-triangle
3|both.mtx|s_rhs.h5||has entries on both sides of the diagonal
4|missing.mtx|s_rhs.h5||row 2 has no diagonal entry; use --unit
4|zero.mtx|s_rhs.h5||diagonal entry (1,1) is zero
4|infinite.mtx|s_rhs.h5||diagonal entry (1,1) is NaN or infinite
3|nan.mtx|s_rhs.h5||entry (3,0) is NaN or infinite
3|twice.mtx|s_rhs.h5||row 3 has column 3 twice; use --tidy
3|wide.mtx|s_rhs.h5||is 4 x 5
3|outside.mtx|s_rhs.h5||line 7: entry (5,1) lies outside
3|short.mtx|s_rhs.h5||truncated
3|symmetric.mtx|s_rhs.h5||--take-triangle
3|five.mtx|s_rhs.h5||the matrix has order 5
5|s.h5|none.h5|-o s_rhs.solution.h5|No such file
5|s.h5|text.h5|-o s_rhs.solution.h5|neither an HDF5 file
5|s.h5|s_rhs.h5:/none||no such object; there is B, X_true
3|s.h5|s.h5|-o s_rhs.solution.h5|holds no B
3|s.h5|s.h5:/L|-o s_rhs.solution.h5|a dense block is needed
6|s.h5|s_rhs.h5|--memory-limit 10|raise the limit (--memory-limit)
END
  for options in "upper.mtx" "missing.mtx --unit" "both.mtx --take-triangle --uplo upper" "twice.mtx --tidy" "symmetric.mtx --take-triangle"; do
    run sptrsm-solve -q $options s_rhs.h5 -o ok.h5 --force --verify
    code 0
  done
  no_leftovers
}

test_numbers() {
  system banded 30 2 --nrhs 4
  run "$helper" nonfinite odd.h5 30
  code 0
  run sptrsm-solve s.h5 odd.h5 -o x.h5 --json report
  code 1
  warns "2 of 4 solutions are not finite: columns 1, 3; look for NaN or infinity in the right-hand side"
  equals "$(field report nonfinite_columns first)" "[1,3]"
  equals "$(field report exit_code)" 1
  exists x.h5
  run sptrsm-solve -q s.h5 odd.h5 -o x.h5 --force --cols 3 --max-berr 1 --json report
  code 1
  warns "1 of 1 solutions are not finite: column 3"
  warns "is above --max-berr 1"
  equals "$(field report residual max_berr)" null
  run sptrsm-solve -q s.h5 odd.h5 -o x.h5 --force --cols 2 --max-berr 1e-14
  code 0
  run sptrsm-verify -q s.h5 odd.h5 x.h5 --cols 2
  code 0
  run sptrsm-solve -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o y.h5 --max-berr 1e-30
  code 1
  warns "is above --max-berr 1e-30"
  exists y.h5
  run sptrsm-solve -q s.h5 s_rhs.h5 -o big.h5 --alpha 1e308
  code 1
  run sptrsm-verify -q s.h5 s_rhs.h5 big.h5 --alpha 1e308
  code 1
}

test_info() {
  sptrsm-gen -q D2N5 4 3 -o grid.h5 --nrhs 2
  run sptrsm-info grid.h5 grid_rhs.h5
  code 0
  golden stdout <<'END'
grid.h5: one triangle, n 12, f64
  read as one lower triangle /L (Binsparse CSR)
  source: sptrsm-gen D2N5 4 3, seed 1
  T: lower, CSR, 29 entries, 452 B
     6 level sets, rows in a level: least 1, average 2.0, most 3
     entries of a row: least 1, average 2.4, most 3
     stencil D2N5 on a grid of 4 x 3 x 1
  a panel of 64 right-hand sides takes 6.14 kB
  /L           matrix   12 x 12, 29 entries, f64 (Binsparse CSR)
grid_rhs.h5:
  /B           block    12 x 2, f64 (2-D dataset)
  /X_true      block    12 x 2, f64 (2-D dataset)
END
  run sptrsm-info none.h5 grid.h5:/L
  code 5
  warns "sptrsm-info: error: none.h5: No such file"
  says "grid.h5:/L: one triangle, n 12"
  run sptrsm-info --json "$data/add32_splu.h5" none.h5 --methods
  code 5
  equals "$(field stdout files 0 factors perm_row)" scatter
  equals "$(field stdout files 0 factors perm_col)" gather
  equals "$(field stdout files 0 factors n)" 4960
  equals "$(field stdout files 0 factors triangles 0 nnz)" 14430
  equals "$(field stdout files 0 factors triangles 1 uplo)" upper
  equals "$(field stdout files 1 exit_code)" 5
  equals "$(field stdout methods 0 name)" serial
  run sptrsm-info "$data/add32_splu.h5:/A"
  code 0
  says "general matrix"
  run sptrsm-info --methods
  code 0
  says "serial"
  says "levelset"
  market missing.mtx general "4 4 3" "1 1 2" "2 2 2" "4 4 2"
  run sptrsm-info missing.mtx
  code 4
  warns "row 2 has no diagonal entry"
}

test_gen() {
  sptrsm-gen -q powerlaw 200 -o a.h5 --nrhs 3 --seed 7
  sptrsm-gen -q powerlaw 200 -o b.h5 --nrhs 3 --seed 7
  sptrsm-gen -q powerlaw 200 -o c.h5 --nrhs 3 --seed 8
  OMP_NUM_THREADS=1 sptrsm-gen -q powerlaw 200 -o d.h5 --nrhs 3 --seed 7
  sptrsm-solve -q a.h5 b_rhs.h5 -o x.h5
  for other in b d; do
    run sptrsm-verify a.h5 ${other}_rhs.h5 x.h5 --json
    code 0
    equals "$(field stdout max_error)" 0.0
  done
  run sptrsm-verify -q c.h5 a_rhs.h5 x.h5
  code 1
  rejects 5 "a.h5: exists; replace it with --force" sptrsm-gen chain 3 -o a.h5
  rm a.h5
  rejects 5 "a_rhs.h5: exists; replace it with --force" sptrsm-gen chain 3 -o a.h5
  missing a.h5
  run sptrsm-gen chain 3 -o a.h5 --nrhs 0
  code 0
  says "a.h5: lower triangle, n 3, 5 entries, f64, chain"
  while IFS='|' read -r kind entries; do # entries of the lower triangle of a 4 x 4 x 4 or 4 x 4 grid, counted by hand from the stencil
    run sptrsm-gen $kind -o n.h5 --nrhs 0 --force
    code 0
    says "$entries entries"
  done <<'END'
D3N7 4 4 4|208
D3N13 4 4 4|304
D3N27 4 4 4|532
D3N33 4 4 4|628
D2N5 4 4|40
D2N9 4 4|58
banded 10 3|34
arrow 10|27
dense 10|55
END
}

test_verify() {
  system random 80 --nrhs 2
  solves
  run sptrsm-verify s.h5 s_rhs.h5 s_rhs.solution.h5
  code 0
  says "s_rhs.solution.h5:/X solves s_rhs.h5:/B with s.h5: yes"
  says "largest error against X_true: 0.00e+00"
  run sptrsm-verify s.h5 s_rhs.h5 s_rhs.h5:/X_true
  code 0
  run sptrsm-verify s.h5 s_rhs.h5 s_rhs.h5:/B
  code 1
  says "NO"
  run sptrsm-verify -q s.h5 s_rhs.h5 s_rhs.h5:/B --max 1e18 --json
  code 1 # the norm1 limit holds always
  equals "$(field stdout within)" false
  run sptrsm-verify -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" "$data/sherman5_rhs.h5:/X_true" --max 0.5
  code 0
  run sptrsm-verify -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" "$data/sherman5_rhs.h5:/X_true" --max 0
  code 1
  rejects 5 "none.h5: No such file" sptrsm-verify s.h5 s_rhs.h5 none.h5
}

# A disk that is full: the size of files is limited, so writes fail beyond it.
test_disk() {
  system banded 4000 2 --nrhs 16
  echo precious >x.h5
  cp x.h5 old
  for blocks in 1 16 200; do # stderr has this limit too
    last="limit of $blocks kB"
    (trap '' XFSZ; ulimit -f $blocks; exec sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --force) >stdout 2>stderr
    rc=$?
    code 5
    warns "sptrsm-solve: error: x.h5"
    same x.h5 old
    (trap '' XFSZ; ulimit -f $blocks; exec sptrsm-gen -q banded 20000 2 -o g.h5) >stdout 2>stderr
    rc=$?
    code 5
    missing g.h5
    no_leftovers
  done
}

# start_solve: a solve of several seconds in the background; waits until it says what it is doing ("reading", "solving", ...)
start_solve() {
  set -m # else bash lets background programs ignore SIGINT
  sptrsm-solve -v s.h5 s_rhs.h5 -o x.h5 --force --method serial --verify --threads 1 >stdout 2>stderr &
  pid=$!
  set +m
  for _ in $(seq 2000); do
    grep -q "sptrsm-solve: $1" stderr && return
    sleep 0.01
  done
  fail "never came to $1"
}

test_interrupt() {
  system dense 2500 --nrhs 400
  echo precious >x.h5
  cp x.h5 old
  for phase in reading analysing solving computing writing; do
    for signal in INT TERM; do
      start_solve $phase
      kill -$signal $pid
      wait $pid 2>/dev/null
      rc=$?
      last="SIG$signal while $phase"
      if [ $phase = writing ] && [ $rc = 0 ]; then # it may be through before the signal arrives
        run sptrsm-verify -q s.h5 s_rhs.h5 x.h5
        code 0
        cp old x.h5
        continue
      fi
      code $([ $signal = INT ] && echo 130 || echo 143)
      warns "sptrsm-solve: interrupted"
      same x.h5 old
      no_leftovers
    done
  done
}

# Killed without notice at random times: the old output is intact or the new one whole; a temporary file may stay.
test_kill() {
  system banded 3000 20 --nrhs 64
  echo precious >x.h5
  cp x.h5 old
  olds=0 news=0
  begin=$(date +%s%N)
  run sptrsm-solve -q s.h5 s_rhs.h5 -o whole.h5
  code 0
  whole=$(($(date +%s%N) - begin))
  for k in $(seq 40); do # from the beginning to a little after the end
    sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --force >stdout 2>stderr &
    pid=$!
    sleep "$(awk "BEGIN { print $whole * 1e-9 * $((k * 7 % 41)) / 34 }")"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    last="kill number $k"
    if cmp -s x.h5 old; then olds=$((olds + 1)); continue; fi
    news=$((news + 1))
    run sptrsm-verify -q s.h5 s_rhs.h5 x.h5
    code 0
    cp old x.h5
  done
  echo "old output intact $olds times, new one whole $news times"
}

declare -F "test_$section" >/dev/null || { echo "cli_test.sh: no section $section" >&2; exit 2; }
"test_$section"
echo "$section: $checks checks, $failures failed"
[ $failures = 0 ] && [ $checks -gt 0 ]
