/* main.c -- sptrsm-gen: synthetic triangular systems with known solutions.
 *
 * The numbers are chosen so that B = T X_true has no rounding errors: the entries of the triangle are dyadic fractions
 * (gen_triangle.h), and X_true holds whole numbers from -9 to 9 except 0 (complex: both parts). So B is exact unless rows have
 * millions of entries, and real systems are solved exactly.
 */
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/gen_triangle.h"

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
    {"output", 'o', "FILE", 0, "file of the triangle", 0},
    {"uplo", KEY_UPLO, "lower|upper", 0, "which triangle", 0},
    {"dtype", KEY_DTYPE, "f32|f64|c64|c128", 0, "type of the numbers", 0},
    {"unit", KEY_UNIT, NULL, 0, "unit diagonal, not stored", 0},
    {"row", KEY_ROW, "ENTRIES", 0, "average entries of a row", 0},
    {"density", KEY_DENSITY, "SHARE", 0, "share of the triangle that is filled", 0},
    {"seed", KEY_SEED, "NUMBER", 0, "seed of the random numbers", 0},
    {"nrhs", KEY_NRHS, "COUNT", 0, "right-hand sides to make", 0},
    {"order", KEY_ORDER, "C|F", 0, "order of the right-hand sides", 0},
    {"force", KEY_FORCE, NULL, 0, "replace existing files", 0},
    {"compress", KEY_COMPRESS, "0|1|2|3|4|5|6|7|8|9", 0, "compression of the output", 0},
    {0},
};

typedef struct {
  triangle_spec spec;
  int64_t sizes[SIZES_MAX];
  int size_count;
  sptrsm_layout order;
  bool force;
  int64_t nrhs;
  int compress;
  const char *out;
  char *rhs; /* name of the file with the right-hand sides */
} settings;

/* ---- the command line ---- */

static void take_argument(settings *s, const char *text) {
  if (s->spec.pattern.kind == NULL) {
    s->spec.pattern.kind = pattern_find(text);
    if (s->spec.pattern.kind == NULL) cli_usage("unknown kind '%s'; one of %s%s", text, pattern_names(), pattern_suggestion(text).text);
    return;
  }
  if (s->size_count == s->spec.pattern.kind->sizes)
    cli_usage("one argument too many: '%s'; give %s %s", text, s->spec.pattern.kind->name, s->spec.pattern.kind->usage);
  s->sizes[s->size_count++] = cli_integer("size", text, 0, INT32_MAX);
}

static void finish_arguments(settings *s) {
  const pattern_kind *kind = s->spec.pattern.kind;
  if (kind == NULL) cli_usage("give a kind: %s", pattern_names());
  if (s->size_count < kind->sizes) cli_usage("give %s %s", kind->name, kind->usage);
  if (s->out == NULL) cli_usage("give the output: -o FILE");
  if (!pattern_set_sizes(&s->spec.pattern, s->sizes)) cli_usage("the order is above %d", INT32_MAX);
  spec_check(&s->spec);
}

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case 'o': s->out = text; return 0;
  case KEY_UPLO: s->spec.uplo = (sptrsm_uplo)cli_choice("--uplo", text, cli_uplos, 2); return 0;
  case KEY_DTYPE: s->spec.dtype = (sptrsm_dtype)cli_choice("--dtype", text, cli_dtypes, 4); return 0;
  case KEY_UNIT: s->spec.unit = true; return 0;
  case KEY_ROW:
  case KEY_DENSITY: spec_parse_fill(&s->spec, key == KEY_ROW, text); return 0;
  case KEY_SEED: s->spec.pattern.seed = (uint64_t)cli_integer("--seed", text, 0, INT64_MAX); return 0;
  case KEY_NRHS: s->nrhs = cli_integer("--nrhs", text, 0, INT32_MAX); return 0;
  case KEY_ORDER: s->order = (sptrsm_layout)cli_choice("--order", text, cli_orders, 2); return 0;
  case KEY_FORCE: s->force = true; return 0;
  case KEY_COMPRESS: s->compress = (int)cli_integer("--compress", text, 0, 9); return 0;
  case ARGP_KEY_ARG: take_argument(s, text); return 0;
  case ARGP_KEY_END: finish_arguments(s); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- X and B ---- */

static int64_t position(const sptrsm_block *X, int64_t i, int64_t k) {
  return X->layout == SPTRSM_ROW_MAJOR ? i * X->ld + k : i + k * X->ld;
}

/* A whole number from -9 to 9 except 0. */
static double small_integer(uint64_t bits) {
  int64_t value = (int64_t)(bits % 18) - 9;
  return (double)(value < 0 ? value : value + 1);
}

static void fill_row(const sptrsm_block *X, uint64_t seed, int32_t i) {
  for (int64_t k = 0; k < X->nrhs; k++) {
    uint64_t bits = mix(seed ^ 0x50137, (uint64_t)i, (uint64_t)k);
    put_value(X->data, X->dtype, position(X, i, k), small_integer(bits >> 32) + small_integer(bits & 0xffffffff) * I);
  }
}

/* Row i of B = T X, with sums in double. */
static void multiply_row(const sptrsm_block *B, const sptrsm_sparse *T, const sptrsm_block *X, int32_t i) {
  for (int64_t k = 0; k < X->nrhs; k++) {
    double complex sum = T->diag == SPTRSM_UNIT ? get_value(X->data, X->dtype, position(X, i, k)) : 0;
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++)
      sum += get_value(T->val, T->dtype, p) * get_value(X->data, X->dtype, position(X, T->idx[p], k));
    put_value(B->data, B->dtype, position(B, i, k), sum);
  }
}

typedef struct {
  const sptrsm_block *B, *X;
  const sptrsm_sparse *T;
  uint64_t seed;
} rhs_job;

enum { ROWS = 256 /* of a piece */ };

static int32_t piece_end(const rhs_job *j, int64_t piece) {
  return j->X->n - piece * ROWS < ROWS ? j->X->n : (int32_t)((piece + 1) * ROWS);
}

static void fill_rows(void *argument, int64_t piece, int member) {
  const rhs_job *j = argument;
  (void)member;
  for (int32_t i = (int32_t)(piece * ROWS); i < piece_end(j, piece); i++) fill_row(j->X, j->seed, i);
}

static void multiply_rows(void *argument, int64_t piece, int member) {
  const rhs_job *j = argument;
  (void)member;
  for (int32_t i = (int32_t)(piece * ROWS); i < piece_end(j, piece); i++) multiply_row(j->B, j->T, j->X, i);
}

static sptrsm_block new_block(const settings *s) {
  int32_t n = s->spec.pattern.n;
  int64_t ld = s->order == SPTRSM_ROW_MAJOR ? s->nrhs : n;
  sptrsm_block X = {.ld = ld > 0 ? ld : 1, .n = n, .nrhs = s->nrhs, .dtype = s->spec.dtype, .layout = s->order, .place = SPTRSM_HOST};
  X.data = calloc((size_t)n * (size_t)s->nrhs + 1, sptrsm_dtype_bytes(s->spec.dtype)); /* n and nrhs are below 2^31 */
  return X;
}

/* ---- the files ---- */

static int write_rhs(const settings *s, const char *path, const sptrsm_sparse *T, sptrsm_save_options save) {
  save.force = 1; /* the file with this name is an unfinished one */
  sptrsm_block X = new_block(s), B = new_block(s);
  int code = X.data && B.data ? CLI_OK : cli_no_memory("the right-hand sides");
  if (code == CLI_OK) {
    const char *const names[] = {"B", "X_true"};
    const sptrsm_block *const blocks[] = {&B, &X};
    rhs_job job = {.B = &B, .X = &X, .T = T, .seed = s->spec.pattern.seed};
    const int64_t pieces = ((int64_t)X.n + ROWS - 1) / ROWS;
    cli_share(cli_threads(), pieces, fill_rows, &job);
    cli_share(cli_threads(), pieces, multiply_rows, &job);
    cli_guard_write(s->rhs);
    sptrsm_status status = sptrsm_file_blocks_save(path, 2, names, blocks, &save);
    cli_guard_end();
    code = cli_fail(status);
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
  snprintf(source, sizeof source, "sptrsm-gen %s%s, seed %llu", s->spec.pattern.kind->name, sizes,
           (unsigned long long)s->spec.pattern.seed);
  sptrsm_save_options_init(&save);
  save.force = s->force;
  save.compress = s->compress;
  save.source = source;
  save.grid = s->spec.pattern.kind->dimensions > 0 ? s->spec.pattern.grid : NULL;
  save.stencil = s->spec.pattern.kind->dimensions > 0 ? s->spec.pattern.kind->name : NULL;
  sptrsm_factors_init(&factors);
  factors.L = &t->T;
  cli_second rhs;
  int code = s->nrhs > 0 ? cli_second_begin(&rhs, s->out, s->rhs, s->force) : CLI_OK;
  if (code != CLI_OK) return code;
  if (s->nrhs > 0) code = write_rhs(s, rhs.held, &t->T, save);
  if (code == CLI_OK) {
    cli_guard_write(s->out);
    sptrsm_status status = sptrsm_file_factors_save(s->out, &factors, NULL, &save);
    cli_guard_end();
    code = cli_fail(status);
  }
  return s->nrhs > 0 ? cli_second_end(&rhs, code) : code;
}

static int report(const settings *s, const triangle *t, double seconds) {
  if (cli_quiet()) return CLI_OK;
  printf("%s: %s triangle, n %d, %lld entries, %s%s, %s\n", s->out, cli_uplos[s->spec.uplo], s->spec.pattern.n,
         (long long)t->ptr[s->spec.pattern.n], cli_dtypes[s->spec.dtype], s->spec.unit ? ", unit diagonal" : "",
         s->spec.pattern.kind->name);
  if (s->nrhs > 0)
    printf("%s: B and X_true, %lld column%s, %s order\n", s->rhs, (long long)s->nrhs, s->nrhs == 1 ? "" : "s", cli_orders[s->order]);
  if (cli_verbose()) printf("made in %s\n", cli_seconds(seconds).text);
  return cli_flush();
}

int main(int argc, char **argv) {
  static const cli_program program = {"sptrsm-gen", help, options, parse};
  settings s = {.spec = {.dtype = SPTRSM_F64, .pattern.seed = 1}, .nrhs = 1};
  triangle t = {0};
  double start = cli_now();
  cli_start(&program, argc, argv, &s);
  s.rhs = cli_sibling(s.out, "_rhs.h5");
  int code = s.rhs ? cli_check_output(s.out, s.force, NULL, 0) : cli_no_memory("a file name");
  if (code == CLI_OK && s.nrhs > 0) code = cli_check_output(s.rhs, s.force, NULL, 0);
  if (code == CLI_OK) code = spec_check_memory(&s.spec, s.nrhs);
  if (code == CLI_OK && !triangle_make(&t, &s.spec)) code = cli_no_memory("the matrix");
  if (code == CLI_OK) code = write_files(&s, &t);
  if (code == CLI_OK) code = report(&s, &t, cli_now() - start);
  triangle_free(&t);
  free(s.rhs);
  return cli_end(code);
}
