/* main.c -- sptrsm-gen: synthetic triangular systems with known solutions.
 *
 * The numbers are chosen so that B = T X_true has no rounding errors: the entries of the triangle are dyadic fractions
 * (gen_triangle.h), and X_true holds whole numbers from -9 to 9 except 0 (complex: both parts). So B is exact unless rows have
 * millions of entries, and real systems are solved exactly.
 */
#include <stdlib.h>
#include <string.h>

#include "gen/gen.h"

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
                           "  feti CUTS SIDE       CUTS^3 cubes of SIDE^3 points: Cholesky factors, gluing B\n"
                           "  --count K            a batch: one pattern with the values of K items\n"
                           "  --uplo lower|upper   default lower\n"
                           "  --unit               unit diagonal, not stored\n"
                           "  --dtype f32|f64|c64|c128   default f64\n"
                           "  --row R              average entries of a row, default 8\n"
                           "  --density D          share of the triangle, 0 < D <= 1\n"
                           "  --seed S, --nrhs K   default 1; --nrhs 0: no right-hand sides\n"
                           "  --order C|F          of the right-hand sides, default C\n"
                           "  --compress 0..9, --force    force: replace existing files\n"
                           "  -q, -v, --help, --version\n";

enum { KEY_UPLO = 2000, KEY_DTYPE, KEY_UNIT, KEY_ROW, KEY_DENSITY, KEY_SEED, KEY_NRHS, KEY_ORDER, KEY_FORCE, KEY_COMPRESS, KEY_COUNT };

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
    {"count", KEY_COUNT, "ITEMS", 0, "make a batch with the values of many items", 0},
    {"force", KEY_FORCE, NULL, 0, "replace existing files", 0},
    {"compress", KEY_COMPRESS, "0|1|2|3|4|5|6|7|8|9", 0, "compression of the output", 0},
    {0},
};

/* ---- the command line ---- */

static void take_argument(settings *s, const char *text) {
  if (s->spec.pattern.kind == NULL && !s->feti) {
    s->feti = strcmp(text, "feti") == 0;
    s->spec.pattern.kind = s->feti ? NULL : pattern_find(text);
    if (s->spec.pattern.kind == NULL && !s->feti)
      cli_usage("unknown kind '%s'; one of %s, feti%s", text, pattern_names(), pattern_suggestion(text).text);
    return;
  }
  if (s->feti && s->size_count == 2) cli_usage("one argument too many: '%s'; give feti CUTS SIDE", text);
  if (!s->feti && s->size_count == s->spec.pattern.kind->sizes)
    cli_usage("one argument too many: '%s'; give %s %s", text, s->spec.pattern.kind->name, s->spec.pattern.kind->usage);
  s->sizes[s->size_count++] = cli_integer("size", text, 0, INT32_MAX);
}

static void finish_arguments(settings *s) {
  const pattern_kind *kind = s->spec.pattern.kind;
  if (kind == NULL && !s->feti) cli_usage("give a kind: %s, feti", pattern_names());
  if (!s->feti && s->size_count < kind->sizes) cli_usage("give %s %s", kind->name, kind->usage);
  if (s->out == NULL) cli_usage("give the output: -o FILE");
  if (s->feti) {
    feti_check(s);
    return;
  }
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
  case KEY_COUNT: s->count = cli_integer("--count", text, 0, INT32_MAX); return 0;
  case KEY_FORCE: s->force = true; return 0;
  case KEY_COMPRESS: s->compress = (int)cli_integer("--compress", text, 0, 9); return 0;
  case ARGP_KEY_ARG: take_argument(s, text); return 0;
  case ARGP_KEY_END: finish_arguments(s); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- the files ---- */

static int write_rhs(const settings *s, const char *path, const sptrsm_sparse *T, sptrsm_save_options save) {
  save.force = 0; /* the temporary name is new, so nothing may be overwritten */
  sptrsm_block X = rhs_block(s), B = rhs_block(s);
  int code = X.data && B.data ? CLI_OK : cli_no_memory("the right-hand sides");
  if (code == CLI_OK) {
    const char *const names[] = {"B", "X_true"};
    const sptrsm_block *const blocks[] = {&B, &X};
    rhs_fill(&B, &X, T, s->spec.pattern.seed);
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
  char source[160];
  sptrsm_save_options save;
  sptrsm_factors factors;
  save_options(&save, source, s);
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
  printf("%s: %s triangle, n %d, %lld entries, %s%s, %s\n", cli_shown(s->out), cli_uplos[s->spec.uplo], s->spec.pattern.n,
         (long long)t->ptr[s->spec.pattern.n], cli_dtypes[s->spec.dtype], s->spec.unit ? ", unit diagonal" : "",
         s->spec.pattern.kind->name);
  if (s->nrhs > 0)
    printf("%s: B and X_true, %lld column%s, %s order\n", cli_shown(s->rhs), (long long)s->nrhs, s->nrhs == 1 ? "" : "s",
           cli_orders[s->order]);
  if (cli_verbose()) printf("made in %s\n", cli_seconds(seconds).text);
  return cli_flush();
}

static int one_write(const settings *s, triangle *t, double start) {
  int code = spec_check_memory(&s->spec, s->nrhs, 1);
  if (code == CLI_OK && !triangle_make(t, &s->spec)) code = cli_no_memory("the matrix");
  if (code == CLI_OK) code = write_files(s, t);
  return code == CLI_OK ? report(s, t, cli_now() - start) : code;
}

int main(int argc, char **argv) {
  static const cli_program program = {"sptrsm-gen", help, options, parse};
  settings s = {.spec = {.dtype = SPTRSM_F64, .pattern.seed = 1}, .nrhs = 1, .count = -1};
  triangle t = {0};
  double start = cli_now();
  cli_start(&program, argc, argv, &s);
  s.rhs = cli_sibling(s.out, "_rhs.h5");
  int code = s.rhs ? cli_check_output(s.out, s.force, NULL, 0) : cli_no_memory("a file name");
  if (code == CLI_OK && s.nrhs > 0 && !s.feti) code = cli_check_output(s.rhs, s.force, NULL, 0);
  if (code == CLI_OK) code = s.feti ? feti_write(&s) : s.count >= 0 ? batch_write(&s) : one_write(&s, &t, start);
  triangle_free(&t);
  free(s.rhs);
  return cli_end(code);
}
