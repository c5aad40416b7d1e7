/* batch.c -- see batch.h. Where the two files differ in type, the narrower one is read again in the wider. */
#include "common/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool batch_parse(int key, const char *text, batch_request *r) {
  switch (key) {
  case BATCH_ITEMS:
    r->has_range = true;
    cli_range("--items", text, &r->begin, &r->end);
    return true;
  case BATCH_MASK: r->mask = text; return true;
  default: return false;
  }
}

int batch_find(sptrsm_batch_kind *kind, const char *factors, const batch_request *r, const sptrsm_io_options *io) {
  int64_t count;
  int code = cli_fail(sptrsm_file_batch_find(kind, &count, factors, io));
  if (code != CLI_OK || *kind != SPTRSM_BATCH_NONE || (!r->has_range && r->mask == NULL)) return code;
  cli_error("%s: is one system, no batch; leave %s out", factors, r->has_range ? "--items" : "--mask");
  return CLI_USAGE;
}

cli_text batch_name(const sptrsm_file_batch *b, int64_t i) {
  cli_text t;
  if (b->names) snprintf(t.text, sizeof t.text, "item %lld (%.40s)", (long long)(b->first + i), cli_shown(b->names[i]));
  else snprintf(t.text, sizeof t.text, "item %lld", (long long)(b->first + i));
  return t;
}

/* ---- one item ---- */

static const void *part_of(const void *all, int64_t stride, int64_t i, size_t each, const void *shared) {
  return all ? (const char *)all + (size_t)(i * stride) * each : shared;
}

/* L and U of the item, with its values. */
static void take_values(batch_item *out, const sptrsm_file_batch *b, int64_t i) {
  const sptrsm_batch_values *v = &b->values;
  sptrsm_factors *f = &out->F.factors;
  const size_t each = sptrsm_dtype_bytes(out->F.L_tri.dtype);
  out->F.L_tri.val = part_of(v->L, v->L_stride, i, each, out->F.L_tri.val);
  out->F.U_tri.val = part_of(v->U, v->U_stride, i, each, out->F.U_tri.val);
  f->D = part_of(v->D, v->D_stride, i, each, f->D);
  f->D_sub = part_of(v->D_sub, v->D_sub_stride, i, each, f->D_sub);
  f->scale_row = part_of(v->scale_row, v->scale_row_stride, i, sizeof(double), f->scale_row);
  f->scale_col = part_of(v->scale_col, v->scale_col_stride, i, sizeof(double), f->scale_col);
  if (out->F.A) out->A.val = (char *)out->A.val + (size_t)(i * b->A_stride) * each;
}

void batch_item_of(batch_item *out, const sptrsm_file_batch *b, int64_t i) {
  const bool uniform = b->kind == SPTRSM_BATCH_UNIFORM;
  out->F = *b->items[uniform ? 0 : i];
  if (out->F.A) out->A = *out->F.A, out->F.A = &out->A;
  if (uniform) take_values(out, b, i);
  out->F.factors.L = &out->F.L_tri;
  if (out->F.factors.U) out->F.factors.U = &out->F.U_tri;
}

sptrsm_block batch_block_of(const batch_problem *p, const sptrsm_batch_block *X, int64_t i) {
  sptrsm_block out = {.ld = X->ld_of ? X->ld_of[i] : X->ld,
                      .n = p->n[i],
                      .nrhs = X->nrhs_of ? X->nrhs_of[i] : X->nrhs,
                      .dtype = X->dtype,
                      .layout = X->layout,
                      .place = X->place};
  out.data = X->data_of ? X->data_of[i] : (char *)X->data + i * X->stride * (int64_t)sptrsm_dtype_bytes(X->dtype);
  return out;
}

/* ---- values that are not finite ---- */

/* Value p, or of a complex one the part that is not finite, if one is not. */
static double real_part(const void *val, sptrsm_dtype dtype, int64_t p) {
  const bool single = dtype == SPTRSM_F32 || dtype == SPTRSM_C64, is_complex = dtype == SPTRSM_C64 || dtype == SPTRSM_C128;
  const int64_t at = is_complex ? 2 * p : p;
  const double first = single ? (double)((const float *)val)[at] : ((const double *)val)[at];
  if (!is_complex || !isfinite(first)) return first;
  return single ? (double)((const float *)val)[at + 1] : ((const double *)val)[at + 1];
}

/* What is odd about a value. A number of the file may be too large for single precision. */
static const char *oddness(double x, sptrsm_dtype dtype) {
  const bool single = dtype == SPTRSM_F32 || dtype == SPTRSM_C64;
  if (isnan(x)) return "nan";
  if (x > 0) return single ? "inf (in single precision; --dtype f64 or c128 holds more)" : "inf";
  return single ? "-inf (in single precision; --dtype f64 or c128 holds more)" : "-inf";
}

bool batch_odd_entry(char out[BATCH_VALUE_TEXT], const sptrsm_file_matrix *M) {
  const bool by_rows = M->format == SPTRSM_CSR;
  for (int64_t l = 0; l < (by_rows ? M->rows : M->cols); l++)
    for (int64_t p = M->ptr[l]; p < M->ptr[l + 1]; p++) {
      const double x = real_part(M->val, M->dtype, p);
      if (isfinite(x)) continue;
      snprintf(out, BATCH_VALUE_TEXT, "%s: entry (%lld,%lld) is %s", M->where, (long long)(by_rows ? l : M->idx[p]),
               (long long)(by_rows ? M->idx[p] : l), oddness(x, M->dtype));
      return true;
    }
  return false;
}

bool batch_odd_number(char out[BATCH_VALUE_TEXT], const char *where, const sptrsm_block *b, int64_t column) {
  for (int64_t i = 0; i < b->n; i++)
    for (int64_t k = 0; k < b->nrhs; k++) {
      const double x = real_part(b->data, b->dtype, b->layout == SPTRSM_ROW_MAJOR ? i * b->ld + k : i + k * b->ld);
      if (isfinite(x)) continue;
      snprintf(out, BATCH_VALUE_TEXT, "%s: row %lld of column %lld is %s", where, (long long)i, (long long)(column + k),
               oddness(x, b->dtype));
      return true;
    }
  return false;
}

/* The matrix of a triangle with the values of an item. */
static bool odd_triangle(char out[BATCH_VALUE_TEXT], const sptrsm_file_matrix *M, const sptrsm_sparse *T) {
  sptrsm_file_matrix with_values = *M;
  with_values.val = (void *)T->val;
  return batch_odd_entry(out, &with_values);
}

bool batch_odd_value(char out[BATCH_VALUE_TEXT], const sptrsm_file_factors *F) {
  return odd_triangle(out, F->L, &F->L_tri) || (F->U && odd_triangle(out, F->U, &F->U_tri)) || (F->A && batch_odd_entry(out, F->A));
}

/* ---- the mask ---- */

static int take_mask(batch_problem *p, const sptrsm_file_block *stored) {
  const sptrsm_file_batch *b = p->factors;
  const double *numbers = stored->block.data;
  if (stored->block.nrhs != 1 || stored->block.n != b->file_count) {
    cli_error("%s: is %d x %lld, but %s has %lld items; a mask has one number for each", stored->where, stored->block.n,
              (long long)stored->block.nrhs, b->where, (long long)b->file_count);
    return CLI_INPUT;
  }
  p->mask = malloc((size_t)b->count + 1);
  if (p->mask == NULL) return cli_no_memory("the mask");
  for (int64_t i = 0; i < b->count; i++) {
    const double x = numbers[b->first + i];
    if (!(x == 0 || x == 1)) {
      cli_error("%s: [%lld] is %g; a mask has 1 for items that are solved, 0 for others", stored->where, (long long)(b->first + i), x);
      return CLI_INPUT;
    }
    p->mask[i] = x == 1;
  }
  return CLI_OK;
}

static int load_mask(batch_problem *p, const char *where) {
  sptrsm_io_options io = p->request.io;
  sptrsm_file_block *stored = NULL;
  if (where == NULL) return CLI_OK;
  io.dtype = SPTRSM_F64;
  io.order = SPTRSM_AS_STORED;
  io.col_begin = 0;
  io.col_end = -1;
  int code = cli_fail(sptrsm_file_block_load(&stored, where, -1, &io));
  if (code == CLI_OK) code = take_mask(p, stored);
  sptrsm_file_block_free(stored);
  return code;
}

/* ---- loading ---- */

static sptrsm_status load_factors(batch_problem *p, const batch_request *r, int dtype) {
  sptrsm_io_options io = p->request.io;
  sptrsm_file_batch_free(p->factors);
  p->factors = NULL;
  io.dtype = dtype;
  return sptrsm_file_batch_load(&p->factors, p->request.factors, r->begin, r->has_range ? r->end : -1, &io);
}

static sptrsm_status load_rhs(batch_problem *p, int dtype) {
  sptrsm_io_options io = p->request.io;
  sptrsm_file_blocks_free(p->B);
  p->B = NULL;
  io.dtype = dtype;
  return sptrsm_file_blocks_load(&p->B, p->request.rhs, "B", p->factors, &io);
}

/* The type of the factors; without items that of B, if it has one. */
static sptrsm_dtype type_of(const batch_problem *p) {
  const sptrsm_file_batch *b = p->factors;
  if (b->kind == SPTRSM_BATCH_UNIFORM || b->count > 0) return b->items[0]->L_tri.dtype;
  return p->B ? p->B->block.dtype : SPTRSM_F64;
}

static sptrsm_status load_both(batch_problem *p, const batch_request *r) {
  sptrsm_status status = load_factors(p, r, p->request.io.dtype);
  if (status != SPTRSM_OK || p->request.rhs == NULL) return status;
  status = load_rhs(p, p->request.io.dtype);
  if (status != SPTRSM_OK) return status;
  const sptrsm_dtype of_factors = type_of(p), of_B = p->B->block.dtype, both = problem_wider(of_factors, of_B);
  if (of_factors == of_B || p->factors->count == 0) return SPTRSM_OK;
  snprintf(p->system.conversion, sizeof p->system.conversion, "factors are %s, right-hand sides %s: both taken as %s (--dtype chooses)",
           cli_dtypes[of_factors], cli_dtypes[of_B], cli_dtypes[both]);
  if (of_factors != both) status = load_factors(p, r, (int)both);
  return status == SPTRSM_OK && of_B != both ? load_rhs(p, (int)both) : status;
}

static int note_orders(batch_problem *p) {
  const sptrsm_file_batch *b = p->factors;
  p->n = calloc((size_t)b->count + 1, sizeof *p->n);
  if (p->n == NULL) return cli_no_memory("the orders");
  if (b->kind == SPTRSM_BATCH_UNIFORM) p->n_least = p->n_most = b->items[0]->L_tri.n; /* also where there are no items */
  for (int64_t i = 0; i < b->count; i++) {
    p->n[i] = b->items[b->kind == SPTRSM_BATCH_UNIFORM ? 0 : i]->L_tri.n;
    if (i == 0 || p->n[i] < p->n_least) p->n_least = p->n[i];
    if (p->n[i] > p->n_most) p->n_most = p->n[i];
  }
  return CLI_OK;
}

static void note_dropped(const batch_problem *p) {
  const sptrsm_file_batch *b = p->factors;
  int64_t dropped = 0;
  for (int64_t i = 0; i < (b->kind == SPTRSM_BATCH_UNIFORM ? 1 : b->count); i++)
    dropped += b->items[i]->L->dropped + (b->items[i]->U ? b->items[i]->U->dropped : 0);
  if (dropped > 0)
    cli_note("%s: dropped %lld %s outside the triangle%s (--take-triangle)", p->request.factors, (long long)dropped,
             dropped == 1 ? "entry" : "entries", b->kind == SPTRSM_BATCH_UNIFORM ? " from each item" : "s");
}

int batch_load(batch_problem *p, const problem_request *request, const batch_request *r) {
  *p = (batch_problem){.request = *request};
  p->system.request = &p->request;
  int code = cli_fail(load_both(p, r));
  if (code == CLI_OK) code = note_orders(p);
  if (code == CLI_OK && p->factors->count > 0) code = problem_check_system(&p->request, p->factors->items[0]);
  if (code == CLI_OK) code = problem_settle_alpha(&p->system, type_of(p));
  if (code == CLI_OK) code = load_mask(p, r->mask);
  if (code == CLI_OK) note_dropped(p);
  return code;
}

void batch_free(batch_problem *p) {
  sptrsm_file_batch_free(p->factors);
  sptrsm_file_blocks_free(p->B);
  free(p->mask);
  free(p->n);
  *p = (batch_problem){0};
}
