# cli_split.sh -- solutions in several files (--split-files), and one file of them (--merge). Sections for cli_test.sh.
# shellcheck shell=bash

pieces() { find . -name 'x.h5.piece-*' | sort -V; }
# merge: makes one file of x.h5, and removes the pieces
merge() {
  run sptrsm-solve --merge x.h5 --remove-pieces
  code 0
  says "output   x.h5; the pieces are removed"
  check; [ -z "$(pieces)" ] || fail "pieces are left: $(pieces)"
}
# count_pieces N: x.h5 is in N files
count_pieces() { check; [ "$(pieces | wc -l)" = "$1" ] || fail "$(pieces | wc -l) pieces, expected $1"; }

# One process, and parts: each order and type makes the bits of one file, whatever the number of files, also if the parts change in number.
test_split() {
  while read -r order dtype parts count; do
    system D2N5 20 30 --nrhs 50 --order "$order" --dtype "$dtype"
    run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --force --verify --json whole
    code 0
    rm -f x.h5
    run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --split-files="$count" --verify --json report --stream=3
    code 0
    says "output   x.h5:/X, in $count pieces"
    equals "$(field report stream pieces)" "$count"
    for key in max_berr worst_column; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
    count_pieces "$count"
    no_parts
    # Readers take it where they are told to, and a repeated run knows it.
    rejects 5 "a virtual dataset reads other files; allow it with --allow-external, or make one file of it" sptrsm-verify s.h5 s_rhs.h5 x.h5
    run sptrsm-verify -q s.h5 s_rhs.h5 x.h5 --allow-external
    code 0
    run sptrsm-solve --device cpu -q s.h5 whole.h5:/X -o from_one.h5 --force
    code 0
    run sptrsm-solve --device cpu -q s.h5 x.h5:/X -o from_many.h5 --force --allow-external
    code 0
    same_block from_one.h5:/X from_many.h5:/X
    run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --resume --verify
    code 0
    warns "x.h5: is complete already"
    merge
    same_block whole.h5:/X x.h5:/X
    same_block whole.h5:/berr x.h5:/berr
    run sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --resume --verify --split-files="$count"
    code 0
    warns "x.h5: is complete already"
    # Parts: one of more than there may be files, and one of 3, then those of another number; shares are whole files.
    rm x.h5
    run part 1/1001 --verify --split-files
    code 0
    count_pieces 1
    rm x.h5.p*
    run part "2/3" --verify --split-files
    code 0
    count_pieces 1
    for k in $(seq "$parts" -1 1); do
      run part "$k/$parts" --verify --split-files --json report
      code 0
    done
    count_pieces 3
    for key in max_berr worst_column; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
    merge
    same_block whole.h5:/X x.h5:/X
    no_parts
  done <<'END'
C f32 2 4
F c128 5 7
C c64 3 50
F f64 1 2
END
}

# Pieces that are missing, damaged or foreign; runs that were killed; what is in the way; what a merge keeps.
test_split_bad() {
  system D2N5 20 30 --nrhs 50 --order C
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --verify
  code 0
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --split-files=3 --verify
  code 0
  own=$(pieces | sed -n 2p) own=${own#./}
  cp x.h5 before
  mv "$own" away
  rejects 5 "its source $own:/X is missing or can't be opened; put it beside the file" sptrsm-verify s.h5 s_rhs.h5 x.h5 --allow-external
  rejects 5 "$own: is missing, with columns 17:34 of x.h5; put it back" sptrsm-solve --merge x.h5
  rejects 5 "$own: is missing, with columns 17:34 of x.h5; put it back" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --resume --verify
  cp "$(pieces | head -n 1)" "$own" # another piece of the same run
  rejects 3 "$own: is not the piece of x.h5 with columns 17:34, but of another run or shape" sptrsm-solve --merge x.h5
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o other.h5 --split-files=3 --verify --alpha 2
  code 0
  cp other.h5.piece-*-1 "$own"
  rejects 3 "$own: is not the piece of x.h5 with columns 17:34, but of another run or shape" sptrsm-solve --merge x.h5
  head -c 3000 away >"$own"
  run sptrsm-solve --merge x.h5
  check; [ "$rc" = 3 ] || [ "$rc" = 5 ] || fail "a piece that was cut off gives exit code $rc"
  warns "$own"
  echo text >"$own"
  run sptrsm-solve --merge x.h5
  check; [ "$rc" = 3 ] || [ "$rc" = 5 ] || fail "a piece that is text gives exit code $rc"
  same x.h5 before
  mv away "$own"
  no_leftovers
  # Under another name, and to another file; then in place, with the pieces kept.
  mv x.h5 moved.h5
  run sptrsm-solve --merge moved.h5 -o y.h5
  code 0
  says "merged   moved.h5: 3 pieces, 600 x 50 f64, 240 kB"
  says "output   y.h5; the pieces are still there"
  same moved.h5 before
  same_block whole.h5:/X y.h5:/X
  mv moved.h5 x.h5
  rejects 5 "y.h5: exists" sptrsm-solve --merge x.h5 -o y.h5
  run sptrsm-solve --merge x.h5
  code 0
  count_pieces 3
  same_block whole.h5:/X x.h5:/X
  rejects 3 "is no finished solution in pieces" sptrsm-solve --merge x.h5
  rejects 3 "is no finished solution in pieces" sptrsm-solve --merge s.h5:/L
  rejects 5 "none.h5" sptrsm-solve --merge none.h5
  # A run that was killed: the part keeps its pieces, begins anew with --force, and stays what it is.
  rm -f x.h5* other.h5*
  run part 1/2 --split-files
  code 0
  count_pieces 1
  rejects 5 "x.h5.part: a partial solution is there" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --split-files=4
  mv "$(pieces)" away
  rejects 5 "is missing, with columns 0:25 of x.h5" part 2/2 --split-files
  mv away "$(sed -n 's/^[0-9a-f]* pieces \([0-9a-f]*\) 2 x.h5$/x.h5.piece-\1-0/p' x.h5.part.journal)"
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --split-files=4 --force
  code 0
  count_pieces 4
  rm x.h5*
  run part 1/2
  code 0
  rejects 3 "x.h5.part: was begun as one file; leave --split-files out" part 2/2 --split-files
  run part 2/2
  code 0
  # A disk that is full: nothing is lost.
  rm x.h5*
  system banded 8000 2 --nrhs 40 --order F
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --force
  code 0
  run limited -f 600 sptrsm-solve --device cpu s.h5 s_rhs.h5 -o x.h5 --split-files=2 --stream=2
  code 5
  warns "x.h5.piece-"
  exists x.h5.part
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --resume
  code 0
  cp x.h5 before
  run limited -f 600 sptrsm-solve --merge x.h5
  code 5
  warns "x.h5: "
  same x.h5 before
  no_leftovers
  merge
  same_block whole.h5:/X x.h5:/X
  # Blanks in the name, also in front; an output that is a piece.
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o ' x y.h5' --split-files=3
  code 0
  run sptrsm-solve --merge ' x y.h5' -o "$(find . -name ' x y.h5.piece-*-1')" --force
  code 2
  warns "is a piece of  x y.h5, which is to be merged"
  run sptrsm-solve --merge ' x y.h5' --remove-pieces
  code 0
  same_block whole.h5:/X ' x y.h5:/X'
  # Pieces are as private as the file that they make; those of a partial solution go with it, also where fewer columns are wanted.
  rm -f x.h5*
  touch x.h5
  chmod 600 x.h5
  run part 1/2 --split-files=3 --force
  code 0
  check; [ "$(stat -c %a x.h5.piece-*-0)" = 600 ] || fail "a piece has mode $(stat -c %a x.h5.piece-*-0)"
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o x.h5 --split-files=3 --cols 0:2 --force
  code 0
  count_pieces 2
  # As many pieces as there may be, with a long name.
  long=$(printf 'long%.0s' {1..40})
  system chain 20 --nrhs 1000
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --force --verify
  code 0
  run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o "$long.h5" --verify --split-files=1000
  code 0
  run sptrsm-solve --merge "$long.h5" --remove-pieces
  code 0
  same_block whole.h5:/X "$long.h5:/X"
  same_block whole.h5:/berr "$long.h5:/berr"
  # Wrong command lines.
  rejects 2 "--split-files: '1001'" sptrsm-solve s.h5 s_rhs.h5 -o y.h5 --split-files=1001
  rejects 2 "--split-files: '0'" sptrsm-solve s.h5 s_rhs.h5 -o y.h5 --split-files=0
  rejects 2 "--split-files: compressed" sptrsm-solve s.h5 s_rhs.h5 -o y.h5 --split-files --compress 1
  rejects 2 "are for dense right-hand sides and all rows" sptrsm-solve s.h5 s_rhs.h5 -o z.h5 --split-files --rows 0
  rejects 2 "leave --split-files out" sptrsm-solve s.h5 --schur s_rhs.h5 -o z.h5 --split-files
  rejects 2 "choose a name without it" sptrsm-solve --device cpu s.h5 s_rhs.h5 -o 'a%b.h5' --split-files
  rejects 2 "--remove-pieces: say which solution" sptrsm-solve s.h5 s_rhs.h5 --remove-pieces
  rejects 2 "leave -o out" sptrsm-solve --merge x.h5 --remove-pieces -o z.h5
  rejects 2 "one argument too many" sptrsm-solve s.h5 --merge x.h5
  for other in "--json -" "--cols 0:1" "--part 1/2" "--schur s_rhs.h5" "--threads 2" "--split-files" "--map"; do
    # shellcheck disable=SC2086
    rejects 2 "leave other options out" sptrsm-solve --merge x.h5 $other
  done
  missing z.h5
}

# Ranks: 1 to 4 of them make the bits of one process, more files than columns and fewer files than ranks too.
test_split_ranks() {
  needs_mpi
  while read -r order dtype count; do
    system D2N5 20 30 --nrhs 50 --order "$order" --dtype "$dtype"
    run sptrsm-solve --device cpu -q s.h5 s_rhs.h5 -o whole.h5 --force --verify --json whole
    code 0
    for k in 1 2 3 4; do
      run ranks $k s.h5 s_rhs.h5 -o x.h5 --force --verify --json report --split-files"$count"
      code 0
      for key in max_berr max_normwise worst_column; do equals "$(field report residual $key)" "$(field whole residual $key)"; done
      count_pieces "$([ -n "$count" ] && echo $((${count#=} > 50 ? 50 : ${count#=})) || echo $((4 * k)))"
      merge
      same_block whole.h5:/X x.h5:/X
      same_block whole.h5:/berr x.h5:/berr
      no_parts
    done
  done <<'END'
C f32
F f32 =3
C c128 =60
F c128
END
  system chain 50 --nrhs 3
  run ranks 4 -q s.h5 s_rhs.h5 -o x.h5 --force --split-files
  code 0
  count_pieces 3
  run mpi 3 sptrsm-solve --merge x.h5 --remove-pieces
  code 0
  equals "$(grep -c '^merged' stdout)" 1
  count_pieces 0
}
