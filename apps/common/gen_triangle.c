/* gen_triangle.c -- see gen_triangle.h. */
#include "common/gen_triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"

void spec_check(const triangle_spec *s) {
  const pattern_kind *kind = s->pattern.kind;
  if (s->pattern.density > 0 && s->pattern.entries > 0) cli_usage("--row and --density contradict each other; give one");
  bool is_random = strcmp(kind->name, "random") == 0, is_powerlaw = strcmp(kind->name, "powerlaw") == 0;
  if (s->pattern.density > 0 && !is_random) cli_usage("--density is for random, not for %s", kind->name);
  if (s->pattern.entries > 0 && !is_random && !is_powerlaw) cli_usage("--row is for random and powerlaw, not for %s", kind->name);
}

void spec_parse_fill(triangle_spec *s, bool is_row, const char *text) {
  double value = cli_number(is_row ? "--row" : "--density", text);
  if (is_row && value < 1) cli_usage("--row: %s is below 1, the diagonal", text);
  if (!is_row && (value <= 0 || value > 1)) cli_usage("--density: %s is not above 0 and at most 1", text);
  *(is_row ? &s->pattern.entries : &s->pattern.density) = value;
}

int spec_check_memory(const triangle_spec *s, int64_t nrhs, int64_t items) {
  double value = (double)sptrsm_dtype_bytes(s->dtype), n = s->pattern.n, threads = cli_threads();
  double entries = pattern_entries(&s->pattern) + n, blocks = 2 * n * (double)nrhs * value * (double)items;
  double bytes = entries * (value * (double)items + sizeof(int32_t)) + n * (sizeof(int64_t) + threads * sizeof(int32_t)) + blocks;
  double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (!(memory > 0) || bytes <= memory) return CLI_OK;
  cli_error("n %d with about %.2g entries and %lld right-hand sides takes %s, this machine has %s; choose a smaller size, --row, --density "
            "or --nrhs",
            s->pattern.n, entries, (long long)nrhs, cli_bytes(bytes).text, cli_bytes(memory).text);
  return CLI_MEMORY;
}

void put_value(void *to, sptrsm_dtype dtype, int64_t at, double complex value) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)to)[at] = (float)creal(value); break;
  case SPTRSM_F64: ((double *)to)[at] = creal(value); break;
  case SPTRSM_C64: ((float complex *)to)[at] = (float complex)value; break;
  case SPTRSM_C128: ((double complex *)to)[at] = value; break;
  }
}

double complex get_value(const void *from, sptrsm_dtype dtype, int64_t at) {
  switch (dtype) {
  case SPTRSM_F32: return ((const float *)from)[at];
  case SPTRSM_F64: return ((const double *)from)[at];
  case SPTRSM_C64: return ((const float complex *)from)[at];
  case SPTRSM_C128: return ((const double complex *)from)[at];
  }
  return 0;
}

static bool is_complex(sptrsm_dtype t) { return t == SPTRSM_C64 || t == SPTRSM_C128; }

/* One of -7, -5, ..., 7 from three bits. */
static double eighths(uint64_t bits) { return (2.0 * (double)(bits & 7) - 7) / 8; }

/* Fills row `lower` of a lower triangle. An upper triangle is the lower one turned by 180 degrees: there it is row n-1-lower. */
static void fill_row(triangle *t, const triangle_spec *s, int32_t lower, int32_t *columns) {
  int32_t n = s->pattern.n, count = pattern_row(&s->pattern, lower, columns), row = s->uplo == SPTRSM_LOWER ? lower : n - 1 - lower;
  int64_t p = t->ptr[row], diagonal = s->uplo == SPTRSM_LOWER ? p + count : p;
  bool is_upper = s->uplo == SPTRSM_UPPER, stores_diagonal = !s->unit;
  double sum = 1, shrink = s->unit && count > 0 ? exp2(-ceil(log2(is_complex(s->dtype) ? 2.0 * count : count))) : 1;
  if (is_upper && stores_diagonal) p++;
  for (int32_t e = 0; e < count; e++, p++) {
    int32_t column = is_upper ? n - 1 - columns[count - 1 - e] : columns[e];
    uint64_t bits = mix((s->pattern.seed + s->item) ^ 0x5eed, (uint64_t)row, (uint64_t)column);
    double re = shrink * eighths(bits), im = is_complex(s->dtype) ? shrink * eighths(bits >> 3) : 0;
    t->idx[p] = column;
    put_value(t->val, s->dtype, p, re + im * I);
    sum += fabs(re) + fabs(im);
  }
  if (!stores_diagonal) return;
  t->idx[diagonal] = row;
  put_value(t->val, s->dtype, diagonal, sum + sum / 2 * I);
}

enum { ROWS = 1024 /* of a piece */ };

typedef struct {
  triangle *t;
  const triangle_spec *spec;
  int32_t *columns; /* [n+1] for each thread */
} rows_job;

static int32_t piece_end(const rows_job *j, int64_t piece) {
  const int64_t n = j->spec->pattern.n, end = (piece + 1) * ROWS;
  return (int32_t)(end < n ? end : n);
}

static int32_t *columns_of(const rows_job *j, int member) { return j->columns + ((size_t)j->spec->pattern.n + 1) * (size_t)member; }

static void count_rows(void *argument, int64_t piece, int member) {
  const rows_job *j = argument;
  const triangle_spec *s = j->spec;
  for (int32_t i = (int32_t)(piece * ROWS); i < piece_end(j, piece); i++) {
    int32_t row = s->uplo == SPTRSM_LOWER ? i : s->pattern.n - 1 - i;
    j->t->ptr[row + 1] = pattern_row(&s->pattern, i, columns_of(j, member)) + !s->unit;
  }
}

static void fill_rows(void *argument, int64_t piece, int member) {
  const rows_job *j = argument;
  for (int32_t i = (int32_t)(piece * ROWS); i < piece_end(j, piece); i++) fill_row(j->t, j->spec, i, columns_of(j, member));
}

/* Two passes over the rows, each in parallel: count, then fill. */
bool triangle_make(triangle *t, const triangle_spec *s) {
  int32_t n = s->pattern.n;
  size_t room = (size_t)n + 1;
  const int threads = cli_threads();
  const int64_t pieces = ((int64_t)n + ROWS - 1) / ROWS;
  rows_job j = {.t = t, .spec = s, .columns = malloc(room * (size_t)threads * sizeof *j.columns)};
  t->ptr = calloc(room, sizeof *t->ptr);
  bool good = j.columns && t->ptr;
  if (good) cli_share(threads, pieces, count_rows, &j);
  for (int32_t i = 0; good && i < n; i++) t->ptr[i + 1] += t->ptr[i];
  size_t nnz = good ? (size_t)t->ptr[n] : 0;
  t->idx = malloc((nnz + 1) * sizeof *t->idx);
  t->val = malloc((nnz + 1) * sptrsm_dtype_bytes(s->dtype));
  good = good && t->idx && t->val;
  if (good) cli_share(threads, pieces, fill_rows, &j);
  free(j.columns);
  t->T = (sptrsm_sparse){.format = SPTRSM_CSR,
                         .dtype = s->dtype,
                         .uplo = s->uplo,
                         .diag = s->unit ? SPTRSM_UNIT : SPTRSM_NONUNIT,
                         .place = SPTRSM_HOST,
                         .n = n,
                         .ptr = t->ptr,
                         .idx = t->idx,
                         .val = t->val};
  return good;
}

void triangle_free(triangle *t) {
  free(t->ptr);
  free(t->idx);
  free(t->val);
}
