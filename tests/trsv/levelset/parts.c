/* parts.c -- levelset on the host, beyond the conformance test: the kernels of each instruction set, and its parameters. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/oracle.h"
#include "support/solver.h"

/* ---- instruction sets ---- */

/* False where the CPU lacks the variant's instructions. */
static bool solve_with(test_block *X, const test_system *system, const char *method, const test_block *B) {
  test_solver s;
  if (!test_solver_try(&s, &system->T, &(test_choice){.method = method})) return false;
  test_solver_solve(&s, &B->block, &X->block);
  test_solver_close(&s);
  return true;
}

Test(levelset_parts, instruction_sets_give_the_same_bits) {
  for (int dtype = 0; dtype < 4; dtype++) {
    test_system system =
        test_system_make(TEST_RANDOM, 300, SPTRSM_CSR, (sptrsm_dtype)dtype, dtype % 2 ? SPTRSM_LOWER : SPTRSM_UPPER, TEST_NONUNIT, 11);
    test_block B = test_block_make(300, 63, (sptrsm_dtype)dtype, SPTRSM_ROW_MAJOR, 0);
    test_block expected = test_block_copy(&B), X = test_block_copy(&B);
    test_block_fill(&B, 1);
    cr_assert(solve_with(&expected, &system, "levelset:isa=baseline", &B));
#ifdef __x86_64__
    static const char *const variants[] = {"levelset:isa=avx2", "levelset:isa=avx512"};
    for (int v = 0; v < 2; v++)
      if (solve_with(&X, &system, variants[v], &B))
        cr_assert(test_block_same_bits(&X, &expected), "%s: other bits for %s", variants[v], test_dtype_names[dtype]);
#endif
    cr_assert(solve_with(&X, &system, "levelset", &B));
    cr_assert(test_block_same_bits(&X, &expected));
    test_block_free(&X);
    test_block_free(&expected);
    test_block_free(&B);
    test_system_free(&system);
  }
}

/* Column `column` of a row-major block, bit by bit. */
static bool is_column(const test_block *one, const test_block *many, int64_t column) {
  const size_t bytes = sptrsm_dtype_bytes(one->block.dtype);
  bool same = true;
  for (int32_t i = 0; i < one->block.n && same; i++)
    same = memcmp((const char *)one->block.data + (size_t)i * bytes,
                  (const char *)many->block.data + (size_t)(i * many->block.ld + column) * bytes, bytes) == 0;
  return same;
}

/* The kernel for one right-hand side is compiled separately: forward and backward, with and without a diagonal. */
Test(levelset_parts, one_column_has_the_bits_that_it_has_in_a_block) {
  for (int kind = 0; kind < 16; kind++) {
    const sptrsm_dtype dtype = (sptrsm_dtype)(kind / 4);
    test_system system = test_system_make(TEST_RANDOM, 300, SPTRSM_CSR, dtype, kind % 2 ? SPTRSM_LOWER : SPTRSM_UPPER,
                                          kind / 2 % 2 ? TEST_UNIT_IMPLICIT : TEST_NONUNIT, 11);
    test_block B = test_block_make(300, 5, dtype, SPTRSM_ROW_MAJOR, 0), X = test_block_copy(&B);
    test_block b = test_block_make(300, 1, dtype, SPTRSM_ROW_MAJOR, 0), x = test_block_copy(&b);
    test_block_fill(&B, 1);
    const size_t bytes = sptrsm_dtype_bytes(dtype);
    for (int32_t i = 0; i < 300; i++)
      memcpy((char *)b.block.data + (size_t)i * bytes, (char *)B.block.data + (size_t)(i * B.block.ld + 3) * bytes, bytes);
    cr_assert(solve_with(&X, &system, "levelset", &B));
    cr_assert(solve_with(&x, &system, "levelset", &b));
    cr_assert(is_column(&x, &X, 3), "kind %d", kind);
    cr_assert_not(is_column(&x, &X, 2), "kind %d", kind);
    test_block_free(&x);
    test_block_free(&b);
    test_block_free(&X);
    test_block_free(&B);
    test_system_free(&system);
  }
}

Test(levelset_parts, parameters_that_are_refused) {
  static const struct {
    const char *method, *message;
  } cases[] = {{"levelset:isa=mmx", "levelset: isa=mmx; known are avx512, avx2, baseline"},
               {"levelset:avx2", "levelset: \"avx2\" has no key; write levelset:isa=avx2"},
               {"levelset:mmx", "levelset: expected key=value[,key=value...], not \"mmx\"; known are isa"}};
  test_system system = test_system_make(TEST_CHAIN, 3, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 11);
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_options options;
  sptrsm_options_init(&options);
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &system.T, SPTRSM_BORROW), SPTRSM_OK, "%s", sptrsm_last_error());
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sptrsm_plan *plan = NULL;
    options.method = cases[c].method;
    cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_ERR_ARGUMENT, "%s", cases[c].method);
    cr_assert_str_eq(sptrsm_last_error(), cases[c].message);
    cr_assert_null(plan);
  }
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  test_system_free(&system);
}
