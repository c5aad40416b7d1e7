# cli_solve.sh -- what sptrsm-solve computes, checked by sptrsm-verify and by known solutions. Sections for cli_test.sh.
# shellcheck shell=bash

# Generated systems of every kind, both triangles, four types, both orders, unit or not: X is the known solution, exactly for real numbers.
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

# Factors of applications: at most ten times the error of the solver that made them (SciPy), for every method on the host.
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
  # The summary as people see it.
  run sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o x.h5 --method serial --force --threads 1 --panel 8 --cols 1:3
  code 0
  without_times stdout >summary
  sed -i "s|$data|DATA|; s/normwise [0-9.e-]*/normwise E/; s/componentwise [0-9.e-]* (column [12])/componentwise E/" summary
  golden summary <<'END'
matrix   DATA/add32_splu.h5: n 4960, L 14430 and U 14430 entries, f64
         read as L and U (AnnData csc_matrix); perm_r scatter (SciPy); perm_c gather (SciPy)
         source: scipy.sparse.linalg.splu of add32
rhs      DATA/add32_rhs.h5:/B: 2 columns, 2-D dataset, C order (shape) (of 8, from column 1)
system   A
device   host, 1 thread (method serial works there)
method   L: serial (asked for), panel 2
method   U: serial (asked for), panel 2
time     read T, analyse T, solve T, verify T, write T
speed    S GFLOP/s, memory 664 kB
error    componentwise E, normwise E, against A
output   x.h5:/X
END
  # Residuals are computed because the file holds A, and not if not wanted.
  run sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o x.h5 --force --no-verify --json report
  code 0
  equals "$(field report residual)" null
  check; ! grep -q "verify" stdout || fail "a time of verifying, though nothing was verified"
  # The summary fits 100 columns with the default method; -v says more.
  check; [ "$(grep '^method' stdout | awk '{ if (length > most) most = length } END { print most }')" -le 100 ] || fail "a method line is too long"
  run sptrsm-solve -v "$data/add32_splu.h5" "$data/add32_rhs.h5" -o x.h5 --force --device cpu --p 3
  code 0
  says "isa="
  warns "--p, --q and --select are for syncfree-csc on a GPU"
  rejects 2 "--no-verify contradicts" sptrsm-solve a.h5 b.h5 --no-verify --max-berr 1
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
  equals "$(field report factors dtype) $(for key in uplo diag format; do field report factors L $key; done | paste -sd' ')" "c64 lower nonunit csr"
  equals "$(field report alpha)" "[0.0,2.0]"
  rejects 2 "--alpha: '1,' is not a number x or re,im" sptrsm-solve real.h5 real_rhs.h5 -o x.h5 --force --alpha 1,
  rejects 2 "is complex, but the data are f64; add --dtype c128" sptrsm-solve real.h5 real_rhs.h5 -o x.h5 --force --alpha 1,2
  rejects 2 "values are complex and can't become real; use --dtype c128" sptrsm-solve complex.h5 complex_rhs.h5 -o x.h5 --force --dtype f64
  run sptrsm-solve -q real.h5 real_rhs.h5 -o x.h5 --force --alpha -2.5
  code 0
  run sptrsm-verify -q real.h5 real_rhs.h5 x.h5 --alpha -2.5
  code 0
  run sptrsm-verify -q real.h5 real_rhs.h5 x.h5
  code 1
}

# covered FILE STEP FROM TO: the columns of all spans of that name are FROM to TO - 1, each once
covered() {
  check
  sed -nE "s/.*\"name\": \"$2\".*\"columns\": \"([0-9]+):([0-9]+)\".*/\1 \2/p" "$1" | sort -n |
    awk -v at="$3" -v end="$4" '$1 != at { bad = 1 } { at = $2 } END { exit bad || at != end }' || fail "$1: $2 does not cover columns $3 to $4 once"
}
# spent FILE STEP: 99 % of the seconds of all spans of that name, since they are measured on their own
spent() { sed -nE "s/.*\"name\": \"$2\".*\"dur\": ([0-9.]+).*/\1/p" "$1" | awk '{ sum += $1 } END { print 0.99e-6 * sum }'; }
spans() { grep -c "\"ph\": \"X\", \"name\": \"$2\"" "$1"; } # spans FILE STEP
# nested FILE: on each thread, spans lie inside of each other or apart
nested() {
  check
  sed -nE 's/.*"ph": "X", "name": "([a-zB X]+)".*"tid": ([0-9]+), "ts": ([0-9.]+), "dur": ([0-9.]+).*/\2 \3 \4 \1/p' "$1" | sort -k1,1n -k2,2n -k3,3nr |
    awk '$1 != thread { thread = $1; depth = 0 } { while (depth > 0 && ends[depth] <= $2 + 0.002) depth--; if (depth > 0 && $2 + $3 > ends[depth] + 0.002) bad = 1; ends[++depth] = $2 + $3 }
      END { exit bad || NR == 0 }' || fail "$1: spans of a thread overlap"
}

test_profile() {
  local file step
  system D2N5 20 30 --nrhs 50
  solves --device cpu --verify --profile plain.json
  solves --device cpu --verify --profile stream.json --stream=7 --keep-partial --json report
  solves --device cpu --verify --profile some.json --cols 3:40
  for file in plain stream; do
    for step in solve "copy B" "forward solve" "copy X" judge write; do covered $file.json "$step" 0 50; done
  done
  for step in solve "copy B" "forward solve" "copy X" judge write; do covered some.json "$step" 3 40; done
  covered stream.json read 0 50
  for file in plain stream some; do
    run field $file.json traceEvents 0 args name
    code 0
    nested $file.json
    equals "$(field $file.json otherData lost_spans)" 0
    equals "$(spans $file.json analyse)" 1
    check; [ "$(spans $file.json residuals)" -ge 1 ] || fail "$file.json: no residuals"
  done
  equals "$(spans stream.json judge)" 8 # panels
  equals "$(spans stream.json write)" 9 # and the end of the file
  for step in read solve write; do at_most "$(spent stream.json $step)" "$(field report seconds $step)"; done
  at_most "$(spent stream.json judge)" "$(field report seconds verify)"
  equals "$(spans plain.json read)" 2   # factors, right-hand sides
  check; [ "$(spans stream.json checkpoint)" -ge 1 ] || fail "stream.json: no checkpoint"
  # The threads of a stream have names.
  equals "$(sed -nE 's/.*"thread_name".*"args": \{"name": "([a-z]+)".*/\1/p' stream.json | sort -u | grep -v solve | paste -sd,)" judge,main,read,write
  solves --rows 0:3 --profile rows.json # a part of the factors
  covered rows.json solve 0 50
  solves --device cpu,cpu --stream=2 --threads 1 --profile pair.json # each device has its steps
  for step in solve "copy B" "forward solve" "copy X"; do covered pair.json "$step" 0 50; done
  nested pair.json
  run sptrsm-solve -q "$data/add32_splu.h5" "$data/add32_rhs.h5" -o r.h5 --device cpu --refine 2 --profile refine.json
  code 0
  check; [ "$(spans refine.json "backward solve")" -ge 1 ] || fail "refine.json: no backward solve"
  check; grep '"backward solve"' refine.json | grep -q columns && fail "refine.json: columns of blocks that refinement made"
  run sptrsm-solve s.h5 s_rhs.h5 --dry-run --force --profile dry.json
  code 0
  equals "$(spans dry.json solve)" 0
  system banded 4 1 --nrhs 90000 --order F # each column has three spans, which are more than are kept
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 --force --panel 1 --threads 1 --profile many.json
  code 0
  warns "spans beyond the first 262144 are left out"
  # Which files it may be.
  run sptrsm-solve -q s.h5 s_rhs.h5 --force --profile plain.json # a report is replaced by one
  code 0
  echo notes >notes.txt
  rejects 5 "notes.txt: exists and is no JSON report; replace it with --force or choose another file with --profile" \
    sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --profile notes.txt
  rejects 2 "--profile: give a file" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --profile -
  rejects 2 "--profile: x.h5 is the output of the solution too" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --profile x.h5
  rejects 2 "--profile: x.h5.part belongs to the output" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --stream=7 --profile x.h5.part
  touch x.h5.part
  rejects 2 "--profile: x.h5.part belongs to the output" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --stream=7 --profile x.h5.part
  rm x.h5.part
  rejects 2 "--profile: ./r.json is the report of --json too" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --json r.json --profile ./r.json
  rejects 2 "the output is the input" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --profile s_rhs.h5
  missing x.h5
  no_leftovers
}
