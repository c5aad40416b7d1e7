/* rows.c -- sptrsm-solve with sparse right-hand sides, or for some rows of X: only a part of the factors is solved with.
 *
 * sptrsm_reach finds the rows that the nonzero rows of B reach and that the wanted rows of X depend on. They are a smaller factor set,
 * which is solved as any other. Ascending lists of row numbers say which rows of B go into the block of the part, and which of its rows
 * are rows of X. All columns are in memory at once.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "solve/solve.h"

/* ---- rows of blocks ---- */

static size_t memory_limit(const run *r) {
  size_t asked = r->set->problem.io.memory_limit;
  return asked > 0 ? asked : (size_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (size_t)sysconf(_SC_PAGESIZE);
}

/* A block of n rows of zeros with as many columns as B; the caller frees out->data. Returns an exit code. */
static int new_block(sptrsm_block *out, const run *r, int32_t n, sptrsm_layout layout, const char *what) {
  const sptrsm_block *B = &r->in.B->block;
  size_t each = sptrsm_dtype_bytes(B->dtype), limit = memory_limit(r);
  bool rows = layout == SPTRSM_ROW_MAJOR;
  int64_t ld = rows ? B->nrhs : n, count = rows ? n : B->nrhs;
  *out = (sptrsm_block){.ld = ld > 0 ? ld : 1, .n = n, .nrhs = B->nrhs, .dtype = B->dtype, .layout = layout};
  if (count > 0 && (size_t)ld > limit / each / (size_t)count) {
    cli_error("%s of %d rows and %lld columns takes more than the memory limit, %s; take fewer columns (--cols) or rows (--rows)", what, n,
              (long long)B->nrhs, cli_bytes((double)limit).text);
    return CLI_MEMORY;
  }
  out->data = calloc((size_t)(ld * count) + 1, each);
  return out->data ? CLI_OK : cli_no_memory(what);
}

static char *element(const sptrsm_block *b, int64_t i, int64_t k) {
  int64_t at = b->layout == SPTRSM_ROW_MAJOR ? i * b->ld + k : i + k * b->ld;
  return (char *)b->data + (size_t)at * sptrsm_dtype_bytes(b->dtype);
}

static void copy_row(const sptrsm_block *to, int64_t i, const sptrsm_block *from, int64_t j) {
  size_t each = sptrsm_dtype_bytes(to->dtype);
  bool both = to->layout == SPTRSM_ROW_MAJOR && from->layout == SPTRSM_ROW_MAJOR;
  if (both) memcpy(element(to, i, 0), element(from, j, 0), (size_t)to->nrhs * each);
  for (int64_t k = 0; !both && k < to->nrhs; k++) memcpy(element(to, i, k), element(from, j, k), each);
}

/* Copies the rows that both blocks have. Row i of a block is row rows[i] of the whole, or row i where the list is NULL. */
static void copy_rows(const sptrsm_block *to, const int32_t *to_rows, const sptrsm_block *from, const int32_t *from_rows) {
  for (int32_t i = 0, j = 0; i < to->n && j < from->n;) {
    int32_t wanted = to_rows ? to_rows[i] : i, there = from_rows ? from_rows[j] : j;
    if (wanted == there) copy_row(to, i, from, j);
    i += wanted <= there;
    j += there <= wanted;
  }
}

/* ---- the part ---- */

/* A factor set for sptrsm_reach, which takes nothing else; a single upper triangle becomes U beside L = I. */
typedef struct {
  sptrsm_factors factors;
  sptrsm_sparse identity;
  int64_t *no_entries;
  sptrsm_system system;
} factor_view;

static int view_of(factor_view *v, const sptrsm_file_factors *F, sptrsm_system system) {
  *v = (factor_view){.factors = F->factors, .system = system};
  if (!F->single) return CLI_OK;
  int32_t n = F->L_tri.n;
  sptrsm_factors_init(&v->factors);
  v->factors.L = &F->L_tri;
  v->system = SPTRSM_SYS_L;
  if (F->L_tri.uplo == SPTRSM_LOWER) return CLI_OK;
  v->no_entries = calloc((size_t)n + 1, sizeof *v->no_entries);
  if (v->no_entries == NULL) return cli_no_memory("a factor");
  v->identity = (sptrsm_sparse){.format = SPTRSM_CSR, .dtype = F->L_tri.dtype, .diag = SPTRSM_UNIT, .n = n, .ptr = v->no_entries};
  v->factors.L = &v->identity;
  v->factors.U = &F->L_tri;
  v->system = SPTRSM_SYS_U;
  return CLI_OK;
}

/* Finds the part and creates the solver for it. */
static int analyse_view(run *r, const factor_view *v, sptrsm_reach_part *part) {
  solver_request request = r->set->solver;
  sptrsm_reach_request rows;
  sptrsm_reach_request_init(&rows);
  rows.system = v->system;
  rows.op = r->set->problem.op;
  rows.passed = map_passed, rows.context = r->in.factors;
  if (r->in.b_rows) rows.nonzero = r->in.b_rows, rows.nonzero_count = r->in.B->block.n;
  if (r->set->rows) rows.wanted = r->part.wanted.rows, rows.wanted_count = r->part.wanted.count;
  int code = cli_fail(sptrsm_reach_create(&r->part.reach, &v->factors, &rows));
  map_release(r);
  if (code == CLI_OK) code = cli_fail(sptrsm_reach_part_of(part, r->part.reach));
  if (code != CLI_OK) return code;
  r->part.n = part->m;
  r->part.entries = part->entries;
  r->part.all_entries = part->all_entries;
  request.system = v->system;
  request.op = rows.op;
  request.options.nrhs_hint = r->in.B->block.nrhs;
  request.options.memory_limit = r->set->problem.io.memory_limit;
  sptrsm_file_factors as_file = {.L_tri = *part->factors->L, .factors = *part->factors};
  return create_solver(r, &as_file, &request);
}

static int analyse(run *r, sptrsm_reach_part *part) {
  factor_view v;
  double start = cli_now();
  cli_phase("analysing");
  int code = view_of(&v, r->in.factors, r->set->problem.system);
  if (code == CLI_OK) code = analyse_view(r, &v, part);
  free(v.no_entries);
  r->solver.analyse_seconds = profile_span(r->profile, "analyse", start, 0, 0); /* of the reach, too */
  return code;
}

/* ---- the phases ---- */

static int read_rows(run *r) {
  double start = cli_now();
  int code = problem_read(&r->in);
  if (code == CLI_OK && r->set->rows) code = row_list_load(&r->part.wanted, r->set->rows, r->in.factors->L_tri.n, &r->set->problem.io);
  sptrsm_file_cache_clear(r->set->problem.io.cache);
  r->seconds.read += profile_span(r->profile, "read", start, 0, 0);
  return code;
}

static int run_columns(run *r, sptrsm_block *W) {
  enum { STEP = 1024 };
  sptrsm_status status = SPTRSM_OK;
  cli_progress progress;
  cli_phase("solving for %lld columns", (long long)W->nrhs);
  cli_progress_begin(&progress, "solving");
  cli_progress_count(&progress, "columns", 0, W->nrhs);
  for (int64_t begin = 0, end; begin < W->nrhs && status == SPTRSM_OK; begin = end) {
    end = W->nrhs - begin < STEP ? W->nrhs : begin + STEP;
    status = solve_columns(r, 0, &(solver_columns){r->in.alpha, W, W, begin, end}, 0);
    cli_progress_step(&progress, end, W->nrhs);
  }
  cli_progress_end(&progress);
  return solver_fail(status);
}

static int solve_part(run *r, const sptrsm_reach_part *part) {
  const sptrsm_block *B = &r->in.B->block;
  sptrsm_block W;
  double start = cli_now();
  int32_t rows = r->set->rows ? (int32_t)r->part.wanted.count : r->in.factors->L_tri.n;
  int code = new_block(&W, r, part->m, SPTRSM_ROW_MAJOR, "the part of B");
  if (code != CLI_OK) return code;
  copy_rows(&W, part->b_rows, B, r->in.b_rows);
  code = run_columns(r, &W);
  bool is_X = rows == W.n && !r->set->rows && B->layout == W.layout;
  if (is_X) r->X = W;
  else if (code == CLI_OK) code = new_block(&r->X, r, rows, B->layout, "X");
  if (!is_X && code == CLI_OK) copy_rows(&r->X, r->part.wanted.rows, &W, part->x_rows);
  if (!is_X) free(W.data);
  r->seconds.solve = cli_now() - start;
  return code;
}

/* The residual has all rows, so B is needed with its rows of zeros. */
static int measure(run *r) {
  sptrsm_block B;
  cli_phase("computing residuals");
  int code = new_block(&B, r, r->in.factors->L_tri.n, r->in.B->block.layout, "B for the residual");
  if (code != CLI_OK) return code;
  copy_rows(&B, NULL, &r->in.B->block, r->in.b_rows);
  if (!residual_compute(&r->residual, &r->in.S, r->in.alpha, &B, &r->X)) code = cli_no_memory("the residuals");
  free(B.data);
  return code;
}

static int check(run *r) {
  double start = cli_now();
  r->odd.count = nonfinite_columns(&r->X, r->odd.columns, NAMED_COLUMNS);
  int code = r->verified ? measure(r) : CLI_OK;
  r->seconds.verify = profile_span(r->profile, "judge", start, 0, 0);
  settle_exit(r);
  return code;
}

int rows_work(run *r) {
  sptrsm_reach_part part = {.size = sizeof part};
  int code = read_rows(r);
  if (code == CLI_OK) code = analyse(r, &part);
  if (code == CLI_OK && !r->set->dry_run) {
    code = solve_part(r, &part);
    if (code == CLI_OK) code = check(r);
    if (code == CLI_OK) code = write_solution(r);
  }
  return code;
}
