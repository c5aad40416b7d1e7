/* resume.c -- text for the journal of a partial solution: its inputs, and what was found about some columns, each one text line of JSON.
 *
 * Factors and A are compared by a checksum of their numbers; right-hand sides, which may be too large to be read twice, by size and time of
 * change of their file. Options are compared if they can change bits of X; threads, memory limit and names of files can't.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "solve/ranks/ranks.h"
#include "solve/solve.h"

/* ---- checksums ---- */

/* Hashes eight bytes at a time: the product carries every bit of a word to all higher bits, the shift brings those down again. */
static uint64_t mix(uint64_t h, const void *data, size_t bytes) {
  const char *at = data;
  for (; data && bytes >= sizeof(uint64_t); at += sizeof(uint64_t), bytes -= sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  for (; data && bytes > 0; at++, bytes--) h = (h ^ (unsigned char)*at) * 0x100000001b3u;
  return h;
}

static uint64_t mix_number(uint64_t h, int64_t number) { return mix(h, &number, sizeof number); }

/* The arrays of a compressed matrix; lines: its rows (CSR) or columns (CSC). */
static uint64_t mix_lines(uint64_t h, int64_t lines, sptrsm_dtype dtype, const int64_t *ptr, const int32_t *idx, const void *val) {
  h = mix_number(mix_number(h, lines), (int64_t)dtype);
  if (ptr == NULL) return h;
  h = mix(h, ptr, ((size_t)lines + 1) * sizeof *ptr);
  h = mix(h, idx, (size_t)ptr[lines] * sizeof *idx);
  return mix(h, val, (size_t)ptr[lines] * sptrsm_dtype_bytes(dtype));
}

static uint64_t mix_triangle(uint64_t h, const sptrsm_sparse *T) {
  if (T == NULL) return mix_number(h, -1);
  h = mix_number(h, (int64_t)T->format * 4 + (int64_t)T->uplo * 2 + (int64_t)T->diag);
  return mix_lines(h, T->n, T->dtype, T->ptr, T->idx, T->val);
}

static uint64_t checksum_of(const run *r) {
  const sptrsm_file_factors *F = r->in.factors;
  const sptrsm_factors *f = &F->factors;
  size_t n = (size_t)F->L_tri.n, value = sptrsm_dtype_bytes(F->L_tri.dtype);
  uint64_t h = mix_triangle(mix_triangle(F->single ? 1 : 2, &F->L_tri), f->U);
  h = mix_number(h, (int64_t)f->u_kind + 8 * f->row_convention + 16 * f->col_convention + 32 * f->row_op + 64 * f->col_op);
  h = mix(mix(mix_number(h, f->D_hermitian), f->D, n * value), f->D_sub, n * value);
  h = mix(mix(h, f->perm_row, n * sizeof *f->perm_row), f->perm_col, n * sizeof *f->perm_col);
  h = mix(mix(h, f->scale_row, n * sizeof *f->scale_row), f->scale_col, n * sizeof *f->scale_col);
  const sptrsm_file_matrix *A = F->A;
  if (A == NULL || (!r->verified && !r->refined.on)) return h;
  return mix_lines(mix_number(h, (int64_t)A->format * 8 + (int64_t)A->symmetry), A->format == SPTRSM_CSR ? A->rows : A->cols, A->dtype,
                   A->ptr, A->idx, A->val);
}

/* ---- inputs ---- */

static void add(json_t *o, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void add(json_t *o, const char *key, const char *format, ...) {
  char text[600];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  json_object_set_new(o, key, cli_json_text(text));
}

/* False: no memory. */
static bool add_file(json_t *o, const run *r) {
  struct stat s;
  char *file = cli_file_of(r->in.B->where);
  if (file == NULL) return false;
  if (stat(file, &s) == 0) {
    add(o, "size of the right-hand sides' file", "%lld", (long long)s.st_size);
    add(o, "time of change of the right-hand sides' file", "%lld.%09ld", (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  }
  free(file);
  return true;
}

static char *make_inputs(const run *r) {
  const problem_request *p = &r->set->problem;
  const sptrsm_block *B = &r->in.B->block;
  const solver *s = &r->solver;
  json_t *o = json_object();
  add(o, "version", "%s", sptrsm_version());
  add(o, "checksum of the factors", "%016" PRIx64, checksum_of(r));
  map_release(r);
  if (!add_file(o, r)) {
    json_decref(o);
    return NULL;
  }
  add(o, "right-hand sides", "%.500s", r->in.B->path);
  add(o, "--cols", "%lld:%lld", (long long)p->io.col_begin, (long long)(p->io.col_begin + B->nrhs));
  add(o, "--dtype", "%s", cli_dtypes[B->dtype]);
  add(o, "--sys", "%s", sptrsm_system_name(s->system));
  add(o, "--trans", "%s", cli_ops[s->op]);
  add(o, "--alpha", "%.17g,%.17g", p->alpha[0], p->alpha[1]);
  char kinds[500];
  add(o, "device", "%s", solver_kinds(kinds, sizeof kinds, s));
  for (int i = 0; i < s->plans; i++) add(o, i == 0 ? "method" : "second method", "%s (%s)", s->info[i].method, s->info[i].parameters);
  add(o, "residuals", "%s", r->verified ? r->in.S.name : "none");
  if (r->refined.on)
    add(o, "--refine", "%d steps, factors in %s precision", (int)r->set->refine.max_steps, r->set->refine.mixed ? "single" : "working");
  return cli_json_dump(o, JSON_COMPACT | JSON_SORT_KEYS);
}

const char *resume_inputs(run *r) {
  if (r->inputs == NULL) r->inputs = make_inputs(r);
  return r->inputs;
}

char *resume_shape(const run *r) {
  const sptrsm_block *B = &r->in.B->block;
  json_t *o = json_object();
  add(o, "number of rows", "%lld", (long long)B->n);
  add(o, "number of columns", "%lld", (long long)B->nrhs);
  add(o, "--dtype", "%s", cli_dtypes[B->dtype]);
  add(o, "order of the right-hand sides", "%s", B->layout == SPTRSM_ROW_MAJOR ? "C" : "F");
  add(o, "right-hand sides", "%s", r->in.reader ? "dense" : "sparse");
  add(o, "-o", "%.500s", r->set->out);
  add(o, "--dry-run", "%s", r->set->dry_run ? "given" : "not given");
  add(o, "--max-berr", "%.17g", r->set->max_berr);
  return cli_json_dump(o, JSON_COMPACT | JSON_SORT_KEYS);
}

char *resume_difference(const char *then, const char *now) {
  json_t *old = json_loads(then, 0, NULL), *new = json_loads(now, 0, NULL), *value;
  const char *key, *before;
  char *text = NULL;
  if (cli_json_lacked_memory()) goto done;
  if (!json_is_object(old)) text = strdup("its journal does not say what it was made from");
  json_object_foreach(new, key, value) {
    before = json_string_value(json_object_get(old, key));
    if (text || (before && strcmp(before, json_string_value(value)) == 0)) continue;
    if (asprintf(&text, "was begun with other inputs or options: %s was %s, now it is %s", key, before ? before : "not there",
                 json_string_value(value)) < 0)
      text = NULL;
  }
  if (text == NULL) text = strdup(json_object_size(old) != json_object_size(new) ? "was begun with other methods" : "");
done:
  json_decref(old);
  json_decref(new);
  return text;
}

int resume_agree(const char *inputs) {
  if (inputs == NULL) return cli_no_memory("what the solution depends on");
  size_t bytes = strlen(inputs) + 1;
  ranks_send(&bytes, sizeof bytes);
  char *first = malloc(bytes), *difference = NULL;
  if (first == NULL) return cli_no_memory("what the solution depends on");
  memcpy(first, inputs, ranks_own() == 0 ? bytes : 0);
  ranks_send(first, bytes);
  if (ranks_own() > 0) difference = resume_difference(first, inputs);
  bool failed = ranks_own() > 0 && difference == NULL, differs = difference && difference[0] != '\0';
  if (differs) cli_error("rank 0 %s", difference);
  free(first);
  free(difference);
  if (!failed && !differs) ranks_wait(); /* a rank that differs ends the run instead */
  return failed ? cli_no_memory("what the solution depends on") : differs ? CLI_INPUT : CLI_OK;
}

/* ---- findings; in text, numbers are hexadecimal, which keeps all bits, NaN and infinity ---- */

void findings_none(findings *f, const run *r) {
  *f = (findings){.residual.is_triangle = r->in.S.is_triangle, .refined = r->refined};
  refine_none(&f->refined);
}

/* The first columns of both, ascending. */
static void add_nonfinite(nonfinite *all, const nonfinite *part) {
  nonfinite sum = {.count = all->count + part->count};
  int64_t i = 0, k = 0;
  for (int64_t j = 0; j < NAMED_COLUMNS && j < sum.count; j++) {
    bool first = i < all->count && (k >= part->count || all->columns[i] < part->columns[k]);
    sum.columns[j] = first ? all->columns[i++] : part->columns[k++];
  }
  *all = sum;
}

void findings_add(findings *to, const findings *part) {
  residual_add(&to->residual, &part->residual, 0);
  add_nonfinite(&to->odd, &part->odd);
  refine_add(&to->refined, &part->refined);
}

void findings_settle(run *r, const findings *f) {
  residual *R = &r->residual;
  const int64_t nrhs = R->nrhs;
  double *berr = R->berr, *normwise = R->normwise;
  *R = f->residual;
  R->nrhs = nrhs;
  R->berr = berr;
  R->normwise = normwise;
  r->odd = f->odd;
  refine_none(&r->refined);
  refine_add(&r->refined, &f->refined);
}

static const char *const measures[] = {"berr", "normwise", "g1", "g2"};

static void set_number(json_t *o, const char *key, double value) { add(o, key, "%a", value); }

char *findings_text(const findings *f) {
  const residual *R = &f->residual;
  const double values[] = {R->max_berr, R->max_normwise, R->g1, R->g2};
  json_t *first = json_array(), *o;
  for (int64_t i = 0; i < f->odd.count && i < NAMED_COLUMNS; i++) json_array_append_new(first, json_integer(f->odd.columns[i]));
  o = json_pack("{s:I, s:I, s:I, s:I, s:o}", "worst", (json_int_t)R->worst, "g1_row", (json_int_t)R->g1_row, "g1_column",
                (json_int_t)R->g1_column, "nonfinite", (json_int_t)f->odd.count, "first", first);
  for (int k = 0; k < 4; k++) set_number(o, measures[k], values[k]);
  if (f->refined.on) json_object_set_new(o, "refinement", refine_state(&f->refined));
  return cli_json_dump(o, JSON_COMPACT);
}

/* False: it is no such text. */
static bool parse_findings(findings *f, json_t *o) {
  residual *R = &f->residual;
  json_t *first = json_object_get(o, "first");
  double *const values[] = {&R->max_berr, &R->max_normwise, &R->g1, &R->g2};
  bool good = json_is_object(o) && json_is_array(first);
  for (int k = 0; k < 4 && good; k++) {
    const char *text = json_string_value(json_object_get(o, measures[k]));
    good = text != NULL;
    if (good) *values[k] = strtod(text, NULL);
  }
  R->worst = json_integer_value(json_object_get(o, "worst"));
  R->g1_row = json_integer_value(json_object_get(o, "g1_row"));
  R->g1_column = json_integer_value(json_object_get(o, "g1_column"));
  f->odd.count = json_integer_value(json_object_get(o, "nonfinite"));
  const int64_t named = f->odd.count < NAMED_COLUMNS ? f->odd.count : NAMED_COLUMNS;
  if (!good || named < 0 || (int64_t)json_array_size(first) != named) return false;
  for (int64_t i = 0; i < named; i++) f->odd.columns[i] = json_integer_value(json_array_get(first, (size_t)i));
  return !f->refined.on || refine_resume(&f->refined, json_object_get(o, "refinement"));
}

int findings_take(findings *all, const char *text, const run *r) {
  findings f;
  findings_none(&f, r);
  json_t *o = json_loads(text, 0, NULL);
  bool good = parse_findings(&f, o);
  json_decref(o);
  if (cli_json_lacked_memory()) return cli_no_memory("the journal");
  if (good) findings_add(all, &f);
  if (good) return CLI_OK;
  cli_error("%s: its journal has no state of this program; begin anew (--force without --resume or --part)", r->set->out);
  return CLI_INPUT;
}
