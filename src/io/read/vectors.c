/* vectors.c -- the vectors of a factor set: permutations, scalings and the diagonal D.
 *
 * Producers mean different things by the same array, so its meaning follows from an attribute (convention, op) or from its name:
 *   perm_r, perm_c   SciPy splu: perm_r scatters b, perm_c gathers x
 *   p, q             MATLAB, Julia, UMFPACK, CHOLMOD: p gathers b, q scatters x
 *   Rs               UMFPACK row scaling: op or do_recip says whether it multiplies
 * A permutation of 1..n is none of 0..n-1, so 1-based permutations (MATLAB) are recognised and shifted.
 */
#include "io/read/read.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/diagonal_block.h"

static void add_rule(spti_io_factor_reader *r, const char *name, const char *meaning, const char *source) {
  size_t used = strlen(r->rule);
  snprintf(r->rule + used, sizeof r->rule - used, "; %s %s%s", name, meaning, source);
}

static sptrsm_status check_vector(const spti_io_dataset *d, const spti_io_factor_reader *r, int64_t n) {
  char shape[72];
  if (d->count == n && spti_io_is_vector(d)) return SPTRSM_OK;
  if (d->rank == 1)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has %lld values, the factors have order %lld", d->where, (long long)d->count,
                            (long long)n);
  spti_io_shape_text(shape, d);
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %s, but one factor set of order %lld needs a vector of %lld values%s", d->where,
                          shape, (long long)n, (long long)n,
                          r->batch ? "; items with permutations of their own are groups" : spti_io_batch_hint(d, n));
}

/* Opens a vector of n numbers. */
static sptrsm_status open_vector(spti_io_dataset *d, spti_io_factor_reader *r, const char *name, int64_t n) {
  SPTI_IO_TRY(spti_io_dataset_open(d, r->group, name));
  sptrsm_status status = check_vector(d, r, n);
  if (status != SPTRSM_OK) spti_io_dataset_close(d);
  return status;
}

/* The same of values, of which a batch may have n for each item. */
static sptrsm_status open_values(spti_io_dataset *d, spti_io_factor_reader *r, const char *name, int64_t n) {
  if (r->batch == NULL) return open_vector(d, r, name, n);
  SPTI_IO_TRY(spti_io_dataset_open(d, r->group, name));
  sptrsm_status status = spti_io_check_axes(r->batch, d, n);
  if (status != SPTRSM_OK) spti_io_dataset_close(d);
  return status;
}

/* Finds which of the names the group has; *out NULL: none. Two of them would be ambiguous. */
static sptrsm_status pick(const char **out, const spti_io_factor_reader *r, const char *const names[], int count) {
  *out = NULL;
  for (int k = 0; k < count; k++) {
    if (!spti_io_has(r->group, names[k])) continue;
    if (*out != NULL)
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has both %s and %s; keep the one that is meant", r->group->where, *out, names[k]);
    *out = names[k];
  }
  return SPTRSM_OK;
}

/* ---- permutations ---- */

/* MATLAB saves index vectors as doubles. */
static sptrsm_status read_indices(const spti_io_dataset *d, int64_t *out) {
  if (d->number.is_integer) return spti_io_read_i64(d, out);
  double *x;
  SPTI_IO_TRY(spti_io_allocate(&x, d->where, spti_io_bytes(d->count, sizeof *x)));
  sptrsm_status status = spti_io_read_values(d, NULL, d->count, SPTRSM_F64, x);
  for (int64_t i = 0; i < d->count && status == SPTRSM_OK; i++) {
    if (x[i] == floor(x[i]) && fabs(x[i]) < 1e15) out[i] = (int64_t)x[i];
    else status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [%lld] is %g, not an integer", d->where, (long long)i, x[i]);
  }
  free(x);
  return status;
}

static bool is_one_based(const int64_t *v, int64_t n) {
  int64_t smallest = INT64_MAX, largest = INT64_MIN;
  for (int64_t i = 0; i < n; i++) {
    if (v[i] < smallest) smallest = v[i];
    if (v[i] > largest) largest = v[i];
  }
  return n > 0 && smallest == 1 && largest == n;
}

/* met [n]: all -1 on entry; receives the position where each value occurs first. */
static sptrsm_status check_permutation(const int64_t *v, int32_t *met, int64_t n, int64_t base, const char *where) {
  for (int64_t i = 0; i < n; i++) {
    int64_t x = v[i] - base;
    if (x < 0 || x >= n)
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [%lld] is %lld, outside [0, %lld); not a permutation", where, (long long)i,
                              (long long)v[i], (long long)n);
    if (met[x] >= 0)
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [%lld] is %lld, which [%d] is already; not a permutation", where, (long long)i,
                              (long long)v[i], met[x]);
    met[x] = (int32_t)i;
  }
  return SPTRSM_OK;
}

static sptrsm_status load_permutation(int32_t **out, const spti_io_dataset *d, int64_t n, bool *one_based) {
  int64_t *v;
  int32_t *perm;
  SPTI_IO_TRY(spti_io_allocate(&v, d->where, spti_io_bytes(n, sizeof *v)));
  sptrsm_status status = spti_io_allocate(&perm, d->where, spti_io_bytes(n, sizeof *perm));
  if (status != SPTRSM_OK) {
    free(v);
    return status;
  }
  status = read_indices(d, v);
  if (status == SPTRSM_OK) {
    *one_based = is_one_based(v, n);
    for (int64_t i = 0; i < n; i++) perm[i] = -1;
    status = check_permutation(v, perm, n, *one_based ? 1 : 0, d->where);
  }
  for (int64_t i = 0; i < n && status == SPTRSM_OK; i++) perm[i] = (int32_t)(v[i] - (*one_based ? 1 : 0));
  free(v);
  if (status == SPTRSM_OK) *out = perm;
  else free(perm);
  return status;
}

typedef struct {
  const char *name, *source; /* source "": the file must state the convention */
  sptrsm_convention convention;
} known_permutation;

static sptrsm_status read_convention(sptrsm_convention *out, const char **source, const spti_io_dataset *d,
                                     const known_permutation *known) {
  const spti_io_object o = spti_io_object_of(d);
  char *text;
  SPTI_IO_TRY(spti_io_attr_text(&text, &o, "convention"));
  sptrsm_status status = SPTRSM_OK;
  *out = known->convention;
  *source = text != NULL ? "" : known->source;
  if (text != NULL && strcmp(text, "gather") == 0) *out = SPTRSM_GATHER;
  else if (text != NULL && strcmp(text, "scatter") == 0) *out = SPTRSM_SCATTER;
  else if (text != NULL)
    status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                              "%s: attribute convention is \"%s\"; use gather (y[i] = x[perm[i]]) or scatter (y[perm[i]] = x[i])", d->where,
                              text);
  else if (known->source[0] == '\0')
    status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                              "%s: attribute convention is missing; set it to gather (y[i] = x[perm[i]]) or scatter (y[perm[i]] = x[i])",
                              d->where);
  free(text);
  return status;
}

static sptrsm_status read_permutation(spti_io_factor_reader *r, const known_permutation known[3], const int32_t **out,
                                      sptrsm_convention *convention) {
  const char *const names[3] = {known[0].name, known[1].name, known[2].name};
  const char *name, *source;
  spti_io_dataset d;
  int32_t *perm = NULL;
  bool one_based = false;
  SPTI_IO_TRY(pick(&name, r, names, 3));
  if (name == NULL) return SPTRSM_OK;
  int k = name == names[0] ? 0 : name == names[1] ? 1 : 2;
  int64_t n = r->F->L_tri.n;
  SPTI_IO_TRY(open_vector(&d, r, name, n));
  sptrsm_status status = read_convention(convention, &source, &d, &known[k]);
  if (status == SPTRSM_OK) status = load_permutation(&perm, &d, n, &one_based);
  spti_io_dataset_close(&d);
  if (status != SPTRSM_OK) return status;
  *out = perm;
  add_rule(r, name, *convention == SPTRSM_GATHER ? "gather" : "scatter", source);
  if (one_based) add_rule(r, name, "1-based", "");
  return SPTRSM_OK;
}

/* A symmetric factorisation permutes rows and columns alike, P A P' = L D L': the permutation that gathers b scatters x. */
static sptrsm_status complete_symmetric(spti_io_factor_reader *r) {
  sptrsm_factors *f = &r->F->factors;
  if (f->u_kind == SPTRSM_U_GIVEN || r->F->single || (f->perm_row == NULL) == (f->perm_col == NULL)) return SPTRSM_OK;
  const int32_t *from = f->perm_row != NULL ? f->perm_row : f->perm_col;
  size_t bytes = spti_io_bytes(r->F->L_tri.n, sizeof *from);
  int32_t *copy;
  SPTI_IO_TRY(spti_io_allocate(&copy, r->group->where, bytes));
  memcpy(copy, from, bytes);
  if (f->perm_row != NULL) {
    f->perm_col = copy;
    f->col_convention = f->row_convention == SPTRSM_GATHER ? SPTRSM_SCATTER : SPTRSM_GATHER;
  } else {
    f->perm_row = copy;
    f->row_convention = f->col_convention == SPTRSM_GATHER ? SPTRSM_SCATTER : SPTRSM_GATHER;
  }
  add_rule(r, "rows and columns", "permuted alike", " (symmetric)");
  return SPTRSM_OK;
}

sptrsm_status spti_io_read_permutations(spti_io_factor_reader *r) {
  static const known_permutation rows[3] = {
      {"perm_row", "", SPTRSM_GATHER}, {"perm_r", " (SciPy)", SPTRSM_SCATTER}, {"p", " (MATLAB, Julia, UMFPACK, CHOLMOD)", SPTRSM_GATHER}};
  static const known_permutation cols[3] = {
      {"perm_col", "", SPTRSM_SCATTER}, {"perm_c", " (SciPy)", SPTRSM_GATHER}, {"q", " (MATLAB, Julia, UMFPACK, CHOLMOD)", SPTRSM_SCATTER}};
  sptrsm_factors *f = &r->F->factors;
  SPTI_IO_TRY(read_permutation(r, rows, &f->perm_row, &f->row_convention));
  SPTI_IO_TRY(read_permutation(r, cols, &f->perm_col, &f->col_convention));
  return complete_symmetric(r);
}

/* ---- scalings ---- */

static sptrsm_status read_scale_op(sptrsm_scale_op *out, const spti_io_dataset *d) {
  const spti_io_object o = spti_io_object_of(d);
  char *text;
  bool has_recip;
  int64_t recip;
  SPTI_IO_TRY(spti_io_attr_text(&text, &o, "op"));
  if (text != NULL) {
    bool multiply = strcmp(text, "multiply") == 0, known = multiply || strcmp(text, "divide") == 0;
    free(text);
    *out = multiply ? SPTRSM_MULTIPLY : SPTRSM_DIVIDE;
    return known ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute op must be multiply or divide", d->where);
  }
  SPTI_IO_TRY(spti_io_attr_integers(&has_recip, &recip, 1, &o, "do_recip"));
  if (!has_recip)
    return sptrsm_error_set(
        SPTRSM_ERR_STRUCTURE,
        "%s: attribute op is missing; set it to multiply (UMFPACK with do_recip, Julia's F.Rs) or divide (UMFPACK without)", d->where);
  *out = recip != 0 ? SPTRSM_MULTIPLY : SPTRSM_DIVIDE;
  return SPTRSM_OK;
}

static sptrsm_status load_scaling(double **out, const spti_io_dataset *d, int64_t n) {
  double *s;
  SPTI_IO_TRY(spti_io_allocate(&s, d->where, spti_io_bytes(n, sizeof *s)));
  sptrsm_status status = spti_io_read_values(d, NULL, n, SPTRSM_F64, s);
  for (int64_t i = 0; i < n && status == SPTRSM_OK; i++)
    if (!isfinite(s[i]) || s[i] == 0)
      status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [%lld] is %g; a scaling is finite and not zero", d->where, (long long)i, s[i]);
  if (status == SPTRSM_OK) *out = s;
  else free(s);
  return status;
}

static sptrsm_status read_scaling(spti_io_factor_reader *r, const char *name, const double **out, int64_t *stride, sptrsm_scale_op *op) {
  spti_io_dataset d;
  double *s = NULL;
  void *all = NULL;
  if (name == NULL) return SPTRSM_OK;
  int64_t n = r->F->L_tri.n;
  SPTI_IO_TRY(open_values(&d, r, name, n));
  sptrsm_status status = read_scale_op(op, &d);
  if (status == SPTRSM_OK && r->batch) status = spti_io_read_vectors(&all, stride, r->batch, &d, n, SPTRSM_F64);
  else if (status == SPTRSM_OK) status = load_scaling(&s, &d, n);
  spti_io_dataset_close(&d);
  if (status != SPTRSM_OK) {
    free(all);
    return status;
  }
  *out = r->batch ? all : s;
  add_rule(r, name, *op == SPTRSM_MULTIPLY ? "multiply" : "divide", "");
  return SPTRSM_OK;
}

sptrsm_status spti_io_read_scalings(spti_io_factor_reader *r) {
  static const char *const rows[] = {"scale_row", "Rs"}, *const cols[] = {"scale_col"};
  const char *name;
  sptrsm_factors *f = &r->F->factors;
  sptrsm_batch_values none, *v = r->batch ? &r->batch->values : &none;
  SPTI_IO_TRY(pick(&name, r, rows, 2));
  SPTI_IO_TRY(read_scaling(r, name, &f->scale_row, &v->scale_row_stride, &f->row_op));
  SPTI_IO_TRY(pick(&name, r, cols, 1));
  return read_scaling(r, name, &f->scale_col, &v->scale_col_stride, &f->col_op);
}

/* ---- D ---- */

static sptrsm_status load_values(void **out, const spti_io_dataset *d, int64_t n, sptrsm_dtype dtype) {
  void *v;
  SPTI_IO_TRY(spti_io_allocate(&v, d->where, spti_io_bytes(n, sptrsm_dtype_bytes(dtype))));
  memset(v, 0, spti_io_bytes(n, sptrsm_dtype_bytes(dtype)));
  sptrsm_status status = spti_io_read_values(d, NULL, d->count, dtype, v);
  for (int64_t i = 0; i < d->count && status == SPTRSM_OK; i++)
    if (!spti_io_finite(dtype, v, i))
      status = sptrsm_error_set(SPTRSM_ERR_SINGULAR, "%s: [%lld] is NaN or infinite%s; repair the factorisation that wrote it", d->where,
                                (long long)i, spti_io_precision_note(dtype));
  if (status == SPTRSM_OK) *out = v;
  else free(v);
  return status;
}

/* A nonzero D_sub[i] makes a 2x2 block of rows i and i+1. Blocks must not overlap, and the last entry must be zero. */
static sptrsm_status check_blocks(const void *sub, int64_t n, sptrsm_dtype dtype, const char *where) {
  for (int64_t i = 0; i < n; i++) {
    if (spti_io_zero(dtype, sub, i)) continue;
    if (i + 1 == n) return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: the last entry, [%lld], must be zero", where, (long long)i);
    if (!spti_io_zero(dtype, sub, i + 1))
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: [%lld] and [%lld] are both nonzero; D may have 1x1 and 2x2 blocks only", where,
                              (long long)i, (long long)i + 1);
  }
  return SPTRSM_OK;
}

/* One entry may be missing, the last one, which is zero. */
static sptrsm_status load_sub(void **out, const spti_io_dataset *d, spti_io_factor_reader *r, sptrsm_dtype dtype, int64_t n) {
  if (r->batch) {
    SPTI_IO_TRY(spti_io_check_axes(r->batch, d, d->dims[d->rank == 2 ? 1 : 0] == n - 1 ? n - 1 : n));
    return spti_io_read_vectors(out, &r->batch->values.D_sub_stride, r->batch, d, n, dtype);
  }
  if (!spti_io_is_vector(d)) return check_vector(d, r, n);
  if (d->count != n && d->count != n - 1)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has %lld values, needs %lld (or one less)", d->where, (long long)d->count,
                            (long long)n);
  SPTI_IO_TRY(load_values(out, d, n, dtype));
  return check_blocks(*out, n, dtype, d->where);
}

static sptrsm_status read_sub(spti_io_factor_reader *r, sptrsm_dtype dtype, int64_t n) {
  spti_io_dataset d;
  void *sub = NULL;
  bool found;
  int64_t hermitian = 0;
  if (!spti_io_has(r->group, "D_sub")) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_dataset_open(&d, r->group, "D_sub"));
  const spti_io_object o = spti_io_object_of(&d);
  sptrsm_status status = load_sub(&sub, &d, r, dtype, n);
  r->F->factors.D_sub = sub;
  if (status == SPTRSM_OK) status = spti_io_attr_integers(&found, &hermitian, 1, &o, "hermitian");
  spti_io_dataset_close(&d);
  if (status != SPTRSM_OK) return status;
  r->F->factors.D_hermitian = hermitian != 0;
  add_rule(r, "D_sub", "2x2 blocks", hermitian != 0 ? " (Hermitian)" : "");
  return SPTRSM_OK;
}

static sptrsm_status refuse_block(const double complex v[4], int64_t i, sptrsm_dtype dtype, const char *where) {
  char text[4][64];
  for (int k = 0; k < 4; k++)
    if (spti_is_complex(dtype)) snprintf(text[k], sizeof text[k], "%g%+gi", creal(v[k]), cimag(v[k]));
    else snprintf(text[k], sizeof text[k], "%g", creal(v[k]));
  return sptrsm_error_set(SPTRSM_ERR_SINGULAR,
                          "%s: the 2x2 block of rows %lld and %lld, [%s, %s; %s, %s] with D_sub, is singular or overflows%s; "
                          "repair the factorisation that wrote it",
                          where, (long long)i, (long long)i + 1, text[0], text[1], text[2], text[3], spti_io_precision_note(dtype));
}

/* Called after check_blocks(): blocks do not overlap. */
static sptrsm_status check_regular(const sptrsm_factors *f, int64_t n, sptrsm_dtype dtype, const char *where) {
  for (int64_t i = 0; i < n; i++) {
    if (f->D_sub != NULL && !spti_io_zero(dtype, f->D_sub, i)) {
      double complex below = spti_value_at(f->D_sub, i, dtype);
      const double complex v[4] = {spti_value_at(f->D, i, dtype), f->D_hermitian ? conj(below) : below, below,
                                   spti_value_at(f->D, i + 1, dtype)};
      if (!spti_block_is_regular(v[0], v[1], v[2], v[3], dtype)) return refuse_block(v, i, dtype, where);
      i++;
    } else if (spti_io_zero(dtype, f->D, i)) {
      return sptrsm_error_set(SPTRSM_ERR_SINGULAR, "%s: [%lld] is zero%s; the matrix is singular", where, (long long)i,
                              spti_io_precision_note(dtype));
    }
  }
  return SPTRSM_OK;
}

sptrsm_status spti_io_read_diagonal(spti_io_factor_reader *r) {
  sptrsm_dtype dtype = r->F->L_tri.dtype;
  int64_t n = r->F->L_tri.n;
  spti_io_dataset d;
  void *v = NULL;
  if (!spti_io_has(r->group, "D")) {
    if (spti_io_has(r->group, "D_sub"))
      return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has D_sub but no D; store the diagonal of D as D", r->group->where);
    return SPTRSM_OK;
  }
  SPTI_IO_TRY(open_values(&d, r, "D", n));
  sptrsm_status status =
      r->batch ? spti_io_read_vectors(&v, &r->batch->values.D_stride, r->batch, &d, n, dtype) : load_values(&v, &d, n, dtype);
  r->F->factors.D = v;
  if (status == SPTRSM_OK) status = read_sub(r, dtype, n);
  if (status == SPTRSM_OK && r->batch == NULL) status = check_regular(&r->F->factors, n, dtype, d.where);
  spti_io_dataset_close(&d);
  return status;
}
