/* refine_case.c -- see refine_case.h */
#include "core/refine/refine_case.h"

#include "core/context/alloc.h"
#include "core/context/gpu.h"

sptrsm_context *context;
void open_context(void) { OK(sptrsm_context_create(&context, DIRECT_PLACE, 0, NULL)); }
void close_context(void) { sptrsm_context_destroy(context); }

/* ---- matrices and blocks ---- */

mat product(mat x, mat y) {
  mat z = {0};
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++) z.a[i][j] += x.a[i][k] * y.a[k][j];
  return z;
}

void store_original(original *out, const mat *A, sptrsm_format format, sptrsm_symmetry symmetry, sptrsm_dtype t) {
  int64_t p = 0;
  out->ptr[0] = 0;
  for (int line = 0; line < N; line++) {
    for (int other = N - 1; other >= 0; other--) { /* unsorted: allowed */
      int i = format == SPTRSM_CSR ? line : other, j = format == SPTRSM_CSR ? other : line;
      if (A->a[i][j] == 0 || (symmetry != SPTRSM_GENERAL && i < j)) continue;
      out->idx[p] = other;
      put(out->val, p, t, A->a[i][j]);
      out->dense.a[i][j] = get(out->val, p++, t);
      if (symmetry == SPTRSM_GENERAL || i == j) continue;
      double complex v = out->dense.a[i][j];
      out->dense.a[j][i] = symmetry == SPTRSM_SYMMETRIC ? v : symmetry == SPTRSM_HERMITIAN ? conj(v) : -v;
    }
    out->ptr[line + 1] = p;
  }
  out->A = (sptrsm_square){.format = format, .dtype = t, .symmetry = symmetry, .n = N, .ptr = out->ptr, .idx = out->idx, .val = out->val};
}

static void disturb(triangle *T, sptrsm_dtype t, double by) {
  for (int64_t p = 0; p < T->ptr[N]; p++) put(T->val, p, t, get(T->val, p, t) * (1 + (p % 3 ? by : -by)));
}

void build(factor_set *s, original *A, const recipe *r, sptrsm_dtype t, sptrsm_format format, double by) {
  build_factor_set(s, r, t);
  const dense_parts *d = &s->dense;
  mat whole = product(product(product(d->R_inverse, tr(d->P)), product(product(d->L, d->D), d->U)), product(tr(d->Q), d->C_inverse));
  memset(A, 0, sizeof *A);
  store_original(A, &whole, format, SPTRSM_GENERAL, t);
  disturb(&s->L, t, by);
}

sptrsm_direct *create(const factor_set *s, const original *A, sptrsm_precision precision, int32_t panel) {
  sptrsm_direct *d;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.precision = precision;
  options.panel = panel;
  OK(sptrsm_direct_create(&d, context, &s->f, &options));
  if (A) OK(sptrsm_direct_set_original(d, &A->A));
  return d;
}

static const double CANARY = 12345;

static int64_t position(const sptrsm_block *b, int64_t i, int64_t k) {
  return b->layout == SPTRSM_ROW_MAJOR ? i * b->ld + k : i + k * b->ld;
}
double complex at(const block *x, int64_t i, int64_t k) { return get(x->data, position(&x->b, i, k), x->b.dtype); }
void set(block *x, int64_t i, int64_t k, double complex v) { put(x->data, position(&x->b, i, k), x->b.dtype, v); }

void make_block(block *out, sptrsm_layout layout, int64_t nrhs, int64_t padding, sptrsm_dtype t) {
  out->b = (sptrsm_block){
      .data = out->data, .ld = (layout == SPTRSM_ROW_MAJOR ? nrhs : N) + padding, .n = N, .nrhs = nrhs, .dtype = t, .layout = layout};
  for (int64_t p = 0; p < (is_complex(t) ? ROOM / 2 : ROOM); p++) put(out->data, p, t, CANARY);
}

void draw(block *x) {
  for (int i = 0; i < N; i++)
    for (int64_t k = 0; k < x->b.nrhs; k++) set(x, i, k, number(x->b.dtype));
}

void check_padding(const block *x) {
  bool rows = x->b.layout == SPTRSM_ROW_MAJOR;
  int64_t lines = rows ? N : x->b.nrhs, length = rows ? x->b.nrhs : N;
  for (int64_t line = 0; line < lines; line++)
    for (int64_t p = length; p < x->b.ld; p++)
      cr_assert(get(x->data, line * x->b.ld + p, x->b.dtype) == CANARY, "padding of line %d was written", (int)line);
}

sptrsm_status refine_at(int turn, sptrsm_direct *d, sptrsm_system system, sptrsm_op op, const void *alpha, block *B, block *X,
                        const sptrsm_refine_options *options, sptrsm_refine_result *out) {
  block *blocks[2] = {B, X};
  sptrsm_block given[2] = {B->b, X->b};
  for (int i = 0; i < 2; i++) {
    if (DIRECT_PLACE == SPTRSM_HOST || !(turn >> i & 1)) continue;
    given[i].place = SPTRSM_CUDA;
    OK(spti_alloc(context, &given[i].data, ROOM, sizeof(double), "test block"));
    OK(spti_gpu_copy(context, given[i].data, sizeof B->data, blocks[i]->data, sizeof B->data, sizeof B->data, 1, SPTI_TO_DEVICE));
  }
  sptrsm_status status = sptrsm_direct_refine(d, system, op, alpha, &given[0], &given[1], options, out);
  for (int i = 0; i < 2; i++) {
    if (given[i].place == SPTRSM_HOST) continue;
    OK(spti_gpu_copy(context, blocks[i]->data, sizeof B->data, given[i].data, sizeof B->data, sizeof B->data, 1, SPTI_TO_HOST));
    spti_free(context, given[i].data);
  }
  return status;
}

/* ---- what is true ---- */

double u_of(sptrsm_dtype t) { return (is_single(t) ? (double)FLT_EPSILON : DBL_EPSILON) / 2; }
double cabs1(double complex z) { return fabs(creal(z)) + fabs(cimag(z)); }

mat system_of(const mat *A, sptrsm_system system, sptrsm_op op) {
  mat S = system == SPTRSM_SYS_A ? *A : system == SPTRSM_SYS_At ? adj(*A) : tr(*A);
  return op == SPTRSM_N ? S : op == SPTRSM_T ? tr(S) : adj(S);
}

static double true_berr(const mat *S, double complex alpha, const block *B, const block *X, int64_t k) {
  double most = 0;
  for (int i = 0; i < N; i++) {
    long double complex r = (long double complex)alpha * at(B, i, k);
    double size = cabs1(alpha * at(B, i, k));
    for (int j = 0; j < N; j++) {
      r -= (long double complex)S->a[i][j] * at(X, j, k);
      size += cabs1(S->a[i][j]) * cabs1(at(X, j, k));
    }
    double ratio = cabs1((double complex)r) / size;
    if (size > 0 && !(ratio <= most)) most = ratio;
  }
  return most;
}

void check_columns(const mat *S, double complex alpha, const block *B, const block *X, const double *berr, double limit, const char *what) {
  double u = u_of(X->b.dtype), worst = 0;
  for (int64_t k = 0; k < X->b.nrhs; k++) {
    double truth = true_berr(S, alpha, B, X, k);
    cr_assert(fabs(berr[k] - truth) <= 20 * u, "%s: column %d has berr %g, reported %g", what, (int)k, truth, berr[k]);
    cr_assert(berr[k] <= limit, "%s: berr of column %d is %g", what, (int)k, berr[k]);
    if (truth > worst) worst = truth;
  }
}

void expect(sptrsm_status wanted, sptrsm_status got, const char *part) {
  cr_assert_eq(got, wanted, "%s: status %s: %s", part, sptrsm_status_name(got), sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), part), "\"%s\" is not in: %s", part, sptrsm_last_error());
}
