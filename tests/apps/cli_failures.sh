# Failing allocations and system calls: sections of cli_test.sh. A program runs again and again, and each time another call fails, once,
# by the preloaded library fail_once. Then there is the documented exit code, no half of a report, the old output and no temporary file;
# or success, and all output is as if nothing had failed.
# FAILURES_STEP is the distance of the calls that fail, 1 for all of them; FAILURES_FIRST is the first one. A section uses them if set.

# steady FILE: the text without times, speeds and sizes of memory, which differ from run to run
steady() {
  without_times "$1" | sed -E 's/(peak memory|memory  ) [0-9.]+ [kMG]?B/\1 M/
    s/"(read|analyse|solve|verify|write|total|analysis|numeric|check|pid|tid|ts|dur|[a-z_]*seconds|gflops|peak_bytes)": ?[0-9.e+-]+/"\1": T/g'
}
# written_report FILE: the JSON report that the program has written into the file of the solution. Other bytes may follow it at once.
written_report() { tr '\0' '\n' <"$1" | grep -aom1 '{"program":"sptrsm-solve".*"exit_code":[0-9]*}'; }

# No <(...) in the sweeps: once the numbers of processes begin again, bash 5.2 takes the exit code of such a process for that of a program.

# start_over OUTPUT ...: puts an old output in the place of each
start_over() { for file in "$@"; do echo precious >"$file"; done; rm -f hit .*.?????? pieces.h5.p*; }
is_old() { echo precious | cmp -s "$1" -; }
# keep_reference OUTPUT ...: what the undisturbed run has written
keep_reference() {
  steady stdout >reference.stdout
  for file in "$@"; do mv "$file" "reference.$file"; done
}
same_blocks() { "$helper" same "$1:$2" "reference.$1:$2" 2>/dev/null; }
# same_items FILE: each item of the solution of the batch b.h5
same_items() {
  local i
  for i in 0 1; do
    "$helper" block b.h5 "$1" X $i item.h5 && "$helper" block b.h5 "reference.$1" X $i reference.item.h5 && same_blocks item.h5 /B || return 1
  done
}
# whole FILE: it holds what the undisturbed run has written there
whole() {
  case $1 in
    *.json) [ "$(steady "$1")" = "$(steady "reference.$1")" ] ;;
    *.svg) cmp -s "$1" "reference.$1" ;;
    *.plan | batch_g.h5 | batch_g_rhs.h5) cmp -s "$1" "reference.$1" ;;
    batch_x.h5) same_items "$1" ;;
    mixed_x.h5) same_blocks "$1" /items/c/X ;;
    pieces.h5) sptrsm-verify -q a.h5 a_rhs.h5 "$1" --allow-external >/dev/null 2>&1 ;;
    x.h5) same_blocks x.h5 /X && [ "$(written_report x.h5 | steady -)" = "$(written_report reference.x.h5 | steady -)" ] ;;
    S.h5) same_blocks S.h5 /S && [ "$(written_report S.h5 | steady -)" = "$(written_report reference.S.h5 | steady -)" ] ;;
    *_rhs.h5) same_blocks "$1" /B && same_blocks "$1" /X_true ;;
    *.h5) same_blocks "$1" /L/values ;;
  esac
}

# judge CODES OUTPUT ...: the run has ended with one of the codes and left what belongs to it
judge() {
  local codes=$1 file
  shift
  check
  if [ "$rc" = 0 ]; then
    steady stdout | cmp -s - reference.stdout || fail "success with other output than $(pwd)/reference.stdout"
    for file in "$@"; do whole "$file" || fail "success, but $file is not what it should be"; done
    return
  fi
  [[ " $codes " == *" $rc "* ]] || fail "exit code $rc, expected one of $codes"
  [ -s stderr ] || [ "$rc" -gt 128 ] || fail "no message"
  [[ ! -s stdout || $(head -c 1 stdout) != "{" ]] || field stdout || fail "half a report"
  for file in "$@"; do
    case $file in
      *.json) [ "$(cat "$file")" = precious ] || field "$file" || fail "half a report in $file" ;;
      *) is_old "$file" || whole "$file" || fail "the old $file is gone" ;;
    esac
  done
  no_leftovers
  case " $* " in *_rhs.h5*) grep -q "is there without it" stderr || whole_pair "$@" || fail "one of two outputs is new, the other is the old one" ;; esac
}

# whole_pair FILE FILE_rhs ...: both are old, or both are new
whole_pair() { [ "$(is_old "$1"; echo $?)" = "$(is_old "$2"; echo $?)" ]; }

# fails_at K CALL BY "OUTPUT ..." COMMAND...: the command, with the K-th call failing; false if there are not so many
fails_at() {
  local k=$1 call=$2 by=$3 outputs=$4
  shift 4
  start_over $outputs
  run env LD_PRELOAD="$fail_once" FAIL_CALL=$call FAIL_BY=$by FAIL_AT=$k FAIL_HIT=hit "$@"
  last="$call number $k of $by fails in $*"
  [ -e hit ]
}

# sweep CALL BY STEP CODES "OUTPUT ..." COMMAND...: the command, with each STEP-th call failing
sweep() {
  local call=$1 by=$2 step=${FAILURES_STEP:-$3} codes=$4 outputs=$5 k points=0 before=$failures
  shift 5
  start_over $outputs
  run "$@"
  [ "$rc" = 0 ] || { fail "exit code $rc without a failing call"; return; }
  keep_reference $outputs
  for ((k = ${FAILURES_FIRST:-$((RANDOM % step + 1))}; ; k += step)); do
    fails_at $k $call $by "$outputs" "$@" || break
    points=$((points + 1))
    judge "$codes" $outputs
  done
  all_points=$((${all_points:-0} + points))
  echo "$call ($by), $*: $points points, $((failures - before)) wrong"
}

# begin_failures: what the sections below have in common. One thread makes the order of the calls the same in each run.
begin_failures() {
  [ -n "$fail_once" ] || { echo "skipped: the sanitizer owns malloc"; exit 77; }
  export OMP_NUM_THREADS=1
  RANDOM=${FAILURES_SEED:-1}
  # a factor set with A, two right-hand sides, and their solution
  market a.mtx general "4 4 8" "1 1 4" "2 2 5" "3 3 6" "4 4 7" "1 2 1" "2 4 1" "3 1 2" "4 3 1"
  if [ -n "$(built factor)" ]; then run sptrsm-factor -q a.mtx -o a.h5 --keep-a --nrhs 2
  else run sptrsm-gen -q banded 4 2 --nrhs 2 -o a.h5; fi
  code 0
  run sptrsm-solve -q a.h5 a_rhs.h5 -o a_x.h5
  code 0
}
end_failures() { check; [ $all_points -gt 0 ] || fail "no call failed"; }

# sweep_writers CALL BY STEP CODES: the programs that write, with the reports that they have
sweep_writers() {
  sweep "$@" "x.h5" sptrsm-solve a.h5 a_rhs.h5 -o x.h5 --force --verify
  sweep "$@" "x.h5" sptrsm-solve a.h5 a_rhs.h5 -o x.h5 --force --verify --json -
  sweep "$@" "x.h5 r.json" sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force --verify --stream=1 --json r.json
  sweep "$@" "x.h5 p.json" sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force --verify --profile p.json
  sweep "$@" "p.svg l.svg" sptrsm-info a.h5 --spy=p.svg --levels-plot=l.svg --force
  sweep "$@" "g.h5 g_rhs.h5" sptrsm-gen banded 9 3 --nrhs 2 -o g.h5 --force
}
sweep_readers() {
  sweep "$@" "" sptrsm-info --tiles a.h5 a_rhs.h5
  sweep "$@" "" sptrsm-info --spy --levels-plot a.h5 a_rhs.h5
  sweep "$@" "" sptrsm-info --json --methods --levels-plot a.h5 a_rhs.h5
  sweep "$@" "" sptrsm-verify a.h5 a_rhs.h5 a_x.h5
  sweep "$@" "" sptrsm-verify --json a.h5 a_rhs.h5 a_x.h5
}

# Allocations of this project and of Jansson.
test_failures() {
  begin_failures
  sweep_writers malloc ours 80 6
  sweep_readers malloc ours 80 6
  [ -z "$(built factor)" ] ||
    sweep malloc ours 80 6 "x.h5 r.json" sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force --refine 2 --ferr --json r.json
  [ -z "$(built factor)" ] || sweep malloc ours 80 6 "f.h5 f_rhs.h5 r.json" sptrsm-factor a.mtx -o f.h5 --force --nrhs 2 --json r.json
  [ -z "$(built factor)" ] ||
    sweep malloc ours 80 6 "S.h5 r.json" sptrsm-solve -q a.h5 --schur a_rhs.h5 --schur-rows a_rhs.h5 -o S.h5 --force --json r.json
  end_failures
}

# sweep_kept CALL BY STEP CODES: plans that are kept, solutions in pieces, and batches
sweep_kept() {
  sweep "$@" "x.h5 a.plan" sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force --method levelset --save-plan a.plan
  sweep "$@" "x.h5" sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force --plan kept.plan
  sweep "$@" "pieces.h5" sptrsm-solve -q a.h5 a_rhs.h5 -o pieces.h5 --force --split-files
  sweep "$@" "batch_x.h5 r.json" sptrsm-solve -q b.h5 b_rhs.h5 -o batch_x.h5 --force --verify --json r.json
  sweep "$@" "batch_g.h5 batch_g_rhs.h5" sptrsm-gen chain 5 --count 2 -o batch_g.h5 --force
}
begin_kept() {
  begin_failures
  run sptrsm-gen -q random 9 --count 2 -o b.h5
  code 0
  run sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --method levelset --save-plan kept.plan
  code 0
}
test_failures_kept() {
  local call
  begin_kept
  sweep_kept malloc ours 80 6
  run "$helper" mixed m.h5
  code 0
  sweep malloc ours 80 6 mixed_x.h5 sptrsm-solve -q m.h5 m.h5 -o mixed_x.h5 --force --items 2
  for call in write fsync rename open; do sweep_kept $call program 7 5; done
  end_failures
}

# sweep_runs CALL BY STEP CODES FOLDER REST COMMAND...: the command in a copy of the folder, with each STEP-th call failing. After a failure no
# temporary file and no half of a report is there, and the function REST makes the solution from what is there.
sweep_runs() {
  local call=$1 by=$2 step=${FAILURES_STEP:-$3} codes=$4 folder=$5 rest=$6 k points=0 before=$failures
  shift 6
  for ((k = ${FAILURES_FIRST:-$((RANDOM % step + 1))}; ; k += step)); do
    rm -rf now && cp -a "$folder" now && cd now || exit 1
    fails_at $k $call $by "" "$@" || { cd ..; break; }
    points=$((points + 1))
    check; [[ " 0 $codes " == *" $rc "* ]] || fail "exit code $rc, expected one of 0 $codes"
    [ "$rc" = 0 ] || [ -s stderr ] || fail "no message"
    [ ! -s r.json ] || field r.json || fail "half a report in r.json"
    no_leftovers
    ended=$rc
    "$rest"
    cd .. || exit 1
  done
  all_points=$((${all_points:-0} + points))
  echo "$call ($by), $*, in $folder: $points points, $((failures - before)) wrong"
}

# becomes_whole RUN: the run ends with success, and x.h5 is the whole solution with nothing beside it
becomes_whole() {
  local before=$last
  run "$@"
  last="$before, then $last"
  code 0
  for array in X berr; do check; "$helper" same "x.h5:/$array" "../whole.h5:/$array" >difference 2>&1 || fail "x.h5:/$array differs from one run's"; done
  no_leftovers
  check; [ -z "$(find . -name 'x.h5?*')" ] || fail "left: $(find . -name 'x.h5?*')"
}
rest_of_parts() {
  run sptrsm-solve -q a.h5 a_rhs.h5 --into x.h5 --part 1/2 --verify
  code 0
  becomes_whole sptrsm-solve -q a.h5 a_rhs.h5 --into x.h5 --part 2/2 --verify
}
rest_of_pieces() {
  run sptrsm-solve -q a.h5 a_rhs.h5 --into x.h5 --part 1/2 --verify --split-files
  code 0
  run sptrsm-solve -q a.h5 a_rhs.h5 --into x.h5 --part 2/2 --verify --split-files
  code 0
  becomes_whole sptrsm-solve -q --merge x.h5 --remove-pieces
}
# Merging in place is done or not begun, done where the program says so; pieces are removed only once it is done.
rest_of_merge() {
  local piece
  if cmp -s x.h5 ../pieces/x.h5; then
    check; [ "$ended" != 0 ] || fail "success, but x.h5 is not merged"
    for piece in ../pieces/x.h5.piece-*; do same "$piece" "$(basename "$piece")"; done
    becomes_whole sptrsm-solve -q --merge x.h5 --remove-pieces
  else
    rm -f x.h5.piece-*
    becomes_whole true
  fi
}
rest_of_merge_to() {
  local file
  for file in ../pieces/x.h5*; do same "$file" "$(basename "$file")"; done
  check
  if is_old y.h5; then [ "$ended" != 0 ] || fail "success, but y.h5 is the old file"
  else "$helper" same y.h5:/X ../whole.h5:/X >difference 2>&1 || fail "y.h5 is neither the old file nor the solution"; fi
  ended=-1 # what follows looks at x.h5
  rest_of_merge
}
sweep_parts() {
  sweep_runs "$@" fresh rest_of_parts sptrsm-solve a.h5 a_rhs.h5 --into x.h5 --part 1/2 --verify --json r.json
  sweep_runs "$@" half rest_of_parts sptrsm-solve a.h5 a_rhs.h5 --into x.h5 --part 2/2 --verify --json r.json
  sweep_runs "$@" fresh rest_of_pieces sptrsm-solve a.h5 a_rhs.h5 --into x.h5 --part 1/2 --verify --split-files --json r.json
  sweep_runs "$@" half_pieces rest_of_pieces sptrsm-solve a.h5 a_rhs.h5 --into x.h5 --part 2/2 --verify --split-files --json r.json
  sweep_runs "$@" pieces rest_of_merge sptrsm-solve --merge x.h5
  sweep_runs "$@" pieces rest_of_merge sptrsm-solve --merge x.h5 --remove-pieces
  sweep_runs "$@" pieces rest_of_merge_to sptrsm-solve --merge x.h5 -o y.h5 --force
}
# Solutions that several runs make, and those in several files: a run that fails costs nothing that others have done.
test_failures_parts() {
  local call
  begin_failures
  run sptrsm-solve -q a.h5 a_rhs.h5 -o whole.h5 --verify
  code 0
  mkdir fresh && cp a.h5 a_rhs.h5 fresh && cp -a fresh half && cp -a fresh half_pieces
  (cd half && run sptrsm-solve -q a.h5 a_rhs.h5 --into x.h5 --part 1/2 --verify)
  (cd half_pieces && run sptrsm-solve -q a.h5 a_rhs.h5 --into x.h5 --part 1/2 --verify --split-files)
  cp -a half_pieces pieces
  (cd pieces && run sptrsm-solve -q a.h5 a_rhs.h5 --into x.h5 --part 2/2 --verify --split-files && echo precious >y.h5)
  exists half/x.h5.part
  exists half_pieces/x.h5.part
  exists pieces/x.h5
  sweep_runs malloc ours 1 6 pieces rest_of_merge sptrsm-solve --merge x.h5 # few allocations, so each of them is made to fail
  sweep_parts malloc ours 600 6
  sweep_parts write program 15 5
  for call in fsync open; do sweep_parts $call program 5 5; done
  sweep_parts rename program 1 5 # hardly more than one in a run
  for call in read open_read; do sweep_parts $call program 30 "3 5"; done
  end_failures
}

# HDF5 1.10 does not survive each failed allocation of its own: while it writes, which it does in the program itself, it may crash when
# the program ends, or lose the cause of an error. But a sound file is never called damaged, and success is success.
test_failures_hdf5() {
  local k
  begin_failures
  # Its first allocations are its own tables. Without them it ends the process, which is that of the program only while it writes.
  for k in 12 18 544 640; do
    fails_at $k malloc hdf5 "x.h5" sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force || fail "no call failed"
    [ $rc = 0 ] || code 6
  done
  # HDF5 opens a file without memory that it needs when it looks up names.
  fails_at 2326 malloc hdf5 "" sptrsm-verify a.h5 a_rhs.h5 a_x.h5
  [ $rc = 0 ] || code 6
  sweep_writers malloc hdf5 800 "5 6 134 139"
  sweep_readers malloc hdf5 800 6
  end_failures
}

# A system call that fails is an I/O error; a thread that can't be had is done without.
test_failures_calls() {
  local call
  begin_failures
  for call in write fsync rename open; do sweep_writers $call program 5 5; done
  sweep thread program 1 0 "x.h5" sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force --stream=1
  end_failures
}

# Two threads, and enough work for both. Which of them makes the K-th call differs from run to run; what is judged does not. Threads that
# can't be had are done without.
sweep_threads() {
  sweep "$@" "x.h5 r.json" sptrsm-solve -q t.h5 t_rhs.h5 -o x.h5 --force --threads 2 --verify --json r.json
  sweep "$@" "x.h5" sptrsm-solve t.h5 t_rhs.h5 -o x.h5 --force --threads 2 --stream=16 --verify
}
test_failures_threads() {
  begin_failures
  run sptrsm-gen -q banded 1500 6 --nrhs 64 -o t.h5
  code 0
  sweep_threads malloc ours 40 6
  sweep_threads thread program 1 0
  end_failures
}

# A signal before each call, also abort() while signals are held back: no temporary file stays behind, and no handler waits for its own thread.
test_failures_signals() {
  local call k
  begin_failures
  for call in write open fsync rename; do
    for signal in INT ABRT; do
      for command in "sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force --verify --json r.json" "sptrsm-gen -q banded 9 3 --nrhs 2 -o g.h5 --force"; do
        for ((k = 1; ; k++)); do
          start_over x.h5 r.json g.h5 g_rhs.h5
          run timeout -k 1 100 env LD_PRELOAD="$fail_once" FAIL_CALL=$call FAIL_ERRNO=SIG$signal FAIL_AT=$k FAIL_HIT=hit $command
          last="SIG$signal before $call number $k in $command"
          [ -e hit ] || break
          all_points=$((${all_points:-0} + 1))
          [ $signal$rc = ABRT8 ] || code $([ $signal = INT ] && echo 130 || echo 134) # inside HDF5 a crash is an internal error
          [ "$signal$call" = ABRTopen ] || no_leftovers # aborted before the file was noted
        done
      done
    done
  done
  echo "$all_points points"
  end_failures
}

# children_at CALL K COMMAND...: stops the program before its K-th call; $children is the number of the processes that read then
children_at() {
  local call=$1 k=$2
  shift 2
  background env LD_PRELOAD="$fail_once" FAIL_CALL=$call FAIL_ERRNO=SIGSTOP FAIL_AT=$k "$@"
  check; until_true grep -q '^State:[[:space:]]*T' /proc/$pid/status || fail "it ended before $call number $k"
  children=$(wc -w </proc/$pid/task/$pid/children)
  kill -CONT $pid
  ended
  code 0
}
# reads_first COMMAND...: COMMAND reads three files: before its third fork it has two child processes, and at its last allocation, which is
# for a result, it has none.
reads_first() {
  local low=0 high=1 k
  while fails_at $high malloc program "" "$@"; do low=$high high=$((2 * high)); done
  while [ $((high - low)) -gt 1 ]; do
    k=$(((low + high) / 2))
    if fails_at $k malloc program "" "$@"; then low=$k; else high=$k; fi
  done
  children_at fork 3 "$@"
  equals "$children" 2
  children_at malloc $low "$@"
  equals "$children" 0
}

# Reading fails: an I/O error, or the file counts as one that can't be read.
test_failures_reads() {
  local call
  begin_failures
  for call in read open_read send; do
    sweep $call program 7 "3 5" "x.h5" sptrsm-solve a.h5 a_rhs.h5 -o x.h5 --force --verify
    sweep $call program 7 "3 5" "x.h5 r.json" sptrsm-solve -q a.h5 a_rhs.h5 -o x.h5 --force --verify --stream=1 --json r.json
    sweep $call program 7 "3 5" "" sptrsm-verify --json a.h5 a_rhs.h5 a_x.h5
  done
  # Each file is opened by one process. Here every fork fails once, also if FAILURES_STEP makes the other tests skip calls.
  local before=${all_points:-0}
  FAILURES_FIRST=1 FAILURES_STEP=1 sweep fork program 1 5 "x.h5" sptrsm-solve a.h5 a_rhs.h5 -o x.h5 --force
  check; [ $((all_points - before)) = 2 ] || fail "$((all_points - before)) processes have read 2 files"
  before=$all_points
  FAILURES_FIRST=1 FAILURES_STEP=1 sweep fork program 1 5 "" sptrsm-verify --json a.h5 a_rhs.h5 a_x.h5
  check; [ $((all_points - before)) = 3 ] || fail "$((all_points - before)) processes have read 3 files"
  reads_first sptrsm-verify a.h5 a_rhs.h5 a_x.h5
  run sptrsm-gen -q random 9 --count 2 -o b.h5
  code 0
  run sptrsm-solve -q b.h5 b_rhs.h5 -o b_x.h5
  code 0
  reads_first sptrsm-verify b.h5 b_rhs.h5 b_x.h5
  end_failures
}
