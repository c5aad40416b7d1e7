# cli_bench.sh -- sptrsm-bench on the host: tables, inputs, options, and workers that hang or die. Sections for cli_test.sh.
# shellcheck shell=bash

# rows PATTERN: the number of rows of the printed table that begin with it
rows() { grep -cE "^$1 " stdout; }
# statuses FILE: "2 ok;1 timeout", the number of measurements of a report with each status
statuses() { grep -o '"status": "[^"]*"' "$1" | sort | uniq -c | sed -E 's/ *([0-9]+) "status": "(.*)"/\1 \2/' | paste -sd';'; }

test_bench() {
  run sptrsm-bench "$data/add32_splu.h5" --host --nrhs 1,9 --reps 3 --json out.json
  code 0
  says "geometric mean over serial"
  says "machine: host"
  says "limits: copy "
  equals "$(rows 'add32_splu.h5:/[LU]')" 24 # two triangles, six methods (auto is one) and two numbers of right-hand sides
  check; [ "$(awk '{ if (length > most) most = length } END { print most }' stdout)" -le 140 ] || fail "the table is wider than 140 columns"
  warns "triangle 2 of 2: add32_splu.h5:/U, f64"
  equals "$(statuses out.json)" "24 ok"
  equals "$(field out.json schema)" 1
  equals "$(field out.json baseline)" serial
  equals "$(field out.json machine place)" host
  equals "$(field out.json limits launch_us)" null
  at_most "$(field out.json limits hop_ns)" 1e9
  equals "$(field out.json auto cases)" 4
  # Keys of the first result, in the documented order; times differ from run to run.
  keys=$(sed -n '/"results"/,/}/p' out.json | grep -oE '^ +"[a-z_0-9]+":' | tr -d ' ":' | grep -v results | paste -sd,)
  first=file,group,n,nnz,levels,chain,rows_min,rows_average,rows_max,max_row,matrix_bytes,method,params,chosen,reason,dtype,op,nrhs
  second=analysis_first_ms,analysis_ms,view_ms,setup_ms,update_ms,solve_ms,solve_ms_min,gflops,reps,plan_bytes,workspace_bytes,g1,spread,deterministic
  equals "$keys" "$first,$second,ratio_cusparse,ratio_baseline,limit_share,limit_by,copy_share,amortised_solves,status"
  result="results 0"
  equals "$(field out.json $result group)" /L
  equals "$(field out.json $result n)" 4960
  equals "$(field out.json $result nnz)" 14430
  equals "$(field out.json $result levels)" 22
  equals "$(field out.json $result max_row)" 33
  equals "$(field out.json $result matrix_bytes)" $((14430 * 12 + 4961 * 4))
  equals "$(field out.json $result method)" serial
  equals "$(field out.json $result deterministic)" true
  equals "$(field out.json $result ratio_cusparse)" null
  equals "$(field out.json $result setup_ms)" null
  at_most "$(field out.json $result g1)" 1.5
  at_most "$(field out.json $result solve_ms_min)" "$(field out.json $result solve_ms)"
  run sptrsm-bench "$data/add32_splu.h5:/L" --host --nrhs 2 --methods serial --reps 1 --json -
  code 0
  check; grep -q '"status": "ok"' stdout || fail "no result in the JSON"
  warns "machine: host" # the table makes room for the report
  run sptrsm-bench "$data/add32_splu.h5:/L" --host --nrhs 1 --methods serial:magic=1,serial
  code 2
  says 'failed: method serial has no variants'
  check; grep -qE ' serial +f64 +N +1 +[0-9]' stdout || fail "the run does not go on"
  rejects 2 "--methods: 'levelst' is not one of auto, " sptrsm-bench "$data/add32_splu.h5:/L" --host --methods serial,levelst
  warns "; did you mean levelset?"
  check; grep -q machine stderr && fail "the machine is measured before the methods are checked"
  rejects 2 "--params: 'levelst:isa=avx2' is not one of auto, " sptrsm-bench gen:chain:9 --host --params levelst:isa=avx2
  warns "; did you mean levelset?"
  rejects 2 "; did you mean chain?" sptrsm-bench gen:chian:9 --host
}

test_bench_inputs() {
  run sptrsm-bench "$data" --host --nrhs 1 --methods serial --reps 1
  code 0
  equals "$(rows '[a-z0-9_]+_splu.h5:/[LU]')" 6 # the right-hand sides in the folder are passed over
  run sptrsm-bench gen:D3N7:6,5,4 gen:D2N5:6,5 gen:band:50,4 gen:banded:50,4 gen:powerlaw:300 gen:chain:40 gen:random:60:row=4,seed=2,uplo=upper \
    gen:random:60:density=0.1,unit gen:arrow:30 gen:dense:20 --host --nrhs 3 --reps 1 --methods levelset --json out.json
  code 0
  equals "$(statuses out.json)" "10 ok"
  equals "$(field out.json results 0 file)" gen:D3N7:6,5,4
  equals "$(field out.json results 0 group)" ""
  equals "$(field out.json results 0 levels)" 13 # x + y + z goes from 0 to 12
  equals "$(field out.json results 2 nnz)" "$(field out.json results 3 nnz)"
  # What sptrsm-gen writes is what gen: makes.
  sptrsm-gen -q powerlaw 300 -o p.h5 --nrhs 0
  run sptrsm-bench p.h5 --host --nrhs 3 --reps 1 --methods levelset --json file.json
  for key in n nnz levels max_row g1; do equals "$(field file.json results 0 $key)" "$(field out.json results 4 $key)"; done
  while IFS='|' read -r spec text; do
    rejects 2 "$text" sptrsm-bench "$spec" --host
  done <<'END'
gen:cube:3|unknown kind 'cube'
gen:D3N7:3,3|give gen:D3N7: and X Y Z, with commas
gen:D3N7:3,3,3,3|give gen:D3N7: and X Y Z, with commas
gen:chain|give gen:chain: and N
gen:chain:x|'x' is not a whole number
gen:chain:-1|'-1' is not a whole number
gen:D3N7:2000,2000,2000|the order is above
gen:chain:4:row=3|--row is for random and powerlaw
gen:random:9:row=3,density=0.5|contradict each other
gen:random:9:colour=3|'colour' is none of row=R
gen:random:9:uplo=left|'left' is not one of lower, upper
END
  rejects 6 "choose a smaller size" sptrsm-bench gen:dense:2000000000 --host
  rejects 2 "give a FILE" sptrsm-bench
  mkdir empty
  rejects 3 "empty: holds no triangle" sptrsm-bench empty --host
  rejects 3 "holds no triangle" sptrsm-bench "$data/add32_rhs.h5" --host
  rejects 5 "none.h5: No such file" sptrsm-bench none.h5 --host
  echo "no HDF5" >empty/broken.h5
  run sptrsm-bench empty gen:chain:4 --host --nrhs 1 --reps 1
  warns "broken.h5"
  says "gen:chain:4 "
  check; [ "$rc" != 0 ] || fail "a broken file among the inputs is an error"
  market one.mtx general "2 2 2" "1 1 2" "2 2 2"
  run sptrsm-bench one.mtx --host --nrhs 1 --reps 1
  code 0
  says "one.mtx "
  market zero.mtx general "2 2 2" "1 1 2" "2 2 0"
  run sptrsm-bench zero.mtx one.mtx --host --nrhs 1 --reps 1 --json zero.json
  code 4
  warns "diagonal entry (1,1) is zero"
  says "one.mtx "
  check; [[ $(field zero.json results 0 status) == "failed: "*"diagonal entry (1,1) is zero"* ]] || fail "the report hides what was refused"
  equals "$(field zero.json results 0 n)" null
  cp "$data/add32_splu.h5" in.h5
  rejects 2 "the output is the input in.h5" sptrsm-bench in.h5 --host --json in.h5
  rejects 2 "the output is the input" sptrsm-bench . --host --csv in.h5
  rejects 5 "there is no folder" sptrsm-bench in.h5 --host --json none/x.json
  rejects 2 "name one file" sptrsm-bench in.h5 --host --json x --csv ./x
  same in.h5 "$data/add32_splu.h5"
  run sptrsm-bench empty/broken.h5 --host --json empty/broken.h5 --force
  code 2
  warns "the output is the input empty/broken.h5"
}

test_bench_options() {
  run sptrsm-bench gen:random:80:unit gen:random:80:uplo=upper --host --nrhs 1,5 --op N,T,C --dtype f32,f64,c64,c128 --reps 2 --json out.json --csv out.csv
  code 0
  equals "$(statuses out.json)" "288 ok" # 2 triangles, 4 types, 3 operations, 2 numbers of right-hand sides, 6 methods
  equals "$(wc -l <out.csv)" 289
  equals "$(head -1 out.csv | cut -d, -f1-5)" file,group,n,nnz,levels
  equals "$(awk -F, 'NR > 1 && $NF != "ok"' out.csv | wc -l)" 0
  rejects 5 "out.csv: exists" sptrsm-bench gen:chain:3 --host --csv out.csv
  run sptrsm-bench gen:chain:3 --host --nrhs 1 --reps 1 --methods serial --csv out.csv --force -q
  code 0
  equals "$(wc -l <out.csv)" 2
  run sptrsm-bench gen:chain:50 --host --nrhs 1 --reps 1 --methods all,serial --json all.json
  equals "$(statuses all.json)" "6 ok"
  run sptrsm-bench gen:chain:50 --host --nrhs 1 --reps 1 --methods serial --params levelset:a+b=1,c=2 --json v.json
  equals "$(field v.json results 1 method)" levelset:a
  equals "$(field v.json results 2 method)" levelset:b=1,c=2
  check; [[ $(field v.json results 1 status) == failed:* ]] || fail "levelset takes no variant"
  # A limit on the device: the one of --device-memory is kept, and refused where the host measures.
  rejects 2 "--device-memory: is a limit on a CUDA device; leave it out, or --host" sptrsm-bench gen:chain:3 --host --device-memory 5M
  run sptrsm-bench gen:D2N5:200,100 --nrhs 32 --reps 1 --methods block --device-memory 2M --json limited.json
  if [ $rc = 2 ]; then warns "--device-memory: is a limit on a CUDA device, and there is none; leave it out"
  else code 0; equals "$(statuses limited.json)" "1 ok"; fi
  run sptrsm-bench gen:D2N5:4,3 --host --table levels --op N,T
  code 0
  golden_rows <<'END'
gen:D2N5:4,3 N 12 29 6 1 2.0 3 1 2.4 3
gen:D2N5:4,3 T 12 29 6 1 2.0 3 1 2.4 3
END
  run sptrsm-bench --table limits --host --json limits.json
  code 0
  says "dependency hop"
  equals "$(rows gen)" 0
  at_most 0.01 "$(field limits.json limits copy_gb_s)"
  run sptrsm-bench gen:D2N5:40,30 --host --table preprocess --nrhs 1 --reps 1 --json preprocess.json
  code 0
  at_most 1e-9 "$(field preprocess.json results 0 setup_ms)"
  at_most 1e-9 "$(field preprocess.json results 0 update_ms)"
  says "amortised"
  says "harmonic mean of the repeated analysis"
  run sptrsm-bench gen:D2N5:40,30 --host --table memory --nrhs 4 --reps 1
  code 0
  says "workspace"
  check; grep -qE 'serial +f64 +N +4 +[0-9.]+ kB' stdout || fail "no bytes in the table of memory"
  triangles=$(printf 'gen:D2N5:%d,6 ' 3 4 5 6 7 8 9)
  run sptrsm-bench $triangles gen:chain:20 --host --nrhs 1,8 --reps 1 --tune --tune-out bounds.def --json tuned.json
  code 0
  tuned_as=$(field tuned.json machine tuned_as)
  check; [[ $tuned_as =~ ^(avx512|avx2|baseline)$ ]] || fail "tuned as '$tuned_as'"
  says "auto on $tuned_as: "
  exists bounds.def
  says " times the best of its methods in 16 cases of 8 triangles"
  check; grep -qE '^host-chained +block' stdout || fail "no row of the host"
  equals "$(sed -E 's/^AUTO_BOUNDS\("[a-z0-9]+", "host-[a-z]+", (nrhs|chained),.*//' bounds.def | grep -c .)" 0
  rejects 2 "--tune=syncfree-csc is for a GPU" sptrsm-bench gen:chain:9 --host --tune=syncfree-csc
  rejects 2 "--tune=auto needs 8 triangles or more; this is 1" sptrsm-bench gen:chain:9 --tune
  rejects 2 "--tune: 'pq' is not one of auto, syncfree-csc" sptrsm-bench gen:chain:9 --tune=pq
  while read -r option value text; do
    rejects 2 "$text" sptrsm-bench x.h5 "$option" "$value"
  done <<'END'
--reps     0       --reps: '0' is not
--nrhs     0       --nrhs: '0' is not
--nrhs     1,      --nrhs: '' is not
--methods  ,serial  --methods: '' is not one of auto
--op       N,X     --op: 'X' is not one of N, T, C
--dtype    f16     --dtype: 'f16' is not one of
--dtype    f64,,f32  --dtype: '' is not one of
--table    all     --table: 'all' is not one of
--limit-s  0       --limit-s: 0 is not above 0
--budget-s nan     --budget-s: 'nan' is not a number
--params   x       --params: 'x' is not METHOD:VARIANT
--params   x:      --params: 'x:' is not METHOD:VARIANT
--params   :x      --params: ':x' is not METHOD:VARIANT
--params   x:a++b  --params: 'x:a++b' is not METHOD:VARIANT
--methods  a/rows  --methods: 'a/rows': after / goes rhs, column or p=P,q=Q
--methods  a/p=x   --methods: 'a/p=x': after / goes
--methods  a/p=1,q=2x  --methods: 'a/p=1,q=2x': after / goes
--methods  a/p=1,q= --methods: 'a/p=1,q=': after / goes
--tune-out x.def   --tune-out goes with --tune
--csv      -       --csv needs a file
END
  run sptrsm-bench gen:chain:50 --host --nrhs 1,2,1 --reps 2 --methods serial -v --json twice.json
  equals "$(statuses twice.json)" "2 ok" # a number of right-hand sides given twice is measured once
  says "  serial (asked for)"
  run sptrsm-bench --table limits --host --csv limits.csv
  equals "$(wc -c <limits.csv)" 0
  rejects 2 "leave --methods" sptrsm-bench x.h5 --tune --methods serial
}

# golden_rows: compares the rows of generated triangles, with single blanks, with standard input
golden_rows() { grep '^gen:' stdout | sed -E 's/ +/ /g' >got; golden got; }

# Measurements that take minutes, and are ended while they run.
long=(gen:dense:3000 --host --nrhs 512 --methods serial,levelset --reps 1000)

test_bench_watch() {
  run sptrsm-bench gen:dense:1500 gen:chain:9 --host --nrhs 64 --reps 50 --limit-s 0.000001 --methods serial,levelset --json out.json
  code 1
  says "timeout"
  equals "$(field out.json results 0 status)" timeout
  equals "$(field out.json results 0 solve_ms)" null
  equals "$(field out.json results 1 status)" timeout
  run sptrsm-bench gen:dense:1500 gen:chain:9 --host --nrhs 64 --reps 50 --limit-s 0.000001 --methods serial,levelset --json out.json
  equals "$(rows gen:chain:9)" 2 # the run went on, behind two workers that were killed
  run sptrsm-bench gen:chain:9 gen:chain:10 --host --nrhs 1 --budget-s 0.000001 --methods serial --json out.json
  code 0
  equals "$(statuses out.json)" "2 skipped: budget"
  run sptrsm-bench "${long[@]}" --budget-s 1 --json out.json
  code 0
  equals "$(statuses out.json)" "2 skipped: budget"
  at_most "$(field out.json machine seconds)" 60
  for signal in INT TERM; do
    start_bench
    kill -$signal $pid
    ended
    last="SIG$signal while measuring"
    code $([ $signal = INT ] && echo 130 || echo 143)
    warns "sptrsm-bench: interrupted"
    missing new.json
    no_worker
  done
  start_bench
  kill -KILL $pid
  ended
  no_worker
  for limit in 4 40 400; do # a slow machine may give the measurement up before the signal comes
    start_bench --limit-s $limit
    kill -SEGV $worker || true
    ended
    ! grep -q crashed stdout || break
  done
  last="a crash, and a measurement that takes too long"
  code 8
  says "crashed: Segmentation fault"
  says "timeout"
  equals "$(statuses new.json)" "1 crashed: Segmentation fault;1 timeout"
  # A worker that dies while it reads: the triangle is given up, the next one is measured.
  large=(gen:dense:9000 gen:chain:9 --host --nrhs 1 --methods serial --reps 1)
  for _ in $(seq 20); do # a busy machine may be done with reading before the signal comes
    background sptrsm-bench "${large[@]}"
    until_said "triangle 1 of 2" stderr
    worker=$(child_of $pid) || continue
    kill -KILL $worker
    ended
    grep -q "reading crashed" stderr && break
  done
  last="a crash while reading"
  code 8
  warns "gen:dense:9000: reading crashed: Killed"
  check; grep -qE '^gen:chain:9 +serial .*[0-9]$' stdout || fail "the run does not go on"
}

# start_bench [OPTION...]: a bench in the background that has begun a long measurement; $pid and its $worker
start_bench() {
  background sptrsm-bench "${long[@]}" --json new.json "$@"
  until_said "levels, longest row" stdout # from here on it has handlers for signals
  status_of "^sptrsm-bench: measuring gen:dense:3000, serial, 512 right-hand sides$"
  worker=$(child_of $pid) || fail "no worker"
}

# child_of PID: its first child process, from /proc, because procps may be missing; without starting programs, which would take longer than
# what the test waits for
child_of() {
  local file line fields
  for file in /proc/[0-9]*/stat; do
    { read -r line <"$file"; } 2>/dev/null || continue
    read -r -a fields <<<"${line##*) }" # behind the name in brackets: state, parent
    [ "${fields[1]}" = "$1" ] && echo "${line%% *}" && return
  done
  return 1
}

# no_worker: checks that the worker ends with its parent, however that ends
no_worker() {
  local k
  check
  for ((k = 0; k < 6000; k++)); do
    kill -0 "$worker" 2>/dev/null || return
    sleep 0.01
  done
  fail "the worker did not end with its parent"
}

# The figures, where Python has matplotlib; the message about a missing matplotlib is tested in any case.
test_bench_plots() {
  local python=${PYTHON:-python3} plots=$here/../../scripts/plots.py
  command -v "$python" >/dev/null || { echo "skipped: no $python"; exit 77; }
  run sptrsm-bench gen:D2N5:20,20 gen:chain:60 --host --nrhs 1,4 --op N,T --reps 1 --methods serial,levelset,serial:magic=1 --json out.json
  mkdir fake && echo 'raise ImportError("none")' >fake/matplotlib.py
  last="plots.py without matplotlib"
  PYTHONPATH=fake "$python" "$plots" out.json >stdout 2>stderr
  rc=$?
  code 2
  warns "matplotlib is missing; install it with"
  rejects 2 "--only: pie is not one of speedup" "$python" "$plots" out.json --only pie
  rejects 3 "none.json: not a report of sptrsm-bench" "$python" "$plots" none.json
  echo '{"results": []}' >empty.json
  rejects 3 "no measurement with status ok" "$python" "$plots" empty.json
  "$python" -c "import matplotlib" 2>/dev/null || { echo "skipped: no matplotlib"; [ $failures = 0 ] && exit 77; return; }
  rejects 5 "plots.py: can't write" "$python" "$plots" out.json --out out.json
  echo '{"results": [{"status": "ok", "solve_ms": 1}]}' >other.json
  rejects 3 "not a report of sptrsm-bench: no 'method'" "$python" "$plots" other.json
  run "$python" "$plots" out.json --out figures --format svg
  code 0
  equals "$(wc -l <stdout)" 12 # for N and T: two of speedup, and one of each other kind
  for figure in speedup_f64_N_1 speedup_f64_T_4 nrhs_f64_N roofline_f64_T preprocess_f64_N memory_f64_T; do
    exists figures/$figure.svg
    check; grep -q "</svg>" figures/$figure.svg || fail "$figure is not whole"
  done
  check; grep -q "magic" figures/*.svg && fail "a failed method is drawn"
  run "$python" "$plots" "$here"/../../docs/charts/data/*.json --out charts --format svg
  code 0
  equals "$(ls charts | wc -l)" "$(ls "$here"/../../docs/charts/data/*.json | wc -l)"
}
