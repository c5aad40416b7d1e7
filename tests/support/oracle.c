/* oracle.c -- see oracle.h. */
#include "support/oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const test_pattern_names[TEST_PATTERNS] = {"diagonal", "chain",   "arrow", "dense-row", "grid",
                                                       "random",   "layered", "tree",  "full"};
const char *const test_diag_names[TEST_DIAGS] = {"nonunit", "unit-stored", "unit-implicit", "unit-mixed"};
const char *const test_dtype_names[4] = {"f32", "f64", "c64", "c128"};

enum { CANARY = 0xA5, MARGIN = 64 };

static void *need(size_t count, size_t bytes) {
  void *memory = calloc(count ? count : 1, bytes);
  if (!memory) abort();
  return memory;
}

static bool is_complex(sptrsm_dtype dtype) { return dtype == SPTRSM_C64 || dtype == SPTRSM_C128; }

/* ---- random numbers: splitmix64 ---- */

uint64_t test_random_next(test_random *r) {
  uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

int test_random_below(test_random *r, int bound) { return (int)(test_random_next(r) % (uint64_t)bound); }

double test_random_value(test_random *r, double least, double most) {
  uint64_t bits = test_random_next(r);
  double magnitude = least + (most - least) * (double)(bits >> 12) * 0x1p-52;
  return bits & 1 ? -magnitude : magnitude;
}

/* ---- triangles ---- */

enum { SPACE_X = 5, SPACE_Y = 41, SPACE_Z = 5 };

/* All points at distance 1 in each direction, and those at distance 2 along the axes. */
static int32_t space_columns(int32_t *columns, int32_t i) {
  int32_t count = 0;
  for (int z = -2; z <= 0; z++)
    for (int y = -2; y <= 2; y++)
      for (int x = -2; x <= 2; x++) {
        const bool near = abs(x) <= 1 && abs(y) <= 1 && abs(z) <= 1, on_axis = (x != 0) + (y != 0) + (z != 0) == 1;
        const int32_t to_x = i % SPACE_X + x, to_y = i / SPACE_X % SPACE_Y + y, to_z = i / (SPACE_X * SPACE_Y) + z;
        const int32_t j = to_x + SPACE_X * (to_y + SPACE_Y * to_z);
        if (to_x < 0 || to_x >= SPACE_X || to_y < 0 || to_y >= SPACE_Y || to_z < 0 || j >= i) continue;
        if (near || on_axis) columns[count++] = j;
      }
  return count;
}

/* Row i's columns in node `from`: all three, or in a node that is no supernode every other one. */
static int32_t node_columns(int32_t *columns, int32_t from, int32_t i) {
  int32_t count = 0;
  for (int32_t k = 0; k < 3; k++)
    if (from % 7 != 3 || (k + i) % 2 == 0) columns[count++] = 3 * (from - 1) + k;
  return count;
}

/* Node m > 0 has the children m - 1, m - 2, m - 4 ..., as many as m has trailing zero bits; it depends on them and on most of their
 * children, so a node updates several of the nodes above it. */
static int32_t tree_columns(int32_t *columns, int32_t i) {
  const int32_t m = i / 3 + 1;
  int32_t count = 0;
  for (int32_t bit = (m & -m) / 2; bit > 0; bit /= 2) {
    for (int32_t below = bit / 2; below > 0; below /= 2)
      if ((m + bit + below) % 3 != 0) count += node_columns(columns + count, m - bit - below, i);
    count += node_columns(columns + count, m - bit, i);
  }
  for (int32_t j = 3 * (m - 1); m % 7 != 3 && j < i; j++) columns[count++] = j;
  return count;
}

/* Columns below the diagonal of row i of a lower triangle, ascending. Returns their number. */
static int32_t row_columns(int32_t *columns, test_pattern pattern, int32_t n, int32_t i, test_random *r) {
  int32_t count = 0, side = (int32_t)sqrt((double)n);
  switch (pattern) {
  case TEST_CHAIN:
    if (i > 0) columns[count++] = i - 1;
    break;
  case TEST_ARROW:
    if (i > 0) columns[count++] = 0;
    break;
  case TEST_DENSE_ROW:
    for (int32_t j = 0; i == n - 1 && j < i; j++) columns[count++] = j;
    break;
  case TEST_GRID:
    if (n == SPACE_X * SPACE_Y * SPACE_Z) return space_columns(columns, i);
    if (i >= side) columns[count++] = i - side;
    if (i % side > 0 && side > 1) columns[count++] = i - 1;
    break;
  case TEST_RANDOM:
    for (int32_t j = 0; j < i; j++) /* row i takes each column with probability 4 / i */
      if (test_random_below(r, i) < 4) columns[count++] = j;
    break;
  case TEST_LAYERED:
    for (int32_t layer = n / 6 + 1, third = (layer + 2) / 3, part = 0; i >= layer && part < 3 && part * third < layer; part++) {
      int32_t least = i / layer * layer - layer + part * third, room = layer - part * third < third ? layer - part * third : third;
      columns[count++] = least + test_random_below(r, room);
    }
    break;
  case TEST_TREE: return tree_columns(columns, i);
  case TEST_FULL:
    for (int32_t j = 0; j < i; j++) columns[count++] = j;
    break;
  default: break;
  }
  return count;
}

static void put(void *values, sptrsm_dtype dtype, int64_t at, double re, double im) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)values)[at] = (float)re; break;
  case SPTRSM_F64: ((double *)values)[at] = re; break;
  case SPTRSM_C64: ((float *)values)[2 * at] = (float)re, ((float *)values)[2 * at + 1] = (float)im; break;
  case SPTRSM_C128: ((double *)values)[2 * at] = re, ((double *)values)[2 * at + 1] = im; break;
  }
}

static void get(double *re, double *im, const void *values, sptrsm_dtype dtype, int64_t at) {
  *re = *im = 0;
  switch (dtype) {
  case SPTRSM_F32: *re = (double)((const float *)values)[at]; break;
  case SPTRSM_F64: *re = ((const double *)values)[at]; break;
  case SPTRSM_C64: *re = (double)((const float *)values)[2 * at], *im = (double)((const float *)values)[2 * at + 1]; break;
  case SPTRSM_C128: *re = ((const double *)values)[2 * at], *im = ((const double *)values)[2 * at + 1]; break;
  }
}

static bool stores_diagonal(test_diag diag, int32_t i) {
  return diag == TEST_NONUNIT || diag == TEST_UNIT_STORED || (diag == TEST_UNIT_MIXED && i % 3 == 1);
}

/* Transposes the pattern ptr, idx in place of the old arrays; entries stay sorted. */
static void transpose(int64_t **ptr, int32_t **idx, int32_t n) {
  int64_t *to = need((size_t)n + 2, sizeof *to);
  int32_t *lines = need((size_t)(*ptr)[n], sizeof *lines);
  for (int64_t p = 0; p < (*ptr)[n]; p++) to[(*idx)[p] + 2]++;
  for (int32_t j = 0; j < n; j++) to[j + 2] += to[j + 1];
  for (int32_t i = 0; i < n; i++)
    for (int64_t p = (*ptr)[i]; p < (*ptr)[i + 1]; p++) lines[to[(*idx)[p] + 1]++] = i;
  free(*ptr);
  free(*idx);
  *ptr = to;
  *idx = lines;
}

/* Turns a lower triangle by rows into an upper one by rows: (i, j) -> (n-1-i, n-1-j). */
static void reverse(int64_t *ptr, int32_t *idx, int32_t n) {
  int64_t nnz = ptr[n];
  for (int64_t p = 0, q = nnz - 1; p <= q; p++, q--) {
    int32_t a = n - 1 - idx[p];
    idx[p] = n - 1 - idx[q];
    idx[q] = a;
  }
  for (int32_t i = 0, j = n; i <= j; i++, j--) {
    int64_t a = nnz - ptr[i];
    ptr[i] = nnz - ptr[j];
    ptr[j] = a;
  }
}

test_system test_system_make(test_pattern pattern, int32_t n, sptrsm_format format, sptrsm_dtype dtype, sptrsm_uplo uplo, test_diag diag,
                             uint64_t seed) {
  test_random r = {seed};
  int64_t *ptr = need((size_t)n + 1, sizeof *ptr), room = 8 * (int64_t)n + 8;
  int32_t *idx = need((size_t)room, sizeof *idx);
  for (int32_t i = 0; i < n; i++) {
    if (ptr[i] + i + 1 > room) {
      room = 2 * room + i;
      idx = realloc(idx, (size_t)room * sizeof *idx);
      if (!idx) abort();
    }
    int32_t count = row_columns(idx + ptr[i], pattern, n, i, &r);
    if (stores_diagonal(diag, i)) idx[ptr[i] + count++] = i;
    ptr[i + 1] = ptr[i] + count;
  }
  if (uplo == SPTRSM_UPPER) reverse(ptr, idx, n);
  if (format == SPTRSM_CSC) transpose(&ptr, &idx, n);
  test_system s = {.diag = diag};
  s.T = (sptrsm_sparse){.format = format,
                        .dtype = dtype,
                        .uplo = uplo,
                        .diag = diag == TEST_NONUNIT ? SPTRSM_NONUNIT : SPTRSM_UNIT,
                        .place = SPTRSM_HOST,
                        .n = n,
                        .ptr = ptr,
                        .idx = idx,
                        .val = need((size_t)ptr[n], sptrsm_dtype_bytes(dtype))};
  test_system_new_values(&s, seed);
  return s;
}

void test_system_new_values(test_system *s, uint64_t seed) {
  test_random r = {seed ^ 0x5eed};
  for (int32_t i = 0; i < s->T.n; i++)
    for (int64_t p = s->T.ptr[i]; p < s->T.ptr[i + 1]; p++) {
      bool diagonal = s->T.idx[p] == i;
      double angle = test_random_value(&r, 0, 3.141592653589793);
      double size = fabs(test_random_value(&r, diagonal ? 1 : 0.2, diagonal ? 2 : 0.6));
      bool polar = is_complex(s->T.dtype);
      put((void *)s->T.val, s->T.dtype, p, polar ? size * cos(angle) : copysign(size, angle), polar ? size * sin(angle) : 0);
    }
}

void test_system_free(test_system *s) {
  free((void *)s->T.ptr);
  free((void *)s->T.idx);
  free((void *)s->T.val);
  *s = (test_system){0};
}

/* ---- blocks ---- */

static int64_t position(const sptrsm_block *b, int32_t i, int64_t k) {
  return b->layout == SPTRSM_ROW_MAJOR ? (int64_t)i * b->ld + k : (int64_t)i + k * b->ld;
}

test_block test_block_make(int32_t n, int64_t nrhs, sptrsm_dtype dtype, sptrsm_layout layout, int padding) {
  bool rows = layout == SPTRSM_ROW_MAJOR;
  int64_t ld = (rows ? nrhs : n) + padding, lines = rows ? n : nrhs;
  test_block b = {.bytes = (size_t)(ld * lines) * sptrsm_dtype_bytes(dtype) + 2 * MARGIN};
  b.memory = need(b.bytes, 1);
  memset(b.memory, CANARY, b.bytes);
  b.block = (sptrsm_block){.data = b.memory + MARGIN, .ld = ld, .n = n, .nrhs = nrhs, .dtype = dtype, .layout = layout};
  return b;
}

test_block test_block_copy(const test_block *from) {
  test_block b = *from;
  b.memory = need(b.bytes, 1);
  memcpy(b.memory, from->memory, b.bytes);
  b.block.data = b.memory + MARGIN;
  return b;
}

void test_block_free(test_block *b) {
  free(b->memory);
  *b = (test_block){0};
}

void test_block_set(test_block *b, int32_t i, int64_t k, double re, double im) {
  put(b->block.data, b->block.dtype, position(&b->block, i, k), re, im);
}

void test_block_get(double *re, double *im, const test_block *b, int32_t i, int64_t k) {
  get(re, im, b->block.data, b->block.dtype, position(&b->block, i, k));
}

void test_block_fill(test_block *b, uint64_t seed) {
  for (int32_t i = 0; i < b->block.n; i++)
    for (int64_t k = 0; k < b->block.nrhs; k++) {
      test_random r = {seed + (uint64_t)k * 0x100000000u + (uint64_t)i};
      const double re = test_random_value(&r, 0.1, 1);
      test_block_set(b, i, k, re, is_complex(b->block.dtype) ? test_random_value(&r, 0.1, 1) : 0);
    }
}

static bool all_canaries(const unsigned char *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    if (from[at] != CANARY) return false;
  return true;
}

bool test_block_intact(const test_block *b) {
  const bool rows = b->block.layout == SPTRSM_ROW_MAJOR;
  const size_t value = sptrsm_dtype_bytes(b->block.dtype), inside = b->bytes - 2 * MARGIN;
  const size_t pitch = (size_t)b->block.ld * value, used = (size_t)(rows ? b->block.nrhs : b->block.n) * value;
  for (size_t line = 0; line < inside; line += pitch)
    if (!all_canaries(b->memory + MARGIN + line + used, pitch - used)) return false;
  return all_canaries(b->memory, MARGIN) && all_canaries(b->memory + MARGIN + inside, MARGIN);
}

static bool same_value(const char *a, const char *b, size_t bytes) {
  switch (bytes) { /* of a known size, so without a call */
  case 4: return memcmp(a, b, 4) == 0;
  case 8: return memcmp(a, b, 8) == 0;
  default: return memcmp(a, b, bytes) == 0;
  }
}

bool test_block_same_bits(const test_block *a, const test_block *b) {
  const size_t value = sptrsm_dtype_bytes(a->block.dtype);
  for (int32_t i = 0; i < a->block.n; i++)
    for (int64_t k = 0; k < a->block.nrhs; k++) {
      const char *x = (const char *)a->block.data + (size_t)position(&a->block, i, k) * value;
      const char *y = (const char *)b->block.data + (size_t)position(&b->block, i, k) * value;
      if (!same_value(x, y, value)) return false;
    }
  return true;
}

/* ---- residual ---- */

/* op(T) by rows, without a diagonal of ones; `length` counts the diagonal in any case. */
typedef struct {
  int64_t *ptr;
  int32_t *column, *length;
  double *re, *im, *size;
} row_list;

/* A block, row-major: real parts, imaginary parts and sizes. */
typedef struct {
  double *re, *im, *size;
} planes;

typedef struct {
  row_list T;
  planes x, b;
  int64_t nrhs;
  long double alpha[2], u;
  bool unit, real;
} residual_case;

/* |re + i im|; long double cannot overflow here, and hypotl takes ten times as long. */
static long double magnitude(long double re, long double im) { return im == 0 ? fabsl(re) : sqrtl(re * re + im * im); }

/* Row i's number of entries, or for `fill` its entries, which begin at ptr[i + 1] and move that to their end. */
static void take_entries(row_list *r, const test_system *system, sptrsm_op op, bool fill) {
  const sptrsm_sparse *T = &system->T;
  const bool line_is_row = (T->format == SPTRSM_CSR) == (op == SPTRSM_N);
  for (int32_t line = 0; line < T->n; line++)
    for (int64_t p = T->ptr[line]; p < T->ptr[line + 1]; p++) {
      const int32_t i = line_is_row ? line : T->idx[p], j = line_is_row ? T->idx[p] : line;
      if (T->diag == SPTRSM_UNIT && i == j) continue;
      if (!fill) {
        r->ptr[i + 2]++;
        r->length[i] += i != j;
        continue;
      }
      const int64_t q = r->ptr[i + 1]++;
      r->column[q] = j;
      get(&r->re[q], &r->im[q], T->val, T->dtype, p);
      if (op == SPTRSM_C) r->im[q] = -r->im[q];
      r->size[q] = (double)magnitude(r->re[q], r->im[q]);
    }
}

static row_list rows_make(const test_system *system, sptrsm_op op) {
  const size_t n = (size_t)system->T.n, nnz = (size_t)system->T.ptr[n];
  row_list r = {.ptr = need(n + 2, sizeof *r.ptr), .column = need(nnz, sizeof *r.column), .length = need(n, sizeof *r.length)};
  r.re = need(nnz, 3 * sizeof *r.re);
  r.im = r.re + nnz;
  r.size = r.im + nnz;
  take_entries(&r, system, op, false);
  for (size_t i = 0; i < n; i++) {
    r.ptr[i + 2] += r.ptr[i + 1];
    r.length[i]++;
  }
  take_entries(&r, system, op, true);
  return r;
}

/* A column `skip` stays 0: it may have NaNs, which are slow. */
static planes planes_make(const test_block *B, int64_t skip) {
  const int64_t nrhs = B->block.nrhs;
  const size_t count = (size_t)B->block.n * (size_t)nrhs;
  planes x = {.re = need(count, 3 * sizeof *x.re)};
  x.im = x.re + count;
  x.size = x.im + count;
  for (int32_t i = 0; i < B->block.n; i++)
    for (int64_t k = 0, at = i * nrhs; k < nrhs; k++, at++) {
      if (k == skip) continue;
      test_block_get(&x.re[at], &x.im[at], B, i, k);
      x.size[at] = (double)magnitude(x.re[at], x.im[at]);
    }
  return x;
}

/* The larger of `worst` and residual / bound; NaN where these are infinite. Roots and quotients only where they matter. */
static double larger(double worst, long double re, long double im, long double bound) {
  const long double square = re * re + im * im, least = worst * bound;
  if (square == 0 || square < least * least) return worst;
  const double ratio = (double)(magnitude(re, im) / bound);
  return ratio <= worst ? worst : ratio;
}

/* The largest ratio of row i, or `worst`. In single precision sums in double are exact enough: their rounding errors are 2^-29 of the
 * bound. They take the place of row i of b. */
static double row_in_double(const residual_case *c, int32_t i, double worst) {
  const int64_t nrhs = c->nrhs, row = i * nrhs;
  const double alpha_re = (double)c->alpha[0], alpha_im = (double)c->alpha[1];
  double *re = c->b.re + row, *im = c->b.im + row, *size = c->b.size + row;
  for (int64_t k = 0; k < nrhs; k++) {
    const double b_re = re[k], b_im = im[k];
    re[k] = alpha_re * b_re - alpha_im * b_im - (c->unit ? c->x.re[row + k] : 0);
    im[k] = alpha_re * b_im + alpha_im * b_re - (c->unit ? c->x.im[row + k] : 0);
    size[k] = c->unit ? c->x.size[row + k] : 0;
  }
  for (int64_t p = c->T.ptr[i]; p < c->T.ptr[i + 1]; p++) {
    const double t_re = c->T.re[p], t_im = c->T.im[p], t_size = c->T.size[p];
    const int64_t from = c->T.column[p] * nrhs;
    const double *x_re = c->x.re + from, *x_im = c->x.im + from, *x_size = c->x.size + from;
    for (int64_t k = 0; k < nrhs; k++) size[k] += t_size * x_size[k];
    for (int64_t k = 0; k < nrhs; k++) re[k] -= t_re * x_re[k] - t_im * x_im[k];
    for (int64_t k = 0; !c->real && k < nrhs; k++) im[k] -= t_re * x_im[k] + t_im * x_re[k];
  }
  const long double bound = (c->T.length[i] + 1) * c->u;
  for (int64_t k = 0; k < nrhs && !isnan(worst); k++) worst = larger(worst, re[k], im[k], bound * size[k]);
  return worst;
}

/* The same in long double. One element after the other, since such sums are fast only while they stay in registers. */
static double row_in_long_double(const residual_case *c, int32_t i, double worst) {
  const row_list *T = &c->T;
  const planes *x = &c->x;
  for (int64_t k = 0, at = i * c->nrhs; k < c->nrhs && !isnan(worst); k++, at++) {
    long double re = c->alpha[0] * c->b.re[at] - c->alpha[1] * c->b.im[at], im = c->alpha[0] * c->b.im[at] + c->alpha[1] * c->b.re[at];
    long double size = 0;
    if (c->unit) re -= x->re[at], im -= x->im[at], size = x->size[at];
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) {
      const int64_t from = T->column[p] * c->nrhs + k;
      const long double x_re = x->re[from], x_im = x->im[from];
      size += (long double)T->size[p] * x->size[from];
      re -= T->re[p] * x_re;
      if (c->real) continue;
      re += T->im[p] * x_im;
      im -= T->re[p] * x_im + T->im[p] * x_re;
    }
    worst = larger(worst, re, im, (T->length[i] + 1) * c->u * size);
  }
  return worst;
}

double test_residual(const test_system *system, sptrsm_op op, const double alpha[2], const test_block *B, const test_block *X,
                     int64_t skip) {
  const sptrsm_dtype dtype = system->T.dtype;
  const bool single = dtype == SPTRSM_F32 || dtype == SPTRSM_C64;
  residual_case c = {.T = rows_make(system, op),
                     .x = planes_make(X, skip),
                     .b = planes_make(B, skip),
                     .nrhs = B->block.nrhs,
                     .alpha = {alpha[0], alpha[1]},
                     .u = single ? FLT_EPSILON / 2 : DBL_EPSILON / 2,
                     .unit = system->T.diag == SPTRSM_UNIT,
                     .real = !is_complex(dtype)};
  double worst = 0;
  for (int32_t i = 0; i < system->T.n && !isnan(worst); i++)
    worst = single ? row_in_double(&c, i, worst) : row_in_long_double(&c, i, worst);
  free(c.x.re);
  free(c.b.re);
  free(c.T.re);
  free(c.T.ptr);
  free(c.T.column);
  free(c.T.length);
  return worst;
}
