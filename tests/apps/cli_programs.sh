# cli_programs.sh -- help, wrong usage, and the programs beside sptrsm-solve. Sections for cli_test.sh.
# shellcheck shell=bash

test_help() {
  for name in solve info gen verify bench $(built factor); do
    run sptrsm-$name --help
    code 0
    check; [ "$(wc -l <stdout)" -le 24 ] || fail "--help is longer than a screen"
    check; [ "$(awk '{ if (length > most) most = length } END { print most }' stdout)" -le 80 ] || fail "--help is wider than 80 columns"
    check; head -1 stdout | grep -q "^sptrsm-" || fail "--help does not begin with an example"
    says "usage: sptrsm-$name"
    run sptrsm-$name --version
    code 0
    check; grep -qE "^sptrsm-$name [0-9]+\.[0-9]+\.[0-9]+$" stdout || fail "wrong --version"
  done
}

test_usage() {
  rejects 2 "--grid and --stencil go together" sptrsm-solve a.h5 b.h5 --grid 4,4,4
  rejects 2 "--grid and --stencil go together" sptrsm-bench gen:chain:9 --stencil D3N7
  rejects 2 "'4,4,4,4' has more than three sizes" sptrsm-solve a.h5 b.h5 --grid 4,4,4,4 --stencil D3N7
  rejects 2 "'4' is no X,Y,Z" sptrsm-solve a.h5 b.h5 --grid 4 --stencil D3N7
  rejects 2 "'D3N8' is not one of D2N5" sptrsm-solve a.h5 b.h5 --grid 4,4 --stencil D3N8
  for name in solve info gen verify bench $(built factor); do
    rejects 2 "Try 'sptrsm-$name --help'." sptrsm-$name
    rejects 2 "unknown or ambiguous option '--nonsense'" sptrsm-$name --nonsense
    check; [ "$(wc -l <stderr)" = 2 ] || fail "wrong usage takes one line and a hint"
    rejects 2 "option '--quiet' takes no value" sptrsm-$name --quiet=1
  done
  rejects 2 "unknown or ambiguous option '--methd'; did you mean --method?" sptrsm-solve a.h5 b.h5 --methd serial
  for name in solve info gen verify bench $(built factor); do
    rejects 2 "unknown or ambiguous option '--verison'; did you mean --version?" sptrsm-$name --verison
  done
  rejects 2 "unknown option '-o', or its value is missing" sptrsm-gen chain 3 -o
  rejects 2 "unknown option '-x', or its value is missing" sptrsm-bench -H -x a.h5
  rejects 2 "unknown option '-methd', or its value is missing; did you mean --method?" sptrsm-solve a.h5 b.h5 -methd serial
  rejects 2 "; did you mean D3N7?" sptrsm-solve a.h5 b.h5 --grid 4,4 --stencil D3N8
  rejects 2 "option '--device' needs a value" sptrsm-solve a.h5 b.h5 --device
  rejects 2 "give FACTORS and RHS" sptrsm-solve a.h5
  rejects 2 "one argument too many: 'c.h5'" sptrsm-solve a.h5 b.h5 c.h5
  while read -r option value text; do
    rejects 2 "$text" sptrsm-solve a.h5 b.h5 "$option" "$value"
  done <<'END'
--device  gpu      --device: 'gpu' is not one of auto, cpu, cuda
--method  magic    --method: 'magic' is not one of auto, serial
--method  serail   ; see sptrsm-info --methods; did you mean serial?
--method  auto:p=1 auto has no parameters
--device  cdua:1   ; did you mean cuda?
--trans   X        --trans: 'X' is not one of N, T, C
--trans   t        ; did you mean T?
--sys     Z        unknown system "Z"
--sys     pt_l     in front; did you mean Pt_L?
--uplo    left     --uplo: 'left' is not one of lower, upper
--dtype   f16      --dtype: 'f16' is not one of f32, f64, c64, c128
--alpha   1,x      --alpha: '1,x' is not a number
--cols    4:2      --cols: '4:2' is not a range
--cols    -1:2     --cols: '-1:2' is not a range
--cols    :        --cols: ':' is not a range
--threads 0        --threads: '0' is not a whole number from 1
--panel   many     --panel: 'many' is not a whole number
--p       0        --p: '0' is not a whole number from 1
--q       0        --q: '0' is not a whole number from 1
--compress 10      --compress: '10' is not a whole number from 0 to 9
--memory-limit 3X  --memory-limit: '3X' is not a size
--max-berr nan     --max-berr: 'nan' is not a number
--max-berr -1      --max-berr: -1 is negative
END
  run sptrsm-info --methods
  if ! grep -q "^cusparse" stdout; then
    rejects 2 "--method: 'cusparse' is not one of auto, serial" sptrsm-solve a.h5 b.h5 --method cusparse
    warns "this build has no CUDA, so no methods for a GPU"
  fi
  rejects 2 "unknown kind 'cube'" sptrsm-gen cube 3 -o x.h5
  rejects 2 "; did you mean powerlaw?" sptrsm-gen powrlaw 3 -o x.h5
  rejects 2 "give D3N7 X Y Z" sptrsm-gen D3N7 3 3 -o x.h5
  rejects 2 "one argument too many: '4'" sptrsm-gen chain 3 4 -o x.h5
  rejects 2 "the order is above" sptrsm-gen D3N7 2000 2000 2000 -o x.h5
  rejects 2 "give the output: -o FILE" sptrsm-gen chain 3
  rejects 2 "--density is for random" sptrsm-gen chain 3 -o x.h5 --density 0.5
  missing x.h5
  # Colour is for terminals, and not with NO_COLOR.
  rejects 5 "sptrsm-solve: error: a.h5" sptrsm-solve a.h5 b.h5
  if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    last="an error on a terminal"
    script -qec "sptrsm-solve a.h5 b.h5" /dev/null </dev/null >stdout 2>stderr
    check; grep -q "$(printf '\033')" stdout || fail "no colour"
    NO_COLOR=1 script -qec "sptrsm-solve a.h5 b.h5" /dev/null </dev/null >stdout 2>stderr
    check; grep -q "$(printf '\033')" stdout && fail "colour in spite of NO_COLOR"
    says "error: a.h5"
  else
    echo "skipped: colour on a terminal (no script, or no pseudo-terminals)"
  fi
}

# The completions of a program name the options of its manual page, and offer only values that it takes.
test_completion() {
  local name program option words word reply
  for name in solve info gen verify bench $(built factor); do
    program=sptrsm-$name
    for shell in bash zsh fish; do
      run $program --completion $shell
      code 0
      cp stdout $shell
      check; cmp -s $shell "$bin/../completions/$shell-$program" || fail "the build has another completion of $program for $shell"
      check; ! command -v $shell >/dev/null || $shell -n $shell || fail "$shell does not read it"
    done
    sed -n '/^\.Sh OPTIONS/,/^\.Sh [^O]/p' "$here/../../docs/man/$program.1" |
      grep -E '^\.(It )?Fl ' | grep -oE 'Fl -[a-z-]+' | sed 's/Fl -//' | sort -u >documented
    sed -nE 's/.* -l ([a-z-]+).*/\1/p' fish | sort -u >offered
    check; [ "$(wc -l <offered)" -gt 5 ] && diff documented offered >difference || { fail "options of the manual page (<) and completions (>)"; cat difference; }
    while read -r option; do
      for shell in bash zsh; do check; grep -qE -- "[^a-z-]--$option[^a-z-]" $shell || fail "$shell lacks --$option of $program"; done
    done <offered
    while read -r option words; do
      for word in $words; do
        [ $option = completion ] || run $program --$option="$word"
        check; grep -qE "is not one of|unknown" stderr && fail "$program does not take --$option=$word"
      done
    done < <(sed -nE "s/.* -l ([a-z-]+) .*-a '([^']*)'.*/\1 \2/p" fish)
  done
  run sptrsm-info --completion csh
  rejects 2 "--completion: 'csh' is not one of bash, zsh, fish" sptrsm-info --completion csh
  # What bash offers: a line for each word that is typed, and the replies.
  sptrsm-bench --completion bash >bench.bash
  while IFS='|' read -r typed reply; do
    last="completion of: $typed"
    equals "$(bash -c '. ./bench.bash; read -ra COMP_WORDS <<<"$1"; [[ $1 != *" " ]] || COMP_WORDS+=("")
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sptrsm_bench_complete; echo "${COMPREPLY[*]}"' - "$typed")" "$reply"
  done <<'END'
sptrsm-bench --dt|--dtype
sptrsm-bench --tune|--tune --tune-out
sptrsm-bench --dtype |f64 f32 c64 c128
sptrsm-bench --dtype c|c64 c128
sptrsm-bench --dtype = c|c64 c128
sptrsm-bench --dtype =|f64 f32 c64 c128
sptrsm-bench -m ser|serial
sptrsm-bench --tune = s|syncfree-csc
sptrsm-bench --tune s|
sptrsm-bench --json |
sptrsm-bench fi|
END
  if command -v fish >/dev/null; then
    sptrsm-bench --completion fish >bench.fish
    equals "$(fish --no-config -c 'source bench.fish; complete -C "sptrsm-bench --table l"' | cut -f 1 | sort | paste -sd' ')" "levels limits"
  fi
}

test_info() {
  sptrsm-gen -q D2N5 4 3 -o grid.h5 --nrhs 2
  run sptrsm-info grid.h5 grid_rhs.h5
  code 0
  golden stdout <<'END'
grid.h5: one triangle, n 12, f64
  read as one lower triangle /L (Binsparse CSR)
  source: sptrsm-gen D2N5 4 3, seed 1
  T: lower, CSR, 29 entries, 452 B
     6 level sets, rows in a level: least 1, average 2.0, most 3
     entries of a row: least 1, average 2.4, most 3
     stencil D2N5 on a grid of 4 x 3 x 1, the file says, and the pattern shows
  a panel of 64 right-hand sides takes 6.14 kB
  /L           matrix   12 x 12, 29 entries, f64 (Binsparse CSR)
grid_rhs.h5:
  /B           block    12 x 2, f64 (2-D dataset)
  /X_true      block    12 x 2, f64 (2-D dataset)
END
  LC_ALL=C sed $'s/gen D2N5 4 3/gen \x1b[2J\\\n\xc2\x9b3/' grid.h5 >$'a\nb.h5' # texts of a file, and its name, don't steer the terminal or begin a line
  for program in sptrsm-info "sptrsm-solve --method serial --dry-run -o x.h5"; do
    $program $'a\nb.h5' grid_rhs.h5 >stdout
    says 'a\x0ab.h5: '
    says 'source: sptrsm-gen \x1b[2J\x0a\xc2\x9b3, seed 1'
    check; grep -q $'\x1b\|\xc2\x9b' stdout && fail "$program: the escape sequence is printed"
  done
  for path in :/L ://L :/./L/.; do # one name of the same matrix
    run sptrsm-solve grid.h5 grid.h5$path -o y.h5 --method serial --force
    code 0
  done
  run sptrsm-solve grid.h5 grid_rhs.h5 -o grid_x.h5 --method serial --grid 9,9 --stencil D2N9
  code 0
  warns "--grid and --stencil are for --method structgrid"
  run sptrsm-info --tiles grid.h5
  code 0
  says "0 tiles off the diagonal, 1 tile rows in 1 level set: tile-level parallelism 1.0"
  says "diagonal CSR                  1 tiles           17 entries"
  run sptrsm-info --tiles --json "$data/add32_splu.h5"
  code 0
  equals "$(field stdout files 0 factors triangles 0 tiles tile_rows)" 317
  equals "$(field stdout files 0 factors triangles 0 tiles formats 7 name)" "diagonal DIA"
  equals "$(field stdout files 0 factors triangles 0 tiles formats 7 tiles)" 314
  run sptrsm-info "$here/../data/bad_storage.h5:/bomb" # larger than any memory: none of it is read
  code 0
  says "2147483647 rows, 1048576 columns, f64"
  sed 's/"CSR"/"XYZ"/' grid.h5 >odd.h5 # what is wrong with its only matrix
  run sptrsm-info odd.h5
  code 3
  warns 'odd.h5:/L: Binsparse format "XYZ" is not read'
  market nan.mtx general "3 3 4" "1 1 1" "2 1 nan" "2 2 1" "3 3 2" # a triangle, but for its value
  run sptrsm-info nan.mtx
  code 3
  warns "nan.mtx: entry (1,0) is nan; repair what wrote it"
  market nan_rhs.mtx general "3 2 1" "2 1 nan"
  run sptrsm-info nan_rhs.mtx
  code 0
  says "nan_rhs.mtx: general matrix, 3 x 2"
  run sptrsm-info none.h5 grid.h5:/L
  code 5
  warns "sptrsm-info: error: none.h5: No such file"
  says "grid.h5:/L: one triangle, n 12"
  run sptrsm-info --json "$data/add32_splu.h5" none.h5 --methods
  code 5
  equals "$(field stdout files 0 factors perm_row)" scatter
  equals "$(field stdout files 0 factors perm_col)" gather
  equals "$(field stdout files 0 factors n)" 4960
  equals "$(field stdout files 0 factors triangles 0 nnz)" 14430
  equals "$(field stdout files 0 factors triangles 1 uplo)" upper
  equals "$(field stdout files 1 exit_code)" 5
  equals "$(field stdout methods 0 name)" serial
  equals "$(field stdout methods 0 reference)" true
  equals "$(field stdout methods 1 name)" levelset
  equals "$(field stdout methods 1 reference)" false
  run sptrsm-info "$data/add32_splu.h5:/A"
  code 0
  says "general matrix"
  run sptrsm-info --methods
  code 0
  equals "$(awk '/^method /, /^$/ { print $1 }' stdout | head -3 | paste -sd,)" method,levelset,block
  equals "$(awk '/^kept to compare with, never chosen by auto:$/ { found = 1; next } found && $2 == "host" { print $1 }' stdout | paste -sd,)" \
    serial,tile-levelset,tile-syncfree
  run sptrsm-info "$data/add32_splu.h5" --uplo lower
  code 2
  warns "--uplo is for single triangles"
  market small.mtx general "1 1 1" "1 1 2"
  run sptrsm-info small.mtx
  code 0
  says "(the file)   matrix   1 x 1"
  market missing.mtx general "4 4 3" "1 1 2" "2 2 2" "4 4 2"
  run sptrsm-info missing.mtx
  code 4
  warns "row 2 has no diagonal entry"
  run sptrsm-info --list missing.mtx odd.h5 none.h5 # arrays are not read, so what is wrong with them is not seen
  code 5
  says "(the file)   matrix   4 x 4, 3 entries"
  says "odd.h5:"
  warns "none.h5: No such file"
  run sptrsm-info --list --json "$data/add32_splu.h5"
  code 0
  equals "$(field stdout files 0 factors)" null
  equals "$(field stdout files 0 contents 1 nnz)" 14430
  rejects 2 "--list reads no arrays, which --tiles, --spy and --levels-plot need" sptrsm-info --list --spy grid.h5
}

# plot_of OPTION...: sptrsm-info of a small triangle, its text lines from the first picture on
plot_of() { run sptrsm-info small.h5 "$@"; code 0; sed -n '/rows of each level\|[+┌]/,/panel of 64/p' stdout | sed '$d' >plot; }

test_info_plots() {
  export COLUMNS=60
  sptrsm-gen -q arrow 5 -o small.h5 --nrhs 1
  plot_of --spy --levels-plot
  golden plot <<'END'
     +----------+
     |##        |
     |####      |
     |##  ##    |
     |##    ##  |
     |##########|
     +----------+
     .: up to 0.3 % of the positions hold entries, +: up to 3 %, x: up to 30 %, #: more
     rows of each level, on a scale of logarithms up to 3
     +---------------------------------------------------+
     |                 #################                 |
     |                 #################                 |
     |                 #################                 |
     |                 #################                 |
     |###################################################|
     |###################################################|
     |###################################################|
     |###################################################|
     +---------------------------------------------------+
      level 0                                           2
           rows of a level     levels       rows
                         1          2          2  ##########
                       2-3          1          3  #####
END
  LC_ALL=C.UTF-8 plot_of --spy
  golden plot <<'END'
     ┌──────────┐
     │██        │
     │████      │
     │██  ██    │
     │██    ██  │
     │██████████│
     └──────────┘
     ░: up to 0.3 % of the positions hold entries, ▒: up to 3 %, ▓: up to 30 %, █: more
END
  run sptrsm-info "$data/add32_splu.h5" --spy --levels-plot # no text line is wider than the terminal, but for the legend
  code 0
  check; [ "$(grep -c '^     [|+]' stdout)" -gt 60 ] || fail "no pictures"
  check; [ "$(grep '^     [|+]' stdout | wc -L)" = 60 ] || fail "the pictures are $(grep '^     [|+]' stdout | wc -L) columns wide"
  run sptrsm-info "$data/add32_splu.h5:/A" --spy # a matrix that is no triangle
  code 0
  check; [ "$(grep -c '^     |' stdout)" -gt 20 ] || fail "no picture of A"
  run sptrsm-info small_rhs.h5 --spy --levels-plot # nothing to draw, and none of it asked for as a file
  code 0
  run sptrsm-info --json --levels-plot small.h5
  code 0
  equals "$(field stdout files 0 factors triangles 0 levels histogram 1 least_rows)" 2
  equals "$(field stdout files 0 factors triangles 0 levels histogram 1 levels)" 1
  equals "$(field stdout files 0 factors triangles 0 levels histogram 1 rows)" 3
  run sptrsm-info --json small.h5
  equals "$(field stdout files 0 factors triangles 0 levels histogram)" null

  run sptrsm-info "$data/add32_splu.h5" --spy=spy.svg --levels-plot=levels.svg
  code 0
  check; grep -q '<text .*>U: n 4960, 14430 entries</text>' spy.svg || fail "spy.svg has no title of U"
  check; [ "$(tail -n 1 levels.svg)" = "</svg>" ] || fail "levels.svg does not end"
  check; grep -qE '^ +[|+]' stdout && fail "a picture in the terminal as well"
  rejects 5 "spy.svg: exists; replace it with --force" sptrsm-info small.h5 --spy=spy.svg
  run sptrsm-info small.h5 --spy=spy.svg --force
  code 0
  check; grep -q '<text .*>T: n 5, 12 entries</text>' spy.svg || fail "spy.svg was not replaced"
  rejects 2 "'spy.jpg' ends neither in .svg nor in .png" sptrsm-info small.h5 --spy=spy.jpg
  rejects 2 "is a picture of one FILE, not of 2" sptrsm-info small.h5 small_rhs.h5 --levels-plot=l.svg
  rejects 2 "a.svg is the picture of --spy too" sptrsm-info small.h5 --spy=a.svg --levels-plot=./a.svg
  rejects 2 "--spy: the report of --json is on stdout" sptrsm-info --json --spy small.h5
  rejects 5 "there is no folder none" sptrsm-info small.h5 --spy=none/a.svg
  run sptrsm-info small_rhs.h5 --spy=a.svg
  code 3
  warns "small_rhs.h5: holds no single matrix to draw"
  run sptrsm-info "$data/add32_splu.h5:/A" --levels-plot=a.svg
  code 3
  warns "holds no triangle to draw"
  missing a.svg
  no_leftovers
  run sptrsm-info "$data/add32_splu.h5" --spy=spy.png
  if grep -q 'libpng was missing' stderr; then code 2; missing spy.png; return; fi
  code 0
  equals "$(head -c 8 spy.png | od -An -tx1 | tr -d ' \n')" 89504e470d0a1a0a
  equals "$(od -An -tu1 -j16 -N8 spy.png | tr -s ' ')" " 0 0 4 72 0 0 2 88" # 1096 x 600, and its end is there
  equals "$(tail -c 8 spy.png | od -An -tx1 | tr -d ' \n')" 49454e44ae426082
}

test_gen() {
  sptrsm-gen -q powerlaw 200 -o a.h5 --nrhs 3 --seed 7
  sptrsm-gen -q powerlaw 200 -o b.h5 --nrhs 3 --seed 7
  sptrsm-gen -q powerlaw 200 -o c.h5 --nrhs 3 --seed 8
  OMP_NUM_THREADS=1 sptrsm-gen -q powerlaw 200 -o d.h5 --nrhs 3 --seed 7
  sptrsm-solve -q a.h5 b_rhs.h5 -o x.h5
  for other in b d; do
    run sptrsm-verify a.h5 ${other}_rhs.h5 x.h5 --json
    code 0
    equals "$(field stdout max_error)" 0.0
  done
  run sptrsm-verify -q c.h5 a_rhs.h5 x.h5
  code 1
  rejects 5 "a.h5: exists; replace it with --force" sptrsm-gen chain 3 -o a.h5
  rm a.h5
  rejects 5 "a_rhs.h5: exists; replace it with --force" sptrsm-gen chain 3 -o a.h5
  missing a.h5
  # The right-hand sides have another name until the matrix is there. Whatever has that name is not followed.
  echo precious >victim
  run bash -c 'ln -s victim .q_rhs.h5.$$.second && exec sptrsm-gen -q chain 3 -o q.h5'
  code 0
  equals "$(cat victim)" precious
  check; [ -f q_rhs.h5 ] && [ ! -L q_rhs.h5 ] || fail "q_rhs.h5 is a symbolic link"
  run sptrsm-gen chain 3 -o a.h5 --nrhs 0
  code 0
  says "a.h5: lower triangle, n 3, 5 entries, f64, chain"
  for kind in "dense 2000000000" "random 2147483647 --row 1e9" "dense 10000000" "random 2000000000 --density 0.5" "D3N27 1200 1200 1200"; do
    rejects 6 "choose a smaller size, --row, --density or --nrhs" timeout 10 sptrsm-gen $kind -o huge.h5 --nrhs 100
    missing huge.h5
  done
  while IFS='|' read -r kind entries; do # entries of the lower triangle of a 4 x 4 x 4 or 4 x 4 grid, counted by hand from the stencil
    run sptrsm-gen $kind -o n.h5 --nrhs 0 --force
    code 0
    says "$entries entries"
  done <<'END'
D3N7 4 4 4|208
D3N13 4 4 4|304
D3N27 4 4 4|532
D3N33 4 4 4|628
D2N5 4 4|40
D2N9 4 4|58
banded 10 3|34
arrow 10|27
dense 10|55
END
}

test_verify() {
  system random 80 --nrhs 2
  solves
  run sptrsm-verify s.h5 s_rhs.h5 s_rhs.solution.h5
  code 0
  says "s_rhs.solution.h5:/X solves s_rhs.h5:/B with s.h5: yes"
  says "largest error against X_true: 0.00e+00"
  run sptrsm-verify s.h5 s_rhs.h5 s_rhs.h5:/X_true
  code 0
  run sptrsm-verify s.h5 s_rhs.h5 s_rhs.h5:/B
  code 1
  says "NO"
  run sptrsm-verify -q s.h5 s_rhs.h5 s_rhs.h5:/B --max 1e18 --json
  code 1 # the norm1 limit holds always
  equals "$(field stdout within)" false
  run sptrsm-verify -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" "$data/sherman5_rhs.h5:/X_true" --max 0.5
  code 0
  run sptrsm-verify -q "$data/sherman5_splu.h5" "$data/sherman5_rhs.h5" "$data/sherman5_rhs.h5:/X_true" --max 0
  code 1
  rejects 5 "none.h5: No such file" sptrsm-verify s.h5 s_rhs.h5 none.h5
  # The right-hand sides of one matrix, solved with another: the residuals are fine, the solution is not what was meant.
  run sptrsm-gen -q random 80 --seed 2 -o other.h5
  code 0
  run sptrsm-solve -q other.h5 s_rhs.h5 -o y.h5
  code 0
  run sptrsm-verify other.h5 s_rhs.h5 y.h5
  code 1
  says "with other.h5: yes"
  warns "solves this system, but is far from X_true"
  solves --trans T # X_true is not meant for this one
  run sptrsm-verify s.h5 s_rhs.h5 s_rhs.solution.h5 --trans T
  code 0
  check; [ ! -s stderr ] || fail "expected no warning"
}

# Programs go on with the threads that there are. Here a thread would get a stack that is larger than all the memory the process may have.
test_threads() {
  export OPENBLAS_NUM_THREADS=1 # OpenBLAS, where it is the BLAS of SuiteSparse, starts threads as it is loaded, and ends programs if it can't
  limited() { (ulimit -s 4000000 -v 3000000 && exec "$@"); }
  limited sptrsm-solve --version >stdout 2>&1 || { echo "skipped: no such limits here, or a sanitizer"; exit 77; }
  local gen=(sptrsm-gen -q random 3000 --row 6 --nrhs 70 --force) solve=(sptrsm-solve -q a.h5 a_rhs.h5 --force --threads 16 --verify)
  export OMP_NUM_THREADS=16
  run "${gen[@]}" -o a.h5
  code 0
  run "${solve[@]}" -o x.h5
  code 0
  run limited "${gen[@]}" -o b.h5
  code 0
  for method in levelset block serial; do
    run limited "${solve[@]}" -o y.h5 --method $method
    code 0
    silent
  done
  run limited sptrsm-verify -q b.h5 b_rhs.h5 y.h5
  code 0
}
