# cli_parts.sh -- the columns of one solution shared out to several runs (--part, --into). Sections for cli_test.sh.
# shellcheck shell=bash

part() { sptrsm-solve --device cpu s.h5 s_rhs.h5 --into x.h5 --part "$@"; } # part I/N OPTION ...

# The parts make the solution that one run makes, in whatever order, also at the same time; the summary is that of all columns.
test_parts() {
  while read -r order dtype parts; do
    system D2N5 20 30 --nrhs 50 --order "$order" --dtype "$dtype"
    run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --force --verify --json whole
    code 0
    rm -f x.h5
    for k in $(seq "$parts" -1 1); do
      run part "$k/$parts" --verify --json report --stream=3
      code 0
      [ "$k" = 1 ] || says "x.h5.part: $((50 - 50 / parts * (parts - k + 1))) columns are left to other parts"
      [ "$k" = 1 ] || missing x.h5
    done
    says "output   x.h5:/X"
    same_block whole.h5:/X x.h5:/X
    same_block whole.h5:/berr x.h5:/berr
    for key in max_berr max_normwise worst_column g1 g2; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
    no_parts
    run part "1/$parts" --verify --json report # again: nothing is left to do
    code 0
    warns "x.h5: is complete already"
    for key in max_berr worst_column; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
    for force in "" --force; do rejects 5 "now it is 2,0; remove it, or choose another --into" part 1/2 --verify --alpha 2 $force; done
    rm x.h5
    pids=
    for k in $(seq "$parts"); do part "$k/$parts" --verify -q >"out.$k" 2>&1 & pids+=" $!"; done
    for pid in $pids; do wait "$pid"; rc=$?; last="parts at the same time: $(cat out.*)"; code 0; done
    same_block whole.h5:/X x.h5:/X
    no_parts
  done <<'END'
C f64 2
F c64 5
F f32 1
C c128 10
END
  # A factor set with its A; more parts than columns; columns that are not finite, of which all parts together tell.
  run sptrsm-solve --device cpu -q "$data/add32_splu.h5" "$data/add32_rhs.h5" -o whole.h5 --force --cols 0:3 --refine 2
  code 0
  rm -f x.h5
  for k in 5 1 3 2 4; do
    run sptrsm-solve --device cpu "$data/add32_splu.h5" "$data/add32_rhs.h5" --into x.h5 --part $k/5 --cols 0:3 --refine 2
    code 0
  done
  same_block whole.h5:/X x.h5:/X
  no_parts
  system banded 30 2 --nrhs 4
  run "$helper" nonfinite odd.h5 30
  rm -f x.h5
  run sptrsm-solve --device cpu -q s.h5 odd.h5 --into x.h5 --part 2/2 --verify --json report
  code 1
  equals "$(field report nonfinite_columns first)" "[3]"
  equals "$(field report stream left)" 2
  run sptrsm-solve --device cpu -q s.h5 odd.h5 --into x.h5 --part 1/2 --verify --json report
  code 1
  warns "2 of 4 solutions are not finite: columns 1, 3"
  equals "$(field report residual max_berr)" null
  equals "$(field report residual worst_column)" 1
  # A part without columns has no error to tell.
  rm -f x.h5
  run sptrsm-solve --device cpu s.h5 s_rhs.h5 --cols 2 --into x.h5 --part 2/2 --verify --json report
  code 0
  check; ! grep -q "^error" stdout || fail "there is an error of no columns"
  equals "$(field report residual)" null
  run sptrsm-solve --device cpu s.h5 s_rhs.h5 --cols 2 --into x.h5 --part 1/2 --verify --json report
  code 0
  says "(column 2)"
  # No columns, no rows.
  system chain 0 --nrhs 2
  rm -f x.h5
  run part 2/2
  code 0
  missing x.h5
  for attempt in 1 2; do run part 1/2; code 0; done
  exists x.h5
}

# A part that is killed is done by the same command again, by one of another number of parts, or by --resume.
test_parts_killed() {
  system dense 400 --nrhs 300
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --method serial --verify --json whole
  code 0
  for way in again others alone; do
    rm -f x.h5
    for _ in $(seq 20); do
      background sptrsm-solve --device cpu s.h5 s_rhs.h5 --into x.h5 --part 2/3 --method serial --verify --threads 1 --stream=2
      until_true checkpoint
      kill -KILL $pid 2>/dev/null
      ended
      [ $rc = 137 ] && break # else it was through before the signal came
      rm -f x.h5.part x.h5.part.journal
    done
    exists x.h5.part
    rejects 2 "there is no part 4 of 3; parts are counted from 1" part 4/3
    rejects 3 "x.h5.part: was begun with other inputs or options: --alpha was 1,0, now it is 2,0; give the same, or remove it and its journal, \
or choose another --into" part 1/3 --method serial --verify --alpha 2 --force
    rejects 3 "was begun as /X of 400 x 300 with berr, now it is /X of 400 x 300" part 1/3 --method serial --no-verify
    case $way in
      again) for k in 1 2 3; do run part $k/3 --method serial --verify --json report; code 0; done ;;
      others) for k in 4 1 3 2; do run part $k/4 --method serial --verify --json report; code 0; done ;;
      alone)
        run part 1/3 --method serial --verify
        code 0
        run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --method serial --verify --resume --json report
        code 0 ;;
    esac
    same_block whole.h5:/X x.h5:/X
    same_block whole.h5:/berr x.h5:/berr
    for key in max_berr max_normwise worst_column g1 g2; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
    no_parts
  done
  # While a part is at work, nobody else gets its columns, and nobody the whole.
  rm x.h5
  background sptrsm-solve --device cpu s.h5 s_rhs.h5 --into x.h5 --part 2/3 --method serial --verify --threads 1 --stream=1
  until_true checkpoint
  kill -STOP $pid
  if [ -e x.h5.part ] && kill -0 $pid 2>/dev/null; then
    rejects 5 "another process is at work on some of the columns 100:200" part 2/3 --method serial --verify
    rejects 5 "another process is at work on some of the columns 0:150" part 1/2 --method serial --verify
    rejects 5 "another process is at work on this output" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --method serial --verify --resume
    rejects 5 "another process is writing it" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --method serial --verify --stream --force
    run part 1/3 --method serial --verify
    code 0
  fi
  kill -CONT $pid
  ended
  code 0
  for k in 1 2 3; do run part $k/3 --method serial --verify; code 0; done
  same_block whole.h5:/X x.h5:/X
  no_parts
  # Wrong command lines.
  rejects 2 "--part: '3' is not I/N" part 3
  rejects 2 "--part: '0' is not a whole number" part 0/3
  rejects 2 "--part: give the file that all parts make, --into FILE" sptrsm-solve s.h5 s_rhs.h5 --part 1/2
  rejects 2 "--into: say which part of it this is" sptrsm-solve s.h5 s_rhs.h5 --into y.h5
  rejects 2 "leave -o out" part 1/2 -o y.h5
  rejects 2 "can't be continued" part 1/2 --compress 1
  rejects 2 "are for dense right-hand sides and all rows" part 1/2 --rows 0
  rejects 2 "leave --part out" sptrsm-solve s.h5 --schur s_rhs.h5 --part 1/2 --into y.h5
  rejects 2 "or one device, without mpirun, --part, --stream" sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" --into y.h5 --part 1/2 --ferr
  # A file that took the name of the solution is found before anything is solved.
  rm -f x.h5
  run part 1/2
  code 0
  echo precious >x.h5
  cp x.h5 old
  cp x.h5.part.journal before
  rejects 5 "x.h5: exists; use --force to replace it" part 2/2
  same x.h5 old
  same x.h5.part.journal before
  run part 2/2 --force
  code 0
  same_block whole.h5:/X x.h5:/X
  # Another version of the library, and the journal of another version.
  rm -f x.h5
  run part 1/2
  code 0
  sed -i 's/ format 3 / format 2 /' x.h5.part.journal
  run part 2/2
  code 3
  warns "x.h5.part.journal: not a journal of this version; remove it and its part, or begin anew (--force without --resume or --part)"
  rm x.h5.part.journal
  rejects 5 "x.h5.part: has no journal beside it" part 2/2
}
