# cli_batch.sh -- batches of systems in all programs. A section for cli_test.sh.
# shellcheck shell=bash

# batch COUNT KIND ...: b.h5 and b_rhs.h5
batch() { local count=$1; shift; run sptrsm-gen -q "$@" --count "$count" -o b.h5 --force; code 0; silent; }
solve_batch() { run sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --force --json report "$@"; }

test_batch() {
  # Every item is solved as it would be alone, to the last bit, in each type, order and operation.
  for case in "f64 C N lower" "f32 F T upper" "c64 C C upper" "c128 F C lower"; do
    read -r dtype order op uplo <<<"$case"
    batch 5 random 60 --nrhs 3 --dtype "$dtype" --order "$order" --uplo "$uplo"
    solve_batch --trans "$op" --verify --max-berr 1e-6 --device cpu
    code 0
    case $op in N) op_text="" ;; T) op_text=", transposed" ;; C) op_text=", conjugate transposed" ;; esac
    equals "$(grep ^system stdout)" "system   T$op_text"
    equals "$(field report batch count)" 5
    equals "$(field report items solved)" 5
    for i in 0 3; do
      run "$helper" item b.h5 $i one.h5
      code 0
      run "$helper" block b.h5 b_rhs.h5 B $i one_rhs.h5
      run sptrsm-solve -q one.h5 one_rhs.h5 -o one_x.h5 --force --trans "$op" --method levelset --device cpu
      code 0
      run "$helper" block b.h5 x.h5 X $i item_x.h5
      run "$helper" same one_x.h5:/X item_x.h5:/B
      code 0
    done
  done
  batch 7 random 60 --nrhs 2
  run sptrsm-solve b.h5 b_rhs.h5
  code 0
  says "uniform batch of 7 items, n 60"
  says "rhs      b_rhs.h5:/B: 2 columns an item, 3-D dataset, C order"
  says "items    7 solved, 0 singular, 0 left out"
  says "output   b_rhs.solution.h5:/X"
  run sptrsm-verify b.h5 b_rhs.h5 b_rhs.solution.h5
  code 0
  says "yes, 7 of 7 items"
  says "largest error against X_true: 0.00e+00"
  rejects 5 "b_rhs.solution.h5: exists; replace it with --force" sptrsm-solve b.h5 b_rhs.h5
  # Some items.
  solve_batch --items 2:5 --cols 1
  code 0
  equals "$(field report batch first) $(field report batch count) $(field report batch file_count) $(field report rhs nrhs_most)" "2 3 7 1"
  run sptrsm-verify -q b.h5 b_rhs.h5 x.h5 --items 2:5 --cols 1
  code 0
  run "$helper" list mask.h5 1 0 1 1 0 1 1
  solve_batch --mask mask.h5 --verify
  code 0
  equals "$(field report items)" '{"solved":5,"singular":0,"left_out":2,"failures":[],"nonfinite":{"count":0,"first":[]},"unjudged":{"count":0,"first":[]}}'
  run sptrsm-verify -q b.h5 b_rhs.h5 x.h5 --mask mask.h5:/rows
  code 0
  run sptrsm-verify -q b.h5 b_rhs.h5 x.h5
  code 1
  warns "item 4 is not within"
  solve_batch --mask mask.h5 --items 1:3 --no-verify
  equals "$(field report items solved) $(field report items left_out)" "1 1"
  # One block for all items; compressed output; nothing is written by a dry run.
  run "$helper" block b.h5 b_rhs.h5 B 2 one_rhs.h5
  run sptrsm-solve b.h5 one_rhs.h5 -o x.h5 --force --compress 4 --checksum --verify
  code 0
  says "2 columns for all items"
  run sptrsm-verify -q b.h5 one_rhs.h5 x.h5
  code 0
  run sptrsm-solve b.h5 b_rhs.h5 -o gone.h5 --dry-run
  code 0
  says "nothing solved"
  missing gone.h5
  # Singular items in the middle, and NaN that is none of a diagonal.
  batch 5 banded 6 1 --nrhs 2
  run "$helper" poke b.h5 b.h5 1 0 0
  run "$helper" poke b.h5 b.h5 3 4 nan
  run "$helper" poke b.h5 b.h5 4 3 nan
  solve_batch --verify
  code 4
  warns "item 1 is singular: row 0 has a zero or nonfinite diagonal; its solution is NaN; correct it, or leave the item out with --mask"
  warns "item 3 is singular: row 2"
  warns "solutions of 1 item are not finite, the first is item 4: b.h5:/L: entry (2,1) is nan; correct it, or leave the item out with --mask"
  says "items    3 solved, 2 singular, 0 left out"
  equals "$(field report exit_code) $(field report items failures 1)" '4 {"item":3,"name":null,"status":"singular","row":2}'
  # What a dry run knows of it, too.
  run sptrsm-solve b.h5 b_rhs.h5 -o gone.h5 --dry-run --json report.dry
  code 4
  warns "item 1 is singular: row 0 has a zero or nonfinite diagonal; its solution would be NaN; correct it"
  warns "item 3 is singular: row 2"
  equals "$(field report.dry exit_code) $(field report.dry items solved) $(field report.dry items singular)" "4 0 2"
  run "$helper" list good.h5 1 0 1 0 1
  run sptrsm-solve b.h5 b_rhs.h5 -o gone.h5 --dry-run --mask good.h5
  code 0
  missing gone.h5
  run sptrsm-verify -q b.h5 b_rhs.h5 x.h5 --items 2
  code 0
  run sptrsm-verify -q b.h5 b_rhs.h5 x.h5 --item 1
  code 1
  run sptrsm-info b.h5
  code 0
  says "uniform batch of 5 items, n 6, f64"
  says "2 singular items"
  says "item 3: row 2"
  says "1 item with a value that is not finite, the first is item 4: b.h5:/L: entry (2,1) is nan"
  run sptrsm-info --json b.h5
  mv stdout facts
  equals "$(field facts files 0 batch nonfinite) $(field facts files 0 batch nonfinite_value)" "1 b.h5:/L: entry (2,1) is nan"
  solve_batch --items 4 --max-berr 1
  code 1
  # NaN in right-hand sides, of which columns are taken; X takes the place of B where nothing is verified. An overflow has no such value.
  batch 3 random 6 --nrhs 3 --order F
  run "$helper" put b_rhs.h5 /B 33 nan
  for verified in --verify --no-verify; do
    solve_batch $verified --cols 1:3
    code 1
    warns "the first is item 1: b_rhs.h5:/B: row 3 of column 2 is nan; correct it"
    solve_batch $verified --cols 1:3 --items 1
    warns "the first is item 1: b_rhs.h5:/B: row 3 of column 2 is nan; correct it"
  done
  run "$helper" put b_rhs.h5 /B 33 1e308 -1e308 1e308
  run "$helper" poke b.h5 b.h5 1 0 1e-308
  run "$helper" put b_rhs.h5 /B 18 1e308
  solve_batch --no-verify
  code 1
  warns "the first is item 1: numbers that it was computed with overflow in f64; correct it"
  no_leftovers
}

test_batch_mixed() {
  run "$helper" mixed m.h5
  code 0
  run sptrsm-solve m.h5 m.h5 -o x.h5 --json report --verify
  code 4
  warns "item 1 (b) is singular: row 2"
  says "mixed batch of 3 items, n 3 to 5"
  says "output   x.h5:/items/a/X and 2 more"
  equals "$(field report items failures 0 name) $(field report batch kind)" "b mixed"
  at_most "$(field report residual max_berr)" 1e-15
  run sptrsm-verify -q m.h5 m.h5 x.h5 --items 2
  code 0
  run sptrsm-verify --json m.h5 m.h5 x.h5
  code 1
  mv stdout verdict
  equals "$(field verdict checked) $(field verdict not_within) $(field verdict items 1 within)" "3 1 false"
  run sptrsm-solve -q m.h5:/items/c m.h5:/items/c/B -o one.h5 --method levelset --device cpu
  code 0
  run "$helper" same one.h5:/items/c/X x.h5:/items/c/X
  code 0
  run sptrsm-solve -q 'm.h5:/items/*' m.h5 -o y.h5
  code 4
  run "$helper" same y.h5:/items/c/X x.h5:/items/c/X
  code 0
  run sptrsm-info m.h5
  code 0
  says "m.h5:/items: mixed batch of 3 items, n 3 to 5, f64"
  says "item 1 (b): row 2"
  run sptrsm-info --json m.h5
  mv stdout facts
  equals "$(field facts files 0 batch singular_items)" '[{"item":1,"name":"b","row":2}]'
  rejects 3 "is for items of one order, but m.h5:/items has item a of order 3 and item b of order 5" sptrsm-solve m.h5 x.h5:/items/a/X -o z.h5
  missing z.h5
  # A NaN in a sparse B stays in its column.
  cp m.h5 odd.h5
  run "$helper" put odd.h5 /items/c/B/data 1 nan
  code 0
  run sptrsm-solve odd.h5 odd.h5 -o y.h5 --force --json report
  code 4
  warns "solutions of 1 item are not finite, the first is item 2 (c): odd.h5:/items/c/B: row 1 of column 1 is nan; correct it"
  equals "$(field report items nonfinite)" '{"count":1,"first":[2]}'
  run "$helper" same y.h5:/items/a/X x.h5:/items/a/X
  code 0
  run sptrsm-solve odd.h5 odd.h5 -o y.h5 --force --items 2 --cols 0
  code 0
  says ": 1 column an item, "
  # The subdomains of a cube.
  run sptrsm-gen feti 2 4 -o f.h5
  if [ "$rc" = 2 ]; then
    warns "feti needs CHOLMOD"
  else
    code 0
    says "8 subdomains, n 64"
    run sptrsm-solve f.h5 f.h5 -o fx.h5 --max-berr 1e-14
    code 0
    says "against A"
    run sptrsm-verify f.h5 f.h5 fx.h5
    code 0
    says "yes, 8 of 8 items"
    # An error that is not a number is above every limit, also without one, and hides no other.
    cp f.h5 odd.h5
    run "$helper" put odd.h5 /items/sub2/A/values 1 nan
    code 0
    run sptrsm-solve odd.h5 f.h5 -o y.h5 --force --json report
    code 1
    warns "backward errors of 1 item are not a number, the first is item 2 (sub2): odd.h5:/items/sub2/A: entry ("
    warns ") is nan; correct it, or leave the item out with --mask"
    run sptrsm-solve -q odd.h5 f.h5 -o y.h5 --force
    code 1
    warns "the first is item 2 (sub2)"
    run "$helper" put odd.h5 /items/sub2/B/values 0 inf
    run sptrsm-solve odd.h5 odd.h5 -o y.h5 --force
    code 1
    warns "the first is item 2 (sub2): odd.h5:/items/sub2/B: row"
    warns "is inf; correct it"
    run sptrsm-info odd.h5
    code 0
    says "1 item with a value that is not finite, the first is item 2 (sub2): odd.h5:/items/sub2/A: entry ("
    equals "$(field report items unjudged)" '{"count":1,"first":[2]}'
    at_most "$(field report residual max_berr)" 1e-14
    equals "$(field report exit_code)" 1
    rejects 5 "f.h5: exists; replace it with --force" sptrsm-gen feti 2 4 -o f.h5
  fi
  rejects 2 "give feti CUTS SIDE" sptrsm-gen feti 2 -o g.h5
  rejects 2 "feti: SIDE is 1, choose 2 to 128" sptrsm-gen feti 2 1 -o g.h5
  rejects 2 "--count: feti makes" sptrsm-gen feti 2 4 --count 3 -o g.h5
  missing g.h5
  no_leftovers
}

test_batch_bench() {
  run sptrsm-bench gen:random:200 gen:random:90:uplo=upper --host --batch 9 --nrhs 1,3 --op N,C --dtype f64,c64 --methods levelset,block,auto \
    --reps 2 --json out.json
  code 0
  says "batch: each solve is that of 9 items with one pattern"
  equals "$(field out.json batch)" 9
  check; [ "$(grep -c '"status": "ok"' out.json)" = 48 ] || fail "not all measurements are ok"
  equals "$(field out.json results 0 chosen)" "levelset"
  equals "$(field out.json results 1 chosen)" "block"
  rejects 2 "--batch: '0' is not a whole number from 1" sptrsm-bench gen:chain:9 --host --batch 0
  rejects 2 "--batch: table levels has no solves" sptrsm-bench gen:chain:9 --host --batch 2 --table levels
  rejects 2 "--tune measures single systems" sptrsm-bench gen:chain:9 --host --batch 2 --tune
}

test_batch_bad() {
  batch 4 random 40 --nrhs 2
  for option in --stream --resume --keep-partial --ferr "--refine 2" "--precision mixed" "--profile p.json" "--rows 0:3" "--grid 2,2,10 --stencil D3N7"; do
    # shellcheck disable=SC2086
    rejects 2 "is a batch, for which there is no ${option%% [0-9mp]*}" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 $option
  done
  rejects 2 "items 2:5 asked for, but it has 4; choose within 0:4" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --items 2:5
  rejects 2 "--items: '3:1' is not a range" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --items 3:1
  rejects 2 "/B: columns 1:3 asked for, but it has 2" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --cols 1:3
  rejects 2 "--sys D needs a factor set" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --sys D
  rejects 2 "complex, but the data are f64" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --alpha 1,1
  rejects 6 "raise the limit" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --memory-limit 2k
  # Masks.
  run "$helper" list mask.h5 1 1 0
  rejects 3 "mask.h5:/rows: is 3 x 1, but b.h5:/ has 4 items; a mask has one number for each" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --mask mask.h5
  run "$helper" list mask.h5 1 1 0 2
  rejects 3 "mask.h5:/rows: [3] is 2; a mask has 1 for items that are solved" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --mask mask.h5
  run "$helper" list mask.h5 1 1 nan 0
  rejects 3 "[2] is nan" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --mask mask.h5
  rejects 5 "No such file" sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --mask gone.h5
  cp mask.h5 kept.h5
  rejects 2 "mask.h5: the output is the input mask.h5" sptrsm-solve b.h5 b_rhs.h5 -o mask.h5 --force --mask mask.h5
  same mask.h5 kept.h5
  # Right-hand sides of another batch, of other orders, of one system.
  run sptrsm-gen -q random 40 --count 3 -o c.h5
  rejects 3 "c_rhs.h5:/B: has blocks for 3 items, but b.h5:/ has 4; is this the right file?" sptrsm-solve b.h5 c_rhs.h5 -o x.h5
  run sptrsm-gen -q random 30 --count 4 -o c.h5 --force
  rejects 3 "c_rhs.h5:/B: has blocks of 30 rows" sptrsm-solve b.h5 c_rhs.h5 -o x.h5
  system random 40
  rejects 3 "b_rhs.h5:/B: is 4 x 40 x 2, the blocks of a batch, but one block of two dimensions is needed" sptrsm-solve s.h5 b_rhs.h5 -o x.h5
  rejects 2 "s.h5: is one system, no batch; leave --items out" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --items 0:1
  rejects 2 "s.h5: is one system, no batch; leave --mask out" sptrsm-verify s.h5 s_rhs.h5 s_rhs.h5:/X_true --mask mask.h5
  run sptrsm-solve -q b.h5 b_rhs.h5 -o one.h5 --cols 0
  rejects 3 "one.h5:/X: item 0 has 1 columns, its right-hand sides 2" sptrsm-verify b.h5 b_rhs.h5 one.h5
  rejects 5 "b.h5:/items: no such object; there is L" sptrsm-solve 'b.h5:/items/*' b_rhs.h5 -o x.h5
  rejects 5 "b.h5:/L/none: no such object; there is data, indices, indptr" sptrsm-solve b.h5:/L/none/at/all b_rhs.h5 -o x.h5
  missing x.h5
  # Batches of nothing: no items, no rows, no columns.
  for case in "0 random 20 --nrhs 2" "3 random 0 --nrhs 2"; do
    # shellcheck disable=SC2086
    batch $case
    run sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --force --verify
    code 0
    run sptrsm-verify b.h5 b_rhs.h5 x.h5
    code 0
    run sptrsm-info b.h5 x.h5
    code 0
  done
  # X mirrors B also where there are no items.
  for order in C F; do
    batch 0 random 20 --nrhs 2 --order $order
    for verified in --verify --no-verify; do
      run sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --force $verified
      code 0
      says "uniform batch of 0 items, n 20, "
      run "$helper" shape x.h5 /X
      equals "$(cat stdout)" "$([ $order = C ] && echo 0 x 20 x 2 || echo 0 x 2 x 20)"
    done
  done
  run sptrsm-solve b.h5 x.h5:/X -o y.h5 --force
  code 0
  run "$helper" mixed m.h5
  for item in a b c; do run "$helper" unlink m.h5 /items/$item; done
  run sptrsm-solve m.h5 m.h5 -o y.h5 --force
  code 0
  says "mixed batch of 0 items"
  says "output   y.h5, which has no solutions"
  check; ! grep -qF "()" stdout || fail "a method without a name"
  run sptrsm-solve m.h5 --schur m.h5 -o y.h5 --force
  code 0
  says "output   y.h5, which has no S"
  run sptrsm-info m.h5
  code 0
  says "m.h5:/items: mixed batch of 0 items"
  batch 3 random 20 --nrhs 0
  missing b_rhs.h5.part
  run "$helper" empty none.h5 20
  run sptrsm-solve b.h5 none.h5 -o x.h5 --force --verify
  code 0
  batch 3 random 20 --dtype c64
  rejects 2 "values are complex" sptrsm-solve b.h5 b_rhs.h5 -o z.h5 --dtype f64
  run sptrsm-solve b.h5 b_rhs.h5 -o x.h5 --force --dtype c128 --verify --max-berr 1e-14
  code 0
  run sptrsm-gen -q random 20 --count 3 -o r.h5
  run sptrsm-solve r.h5 b_rhs.h5 -o x.h5 --force --verify
  code 0
  says "factors are f64, right-hand sides c64: both taken as c128"
  missing z.h5
  no_leftovers
}

test_batch_damaged() {
  # What an attribute `batch` says is checked where the batch is looked for; values of one item are no values of all items.
  batch 4 random 20 --nrhs 2
  cp b.h5 c.h5
  run "$helper" attribute c.h5 batch -7
  rejects 3 "c.h5:/: attribute batch is -7, the number of items can't be negative" sptrsm-solve c.h5 b_rhs.h5 -o x.h5
  rejects 3 "attribute batch is -7" sptrsm-verify c.h5 b_rhs.h5 b_rhs.h5:/X_true
  run sptrsm-info c.h5
  code 3
  warns "attribute batch is -7, the number of items"
  run "$helper" attribute c.h5 batch 2.5
  rejects 3 "c.h5:/: attribute batch must hold 1 integer" sptrsm-solve c.h5 b_rhs.h5 -o x.h5
  cp b.h5 c.h5
  run "$helper" cut c.h5 L/data
  code 0
  rejects 3 "c.h5:/L/data: is 1 x" sptrsm-solve c.h5 b_rhs.h5 -o x.h5
  warns "but the batch has 4 items (attribute batch): store 4 x"
  warns " in one dimension for all items"
  run "$helper" attribute c.h5 batch 1
  run sptrsm-info c.h5
  code 0
  says "uniform batch of 1 item, n 20"
  missing x.h5
  no_leftovers
}
