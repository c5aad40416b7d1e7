# cli_rows.sh -- sptrsm-solve for some rows of X, and with sparse right-hand sides. A section for cli_test.sh.
# shellcheck shell=bash

# part_of COUNT LIMIT: part.h5 holds COUNT rows, all within LIMIT of those in whole.h5
part_of() {
  run "$helper" rows part.h5 whole.h5
  code 0
  equals "$(cut -d' ' -f1 stdout)" "$1"
  at_most "$(cut -d' ' -f2 stdout)" "$2"
}

test_rows() {
  # Every system of sets with all parts.
  run "$helper" list rows.h5 0 4 5 30 36
  code 0
  for set in "f64 1 N" "c128 2 T" "c128 3 C"; do
    read -r dtype variant op <<<"$set"
    rm -f set.h5 set_rhs.h5
    run "$helper" set set.h5 "$dtype" "$variant"
    for system in A At Lat Ut LDLt Pt_L Q_Ut P; do
      run sptrsm-solve -q set.h5 set_rhs.h5 -o whole.h5 --force --sys $system --trans "$op"
      run sptrsm-solve -q set.h5 set_rhs.h5 -o part.h5 --force --sys $system --trans "$op" --rows rows.h5
      code 0
      part_of 5 1e-11
    done
  done
  rejects 3 "part.h5:/rows: X holds only the rows that are listed there" sptrsm-verify set.h5 set_rhs.h5 part.h5
  # A sparse B: with an empty column, in both formats that hold it, and as what sptrsm-verify makes of it.
  market b.mtx general "37 3 3" "2 1 1.5" "9 3 -2" "37 3 1"
  run sptrsm-solve set.h5 b.mtx -o whole.h5 --force --dtype c128 --verify --max-berr 1e-12 --json report
  code 0
  says "rhs      b.mtx: 3 columns"
  equals "$(field report reach wanted)" null
  run sptrsm-verify -q set.h5 b.mtx whole.h5
  code 0
  run sptrsm-solve -q set.h5 b.mtx -o part.h5 --force --rows 3:9 --cols 1:3
  code 0
  run sptrsm-solve -q set.h5 b.mtx -o whole.h5 --force --cols 1:3
  code 0
  part_of 6 1e-11
  run sptrsm-verify -q set.h5 b.mtx whole.h5 --cols 1:3
  code 0
  rejects 2 "columns 1:4 asked for, but it has 3" sptrsm-solve -q set.h5 b.mtx -o x.h5 --cols 1:4
  market wide.mtx general "37 20000 1" "2 1 1.5"
  rejects 6 "takes more than the memory limit, 1 MB; take fewer columns" sptrsm-solve -q set.h5 wide.mtx -o x.h5 --memory-limit 1M --device cpu
  # A NaN stays in its column, as in a dense B.
  market nan.mtx general "37 3 3" "2 1 1.5" "9 2 nan" "37 3 1"
  run sptrsm-solve set.h5 nan.mtx -o x.h5 --dtype c128 --json report
  code 1
  warns "1 of 3 solutions are not finite: column 1"
  equals "$(field report nonfinite_columns)" '{"count":1,"first":[1]}'
  # What is not reached is not worked on: of a chain, what comes behind the entry, and before the row.
  system chain 50 --nrhs 2
  market e.mtx general "50 1 1" "21 1 1"
  run sptrsm-solve s.h5 e.mtx -o x.h5 --force --json report --max-berr 1e-15
  code 0
  says "reach    30 of 50 rows"
  run sptrsm-solve s.h5 e.mtx -o x.h5 --force --json report --rows 24
  code 0
  says "reach    5 of 50 rows, 9.09 % of the entries; 1 row of X, no residual"
  equals "$(field report reach)" '{"rows":5,"entries":9,"all_entries":99,"wanted":1}'
  equals "$(field report residual)" null
  run sptrsm-solve s.h5 e.mtx -o x.h5 --force --rows 24 --trans T
  says "reach    0 of 50 rows"
  system chain 50 --uplo upper --order F
  run sptrsm-solve s.h5 s_rhs.h5 -o whole.h5 --force
  run sptrsm-solve s.h5 s_rhs.h5 -o part.h5 --force --rows 40:
  says "reach    10 of 50 rows"
  part_of 10 0
  run "$helper" list none.h5
  run sptrsm-solve s.h5 s_rhs.h5 -o part.h5 --force --rows none.h5
  code 0
  part_of 0 0
  run sptrsm-solve -q s.h5 s_rhs.h5 -o gone.h5 --rows 1 --dry-run
  code 0
  missing gone.h5
  # The list is an input, too.
  run "$helper" list kept.h5 1 2
  cp kept.h5 old
  rejects 2 "kept.h5: the output is the input kept.h5" sptrsm-solve set.h5 set_rhs.h5 -o kept.h5 --force --rows kept.h5
  rejects 2 "kept.h5: the output is the input kept.h5" sptrsm-solve set.h5 set_rhs.h5 -o part.h5 --force --rows kept.h5 --json kept.h5
  same kept.h5 old
  # Wrong lists.
  run "$helper" list bad.h5 3 3
  rejects 3 "bad.h5:/rows: [1] is 3, after 3; sort the rows and drop duplicates" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --rows bad.h5
  run "$helper" list bad.h5 3 50
  rejects 3 "bad.h5:/rows: [1] is 50, which is outside of X; rows are 0 to 49" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --rows bad.h5:/rows
  run "$helper" list bad.h5 0.5
  rejects 3 "bad.h5:/rows: [0] is 0.5, which is no whole number" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --rows bad.h5
  run "$helper" list bad.h5 nan
  rejects 3 "[0] is nan, which is no whole number" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --rows bad.h5
  rejects 2 "--rows 9:51: X has 50 rows; choose within 0:50" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --rows 9:51
  rejects 2 "--rows: '5:5' is not a range" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --rows 5:5
  rejects 5 "No such file" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --rows nothing.h5
  rejects 2 "--rows: a residual needs all rows of X" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --rows 1 --max-berr 1
}

# --map: the same bits, and little memory where few rows are wanted; what can't be mapped is copied; a file that is cut off is no crash.
test_map() {
  for name in add32_splu sherman5_splu; do
    for options in "" "--rows 5:30" "--trans T --verify --tidy" "--dtype c128" "--take-triangle" "--stream=3 --resume --threads 1"; do
      for way in "" --map; do
        run sptrsm-solve --device cpu -q "$data/$name.h5" "$data/${name%_splu}_rhs.h5" -o x$way.h5 --force --method serial $options $way
        code 0
      done
      same_block x.h5:/X x--map.h5:/X
    done
  done
  system dense 100 --nrhs 2
  "$helper" put s.h5 /L/indices_1 1 1 0 # the second row in another order, which --tidy sorts in a copy
  for way in "" --map; do solves --tidy -o x$way.h5 $way; done
  same_block x.h5:/X x--map.h5:/X
  system dense 100 --nrhs 2 # tells what the program itself takes
  run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --force --map --rows 0:100 --json report
  code 0
  local itself
  itself=$(field report memory peak_bytes)
  system dense 3000 --nrhs 2 # 54 MB
  rm x.h5
  run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --map --rows 0:100 --memory-limit 20M -v --json report
  code 0
  check; ! grep -q "are copied" stderr || fail "something is copied"
  [ -n "$(is_sanitized && echo yes)" ] || at_most "$(field report memory peak_bytes)" $((itself + 13500000))
  run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o whole.h5 --rows 0:100 --json report
  code 0
  same_block x.h5:/X whole.h5:/X
  rejects 6 "needs 54 MB of memory and the limit is 20 MB" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --force --rows 0:100 --memory-limit 20M
  system dense 300 --nrhs 400 --compress 4
  run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --force --map -v
  code 0
  warns "--map: s.h5:/L: its indices are copied; mapped ones have to be int32, contiguous and aligned"
  warns "its values are copied"
  if is_sanitized; then return; fi # it handles bus errors itself
  system dense 800 --nrhs 2000
  rm -f x.h5
  for _ in $(seq 20); do
    cp s.h5 short.h5
    background sptrsm-solve --device cpu short.h5 s_rhs.h5 -o x.h5 --map --method serial --threads 1 --stream=1 --keep-partial
    until_true checkpoint || continue
    truncate -s 4096 short.h5
    ended
    [ $rc = 0 ] || break # else it was through
    rm -f x.h5
  done
  code 5
  warns "sptrsm-solve: error: a file that is mapped (--map, --plan) became shorter while it was in use"
  missing x.h5
}
