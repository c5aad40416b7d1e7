#!/usr/bin/env bash
# rules_test.sh PROJECT BUILD -- scripts/check-rules.sh finds what is put in to be found: each breach, in a copy of the sources that is
# clean before, must be reported, and named.
set -euo pipefail
project=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy=$work/project
failed=0

# report OPTION...: what the rules say of the copy, in `said`; they must be broken.
report() {
  if said=$(PROJECT=$copy "$project"/scripts/check-rules.sh "$@"); then echo "nothing was found: $*" && failed=1; fi
}
# expect WORDS: the report says WORDS.
expect() { [[ $said == *"$1"* ]] || { echo "not found: $1" && failed=1; }; }

mkdir "$copy"
(cd "$project" && tar -cf - --exclude='./build*' --exclude=./.git .) | tar -xf - -C "$copy"
PROJECT=$copy "$project"/scripts/check-rules.sh || { echo "the copy is not clean to begin with"; exit 1; }

# All breaches of the sources at once, since each run reads all of them.
cd "$copy"
echo '#include "core/refine/refine.h"' >>src/core/direct/direct.h
echo '#include "core/matrix/matrix.h"' >>src/core/matrix/view.h # which matrix.h includes
echo '#include "trsm/gather/kernels.h"' >>src/trsv/serial/method.c
echo '#include "trsm/gather/kernels.h"' >>src/trsv/syncfree_csr/rules.def
echo '#include <core/refine/refine.h>' >>src/core/direct/single.h
echo '#include "../refine/refine.h"' >>src/core/direct/systems.h
echo '#include "refine.h"' >>src/core/direct/parts.h
sed -i 's|^src/core/matrix: .*|& src/core/plan|' scripts/layers.txt
{
  printf 'int wrapped(int a,\n            int b) {\n'
  for ((line = 0; line < 100; line++)); do echo '  a += b;'; done
  printf '  for (;;) {\n    for (;;) {\n      for (;;) {\n        if (a) break;\n      }\n    }\n  }\n  return a;\n}\n'
} >>src/core/base/isa.c
printf '%0150d\n\n\n' 0 >>README.md
for ((file = 0; file < 26; file++)); do echo "/* extra$file.h -- one too many. */" >src/core/base/extra$file.h; done
{
  printf 'def long(a,\n         b):\n'
  for ((line = 0; line < 100; line++)); do printf '    a += b\n\n'; done
  printf 'def short():\n    pass\n# %0150d\n' 0
} >python/sptrsm/long.py
sed -i 's/^version = .*/version = "9.8.7"/' python/pyproject.toml
cd "$work"
report
expect 'layers (scripts/layers.txt): src/core/direct/direct.h uses src/core/refine/refine.h'
expect 'headers that include each other: src/core/matrix/'
expect 'src/trsv/serial/method.c uses src/trsm/gather/kernels.h'
expect 'src/trsv/syncfree_csr/rules.def uses src/trsm/gather/kernels.h'
expect 'src/core/direct/single.h:'
expect 'src/core/direct/systems.h:'
expect 'src/core/direct/parts.h uses unknown:refine.h'
expect 'layers that use each other (scripts/layers.txt): '
expect 'function of more than 80 lines: src/core/base/isa.c:'
expect 'more than three levels of nesting: src/core/base/isa.c:'
expect 'function of more than 80 lines: python/sptrsm/long.py:1 has 201'
expect 'line of more than 140 columns: python/sptrsm/long.py:205'
expect 'what it is, or """what it is: python/sptrsm/long.py'
expect 'python/pyproject.toml "9.8.7"'
expect 'prose: line of more than 140 columns: README.md:'
expect 'README.md has at most 150 lines'
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
  printf 'void one(void);\nvoid two(void);\nvoid one(void) { two(); }\n' >"$work"/one.c
  printf 'void one(void);\nvoid two(void);\nvoid two(void) { one(); }\n' >"$work"/two.c
  put one
  put two
  cp "$project"/scripts/layers.txt "$copy"/scripts/layers.txt
  report --build "$small"
  expect 'layers, by symbols (scripts/layers.txt): src/core/base/up.c uses src/core/matrix/matrix.c'
  expect 'files that use each other: src/core/base/'
fi
exit $failed
