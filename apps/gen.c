/* gen.c -- sptrsm-gen: synthetic triangular systems with known solutions.
 *
 * Numbers are chosen so that rounding does not blur the check. Off-diagonal entries are odd multiples of 1/8, from -7/8 to
 * 7/8 (complex: both parts). The diagonal is 1 + sum of |re| + |im| over the row (complex: times 1 + i/2), so that rows are
 * diagonally dominant and the inverse is at most 1 in the maximum norm. With a unit diagonal the row is divided by a power
 * of two at least as large as its length. X_true holds whole numbers from -9 to 9 without 0 (complex: both parts). All
 * these are dyadic fractions: B = T X_true is exact unless rows have millions of entries, and real systems are solved exactly.
 */
#include <complex.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "gen_pattern.h"

static const char help[] = "sptrsm-gen D3N27 64 64 64 -o grid.h5 --nrhs 32     grid.h5 and grid_rhs.h5\n"
                           "sptrsm-gen random 100000 --row 12 --uplo upper --dtype c128 -o r.h5\n"
                           "sptrsm-solve grid.h5 grid_rhs.h5     solves what the first of these has made\n"
                           "\n"
                           "usage: sptrsm-gen KIND SIZES -o FILE [options]    a triangle, and B and X_true\n"
                           "  D3N7|D3N13|D3N27|D3N33 X Y Z, D2N5|D2N9 X Y      stencils on a grid\n"
                           "  random N             --row or --density say how full\n"
                           "  powerlaw N           row lengths by a power law, --row\n"
                           "  banded N W           W entries beside the diagonal\n"
                           "  chain N              each row waits for the one before\n"
                           "  arrow N, dense N     dense first column and last row; dense\n"
                           "  --uplo lower|upper   default lower\n"
                           "  --unit               unit diagonal, not stored\n"
                           "  --dtype f32|f64|c64|c128   default f64\n"
                           "  --row R              average entries of a row, default 8\n"
                           "  --density D          share of the triangle, 0 < D <= 1\n"
                           "  --seed S, --nrhs K   default 1; --nrhs 0: no right-hand sides\n"
                           "  --order C|F          of the right-hand sides, default C\n"
                           "  --compress 0..9, --force    force: replace existing files\n"
                           "  -q, -v, --help, --version\n";

enum { KEY_UPLO = 2000, KEY_DTYPE, KEY_UNIT, KEY_ROW, KEY_DENSITY, KEY_SEED, KEY_NRHS, KEY_ORDER, KEY_FORCE, KEY_COMPRESS };
enum { SIZES_MAX = 3 };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "", 0},    {"uplo", KEY_UPLO, "SIDE", 0, "", 0},      {"dtype", KEY_DTYPE, "T", 0, "", 0},
    {"unit", KEY_UNIT, NULL, 0, "", 0},   {"row", KEY_ROW, "R", 0, "", 0},           {"density", KEY_DENSITY, "D", 0, "", 0},
    {"seed", KEY_SEED, "S", 0, "", 0},    {"nrhs", KEY_NRHS, "K", 0, "", 0},         {"order", KEY_ORDER, "O", 0, "", 0},
    {"force", KEY_FORCE, NULL, 0, "", 0}, {"compress", KEY_COMPRESS, "N", 0, "", 0}, {0},
};

typedef struct {
  pattern pattern;
  int64_t sizes[SIZES_MAX];
  int size_count;
  sptrsm_uplo uplo;
  sptrsm_dtype dtype;
  sptrsm_layout order;
  bool unit, force;
  int64_t nrhs;
  int compress;
  const char *out;
  char *rhs; /* name of the file of right-hand sides */
} settings;

/* ---- the command line ---- */

static void take_argument(settings *s, const char *text) {
  if (s->pattern.kind == NULL) {
    s->pattern.kind = pattern_find(text);
    if (s->pattern.kind == NULL) cli_usage("unknown kind '%s'; one of %s", text, pattern_names());
    return;
  }
  if (s->size_count == s->pattern.kind->sizes)
    cli_usage("one argument too many: '%s'; give %s %s", text, s->pattern.kind->name, s->pattern.kind->usage);
  s->sizes[s->size_count++] = cli_integer("size", text, 0, INT32_MAX);
}

static void finish_arguments(settings *s) {
  const pattern_kind *kind = s->pattern.kind;
  if (kind == NULL) cli_usage("give a kind: %s", pattern_names());
  if (s->size_count < kind->sizes) cli_usage("give %s %s", kind->name, kind->usage);
  if (s->out == NULL) cli_usage("give the output: -o FILE");
  if (!pattern_set_sizes(&s->pattern, s->sizes)) cli_usage("the order is above %d", INT32_MAX);
  if (s->pattern.density > 0 && s->pattern.entries > 0) cli_usage("--row and --density contradict each other; give one");
  bool is_random = strcmp(kind->name, "random") == 0, is_powerlaw = strcmp(kind->name, "powerlaw") == 0;
  if (s->pattern.density > 0 && !is_random) cli_usage("--density is for random, not for %s", kind->name);
  if (s->pattern.entries > 0 && !is_random && !is_powerlaw) cli_usage("--row is for random and powerlaw, not for %s", kind->name);
}

static void parse_fill(settings *s, int key, const char *text) {
  double value = cli_number(key == KEY_ROW ? "--row" : "--density", text);
  if (key == KEY_ROW && value < 1) cli_usage("--row: %s is below 1, the diagonal", text);
  if (key == KEY_DENSITY && (value <= 0 || value > 1)) cli_usage("--density: %s is not above 0 and at most 1", text);
  *(key == KEY_ROW ? &s->pattern.entries : &s->pattern.density) = value;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case 'o': s->out = text; return 0;
  case KEY_UPLO: s->uplo = (sptrsm_uplo)cli_choice("--uplo", text, cli_uplos, 2); return 0;
  case KEY_DTYPE: s->dtype = (sptrsm_dtype)cli_choice("--dtype", text, cli_dtypes, 4); return 0;
  case KEY_UNIT: s->unit = true; return 0;
  case KEY_ROW:
  case KEY_DENSITY: parse_fill(s, key, text); return 0;
  case KEY_SEED: s->pattern.seed = (uint64_t)cli_integer("--seed", text, 0, INT64_MAX); return 0;
  case KEY_NRHS: s->nrhs = cli_integer("--nrhs", text, 0, INT32_MAX); return 0;
  case KEY_ORDER: s->order = (sptrsm_layout)cli_choice("--order", text, cli_orders, 2); return 0;
  case KEY_FORCE: s->force = true; return 0;
  case KEY_COMPRESS: s->compress = (int)cli_integer("--compress", text, 0, 9); return 0;
  case ARGP_KEY_ARG: take_argument(s, text); return 0;
  case ARGP_KEY_END: finish_arguments(s); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- before any work ---- */

/* Is there memory for all of it? Before rows are counted: that alone takes minutes where the order is in the billions. */
static int check_memory(const settings *s) {
  double value = (double)sptrsm_dtype_bytes(s->dtype), n = s->pattern.n, threads = omp_get_max_threads();
  double entries = pattern_entries(&s->pattern) + n, blocks = 2 * n * (double)s->nrhs * value;
  double bytes = entries * (value + sizeof(int32_t)) + n * (sizeof(int64_t) + threads * sizeof(int32_t)) + blocks;
  double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (!(memory > 0) || bytes <= memory) return CLI_OK;
  cli_error("n %d with about %.2g entries and %lld right-hand sides takes %s, this machine has %s; choose a smaller size, --row, --density "
            "or --nrhs",
            s->pattern.n, entries, (long long)s->nrhs, cli_bytes(bytes).text, cli_bytes(memory).text);
  return CLI_MEMORY;
}

/* ---- the triangle ---- */

typedef struct {
  int64_t *ptr;
  int32_t *idx;
  void *val;
  sptrsm_sparse T;
} triangle;

static bool is_complex(sptrsm_dtype t) { return t == SPTRSM_C64 || t == SPTRSM_C128; }

static void put(void *to, sptrsm_dtype dtype, int64_t at, double complex value) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)to)[at] = (float)creal(value); break;
  case SPTRSM_F64: ((double *)to)[at] = creal(value); break;
  case SPTRSM_C64: ((float complex *)to)[at] = (float complex)value; break;
  case SPTRSM_C128: ((double complex *)to)[at] = value; break;
  }
}

static double complex get(const void *from, sptrsm_dtype dtype, int64_t at) {
  switch (dtype) {
  case SPTRSM_F32: return ((const float *)from)[at];
  case SPTRSM_F64: return ((const double *)from)[at];
  case SPTRSM_C64: return ((const float complex *)from)[at];
  case SPTRSM_C128: return ((const double complex *)from)[at];
  }
  return 0;
}

/* One of -7, -5, ..., 7 from three bits. */
static double eighths(uint64_t bits) { return (2.0 * (double)(bits & 7) - 7) / 8; }

/* Row `lower` of the lower triangle, as such or turned by 180 degrees into row n-1-lower of an upper one. */
static void fill_row(triangle *t, const settings *s, int32_t lower, int32_t *columns) {
  int32_t n = s->pattern.n, count = pattern_row(&s->pattern, lower, columns), row = s->uplo == SPTRSM_LOWER ? lower : n - 1 - lower;
  int64_t p = t->ptr[row], diagonal = s->uplo == SPTRSM_LOWER ? p + count : p;
  bool is_upper = s->uplo == SPTRSM_UPPER, stores_diagonal = !s->unit;
  double sum = 1, shrink = s->unit && count > 0 ? exp2(-ceil(log2(is_complex(s->dtype) ? 2.0 * count : count))) : 1;
  if (is_upper && stores_diagonal) p++;
  for (int32_t e = 0; e < count; e++, p++) {
    int32_t column = is_upper ? n - 1 - columns[count - 1 - e] : columns[e];
    uint64_t bits = mix(s->pattern.seed ^ 0x5eed, (uint64_t)row, (uint64_t)column);
    double re = shrink * eighths(bits), im = is_complex(s->dtype) ? shrink * eighths(bits >> 3) : 0;
    t->idx[p] = column;
    put(t->val, s->dtype, p, re + im * I);
    sum += fabs(re) + fabs(im);
  }
  if (!stores_diagonal) return;
  t->idx[diagonal] = row;
  put(t->val, s->dtype, diagonal, sum + sum / 2 * I);
}

/* Two passes over the rows, each in parallel: count, then fill. False: no memory. */
static bool make_triangle(triangle *t, const settings *s) {
  int32_t n = s->pattern.n;
  size_t room = (size_t)n + 1;
  int threads = omp_get_max_threads();
  int32_t *columns = malloc(room * (size_t)threads * sizeof *columns);
  t->ptr = calloc(room, sizeof *t->ptr);
  bool good = columns && t->ptr;
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads) if (good)
  for (int32_t i = 0; i < (good ? n : 0); i++) {
    int32_t row = s->uplo == SPTRSM_LOWER ? i : n - 1 - i;
    t->ptr[row + 1] = pattern_row(&s->pattern, i, columns + room * (size_t)omp_get_thread_num()) + !s->unit;
  }
  for (int32_t i = 0; good && i < n; i++) t->ptr[i + 1] += t->ptr[i];
  size_t nnz = good ? (size_t)t->ptr[n] : 0;
  t->idx = malloc((nnz + 1) * sizeof *t->idx);
  t->val = malloc((nnz + 1) * sptrsm_dtype_bytes(s->dtype));
  good = good && t->idx && t->val;
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads) if (good)
  for (int32_t i = 0; i < (good ? n : 0); i++) fill_row(t, s, i, columns + room * (size_t)omp_get_thread_num());
  free(columns);
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

static void triangle_free(triangle *t) {
  free(t->ptr);
  free(t->idx);
  free(t->val);
}

/* ---- X and B ---- */

static int64_t position(const sptrsm_block *X, int64_t i, int64_t k) {
  return X->layout == SPTRSM_ROW_MAJOR ? i * X->ld + k : i + k * X->ld;
}

/* From -9 to 9 without 0. */
static double small_integer(uint64_t bits) {
  int64_t value = (int64_t)(bits % 18) - 9;
  return (double)(value < 0 ? value : value + 1);
}

static void fill_solution(sptrsm_block *X, const settings *s) {
#pragma omp parallel for schedule(static)
  for (int32_t i = 0; i < X->n; i++)
    for (int64_t k = 0; k < X->nrhs; k++) {
      uint64_t bits = mix(s->pattern.seed ^ 0x50137, (uint64_t)i, (uint64_t)k);
      put(X->data, X->dtype, position(X, i, k), small_integer(bits >> 32) + small_integer(bits & 0xffffffff) * I);
    }
}

/* B = T X: a row at a time, sums in double. */
static void multiply_row(sptrsm_block *B, const sptrsm_sparse *T, const sptrsm_block *X, int32_t i) {
  for (int64_t k = 0; k < X->nrhs; k++) {
    double complex sum = T->diag == SPTRSM_UNIT ? get(X->data, X->dtype, position(X, i, k)) : 0;
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) sum += get(T->val, T->dtype, p) * get(X->data, X->dtype, position(X, T->idx[p], k));
    put(B->data, B->dtype, position(B, i, k), sum);
  }
}

static sptrsm_block new_block(const settings *s) {
  int32_t n = s->pattern.n;
  int64_t ld = s->order == SPTRSM_ROW_MAJOR ? s->nrhs : n;
  sptrsm_block X = {.ld = ld > 0 ? ld : 1, .n = n, .nrhs = s->nrhs, .dtype = s->dtype, .layout = s->order, .place = SPTRSM_HOST};
  X.data = calloc((size_t)n * (size_t)s->nrhs + 1, sptrsm_dtype_bytes(s->dtype)); /* n and nrhs are below 2^31 */
  return X;
}

/* ---- the files ---- */

static int write_rhs(const settings *s, const sptrsm_sparse *T, const sptrsm_save_options *save) {
  if (s->nrhs == 0) return CLI_OK;
  sptrsm_block X = new_block(s), B = new_block(s);
  int code = X.data && B.data ? CLI_OK : cli_no_memory("the right-hand sides");
  if (code == CLI_OK) {
    const char *const names[] = {"B", "X_true"};
    const sptrsm_block *const blocks[] = {&B, &X};
    fill_solution(&X, s);
#pragma omp parallel for schedule(dynamic, 256)
    for (int32_t i = 0; i < X.n; i++) multiply_row(&B, T, &X, i);
    code = cli_fail(sptrsm_file_blocks_save(s->rhs, 2, names, blocks, save));
  }
  free(X.data);
  free(B.data);
  return code;
}

static int write_files(const settings *s, const triangle *t) {
  char source[160], sizes[64] = "";
  sptrsm_save_options save;
  sptrsm_factors factors;
  for (int i = 0; i < s->size_count; i++) snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), " %lld", (long long)s->sizes[i]);
  snprintf(source, sizeof source, "sptrsm-gen %s%s, seed %llu", s->pattern.kind->name, sizes, (unsigned long long)s->pattern.seed);
  sptrsm_save_options_init(&save);
  save.force = s->force;
  save.compress = s->compress;
  save.source = source;
  save.grid = s->pattern.kind->dimensions > 0 ? s->pattern.grid : NULL;
  save.stencil = s->pattern.kind->dimensions > 0 ? s->pattern.kind->name : NULL;
  sptrsm_factors_init(&factors);
  factors.L = &t->T;
  int code = cli_fail(sptrsm_file_factors_save(s->out, &factors, NULL, &save));
  return code == CLI_OK ? write_rhs(s, &t->T, &save) : code;
}

static int report(const settings *s, const triangle *t, double seconds) {
  if (cli_quiet()) return CLI_OK;
  printf("%s: %s triangle, n %d, %lld entries, %s%s, %s\n", s->out, cli_uplos[s->uplo], s->pattern.n, (long long)t->ptr[s->pattern.n],
         cli_dtypes[s->dtype], s->unit ? ", unit diagonal" : "", s->pattern.kind->name);
  if (s->nrhs > 0)
    printf("%s: B and X_true, %lld column%s, %s order\n", s->rhs, (long long)s->nrhs, s->nrhs == 1 ? "" : "s", cli_orders[s->order]);
  if (cli_verbose()) printf("made in %s\n", cli_seconds(seconds).text);
  return cli_flush();
}

int main(int argc, char **argv) {
  static const cli_program program = {"sptrsm-gen", help, options, parse};
  settings s = {.dtype = SPTRSM_F64, .nrhs = 1, .pattern.seed = 1};
  triangle t = {0};
  double start = cli_now();
  cli_start(&program, argc, argv, &s);
  s.rhs = cli_sibling(s.out, "_rhs.h5");
  int code = s.rhs ? cli_check_output(s.out, s.force, NULL, 0) : cli_no_memory("a file name");
  if (code == CLI_OK && s.nrhs > 0) code = cli_check_output(s.rhs, s.force, NULL, 0);
  if (code == CLI_OK) code = check_memory(&s);
  if (code == CLI_OK && !make_triangle(&t, &s)) code = cli_no_memory("the matrix");
  if (code == CLI_OK) code = write_files(&s, &t);
  if (code == CLI_OK) code = report(&s, &t, cli_now() - start);
  triangle_free(&t);
  free(s.rhs);
  return code;
}
