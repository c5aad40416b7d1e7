/* host_parts.c -- what conformance cannot see of block on the host: its supernodes, where it puts values, what added zeros do beside
 * a NaN, the kernels of each instruction set, and trees of supernodes in a damaged plan. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/isa.h"
#include "core/matrix/matrix.h"
#include "support/oracle.h"
#include "support/solver.h"
#include "trsm/block/host/trees.h"

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
  spti_nodes nodes = find(make_view(&d, 40), 20, 0);
  cr_assert_eq(nodes.count, 2);
  for (int c = 0; c < 2; c++) {
    cr_assert_eq(nodes.node[c].kind, SPTI_NODE_PUSH);
    cr_assert_eq(nodes.node[c].first, 20 * c);
    cr_assert_eq(nodes.node[c].width, 20);
    cr_assert_eq(nodes.node[c].listed, 20 - 20 * c);
    cr_assert(nodes.node[c].exact);
  }
  cr_assert_eq(nodes.added, 0);
  cr_assert_eq(nodes.entries, 40 * 39 / 2);
  cr_assert_eq(nodes.dense, nodes.entries);
  spti_nodes_free(&nodes);
}

/* Packing counts the places of a list that lines have reached, so a list must have no others. */
Test(block_host_parts, nodes_with_a_place_that_no_line_has_do_not_fit) {
  static drawn d;
  fill(&d, 0, 20, 40);
  spti_nodes nodes = find(make_view(&d, 40), 64, 40);
  cr_assert_eq(nodes.node[0].width, 20);
  cr_assert_eq(nodes.node[0].listed, 20);
  cr_assert_eq(spti_nodes_check_fit(&nodes, make_view(&d, 40)), SPTRSM_OK, "%s", sptrsm_last_error());
  d.has[30][3] = false; /* other lines have row 30 */
  cr_assert_eq(spti_nodes_check_fit(&nodes, make_view(&d, 40)), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int32_t j = 0; j < 20; j++) d.has[30][j] = false;
  cr_assert_eq(spti_nodes_check_fit(&nodes, make_view(&d, 40)), SPTRSM_ERR_ARGUMENT);
  spti_nodes_free(&nodes);
}

/* No supernodes: every row gathers for itself. */
Test(block_host_parts, a_diagonal_and_a_chain_stand_by_rows) {
  static drawn d;
  for (int chain = 0; chain < 2; chain++) {
    for (int32_t j = 0; j < 6; j++) d.has[j + 1][j] = chain;
    spti_nodes nodes = find(make_view(&d, 7), 64, 50);
    cr_assert_eq(nodes.count, 7);
    for (int c = 0; c < nodes.count; c++) {
      cr_assert_eq(nodes.node[c].kind, SPTI_NODE_PULL);
      cr_assert_eq(nodes.node[c].first, c);
      cr_assert_eq(nodes.node[c].width, 1);
      cr_assert_eq(nodes.node[c].listed, chain && c > 0);
    }
    cr_assert_eq(nodes.added, 0);
    cr_assert_eq(nodes.dense, 0);
    spti_nodes_free(&nodes);
  }
}

/* A supernode of columns 4 to 23 whose rows 10 and 30 also need columns 0 and 2. */
Test(block_host_parts, rows_of_a_supernode_gather_from_single_columns) {
  static drawn d;
  d.has[10][0] = d.has[30][0] = d.has[10][2] = true;
  fill(&d, 4, 24, 40);
  spti_nodes nodes = find(make_view(&d, 40), 64, 0);
  int gathers = 0, pushes = 0, row_30 = 0;
  for (int c = 0; c < nodes.count; c++) {
    const spti_node *node = &nodes.node[c];
    if (node->kind == SPTI_NODE_GATHER) {
      cr_assert_eq(node->first, 10);
      cr_assert_eq(node->listed, 2);
      cr_assert_eq(nodes.list[node->list], 0);
      cr_assert_eq(nodes.list[node->list + 1], 2);
      cr_assert_eq(pushes, 0, "a row gathers after its supernode was solved");
      gathers++;
    }
    if (node->kind == SPTI_NODE_PUSH) {
      cr_assert_eq(node->first, 4);
      cr_assert_eq(node->width, 20);
      cr_assert_eq(node->listed, 16);
      pushes++;
    }
    if (node->kind == SPTI_NODE_PULL && node->first == 30) row_30 = node->listed == 1 && nodes.list[node->list] == 0;
  }
  cr_assert_eq(gathers, 1);
  cr_assert_eq(pushes, 1);
  cr_assert(row_30, "row 30 does not gather from column 0 alone");
  cr_assert_eq(nodes.dense, 20 * 19 / 2 + 20 * 16);
  spti_nodes_free(&nodes);
}

/* Columns 0..9 have the rows up to 29, columns 10..33 those up to 33: joined, the first ten get 40 zeros of 561 cells, 7.1 percent. */
Test(block_host_parts, neighbours_are_joined_within_the_bound_on_zeros) {
  static drawn d;
  fill(&d, 0, 10, 30);
  fill(&d, 10, 34, 34);
  const spti_view *v = make_view(&d, 34);
  for (int32_t zeros = 0; zeros < 12; zeros++) {
    spti_nodes nodes = find(v, 64, zeros);
    bool joined = zeros >= 8;
    cr_assert_eq(nodes.count, joined ? 1 : 2, "%d percent: %d nodes", zeros, nodes.count);
    cr_assert_eq(nodes.node[0].width, joined ? 34 : 10);
    cr_assert_eq(nodes.node[0].listed, joined ? 0 : 20);
    cr_assert_eq(nodes.node[0].exact, !joined);
    cr_assert_eq(nodes.added, joined ? 40 : 0);
    for (int e = 0; e < nodes.node[0].listed; e++) cr_assert_eq(nodes.list[nodes.node[0].list + e], 10 + e);
    spti_nodes_free(&nodes);
  }
}

/* ---- every value where the kernels look for it ---- */

static const spti_node *node_of(const spti_nodes *s, int32_t place, bool gathers) {
  for (int32_t c = 0; c < s->count; c++) {
    const spti_node *node = &s->node[c];
    if ((node->kind == SPTI_NODE_GATHER) == gathers && node->first <= place && place < node->first + node->width) return node;
  }
  return NULL;
}

static int32_t rank_of(const spti_nodes *s, const spti_node *node, int32_t place) {
  for (int32_t e = 0; e < node->listed; e++)
    if (s->list[node->list + e] == place) return e;
  cr_assert(false, "place %d is not in the list of the node of place %d", place, node->first);
  return 0;
}

/* The entry (row, column) in its packed form, by the description in the header alone. */
static double packed(const double *val, const spti_nodes *s, int32_t row, int32_t column) {
  const spti_node *node = node_of(s, column, false);
  if (node->kind == SPTI_NODE_PULL && row != column) {
    node = node_of(s, row, true);
    if (!node || s->pull) node = node_of(s, row, false);
  }
  if (node->kind == SPTI_NODE_GATHER) return val[node->value + rank_of(s, node, column)];
  const double *a = val + node->value;
  bool below = row >= node->first + node->width;
  int32_t rows = below ? node->listed : node->width, lead = node->kind == SPTI_NODE_PULL ? node->listed : 0;
  int32_t r = below ? rank_of(s, node, row) : row - node->first;
  int32_t c = column < node->first ? rank_of(s, node, column) : column - node->first + lead;
  if (below) a += spti_node_triangle_size(node);
  for (int32_t start = 0; start < rows; start += SPTI_NODE_STRIP) { /* strip by strip */
    int32_t height = rows - start < SPTI_NODE_STRIP ? rows - start : SPTI_NODE_STRIP;
    if (r < start + height) return a[c * height + r - start];
    a += (below ? node->width : lead + start + height) * height;
  }
  cr_assert(false, "row %d is not in its node", row);
  return 0;
}

/* The same bytes come from the lines of the other orientation. */
static void check_other_lines(const double *val, const spti_nodes *nodes, const sptrsm_matrix *matrix, sptrsm_op op) {
  const size_t bytes = (size_t)nodes->stored * sizeof *val;
  double *other = malloc(bytes + 1);
  cr_assert(other);
  memset(other, 0x55, bytes);
  spti_view v;
  cr_assert_eq(spti_matrix_view(&v, matrix, spti_op_from(op), nodes->pull ? SPTI_PUSH : SPTI_PULL, SPTRSM_HOST), SPTRSM_OK);
  spti_nodes_pack(other, nodes, &v);
  cr_assert(memcmp(other, val, bytes) == 0, "packed from the other lines");
  free(other);
}

/* Reads every entry of the view back from the nodes; nothing else may be stored. */
static void check_packing(bool *dense, const test_system *system, sptrsm_op op, spti_orientation wanted, int32_t zeros) {
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
  check_other_lines(val, &nodes, matrix, op);
  int32_t next = 0;
  for (int32_t c = 0; c < nodes.count; c++) {
    if (nodes.node[c].kind == SPTI_NODE_GATHER) continue;
    cr_assert_eq(nodes.node[c].first, next, "node %d does not follow the one before", c);
    next += nodes.node[c].width;
    *dense |= nodes.node[c].width > 1;
  }
  for (int32_t place = 0; place < v.n; place++) {
    int32_t line = spti_view_line(&v, place);
    for (int64_t p = v.ptr[line]; p < v.ptr[line + 1]; p++) {
      int32_t other = spti_view_line(&v, v.idx[p]);
      double got = packed(val, &nodes, v.pull ? place : other, v.pull ? other : place);
      cr_assert_eq(got, ((const double *)v.val)[p], "line %d, entry %lld", line, (long long)p);
      cr_assert(got != 0 || signbit(got), "line %d, entry %lld: a stored zero is 0, not -0", line, (long long)p);
      expected += fabs(got);
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

static void store_zeros(test_system *system) {
  for (int32_t line = 0; line < system->T.n; line++)
    for (int64_t p = system->T.ptr[line]; p < system->T.ptr[line + 1]; p++)
      if (system->T.idx[p] != line && p % 5 == 0) ((double *)system->T.val)[p] = 0;
}

Test(block_host_parts, every_entry_is_packed_once_in_all_orientations) {
  bool dense = false;
  for (int pattern = 0; pattern < TEST_PATTERNS; pattern++)
    for (int kind = 0; kind < 8; kind++) {
      test_system system = test_system_make((test_pattern)pattern, 75, kind & 1 ? SPTRSM_CSR : SPTRSM_CSC, SPTRSM_F64,
                                            kind & 2 ? SPTRSM_UPPER : SPTRSM_LOWER, TEST_NONUNIT, 7);
      store_zeros(&system);
      check_packing(&dense, &system, kind & 4 ? SPTRSM_T : SPTRSM_N, SPTI_PULL, 10 * kind);
      check_packing(&dense, &system, kind & 4 ? SPTRSM_T : SPTRSM_N, SPTI_PUSH, 10 * kind);
      test_system_free(&system);
    }
  cr_assert(dense, "no supernode was tested");
}

/* ---- solutions ---- */

static void solve_with(test_block *X, const test_system *system, sptrsm_op op, const char *method, const test_block *B) {
  test_solve(&system->T, &(test_choice){.method = method, .op = op}, &B->block, &X->block);
}

/* A full triangle in which rows 0, 3, 6 ... need only each other: supernodes of all, in which a few entries are added. */
static test_system a_third_apart(int32_t n, sptrsm_dtype dtype) {
  test_system system = test_system_make(TEST_FULL, n, SPTRSM_CSC, dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
  int64_t *ptr = (int64_t *)system.T.ptr, kept = 0;
  int32_t *idx = (int32_t *)system.T.idx;
  const size_t bytes = sptrsm_dtype_bytes(dtype);
  char *val = (char *)system.T.val;
  for (int32_t j = 0, p = 0; j < n; j++) {
    for (; p < (j + 1) * n - (j + 1) * j / 2; p++) {
      if (idx[p] % 3 == 0 && j % 3 != 0) continue;
      idx[kept] = idx[p];
      memmove(val + (size_t)kept++ * bytes, val + (size_t)p * bytes, bytes);
    }
    ptr[j + 1] = kept;
  }
  return system;
}

/* Nodes of the plan, as its description says. */
static int nodes_of(const test_solver *s) {
  sptrsm_info info = {.size = sizeof info};
  int nodes = 0;
  cr_assert_eq(sptrsm_plan_info(&info, s->plan), SPTRSM_OK, "%s", sptrsm_last_error());
  const char *at = strstr(info.parameters, "nodes=");
  cr_assert(at && sscanf(at, "nodes=%d", &nodes) == 1, "%s", info.parameters);
  return nodes;
}

/* Right-hand sides hold a NaN and an infinity, two of 19, or the only one a NaN: where `serial` has finite numbers block must have them
 * too, although supernodes with many added zeros multiply these with the NaN. */
static void check_poison(sptrsm_dtype dtype, sptrsm_op op, int32_t nrhs) {
  const int32_t n = 90;
  test_system system = a_third_apart(n, dtype);
  test_block B = test_block_make(n, nrhs, dtype, SPTRSM_ROW_MAJOR, 0), clean = test_block_copy(&B), X = test_block_copy(&B);
  test_block_fill(&B, 5);
  solve_with(&clean, &system, op, "block:zeros=90", &B);
  test_block_set(&B, op == SPTRSM_N ? 41 : 42, 3 % nrhs, NAN, 0);
  if (nrhs > 17) test_block_set(&B, op == SPTRSM_N ? 40 : 39, 17, INFINITY, 0);
  test_block expected = test_block_copy(&B);
  solve_with(&expected, &system, op, "serial", &B);
  test_solver solver = test_solver_open(&system.T, &(test_choice){.method = "block:zeros=90", .op = op});
  cr_assert_lt(nodes_of(&solver), n / 8, "%d nodes are hardly any supernodes", nodes_of(&solver));
  test_solver_solve(&solver, &B.block, &X.block);
  test_solver_close(&solver);
  int spoiled = 0;
  for (int32_t i = 0; i < n; i++)
    for (int32_t k = 0; k < nrhs; k++) {
      double re, im, serial_re, serial_im, clean_re, clean_im;
      test_block_get(&re, &im, &X, i, k);
      test_block_get(&serial_re, &serial_im, &expected, i, k);
      test_block_get(&clean_re, &clean_im, &clean, i, k);
      bool finite = isfinite(serial_re) && isfinite(serial_im);
      cr_assert_eq(isfinite(re) && isfinite(im), finite, "%s: x(%d,%d) = %g%+gi, serial has %g%+gi", test_dtype_names[dtype], i, k, re, im,
                   serial_re, serial_im);
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
    for (int op = SPTRSM_N; op <= SPTRSM_T; op++)
      for (int32_t nrhs = 1; nrhs <= 19; nrhs += 18) check_poison((sptrsm_dtype)dtype, (sptrsm_op)op, nrhs);
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

/* ---- trees of several threads ---- */

static spti_blob carried(spti_blob_mode mode, void *memory, size_t bytes, spti_node_trees *trees, const spti_nodes *nodes) {
  spti_blob blob = {.mode = mode, .memory = memory, .bytes = bytes};
  spti_node_trees_carry(trees, &blob, nodes);
  return blob;
}

static void read_trees(sptrsm_status wanted, void *memory, size_t bytes, const spti_nodes *nodes, const char *what) {
  spti_node_trees trees = {.schedule = {.least = 1, .team = 1}};
  const spti_blob blob = carried(SPTI_BLOB_READ, memory, bytes, &trees, nodes);
  cr_assert_eq(blob.status, wanted, "%s: %s", what, sptrsm_status_name(blob.status));
  spti_node_trees_free(&trees);
}

/* The places at which the list of a node is cut for the layers must lie in it and not decrease. */
Test(block_host_parts, cuts_of_lists_outside_of_them_are_refused) {
  test_system system = test_system_make(TEST_TREE, 60000, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
  const sptrsm_sparse *T = &system.T;
  const spti_view v = {.n = T->n, .nnz = T->ptr[T->n], .dtype = SPTRSM_F64, .ptr = T->ptr, .idx = T->idx, .val = T->val, .head = 1};
  spti_nodes nodes = find(&v, 64, 20);
  spti_node_trees built, read = {.schedule = {.least = 1, .team = 1}};
  cr_assert_eq(spti_node_trees_build(&built, &nodes), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(built.schedule.team > 1 && built.part != NULL);
  const size_t bytes = carried(SPTI_BLOB_MEASURE, NULL, 0, &built, &nodes).used;
  void *memory = aligned_alloc(SPTI_BLOB_ALIGNMENT, (bytes + SPTI_BLOB_ALIGNMENT - 1) / SPTI_BLOB_ALIGNMENT * SPTI_BLOB_ALIGNMENT);
  cr_assert_eq(carried(SPTI_BLOB_WRITE, memory, bytes, &built, &nodes).status, SPTRSM_OK);
  cr_assert_eq(carried(SPTI_BLOB_READ, memory, bytes, &read, &nodes).status, SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(built.bytes == bytes && read.bytes == bytes, "%zu, then %zu bytes", built.bytes, read.bytes);
  int32_t c = 0;
  while (c < nodes.count && !(nodes.node[c].kind == SPTI_NODE_PUSH && nodes.node[c].listed > 0)) c++;
  cr_assert_lt(c, nodes.count, "no node pushes");
  int32_t *part = read.part + (size_t)c * SPTI_FOREST_LAYERS, *last = part + SPTI_FOREST_LAYERS - 1, kept = *part, most = *last;
  *part = -1;
  read_trees(SPTRSM_ERR_ARGUMENT, memory, bytes, &nodes, "a cut before the list");
  *part = kept, *last = nodes.node[c].listed + 1;
  read_trees(SPTRSM_ERR_ARGUMENT, memory, bytes, &nodes, "a cut behind the list");
  *part = 1, *last = 0;
  read_trees(SPTRSM_ERR_ARGUMENT, memory, bytes, &nodes, "a cut before an earlier one");
  *part = kept, *last = most;
  read_trees(SPTRSM_OK, memory, bytes, &nodes, "the cuts as they were");
  spti_node_trees_free(&read);
  spti_node_trees_free(&built);
  spti_nodes_free(&nodes);
  free(memory);
  test_system_free(&system);
}

/* Five rows by themselves, of which a damaged plan has four. */
Test(block_host_parts, supernodes_of_too_few_rows_are_refused) {
  static drawn d;
  static _Alignas(SPTI_BLOB_ALIGNMENT) char memory[1024];
  const spti_view *v = make_view(&d, 5);
  spti_nodes nodes = find(v, 20, 0), read = {0};
  cr_assert(nodes.count == 5 && nodes.list_length == 0);
  spti_blob blob = {.mode = SPTI_BLOB_WRITE, .memory = memory, .bytes = sizeof memory};
  spti_nodes_carry(&nodes, &blob, v);
  cr_assert_eq(blob.status, SPTRSM_OK, "%s", sptrsm_last_error());
  const int64_t fewer = 4;
  memcpy(memory + sizeof fewer, &fewer, sizeof fewer); /* behind the order */
  blob = (spti_blob){.mode = SPTI_BLOB_READ, .memory = memory, .bytes = sizeof memory};
  spti_nodes_carry(&read, &blob, v);
  cr_assert_eq(blob.status, SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "its supernodes have 4 of 5 rows"), "%s", sptrsm_last_error());
  spti_nodes_free(&nodes);
}
