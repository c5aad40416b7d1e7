# cli_factor.sh -- sptrsm-factor, which is built only where a library of direct solvers was found. Sections for cli_test.sh.
# shellcheck shell=bash

need_factor() { [ -x "$bin/sptrsm-factor" ] || { echo "skipped: this build has no sptrsm-factor"; exit 77; }; }
# has LIBRARY: whether the program was built with it
has() {
  sptrsm-factor grid.mtx -o has.h5 --with "$1" -q --force >/dev/null 2>has.txt
  ! grep -q "this build has no" has.txt
}

# grid FILE CENTRE FIELD: Laplacian of a 13 x 11 grid with CENTRE on the diagonal, its lower triangle, FIELD symmetric or hermitian
grid() {
  awk -v centre="$2" -v field="$3" 'BEGIN {
    nx = 13; ny = 11; n = nx * ny
    print "%%MatrixMarket matrix coordinate", field == "hermitian" ? "complex" : "real", field
    print n, n, 3 * n - nx - ny
    for (i = 0; i < n; i++) {
      put(i, i, centre + (i % 3) / 8, 0)
      if (i % nx < nx - 1) put(i + 1, i, -1, 0.5)
      if (i + nx < n) put(i + nx, i, -0.75, -0.25)
    }
  }
  function put(i, j, re, im) { print i + 1, j + 1, re (field == "hermitian" ? " " im : "") }' >"$1"
}

# scattered FILE real|complex: an unsymmetric matrix of order 150, numbers of sizes from 1 to 10^6, a diagonal that needs pivoting
scattered() {
  awk -v field="$2" 'BEGIN {
    n = 150; count = 0
    for (i = 0; i < n; i++) {
      size = 10 ^ (i % 7)
      put(i, i, (i % 4 ? 0.01 : 2) * size, 0.25 * size)
      for (k = 1; k <= 4; k++) put(i, (i * 7 + k * k * 11 + 3 * k) % n, ((i * 5 + k * 3) % 13 - 6.5) * size / 4, (k - 2.5) * size / 3)
    }
    print "%%MatrixMarket matrix coordinate", field, "general"
    print n, n, count
    for (e = 0; e < count; e++) print entry[e]
  }
  function put(i, j, re, im) {
    if (!((i, j) in seen)) { seen[i, j] = 1; entry[count++] = i + 1 " " j + 1 " " re (field == "complex" ? " " im : "") }
  }' >"$1"
}

# round_trip KIND MATRIX option ...: factorises, solves for a known X and compares; the set is f.h5, the report f.json
round_trip() {
  local kind=$1 matrix=$2
  shift 2
  run sptrsm-factor "$matrix" -o f.h5 --force --nrhs 3 --json f.json "$@"
  code 0
  says "f.h5: $kind by "
  at_most "$(field f.json backward_error)" 3e-15
  run sptrsm-solve -q f.h5 f_rhs.h5 --force
  code 0
  run sptrsm-verify f.h5 f_rhs.h5 f_rhs.solution.h5 --json
  code 0
  at_most "$(field stdout max_error)" "$(awk "BEGIN { print 100 * $(field f.json condition) * 1.2e-16 }")"
}

test_factor() {
  need_factor
  grid grid.mtx 4 symmetric
  grid hermitian.mtx 4 hermitian
  grid indefinite.mtx 0.5 symmetric
  scattered lu.mtx real
  scattered complex.mtx complex
  if has cholmod; then
    round_trip "L L'" grid.mtx
    equals "$(field f.json reason)" "symmetric, positive diagonal"
    equals "$(field f.json nnz_a)" 667
    equals "$(field f.json nnz_l)" "$(field f.json nnz_u)"
    round_trip "L L'" hermitian.mtx
    equals "$(field f.json dtype)" c128
    round_trip "L D L'" grid.mtx --ldl
    round_trip "L D L'" hermitian.mtx --ldl --keep-a
    for order in natural amd metis; do
      round_trip "L L'" grid.mtx --ordering $order
      equals "$(field f.json ordering)" $order
    done
    rejects 3 "is not symmetric, so it has no Cholesky factor; use --with umfpack" sptrsm-factor lu.mtx -o x.h5 --with cholmod
  fi
  for library in umfpack klu superlu; do
    has $library || continue
    for matrix in lu complex indefinite hermitian; do
      round_trip "L U" $matrix.mtx --with $library --pivot 0.1
      round_trip "L U" $matrix.mtx --with $library --no-scale --ordering natural --keep-a --pivot 1
    done
  done
  if has cholmod && has umfpack; then
    round_trip "L U" indefinite.mtx
    equals "$(field f.json reason)" "not positive definite"
    round_trip "L U" grid.mtx --ordering colamd
    equals "$(field f.json reason)" "no Cholesky with this ordering"
  fi
}

# kkt FILE: the Laplacian of a 13 x 11 grid, a constraint on the sum of all and one on the first; neither has a diagonal entry
kkt() {
  grid laplace.mtx 4 symmetric
  awk 'NR == 2 { n = $1; print n + 2, n + 2, $3 + n + 1; next }
    { print }
    END { for (j = 1; j <= n; j++) print n + 1, j, 1; print n + 2, 1, 1 }' laplace.mtx >"$1"
}

# compare_factors: the libraries' own solves and those of the factor sets agree.
test_factor_compare() {
  need_factor
  [ -x "$bin/compare_factors" ] || { echo "skipped: this build has no compare_factors"; exit 77; }
  grid grid.mtx 4 symmetric
  scattered lu.mtx real
  scattered complex.mtx complex
  run compare_factors grid.mtx lu.mtx --nrhs 5 --reps 2 --methods auto,serial
  code 0
  check; [ "$(grep -cE '^  (CHOLMOD|CHOLMOD simplicial|UMFPACK|KLU)(, columns shared)? +[0-9]' stdout)" = 10 ] || fail "expected 10 measurements with their own factors"
  check; [ "$(grep -cE "^  CXSparse's loops(, columns shared)? +[0-9]" stdout)" = 10 ] || fail "expected 10 measurements of CXSparse"
  check; [ "$(grep -cE '^5 right-hand sides, [FC] order, 5 cases: [0-9.]+ times as fast .*, least [0-9.]+: [a-z]+.mtx with the factors of [a-z]+, beside ' stdout)" = 2 ] || fail "expected a summary of each layout"
  check; [ "$(grep -cE '^  sptrsm .*, [CF] order +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.e-]+ +[0-9.e-]+$' stdout)" = 20 ] || fail "expected 20 of ours"
  rejects 2 "is complex; the comparison is for real matrices" compare_factors -q complex.mtx
  rejects 2 "give a matrix" compare_factors
  run compare_factors lu.mtx --with cholmod
  code 0
  warns "lu.mtx: left out"
  run compare_factors grid.mtx --nrhs 4 --reps 1 --with cholmod --no-native --refine
  code 0
  check; [ "$(grep -cE 'order(, refined|, mixed|) ' stdout)" = 6 ] || fail "expected three ways in two orders"
  run compare_factors grid.mtx --nrhs 1,3 --reps 1 --with cholmod --no-native
  code 0
  check; [ "$(grep -c '^  CHOLMOD' stdout)$(grep -c '^  sptrsm' stdout)$(grep -cE '^ [13] right-hand sides?$' stdout)" = 042 ] || fail "expected ours twice, with two numbers of right-hand sides"
  kkt kkt.mtx # the pivots of constraints are not zero where these come last
  run compare_factors kkt.mtx lu.mtx --ldl --ordering natural --nrhs 5 --reps 2
  code 0
  warns "lu.mtx: left out"
  check; [ "$(grep -cE "^  (CHOLMOD|CXSparse's loops)(, columns shared)? +[0-9]" stdout)$(grep -c '^  sptrsm' stdout)$(grep -cE '^  (CHOLMOD simp|UMFPACK|KLU)' stdout)" = 420 ] || fail "expected four of the others and two of ours, with the factors of CHOLMOD alone"
  check; grep -q "L D L' by CHOLMOD" stdout || fail "expected L D L'"
  check; awk '/order|CHOLMOD.* [0-9]|loops|own factors/ && !/kkt.mtx/ && !($NF <= 1e-14) { exit 1 }' stdout || fail "a residual is large"
  rejects 2 "--ldl is for --with cholmod" compare_factors kkt.mtx --ldl --with klu
  if grep -q '^  Eigen' stdout; then # its ordering takes the constraint first, whose pivot is zero
    market zero.mtx symmetric "4 4 8" "1 1 4" "2 1 1" "3 1 1" "4 1 1" "2 2 4" "3 2 1" "3 3 4" "4 4 0"
    run compare_factors zero.mtx --ldl --ordering natural --nrhs 5 --reps 1
    code 0
    warns "zero.mtx: Eigen has no factors of it"
    check; [ "$(grep -c '^  Eigen' stdout)$(grep -c '^  sptrsm' stdout)" = 02 ] || fail "expected ours without Eigen"
  fi
  rejects 2 "--device-memory is a limit on a GPU" compare_factors grid.mtx --device-memory 1G
  rejects 2 "--cudss works on a GPU" compare_factors grid.mtx --cudss none.so
  run compare_factors grid.mtx --mkl none.so
  code 2
  warns "--mkl: none.so"
}

# Matrices of applications, with the right-hand sides and solutions that came with them.
test_factor_real() {
  need_factor
  market grid.mtx general "1 1 1" "1 1 4"
  while read -r name limit; do
    for library in umfpack klu superlu; do
      has $library || continue
      run sptrsm-factor "$data/${name}_splu.h5:/A" -o f.h5 --force --with $library --keep-a
      code 0
      run sptrsm-solve -q f.h5 "$data/${name}_rhs.h5" -o x.h5 --force
      code 0
      run sptrsm-verify f.h5 "$data/${name}_rhs.h5" x.h5 --json
      code 0
      at_most "$(field stdout max_error)" "$limit"
    done
  done <<'END'
add32     3e-12
circuit_2 3e-12
sherman5  1.6e-11
END
}

# The counts of a matrix that is small enough to count by hand: an arrow that points up, eliminated from its tip.
test_factor_counts() {
  need_factor
  market grid.mtx general "1 1 1" "1 1 4"
  market arrow.mtx symmetric "4 4 7" "1 1 8" "2 1 1" "3 1 1" "4 1 1" "2 2 8" "3 3 8" "4 4 8"
  for library in umfpack klu superlu; do
    has $library || continue
    run sptrsm-factor arrow.mtx -o f.h5 --force --with $library --ordering natural --json - -q
    code 0
    equals "$(field stdout nnz_a)" 10
    equals "$(field stdout nnz_l)" 10
    equals "$(field stdout nnz_u)" 10
    equals "$(field stdout fill)" 1.6000000000000001
    equals "$(field stdout flops)" 34.0 # products 9 + 4 + 1, twice, and divisions 3 + 2 + 1
    equals "$(field stdout supernodes)" 1
    at_most "$(field stdout condition)" 1.98361 # the first column of A and that of its inverse sum up to 11 and 11 / 61
    at_most "-$(field stdout condition)" -1.98360
  done
  if has cholmod; then
    run sptrsm-factor arrow.mtx -o f.h5 --force --ordering natural --json - -q
    code 0
    equals "$(field stdout flops)" 26.0 # products 6 + 3 + 1, twice, and divisions 3 + 2 + 1
  fi
  # Padding: the zeros that a supernodal factorisation puts in are dropped, or kept.
  grid grid.mtx 4 symmetric
  has cholmod || return
  sptrsm-factor -q grid.mtx -o padded.h5 --keep-zeros --json padded.json
  sptrsm-factor -q grid.mtx -o f.h5 --force --json f.json
  check; [ "$(field padded.json nnz_l)" -gt "$(field f.json nnz_l)" ] || fail "nothing was padded"
}

test_factor_inputs() {
  need_factor
  grid grid.mtx 4 symmetric
  market wide.mtx general "2 3 2" "1 1 1" "2 3 1"
  rejects 3 "is 2 x 3; only square matrices" sptrsm-factor wide.mtx -o x.h5
  market nan.mtx general "2 2 2" "1 1 1" "2 2 nan"
  rejects 3 "nan.mtx: entry (1,1) is not finite" sptrsm-factor nan.mtx -o x.h5
  market empty.mtx general "0 0 0"
  rejects 3 "empty.mtx" sptrsm-factor empty.mtx -o x.h5
  rejects 3 "not_hdf5.h5" sptrsm-factor "$here/../data/not_hdf5.h5" -o x.h5
  echo nonsense >bad.mtx
  rejects 3 "bad.mtx" sptrsm-factor bad.mtx -o x.h5
  rejects 5 "none.mtx" sptrsm-factor none.mtx -o x.h5
  # Columns count from 0. Column 3 is empty; [1 2; 2 1] is indefinite; row and column 1 are empty.
  market column.mtx general "5 5 6" "1 1 2" "2 2 2" "3 3 2" "4 3 1" "4 5 2" "5 5 2"
  market indefinite.mtx symmetric "3 3 4" "1 1 1" "2 1 2" "2 2 1" "3 3 1"
  market zero.mtx symmetric "3 3 2" "1 1 1" "3 3 1"
  for library in umfpack klu superlu; do
    has $library || continue
    rejects 4 "column.mtx: column 3, step " sptrsm-factor column.mtx -o x.h5 --with $library --ordering natural
    rejects 4 "column 1, step " sptrsm-factor zero.mtx -o x.h5 --with $library
  done
  if has cholmod; then
    rejects 4 "column 1, step 1 of the elimination: the pivot is not positive" sptrsm-factor indefinite.mtx -o x.h5 --with cholmod --ordering natural
    rejects 4 "column 1, step 1 of the elimination: the pivot vanishes" sptrsm-factor zero.mtx -o x.h5 --ldl --ordering natural
  fi
  # Nothing but finite numbers leaves: pivots of 1e-300 with entries of 1e200 beside them.
  market overflow.mtx symmetric "3 3 4" "1 1 1" "2 2 1e-300" "3 2 1e200" "3 3 1"
  if has superlu; then
    rejects 4 "overflow.mtx: column 1, step 1 of the elimination: numbers overflow" sptrsm-factor overflow.mtx -o x.h5 --with superlu --pivot 0 --ordering natural --no-check
  fi
  if has cholmod; then
    rejects 4 "overflow.mtx: column 1, step 1 of the elimination: numbers overflow" sptrsm-factor overflow.mtx -o x.h5 --ldl --ordering natural --no-check
    market skew.mtx skew-symmetric "2 2 1" "2 1 1"
    rejects 3 "is not symmetric, so it has no L D L'" sptrsm-factor skew.mtx -o x.h5 --ldl
    rejects 2 "skew.mtx: not symmetric, and no LU of this build has ordering nesdis" sptrsm-factor skew.mtx -o x.h5 --ordering nesdis
  fi
  missing x.h5
  no_leftovers
  market nearly.mtx general "2 2 4" "1 1 1" "1 2 1" "2 1 1" "2 2 1.0000000000000002"
  run sptrsm-factor nearly.mtx -o near.h5
  code 0
  warns "singular to working precision"
  # Rows of very different size are no reason to warn.
  market rows.mtx general "2 2 4" "1 1 2" "1 2 1" "2 1 1e-18" "2 2 2e-18"
  run sptrsm-factor rows.mtx -o rows.h5 --json rows.json
  code 0
  at_most "-$(field rows.json condition)" -1e17
  at_most "$(field rows.json scaled_condition)" 10
  check; grep -q singular stderr && fail "a warning about a well-conditioned matrix with rows of different size"
  if has cholmod; then # without pivoting all digits are lost, but not for b = (1, 1), whose solution is (0, 1)
    market ldl.mtx symmetric "2 2 3" "1 1 1e-20" "2 1 1" "2 2 1"
    run sptrsm-factor ldl.mtx -o ldl.h5 --ldl --ordering natural --json ldl.json
    code 1
    at_most "-$(field ldl.json backward_error)" -0.01
    at_most "-$(field ldl.json componentwise_error)" -0.01
  fi
  market tiny.mtx general "2 2 4" "1 1 1e-310" "1 2 2e-310" "2 1 1" "2 2 1" # its inverse has entries above the largest number
  run sptrsm-factor tiny.mtx -o tiny.h5
  code 1
  warns "a test solve overflows"
  rejects 2 "give the matrix to factorise" sptrsm-factor -o x.h5
  rejects 2 "give the output: -o FILE" sptrsm-factor grid.mtx
  rejects 2 "one argument too many" sptrsm-factor grid.mtx grid.mtx -o x.h5
  rejects 2 "--pivot: 2 is not from 0 to 1" sptrsm-factor grid.mtx -o x.h5 --pivot 2
  rejects 2 "--pivot is for LU" sptrsm-factor grid.mtx -o x.h5 --with cholmod --pivot 1
  rejects 2 "--pivot is for LU" sptrsm-factor grid.mtx -o x.h5 --ldl --pivot 1
  rejects 2 "--ldl is for --with cholmod" sptrsm-factor grid.mtx -o x.h5 --ldl --with klu
  rejects 2 "--with: 'pardiso' is not one of auto, cholmod, umfpack, klu, superlu" sptrsm-factor grid.mtx -o x.h5 --with pardiso
  rejects 2 "--ordering: 'rcm' is not one of default, natural" sptrsm-factor grid.mtx -o x.h5 --ordering rcm
}

test_factor_outputs() {
  need_factor
  grid grid.mtx 4 symmetric
  echo precious >f.h5
  cp f.h5 old
  rejects 5 "f.h5: exists; replace it with --force" sptrsm-factor grid.mtx -o f.h5
  same f.h5 old
  rejects 2 "the output is the input grid.mtx" sptrsm-factor grid.mtx -o grid.mtx --force
  rejects 5 "there is no folder none" sptrsm-factor grid.mtx -o none/f.h5
  rejects 2 "is the output of the factors too" sptrsm-factor grid.mtx -o x.h5 --json x.h5
  rejects 2 "x_rhs.h5 is the output of the right-hand sides too" sptrsm-factor grid.mtx -o x.h5 --nrhs 1 --json x_rhs.h5
  missing x.h5
  missing x_rhs.h5
  cp old g_rhs.h5
  rejects 5 "g_rhs.h5: exists" sptrsm-factor grid.mtx -o g.h5 --nrhs 1
  missing g.h5
  for blocks in 1 16; do # a full disk
    last="limit of $blocks kB"
    limited -f $blocks sptrsm-factor -q grid.mtx -o f.h5 --force >stdout 2>stderr
    rc=$?
    code 5
    warns "sptrsm-factor: error: f.h5"
    same f.h5 old
    no_leftovers
  done
  run sptrsm-factor grid.mtx -o f.h5 --force --json report -q
  code 0
  silent
  equals "$(field report exit_code)" 0
  run sptrsm-factor none.mtx -o g.h5 --json report
  code 5
  equals "$(field report error status)" I/O
  equals "$(field report exit_code)" 5
  cp grid.mtx $'\377.mtx' # not UTF-8, in the report and in the file's source
  run sptrsm-factor -q $'\377.mtx' -o odd.h5 --nrhs 1 --json report
  code 0
  equals "$(field report input)" $'\357\277\275.mtx'
  run sptrsm-solve -q odd.h5 odd_rhs.h5
  code 0
  last="report >/dev/full"
  sptrsm-factor grid.mtx -o f.h5 --force >/dev/full 2>stderr
  rc=$?
  code 5
  warns "stdout: can't write"
  # A's other forms, single precision and what is stored of it.
  for name in ann_csr ann_complex64 bin_coo ann_big_endian; do
    run sptrsm-factor "$here/../data/forms.h5:/$name" -o g.h5 --force --keep-a --nrhs 2
    code 0
    run sptrsm-solve -q g.h5 g_rhs.h5 --force
    code 0
    run sptrsm-verify g.h5 g_rhs.h5 g_rhs.solution.h5
    code 0
  done
}
