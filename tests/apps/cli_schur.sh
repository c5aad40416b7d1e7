# cli_schur.sh -- sptrsm-solve --schur. Sections for cli_test.sh.
# shellcheck shell=bash

schur() { run sptrsm-solve "$@" -o S.h5 --force --json report --device cpu; }
# factor_set NAME TYPE KIND: NAME.h5 and NAME_rhs.h5
factor_set() { rm -f "$1.h5" "$1_rhs.h5"; run "$helper" set "$1.h5" "$2" "$3"; code 0; }
# as_solved S C X T|C LIMIT: S is C X, within LIMIT
as_solved() { run "$helper" schur "$1" "$2" "$3" "$4"; code 0; at_most "$(cat stdout)" "$5"; }

test_schur() {
  # The general form in all operations, with dense columns, whole and beside the same by X.
  for type in f64 c128; do
    factor_set s $type 0
    for op in N T C; do
      schur s.h5 --schur s_rhs.h5 --schur-rows s_rhs.h5:/B --trans $op --max-berr 1e-13
      code 0
      run sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --force --trans $op
      as_solved S.h5:/S s_rhs.h5:/B x.h5:/X T 1e-12
    done
  done
  equals "$(field report schur form) $(field report schur rows_least) $(field report C dense)" "C A^-H B 5 true"
  # The symmetric form: both triangles are there, and a Hermitian S.
  for case in "f64 T" "c128 H"; do
    factor_set s "${case% *}" 4
    schur s.h5 --schur s_rhs.h5
    code 0
    says "schur    S = B^${case#* } A^-1 B (both triangles are written), 5 x 5"
    says "factors  s.h5: n 37, ${case% *}"
    says "output   S.h5:/S"
    check; grep -qE "^check    S z differs from .* by [0-9.e-]+ for a random z$" stdout || fail "no check, or one of an item"
    at_most "$(field report check difference)" 1e-13
    run sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --force
    as_solved S.h5:/S s_rhs.h5:/B x.h5:/X C 1e-12
  done
  # Sparse columns, by rows and in Matrix Market; entries that are out of order or twice.
  market B.mtx general "37 3 5" "1 1 2" "30 1 1" "4 2 -1" "37 3 1" "2 3 3"
  factor_set s f64 4
  schur s.h5 --schur B.mtx
  code 0
  says "B        B.mtx: 3 columns, 5 entries, Matrix Market"
  equals "$(field report schur columns_most) $(field report B entries) $(field report exit_code)" "3 5 0"
  cp S.h5 kept.h5
  run sptrsm-solve -q s.h5 B.mtx -o x.h5 --force
  as_solved S.h5:/S B.mtx x.h5:/X T 1e-12
  market twice.mtx general "37 3 6" "1 1 2" "30 1 1" "4 2 -3" "37 3 1" "2 3 3" "4 2 2"
  schur s.h5 --schur twice.mtx --tidy
  code 0
  run "$helper" same S.h5:/S kept.h5:/S
  code 0
  # Sparse by dense, rectangular; the report; nothing of it is written by a dry run; names by default.
  schur s.h5 --schur s_rhs.h5 --schur-rows B.mtx --threads 1 --compress 3 --checksum
  code 0
  says "3 x 5"
  equals "$(field report schur rows_most) $(field report schur columns_most) $(field report schur form)" "3 5 C A^-1 B"
  run sptrsm-solve s.h5 --schur B.mtx --dry-run --no-verify
  code 0
  says "output   would be B.schur.h5:/S"
  missing B.schur.h5
  run sptrsm-solve -q s.h5 --schur B.mtx --no-verify
  code 0
  silent
  run "$helper" same B.schur.h5:/S kept.h5:/S
  code 0
  # Other types; no columns; no rows.
  schur s.h5 --schur B.mtx --dtype c64 --max-berr 1e-5
  code 0
  run "$helper" empty none.h5 37
  schur s.h5 --schur none.h5
  code 0
  says "0 x 0"
  schur s.h5 --schur none.h5 --schur-rows B.mtx
  code 0
  says "3 x 0"
  no_leftovers
}

test_schur_batch() {
  # Items are diagonal with 2, 3, ...; B are the first two columns of the identity; b is singular.
  run "$helper" mixed m.h5
  schur m.h5 --schur m.h5
  code 4
  warns "item 1 (b) is singular: row 2 has a zero or nonfinite diagonal; its S is NaN; correct it, or leave the item out with --mask"
  says "items    2 solved, 1 singular, 0 left out"
  says "output   S.h5:/items/a/S and 2 more"
  equals "$(field report items failures 0)" '{"item":1,"name":"b","status":"singular","row":2}'
  run sptrsm-solve -q m.h5 m.h5 -o x.h5
  for item in a c; do as_solved S.h5:/items/$item/S m.h5:/items/$item/B x.h5:/items/$item/X T 1e-16; done
  run "$helper" block m.h5 m.h5 B 1 B.h5
  run "$helper" schur S.h5:/items/b/S B.h5:/B B.h5:/B T
  equals "$(tr -d - <stdout)" nan
  run sptrsm-solve -q m.h5:/items/c --schur m.h5:/items/c/B -o one.h5 --device cpu --json alone
  code 0
  run "$helper" same one.h5:/S S.h5:/items/c/S
  code 0
  equals "$(field alone schur groups) $(field report schur groups)" "1 2" # of the items that have an S
  check; [ "$(field alone memory workspace_bytes)" -gt 0 ] || fail "a workspace of nothing"
  equals "$(field report memory workspace_bytes)" "$(field alone memory workspace_bytes)" # c is the largest of them
  run sptrsm-solve -q m.h5 --schur m.h5 -o gone.h5 --dry-run
  code 4
  warns "item 1 (b) is singular: row 2 has a zero or nonfinite diagonal; its S would be NaN"
  missing gone.h5
  # Names of groups, and items that are left out.
  for groups in m.h5:/items 'm.h5:/items/*' 'm.h5:/items/*/B'; do
    run sptrsm-solve -q m.h5 --schur "$groups" -o y.h5 --force --items 2
    code 0
    run "$helper" same y.h5:/items/c/S S.h5:/items/c/S
    code 0
  done
  run "$helper" list mask.h5 1 0 1
  schur m.h5 --schur m.h5 --schur-rows m.h5 --mask mask.h5
  code 0
  says "items    2 solved, 0 singular, 1 left out"
  # A NaN in B of one item harms no other.
  cp m.h5 odd.h5
  run "$helper" put odd.h5 /items/c/B/data 1 nan
  run sptrsm-solve m.h5 --schur odd.h5 -o y.h5 --force --json report
  code 4
  warns "S of 1 item is not finite, the first is item 2 (c): odd.h5:/items/c/B: entry (1,1) is nan; correct it, or leave the item out with --mask"
  equals "$(field report items solved)" 2
  run "$helper" same y.h5:/items/a/S S.h5:/items/a/S
  code 0
  # What an item lacks is said in one way, with what its group holds.
  run "$helper" unlink odd.h5 /items/c/B
  code 0
  rejects 5 "odd.h5:/items/c/B: no such object; there is L" sptrsm-solve m.h5 --schur odd.h5 -o z.h5
  rejects 5 "odd.h5:/items/c/B: no such object; there is L" sptrsm-solve m.h5 odd.h5 -o z.h5
  # One block for all items is for one order; then S is an array.
  run "$helper" empty five.h5 5
  rejects 3 "is one matrix for all items, but they have orders 3 and 5" sptrsm-solve m.h5 --schur five.h5 -o z.h5
  market e.mtx general "4 2 2" "1 1 1" "2 2 1"
  schur m.h5 --schur e.mtx --items 2
  code 0
  says "output   S.h5:/S"
  missing z.h5
  # A uniform batch: an array of S, each as alone; a singular item is NaN. S has n rows here, so that it is read as a block of the batch.
  market square.mtx general "37 37 3" "1 1 2" "30 2 1" "4 37 -1"
  factor_set s f64 4
  run "$helper" uniform s.h5 u.h5 4
  code 0
  run "$helper" poke u.h5 u.h5 1 0 0
  code 0
  schur u.h5 --schur square.mtx --max-berr 1e-13
  code 4
  warns "item 1 is singular: row 0"
  says "uniform batch of 4 items, n 37"
  says "output   S.h5:/S"
  for i in 0 3; do
    run "$helper" item u.h5 $i one.h5
    run sptrsm-solve -q one.h5 --schur square.mtx -o one_S.h5 --force --device cpu
    code 0
    run "$helper" block u.h5 S.h5 S $i item_S.h5
    code 0
    run "$helper" same one_S.h5:/S item_S.h5:/B
    code 0
  done
  run "$helper" list mask.h5 0 0 0 1
  schur u.h5 --schur square.mtx --mask mask.h5
  code 0
  equals "$(field report items solved) $(field report items left_out) $(field report dataset)" "1 3 /S"
  rejects 3 "has a matrix for each item of a mixed batch, but u.h5:/ is a uniform batch" sptrsm-solve u.h5 --schur m.h5 -o z.h5
  run "$helper" uniform s.h5 none.h5 0
  schur none.h5 --schur square.mtx
  code 0
  says "items    0 solved"
  says "uniform batch of 0 items, n 37"
  says ", 37 x 37"
  run "$helper" shape S.h5 /S
  equals "$(cat stdout)" "0 x 37 x 37"
  batch 3 random 37
  rejects 2 "b.h5: --schur needs a factor set, this is one triangle" sptrsm-solve b.h5 --schur square.mtx -o z.h5
  missing z.h5
  no_leftovers
}

test_schur_bad() {
  factor_set s f64 4
  market B.mtx general "37 2 2" "1 1 2" "30 2 1"
  # Options that are for right-hand sides and solutions.
  for option in "--sys L" "--alpha 2" "--cols 0:1" "--rows 0:1" --stream --resume --keep-partial "--precision mixed" --ferr "--refine 2" "--profile p.json" "--grid 37,1 --stencil D2N5"; do
    # shellcheck disable=SC2086
    rejects 2 "--schur: there are no right-hand sides and no X; leave ${option%% [0-9Lp]*} out" sptrsm-solve s.h5 --schur B.mtx -o S.h5 $option
  done
  rejects 2 "leave s_rhs.h5 out" sptrsm-solve s.h5 s_rhs.h5 --schur B.mtx -o S.h5
  rejects 2 "--trans: S = B^T A^-1 B has no transposed form" sptrsm-solve s.h5 --schur B.mtx --trans T -o S.h5
  rejects 2 "give B as --schur FILE" sptrsm-solve s.h5 s_rhs.h5 --schur-rows B.mtx -o S.h5
  rejects 2 "give FACTORS, the file to read" sptrsm-solve --schur B.mtx -o S.h5
  rejects 2 "s.h5: is one system, no batch; leave --items out" sptrsm-solve s.h5 --schur B.mtx --items 0 -o S.h5
  # Factors without a symmetric form; a triangle.
  factor_set g f64 0
  rejects 2 "give C, for instance the description of B (C: --schur-rows)" sptrsm-solve g.h5 --schur B.mtx -o S.h5
  factor_set g f64 2
  rejects 2 "so A is not symmetric; give C (C: --schur-rows)" sptrsm-solve g.h5 --schur B.mtx -o S.h5
  system random 37
  mv s.h5 t.h5
  rejects 2 "t.h5: --schur needs a factor set, this is one triangle" sptrsm-solve t.h5 --schur B.mtx -o S.h5
  factor_set s f64 4
  # Columns: rows, types, order, duplicates, memory.
  market wide.mtx general "2 37 1" "1 1 1"
  rejects 3 "wide.mtx: has 2 rows, the factors have order 37; is this the right file?" sptrsm-solve s.h5 --schur wide.mtx -o S.h5
  rejects 3 "takes the rows of C as columns: store C transposed" sptrsm-solve s.h5 --schur B.mtx --schur-rows wide.mtx -o S.h5
  market twice.mtx general "37 1 2" "4 1 1" "4 1 1"
  rejects 3 "twice.mtx: row 3 has column 0 twice; use --tidy" sptrsm-solve s.h5 --schur twice.mtx -o S.h5
  factor_set c c128 4
  rejects 2 "c_rhs.h5: is c128, the factors are f64; add --dtype c128" sptrsm-solve s.h5 --schur c_rhs.h5 -o S.h5
  market many.mtx general "37 3000 1" "1 1 1"
  rejects 6 "S takes 72 MB, more than the limit of 1 MB" sptrsm-solve s.h5 --schur many.mtx --memory-limit 1M -o S.h5
  market some.mtx general "37 60 1" "1 1 1"
  rejects 6 "(options.memory_limit is a quarter of --memory-limit)" sptrsm-solve s.h5 --schur some.mtx --memory-limit 30k -o S.h5
  rejects 5 "No such file" sptrsm-solve s.h5 --schur gone.h5 -o S.h5
  run "$helper" mixed m.h5
  rejects 3 "has a matrix for each item of a mixed batch, but s.h5 is one factor set" sptrsm-solve s.h5 --schur m.h5 -o S.h5
  # Outputs are not among the inputs, and are not replaced.
  rejects 2 "the output is the input" sptrsm-solve s.h5 --schur s_rhs.h5 -o s_rhs.h5 --force
  rejects 2 "the output is the input" sptrsm-solve s.h5 --schur s_rhs.h5 --schur-rows c_rhs.h5 -o c_rhs.h5 --force
  rejects 5 "s_rhs.h5: exists; replace it with --force" sptrsm-solve s.h5 --schur B.mtx -o s_rhs.h5
  missing S.h5
  # NaN in a column, and a bound that no difference keeps.
  run "$helper" nonfinite bad.h5 37
  schur s.h5 --schur bad.h5
  code 1
  warns "S is not finite: bad.h5:/B: row 12 of column 3 is inf"
  equals "$(field report check difference) $(field report exit_code)" "null 1"
  market nan.mtx general "37 2 2" "1 1 2" "30 2 nan"
  schur s.h5 --schur nan.mtx
  code 1
  warns "S is not finite: nan.mtx: entry (29,1) is nan"
  schur s.h5 --schur nan.mtx --schur-rows B.mtx
  code 1
  factor_set s f64 0
  schur s.h5 --schur s_rhs.h5 --schur-rows s_rhs.h5 --max-berr 0
  code 1
  warns "is above --max-berr 0"
  no_leftovers
}
