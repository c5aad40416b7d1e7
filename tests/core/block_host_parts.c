/* block_host_parts.c -- what conformance cannot see of block on the host: its supernodes, where it puts values, what added zeros do beside
 * a NaN, and the kernels of each instruction set. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "core/matrix.h"
#include "core/oracle.h"
#include "trsm/block_host_nodes.h"

enum { ORDER_MOST = 40 };

/* A lower triangle by columns, solved forwards: column j holds the rows i > j with has[i][j], after its diagonal. */
typedef struct {
  bool has[ORDER_MOST][ORDER_MOST];
  int64_t ptr[ORDER_MOST + 1];
  int32_t idx[ORDER_MOST * ORDER_MOST];
  double val[ORDER_MOST * ORDER_MOST];
  spti_view view;
} drawn;

static double number(int32_t i, int32_t j) { return i == j ? 2 : 1 + i + 100 * j; }

static spti_view *make_view(drawn *d, int32_t n) {
  int64_t p = 0;
  d->ptr[0] = 0;
  for (int32_t j = 0; j < n; j++) {
    for (int32_t i = j; i < n; i++)
      if (i == j || d->has[i][j]) d->idx[p] = i, d->val[p++] = number(i, j);
    d->ptr[j + 1] = p;
  }
  d->view = (spti_view){.n = n, .nnz = p, .dtype = SPTRSM_F64, .ptr = d->ptr, .idx = d->idx, .val = d->val, .head = 1};
  return &d->view;
}

static spti_nodes find(const spti_view *v, int32_t width, int32_t zeros) {
  spti_nodes nodes;
  cr_assert_eq(spti_nodes_find(&nodes, v, &(spti_node_limits){.width = width, .zeros = zeros}), SPTRSM_OK, "%s", sptrsm_last_error());
  return nodes;
}

static void fill(drawn *d, int32_t first, int32_t end, int32_t rows_end) {
  for (int32_t j = first; j < end; j++)
    for (int32_t i = j + 1; i < rows_end; i++) d->has[i][j] = true;
}

/* ---- supernodes of patterns drawn by hand ---- */

Test(block_host_parts, an_empty_triangle_has_none) {
  static drawn d;
  spti_nodes nodes = find(make_view(&d, 0), 64, 20);
  cr_assert_eq(nodes.count, 0);
  cr_assert_eq(nodes.stored, 0);
  spti_nodes_free(&nodes);
}

Test(block_host_parts, a_dense_triangle_is_cut_at_the_width) {
  static drawn d;
  fill(&d, 0, 40, 40);
  spti_nodes nodes = find(make_view(&d, 40), 16, 0);
  cr_assert_eq(nodes.count, 3);
  for (int c = 0; c < 3; c++) {
    cr_assert_eq(nodes.node[c].first, 16 * c);
    cr_assert_eq(nodes.node[c].width, c < 2 ? 16 : 8);
    cr_assert_eq(nodes.node[c].listed, 40 - 16 * c - nodes.node[c].width);
    cr_assert(nodes.node[c].exact);
  }
  cr_assert_eq(nodes.added, 0);
  cr_assert_eq(nodes.entries, 40 * 39 / 2);
  spti_nodes_free(&nodes);
}

/* Columns without anything in common and without zeros allowed: each its own. */
Test(block_host_parts, a_diagonal_and_a_chain_without_added_zeros) {
  static drawn d;
  spti_nodes nodes = find(make_view(&d, 7), 64, 0);
  for (int c = 0; c < nodes.count; c++) cr_assert_eq(nodes.node[c].listed, 0);
  cr_assert_eq(nodes.added, 0);
  cr_assert_eq(nodes.count, 7, "a zero between two diagonals is an added one");
  spti_nodes_free(&nodes);
  for (int32_t j = 0; j < 6; j++) d.has[j + 1][j] = true;
  nodes = find(make_view(&d, 7), 64, 0);
  cr_assert_eq(nodes.added, 0);
  cr_assert_eq(nodes.count, 6, "only the last two columns of a chain are a full triangle");
  cr_assert_eq(nodes.node[5].width, 2);
  spti_nodes_free(&nodes);
}

/* Columns 0..3 have the rows up to 9, columns 4..9 all of 20: joined, the first four get 40 zeros. */
Test(block_host_parts, neighbours_are_joined_within_the_bound_on_zeros) {
  static drawn d;
  fill(&d, 0, 4, 10);
  fill(&d, 4, 10, 20);
  const spti_view *v = make_view(&d, 20);
  int joined = 0, apart = 0;
  for (int32_t zeros = 0; zeros < 100; zeros += 3) {
    spti_nodes nodes = find(v, 64, zeros);
    int64_t cells = 0;
    for (int c = 0; c < nodes.count; c++) {
      const spti_node *node = &nodes.node[c];
      int64_t inside = (int64_t)node->width * (node->width - 1) / 2 + (int64_t)node->width * node->listed, entries = 0;
      for (int32_t j = node->first; j < node->first + node->width; j++) entries += v->ptr[j + 1] - v->ptr[j] - 1;
      cr_assert_leq((inside - entries) * 100, inside * zeros, "%d percent: node %d has %lld added zeros of %lld", zeros, c,
                    (long long)(inside - entries), (long long)inside);
      cr_assert_eq(node->exact, inside == entries);
      cells += inside;
    }
    cr_assert_eq(cells, nodes.entries + nodes.added);
    if (nodes.node[0].width == 4) apart++;
    if (nodes.node[0].width >= 10) joined++;
    spti_nodes_free(&nodes);
  }
  cr_assert_gt(apart, 0);
  cr_assert_gt(joined, 0);
}

Test(block_host_parts, lists_unite_the_rows_of_their_columns) {
  static drawn d;
  d.has[1][0] = d.has[5][0] = d.has[9][0] = true;
  d.has[6][1] = d.has[9][1] = true;
  spti_nodes nodes = find(make_view(&d, 12), 2, 60);
  const int32_t expected[] = {5, 6, 9};
  cr_assert_eq(nodes.node[0].width, 2);
  cr_assert_eq(nodes.node[0].listed, 3);
  for (int e = 0; e < 3; e++) cr_assert_eq(nodes.list[nodes.node[0].list + e], expected[e]);
  cr_assert(!nodes.node[0].exact);
  spti_nodes_free(&nodes);
}

/* ---- every value where the kernels look for it ---- */

/* The entry (row, column) of the node in its packed form, by the description in the header alone. */
static double packed(const double *val, const spti_nodes *s, const spti_node *node, int32_t row, int32_t column) {
  const double *a = val + node->value;
  bool below = row >= node->first + node->width;
  int32_t rows = below ? node->listed : node->width, lead = s->pull ? node->listed : 0, r = row - node->first, c = column - node->first;
  if (below) {
    a += spti_node_triangle_size(node, s->pull);
    for (r = 0; s->list[node->list + r] != row;) r++;
  }
  if (c < 0)
    for (c = 0; s->list[node->list + c] != column;) c++;
  else c += lead;
  for (int32_t start = 0; start < rows; start += SPTI_NODE_STRIP) { /* strip by strip */
    int32_t height = rows - start < SPTI_NODE_STRIP ? rows - start : SPTI_NODE_STRIP;
    if (r < start + height) return a[c * height + r - start];
    a += (below ? node->width : lead + start + height) * height;
  }
  cr_assert(false, "row %d is not in the node", row);
  return 0;
}

/* Reads every entry of the view back from the nodes; returns the sum of what is stored, which nothing else may add to. */
static void check_packing(const test_system *system, sptrsm_op op, spti_orientation wanted, int32_t zeros) {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &system->T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  spti_view v;
  cr_assert_eq(spti_matrix_view(&v, matrix, spti_op_from(op), wanted, SPTRSM_HOST), SPTRSM_OK);
  spti_nodes nodes = find(&v, 20, zeros);
  double *val = malloc(((size_t)nodes.stored + 1) * sizeof *val), sum = 0, expected = 0;
  cr_assert(val);
  spti_nodes_pack(val, &nodes, &v);
  int32_t next = 0;
  for (int32_t c = 0; c < nodes.count; c++) {
    const spti_node *node = &nodes.node[c];
    cr_assert_eq(node->first, next, "node %d does not follow the one before", c);
    next += node->width;
    for (int32_t place = node->first; place < next; place++) {
      int32_t line = spti_view_line(&v, place);
      for (int64_t p = v.ptr[line]; p < v.ptr[line + 1]; p++) {
        int32_t other = spti_view_line(&v, v.idx[p]);
        double got = packed(val, &nodes, node, v.pull ? place : other, v.pull ? other : place);
        cr_assert_eq(got, ((const double *)v.val)[p], "line %d, entry %lld", line, (long long)p);
        expected += fabs(got);
      }
    }
  }
  for (int64_t p = 0; p < nodes.stored; p++) sum += fabs(val[p]);
  cr_assert_float_eq(sum, expected, 1e-9 * (1 + expected), "there is more in the nodes than in the triangle");
  cr_assert_eq(next, v.n);
  free(val);
  spti_nodes_free(&nodes);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

Test(block_host_parts, every_entry_is_packed_once_in_all_orientations) {
  for (int pattern = 0; pattern < TEST_PATTERNS; pattern++)
    for (int kind = 0; kind < 8; kind++) {
      test_system system = test_system_make((test_pattern)pattern, 75, kind & 1 ? SPTRSM_CSR : SPTRSM_CSC, SPTRSM_F64,
                                            kind & 2 ? SPTRSM_UPPER : SPTRSM_LOWER, TEST_NONUNIT, 7);
      check_packing(&system, kind & 4 ? SPTRSM_T : SPTRSM_N, SPTI_PULL, 10 * kind);
      check_packing(&system, kind & 4 ? SPTRSM_T : SPTRSM_N, SPTI_PUSH, 10 * kind);
      test_system_free(&system);
    }
}

/* ---- solutions ---- */

static void solve_with(test_block *X, const test_system *system, sptrsm_op op, const char *method, const test_block *B) {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = op;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &system->T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B->block, &X->block), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

/* Two right-hand sides of 19 hold a NaN and an infinity: where `serial` has finite numbers block must have them too, although supernodes
 * with many added zeros multiply these with the NaN. */
static void check_poison(test_pattern pattern, sptrsm_dtype dtype, sptrsm_op op) {
  const int32_t n = 90, nrhs = 19;
  test_system system = test_system_make(pattern, n, SPTRSM_CSC, dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
  test_block B = test_block_make(n, nrhs, dtype, SPTRSM_ROW_MAJOR, 0), clean = test_block_copy(&B), X = test_block_copy(&B);
  test_block_fill(&B, 5);
  solve_with(&clean, &system, op, "block:zeros=90", &B);
  test_block_set(&B, 41, 3, NAN, 0);
  test_block_set(&B, 40, 17, INFINITY, 0);
  test_block expected = test_block_copy(&B);
  solve_with(&expected, &system, op, "serial", &B);
  solve_with(&X, &system, op, "block:zeros=90", &B);
  int spoiled = 0;
  for (int32_t i = 0; i < n; i++)
    for (int32_t k = 0; k < nrhs; k++) {
      double re, im, serial_re, serial_im, clean_re, clean_im;
      test_block_get(&re, &im, &X, i, k);
      test_block_get(&serial_re, &serial_im, &expected, i, k);
      test_block_get(&clean_re, &clean_im, &clean, i, k);
      bool finite = isfinite(serial_re) && isfinite(serial_im);
      cr_assert_eq(isfinite(re) && isfinite(im), finite, "%s %s: x(%d,%d) = %g%+gi, serial has %g%+gi", test_pattern_names[pattern],
                   test_dtype_names[dtype], i, k, re, im, serial_re, serial_im);
      cr_assert(!finite || (re == clean_re && im == clean_im), "x(%d,%d) changed by a NaN that it does not depend on", i, k);
      spoiled += !finite;
    }
  cr_assert_gt(spoiled, 1);
  test_block_free(&expected);
  test_block_free(&X);
  test_block_free(&clean);
  test_block_free(&B);
  test_system_free(&system);
}

Test(block_host_parts, added_zeros_do_not_spread_a_nan) {
  for (int dtype = 0; dtype < 4; dtype++)
    for (int op = SPTRSM_N; op <= SPTRSM_T; op++) {
      check_poison(TEST_RANDOM, (sptrsm_dtype)dtype, (sptrsm_op)op);
      check_poison(TEST_GRID, (sptrsm_dtype)dtype, (sptrsm_op)op);
      check_poison(TEST_CHAIN, (sptrsm_dtype)dtype, (sptrsm_op)op);
    }
}

Test(block_host_parts, every_instruction_set_solves) {
  static const double one[2] = {1, 0};
  int solved = 0;
  for (int isa = 0; isa < SPTI_ISA_COUNT; isa++)
    for (int kind = 0; kind < 16 && spti_isa_runs((spti_isa)isa); kind++) {
      sptrsm_dtype dtype = (sptrsm_dtype)(kind % 4);
      sptrsm_op op = kind & 4 ? SPTRSM_C : SPTRSM_N;
      test_system system = test_system_make(kind & 8 ? TEST_FULL : TEST_RANDOM, 77, SPTRSM_CSC, dtype, SPTRSM_UPPER, TEST_NONUNIT, 2);
      test_block B = test_block_make(77, 63, dtype, SPTRSM_COL_MAJOR, 0), X = test_block_copy(&B);
      char method[32];
      snprintf(method, sizeof method, "block:isa=%s", spti_isa_names[isa]);
      test_block_fill(&B, 1);
      solve_with(&X, &system, op, method, &B);
      double residual = test_residual(&system, op, one, &B, &X, -1);
      cr_assert(residual <= (dtype < SPTRSM_C64 ? 1 : 4), "%s %s: %g", method, test_dtype_names[dtype], residual);
      solved++;
      test_block_free(&X);
      test_block_free(&B);
      test_system_free(&system);
    }
  cr_assert_geq(solved, 16);
}
