/* dependants.c -- what was made from the values of a matrix is told when they change. */
#include <criterion/criterion.h>

#include "core/matrix/matrix.h"

typedef struct {
  spti_dependant link;
  sptrsm_matrix *matrix;
  sptrsm_status answer;
  int called;  /* how many calls had come when the last one came */
  double seen; /* the first value in the matrix at that time */
} follower;

static int calls;

static sptrsm_status refresh(void *owner) {
  follower *f = owner;
  spti_view v;
  cr_assert_eq(spti_matrix_view(&v, f->matrix, spti_op_from(SPTRSM_N), SPTI_PULL, SPTRSM_HOST), SPTRSM_OK);
  f->seen = *(const double *)v.val;
  f->called = ++calls;
  return f->answer;
}

static void follow(follower *f, sptrsm_matrix *matrix) {
  *f = (follower){.link = {.owner = f, .refresh = refresh}, .matrix = matrix};
  spti_matrix_add_dependant(matrix, &f->link);
}

Test(dependants, are_told_of_new_values) {
  static const int64_t ptr[] = {0, 1, 3};
  static const int32_t idx[] = {0, 0, 1};
  const double first[] = {2, 1, 4}, second[] = {3, 1, 4}, third[] = {5, 1, 4};
  sptrsm_context *host;
  sptrsm_matrix *matrix;
  follower a, b;
  cr_assert_eq(sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  const sptrsm_sparse T = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .n = 2, .ptr = ptr, .idx = idx, .val = first};
  cr_assert_eq(sptrsm_matrix_create(&matrix, host, &T, SPTRSM_COPY), SPTRSM_OK);
  follow(&a, matrix);
  follow(&b, matrix);

  cr_assert_eq(sptrsm_matrix_set_values(matrix, second), SPTRSM_OK);
  cr_expect_eq(b.called, 1, "the latest is told first");
  cr_expect_eq(a.called, 2);
  cr_expect_eq(a.seen, 3, "the storages have the new values before anybody is told");

  b.answer = SPTRSM_ERR_MEMORY;
  cr_expect_eq(sptrsm_matrix_set_values(matrix, third), SPTRSM_ERR_MEMORY);
  cr_expect_eq(b.called, 3);
  cr_expect_eq(a.called, 2, "nobody is told after a failure");

  spti_matrix_remove_dependant(matrix, &b.link);
  spti_matrix_remove_dependant(matrix, &b.link); /* not there any more: ignored */
  cr_assert_eq(sptrsm_matrix_set_values(matrix, third), SPTRSM_OK);
  cr_expect_eq(b.called, 3);
  cr_expect_eq(a.called, 4);
  cr_expect_eq(a.seen, 5);
  spti_matrix_remove_dependant(matrix, &a.link);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(host);
}
