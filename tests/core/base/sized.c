/* sized.c -- structs that begin with `size`: programs compiled against an older or a newer header than the library's. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/sized.h"

/* Two versions of one struct, as two releases would have them. */
typedef struct {
  size_t size;
  int first;
} old_options;
typedef struct {
  size_t size;
  int first;
  int second; /* new; its default is 7 */
} new_options;
enum { OLD_SIZE = sizeof(size_t) + sizeof(int) };

Test(sized, a_newer_library_gives_new_members_their_defaults) {
  const old_options program = {.size = OLD_SIZE, .first = 5};
  new_options taken = {.size = sizeof taken, .second = 7};
  cr_assert_eq(spti_sized_read(&taken, sizeof taken, &program, OLD_SIZE, "options"), SPTRSM_OK);
  cr_assert_eq(taken.first, 5);
  cr_assert_eq(taken.second, 7);
  cr_assert_eq(taken.size, sizeof taken);
}

Test(sized, a_newer_library_writes_nothing_beyond_an_older_struct) {
  struct {
    char bytes[OLD_SIZE];
    char canary[32];
  } program;
  memset(&program, 0x5a, sizeof program);
  const new_options defaults = {.first = 1, .second = 7};
  spti_sized_init(&program, OLD_SIZE, &defaults, sizeof defaults);
  cr_assert_eq(spti_sized_of(&program), (size_t)OLD_SIZE);
  spti_sized_write(&program, &defaults, sizeof defaults);
  int first;
  memcpy(&first, program.bytes + sizeof(size_t), sizeof first);
  cr_assert_eq(first, 1);
  for (size_t c = 0; c < sizeof program.canary; c++) cr_assert_eq(program.canary[c], 0x5a);
}

/* A program of a later version, whose options have 8 bytes more than this library knows. */
typedef struct {
  sptrsm_options known;
  int64_t later;
} later_options;

Test(sized, options_of_a_newer_program_are_taken_if_what_is_new_is_zero) {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  const int64_t ptr[] = {0, 1};
  const int32_t idx[] = {0};
  const double val[] = {2};
  const sptrsm_sparse T = {SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, 1, ptr, idx, val};
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_COPY), SPTRSM_OK);

  later_options options;
  memset(&options, 0x5a, sizeof options);
  sptrsm_options_init_sized(&options.known, sizeof options);
  cr_assert_eq(options.known.size, sizeof options);
  cr_assert_eq(options.later, 0);
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options.known), SPTRSM_OK);

  struct {
    sptrsm_info known;
    int64_t later;
  } info;
  memset(&info, 0x5a, sizeof info);
  info.known.size = sizeof info;
  cr_assert_eq(sptrsm_plan_info(&info.known, plan), SPTRSM_OK);
  cr_assert_eq(info.known.size, sizeof info);
  cr_assert_eq(info.known.nnz, 1);
  cr_assert_eq(info.later, 0);
  sptrsm_plan_destroy(plan);

  options.later = 1;
  plan = NULL;
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options.known), SPTRSM_ERR_UNSUPPORTED);
  cr_assert_null(plan);
  cr_assert_not_null(strstr(sptrsm_last_error(), "sptrsm_options has a member set at byte"), "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

Test(sized, a_size_that_was_never_set_is_refused) {
  sptrsm_method_info info;
  const size_t sizes[] = {0, 1, sizeof info - sizeof(size_t), (size_t)1 << 40, SIZE_MAX};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    info.size = sizes[s];
    cr_assert_eq(sptrsm_method_at(&info, 0), SPTRSM_ERR_ARGUMENT, "size %zu", sizes[s]);
    cr_assert_not_null(strstr(sptrsm_last_error(), "set out->size to sizeof(sptrsm_method_info)"), "%s", sptrsm_last_error());
  }
}
