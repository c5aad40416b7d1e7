/* stream.c -- factors that stream from host memory because of a memory limit on a CUDA context: the bits are those of a plan on the device,
 * whatever the number of pieces, in all forms of matrices and blocks; new values; refusals. */
#include <sptrsm_schur.h>

#include "core/direct/direct.h"
#include "core/stream/stream.h"

/* ---- bits ---- */

typedef struct {
  test_pattern pattern;
  sptrsm_format format;
  sptrsm_dtype dtype;
  sptrsm_uplo uplo;
  test_diag diag;
  sptrsm_op op;
  int32_t n;
} form;

/* Both before and after new values. */
static void compare(const form *f, const char *method, const char *streamed, int least) {
  char what[160];
  snprintf(what, sizeof what, "%s %s, %s, format %d, uplo %d, op %d, n=%d, %s", test_pattern_names[f->pattern], test_diag_names[f->diag],
           test_dtype_names[f->dtype], (int)f->format, (int)f->uplo, (int)f->op, f->n, streamed);
  test_system system = test_system_make(f->pattern, f->n, f->format, f->dtype, f->uplo, f->diag, 7);
  test_block B = test_block_make(f->n, NRHS, f->dtype, (sptrsm_layout)(f->op == SPTRSM_T), 2);
  solver whole = open_solver(&system, method, f->op, 0), pieces = open_solver(&system, streamed, f->op, 0);
  test_block_fill(&B, 3);
  cr_assert_geq(pieces_of(pieces.plan), least, "%s: %s", what, info_of(pieces.plan).parameters);
  cr_assert_null(strstr(info_of(whole.plan).method, "streamed"));
  const sptrsm_info one = info_of(whole.plan), parts = info_of(pieces.plan);
  const char *panels = strstr(parts.parameters, "panels="); /* and their levels, then what is stored for an entry */
  cr_assert(panels && strncmp(panels, one.parameters, strcspn(one.parameters, ".")) == 0, "%s: %s, not %s", what, parts.parameters,
            one.parameters);
  expect_same(&whole, &pieces, &B, what);
  test_system_new_values(&system, 11);
  ok(sptrsm_matrix_set_values(whole.matrix, system.T.val));
  ok(sptrsm_matrix_set_values(pieces.matrix, system.T.val));
  expect_same(&whole, &pieces, &B, what);
  close_solver(&whole);
  close_solver(&pieces);
  test_block_free(&B);
  test_system_free(&system);
}

static form drawn_form(test_random *random, test_pattern pattern) {
  return (form){.pattern = pattern,
                .format = (sptrsm_format)test_random_below(random, 2),
                .dtype = (sptrsm_dtype)test_random_below(random, 4),
                .uplo = (sptrsm_uplo)test_random_below(random, 2),
                .diag = (test_diag)test_random_below(random, TEST_DIAGS),
                .op = (sptrsm_op)test_random_below(random, 3),
                .n = DRAWN};
}

Test(stream, every_pattern_in_drawn_forms) {
  static const char *const streamed[] = {"block-streamed:rows=16,least=3,pieces=6", "block-streamed:rows=16,least=3,pieces=6,overlap=3",
                                         "block-streamed:rows=16,least=3,pieces=6,packed=1", "block-streamed"};
  test_random random = {5};
  for (int seed = 0; seed < SEEDS; seed++)
    for (int p = 0; p < TEST_PATTERNS; p++) {
      const form f = drawn_form(&random, (test_pattern)p);
      for (int k = 0; k < 4; k++)
        if (!left_to_nightly(p + k)) compare(&f, k < 3 ? "block:rows=16,least=3" : "block", streamed[k], k < 3 ? 4 : 1);
    }
}

Test(stream, every_form_of_a_tree) {
  for (int c = 0; c < 48; c += FORM_STEP) {
    const form f = {.pattern = TEST_TREE,
                    .format = (sptrsm_format)(c % 2),
                    .uplo = (sptrsm_uplo)(c / 2 % 2),
                    .op = (sptrsm_op)(c / 4 % 3),
                    .dtype = (sptrsm_dtype)(c / 12),
                    .n = 90};
    compare(&f, "block:rows=16,least=3", "block-streamed:rows=16,least=3,pieces=5", 4);
  }
}

Test(stream, nothing_and_one_row) {
  for (int32_t n = 0; n < 2; n++) {
    const form f = {.pattern = TEST_DIAGONAL, .dtype = SPTRSM_F64, .n = n};
    compare(&f, "block", "block-streamed", n);
  }
}

/* A piece for each panel, the most that there can be. */
Test(stream, as_many_pieces_as_panels) {
  const form f = {.pattern = TEST_FULL, .dtype = SPTRSM_C128, .uplo = SPTRSM_UPPER, .n = 100};
  compare(&f, "block:rows=16", "block-streamed:rows=16,pieces=1000", 7);
}

/* Kernels of several pieces at the same time, with more thread blocks than multiprocessors have room for. */
Test(stream, overlapping_pieces) {
  test_system system = test_system_make(TEST_TREE, CROWD, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 7);
  test_block B = test_block_make(CROWD, CROWD_NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&B, 3);
  solver whole = open_solver(&system, "block", SPTRSM_N, 0);
  for (int overlap = 2; overlap <= 8; overlap += 3) {
    char method[80];
    snprintf(method, sizeof method, "block-streamed:pieces=24,overlap=%d", overlap);
    solver pieces = open_solver(&system, method, SPTRSM_N, 0);
    cr_assert_geq(pieces_of(pieces.plan), CROWD_PIECES);
    for (int turn = 0; turn < 3; turn++) expect_same(&whole, &pieces, &B, method);
    close_solver(&pieces);
  }
  close_solver(&whole);
  test_block_free(&B);
  test_system_free(&system);
}

/* ---- the limit ---- */

/* A limit that all plans of the triangle keep changes nothing; below what the plan of `block` takes it streams, within the limit. */
Test(stream, a_plan_streams_when_the_limit_says_so) {
  static const char small[] = "block:rows=16,least=3";
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_UPPER, TEST_NONUNIT, 7);
  test_block B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0);
  solver whole = open_solver(&system, small, SPTRSM_N, 0);
  const size_t taken = info_of(whole.plan).plan_bytes;
  test_block_fill(&B, 3);
  solver roomy = open_solver(&system, small, SPTRSM_N, 100 * taken);
  cr_assert_str_eq(info_of(roomy.plan).method, "block");
  expect_same(&whole, &roomy, &B, "a limit with room");
  close_solver(&roomy);
  for (int tenths = 9; tenths >= 6; tenths -= 3) {
    const size_t limit = taken / 10 * (size_t)tenths;
    begin_to_watch();
    solver tight = open_solver(&system, small, SPTRSM_N, limit);
    cr_assert_geq(pieces_of(tight.plan), 2);
    cr_assert_eq(spti_matrix_device_copies(tight.matrix) & 2, 0, "lines for the plan that did not fit are still on the device");
    cr_assert(strstr(info_of(tight.plan).reason, "memory limit"), "%s", info_of(tight.plan).reason);
    test_block X = solve(&tight, &B);
    expect_kept(limit);
    test_block_free(&X);
    expect_same(&whole, &tight, &B, "a tight limit");
    close_solver(&tight);
  }
  close_solver(&whole);
  test_block_free(&B);
  test_system_free(&system);
}

/* Right-hand sides that are announced and do not fit at once are shared out over panels of one width. */
Test(stream, panels_of_one_width) {
  enum { ANNOUNCED = 200 };
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 7);
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "block-streamed:rows=16,least=3,pieces=4";
  options.nrhs_hint = ANNOUNCED;
  solver s = {0};
  for (int wanted = 1; wanted < 4; wanted++) { /* sweeps; the rest of the limit is for the plan */
    const size_t columns = (size_t)(ANNOUNCED / wanted + 32), each = ORDER * sizeof(double);
    s.context = open_context(3 * columns * each + 60 * each);
    ok(sptrsm_matrix_create(&s.matrix, s.context, &system.T, SPTRSM_COPY));
    ok(sptrsm_plan_create(&s.plan, s.matrix, &options));
    const int32_t panel = info_of(s.plan).panel, sweeps = (ANNOUNCED - 1) / panel + 1;
    cr_assert(panel % 32 == 0 && (sweeps == 1 || (sweeps - 1) * panel + (panel - 32 * sweeps) < ANNOUNCED), "panels of %d", panel);
    cr_assert_leq(panel - 32, (ANNOUNCED - 1) / sweeps + 1, "panels of %d are not even", panel);
    close_solver(&s);
  }
  test_system_free(&system);
}

static void expect_refusal(const test_system *system, const char *method, size_t limit, const char *text) {
  sptrsm_context *context = open_context(limit);
  sptrsm_matrix *matrix;
  sptrsm_plan *plan = NULL;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  ok(sptrsm_matrix_create(&matrix, context, &system->T, SPTRSM_COPY));
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_ERR_MEMORY, "%s, limit %zu", method, limit);
  cr_assert_null(plan);
  cr_assert(strstr(sptrsm_last_error(), text), "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

/* Limits that no piece keeps; a method that does not stream. */
Test(stream, refusals) {
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 7);
  expect_refusal(&system, "auto", 100, "bytes of device memory are needed, the limit of 100 for this context leaves 100");
  expect_refusal(&system, "gather", 3000, "bytes of device memory are needed, the limit of 3000");
  sptrsm_context *host;
  ok(sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL));
  cr_assert_eq(sptrsm_context_set_memory_limit(host, 1 << 20), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_context_set_memory_limit(NULL, 1 << 20), SPTRSM_ERR_ARGUMENT);
  sptrsm_context_destroy(host);
  test_system_free(&system);
}

/* The arrays of a borrowed matrix stay where they are, and new ones are borrowed by set_values. */
Test(stream, borrowed_arrays) {
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSR, SPTRSM_F32, SPTRSM_LOWER, TEST_NONUNIT, 7);
  test_block B = test_block_make(ORDER, NRHS, SPTRSM_F32, SPTRSM_ROW_MAJOR, 0);
  solver whole = open_solver(&system, "block", SPTRSM_N, 0), lent = {.context = open_context(1 << 30)};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "block-streamed:pieces=3";
  ok(sptrsm_matrix_create(&lent.matrix, lent.context, &system.T, SPTRSM_BORROW));
  ok(sptrsm_plan_create(&lent.plan, lent.matrix, &options));
  test_block_fill(&B, 3);
  expect_same(&whole, &lent, &B, "borrowed");
  test_system_new_values(&system, 12);
  ok(sptrsm_matrix_set_values(whole.matrix, system.T.val));
  ok(sptrsm_matrix_set_values(lent.matrix, system.T.val));
  expect_same(&whole, &lent, &B, "borrowed, new values");
  close_solver(&whole);
  close_solver(&lent);
  test_block_free(&B);
  test_system_free(&system);
}

/* ---- factor sets ---- */

/* All three operations of A, then new values. */
static void compare_sets(sptrsm_dtype dtype, bool mirrored, int percent) {
  static const sptrsm_system systems[] = {SPTRSM_SYS_A, SPTRSM_SYS_Aat, SPTRSM_SYS_At, SPTRSM_SYS_A};
  static set s;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "block:rows=16,least=3";
  make_set(&s, dtype, mirrored);
  sptrsm_context *context = open_context(0);
  sptrsm_direct *whole, *tight;
  sptrsm_info L = {.size = sizeof L}, U = L;
  ok(sptrsm_direct_create(&whole, context, &s.f, &options));
  ok(sptrsm_direct_info(&L, &U, whole));
  const size_t taken = L.plan_bytes + U.plan_bytes, limit = taken / 100 * (size_t)percent;
  begin_to_watch();
  sptrsm_context *limited = open_context(limit);
  ok(sptrsm_direct_create(&tight, limited, &s.f, &options));
  test_block B = test_block_make(ORDER, NRHS, dtype, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 3);
  for (int k = 0; k < 4; k++) {
    test_block X = solve_set(context, whole, systems[k], &B), Y = solve_set(limited, tight, systems[k], &B);
    cr_assert(test_block_same_bits(&X, &Y), "%s, limit of %d %%, system %d: other bits", test_dtype_names[dtype], percent, (int)systems[k]);
    test_block_free(&X);
    test_block_free(&Y);
    ok(sptrsm_direct_info(&L, &U, tight));
    cr_assert(percent > 110 || (strcmp(L.method, "block-streamed") == 0 && strcmp(U.method, "block-streamed") == 0), "%s, %s", L.method,
              U.method);
    for (int m = 0; m < 2 && strcmp(L.method, "block-streamed") == 0; m++)
      cr_assert(!tight->matrix[m] || spti_matrix_device_copies(tight->matrix[m]) == 0, "a copy of matrix %d is on the device", m);
    if (k != 2) continue;
    test_system_new_values(&s.L, 21);
    ok(sptrsm_direct_set_values(whole, s.L.T.val, NULL, NULL, NULL));
    ok(sptrsm_direct_set_values(tight, s.L.T.val, NULL, NULL, NULL));
  }
  test_block_free(&B);
  sptrsm_direct_destroy(whole);
  sptrsm_direct_destroy(tight);
  sptrsm_context_destroy(context);
  sptrsm_context_destroy(limited);
  test_system_free(&s.L);
  test_system_free(&s.U);
}

Test(stream, factor_sets) {
  compare_sets(SPTRSM_F64, false, 95);
  compare_sets(SPTRSM_C64, true, 110);
  compare_sets(SPTRSM_F32, false, 10000);
}

static sptrsm_direct *open_set(sptrsm_context **context, const set *s, size_t limit, size_t *workspace) {
  sptrsm_direct *d;
  sptrsm_options options;
  sptrsm_info L = {.size = sizeof L};
  sptrsm_options_init(&options);
  options.method = "block-streamed:pieces=9";
  options.panel = NRHS;
  *context = open_context(limit);
  ok(sptrsm_direct_create(&d, *context, &s->f, &options));
  ok(sptrsm_direct_info(&L, NULL, d));
  ok(sptrsm_direct_workspace_bytes(workspace, d));
  cr_assert_eq(L.panel, NRHS);
  return d;
}

/* Where the limit has no room for work of each plan, they use one block of solutions and two buffers in turns, before panels get narrower:
 * at least the buffers and the block of the second triangle are saved. */
Test(stream, plans_take_turns_where_memory_is_short) {
  static const sptrsm_system systems[] = {SPTRSM_SYS_A, SPTRSM_SYS_L, SPTRSM_SYS_Lt, SPTRSM_SYS_A};
  static set s;
  sptrsm_context *context[2];
  size_t bytes[2];
  const size_t block = (size_t)ORDER * NRHS * sizeof(double);
  make_set(&s, SPTRSM_F64, true);
  sptrsm_direct *apart = open_set(&context[0], &s, (size_t)1 << 30, &bytes[0]), *in_turns;
  test_block B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_COL_MAJOR, 0), X[4];
  test_block_fill(&B, 3);
  for (int k = 0; k < 4; k++) X[k] = solve_set(context[0], apart, systems[k], &B);
  size_t limit = 4 * bytes[0];
  for (;; limit -= bytes[0] / 16) { /* the first limit that is too tight for work of each */
    begin_to_watch();
    in_turns = open_set(&context[1], &s, limit, &bytes[1]);
    if (bytes[1] != bytes[0]) break;
    sptrsm_direct_destroy(in_turns);
    sptrsm_context_destroy(context[1]);
  }
  cr_assert_leq(bytes[1] + block, bytes[0], "%zu bytes in turns, %zu apart", bytes[1], bytes[0]);
  for (int k = 0; k < 4; k++) {
    test_block Y = solve_set(context[1], in_turns, systems[k], &B);
    cr_assert(test_block_same_bits(&X[k], &Y), "system %d: other bits", (int)systems[k]);
    test_block_free(&X[k]);
    test_block_free(&Y);
  }
  test_block_free(&B);
  expect_kept(limit);
  sptrsm_direct_destroy(apart);
  sptrsm_direct_destroy(in_turns);
  for (int k = 0; k < 2; k++) sptrsm_context_destroy(context[k]);
  test_system_free(&s.L);
  test_system_free(&s.U);
}

/* The plans that a Schur complement keeps do not stream where the limit has no room for another one. */
Test(stream, lent_plans_stay) {
  static set s;
  static const int64_t ptr[2] = {0, 1};
  static const int32_t idx[1] = {0};
  static const double one[1] = {1};
  double values[2] = {0};
  sptrsm_schur_columns column;
  sptrsm_schur_request request;
  sptrsm_schur *schur;
  sptrsm_direct *d;
  sptrsm_options options;
  sptrsm_info L = {.size = sizeof L};
  sptrsm_context *context = open_context(0);
  sptrsm_options_init(&options), sptrsm_schur_columns_init(&column), sptrsm_schur_request_init(&request);
  options.method = "block:rows=16,least=3";
  column.count = 1, column.ptr = ptr, column.idx = idx, column.val = one;
  request.B = request.C = &column;
  make_set(&s, SPTRSM_F64, false);
  ok(sptrsm_direct_create(&d, context, &s.f, &options));
  ok(sptrsm_schur_create(&schur, d, &request));
  test_block B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
  for (int turn = 0; turn < 2; turn++) {
    sptrsm_block S = {.data = &values[turn], .ld = 1, .n = 1, .nrhs = 1, .dtype = SPTRSM_F64, .place = SPTRSM_HOST};
    ok(sptrsm_schur_solve(schur, &S));
    ok(sptrsm_context_sync(context));
    ok(sptrsm_context_set_memory_limit(context, 1));
    cr_assert_eq(sptrsm_direct_solve(d, SPTRSM_SYS_Aat, SPTRSM_N, NULL, &B.block, &B.block), SPTRSM_ERR_MEMORY);
    ok(sptrsm_context_set_memory_limit(context, 0));
    ok(sptrsm_direct_info(&L, NULL, d));
    cr_assert_str_eq(L.method, "block");
  }
  cr_assert(values[0] != 0 && values[0] == values[1], "%g, then %g", values[0], values[1]);
  sptrsm_schur_destroy(schur);
  sptrsm_direct_destroy(d);
  sptrsm_context_destroy(context);
  test_block_free(&B);
  test_system_free(&s.L);
  test_system_free(&s.U);
}

/* The plans for op N are on the device until those of the transposed system have no room there. */
Test(stream, a_factor_set_that_begins_to_stream_later) {
  for (int percent = 120; percent < 400; percent += LIMIT_STEP) compare_sets(SPTRSM_F64, false, percent);
}
