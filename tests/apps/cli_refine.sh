# cli_refine.sh -- sptrsm-solve with refinement, error bounds and factors in single precision. A section for cli_test.sh.
# shellcheck shell=bash

test_refine() {
  local name op u10=1.2e-15
  for name in add32 circuit_2 sherman5; do
    # Factors in single precision give single accuracy, which is said, and refinement makes double accuracy of it.
    run sptrsm-solve "$data/${name}_splu.h5" "$data/${name}_rhs.h5" -o x.h5 --force --precision mixed --refine 0 --json report
    code 1
    warns "8 of 8 columns were not refined to full accuracy: backward error"
    warns "more steps may help: --refine N"
    equals "$(field report refinement unconverged)" 8
    at_most 1e-9 "$(field report residual max_berr)"
    run sptrsm-solve "$data/${name}_splu.h5" "$data/${name}_rhs.h5" -o x.h5 --force --precision mixed --refine 0 --cols 3
    code 1
    warns "1 of 1 columns"
    run sptrsm-solve "$data/${name}_splu.h5" "$data/${name}_rhs.h5" -o x.h5 --force --precision mixed --ferr --json report --max-berr $u10
    code 0
    says "factors in single precision"
    says "forward error about"
    equals "$(field report refinement unconverged)" 0
    at_most "$(field report refinement max_berr)" $u10
    at_most 1 "$(field report refinement most_steps)"
    # The known solution, of size 4 at most, is within the bound.
    run sptrsm-verify "$data/${name}_splu.h5" "$data/${name}_rhs.h5" x.h5 --json
    code 0
    at_most "$(field stdout max_error)" "$(awk "BEGIN { print 4 * $(field report refinement max_ferr) }")"
    at_most "$(field report refinement max_ferr)" 1e-6
  done
  # Nothing is said of refinement where there is none.
  run sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o x.h5 --force
  code 0
  says "error    componentwise"
  check; ! grep -q '^refined' stdout || fail "refinement is told of"
  # Without residuals of its own the program stores those of refinement; bounds beside them; one figure a column.
  run sptrsm-solve "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o x.h5 --force --refine 3 --ferr --no-verify --cols 2:5 --json report --trans C
  code 0
  equals "$(field report residual)" null
  for name in berr ferr; do
    run sptrsm-info x.h5
    code 0
    says "/$name"
    at_most "$(field report refinement $name 2)" "$(field report refinement max_$name)"
    equals "$(field report refinement $name 3 2>/dev/null)" ""
  done
  at_most "$(field report refinement max_berr)" $u10
  at_most "$(field report refinement steps 0)" 3
  run sptrsm-solve -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o x.h5 --force --refine 3 --no-verify --cols 1:5 --json report
  code 0
  equals "$(field report refinement berr $(($(field report refinement worst_column) - 1)))" "$(field report refinement max_berr)"
  for op in N T C; do
    run sptrsm-solve -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o x.h5 --force --refine 5 --trans $op --alpha -2.5 --max-berr $u10
    code 0
  done
  # A plain solve is not within ten units of rounding here: the limit above means something.
  run sptrsm-solve -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o x.h5 --force --max-berr 3e-16
  code 1
  # What overflows on the way is not blamed on the right-hand side alone.
  run sptrsm-solve -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o x.h5 --force --precision mixed --alpha 1e308
  code 1
  warns "the range of single precision may be too small: --precision working"
  # Streamed: the same bits and the same figures; and a partial solution is not continued with other steps.
  local set="$data/sherman5_splu.h5 $data/sherman5_rhs.h5" # shellcheck disable=SC2086
  for name in "--refine 2 --no-verify" "--precision mixed"; do
    run sptrsm-solve -q $set -o whole.h5 --force $name --threads 1 --json whole
    code 0
    run sptrsm-solve -q $set -o parts.h5 --force $name --threads 1 --json parts --stream=3
    code 0
    same_block whole.h5:/X parts.h5:/X
    same_block whole.h5:/berr parts.h5:/berr
    for key in max_berr worst_column most_steps unconverged; do equals "$(field parts refinement $key)" "$(field whole refinement $key)"; done
  done
  rejects 2 "--ferr is for right-hand sides in memory" sptrsm-solve -q $set -o parts.h5 --force --ferr --stream=3
  # What can't be refined.
  system chain 9
  rejects 2 "--refine is for factor sets with A; this is one triangle" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --refine 2
  run "$helper" set set.h5 f64 1
  rejects 3 "set.h5: there is no A, against which --ferr works; add it as group A (sptrsm-factor --keep-a)" sptrsm-solve set.h5 set_rhs.h5 -o y.h5 --ferr
  rejects 2 "--precision mixed is for the systems A, At and Aat, not Pt_L" sptrsm-solve set.h5 set_rhs.h5 -o y.h5 --precision mixed --sys Pt_L
  rejects 2 "--dtype f64" sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o y.h5 --precision mixed --dtype f32
  rejects 2 "--rows: refinement needs all rows of X" sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o y.h5 --refine 2 --rows 3
  market b.mtx general "4960 1 1" "7 1 1"
  rejects 2 "a sparse B is solved by a part of the factors" sptrsm-solve "$data/add32_splu.h5" b.mtx -o y.h5 --refine 2
  rejects 2 "'double' is not one of" sptrsm-solve "$data/add32_splu.h5" b.mtx -o y.h5 --precision double
  missing y.h5
}
