/* solves.c -- on a real device: blocks in device memory, borrowed device arrays, few right-hand sides, several workspaces, and the choice
 * of `auto`. */
#include "core/gpu/gpu_case.h"

#include <sptrsm_auto.h>

TestSuite(gpu, .init = setup);

Test(gpu, device_pointers_borrowed_arrays_and_new_values) {
  for (size_t m = 0; m < method_count; m++) {
    sptrsm_sparse T = on_device(&data);
    test_solver s = test_solver_open(&T, &(test_choice){.method = methods[m], .place = SPTRSM_CUDA, .mode = SPTRSM_BORROW});
    blocks b = make_blocks();
    ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
    ok(sptrsm_context_sync(s.context));
    check(&b, expected, methods[m]);
    void *other = to_device(data.other, sizeof data.other);
    ok(sptrsm_matrix_set_values(s.matrix, other));
    ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
    ok(sptrsm_context_sync(s.context));
    check(&b, expected_other, "after new values");
    test_solver_close(&s);
    cuda_ok(cudaFree(other));
    free_blocks(&b);
    free_system(&T);
  }
}

/* The kernels for one right-hand side, with one and with a few, which are then solved one by one. */
Test(gpu, one_right_hand_side) {
  static const char *const more[] = {"syncfree-csc:two=0,singly=3", "syncfree-csc:two=1",         "syncfree-csc:two=2,singly=3",
                                     "syncfree-csc:two=1,warps=1",  "syncfree-csc:two=1,warps=3", "syncfree-csc:two=1,warps=32",
                                     "syncfree-csc:two=2,warps=32"};
  const size_t count = method_count + sizeof more / sizeof *more;
  for (size_t m = 0; m < count; m++) {
    const char *method = m < method_count ? methods[m] : more[m - method_count];
    test_solver s = test_solver_open(&data.T, &(test_choice){.method = method, .place = SPTRSM_CUDA});
    blocks b = make_blocks();
    for (int run = 0; run < 12; run++) {
      b.B.nrhs = b.X.nrhs = 1 + run / 4; /* 1, 2 and 3, each several times */
      ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
      ok(sptrsm_context_sync(s.context));
      check(&b, expected, method);
    }
    test_solver_close(&s);
    free_blocks(&b);
  }
}

/* Two solves with one plan that run at a time need a workspace each; here on one stream, then with two contexts on
 * two streams. */
static void check_workspaces(const char *method) {
  test_solver one = test_solver_open(&data.T, &(test_choice){.method = method, .place = SPTRSM_CUDA}),
              two = test_solver_open(&data.T, &(test_choice){.method = method, .place = SPTRSM_CUDA});
  sptrsm_workspace *workspaces[2];
  blocks b[3] = {make_blocks(), make_blocks(), make_blocks()};
  for (int w = 0; w < 2; w++) ok(sptrsm_workspace_create(&workspaces[w], one.plan, w ? 16 : 0));
  for (int w = 0; w < 2; w++) ok(sptrsm_solve(one.plan, workspaces[w], NULL, &b[w].B, &b[w].X));
  ok(sptrsm_solve(two.plan, NULL, NULL, &b[2].B, &b[2].X));
  ok(sptrsm_context_sync(one.context));
  ok(sptrsm_context_sync(two.context));
  for (int w = 0; w < 3; w++) check(&b[w], expected, method);
  for (int w = 0; w < 2; w++) sptrsm_workspace_destroy(workspaces[w]);
  for (int w = 0; w < 3; w++) free_blocks(&b[w]);
  test_solver_close(&one);
  test_solver_close(&two);
}

Test(gpu, workspaces_and_streams) {
  for (size_t m = 0; m < method_count; m++) check_workspaces(methods[m]);
}

/* The first row of the table whose bounds hold for the features of the triangle. */
static const char *row_method(const sptrsm_matrix *matrix, const sptrsm_options *options, const char *device) {
  double values[SPTRSM_AUTO_FEATURES];
  static sptrsm_auto_row row;
  row.size = sizeof row;
  ok(sptrsm_auto_features(values, matrix, options));
  for (int r = 0; r < sptrsm_auto_row_count(); r++) {
    ok(sptrsm_auto_row_at(&row, r, device));
    bool holds = row.place == SPTRSM_CUDA;
    for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++)
      holds = holds && values[f] >= row.least[f] && (row.most[f] == 0 || values[f] <= row.most[f]);
    if (holds) return row.method;
  }
  return "none";
}

/* A plan by `auto` takes the method that the public table and the public features lead to. */
Test(gpu, auto_takes_the_row_that_its_features_keep_to) {
  static const int64_t counts[] = {0, 1, 4, 8, 32, 200};
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&matrix, context, &data.T, SPTRSM_COPY));
  for (int c = 0; c < 6; c++) {
    sptrsm_plan *plan;
    sptrsm_options options;
    sptrsm_info info = {.size = sizeof info};
    sptrsm_options_init(&options);
    options.nrhs_hint = counts[c];
    const char *method = row_method(matrix, &options, sptrsm_context_describe(context));
    ok(sptrsm_plan_create(&plan, matrix, &options));
    ok(sptrsm_plan_info(&info, plan));
    cr_expect_str_eq(info.method, method, "%d right-hand sides", (int)counts[c]);
    sptrsm_plan_destroy(plan);
  }
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}
