# cli_files.sh -- outputs, damaged inputs, and what happens to an old output when things go wrong. Sections for cli_test.sh.
# shellcheck shell=bash

test_outputs() {
  system banded 60 4 --nrhs 2
  echo precious >s_rhs.solution.h5
  cp s_rhs.solution.h5 old
  rejects 5 "s_rhs.solution.h5: exists; replace it with --force or choose another output" sptrsm-solve s.h5 s_rhs.h5
  same s_rhs.solution.h5 old
  rejects 5 "s_rhs.solution.h5: exists" sptrsm-solve s.h5 s_rhs.h5 --dry-run
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
  rejects 2 "is the output of the solution too" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --json "$PWD/./x.h5"
  echo plan >p
  rejects 2 "the output is the input p" sptrsm-solve s.h5 s_rhs.h5 -o p --force --rows rows.h5 --mask mask.h5 --plan p # as many as there can be
  same s.h5 copy.h5
  same s_rhs.h5 copy_rhs.h5
  rejects 5 "there is no folder none; make it first" sptrsm-solve s.h5 s_rhs.h5 -o none/x.h5
  mkdir folder
  rejects 5 "folder: is a folder" sptrsm-solve s.h5 s_rhs.h5 -o folder --force
  rejects 5 "/dev/null: is not a regular file" sptrsm-solve s.h5 s_rhs.h5 -o /dev/null --force
  echo precious >notes.txt
  cp notes.txt notes
  rejects 5 "notes.txt: exists and is no JSON report; replace it with --force" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --json notes.txt
  rejects 5 "notes.txt: exists and is no JSON report" sptrsm-bench s.h5 --host --json notes.txt
  same notes.txt notes
  for content in "" "{}" "[1]" precious; do # replaced: an empty file, a report, and anything with --force
    printf '%s' "$content" >report
    run sptrsm-solve -q s.h5 s_rhs.h5 -o report.h5 --json report $([ "$content" = precious ] && echo --force)
    code 0
    equals "$(field report exit_code)" 0
    rm report.h5
  done
  rejects 5 "folder: is a folder; --json needs a file" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --json folder
  rejects 5 "/dev/full: can't write: No space left" sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --json /dev/full
  for command in "sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force" "sptrsm-info s.h5" "sptrsm-info --methods" "sptrsm-gen chain 3 -o g.h5" "sptrsm-verify --help" \
    "sptrsm-verify s.h5 s_rhs.h5 s_rhs.solution.h5 --json"; do
    last="$command >/dev/full"
    $command >/dev/full 2>stderr
    rc=$?
    code 5
    warns "stdout: can't write"
  done
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
  else
    as_user() { "$@"; }
  fi
  no_leftovers
  if as_user cat s.h5 >/dev/null 2>&1 && as_user "$bin/sptrsm-info" --version >/dev/null 2>&1; then
    rejects 5 "folder/x.h5: folder folder: Permission denied; choose another output" as_user "$bin/sptrsm-solve" s.h5 s_rhs.h5 -o folder/x.h5
    no_leftovers
  else
    echo "skipped: a folder without write permission (no setpriv, or other users can't reach the programs)"
  fi
}

# File names are bytes. Reports are JSON, and so UTF-8: other bytes of a name are replaced in them.
test_names() {
  system banded 20 2 --nrhs 2
  for file in s.h5 s_rhs.h5; do cp $file $'\377'"$file"; done
  for options in "" --stream=1; do
    run sptrsm-solve -q $'\377s.h5' $'\377s_rhs.h5' -o $'x\377\303\244.h5' --force --json report $options
    code 0
    equals "$(field report factors where)" $'\357\277\275s.h5'
    equals "$(field report rhs where)" $'\357\277\275s_rhs.h5:/B'
    equals "$(field report output)" $'x\357\277\275\303\244.h5'
    run sptrsm-verify -q s.h5 $'\377s_rhs.h5' $'x\377\303\244.h5' --json
    code 0
    equals "$(field stdout rhs)" $'\357\277\275s_rhs.h5:/B'
  done
  run sptrsm-info --json $'\377s.h5'
  code 0
  equals "$(field stdout files 0 factors n)" 20
  run sptrsm-solve $'\377none.h5' s_rhs.h5 -o y.h5 --json report
  code 5
  equals "$(field report error message)" $'\357\277\275none.h5: No such file or directory'
  long=$(printf 'n%.0s' $(seq 260)).h5 # found before the work
  rejects 5 "$long: File name too long; choose another output" sptrsm-solve none.h5 s_rhs.h5 -o "$long"
  rejects 5 "$long: File name too long; choose another output" sptrsm-solve none.h5 s_rhs.h5 -o y.h5 --json "$long"
  long=$(printf 'n%.0s' $(seq 245)).h5 # short enough for itself, but not for its journal
  rejects 5 "$long.part.journal: File name too long" sptrsm-solve -q s.h5 s_rhs.h5 -o "$long" --stream=1
  rejects 5 $'\303\244\\x1b[31m\\x0ab\\x7f.h5: No such file or directory' sptrsm-solve $'\303\244\033[31m\nb\177.h5' s_rhs.h5 -o y.h5
  equals "$(wc -l <stderr)" 1 # nothing in a name steers the terminal
  rejects 2 "an output has no name" sptrsm-solve none.h5 s_rhs.h5 -o ""
  for range in 9223372036854775807 9223372036854775808; do
    rejects 2 "'$range' is not a range a:b" sptrsm-solve s.h5 s_rhs.h5 -o y.h5 --cols $range
  done
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
  market huge.mtx general "4 4 4" "1 1 2" "2 2 1e300" "3 3 2" "4 4 2"
  market beside.mtx general "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "4 1 1e300"
  market tiny.mtx general "4 4 4" "1 1 2" "2 2 1e-300" "3 3 2" "4 4 2"
  market twice.mtx general "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "4 4 2"
  market wide.mtx general "4 5 4" "1 1 2" "2 2 2" "3 3 2" "4 4 2"
  market outside.mtx general "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "5 1 2"
  market short.mtx general "4 4 5" "1 1 2"
  market five.mtx general "5 5 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "5 5 2"
  market symmetric.mtx symmetric "4 4 5" "1 1 2" "2 2 2" "3 3 2" "4 4 2" "2 1 1"
  echo text >text.h5
  : >empty.h5
  head -c 900 s.h5 >cut.h5
  sed 's/"diag":"nonunit"/"diag":123456789/' s.h5 >diag.h5
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
3|text.h5|s_rhs.h5||not an HDF5 file
3|empty.h5|s_rhs.h5||is empty
5|cut.h5|s_rhs.h5||truncated
3|diag.h5|s_rhs.h5||diag in it a string
5|s.h5:/none|s_rhs.h5||no such object; there is L
3|s_rhs.h5|s_rhs.h5||neither a matrix nor a factor set
3|s.h5:/L/data|s_rhs.h5||not a sparse matrix
3|upper.mtx|s_rhs.h5|--uplo lower|row 1 has entry (1,2) above the diagonal; use --uplo upper or --take-triangle
3|both.mtx|s_rhs.h5||has entries on both sides of the diagonal
4|missing.mtx|s_rhs.h5||row 2 has no diagonal entry; use --unit
4|zero.mtx|s_rhs.h5||diagonal entry (1,1) is zero
4|infinite.mtx|s_rhs.h5||diagonal entry (1,1) is NaN or infinite
3|nan.mtx|s_rhs.h5||entry (3,0) is NaN or infinite, the first of 1
4|huge.mtx|s_rhs.h5|--dtype f32|entry (1,1) is NaN or infinite (in single precision; --dtype f64 or c128 holds more)
3|beside.mtx|s_rhs.h5|--dtype c64|entry (3,0) is NaN or infinite (in single precision; --dtype f64 or c128 holds more)
4|tiny.mtx|s_rhs.h5|--dtype f32|entry (1,1) is zero (in single precision; --dtype f64 or c128 holds more); the matrix is singular
3|twice.mtx|s_rhs.h5||row 3 has column 3 twice; use --tidy
3|wide.mtx|s_rhs.h5||is 4 x 5
3|outside.mtx|s_rhs.h5||line 7: entry (5,1) lies outside
3|short.mtx|s_rhs.h5||truncated
3|symmetric.mtx|s_rhs.h5||--take-triangle
3|five.mtx|s_rhs.h5||the matrix has order 5
5|s.h5|none.h5|-o s_rhs.solution.h5|No such file
3|s.h5|text.h5|-o s_rhs.solution.h5|not an HDF5 file
5|s.h5|s_rhs.h5:/none||no such object; there is B, X_true
3|s.h5|s.h5|-o s_rhs.solution.h5|holds no B
3|s.h5|five.mtx|-o s_rhs.solution.h5|the matrix has order 4
6|s.h5|s_rhs.h5|--memory-limit 10|raise the limit (--memory-limit)
END
  for options in "upper.mtx" "missing.mtx --unit" "both.mtx --take-triangle --uplo upper" "twice.mtx --tidy" "symmetric.mtx --take-triangle"; do
    run sptrsm-solve -q $options s_rhs.h5 -o ok.h5 --force --verify
    code 0
  done
  cp s_rhs.solution.h5 old
  rejects 2 "--uplo is for single triangles, this is a factor set" sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o set.h5 --uplo lower
  run sptrsm-solve both.mtx s_rhs.h5 -o ok.h5 --force --take-triangle --uplo upper --json report
  code 0
  warns "both.mtx: dropped 1 entry outside the triangle"
  equals "$(field report factors L dropped)" 1
  # A failure is in the report, too.
  run sptrsm-solve zero.mtx s_rhs.h5 --force --json report
  code 4
  equals "$(field report error exit_code)" 4
  equals "$(field report error status)" singular
  check; field report error message | grep -q "diagonal entry (1,1) is zero" || fail "the report lacks the message"
  rejects 7 "--device cuda:9999: " sptrsm-solve s.h5 s_rhs.h5 --force --device cuda:9999
  same s_rhs.solution.h5 old
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
  warns "backward error not a number of column 3"
  run sptrsm-solve -q s.h5 odd.h5 -o x.h5 --force --cols 2 --max-berr 1e-14
  code 0
  run sptrsm-verify -q s.h5 odd.h5 x.h5 --cols 2
  code 0
  system banded 30 0 # a diagonal: the NaN is in one row and must not get lost among the others
  run sptrsm-solve -q s.h5 odd.h5 -o x.h5 --force --cols 1 --max-berr 1 --json report
  code 1
  equals "$(field report residual max_berr)" null
  equals "$(field report residual max_normwise)" null
  system banded 30 2 --nrhs 4
  run sptrsm-solve -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" -o y.h5 --max-berr 1e-30
  code 1
  warns "is above --max-berr 1e-30"
  exists y.h5
  run sptrsm-solve -q s.h5 s_rhs.h5 -o big.h5 --alpha 1e308
  code 1
  run sptrsm-verify -q s.h5 s_rhs.h5 big.h5 --alpha 1e308
  code 1
}

# A disk that is full, imitated by a limit on the size of files.
test_disk() {
  system banded 4000 2 --nrhs 16
  echo precious >x.h5
  cp x.h5 old
  for blocks in 1 16 200; do # stderr has this limit too
    last="limit of $blocks kB"
    limited -f $blocks sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --force >stdout 2>stderr
    rc=$?
    code 5
    warns "sptrsm-solve: error: x.h5"
    same x.h5 old
    limited -f $blocks sptrsm-gen -q banded 20000 2 -o g.h5 >stdout 2>stderr
    rc=$?
    code 5
    missing g.h5
    no_leftovers
  done
}

# A report appears whole or not at all, here under a limit of file sizes between that of the solution and that of the report.
test_reports() {
  system chain 1 --nrhs 8000
  run sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --verify --compress 9 --json whole
  code 0
  limit=$(($(stat -c %s whole) / 1024 - 1))
  check; [ "$(stat -c %s x.h5)" -lt $((limit * 1024)) ] || fail "the report is not larger than the solution"
  for content in "" '{"old": 1}'; do
    rm -f report
    [ -z "$content" ] || echo "$content" >report
    last="a limit of $limit KiB"
    limited -f $limit sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --verify --compress 9 --force --json report >stdout 2>stderr
    rc=$?
    code 5
    warns "report: can't write: File too large"
    equals "$(cat report 2>/dev/null)" "$content"
    no_leftovers
  done
}

# start_solve PHASE: a solve of a second or more in the background, which has begun a phase ("reading", "solving", ...)
start_solve() {
  background sptrsm-solve -v s.h5 s_rhs.h5 -o x.h5 --force --method serial --verify --threads 1
  until_said "^sptrsm-solve: $1" stderr
}

test_interrupt() {
  system dense 1500 --nrhs 200
  echo precious >x.h5
  cp x.h5 old
  for phase in reading analysing solving computing writing; do
    for signal in INT TERM; do
      start_solve $phase
      kill -$signal $pid 2>/dev/null # there is no such process if the file is complete already
      ended
      last="SIG$signal while $phase"
      no_leftovers
      if [ $phase = writing ] && ! cmp -s x.h5 old; then # the file was complete before the signal arrived: whole, then
        run sptrsm-verify -q s.h5 s_rhs.h5 x.h5
        code 0
        cp old x.h5
        continue
      fi
      code $([ $signal = INT ] && echo 130 || echo 143)
      warns "sptrsm-solve: interrupted"
      same x.h5 old
    done
  done
}

# Every signal that ends a program and can be caught removes the temporary file, or the partial solution and its journal. After a crash the
# status is that of the signal, after the others the exit code says the same: a shell sees no difference.
test_signals() {
  system dense 500 --nrhs 3000
  echo precious >x.h5
  cp x.h5 old
  for signal in HUP INT QUIT PIPE ALRM TERM USR2 VTALRM PROF XCPU POLL STKFLT PWR RTMIN RTMAX SEGV BUS ILL FPE ABRT TRAP SYS; do
    signalled $signal '.x.h5.??????' --checksum # through HDF5
    case $signal in HUP | XCPU | SEGV) signalled $signal x.h5.part ;; esac
    case $signal in
      XCPU) warns "sptrsm-solve: the limit of CPU time is reached" ;;
      PIPE | SEGV | BUS | ILL | FPE | ABRT | TRAP | SYS) check; [ ! -s stderr ] || fail "a message" ;;
      *) warns "sptrsm-solve: interrupted" ;;
    esac
  done
}

# `ulimit -t` sets the hard limit of CPU time, too, at which the system kills. The message comes before.
test_signals_cpu() {
  system dense 500 --nrhs 8000
  echo precious >x.h5
  cp x.h5 old
  run limited -t 1 sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --compress 9
  code 152
  warns "sptrsm-solve: the limit of CPU time is reached"
  no_parts
  same x.h5 old
}

# signalled SIGNAL FILE OPTION ...: sends a signal to a stream as soon as a file is there that fits the pattern
signalled() {
  local signal=$1 file=$2
  shift 2
  appeared() { [ -n "$(find . -name "$file" -type f)" ]; }
  background sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --force --method serial --threads 1 --stream=1 "$@"
  until_true appeared || fail "$file never appeared"
  kill -"$signal" $pid
  ended
  last="SIG$signal while $file is written"
  code $((128 + $(kill -l "$signal")))
  no_parts
  same x.h5 old
}

# A crash of HDF5 on a damaged file, imitated by a signal to the process that reads it, gets a message. So does its end by another hand. With
# sanitizers no program sends itself a signal.
test_crash() {
  system dense 2000
  for signal in SEGV BUS ABRT FPE KILL; do
    [ -n "$fail_once" ] || break
    run env LD_PRELOAD="$fail_once" FAIL_CALL=read FAIL_ERRNO=SIG$signal FAIL_IN=reader FAIL_AT=9 FAIL_HIT=hit sptrsm-solve s.h5 s_rhs.h5 -o x.h5
    last="SIG$signal while reading"
    code 5
    exists hit
    missing x.h5
    [ $signal = KILL ] && warns "was ended (signal 9)" || warns "crashed inside HDF5 (signal $(kill -l $signal)"
    rm -f hit
  done
  mapfile -t entries < <(seq -f "1 %g 1" 200)
  for rhs in dense sparse; do
    [ $rhs = dense ] || market s_rhs.h5 general "2000 200 200" "${entries[@]}"
    start_solve solving
    kill -SEGV $pid
    ended
    last="SIGSEGV while solving for $rhs right-hand sides"
    check; grep -q "inside HDF5" stderr && fail "a crash while solving is no damaged file"
  done
}

# Killed by SIGKILL at KILLS moments: the output is the old one, unchanged, or the new one, complete; a temporary file may stay.
test_kill() {
  system banded 3000 20 --nrhs 64
  echo precious >x.h5
  cp x.h5 old
  olds=0 news=0
  begin=$(date +%s%N)
  run sptrsm-solve -q s.h5 s_rhs.h5 -o whole.h5
  code 0
  whole=$(($(date +%s%N) - begin))
  for k in $(seq "${KILLS:-40}"); do # from the beginning to twice the time of a whole run
    killed_after "$(awk "BEGIN { print $whole * 1e-9 * $((k * 7 % 41)) / 20 }")"
  done
  killed_after 0
  for pause in 1 10 100; do [ $news -gt 0 ] || killed_after $pause; done # on a machine that became slow meanwhile
  check; [ $olds -gt 0 ] && [ $news -gt 0 ] || fail "both outcomes are needed for a test of both"
  echo "old output intact $olds times, new one whole $news times"
}

# killed_after SECONDS: kills a solve, counts in olds or news which output it has left in x.h5, and puts the old one back
killed_after() {
  background sptrsm-solve -q s.h5 s_rhs.h5 -o x.h5 --force
  sleep "$1"
  kill -KILL $pid 2>/dev/null
  ended
  last="killed after $1 s"
  if cmp -s x.h5 old; then olds=$((olds + 1)); return; fi
  news=$((news + 1))
  run sptrsm-verify -q s.h5 s_rhs.h5 x.h5
  code 0
  cp old x.h5
}
