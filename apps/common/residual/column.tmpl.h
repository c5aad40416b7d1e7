/* column.tmpl.h -- one column of a residual, included once per type by residual.c.
 * TYPE: of the data; WORK: of the arithmetic; NAME(x): x with the type's ending; ABS, CONJ. No include guard: by design. */

static TYPE *NAME(at)(const sptrsm_block *X, int64_t i, int64_t k) {
  return (TYPE *)X->data + (X->layout == SPTRSM_ROW_MAJOR ? i * X->ld + k : i + k * X->ld);
}

/* ---- y += M v, a += |M| w for one link ---- */

static void NAME(add)(WORK *y, double *a, WORK t, const WORK *v, const double *w, int64_t row, int64_t column) {
  y[row] += t * v[column];
  a[row] += ABS(t) * w[column];
}

/* The common case of rows without anything special: the sums of a row stay in registers. */
static void NAME(multiply_rows)(const chain_link *M, int32_t n, const WORK *v, const double *w, WORK *y, double *a) {
  const TYPE *val = M->val;
  for (int32_t i = 0; i < n; i++) {
    WORK sum = 0;
    double size = 0;
    for (int64_t p = M->ptr[i]; p < M->ptr[i + 1]; p++) {
      WORK t = val[p];
      sum += t * v[M->idx[p]];
      size += ABS(t) * w[M->idx[p]];
    }
    y[i] = sum;
    a[i] = size;
  }
}

static void NAME(multiply_sparse)(const chain_link *M, int32_t n, const WORK *v, const double *w, WORK *y, double *a) {
  const TYPE *val = M->val;
  bool rows_are_major = (M->format == SPTRSM_CSR) != M->transposed;
  if (rows_are_major && !M->unit && !M->conjugated && M->symmetry == SPTRSM_GENERAL) {
    NAME(multiply_rows)(M, n, v, w, y, a);
    return;
  }
  for (int32_t j = 0; j < n; j++) {
    if (M->unit) NAME(add)(y, a, 1, v, w, j, j);
    for (int64_t p = M->ptr[j]; p < M->ptr[j + 1]; p++) {
      int32_t i = M->idx[p];
      if (i == j && M->unit) continue;
      WORK t = M->conjugated ? CONJ((WORK)val[p]) : (WORK)val[p];
      NAME(add)(y, a, t, v, w, rows_are_major ? j : i, rows_are_major ? i : j);
      if (i == j || M->symmetry == SPTRSM_GENERAL) continue;
      WORK mirrored = M->symmetry == SPTRSM_SKEW ? -t : M->symmetry == SPTRSM_HERMITIAN ? CONJ(t) : t;
      NAME(add)(y, a, mirrored, v, w, rows_are_major ? i : j, rows_are_major ? j : i);
    }
  }
}

static void NAME(multiply_diagonal)(const chain_link *M, int32_t n, const WORK *v, const double *w, WORK *y, double *a) {
  const TYPE *d = M->d, *sub = M->sub;
  for (int32_t i = 0; i < n; i++) NAME(add)(y, a, M->conjugated ? CONJ((WORK)d[i]) : (WORK)d[i], v, w, i, i);
  for (int32_t i = 0; sub && i + 1 < n; i++) {
    WORK below = sub[i], above = M->hermitian ? CONJ(below) : below;
    if (M->conjugated) below = CONJ(below), above = CONJ(above);
    NAME(add)(y, a, M->transposed ? above : below, v, w, i + 1, i);
    NAME(add)(y, a, M->transposed ? below : above, v, w, i, i + 1);
  }
}

static void NAME(multiply)(const chain_link *M, int32_t n, const WORK *v, const double *w, WORK *y, double *a) {
  for (int32_t i = 0; i < n; i++) y[i] = 0, a[i] = 0;
  if (M->kind == LINK_SPARSE) NAME(multiply_sparse)(M, n, v, w, y, a);
  if (M->kind == LINK_DIAGONAL) NAME(multiply_diagonal)(M, n, v, w, y, a);
  for (int32_t i = 0; M->kind == LINK_SCALE && i < n; i++) {
    long double s = M->divide ? 1 / (long double)M->scale[i] : (long double)M->scale[i];
    NAME(add)(y, a, s, v, w, i, i);
  }
  for (int32_t i = 0; M->kind == LINK_PERMUTE && i < n; i++)
    NAME(add)(y, a, 1, v, w, M->transposed ? M->map[i] : i, M->transposed ? i : M->map[i]);
}

/* ---- one column ---- */

static void NAME(column)(column_result *out, const job *j, const TYPE *x_k, const TYPE *b_k, void *workspace) {
  const chain *S = j->S;
  int32_t n = S->n;
  WORK *v = workspace, *y = v + n, alpha = j->alpha ? *(const TYPE *)j->alpha : 1;
  double *w = (double *)(y + n), *a = w + n, x_1 = 0, u = unit_roundoff(S->dtype);
  long double x_2 = 0, r_2 = 0, b_2 = 0, a_2 = 0, r_1 = 0;
  column_result c = {0};
  for (int32_t i = 0; i < n; i++) {
    v[i] = x_k[i];
    w[i] = ABS(v[i]);
    x_1 += w[i];
    x_2 += (long double)w[i] * w[i];
  }
  for (int l = S->count - 1; l >= 0; l--) {
    NAME(multiply)(&S->links[l], n, v, w, y, a);
    WORK *swap = v;
    double *other = w;
    v = y, y = swap;
    w = a, a = other;
  }
  for (int32_t i = 0; i < n; i++) {
    WORK b = alpha * b_k[i];
    double r = ABS(b - v[i]), size = ABS(b);
    c.berr = nan_max(c.berr, ratio(r, w[i] + size));
    r_1 += r;
    r_2 += (long double)r * r;
    b_2 += (long double)size * size;
    a_2 += (long double)w[i] * w[i];
    double g1 = j->lengths ? ratio(r, (j->lengths[i] + 1 + (j->alpha != NULL)) * u * w[i]) : 0;
    if (!(g1 <= c.g1) && !isnan(c.g1)) c.g1 = g1, c.g1_row = i;
  }
  long double scale = j->norm_f > 0 ? j->norm_f * sqrtl(x_2) : sqrtl(a_2);
  c.normwise = ratio((double)sqrtl(r_2), (double)(scale + sqrtl(b_2)));
  if (j->lengths) c.g2 = ratio((double)r_1, j->norm_1 * x_1 * u);
  *out = c;
}

/* Columns [first, first + width) one behind the other: where they lie so, else copied to `to`. */
static const TYPE *NAME(take)(TYPE *to, int64_t *step, const sptrsm_block *X, int64_t first, int width) {
  *step = X->layout == SPTRSM_COL_MAJOR ? X->ld : X->n;
  if (X->layout == SPTRSM_COL_MAJOR) return NAME(at)(X, 0, first);
  for (int64_t i = 0; i < X->n; i++) {
    const TYPE *row = NAME(at)(X, i, first);
    for (int k = 0; k < width; k++) to[k * *step + i] = row[k];
  }
  return to;
}

static void NAME(columns)(column_result *out, const job *j, int64_t first, int width, void *workspace) {
  size_t n = (size_t)j->S->n;
  TYPE *room = (TYPE *)((double *)((WORK *)workspace + 2 * n) + 2 * n); /* behind the workspace of a column */
  int64_t x_step, b_step;
  const TYPE *x = NAME(take)(room, &x_step, j->X, first, width);
  const TYPE *b = NAME(take)(room + (size_t)width * n, &b_step, j->B, first, width);
  for (int k = 0; k < width; k++) NAME(column)(&out[k], j, x + k * x_step, b + k * b_step, workspace);
}

/* For a chain of one sparse link: lengths of its rows, its Frobenius norm and its 1-norm. sums: [n], zeros. */
static void NAME(measure)(job *j, int32_t *lengths, double *sums) {
  const chain_link *M = &j->S->links[0];
  const TYPE *val = M->val;
  bool rows_are_major = (M->format == SPTRSM_CSR) != M->transposed;
  long double squares = 0;
  for (int32_t m = 0; m < j->S->n; m++) {
    if (M->unit) lengths[m]++, sums[m] += 1, squares += 1;
    for (int64_t p = M->ptr[m]; p < M->ptr[m + 1]; p++) {
      int32_t i = M->idx[p];
      if (i == m && M->unit) continue;
      double t = ABS(val[p]);
      bool mirrored = i != m && M->symmetry != SPTRSM_GENERAL;
      squares += (mirrored ? 2.0L : 1.0L) * t * t;
      lengths[rows_are_major ? m : i]++;
      sums[rows_are_major ? i : m] += t;
      if (mirrored) sums[rows_are_major ? m : i] += t;
    }
  }
  j->norm_f = (double)sqrtl(squares);
  for (int32_t i = 0; i < j->S->n; i++) j->norm_1 = nan_max(j->norm_1, sums[i]);
}

static bool NAME(column_is_finite)(const sptrsm_block *X, int64_t k) {
  for (int32_t i = 0; i < X->n; i++)
    if (!isfinite(ABS(*NAME(at)(X, i, k)))) return false;
  return true;
}

static double NAME(column_difference)(const sptrsm_block *X, const sptrsm_block *Y, int64_t k) {
  double most = 0;
  for (int32_t i = 0; i < X->n; i++) most = nan_max(most, ABS((WORK)*NAME(at)(X, i, k) - (WORK)*NAME(at)(Y, i, k)));
  return most;
}

static double NAME(column_size)(const sptrsm_block *X, int64_t k) {
  double most = 0;
  for (int32_t i = 0; i < X->n; i++) most = nan_max(most, ABS(*NAME(at)(X, i, k)));
  return most;
}

#undef TYPE
#undef WORK
#undef NAME
#undef ABS
#undef CONJ
