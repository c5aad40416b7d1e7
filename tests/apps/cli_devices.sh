# cli_devices.sh -- several devices that share the columns, and plans that are kept in files. Sections for cli_test.sh.
# shellcheck shell=bash

# columns_of_speed REPORT: the number of columns that the speed was reckoned with
columns_of_speed() {
  awk -v gflops="$(field "$1" gflops)" -v seconds="$(field "$1" seconds solve)" -v flops="$(field "$1" flops_per_rhs)" \
    'BEGIN { printf "%.0f", gflops * 1e9 * seconds / flops }'
}

# X has the bits of one device, whatever shares the work: both orders, all types, panels that do and do not divide the columns, refinement.
test_devices() {
  local order dtype width devices
  while read -r order dtype width devices; do
    system D2N5 20 30 --nrhs 50 --order "$order" --dtype "$dtype"
    run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --force --verify --json whole
    code 0
    run sptrsm-solve --device "$devices" s.h5 s_rhs.h5 -o parts.h5 --force --verify --json parts --stream="$width"
    code 0
    says "         1: host, "
    same_block whole.h5:/X parts.h5:/X
    same_block whole.h5:/berr parts.h5:/berr
    for key in max_berr max_normwise worst_column g1 g2; do equals "$(field parts residual $key)" "$(field whole residual $key)"; done
    equals "$(($(field parts devices 0 panels) + $(field parts devices 1 panels)))" "$(field parts stream panels)"
    no_parts
  done <<'END'
C f64 7 host,host
F c64 25 cpu,host
F f32 1000 host,host
C c128 3 host,cpu
END
  equals "$(field whole devices)" null
  # Without --stream the columns are shared as well; a factor set, with refinement by all devices, and in mixed precision.
  run sptrsm-solve -q "$data/add32_splu.h5" "$data/add32_rhs.h5" -o whole.h5 --force --device cpu --refine 2
  code 0
  run sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o parts.h5 --force --device host,host,host --refine 2 --json parts --stream=1
  code 0
  same_block whole.h5:/X parts.h5:/X
  equals "$(field parts devices 2 name)" "host, 1 thread"
  run sptrsm-solve -q "$data/add32_splu.h5" "$data/add32_rhs.h5" -o whole.h5 --force --device cpu --precision mixed --threads 3
  code 0
  run sptrsm-solve -q "$data/add32_splu.h5" "$data/add32_rhs.h5" -o parts.h5 --force --device host,host --precision mixed --threads 3 --json parts
  code 0
  same_block whole.h5:/X parts.h5:/X
  equals "$(field parts devices 1 name)" "host, 3 threads"
  equals "$(field parts stream buffers)" 7
  # In C order, too, each device gets some panels, of the columns of a part as well.
  sptrsm-gen -q banded 600 2 --nrhs 1000 --order C -o wide.h5
  run sptrsm-solve -q wide.h5 wide_rhs.h5 -o shared.h5 --device host,host --json parts
  code 0
  check; [ "$(field parts stream panels)" -ge 4 ] || fail "$(field parts stream panels) panels of 1,000 columns for two devices"
  run sptrsm-solve -q wide.h5 wide_rhs.h5 --into y.h5 --part 1/4 --device cpu --json parts
  code 0
  equals "$(field parts stream columns)" 250
  equals "$(columns_of_speed parts)" 250
  rm y.h5.part y.h5.part.journal
  run sptrsm-solve -q wide.h5 wide_rhs.h5 -o devices.h5 --device host,host --json parts --stream=10
  code 0
  equals "$(columns_of_speed parts)" 1000
  # A dry run names the devices and solves nothing. A partial solution of several devices of one kind goes on with one.
  run sptrsm-solve s.h5 s_rhs.h5 -o dry.h5 --device host,host --dry-run
  code 0
  says "0: host, "
  check; [ ! -e dry.h5 ] || fail "a dry run wrote"
  run sptrsm-solve -q s.h5 s_rhs.h5 -o again.h5 --device host,host --keep-partial --stream=3
  code 0
  run sptrsm-solve s.h5 s_rhs.h5 -o again.h5 --device cpu --resume --stream=3
  code 0
  warns "is complete already"
  # No columns, no rows.
  run "$helper" empty none.h5 600
  run sptrsm-solve -q s.h5 none.h5 -o x.h5 --device host,host --dtype c128
  code 0
  # What is refused.
  rejects 2 "--device-memory is for CUDA devices, and this solve is on the host" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device host,host --device-memory 8G
  rejects 2 "--device-memory: '0' is not a size" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device-memory 0
  rejects 2 "--device-memory is not for Schur complements" sptrsm-solve s.h5 --schur no.h5 --device-memory 8G
  for wrong in "host," ",host" "auto,host" "host,1" "cuda:x,host" "host,gpu"; do
    rejects 2 "--device" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device "$wrong"
  done
  rejects 2 "several devices are not for sparse right-hand sides and --rows" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device host,host --rows 0:3
  rejects 2 "or one device" sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o no.h5 --device host,host --ferr
  rejects 7 "--device cuda:999,host" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cuda:999,host
  no_parts
}

# A plan of one run serves the next: the same bits, another B, other numbers of columns and threads; what it does not belong to is refused.
test_plan() {
  system D2N5 20 30 --nrhs 50
  for method in serial levelset block auto; do
    run sptrsm-solve -q s.h5 s_rhs.h5 -o whole.h5 --force --device cpu --method $method --save-plan p.plan
    code 0
    run sptrsm-solve -q s.h5 s_rhs.h5 -o again.h5 --force --device cpu --method $method --plan p.plan
    code 0
    same_block whole.h5:/X again.h5:/X
  done
  for args in "--sys A" "--sys At" "--sys L" "--sys A --precision mixed"; do
    # shellcheck disable=SC2086
    run sptrsm-solve -q "$data/add32_splu.h5" "$data/add32_rhs.h5" -o whole.h5 --force --device cpu $args --save-plan f.plan
    code 0
    # shellcheck disable=SC2086
    run sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o again.h5 --force --device host,host $args --plan f.plan
    code 0
    same_block whole.h5:/X again.h5:/X
  done
  cp f.plan kept
  rejects 5 "f.plan: exists" sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o no.h5 --device cpu --save-plan f.plan
  same f.plan kept
  rejects 3 "--plan: p.plan: plan: is not the plans of a factor set" sptrsm-solve "$data/add32_splu.h5" "$data/add32_rhs.h5" -o no.h5 --device cpu --plan p.plan
  rejects 3 "f.plan: plan: is of a factor set of order" sptrsm-solve "$data/circuit_2_splu.h5" "$data/circuit_2_rhs.h5" -o no.h5 --device cpu --precision mixed --plan f.plan
  sptrsm-gen -q banded 600 2 --nrhs 50 -o o.h5
  rejects 3 "p.plan: plan: the matrix has another pattern" sptrsm-solve o.h5 o_rhs.h5 -o no.h5 --device cpu --plan p.plan
  rejects 3 "p.plan: plan: is of method" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --method serial --plan p.plan
  rejects 5 "missing.plan" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --plan missing.plan
  mkfifo pipe
  rejects 5 "--plan: pipe: is not a regular file" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --plan pipe
  rejects 2 "--save-plan: no.h5.part belongs to the output" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --save-plan no.h5.part
  missing no.h5.part
  : >empty.plan
  rejects 3 "is empty" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --plan empty.plan
  rejects 3 "s_rhs.h5: plan: these " sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --plan s_rhs.h5
  head -c -1 p.plan >cut.plan
  rejects 3 "cut.plan: plan: has " sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --plan cut.plan
  rejects 2 "tile-levelset can't be exported" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --method tile-levelset --save-plan no.plan
  rejects 2 "--save-plan: x.h5 is another output" sptrsm-solve s.h5 s_rhs.h5 -o x.h5 --device cpu --save-plan x.h5
  rejects 2 "--plan is not for sparse right-hand sides and --rows" sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --rows 0:3 --plan p.plan
  run sptrsm-solve s.h5 s_rhs.h5 -o no.h5 --device cpu --save-plan dry.plan --dry-run
  code 0
  check; [ ! -e dry.plan ] && [ ! -e no.h5 ] && [ ! -e no.plan ] || fail "a run that failed or was dry wrote something"
  no_leftovers
}
