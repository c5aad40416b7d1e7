# cli_stream.sh -- right-hand sides that pass through in panels, partial solutions, and what signals do to them. Sections for cli_test.sh.
# shellcheck shell=bash

same_block() { run "$helper" same "$1" "$2"; code 0; }
no_parts() { no_leftovers; no_partials; }
no_partials() { check; [ -z "$(find . -name '*.part*')" ] || fail "a partial solution is left: $(find . -name '*.part*')"; }
is_sanitized() { grep -qa __asan_init "$bin/sptrsm-solve"; }

# X has the same bits with and without a stream: both orders, all types, panels that do and do not divide the columns, plain and compressed files.
test_stream() {
  while read -r order dtype width panels; do
    system D2N5 20 30 --nrhs 50 --order "$order" --dtype "$dtype"
    run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --force --verify --json whole
    code 0
    run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o parts.h5 --force --verify --json parts --stream="$width"
    code 0
    says "stream   "
    same_block whole.h5:/X parts.h5:/X
    same_block whole.h5:/berr parts.h5:/berr
    equals "$(field parts stream panels)" "$panels"
    equals "$(field parts stream read)" hdf5 # sptrsm-gen writes chunks
    equals "$(field parts stream written)" direct
    at_most 1e-9 "$(field parts stream seconds)"
    for key in max_berr max_normwise worst_column g1 g2; do equals "$(field parts residual $key)" "$(field whole residual $key)"; done
    # The streamed solution is contiguous: read again, it bypasses HDF5, and the compressed one does not.
    run sptrsm-solve --device cpu -q s.h5 parts.h5:/X -o whole.h5 --force --json whole
    code 0
    run sptrsm-solve --device cpu -q s.h5 parts.h5:/X -o again.h5 --force --json parts --stream="$width"
    code 0
    equals "$(field parts stream read)" direct
    same_block whole.h5:/X again.h5:/X
    run sptrsm-solve --device cpu -q s.h5 parts.h5:/X -o small.h5 --force --json parts --stream="$width" --compress 4 --checksum --verify
    code 0
    equals "$(field parts stream written)" hdf5
    same_block whole.h5:/X small.h5:/X
    run sptrsm-solve --device cpu -q s.h5 parts.h5:/X -o whole.h5 --force --cols 7:43
    code 0
    run sptrsm-solve --device cpu -q s.h5 parts.h5:/X -o again.h5 --force --cols 7:43 --stream="$width"
    code 0
    same_block whole.h5:/X again.h5:/X
    no_parts
  done <<'END'
C f64 7 8
F c64 25 2
F f32 1000 1
C c128 49 2
END
  # Mixed types, several methods, a factor set with its A.
  sptrsm-gen -q D2N5 20 30 --nrhs 50 --dtype f64 -o wide.h5
  for method in serial levelset block; do
    run sptrsm-solve --device cpu -q wide.h5 s_rhs.h5 -o whole.h5 --force --method $method
    code 0
    run sptrsm-solve --device cpu -q wide.h5 s_rhs.h5 -o parts.h5 --force --method $method --stream=11
    code 0
    same_block whole.h5:/X parts.h5:/X
  done
  run sptrsm-solve --device cpu -q "$data/add32_splu.h5" "$data/add32_rhs.h5" -o whole.h5 --force --json whole
  code 0
  run sptrsm-solve --device cpu "$data/add32_splu.h5" "$data/add32_rhs.h5" -o parts.h5 --force --json parts --stream=3
  code 0
  says "against A"
  same_block whole.h5:/X parts.h5:/X
  equals "$(field parts residual max_berr)" "$(field whole residual max_berr)"
  # What is not finite is named by its column; a dry run plans; nothing to stream is no error.
  system banded 30 2 --nrhs 4
  run "$helper" nonfinite odd.h5 30
  run sptrsm-solve --device cpu -q s.h5 odd.h5 -o x.h5 --json report --stream=1 --max-berr 1
  code 1
  warns "2 of 4 solutions are not finite: columns 1, 3"
  equals "$(field report nonfinite_columns first)" "[1,3]"
  equals "$(field report residual max_berr)" null
  equals "$(field report residual worst_column)" 1
  run sptrsm-solve --device cpu s.h5 s_rhs.h5 --dry-run --stream=2
  code 0
  says "stream   2 columns at a time, 5 buffers"
  missing s_rhs.solution.h5
  for option in --stream --resume --keep-partial; do
    rejects 2 "are for dense right-hand sides and all rows" sptrsm-solve s.h5 s_rhs.h5 --rows 0 $option
  done
  system chain 0 --nrhs 2
  solves --stream
  # Resumed again and again, a solution without rows or columns is success, and nothing else is taken for it.
  "$helper" empty s_none.h5 0
  "$helper" empty five_none.h5 5
  sptrsm-gen -q chain 5 --nrhs 2 -o five.h5
  while read -r factors rhs; do
    rm -f x.h5
    for attempt in 1 2 3; do
      run sptrsm-solve --device cpu $factors $rhs -o x.h5 --resume
      code 0
      [ $attempt = 1 ] || warns "x.h5: is complete already"
    done
    rejects 5 "x.h5: exists" sptrsm-solve --device cpu five.h5 five_rhs.h5 -o x.h5 --resume
    cp five_rhs.h5 x.h5
    rejects 5 "x.h5: exists" sptrsm-solve --device cpu $factors $rhs -o x.h5 --resume
  done <<'END'
s.h5 s_rhs.h5
s.h5 s_none.h5
five.h5 five_none.h5
END
  rejects 2 "--stream: '0' is not" sptrsm-solve --device cpu s.h5 s_rhs.h5 --stream=0
  rejects 2 "can't be continued" sptrsm-solve --device cpu s.h5 s_rhs.h5 --resume --compress 1
  no_parts
}

# kilobytes_of PID: memory of a process and of its children, in which HDF5 reads; pages that several have are divided among them
kilobytes_of() {
  local p
  for p in "$1" $(cat "/proc/$1/task/$1/children" 2>/dev/null); do cat "/proc/$p/smaps_rollup" 2>/dev/null; done |
    awk '$1 == "Pss:" { sum += $2 } END { print sum + 0 }'
}
# run_watched COMMAND...: as `run`; most is the largest memory that was seen, in bytes
run_watched() {
  local now
  most=0
  background "$@"
  while kill -0 $pid 2>/dev/null; do
    now=$(($(kilobytes_of $pid) * 1024))
    [ $now -le $most ] || most=$now
  done
  ended
}

# Blocks that do not fit the memory limit are streamed without being asked to, and memory stays below the limit.
test_stream_memory() {
  system banded 3500 2 --nrhs 4000 --order F
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --json whole
  code 0
  equals "$(field whole stream)" null
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --json report --memory-limit 100M --threads 2 --verify
  code 0
  check; [ "$(field report stream panels)" -gt 4 ] || fail "too few panels for a stream"
  is_sanitized || at_most "$(field report memory peak_bytes)" 100e6
  same_block whole.h5:/X x.h5:/X
  rejects 6 "raise --memory-limit" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --force --memory-limit 4M
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 --dry-run --memory-limit 2G --stream=1000000 --threads 2 # more than there are
  code 0
  rejects 6 "or give --stream fewer" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --force --memory-limit 100M --stream=4000
  same_block whole.h5:/X x.h5:/X
  no_parts
  if is_sanitized; then return; fi # its own memory counts, too
  # HDF5 unpacks whole chunks, here of 38 MB; they count. A limit that can't hold one is refused.
  sptrsm-gen -q chain 300000 --nrhs 64 --order F --compress 1 -o s.h5 --force
  run_watched sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --force --json report --memory-limit 420M --stream=8 --threads 2 --no-verify
  code 0
  check; [ "$(field report stream panels)" -gt 1 ] || fail "too few panels for a stream"
  at_most "$(field report memory peak_bytes)" 420e6
  check; [ $most -gt 0 ] || fail "no memory was seen"
  at_most $most 420e6
  rejects 6 "raise --memory-limit" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --force --memory-limit 60M --threads 2
  local need # of which the buffers of one column are 12 MB
  need=$(sed -n 's/.* need at least \([0-9.]*\) MB.*/\1/p' stderr)
  rejects 6 "1 column at a time" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --force --memory-limit 60M --threads 2 --stream=1
  at_most "$(sed -n 's/.* need at least \([0-9.]*\) MB.*/\1/p' stderr)" "$need + 6"
  no_parts
}

# checkpoint: whether the journal notes columns that are done
checkpoint() { grep -qsa ' done ' x.h5.part.journal; }

# stream_until_done OPTION ...: starts a stream in the background ($pid) and waits for its first checkpoint; no journal may exist before
stream_until_done() {
  missing x.h5.part.journal
  background sptrsm-solve --device cpu -v s.h5 s_rhs.h5 -o x.h5 --method serial --verify --threads 1 --stream=2 "$@"
  until_true checkpoint
}

# killed_stream OPTION ...: starts a stream and kills it after a checkpoint, so that its partial solution is left
killed_stream() {
  for _ in $(seq 20); do # on a busy machine it may be through before the signal comes
    stream_until_done "$@"
    kill -KILL $pid 2>/dev/null
    ended
    [ -e x.h5.part ] && break
    rm -f x.h5 x.h5.part.journal
  done
  exists x.h5.part
}

# scribble FILE AT: overwrites bytes of a file from position AT on
scribble() { printf 'no number at all' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
# noted: the position in x.h5.part of the first column of the last entry of the journal
noted() { awk '$2 == "format" { at = $7 } $2 == "done" { first = $5 } END { print at + 8 * first }' x.h5.part.journal; }

# killed_until_through: resumes a stream until it is done, and kills it each time at another moment; adds to kills
killed_until_through() {
  killed_stream # the first time at a checkpoint, however fast the machine is now
  for k in $(seq 100); do
    background sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --method serial --verify --threads 1 --stream=$((k % 5 + 1)) --resume \
      --json report
    sleep "$(awk "BEGIN { print $whole * 1e-9 * ($kills * 7 % 11 + 2 + $k / 5) / 30 }")"
    kill -KILL $pid 2>/dev/null
    ended
    [ $rc = 137 ] || break
    kills=$((kills + 1))
    [ ! -e x.h5 ] || [ -e x.h5.part.journal ] || { rm x.h5; killed_stream; } # killed when all was done: begin again
  done
  last="killed $k times in a row"
  code 0
  check; [ "$(field report stream resumed)" -gt 0 ] || fail "nothing was resumed"
}

test_stream_resume() {
  system dense 400 --nrhs 300 --seed 5
  mv s_rhs.h5 rhs.h5
  system dense 400 --nrhs 0
  mv rhs.h5 s_rhs.h5 # of another matrix, else all errors are zero
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --method serial --verify --json whole
  code 0
  check; [ "$(field whole residual worst_column)" -gt 0 ] || fail "no column is worse than the first one"
  # Killed again and again, at other moments each time, until it is through; all of it again until there were KILLS kills.
  begin=$(date +%s%N)
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --method serial --verify --threads 1 --stream=2
  code 0
  whole=$(($(date +%s%N) - begin)) kills=0
  until [ $kills -ge "${KILLS:-1}" ]; do
    rm x.h5
    killed_until_through
    same_block whole.h5:/X x.h5:/X
    same_block whole.h5:/berr x.h5:/berr
    for key in max_berr max_normwise worst_column g1 g2; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
    [ $failures = 0 ] || break
  done
  echo "killed $kills times, resumed last behind $(field report stream resumed) columns"
  no_partials # a kill may leave a temporary file
  # Other inputs or options are refused, and the partial solution stays.
  rm x.h5
  killed_stream --alpha 2
  mv x.h5.part other && rm x.h5.part.journal
  killed_stream
  cp x.h5.part part && cp x.h5.part.journal journal
  # What can't be written or opened is no fault of the partial solution.
  run limited -f 1 sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --method serial --verify --stream=2 --resume
  code 5
  warns "x.h5.part: can't be written: File too large"
  same x.h5.part.journal journal
  resume() { sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --method serial --resume "$@"; }
  rejects 5 "x.h5.part: a partial solution is there; continue it with --resume, or begin anew with --force" \
    sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --method serial --verify --stream
  rejects 3 "--alpha was 1,0, now it is 2,0" resume --verify --alpha 2
  rejects 3 "--trans was N, now it is T" resume --verify --trans T
  rejects 3 "method was serial (), now it is levelset" resume --verify --method levelset
  rejects 3 "was begun as /X of 400 x 300 with berr, now it is /X of 400 x 100 with berr" resume --verify --cols 0:100
  rejects 3 "was begun as /X of 400 x 300 with berr, now it is /X of 400 x 300" resume --no-verify
  cp -p s_rhs.h5 kept && touch s_rhs.h5
  rejects 3 "time of change of the right-hand sides' file was" resume --verify
  mv kept s_rhs.h5 && cp s.h5 kept
  sptrsm-gen -q dense 400 --seed 5 --nrhs 0 -o s.h5 --force
  rejects 3 "checksum of the factors was" resume --verify
  mv kept s.h5
  same x.h5.part part
  same x.h5.part.journal journal
  # A part that is not the one of the journal: another file, another run's, one whose metadata or last columns are changed.
  for odd in "cp s_rhs.h5 x.h5.part" "cp other x.h5.part" "scribble x.h5.part 96" "scribble x.h5.part $(noted)"; do
    $odd
    cp x.h5.part odd
    run resume --verify
    code 3
    check; grep -qE "x.h5.part: (does not fit|is shorter than|columns [0-9]+:[0-9]+ are not those that) its journal" stderr || fail "$odd: not refused"
    same x.h5.part odd
    same x.h5.part.journal journal
    cp part x.h5.part
  done
  corner=$(awk '$2 == "format" { print $7 + 8 * 299 }' x.h5.part.journal) # position of the first row's last number
  # A journal whose last line is torn.
  printf 'torn' >>x.h5.part.journal
  run resume --verify --threads 2
  code 0
  says "resumed with"
  same_block whole.h5:/X x.h5:/X
  same_block whole.h5:/berr x.h5:/berr
  # What is complete is recognised and left as it is.
  cp -p x.h5 complete
  for option in "" --force; do
    run resume --verify --json report --max-berr 1 $option
    code 0
    warns "x.h5: is complete already; nothing is left to do"
    equals "$(field report stream resumed)" 300
    for key in max_berr worst_column g1; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
    same x.h5 complete
    no_partials
  done
  # Another solution is refused: of other inputs, of a run without a stream, with another number in its last column.
  rejects 5 "x.h5: exists and was begun with other inputs or options: --alpha was 1,0, now it is 2,0; replace it" resume --verify --alpha 2
  rejects 5 "x.h5: exists; use --force to replace it" resume --verify --cols 0:100
  rejects 5 "x.h5: exists; use --force to replace it" resume
  same x.h5 complete
  for odd in "cp whole.h5 x.h5" "cp s_rhs.h5 x.h5" "scribble x.h5 $corner"; do
    $odd
    cp x.h5 odd
    rejects 5 "x.h5: exists; use --force to replace it" resume --verify
    same x.h5 odd
    cp complete x.h5
  done
  # With --force another solution is replaced. Begun anew with --force: the partial solution goes.
  run resume --verify --force --alpha 2
  code 0
  run resume --verify --force
  code 0
  same_block whole.h5:/X x.h5:/X
  rm x.h5
  killed_stream
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --stream=100 --force
  code 0
  no_partials
  # A partial solution without its journal is nobody's to remove.
  rm x.h5
  killed_stream
  rm x.h5.part.journal
  rejects 5 "x.h5.part: has no journal beside it and can't be continued" resume --verify
  rejects 5 "x.h5.part: a partial solution is there" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream
  rejects 5 "x.h5.part: has no journal beside it, so it may be something else" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream --force
  exists x.h5.part
}

# A stream does not overwrite the files beside its output if they are an input, the report or anything else, and no message goes into its output.
test_stream_files() {
  system banded 300 2 --nrhs 60 --order F
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5
  code 0
  for name in x.h5.part x.h5.part.journal x.h5.part.journal.new x.h5.part.lock; do
    cp s_rhs.h5 $name
    rejects 2 "the output is the input $name" sptrsm-solve --device cpu s.h5 $name -o x.h5 --stream --force
    rejects 2 "--json: $name belongs to the output" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream --force --json $name
    same $name s_rhs.h5
    rm $name
  done
  for files in {4..99}; do # what can't be opened is not in the way
    run limited -n $files sptrsm-solve --device cpu s.h5 s_rhs.h5 -o few.h5 --force --stream
    check; ! grep -q "in the way" stderr || fail "a wrong reason with $files files"
    [ $rc != 0 ] || break
  done
  code 0
  cp s_rhs.h5 x.h5.part
  rejects 5 "x.h5.part: has no journal beside it" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream --force
  same x.h5.part s_rhs.h5
  mv x.h5.part x.h5.part.journal
  rejects 5 "x.h5.part.journal: is in the way and no journal" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream
  same x.h5.part.journal s_rhs.h5
  rm x.h5.part.journal
  cp s_rhs.h5 x.h5.part.journal.new
  rejects 5 "x.h5.part.journal.new: is in the way and no journal" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream --force
  same x.h5.part.journal.new s_rhs.h5
  touch empty
  ln -sf empty x.h5.part.journal.new
  rejects 5 "x.h5.part.journal.new: is in the way and no journal" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream --force
  check; [ ! -s empty ] || fail "the journal was written into another file"
  rm x.h5.part.journal.new
  printf '0123456789abcdef for' >x.h5.part.journal.new # of a run that was killed while it wrote it
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --stream
  code 0
  rm x.h5
  ln -s nowhere link.h5
  rejects 5 "link.h5: a symbolic link that leads to no file" sptrsm-solve --device cpu s.h5 none.h5 -o link.h5 --force
  # Closed descriptors are not taken by the output, into which messages would go.
  last="closed descriptors"
  sptrsm-solve --device cpu -v s.h5 s_rhs.h5 -o x.h5 --stream=7 <&- 2>&- >stdout
  rc=$?
  code 0
  same_block whole.h5:/X x.h5:/X
  sptrsm-solve --device cpu -v s.h5 s_rhs.h5 -o x.h5 --force <&- >&- 2>&- # the summary has nowhere to go
  rc=$?
  code 5
  same_block whole.h5:/X x.h5:/X
  no_parts
}

# asked PATTERN: asks the program in the background for its status by SIGUSR1; whether a text line of stderr fits by now
asked() {
  kill -USR1 $pid 2>/dev/null
  grep -qE "$1" stderr
}
# status_of PATTERN: asks the program in the background for its status until a text line of stderr fits
status_of() { check; until_true asked "$1" || fail "SIGUSR1 gave no line that fits: $1"; }

# stopped CALL K OPTION ...: starts sptrsm-solve in the background, and waits until it has stopped itself before its K-th CALL
stopped() {
  local call=$1 k=$2
  shift 2
  background env LD_PRELOAD="$fail_once" FAIL_CALL=$call FAIL_AT=$k FAIL_ERRNO=SIGSTOP sptrsm-solve -v s.h5 s_rhs.h5 -o x.h5 --force \
    --method serial --verify "$@"
  check; until_true grep -q '^State:[[:space:]]*T' /proc/$pid/status || fail "it ended before $call number $k"
}
# stopped_stream OPTION ...: a stream between its first two checkpoints; the first one ends with the eighth fsync
stopped_stream() {
  stopped fsync 9 --device cpu --threads 1 --stream=2 "$@"
  check; checkpoint || fail "no checkpoint is noted"
}
# goes_on SIGNAL: the program that has stopped gets a signal, then goes on until it ends
goes_on() {
  kill -$1 $pid
  kill -CONT $pid
  wait -f $pid 2>/dev/null
  rc=$?
}
answers() { check; grep -qE "$1" stderr || fail "SIGUSR1 gave no line that fits: $1"; }

test_stream_signals() {
  [ -n "$fail_once" ] || { echo "skipped: without fail_once no program stops itself"; exit 77; }
  system dense 400 --nrhs 700
  echo precious >x.h5
  cp x.h5 old
  stopped_stream
  goes_on INT
  code 130
  warns "sptrsm-solve: interrupted"
  no_parts
  same x.h5 old
  stopped_stream --keep-partial
  goes_on TERM
  code 143
  warns "sptrsm-solve: interrupted; x.h5.part is kept, --resume continues it"
  same x.h5 old
  stopped thread 1 --device cpu --threads 1 --stream=2 --cols 0:700 --resume --json report
  sleep 2.1 # nothing is shown before
  goes_on CONT
  code 0
  warns "sptrsm-solve: streaming: 100 %, 700 of 700 columns"
  warns "x.h5.part: resumed with "
  check; [ "$(field report stream resumed)" -gt 0 ] || fail "nothing was resumed"
  no_parts
  stopped_stream
  goes_on USR1
  code 0
  answers "^sptrsm-solve: streaming 700 columns, 2 at a time: [0-9]+ of 700 columns, [0-9]+/s, [0-9]+ s left$"
  stopped thread 1 --threads 2 # without a stream the first thread is made for the solve
  goes_on USR1
  code 0
  answers "^sptrsm-solve: solving for 700 columns: 0 of 700 columns$"
}

# A disk that is full, before the first column and after some.
test_stream_disk() {
  system banded 4000 2 --nrhs 64
  echo precious >x.h5
  cp x.h5 old
  for blocks in 1 16 200 1000; do # stderr has this limit too
    last="limit of $blocks kB"
    limited -f $blocks sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --force --stream=8 >stdout 2>stderr
    rc=$?
    code 5
    warns "sptrsm-solve: error: x.h5"
    same x.h5 old
    no_parts
  done
  last="through HDF5"
  limited -f 1000 sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --force --stream=8 --checksum >stdout 2>stderr
  rc=$?
  code 5
  same x.h5 old
  no_parts
}
