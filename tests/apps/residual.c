/* residual.c -- the two ways in which programs compute residuals find the same: panels of columns in vector lanes, and one column after
 * another in long double. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include <common/residual/residual.h>

enum { ORDER = 37, COLUMNS = 19, ENTRIES = ORDER * 5 };

typedef struct {
  int64_t ptr[ORDER + 1];
  int32_t idx[ENTRIES];
  double val[2 * ENTRIES], x[2 * ORDER * COLUMNS], b[2 * ORDER * COLUMNS]; /* room for the largest type */
  chain S;
  sptrsm_block X, B;
} sample;

static uint64_t seed;
static double draw(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 11) / 9007199254740992.0 - 0.5;
}

/* Number p of an array of this type. */
static void put(void *array, sptrsm_dtype dtype, int64_t p, double complex value) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)array)[p] = (float)creal(value); break;
  case SPTRSM_F64: ((double *)array)[p] = creal(value); break;
  case SPTRSM_C64: ((float complex *)array)[p] = (float complex)value; break;
  default: ((double complex *)array)[p] = value;
  }
}

static void fill_block(sptrsm_block *out, double *data, sptrsm_dtype dtype, sptrsm_layout layout, double size) {
  *out = (sptrsm_block){.data = data, .ld = layout == SPTRSM_ROW_MAJOR ? COLUMNS : ORDER, .n = ORDER, .nrhs = COLUMNS};
  out->dtype = dtype, out->layout = layout, out->place = SPTRSM_HOST;
  for (int64_t p = 0; p < ORDER * COLUMNS; p++) put(data, dtype, p, size * (draw() + draw() * I));
}

/* A matrix of the lower triangle, and blocks of numbers of about this size. */
static void make(sample *s, sptrsm_dtype dtype, int kind, double size) {
  int64_t p = 0;
  memset(s, 0, sizeof *s);
  for (int32_t i = 0; i < ORDER; i++) {
    for (int32_t j = i < 4 ? 0 : i - 4; j <= i; j++)
      if (j == i || draw() > 0) s->idx[p] = j, put(s->val, dtype, p++, size * (draw() + draw() * I));
    s->ptr[i + 1] = p;
  }
  s->S = (chain){.dtype = dtype, .n = ORDER, .count = 1};
  chain_link *link = &s->S.links[0];
  *link = (chain_link){.kind = LINK_SPARSE, .format = kind & 1 ? SPTRSM_CSR : SPTRSM_CSC, .ptr = s->ptr, .idx = s->idx, .val = s->val};
  link->transposed = (kind & 2) != 0;
  link->conjugated = (kind & 4) != 0;
  link->symmetry = (sptrsm_symmetry)(kind >> 3 & 3);
  link->unit = link->symmetry == SPTRSM_GENERAL && (kind & 32);
  s->S.is_triangle = link->symmetry == SPTRSM_GENERAL;
  fill_block(&s->X, s->x, dtype, kind & 64 ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR, size);
  fill_block(&s->B, s->b, dtype, kind & 128 ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR, size * size);
}

static void expect_equal(double got, double want, const char *what, int kind, int dtype) {
  if (isnan(want)) cr_assert(isnan(got), "%s: %g, wanted NaN (kind %d, type %d)", what, got, kind, dtype);
  else
    cr_assert(got == want || fabs(got - want) <= 1e-10 * fabs(want), "%s: %.17g, wanted %.17g (kind %d, type %d)", what, got, want, kind,
              dtype);
}

static void compare(const sample *s, const void *alpha, int kind) {
  residual panels, columns;
  cr_assert(residual_compute(&panels, &s->S, alpha, &s->B, &s->X));
  cr_assert(residual_of_panel(&columns, &s->S, alpha, &s->B, &s->X, 1));
  for (int k = 0; k < COLUMNS; k++) {
    expect_equal(panels.berr[k], columns.berr[k], "berr", kind, (int)s->S.dtype);
    expect_equal(panels.normwise[k], columns.normwise[k], "normwise", kind, (int)s->S.dtype);
  }
  expect_equal(panels.max_berr, columns.max_berr, "largest berr", kind, (int)s->S.dtype);
  expect_equal(panels.g1, columns.g1, "g1", kind, (int)s->S.dtype);
  expect_equal(panels.g2, columns.g2, "g2", kind, (int)s->S.dtype);
  cr_assert(panels.worst == columns.worst && panels.g1_row == columns.g1_row && panels.g1_column == columns.g1_column, "kind %d", kind);
  residual_free(&panels);
  residual_free(&columns);
}

Test(residual, both_ways_agree) {
  static sample s;
  for (int kind = 0; kind < 256; kind++)
    for (int dtype = SPTRSM_F32; dtype <= SPTRSM_C128; dtype++) {
      double alpha[2];
      seed = (uint64_t)kind * 4 + (uint64_t)dtype;
      make(&s, (sptrsm_dtype)dtype, kind, 1);
      put(alpha, (sptrsm_dtype)dtype, 0, 1.5 - 0.25 * I);
      compare(&s, kind % 3 ? alpha : NULL, kind);
    }
}

/* The sums of products cancel: what is left is far below the rounding errors of double. */
Test(residual, residuals_are_exact) {
  static sample s;
  seed = 5;
  make(&s, SPTRSM_F64, 1, 1);
  for (int64_t i = 0; i < ORDER; i++)
    for (int k = 0; k < COLUMNS; k++) {
      long double sum = 0;
      for (int64_t p = s.ptr[i]; p < s.ptr[i + 1]; p++) sum += (long double)s.val[p] * s.x[s.idx[p] * COLUMNS + k];
      s.b[i * COLUMNS + k] = (double)sum; /* the residual is the rounding error of this assignment */
    }
  residual R;
  cr_assert(residual_compute(&R, &s.S, NULL, &s.B, &s.X));
  cr_assert(R.max_berr > DBL_EPSILON / 64 && R.max_berr <= DBL_EPSILON / 2, "%g", R.max_berr);
  residual_free(&R);
}

/* Numbers beyond the range of the panels, zeros, and numbers that are not finite, each in a column of its own. */
Test(residual, columns_out_of_range) {
  static sample s;
  static const double odd[] = {1e-300, 1e300, 1e200, 1e-160, NAN, INFINITY, -INFINITY, 0};
  for (int dtype = SPTRSM_F64; dtype <= SPTRSM_C128; dtype += 2)
    for (int kind = 0; kind < 64; kind += 9) {
      seed = (uint64_t)kind + 77;
      make(&s, (sptrsm_dtype)dtype, kind, 1);
      for (int k = 0; k < (int)(sizeof odd / sizeof *odd); k++)
        for (int64_t i = 0; i < ORDER; i++) {
          put(s.x, (sptrsm_dtype)dtype, i * COLUMNS + 2 * k, odd[k]);
          put(s.b, (sptrsm_dtype)dtype, i * COLUMNS + 2 * k, k % 2 ? odd[k] : 1);
        }
      compare(&s, NULL, kind);
    }
  for (double size = 1e-180; size < 1e200; size *= 1e20) {
    seed = 99;
    make(&s, SPTRSM_F64, 3, size);
    compare(&s, NULL, 3);
  }
}

Test(residual, nothing_to_do) {
  static sample s;
  residual R;
  make(&s, SPTRSM_F64, 1, 1);
  s.X.nrhs = s.B.nrhs = 0;
  cr_assert(residual_compute(&R, &s.S, NULL, &s.B, &s.X) && R.max_berr == 0 && R.nrhs == 0);
  residual_free(&R);
  s.X.nrhs = s.B.nrhs = 3, s.S.n = s.X.n = s.B.n = 0;
  cr_assert(residual_compute(&R, &s.S, NULL, &s.B, &s.X) && R.max_berr == 0 && R.berr[2] == 0);
  residual_free(&R);
}

static bool size_is(double value, double want) { return isnan(want) ? isnan(value) : value == want; }

/* The parts of a block may be added in any order: the largest figures count, NaN above all, and of equal ones that of the first column. */
Test(residual, parts_are_added_in_any_order) {
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  static const struct {
    double berr[3];
    int64_t worst;
  } cases[] = {{{1e-16, 3e-16, 2e-16}, 11}, {{2e-16, 1e-16, 2e-16}, 1}, {{0, 0, 0}, 0}, {{1, NAN, NAN}, 11}, {{NAN, 2, NAN}, 1}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    for (int o = 0; o < 6; o++) {
      residual sum = {0};
      for (int k = 0; k < 3; k++) {
        const int part = orders[o][k];
        const double size = cases[c].berr[part];
        const int64_t column = size == 0 ? 0 : 1; /* without errors no column is noted */
        residual_add(&sum, &(residual){.max_berr = size, .worst = column, .g1 = size, .g1_row = 7 + part, .g1_column = column}, 10 * part);
      }
      cr_assert(sum.worst == cases[c].worst && sum.g1_column == cases[c].worst, "case %zu, order %d: column %lld", c, o,
                (long long)sum.worst);
      cr_assert(size_is(sum.max_berr, cases[c].berr[cases[c].worst / 10]), "case %zu, order %d", c, o);
      cr_assert(sum.g1_row == (sum.max_berr == 0 ? 0 : 7 + cases[c].worst / 10), "case %zu, order %d: row %lld", c, o,
                (long long)sum.g1_row);
    }
}
