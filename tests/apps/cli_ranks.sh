# cli_ranks.sh -- one solution by several processes of MPI. Sections for cli_test.sh, which are skipped where there is no mpirun or no MPI.
# shellcheck shell=bash

# needs_mpi: ends the section with 77 where several ranks can't be run
needs_mpi() {
  command -v mpirun >/dev/null || { echo "no mpirun"; exit 77; }
  ldd "$bin/sptrsm-solve" | grep -q libmpi || { echo "sptrsm-solve was built without MPI"; exit 77; }
  # Warnings and leaks of MPI itself are none of this program. Hosts that containers have no address for do not matter on one machine.
  export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_rmaps_base_oversubscribe=1
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # Open MPI 5
  # Runs of Open MPI 4 that begin and end at the same time remove each other's folder in /tmp, and end with 1.
  export OMPI_MCA_orte_tmpdir_base=$work/mpi
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OMPI_MCA_orte_abort_print_stack=0
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
}
# mpi K ARGUMENT ...: mpirun, which would read the standard input of a loop around it; exit code 124: it hung
mpi() { local k=$1; shift; timeout -k 10 250 mpirun -n "$k" "$@" </dev/null; }
ranks() { local k=$1; shift; mpi "$k" sptrsm-solve --device cpu "$@"; } # ranks K ARGUMENT ...
# ranks_below PID: the ranks that mpirun, or what it has started, has started; not the processes that read for them
ranks_below() {
  local child
  for child in $(pgrep -P "$1"); do
    if [ "$(cat "/proc/$child/comm" 2>/dev/null)" = sptrsm-solve ]; then echo "$child"; else ranks_below "$child"; fi
  done
}

# same_solution FACTORS RHS OPTION ...: 1, 2, 3 and 4 ranks make the bits that one process makes, and the same report
same_solution() {
  run sptrsm-solve --device cpu -q "$@" -o whole.h5 --force --verify --json whole
  code 0
  for k in 1 2 3 4; do
    run ranks $k "$@" -o x.h5 --force --verify --json report
    code 0
    check; [ "$(grep -c '^output' stdout)" = 1 ] || fail "the summary is not there once"
    same_block whole.h5:/X x.h5:/X
    same_block whole.h5:/berr x.h5:/berr
    for key in max_berr max_normwise worst_column; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
    [ $k = 1 ] || equals "$(field report stream ranks)" $k
    no_parts
  done
}

test_ranks() {
  needs_mpi
  while read -r order dtype compress; do
    system D2N5 20 30 --nrhs 50 --order "$order" --dtype "$dtype" --compress "$compress"
    same_solution s.h5 s_rhs.h5
  done <<'END'
C f64 0
F c128 0
C f32 4
F f64 4
END
  cp whole.h5 b.h5 # contiguous
  same_solution s.h5 b.h5:/X --stream=7 --trans T --alpha 2 --cols 3:41
  for name in add32_splu sherman5_splu; do same_solution "$data/$name.h5" "$data/${name%_splu}_rhs.h5"; done
  same_solution "$data/add32_splu.h5" "$data/add32_rhs.h5" --refine 2
  same_solution "$data/add32_splu.h5" "$data/add32_rhs.h5" --map
  system dense 1100 --nrhs 4 # arrays of some MiB are received in huge pages
  same_solution s.h5 s_rhs.h5
}

# Factor sets beside right-hand sides of each order and type, contiguous and compressed: 1 to 8 ranks make the bits of one process. A sample
# of the forms and numbers of ranks, or with RANK_FORMS=all each; RANK_SETS names a folder with more factor sets and triangles.
test_ranks_forms() {
  needs_mpi
  local set n number=0
  for set in "$data"/*_splu.h5 $([ -z "${RANK_SETS:-}" ] || find -L "$RANK_SETS" -name '*.h5' ! -name '*_rhs.h5' | sort); do
    n=$(sptrsm-info "$set" | sed -n 's/.* n \([0-9]*\),.*/\1/p;q')
    while read -r order dtype compress; do
      number=$((number + 1))
      [ "${RANK_FORMS:-}" = all ] || [ $((number % 5)) = 1 ] || continue
      run sptrsm-gen -q chain "$n" --nrhs 21 --order "$order" --dtype "$dtype" --compress "$compress" -o b.h5 --force
      code 0
      run sptrsm-solve --device cpu -q "$set" b_rhs.h5 -o whole.h5 --force --no-verify --save-plan kept.plan
      code 0
      for k in $([ "${RANK_FORMS:-}" = all ] && seq 8 || echo $((1 + number % 8))); do
        run ranks "$k" -q "$set" b_rhs.h5 -o x.h5 --force --no-verify --plan kept.plan
        code 0
        same_block whole.h5:/X x.h5:/X
        runs=$((${runs:-0} + 1))
      done
    done < <(for order in C F; do for dtype in f32 f64 c64 c128; do for compress in 0 4; do echo $order $dtype $compress; done; done; done)
  done
  echo "$number forms of right-hand sides for factor sets, ${runs:-0} runs"
}

# shared_by_ranks: whether a rank has mapped factors that another one has put into memory
shared_by_ranks() {
  local rank
  for rank in $(ranks_below $pid); do
    grep -qs 'memfd:sptrsm factors' "/proc/$rank/maps" && return 0
  done
  return 1
}

# make_hosts OPTIONS: ./hosts SECONDS HOSTS COMMAND runs a command on machines, as Open MPI sees them: daemons with other host names, each in
# namespaces by these options of unshare. The process whose number is in node.HOST starts the machine. Fails where none can be had.
make_hosts() {
  unshare "$@" true 2>/dev/null || { echo "no other host name can be had here"; return 1; }
  printf '#!/bin/sh\nhost=$1; shift\necho $$ >node.$host\nexec unshare %s sh -c "hostname $host; $*"\n' "$*" >agent && chmod +x agent
  printf '#!/bin/bash\nexec timeout -k 10 "$1" env OMPI_MCA_btl=self,vader,tcp mpirun --mca plm_rsh_agent "$PWD/agent" --mca plm rsh -H "${@:2}"\n' >hosts
  chmod +x hosts
  run ./hosts 60 a:1,b:1 true
  [ $rc = 0 ] || { echo "Open MPI reaches no other host name here"; return 1; }
}

# Large factors lie in the memory of a machine once. Where that is not possible, here as a rank may write no file so large, they are sent.
test_ranks_memory() {
  needs_mpi
  system dense 2200 --nrhs 60
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5
  code 0
  background timeout -k 10 250 mpirun -n 3 sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream=1
  until_true shared_by_ranks || fail "no rank shares the factors"
  ended
  code 0
  same_block whole.h5:/X x.h5:/X
  printf '#!/bin/bash\nulimit -f 12000\nexec sptrsm-solve "$@"\n' >limited && chmod +x limited
  background timeout -k 10 250 mpirun -n 3 ./limited --device cpu s.h5 s_rhs.h5 -o x.h5 --stream=1 --force
  until_true shared_by_ranks || fail "the column numbers, 10 MB, are not shared"
  ended
  code 0
  same_block whole.h5:/X x.h5:/X
  make_hosts --uts || return 0
  for hosts in a:2,b:2 a:1,b:3 a:1,b:1,c:1; do
    background ./hosts 250 $hosts sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream=1 --force --json report
    [ $hosts = a:1,b:1,c:1 ] || until_true shared_by_ranks || fail "no rank of $hosts shares the factors"
    ended
    code 0
    equals "$(field report stream ranks)" $([ $hosts = a:1,b:1,c:1 ] && echo 3 || echo 4)
    same_block whole.h5:/X x.h5:/X
    no_parts
  done
}

# Fewer columns than ranks, none, no rows; what is not finite; what ranks can't do.
test_ranks_corners() {
  needs_mpi
  system chain 50 --nrhs 3
  same_solution s.h5 s_rhs.h5
  same_solution s.h5 s_rhs.h5 --cols 1
  sptrsm-gen -q chain 0 --nrhs 2 -o none.h5
  "$helper" empty none_cols.h5 50
  for files in "none.h5 none_rhs.h5" "s.h5 none_cols.h5"; do
    rm -f x.h5
    run ranks 3 $files -o x.h5
    code 0
    exists x.h5
    run sptrsm-solve --device cpu -q $files -o whole.h5 --force
    code 0
    same_block whole.h5:/X x.h5:/X
  done
  system banded 30 2 --nrhs 4
  run "$helper" nonfinite odd.h5 30
  run ranks 3 s.h5 odd.h5 -o x.h5 --force --verify --json report --stream=1
  code 1
  check; [ "$(grep -c 'solutions are not finite: columns 1, 3' stderr)" = 1 ] || fail "the warning is not there once"
  equals "$(field report residual worst_column)" 1
  run ranks 3 s.h5 s_rhs.h5 -o y.h5 --dry-run
  code 0
  says "nothing solved"
  run ranks 3 --version
  code 0
  equals "$(wc -l <stdout)" 1
  # An error is said once, with its code.
  while read -r want text options; do
    run ranks 3 s.h5 $options
    code "$want"
    warns "${text//_/ }"
    check; [ "$(grep -c 'sptrsm-solve: .*error' stderr)" = 1 ] || fail "the error is not there once"
    missing y.h5
  done <<'END'
2 is_not_one_of s_rhs.h5 -o y.h5 --trans Q
2 parts_run_without_mpirun s_rhs.h5 --into y.h5 --part 1/2
2 --rows,_--compress_and_--checksum_run_without_mpirun s_rhs.h5 -o y.h5 --rows 0
2 --rows,_--compress_and_--checksum_run_without_mpirun s_rhs.h5 -o y.h5 --compress 1
2 Schur_complements_run_without_mpirun -o y.h5 --schur s_rhs.h5
2 columns_3:9_asked_for,_but_it_has_4 s_rhs.h5 -o y.h5 --cols 3:9
END
  run ranks 2 s.h5 missing.h5 -o y.h5
  code 5
  rejects_once "x.h5: exists" 5 ranks 2 s.h5 s_rhs.h5 -o x.h5
}
rejects_once() { local text=$1 want=$2; shift 2; run "$@"; code "$want"; check; [ "$(grep -c "$text" stderr)" = 1 ] || fail "not said once: $text"; }

# one_of_ranks: a random rank below the mpirun $pid
one_of_ranks() { ranks_below $pid | shuf -n 1; }

# phase_of_kill: what the run that was killed was at, by the last that rank 0 had said
phase_of_kill() {
  case $(grep -oE 'reading|analysing|streaming' stderr | tail -n 1) in
    reading) echo "reading or sending the factors" ;;
    analysing) echo "analysing" ;;
    streaming) if cmp -s x.h5 old; then echo "streaming"; else echo "finished"; fi ;;
    *) echo "starting" ;;
  esac
}
# kill_one_of_ranks MOMENT: kills one rank of the run in the background, at a moment of the whole run (a number of ns at most), or within 30 ms
# after a phase has begun. Then the run has ended, and $rc is its exit code.
kill_one_of_ranks() {
  local victim
  case $1 in
    checkpoint) until_true checkpoint ;;
    [0-9]*) sleep "$(awk "BEGIN { print 1e-9 * $1 * $((RANDOM * 32768 + RANDOM)) / 2^30 }")" ;;
    *) until_true grep -q "$1" stderr ;;
  esac
  [[ $1 = [0-9]* ]] || sleep "$(printf 0.%03d $((RANDOM % 31)))"
  victim=$(one_of_ranks)
  [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null
  ended
  check; [ $rc != 124 ] || fail "the run hangs"
}
# killed_run MOMENT OPTION ...: a run by 1 to 4 ranks, of which one is killed. What is there then is as it was before, or complete.
killed_run() {
  local moment=$1; shift
  background timeout -k 10 250 mpirun -n $((1 + RANDOM % 4)) sptrsm-solve --device cpu -v s.h5 s_rhs.h5 -o x.h5 --force \
    --method serial --verify "$@"
  kill_one_of_ranks "$moment"
  [ $rc != 0 ] || return 0
  phase_of_kill >>phases
  check; cmp -s x.h5 old || [ ! -e x.h5.part ] || fail "x.h5 is there, and so is its part"
  [ $failures = 0 ]
}
# resumed_until_through K OPTION ...: K ranks do what is left, and x.h5 is what one process makes
resumed_until_through() {
  local k=$1; shift
  run ranks "$k" s.h5 s_rhs.h5 -o x.h5 --force --method serial --verify --resume --json report "$@"
  code 0
  for key in max_berr max_normwise worst_column g1 g2; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
  [ $# = 0 ] || merge
  same_block whole.h5:/X x.h5:/X
  same_block whole.h5:/berr x.h5:/berr
  no_partials # a kill may leave a temporary file
}

# A rank that is killed at any moment ends the run; what is done stays, and any number of ranks goes on, which may be killed, too. Every other
# time X is in several files.
test_ranks_killed() {
  needs_mpi
  local attempt split begin moment=checkpoint moments
  system dense 1100 --nrhs 200
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --method serial --verify --json whole
  code 0
  echo precious >old
  begin=$(date +%s%N)
  run ranks 3 s.h5 s_rhs.h5 -o x.h5 --method serial --verify --stream=2
  code 0
  moments=(checkpoint reading analysing streaming $(printf '%s ' {,,,}$(($(date +%s%N) - begin)))) # in half of all cases, any moment
  : >phases
  for attempt in $(seq $((20 + 3 * ${KILLS:-3}))); do
    [ "$(wc -l <phases)" -lt "${KILLS:-3}" ] || break
    rm -rf x.h5.p* .x.h5.*
    cp old x.h5
    split=$([ $((attempt % 2)) = 0 ] || echo "--split-files=$((1 + attempt % 7))")
    # shellcheck disable=SC2086
    while killed_run $moment --stream=$((RANDOM % 3 + 1)) --resume $split && [ $rc != 0 ] && [ $((RANDOM % 3)) != 0 ]; do
      moment=${moments[RANDOM % ${#moments[@]}]}
    done
    [ $failures = 0 ] || break
    resumed_until_through $((1 + RANDOM % 4)) $split
    [ $failures = 0 ] || break
  done
  echo "$(wc -l <phases) kills: $(sort phases | uniq -c | sed 's/^ *//' | paste -sd, | sed 's/,/, /g')"
  check; [ -s phases ] || fail "no rank was killed in time"
}

# A machine that dies, with its daemon and its ranks, ends the run as a rank does, and what is done stays.
test_ranks_machine() {
  needs_mpi
  system dense 1500 --nrhs 400
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5
  code 0
  make_hosts --uts --pid --fork --kill-child --mount-proc || return 0
  for attempt in $(seq 20); do # a run that is through before it is noticed is tried again
    background ./hosts 250 a:2,b:2 sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --stream=1 --force
    until_true test -s x.h5.part && grep -qs unshare "/proc/$(cat node.b)/comm" && kill -KILL "$(cat node.b)"
    ended
    [ $rc = 0 ] || break
    rm -f x.h5
  done
  check; [ $rc != 0 ] && [ $rc != 124 ] && [ $rc != 137 ] || fail "the run ended with $rc"
  missing x.h5
  run ./hosts 250 a:1,b:1 sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --resume --json report
  code 0
  same_block whole.h5:/X x.h5:/X
  no_parts
}

# Runs of 4 ranks with 0 to 9 columns: none hangs.
test_ranks_few() {
  needs_mpi
  system banded 60 3 --nrhs 10
  "$helper" empty none.h5 60
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5
  code 0
  for k in $(seq 9); do sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole$k.h5 --cols 0:$k; done
  for k in $(seq 0 $((${RUNS:-20} - 1))); do
    columns=$((k % 10)) files=s_rhs.h5
    [ $columns -gt 0 ] || files=none.h5
    split=$([ $((k / 10 % 2)) = 0 ] || [ $columns = 0 ] || echo --split-files)
    run ranks 4 -q s.h5 $files -o x.h5 --force $([ $columns = 0 ] || echo "--cols 0:$columns --stream=$((k % 3 + 1))") $split
    code 0
    [ -z "$split" ] || merge
    [ $columns = 0 ] || same_block whole$columns.h5:/X x.h5:/X
    no_parts
    [ $failures = 0 ] || break
  done
  echo "${RUNS:-20} runs"
}

# A rank that sees other inputs, one whose disk is full, one with other options.
test_ranks_differ() {
  needs_mpi
  system dense 300 --nrhs 64
  sptrsm-gen -q dense 300 --nrhs 64 --seed 9 -o other.h5
  printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || cd other\nexec sptrsm-solve "$@"\n' >elsewhere
  printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || set -- "$@" --alpha 3\nexec sptrsm-solve "$@"\n' >changed
  touch small && chmod +x elsewhere small changed
  mkdir other && cp s.h5 other && cp other_rhs.h5 other/s_rhs.h5
  run mpi 3 ./elsewhere --device cpu s.h5 s_rhs.h5 -o x.h5
  code 3
  warns "sptrsm-solve: rank 1: error: rank 0 was begun with other inputs or options: time of change of the right-hand sides' file was"
  no_parts
  run mpi 3 ./changed --device cpu s.h5 s_rhs.h5 -o x.h5 --save-plan kept.plan
  code 3
  warns "sptrsm-solve: rank 1: error: rank 0 was begun with other inputs or options: --alpha was 1,0, now it is 3,0"
  missing kept.plan
  no_parts
  # What would send the ranks different ways is found before they part: else some would wait for the others for ever.
  "$helper" empty other/none.h5 300 && cp s_rhs.h5 none.h5
  run mpi 3 ./elsewhere --device cpu s.h5 none.h5 -o x.h5
  code 3
  warns "rank 1: error: rank 0 was begun with other inputs or options: number of columns was 64, now it is 0"
  cp none.h5 other/dense.h5 && cp other/none.h5 dense.h5
  run mpi 3 ./elsewhere --device cpu s.h5 dense.h5 -o x.h5
  code 3
  warns "number of columns was 0, now it is 64"
  while read -r option text; do
    printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || set -- "$@" %s\nexec sptrsm-solve "$@"\n' "$option" >changed
    run mpi 3 ./changed --device cpu s.h5 s_rhs.h5 -o x.h5 --save-plan kept.plan
    code 3
    warns "rank 0 was begun with other inputs or options: $text"
    missing kept.plan
  done <<'END'
--dry-run --dry-run was not given, now it is given
-oy.h5 -o was x.h5, now it is y.h5
--max-berr=1 --max-berr was -1, now it is 1
--method=serial method was
END
  missing x.h5
  no_parts
  # Another version of the library, found before anything is sent that it may not understand.
  library=$(ldd "$bin/sptrsm-solve" | sed -n 's/^\s*\(libsptrsm\.so[^ ]*\) => \([^ ]*\).*/\1 \2/p')
  version=$(sptrsm-solve --version | sed 's/^[^0-9]*\([0-9.]*\).*/\1/;q')
  if [ -n "$library" ]; then
    mkdir newer && sed "s/${version//./\\.}/9${version:1}/g" "${library#* }" >"newer/${library% *}"
    printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || export LD_LIBRARY_PATH=newer\nexec sptrsm-solve "$@"\n' >changed
    run mpi 3 ./changed --device cpu s.h5 s_rhs.h5 -o x.h5
    code 3
    warns "sptrsm-solve: rank 1: error: rank 0 was begun with other inputs or options: version was $version, now it is 9${version:1}"
    missing x.h5
  fi
  # The same inputs, but an output in another folder: a new one, and one that an earlier run has begun there.
  mkdir apart && ln -s ../s.h5 ../s_rhs.h5 apart
  sed 's/other/apart/' elsewhere >apart/rank && chmod +x apart/rank
  for k in 1 2; do
    run mpi 3 apart/rank --device cpu s.h5 s_rhs.h5 -o x.h5
    code 5
    warns "sptrsm-solve: rank 1: error: x.h5.part is not that of rank 0 here, or locks do not reach this machine; choose a folder"
    check; [ $k = 2 ] || [ "$(ls apart)" = $'rank\ns.h5\ns_rhs.h5' ] || fail "something is left: $(ls apart)"
    missing x.h5
    mv x.h5.part x.h5.part.journal apart
  done
  rm -r apart
  # No room for the columns of any rank, and of one of them; the files of MPI itself are smaller than the limit.
  system banded 8000 2 --nrhs 400 --order F
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 --into x.h5 --part 1/2 --no-verify
  code 0
  cp x.h5.part half && cp x.h5.part.journal half.journal
  for limited in '[012]' 1; do
    printf '#!/bin/bash\n[[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} != %s ]] || ulimit -f 10000\nexec sptrsm-solve "$@"\n' "$limited" >small
    for _ in $(seq 10); do
      run mpi 3 ./small --device cpu s.h5 s_rhs.h5 -o x.h5 --stream=1 --no-verify --resume
      [ $rc = 0 ] || break # else the others took all columns
      rm x.h5 && cp half x.h5.part && cp half.journal x.h5.part.journal
    done
    [ $rc = 0 ] && [ "$limited" = 1 ] && continue
    code 5
    check; grep -qE "^sptrsm-solve: (rank [12]: )?error: x.h5.part: " stderr || fail "the reason is not said"
    [ "$limited" != 1 ] || warns "sptrsm-solve: rank 1: error: x.h5.part: "
    missing x.h5
  done
  run ranks 2 s.h5 s_rhs.h5 -o x.h5 --no-verify --resume
  code 0
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5
  code 0
  same_block whole.h5:/X x.h5:/X
  no_parts
}
