/* reach.c -- sparse right-hand sides and few wanted rows of X: finds the rows of a factor set that matter, and cuts out their part.
 *
 * A solve with op(T) makes x nonzero in the rows that b reaches in the graph of op(T) [gilbert1988]. A row of x depends on the rows that
 * reach it, which are its reach in the reversed graph. From the first stage of a system to the last, the set of rows that can be nonzero
 * grows; from the last to the first, the set of rows that are needed grows. A stage works on the intersection of both sets. The part
 * has the rows that any stage works on. Each of its triangles has the entries between the rows that its own stage works on, and a one
 * on the diagonal of the other rows. The wanted rows of X are exact:
 *   - all entries of a needed row have needed columns, and an entry whose column is not reached multiplies a zero;
 *   - in a row that a stage does not work on, x is zero or nothing that is wanted depends on it.
 * Wins where the reach is small compared with n; rows near the root of the elimination tree are in every reach. Cost: O(n + entries) on
 * the host. Deterministic. */
#include "core/reach/reach.h"

#include <string.h>
#include <sptrsm_reach.h>

#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/direct/parts.h"
#include "core/matrix/matrix.h"

enum { ROW_SIDE, COL_SIDE };

struct sptrsm_reach {
  spti_reach_rows r;
  spti_system_steps steps;
  int32_t *outer[2];      /* [n] by side: the row of B or X that a row of the factors stands for; NULL: the same row */
  int32_t *outer_rows[2]; /* [m] by side: the rows of B or X in the part, ascending */
  int64_t entries, all_entries;
  sptrsm_sparse L, U;
  void *D[2];
  int32_t *perm[2];
  double *scale[2];
  sptrsm_factors part;
};

/* ---- sets of rows ---- */

static bool couples(const sptrsm_factors *f, int32_t i) {
  switch (f->L->dtype) {
  case SPTRSM_F32: return ((const float *)f->D_sub)[i] != 0;
  case SPTRSM_F64: return ((const double *)f->D_sub)[i] != 0;
  case SPTRSM_C64: return ((const float _Complex *)f->D_sub)[i] != 0;
  default: return ((const double _Complex *)f->D_sub)[i] != 0;
  }
}

/* Rows of a 2x2 block of D belong together. */
static void close_pairs(spti_row_set *set, const sptrsm_factors *f) {
  for (int32_t i = 0; f->D_sub && i + 1 < f->L->n; i++)
    if (couples(f, i)) set[i] = set[i + 1] = set[i] | set[i + 1];
}

/* The triangle of a stage, and whether it is used transposed: U = L^T and U = L^H are read from L. */
static const sptrsm_sparse *triangle_of(const sptrsm_factors *f, const spti_system_stage *stage, bool *transpose) {
  bool mirrored = stage->factor == SPTI_U && f->u_kind != SPTRSM_U_GIVEN;
  *transpose = stage->op.transpose != mirrored;
  return stage->factor == SPTI_U && !mirrored ? f->U : f->L;
}

/* Adds the rows that the set reaches in this stage or, with `needed`, the rows on which it depends. */
static void close_stage(spti_row_set *set, const sptrsm_factors *f, const spti_system_stage *stage, bool needed,
                        const sptrsm_reach_request *request) {
  if (stage->factor == SPTI_D) {
    close_pairs(set, f);
    return;
  }
  bool transpose;
  const sptrsm_sparse *T = triangle_of(f, stage, &transpose);
  spti_reach_close(set, T, transpose != needed, request);
}

/* ---- the request ---- */

void sptrsm_reach_request_init_sized(sptrsm_reach_request *request, size_t size) {
  const sptrsm_reach_request defaults = {.nonzero_count = SPTRSM_ALL_ROWS, .wanted_count = SPTRSM_ALL_ROWS};
  spti_sized_init(request, size, &defaults, sizeof defaults);
}

static sptrsm_status check_list(const int32_t *rows, int64_t count, int32_t n, const char *name) {
  if (count == SPTRSM_ALL_ROWS) return SPTRSM_OK;
  if (count < 0 || (!rows && count > 0))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %lld rows at %s", name, (long long)count, rows ? "an array" : "NULL");
  if (count > n) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %lld rows of %d; drop duplicates", name, (long long)count, n);
  for (int64_t k = 0; k < count; k++) {
    if (rows[k] < 0 || rows[k] >= n)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "%s[%lld] = %d is not a row of 0..%d", name, (long long)k, rows[k], n - 1);
    if (k > 0 && rows[k] <= rows[k - 1])
      return spti_fail(SPTRSM_ERR_ARGUMENT, "%s[%lld] = %d comes after %d; sort the rows and drop duplicates", name, (long long)k, rows[k],
                       rows[k - 1]);
  }
  return SPTRSM_OK;
}

static sptrsm_status check_triangle(const sptrsm_sparse *T, const char *name, const sptrsm_reach_request *request) {
  if (T->place != SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "%s is in device memory; the rows it reaches are found on the host: copy it there", name);
  return spti_name_object(spti_reach_validate(T, request), name);
}

static sptrsm_status check_request(const sptrsm_factors *f, const sptrsm_reach_request *request) {
  if (!sptrsm_system_name(request->system)) return spti_fail(SPTRSM_ERR_ARGUMENT, "reach: unknown system %d", (int)request->system);
  if (request->op != SPTRSM_N && request->op != SPTRSM_T && request->op != SPTRSM_C)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "reach: unknown op %d", (int)request->op);
  SPTI_TRY(check_triangle(f->L, "L", request));
  if (f->U) SPTI_TRY(check_triangle(f->U, "U", request));
  int32_t n = f->L->n;
  sptrsm_dtype dtype = f->L->dtype;
  SPTI_TRY(spti_D_check(f->D, f->D_sub, f->D_hermitian != 0, n, dtype));
  SPTI_TRY(spti_scale_check(f->scale_row, f->row_op, n, dtype, dtype, "scale_row"));
  SPTI_TRY(spti_scale_check(f->scale_col, f->col_op, n, dtype, dtype, "scale_col"));
  SPTI_TRY(check_list(request->nonzero, request->nonzero_count, n, "nonzero"));
  return check_list(request->wanted, request->wanted_count, n, "wanted");
}

/* ---- from rows of B and X to rows of the factors, and back ---- */

/* Row i of the factors is row perm[i] of B for P (gather) and row perm[i] of X for Q (scatter). */
static sptrsm_status make_outer(sptrsm_reach *reach, int side) {
  const sptrsm_factors *f = reach->r.f;
  const int32_t *perm = side == ROW_SIDE ? f->perm_row : f->perm_col;
  sptrsm_convention convention = side == ROW_SIDE ? f->row_convention : f->col_convention;
  const char *name = side == ROW_SIDE ? "perm_row" : "perm_col";
  sptrsm_convention direct = side == ROW_SIDE ? SPTRSM_GATHER : SPTRSM_SCATTER;
  if (!perm) return SPTRSM_OK;
  if (convention != SPTRSM_GATHER && convention != SPTRSM_SCATTER)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: unknown convention %d of %s", (int)convention, name);
  SPTI_TRY(spti_host_alloc(&reach->outer[side], reach->r.n, sizeof *perm, "permutation"));
  SPTI_TRY(spti_permutation_invert(reach->outer[side], perm, reach->r.n, name));
  if (convention == direct && reach->r.n > 0) memcpy(reach->outer[side], perm, (size_t)reach->r.n * sizeof *perm);
  return SPTRSM_OK;
}

static const int32_t *outer_of(const sptrsm_reach *reach, const spti_system_edge *edge) {
  return edge->side == SPTI_NO_SIDE ? NULL : reach->outer[edge->side == SPTI_ROW_SIDE ? ROW_SIDE : COL_SIDE];
}

/* set: the rows of the factors that stand for the listed rows of B or X. */
static sptrsm_status take_rows(spti_row_set *set, const sptrsm_reach *reach, const spti_system_edge *edge, const int32_t *list,
                               int64_t count) {
  int32_t n = reach->r.n;
  const int32_t *outer = outer_of(reach, edge);
  spti_row_set *listed;
  SPTI_TRY(spti_host_alloc(&listed, n, 1, "set of rows"));
  memset(listed, count == SPTRSM_ALL_ROWS, (size_t)n);
  for (int64_t k = 0; k < count; k++) listed[list[k]] = 1;
  for (int32_t i = 0; i < n; i++) set[i] = listed[outer ? outer[i] : i];
  spti_host_free(listed);
  return SPTRSM_OK;
}

/* ---- which rows ---- */

static bool takes_part(const sptrsm_factors *f, const spti_system_stage *stage) { return stage->factor != SPTI_D || f->D; }

/* Each stage's rows that can be nonzero. `rows` are the nonzero rows of the right-hand side, and on return those of the solution. */
static sptrsm_status spread(sptrsm_reach *reach, spti_row_set *rows, const sptrsm_reach_request *request) {
  for (int s = 0; s < reach->steps.count; s++) {
    const spti_system_stage *stage = &reach->steps.stages[s];
    if (!takes_part(reach->r.f, stage)) continue;
    close_stage(rows, reach->r.f, stage, false, request);
    spti_row_set **worked = &reach->r.worked[stage->factor];
    SPTI_TRY(spti_host_alloc(worked, reach->r.n, 1, "set of rows"));
    memcpy(*worked, rows, (size_t)reach->r.n);
  }
  return SPTRSM_OK;
}

/* Keeps of each stage's rows those on which the wanted `rows` depend. */
static void narrow(sptrsm_reach *reach, spti_row_set *rows, const sptrsm_reach_request *request) {
  for (int s = reach->steps.count - 1; s >= 0; s--) {
    const spti_system_stage *stage = &reach->steps.stages[s];
    if (!takes_part(reach->r.f, stage)) continue;
    close_stage(rows, reach->r.f, stage, true, request);
    for (int32_t i = 0; i < reach->r.n; i++) reach->r.worked[stage->factor][i] &= rows[i];
  }
}

/* any: the rows of the part. */
static sptrsm_status number_rows(spti_reach_rows *r, const spti_row_set *any) {
  for (int32_t i = 0; i < r->n; i++) r->m += any[i];
  SPTI_TRY(spti_host_alloc(&r->number, r->n, sizeof *r->number, "rows of the reach"));
  SPTI_TRY(spti_host_alloc(&r->rows, r->m, sizeof *r->rows, "rows of the reach"));
  for (int32_t i = 0, m = 0; i < r->n; i++) {
    r->number[i] = any[i] ? m : -1;
    if (any[i]) r->rows[m++] = i;
  }
  return SPTRSM_OK;
}

static sptrsm_status find_rows(sptrsm_reach *reach, const sptrsm_reach_request *request) {
  spti_reach_rows *r = &reach->r;
  spti_row_set *from = NULL, *to = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&from, r->n, 1, "set of rows"));
  SPTI_TRY_DONE(spti_host_alloc(&to, r->n, 1, "set of rows"));
  SPTI_TRY_DONE(take_rows(from, reach, &reach->steps.first, request->nonzero, request->nonzero_count));
  SPTI_TRY_DONE(take_rows(to, reach, &reach->steps.last, request->wanted, request->wanted_count));
  SPTI_TRY_DONE(spread(reach, from, request));
  for (int32_t i = 0; i < r->n; i++) from[i] &= to[i]; /* for a system without stages, such as P */
  narrow(reach, to, request);
  for (int factor = 0; factor < 3; factor++)
    for (int32_t i = 0; r->worked[factor] && i < r->n; i++) from[i] |= r->worked[factor][i];
  SPTI_TRY_DONE(number_rows(r, from));
done:
  spti_host_free(from);
  spti_host_free(to);
  return status;
}

/* ---- the part ---- */

/* The rows of B or X of this side, ascending, and the part's permutation and scaling, where the factors have them. */
static sptrsm_status cut_side(sptrsm_reach *reach, int side) {
  const spti_reach_rows *r = &reach->r;
  const int32_t *outer = reach->outer[side];
  const double *scale = side == ROW_SIDE ? r->f->scale_row : r->f->scale_col;
  int32_t *rank;
  SPTI_TRY(spti_host_alloc(&reach->outer_rows[side], r->m, sizeof *outer, "rows of the reach"));
  if (outer) SPTI_TRY(spti_host_alloc(&reach->perm[side], r->m, sizeof *outer, "permutation of the reach"));
  if (scale) SPTI_TRY(spti_host_alloc(&reach->scale[side], r->m, sizeof *scale, "scaling of the reach"));
  SPTI_TRY(spti_host_alloc(&rank, r->n, sizeof *rank, "rows of the reach"));
  for (int32_t i = 0; i < r->n; i++) rank[i] = -1;
  for (int32_t k = 0; k < r->m; k++) rank[outer ? outer[r->rows[k]] : r->rows[k]] = k;
  for (int32_t i = 0, at = 0; i < r->n; i++) {
    if (rank[i] < 0) continue;
    if (outer) reach->perm[side][rank[i]] = at;
    if (scale) reach->scale[side][at] = scale[i];
    reach->outer_rows[side][at++] = i;
  }
  spti_host_free(rank);
  return SPTRSM_OK;
}

/* L and U. If no stage uses L, the part's L is the identity; if no stage uses U, the part has none. */
static sptrsm_status cut_triangles(sptrsm_reach *reach) {
  const spti_reach_rows *r = &reach->r;
  const sptrsm_factors *f = r->f;
  sptrsm_factors *part = &reach->part;
  const spti_row_set *l = r->worked[SPTI_L], *u = r->worked[SPTI_U];
  bool mirrored = f->u_kind != SPTRSM_U_GIVEN, alike = l && u && memcmp(l, u, (size_t)r->n) == 0;
  bool keeps_kind = mirrored && (!l || !u || alike);
  part->L = &reach->L;
  part->u_kind = keeps_kind ? f->u_kind : SPTRSM_U_GIVEN;
  spti_row_set *none;
  SPTI_TRY(spti_host_alloc(&none, r->n, 1, "set of rows"));
  memset(none, 0, (size_t)r->n);
  sptrsm_status status = spti_reach_cut_triangle(&reach->L, r, f->L, l ? l : mirrored && u ? u : none, false);
  spti_host_free(none);
  if (status != SPTRSM_OK || !u || keeps_kind) return status;
  part->U = &reach->U;
  SPTI_TRY(spti_reach_cut_triangle(&reach->U, r, mirrored ? f->L : f->U, u, f->u_kind == SPTRSM_U_IS_LH));
  if (!mirrored) return SPTRSM_OK;
  reach->U.format = f->L->format == SPTRSM_CSR ? SPTRSM_CSC : SPTRSM_CSR; /* the same arrays, read as the transpose */
  reach->U.uplo = SPTRSM_UPPER;
  return SPTRSM_OK;
}

static void count_entries(sptrsm_reach *reach) {
  const sptrsm_factors *f = reach->r.f, *part = &reach->part;
  for (int s = 0; s < reach->steps.count; s++) {
    const spti_system_stage *stage = &reach->steps.stages[s];
    if (stage->factor == SPTI_D) continue;
    bool unused;
    const sptrsm_sparse *whole = triangle_of(f, stage, &unused), *kept = triangle_of(part, stage, &unused);
    reach->all_entries += whole->ptr[whole->n];
    reach->entries += kept->ptr[kept->n];
  }
}

static sptrsm_status cut(sptrsm_reach *reach) {
  const sptrsm_factors *f = reach->r.f;
  sptrsm_factors *part = &reach->part;
  sptrsm_factors_init(part);
  SPTI_TRY(cut_side(reach, ROW_SIDE));
  SPTI_TRY(cut_side(reach, COL_SIDE));
  SPTI_TRY(cut_triangles(reach));
  if (reach->r.worked[SPTI_D]) {
    SPTI_TRY(spti_reach_cut_diagonal(&reach->D[0], &reach->r, f->D, 0));
    if (f->D_sub) SPTI_TRY(spti_reach_cut_diagonal(&reach->D[1], &reach->r, f->D_sub, 1));
  }
  part->D = reach->D[0];
  part->D_sub = reach->D[1];
  part->D_hermitian = f->D_hermitian;
  part->perm_row = reach->perm[ROW_SIDE];
  part->perm_col = reach->perm[COL_SIDE];
  part->col_convention = SPTRSM_SCATTER; /* row_convention stays SPTRSM_GATHER, the default */
  part->scale_row = reach->scale[ROW_SIDE];
  part->scale_col = reach->scale[COL_SIDE];
  part->row_op = f->row_op;
  part->col_op = f->col_op;
  count_entries(reach);
  return SPTRSM_OK;
}

/* ---- creation and destruction ---- */

static sptrsm_status fill(sptrsm_reach *reach, const sptrsm_reach_request *request) {
  SPTI_TRY(make_outer(reach, ROW_SIDE));
  SPTI_TRY(make_outer(reach, COL_SIDE));
  SPTI_TRY(find_rows(reach, request));
  return cut(reach);
}

static sptrsm_status create(sptrsm_reach **out, const sptrsm_factors *f, const sptrsm_reach_request *request) {
  SPTI_TRY(check_request(f, request));
  sptrsm_reach *reach;
  SPTI_TRY(spti_host_alloc(&reach, 1, sizeof *reach, "reach"));
  *reach = (sptrsm_reach){.r = {.f = f, .n = f->L->n}, .steps = spti_system_solve_steps(request->system, request->op)};
  bool has_U = f->U || f->u_kind != SPTRSM_U_GIVEN;
  sptrsm_status status = SPTRSM_OK;
  for (int s = 0; s < reach->steps.count; s++)
    if (reach->steps.stages[s].factor == SPTI_U && !has_U)
      status = spti_fail(SPTRSM_ERR_ARGUMENT, "system %s needs U; the factors have only L", sptrsm_system_name(request->system));
  if (status == SPTRSM_OK) status = fill(reach, request);
  reach->r.f = NULL; /* the caller may free the factors now */
  if (status == SPTRSM_OK) *out = reach;
  else sptrsm_reach_destroy(reach);
  return status;
}

sptrsm_status sptrsm_reach_create(sptrsm_reach **out, const sptrsm_factors *factors, const sptrsm_reach_request *request) {
  if (!out || !factors || !request) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_reach_create: out, factors or request is NULL");
  sptrsm_factors f;
  sptrsm_reach_request r;
  sptrsm_reach_request_init(&r);
  SPTI_TRY(spti_sized_read(&r, sizeof r, request, SPTI_SIZE_UP_TO(sptrsm_reach_request, wanted_count), "sptrsm_reach_request"));
  SPTI_TRY(spti_factors_read(&f, factors));
  return create(out, &f, &r);
}

static void free_triangle(const sptrsm_sparse *T) {
  spti_host_free((void *)T->ptr);
  spti_host_free((void *)T->idx);
  spti_host_free((void *)T->val);
}

void sptrsm_reach_destroy(sptrsm_reach *reach) {
  if (!reach) return;
  for (int factor = 0; factor < 3; factor++) spti_host_free(reach->r.worked[factor]);
  spti_host_free(reach->r.rows);
  spti_host_free(reach->r.number);
  for (int side = 0; side < 2; side++) {
    spti_host_free(reach->outer[side]);
    spti_host_free(reach->outer_rows[side]);
    spti_host_free(reach->perm[side]);
    spti_host_free(reach->scale[side]);
    spti_host_free(reach->D[side]);
  }
  free_triangle(&reach->L);
  free_triangle(&reach->U);
  spti_host_free(reach);
}

static const int32_t *rows_of(const sptrsm_reach *reach, const spti_system_edge *edge) {
  return edge->side == SPTI_NO_SIDE ? reach->r.rows : reach->outer_rows[edge->side == SPTI_ROW_SIDE ? ROW_SIDE : COL_SIDE];
}

sptrsm_status sptrsm_reach_part_of(sptrsm_reach_part *out, const sptrsm_reach *reach) {
  if (!out || !reach) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_reach_part_of: out or reach is NULL");
  SPTI_TRY(
      spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_reach_part, all_entries), sizeof *out, "sptrsm_reach_part_of", "sptrsm_reach_part"));
  const sptrsm_reach_part part = {.n = reach->r.n,
                                  .m = reach->r.m,
                                  .factors = &reach->part,
                                  .b_rows = rows_of(reach, &reach->steps.first),
                                  .x_rows = rows_of(reach, &reach->steps.last),
                                  .entries = reach->entries,
                                  .all_entries = reach->all_entries};
  spti_sized_write(out, &part, sizeof part);
  return SPTRSM_OK;
}
