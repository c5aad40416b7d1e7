/* block_streamed.c -- kernels of `block-streamed` that run at the same time, beside copies to their buffers, under many schedules: the bits
 * are those of `block`; lost dependencies end all kernels; and what a solve launches. */
#include <criterion/criterion.h>

#include <stdio.h>

#include "core/stream/stream.h"
#include "core/context/context.h"
#include "trsm/block/gpu/streamed/streamed.h"

enum { SCHEDULES = 24, ROWS = 120, COLUMNS = 11, PIECES = 9 };

static void name_of(char out[80], int overlap, int pieces, bool packed) {
  snprintf(out, 80, "block-streamed:rows=16,least=3,pieces=%d,overlap=%d,packed=%d", pieces, overlap, packed);
}

/* Chains of panels through all pieces (FULL), and pieces that can be solved side by side (TREE). */
Test(simt_block_streamed, bits_under_many_schedules) {
  static const test_pattern patterns[] = {TEST_FULL, TEST_TREE};
  for (uint64_t seed = 1; seed <= SCHEDULES && (seed <= SCHEDULES / 2 || !left_to_nightly(1)); seed++) {
    char method[80];
    test_system system =
        test_system_make(patterns[seed % 2], ROWS, SPTRSM_CSR, SPTRSM_F64, seed % 3 ? SPTRSM_LOWER : SPTRSM_UPPER, TEST_NONUNIT, seed);
    test_block B = test_block_make(ROWS, COLUMNS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
    test_block_fill(&B, seed);
    name_of(method, 1 + (int)(seed % 8), PIECES, seed / 2 % 2);
    solver whole = open_solver(&system, "block:rows=16,least=3", SPTRSM_N, 0), pieces = open_solver(&system, method, SPTRSM_N, 0);
    emulated_gpu_use_schedule(seed);
    cr_assert_geq(pieces_of(pieces.plan), 6);
    for (int turn = 0; turn < 2; turn++) expect_same(&whole, &pieces, &B, method);
    close_solver(&whole);
    close_solver(&pieces);
    test_block_free(&B);
    test_system_free(&system);
  }
}

/* A factor set whose triangles use one memory in turns; blocks in host memory of both layouts, which pass in parts. */
Test(simt_block_streamed, sets_that_share_buffers) {
  static set s;
  make_set(&s, SPTRSM_F64, true);
  for (uint64_t seed = 1; seed <= 6; seed++) {
    test_block B = test_block_make(ORDER, NRHS, SPTRSM_F64, seed % 2 ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR, 3);
    test_block_fill(&B, seed);
    sptrsm_context *context[2];
    sptrsm_direct *whole, *tight;
    sptrsm_info L = {.size = sizeof L}, U = L;
    char method[80];
    sptrsm_options options;
    sptrsm_options_init(&options);
    options.method = "block:rows=16,least=3";
    context[0] = open_context(0);
    ok(sptrsm_direct_create(&whole, context[0], &s.f, &options));
    ok(sptrsm_direct_info(&L, &U, whole));
    name_of(method, 2 + (int)(seed % 4), PIECES, seed / 2 % 2);
    options.method = method;
    const size_t limit = L.plan_bytes + U.plan_bytes;
    context[1] = open_context(limit);
    ok(sptrsm_direct_create(&tight, context[1], &s.f, &options));
    emulated_gpu_use_schedule(seed);
    begin_to_watch();
    for (int turn = 0; turn < 2; turn++) {
      test_block X = solve_set(context[0], whole, SPTRSM_SYS_A, &B), Y = solve_set(context[1], tight, SPTRSM_SYS_A, &B);
      cr_assert(test_block_same_bits(&X, &Y), "schedule %d, %s: other bits", (int)seed, method);
      cr_assert(test_block_intact(&Y), "schedule %d, %s: wrote outside X", (int)seed, method);
      test_block_free(&X);
      test_block_free(&Y);
    }
    expect_kept(limit);
    sptrsm_direct_destroy(whole);
    sptrsm_direct_destroy(tight);
    for (int k = 0; k < 2; k++) sptrsm_context_destroy(context[k]);
    test_block_free(&B);
  }
  test_system_free(&s.L);
  test_system_free(&s.U);
}

/* A panel in the middle that waits for itself: the solve ends with the row of a panel that waits in vain; later solves are right again. */
Test(simt_block_streamed, lost_dependency) {
  for (int overlap = 1; overlap <= 4; overlap++) {
    char method[80];
    const sptrsm_uplo uplo = overlap % 2 ? SPTRSM_LOWER : SPTRSM_UPPER; /* upper: row 0 is the last place */
    test_system system = test_system_make(TEST_FULL, ROWS, SPTRSM_CSR, SPTRSM_F64, uplo, TEST_NONUNIT, 7);
    test_block B = test_block_make(ROWS, COLUMNS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
    test_block_fill(&B, 3);
    name_of(method, overlap, PIECES, false);
    solver whole = open_solver(&system, "block:rows=16,least=3", SPTRSM_N, 0), pieces = open_solver(&system, method, SPTRSM_N, 0);
    const spti_streamed *s = pieces.plan->state;
    const spti_streamed_piece *piece = &s->piece[s->piece_count / 2];
    spti_block_state state;
    spti_streamed_state(&state, s, pieces.plan, piece, s->image + piece->at);
    const int32_t own = s->found.first[piece->panel];
    int32_t *column = (int32_t *)state.panels.col, place = *column;
    pieces.context->spin_limit = 5000;
    emulated_gpu_use_schedule((uint64_t)overlap);
    *column = own;
    for (int turn = 0; turn < 2; turn++) {
      test_block X = test_block_copy(&B);
      int row = -1;
      ok(sptrsm_solve(pieces.plan, NULL, NULL, &X.block, &X.block));
      cr_assert_eq(sptrsm_context_sync(pieces.context), SPTRSM_ERR_DEVICE);
      cr_assert_eq(sscanf(sptrsm_last_error(), "dependency never arrived (row %d", &row), 1, "%s", sptrsm_last_error());
      cr_assert_geq(s->found.place[row], own, "row %d is not behind row %d", row, s->found.line[own]);
      test_block_free(&X);
    }
    *column = place;
    pieces.context->spin_limit = SPTI_SPIN_LIMIT;
    expect_same(&whole, &pieces, &B, method);
    close_solver(&whole);
    close_solver(&pieces);
    test_block_free(&B);
    test_system_free(&system);
  }
}

/* New values use the memory of a workspace, which is large enough for them also where it has one column: a dense factor in single precision
 * has the most indices beside its panels. */
Test(simt_block_streamed, new_values_in_the_memory_of_a_workspace) {
  test_system system = test_system_make(TEST_FULL, 300, SPTRSM_CSR, SPTRSM_F32, SPTRSM_LOWER, TEST_NONUNIT, 7);
  test_block B = test_block_make(300, 1, SPTRSM_F32, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&B, 3);
  for (int packs = 0; packs < 2; packs++) {
    sptrsm_options options;
    solver whole = open_solver(&system, "block", SPTRSM_N, 0), pieces = {.context = open_context(0)};
    sptrsm_options_init(&options);
    options.method = packs ? "block-streamed:pieces=1,packed=1" : "block-streamed:pieces=1,packed=0";
    options.panel = 1;
    ok(sptrsm_matrix_create(&pieces.matrix, pieces.context, &system.T, SPTRSM_COPY));
    ok(sptrsm_plan_create(&pieces.plan, pieces.matrix, &options));
    expect_same(&whole, &pieces, &B, options.method);
    test_system_new_values(&system, 11 + (uint64_t)packs);
    ok(sptrsm_matrix_set_values(whole.matrix, system.T.val));
    const size_t before = emulated_gpu_total;
    ok(sptrsm_matrix_set_values(pieces.matrix, system.T.val));
    cr_assert_eq(emulated_gpu_total, before, "%zu bytes of device memory for new values", emulated_gpu_total - before);
    expect_same(&whole, &pieces, &B, options.method);
    close_solver(&whole);
    close_solver(&pieces);
  }
  test_block_free(&B);
  test_system_free(&system);
}

/* A workspace in memory that a solver lends; what was made before a capture refuses the feed is given back. */
Test(simt_block_streamed, no_workspace_during_a_capture) {
  test_system system = test_system_make(TEST_TREE, ROWS, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 7);
  solver pieces = open_solver(&system, "block-streamed:pieces=3", SPTRSM_N, 0);
  const spti_shared_work *shared = pieces.plan->method->shared_work;
  void *work = NULL, *memory;
  size_t bytes;
  ok(shared->bytes(&bytes, pieces.plan, COLUMNS));
  cr_assert_not_null(memory = malloc(bytes));
  emulated_gpu_captures = true;
  cr_assert_eq(shared->create(&work, pieces.plan, COLUMNS, memory), SPTRSM_ERR_ARGUMENT);
  emulated_gpu_captures = false;
  cr_assert(!work && strstr(sptrsm_last_error(), "captured"), "%s", sptrsm_last_error());
  free(memory);
  close_solver(&pieces);
  test_system_free(&system);
}

/* A sweep launches the fill, a kernel for each piece, and where they overlap a gate before each but the first. */
Test(simt_block_streamed, launches) {
  test_system system = test_system_make(TEST_TREE, ROWS, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 7);
  test_block B = test_block_make(ROWS, COLUMNS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&B, 3);
  for (int overlap = 1; overlap <= 3; overlap++) {
    char method[80];
    name_of(method, overlap, PIECES, false);
    solver pieces = open_solver(&system, method, SPTRSM_N, 0);
    const int count = pieces_of(pieces.plan);
    for (int turn = 0; turn < 2; turn++) {
      const int64_t before = emulated_gpu_launches;
      test_block X = test_block_copy(&B);
      X.block.place = SPTRSM_CUDA;
      ok(sptrsm_solve(pieces.plan, NULL, NULL, &X.block, &X.block));
      ok(sptrsm_context_sync(pieces.context));
      cr_assert_eq(emulated_gpu_launches - before, 1 + count + (overlap > 1 ? count - 1 : 0));
      X.block.place = SPTRSM_HOST;
      test_block_free(&X);
    }
    close_solver(&pieces);
  }
  test_block_free(&B);
  test_system_free(&system);
}

/* Tiles of a dense triangle are not packed, those of a tree are, with several kernels at the same time; parameters have the last word. */
Test(simt_block_streamed, form_by_matrix) {
  static const struct {
    test_pattern pattern;
    const char *method, *form;
  } cases[] = {{TEST_FULL, "block-streamed", "overlap=1 packed=0"},
               {TEST_TREE, "block-streamed", "overlap=3 packed=1"},
               {TEST_FULL, "block-streamed:packed=1", "overlap=3 packed=1"},
               {TEST_TREE, "block-streamed:packed=0", "overlap=1 packed=0"},
               {TEST_TREE, "block-streamed:overlap=2", "overlap=2 packed=1"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    test_system system = test_system_make(cases[k].pattern, ROWS, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 7);
    solver pieces = open_solver(&system, cases[k].method, SPTRSM_N, 0);
    sptrsm_info info = {.size = sizeof info};
    ok(sptrsm_plan_info(&info, pieces.plan));
    cr_assert(strstr(info.parameters, cases[k].form), "%s, case %zu: %s", cases[k].method, k, info.parameters);
    close_solver(&pieces);
    test_system_free(&system);
  }
}

/* products=32 is for 32-bit types alone, and told. */
Test(simt_block_streamed, products_in_single_precision) {
  for (int dtype = SPTRSM_F32; dtype <= SPTRSM_C128; dtype++)
    for (int k = 0; k < 4; k++) {
      test_system system = test_system_make(TEST_TREE, ROWS, SPTRSM_CSR, (sptrsm_dtype)dtype, SPTRSM_LOWER, TEST_NONUNIT, 7);
      char method[80];
      sptrsm_info info = {.size = sizeof info};
      snprintf(method, sizeof method, "%s:products=%d", k % 2 ? "block-streamed" : "block", k < 2 ? 32 : 64);
      solver s = open_solver(&system, method, SPTRSM_N, 0);
      ok(sptrsm_plan_info(&info, s.plan));
      cr_assert_eq(strstr(info.parameters, "products=32") != NULL, k < 2 && (dtype == SPTRSM_F32 || dtype == SPTRSM_C64), "%s: %s", method,
                   info.parameters);
      sptrsm_options options;
      sptrsm_plan *refused = NULL;
      sptrsm_options_init(&options);
      options.method = "block:products=48";
      cr_assert_eq(sptrsm_plan_create(&refused, s.matrix, &options), SPTRSM_ERR_ARGUMENT);
      cr_assert(strstr(sptrsm_last_error(), "products=48"), "%s", sptrsm_last_error());
      close_solver(&s);
      test_system_free(&system);
    }
}
