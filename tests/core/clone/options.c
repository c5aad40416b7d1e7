/* options.c -- the options of a plan in a blob: every member comes back as it was. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/clone/blobs.h"

Test(blobs, options_come_back) {
  static char memory[1024];
  char method[SPTI_METHOD_NAME] = "block:width=4", read_method[SPTI_METHOD_NAME];
  sptrsm_options written, read;
  sptrsm_options_init(&written);
  sptrsm_options_init(&read);
  written.nrhs_hint = 101, written.select = (sptrsm_select)1, written.p = 102, written.q = 103, written.panel = 104;
  written.deterministic = 1, written.memory_limit = 105, written.precision = SPTRSM_MIXED;
  for (int d = 0; d < 3; d++) written.grid[d] = 106 + d;
  strcpy(written.stencil, "D3N27");
  spti_blob to = {.mode = SPTI_BLOB_WRITE, .memory = memory, .bytes = sizeof memory};
  spti_options_carry(&written, method, &to);
  spti_blob from = {.mode = SPTI_BLOB_READ, .memory = memory, .bytes = to.used};
  spti_options_carry(&read, read_method, &from);
  cr_assert(to.status == SPTRSM_OK && from.status == SPTRSM_OK && from.used == to.used && to.used > 0);
  cr_assert(read.method == read_method && strcmp(read_method, method) == 0, "%s", read_method);
  cr_assert(read.nrhs_hint == 101 && read.select == written.select && read.p == 102 && read.q == 103 && read.panel == 104);
  cr_assert(read.deterministic == 1 && read.memory_limit == 105 && read.precision == SPTRSM_MIXED);
  for (int d = 0; d < 3; d++) cr_assert_eq(read.grid[d], 106 + d);
  cr_assert_str_eq(read.stencil, "D3N27");
}
