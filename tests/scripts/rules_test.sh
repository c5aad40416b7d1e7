#!/usr/bin/env bash
# rules_test.sh PROJECT BUILD -- scripts/check-rules.sh finds what is put in to be found: each breach, in a copy of the sources that is
# clean before, must be reported, and named.
set -euo pipefail
project=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy=$work/project
failed=0

mkdir "$copy"
(cd "$project" && tar -cf - --exclude='./build*' --exclude=./.git .) | tar -xf - -C "$copy"

# expect WORDS: the rules are broken, and the report says WORDS.
expect() {
  local said
  if said=$(PROJECT=$copy "$project"/scripts/check-rules.sh "${@:2}"); then
    echo "not found: $1" && failed=1
  elif [[ $said != *"$1"* ]]; then
    echo "found, but not as \"$1\": $said" && failed=1
  fi
}

PROJECT=$copy "$project"/scripts/check-rules.sh || { echo "the copy is not clean to begin with"; exit 1; }

echo '#include "core/refine/refine.h"' >>"$copy"/src/core/direct/direct.h
expect 'layers (scripts/layers.txt): src/core/direct/direct.h uses src/core/refine/refine.h'
cp "$project"/src/core/direct/direct.h "$copy"/src/core/direct/direct.h

echo '#include "core/matrix/matrix.h"' >>"$copy"/src/core/matrix/view.h # which matrix.h includes
expect 'headers that include each other: src/core/matrix/'
cp "$project"/src/core/matrix/view.h "$copy"/src/core/matrix/view.h

echo '#include "trsm/gather/kernels.h"' >>"$copy"/src/trsv/serial/method.c
expect 'src/trsv/serial/method.c uses src/trsm/gather/kernels.h'
cp "$project"/src/trsv/serial/method.c "$copy"/src/trsv/serial/method.c

for include in '<core/refine/refine.h>' '"../refine/refine.h"' '"refine.h"'; do
  echo "#include $include" >>"$copy"/src/core/direct/direct.h
  expect 'src/core/direct/direct.h'
  cp "$project"/src/core/direct/direct.h "$copy"/src/core/direct/direct.h
done

echo '#include "trsm/gather/kernels.h"' >>"$copy"/src/trsv/syncfree_csr/rules.def
expect 'src/trsv/syncfree_csr/rules.def uses src/trsm/gather/kernels.h'
cp "$project"/src/trsv/syncfree_csr/rules.def "$copy"/src/trsv/syncfree_csr/rules.def

sed -i 's|^src/core/matrix: .*|& src/core/plan|' "$copy"/scripts/layers.txt
expect 'layers that use each other (scripts/layers.txt): '
cp "$project"/scripts/layers.txt "$copy"/scripts/layers.txt

{
  printf 'int wrapped(int a,\n            int b) {\n'
  for ((line = 0; line < 100; line++)); do echo '  a += b;'; done
  printf '  for (;;) {\n    for (;;) {\n      for (;;) {\n        if (a) break;\n      }\n    }\n  }\n  return a;\n}\n'
} >>"$copy"/src/core/base/isa.c
expect 'function of more than 80 lines: src/core/base/isa.c:'
expect 'more than three levels of nesting: src/core/base/isa.c:'
cp "$project"/src/core/base/isa.c "$copy"/src/core/base/isa.c

printf '%0150d\n' 0 >>"$copy"/README.md
expect 'prose: line of more than 140 columns: README.md:'
cp "$project"/README.md "$copy"/README.md

for ((file = 0; file < 26; file++)); do echo "/* extra$file.h -- one too many. */" >"$copy"/src/core/base/extra$file.h; done
expect 'at most 25 files in a folder: src/core/base has '

# Objects: the build's own, where two files use each other and one of them lies in a higher layer.
if [[ -d $build ]]; then
  "$project"/scripts/check-rules.sh --build "$build" || { echo "the build is not clean to begin with"; exit 1; }
  small=$work/build
  mkdir -p "$small"/src/CMakeFiles
  cp -r "$build"/src/CMakeFiles/sptrsm_objects.dir "$small"/src/CMakeFiles/
  cp "$build"/src/libsptrsm*.so "$small"/src/
  grep 'CMakeFiles/sptrsm_objects.dir' "$build"/compile_commands.json >"$small"/compile_commands.json
  objects=$small/src/CMakeFiles/sptrsm_objects.dir
  # put NAME: compiles NAME.c as a file of src/core/base.
  put() {
    ${CC:-cc} -c "$work"/$1.c -o "$objects"/core/base/$1.c.o
    echo "  \"command\": \"cc -o src/CMakeFiles/sptrsm_objects.dir/core/base/$1.c.o -c\"" >>"$small"/compile_commands.json
  }
  printf 'void spti_matrix_retain(void *);\nvoid up(void);\nvoid up(void) { spti_matrix_retain(0); }\n' >"$work"/up.c
  put up
  expect 'layers, by symbols (scripts/layers.txt): src/core/base/up.c uses src/core/matrix/matrix.c' --build "$small"
  printf 'void one(void);\nvoid two(void);\nvoid one(void) { two(); }\n' >"$work"/one.c
  printf 'void one(void);\nvoid two(void);\nvoid two(void) { one(); }\n' >"$work"/two.c
  put one
  put two
  expect 'files that use each other: src/core/base/' --build "$small"
fi
exit $failed
