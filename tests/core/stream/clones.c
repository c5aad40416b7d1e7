/* clones.c -- clones in contexts with a memory limit: they stream where it has no room, and have the bits of what they are cloned from. */
#include <sptrsm_multi.h>

#include "core/stream/stream.h"

/* A clone keeps the limit of its own context: it streams where that has no room, and has the bits of the plan that it is cloned from. */
Test(stream_clones, a_clone_streams_when_its_limit_says_so) {
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_UPPER, TEST_NONUNIT, 7);
  test_block B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  solver whole = open_solver(&system, "block:rows=16,least=3", SPTRSM_N, 0);
  const size_t taken = info_of(whole.plan).plan_bytes, limits[] = {100 * taken, taken / 10 * 9};
  test_block_fill(&B, 3);
  for (int k = 0; k < 2; k++) {
    begin_to_watch();
    solver copy = {.context = open_context(limits[k])};
    ok(sptrsm_matrix_clone(&copy.matrix, copy.context, whole.matrix));
    ok(sptrsm_plan_clone(&copy.plan, copy.matrix, whole.plan));
    cr_assert_str_eq(info_of(copy.plan).method, k == 0 ? "block" : "block-streamed");
    cr_assert_eq(strstr(info_of(copy.plan).reason, "memory limit") != NULL, k == 1, "%s", info_of(copy.plan).reason);
    test_block X = solve(&copy, &B);
    expect_kept(limits[k]);
    test_block_free(&X);
    expect_same(&whole, &copy, &B, "a clone");
    if (k == 1) { /* a clone of what streams does so as well */
      solver second = {.context = open_context(limits[k])};
      ok(sptrsm_matrix_clone(&second.matrix, second.context, copy.matrix));
      ok(sptrsm_plan_clone(&second.plan, second.matrix, copy.plan));
      cr_assert_geq(pieces_of(second.plan), 2);
      expect_same(&whole, &second, &B, "a clone of a clone");
      close_solver(&second);
    }
    close_solver(&copy);
  }
  close_solver(&whole);
  test_block_free(&B);
  test_system_free(&system);
}

/* A method that does not stream is refused, as a new plan of it would be. */
Test(stream_clones, a_clone_of_another_method_is_refused) {
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 7);
  solver whole = open_solver(&system, "gather", SPTRSM_N, 0), copy = {.context = open_context(3000)};
  ok(sptrsm_matrix_clone(&copy.matrix, copy.context, whole.matrix));
  cr_assert_eq(sptrsm_plan_clone(&copy.plan, copy.matrix, whole.plan), SPTRSM_ERR_MEMORY);
  cr_assert(strstr(sptrsm_last_error(), "the limit of 3000"), "%s", sptrsm_last_error());
  cr_assert_null(copy.plan);
  close_solver(&copy);
  close_solver(&whole);
  test_system_free(&system);
}

/* L and U fit one by one, but not together, or not with a panel; then both stream, also for systems that are asked for later. */
Test(stream_clones, clones_of_factor_sets) {
  static const sptrsm_system systems[] = {SPTRSM_SYS_A, SPTRSM_SYS_Aat};
  static set s;
  sptrsm_options options;
  sptrsm_direct *whole, *copy;
  sptrsm_info L = {.size = sizeof L}, U = L;
  sptrsm_context *context = open_context(0);
  sptrsm_options_init(&options);
  options.method = "block:rows=16,least=3";
  make_set(&s, SPTRSM_F64, false);
  ok(sptrsm_direct_create(&whole, context, &s.f, &options));
  ok(sptrsm_direct_info(&L, &U, whole));
  const size_t taken = L.plan_bytes + U.plan_bytes;
  test_block B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 3);
  for (int percent = 95; percent < 120; percent += 15) {
    const size_t limit = taken / 100 * (size_t)percent;
    begin_to_watch();
    sptrsm_context *limited = open_context(limit);
    ok(sptrsm_direct_clone(&copy, limited, whole));
    for (int k = 0; k < 2; k++) {
      test_block Y = solve_set(limited, copy, systems[k], &B);
      expect_kept(limit);
      test_block X = solve_set(context, whole, systems[k], &B);
      cr_assert(test_block_same_bits(&X, &Y), "limit of %d %%, system %d: other bits", percent, (int)systems[k]);
      test_block_free(&X);
      test_block_free(&Y);
      begin_to_watch();
    }
    ok(sptrsm_direct_info(&L, &U, copy));
    cr_assert(strcmp(L.method, "block-streamed") == 0 && strcmp(U.method, "block-streamed") == 0, "%s, %s", L.method, U.method);
    sptrsm_direct_destroy(copy);
    sptrsm_context_destroy(limited);
  }
  test_block_free(&B);
  sptrsm_direct_destroy(whole);
  sptrsm_context_destroy(context);
  test_system_free(&s.L);
  test_system_free(&s.U);
}
