/* batch.c -- sptrsm-solve with a batch: all items are read, solved by one call, checked one by one, and written.
 *
 * A singular item is no error of the others: its solution is NaN, its row is reported, and the exit code says that there is one.
 */
#include "solve/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static int check_options(const settings *s) {
  const struct {
    bool given;
    const char *name;
  } single[] = {{s->rows, "--rows"},
                {s->stream_columns != 0, "--stream"},
                {s->share.parts > 0, "--part"},
                {s->resume, "--resume"},
                {s->keep_partial, "--keep-partial"},
                {s->refine.mixed, "--precision mixed"},
                {s->refine.ferr, "--ferr"},
                {s->refine.on, "--refine"},
                {s->profile, "--profile"},
                {s->solver.grid.has_grid, "--grid"}};
  for (size_t k = 0; k < sizeof single / sizeof single[0]; k++) {
    if (!single[k].given) continue;
    cli_error("%s: is a batch, for which there is no %s; leave it out, or name one item as FILE:/path", s->problem.factors, single[k].name);
    return CLI_USAGE;
  }
  return CLI_OK;
}

/* ---- reading ---- */

/* X of a member /items/a/B is /items/a/X; that of /items/a is /items/a. */
static char *solution_path(const sptrsm_file_blocks *B, int64_t i) {
  char *out;
  const char *path = B->paths[i], *slash = strrchr(path, '/');
  if (!B->members) return strdup(path);
  return asprintf(&out, "%.*s/X", slash ? (int)(slash - path) : 0, path) < 0 ? NULL : out;
}

static int name_solutions(batch_run *r) {
  const sptrsm_file_blocks *B = r->in.B;
  const char *slash = B->path ? strrchr(B->path, '/') : NULL;
  if (B->paths == NULL)
    return asprintf(&r->x_path, "%.*s/X", slash ? (int)(slash - B->path) : 0, B->path ? B->path : "") < 0
               ? (r->x_path = NULL, cli_no_memory("a name"))
               : CLI_OK;
  r->x_paths = calloc((size_t)B->count + 1, sizeof *r->x_paths);
  for (int64_t i = 0; r->x_paths && i < B->count; i++)
    if ((r->x_paths[i] = solution_path(B, i)) == NULL) return cli_no_memory("a name");
  return r->x_paths ? CLI_OK : cli_no_memory("the names");
}

static int read_inputs(batch_run *r) {
  const settings *s = r->set;
  double start = cli_now();
  cli_phase("reading %s and %s", s->problem.factors, s->problem.rhs);
  int code = batch_load(&r->in, &s->problem, &s->batch);
  sptrsm_file_cache_clear(s->problem.io.cache);
  r->seconds.read = cli_now() - start;
  if (code != CLI_OK) return code;
  const sptrsm_file_batch *b = r->in.factors;
  chain S = {0};
  if (b->count > 0) chain_build(&S, b->items[0], s->problem.system, s->problem.op);
  r->against = S.name;
  r->verified = s->verify || s->max_berr >= 0 || (S.is_original && !s->no_verify);
  r->status = calloc((size_t)b->count + 1, sizeof *r->status);
  return r->status ? name_solutions(r) : cli_no_memory("the items");
}

/* ---- analysing ---- */

static int64_t most_columns(const sptrsm_file_blocks *B) {
  int64_t most = B->block.nrhs;
  for (int64_t i = 0; B->block.nrhs_of && i < B->count; i++)
    if (B->block.nrhs_of[i] > most) most = B->block.nrhs_of[i];
  return most;
}

static sptrsm_status prepare(batch_run *r) {
  const settings *s = r->set;
  sptrsm_options o = s->solver.options;
  o.op = s->problem.op;
  o.nrhs_hint = most_columns(r->in.B);
  o.memory_limit = s->problem.io.memory_limit / 4; /* the rest is for factors, B and X */
  if (o.nrhs_hint > 0 && o.panel > o.nrhs_hint) o.panel = (int32_t)o.nrhs_hint;
  sptrsm_status status = SPTRSM_OK;
  if (s->solver.device.place == SPTRSM_HOST) status = sptrsm_context_set_threads(r->context, s->solver.threads);
  if (status == SPTRSM_OK) status = batch_create(&r->batch, &r->system, r->context, r->in.factors, &o);
  if (status == SPTRSM_OK) status = sptrsm_batch_prepare(r->batch, r->system, s->problem.op);
  if (status == SPTRSM_OK) status = sptrsm_context_sync(r->context);
  r->facts.size = sizeof r->facts;
  return status == SPTRSM_OK ? sptrsm_batch_info(&r->facts, r->batch) : status;
}

static int analyse(batch_run *r) {
  const device_choice *d = &r->set->solver.device;
  double start = cli_now();
  cli_phase("analysing %lld items", (long long)r->in.factors->count);
  r->system = r->set->problem.system;
  sptrsm_status status = sptrsm_context_create(&r->context, d->place, d->index, NULL);
  int code = status != SPTRSM_OK && d->place == SPTRSM_CUDA ? (cli_fail(status), CLI_DEVICE) : cli_fail(status);
  if (code == CLI_OK) code = solver_fail(prepare(r));
  r->analyse_seconds = cli_now() - start;
  return code;
}

static void count_items(batch_run *r) {
  for (int64_t i = 0; i < r->in.factors->count; i++) {
    if (r->in.mask && !r->in.mask[i]) r->status[i] = (sptrsm_item_status){ITEM_LEFT_OUT, -1};
    r->left_out += r->status[i].status == ITEM_LEFT_OUT;
    r->solved += r->status[i].status == SPTRSM_OK && !r->set->dry_run;
    r->singular += r->status[i].status == SPTRSM_ERR_SINGULAR;
  }
}

/* --dry-run: what the analysis says about the items. */
static int foresee(batch_run *r) {
  sptrsm_status status = SPTRSM_OK;
  for (int64_t i = 0; status == SPTRSM_OK && i < r->in.factors->count; i++) status = sptrsm_batch_item(&r->status[i], r->batch, i);
  if (status == SPTRSM_OK) count_items(r);
  r->exit_code = r->singular > 0 ? CLI_SINGULAR : CLI_OK;
  return cli_fail(status);
}

/* ---- solving ---- */

static size_t block_numbers(const sptrsm_block *b) {
  return (size_t)(b->layout == SPTRSM_ROW_MAJOR ? b->n : b->nrhs) * (size_t)b->ld + 1; /* B of this size is in memory: no overflow */
}

/* X of each item in groups. */
static int make_groups(batch_run *r) {
  const int64_t count = r->in.factors->count;
  r->data_of = calloc((size_t)count + 1, sizeof *r->data_of);
  for (int64_t i = 0; r->data_of && i < count; i++) {
    const sptrsm_block B = batch_block_of(&r->in, &r->in.B->block, i);
    r->data_of[i] = calloc(block_numbers(&B), sptrsm_dtype_bytes(B.dtype));
    if (r->data_of[i] == NULL) return cli_no_memory("the solutions");
  }
  r->X.data_of = r->data_of;
  return r->data_of ? CLI_OK : cli_no_memory("the solutions");
}

/* X is an array where B is one, or one block for all items. */
static int make_array(batch_run *r) {
  const int64_t count = r->in.factors->count, n = r->in.n_most, nrhs = r->X.nrhs;
  const size_t each = sptrsm_dtype_bytes(r->X.dtype), one = (size_t)n * (size_t)nrhs; /* B has as many */
  const bool fits = one == 0 || (size_t)count < SIZE_MAX / 2 / each / one;
  if (r->X.stride == 0) r->X.stride = n * nrhs; /* B is one block for all items */
  r->array = fits ? calloc((size_t)count * one + 1, each) : NULL;
  r->X.data = r->array;
  return r->array ? CLI_OK : cli_no_memory("the solutions");
}

static int make_solutions(batch_run *r) {
  const sptrsm_batch_block *B = &r->in.B->block;
  r->X = *B;
  if (!r->verified && (B->data_of || B->stride > 0)) return CLI_OK; /* in place */
  return B->data_of ? make_groups(r) : make_array(r);
}

/* Items without a solution are NaN in the file. */
static void erase(batch_run *r, int64_t i) {
  const sptrsm_block X = batch_block_of(&r->in, &r->X, i);
  const bool single = X.dtype == SPTRSM_F32 || X.dtype == SPTRSM_C64, rows = X.layout == SPTRSM_ROW_MAJOR;
  const size_t reals = sptrsm_dtype_bytes(X.dtype) / (single ? sizeof(float) : sizeof(double));
  for (int64_t l = 0; l < (rows ? X.n : X.nrhs); l++)
    for (size_t q = 0; q < (size_t)(rows ? X.nrhs : X.n) * reals; q++) {
      const size_t at = (size_t)(l * X.ld) * reals + q;
      if (single) ((float *)X.data)[at] = NAN;
      else ((double *)X.data)[at] = NAN;
    }
}

static int solve(batch_run *r) {
  sptrsm_batch_run how;
  double start = cli_now();
  cli_phase("solving %lld items", (long long)r->in.factors->count);
  sptrsm_batch_run_init(&how);
  how.mask = r->in.mask;
  how.status = r->status;
  sptrsm_status status = sptrsm_batch_solve(r->batch, r->system, r->set->problem.op, r->in.system.alpha, &r->in.B->block, &r->X, &how);
  if (status == SPTRSM_OK) status = sptrsm_context_sync(r->context);
  r->seconds.solve = cli_now() - start;
  if (status == SPTRSM_OK) count_items(r);
  for (int64_t i = 0; status == SPTRSM_OK && i < r->in.factors->count; i++)
    if (r->status[i].status != SPTRSM_OK) erase(r, i);
  return solver_fail(status);
}

/* ---- checking ---- */

/* The largest figures of the columns that have one. Returns whether an error is not a number. */
static bool take_figures(batch_run *r, int64_t i, const residual *R, int64_t columns) {
  bool unknown = false;
  for (int64_t k = 0; k < columns; k++) {
    const bool is_number = !isnan(R->berr[k]);
    unknown = unknown || !is_number;
    if (!isnan(R->normwise[k])) r->max_normwise = fmax(r->max_normwise, R->normwise[k]);
    if (!is_number || (r->worst_item >= 0 && R->berr[k] <= r->max_berr)) continue;
    r->max_berr = R->berr[k];
    r->worst_item = i;
    r->worst_column = k;
  }
  return unknown;
}

static int judge(batch_run *r, int64_t i, const sptrsm_block *X, double *berr, bool is_finite) {
  const settings *s = r->set;
  const sptrsm_block B = batch_block_of(&r->in, &r->in.B->block, i);
  batch_item item;
  chain S;
  residual R;
  batch_item_of(&item, r->in.factors, i);
  chain_build(&S, &item.F, s->problem.system, s->problem.op);
  if (!residual_of_panel(&R, &S, r->in.system.alpha, &B, X, RESIDUAL_PANEL)) return cli_no_memory("the residuals");
  if (X->nrhs > 0) memcpy(berr, R.berr, (size_t)X->nrhs * sizeof *berr);
  if (take_figures(r, i, &R, X->nrhs) && is_finite) {
    if (r->unjudged < NAMED_COLUMNS) r->unjudged_items[r->unjudged] = i;
    r->unjudged++;
  }
  residual_free(&R);
  return CLI_OK;
}

static int check_item(batch_run *r, int64_t i, double *berr) {
  const sptrsm_block X = batch_block_of(&r->in, &r->X, i);
  int64_t column;
  if (r->status[i].status != SPTRSM_OK) return CLI_OK;
  const bool is_finite = nonfinite_columns(&X, &column, 1) == 0;
  if (!is_finite) {
    if (r->odd < NAMED_COLUMNS) r->odd_items[r->odd] = i;
    r->odd++;
  }
  return r->verified ? judge(r, i, &X, berr, is_finite) : CLI_OK;
}

static int check(batch_run *r) {
  const sptrsm_file_blocks *B = r->in.B;
  int64_t columns = 0, at = 0;
  double start = cli_now();
  cli_phase("checking solutions");
  for (int64_t i = 0; i < B->count; i++) columns += batch_block_of(&r->in, &B->block, i).nrhs;
  r->berr = r->verified ? malloc((size_t)columns * sizeof *r->berr + 1) : NULL;
  if (r->verified && r->berr == NULL) return cli_no_memory("the residuals");
  for (int64_t k = 0; r->berr && k < columns; k++) r->berr[k] = NAN;
  for (int64_t i = 0; i < B->count; i++) {
    int code = check_item(r, i, r->berr ? r->berr + at : NULL);
    if (code != CLI_OK) return code;
    at += batch_block_of(&r->in, &B->block, i).nrhs;
  }
  const bool above = r->set->max_berr >= 0 && r->worst_item >= 0 && !(r->max_berr <= r->set->max_berr);
  r->exit_code = r->singular > 0 ? CLI_SINGULAR : r->odd > 0 || r->unjudged > 0 || above ? CLI_ABOVE : CLI_OK;
  r->seconds.verify = cli_now() - start;
  return CLI_OK;
}

/* ---- writing ---- */

static int write_solutions(batch_run *r) {
  const settings *s = r->set;
  double start = cli_now();
  sptrsm_save_options save;
  const sptrsm_file_batch_solution solution = {.size = sizeof solution,
                                               .count = r->in.factors->count,
                                               .first = r->in.factors->first,
                                               .n = r->in.n,
                                               .X = &r->X,
                                               .paths = (const char *const *)r->x_paths,
                                               .status = r->status,
                                               .berr = r->berr};
  cli_phase("writing %s", s->out);
  char *text = cli_json_dump(batch_report_json(r, true), JSON_COMPACT);
  if (text == NULL) return cli_no_memory("the report");
  save_options_of(&save, s, text);
  save.path = r->x_path;
  cli_guard_write(s->out);
  sptrsm_status status = sptrsm_file_batch_solution_save(s->out, &solution, &save);
  cli_guard_end();
  free(text);
  r->seconds.write = cli_now() - start;
  return cli_fail(status);
}

int batch_report(const batch_run *r) {
  const char *json = r->set->json;
  batch_warn(r);
  if (!cli_quiet()) batch_report_text(r, json && strcmp(json, "-") == 0 ? stderr : stdout);
  int code = cli_flush();
  return code == CLI_OK && json ? cli_write_json(batch_report_json(r, false), json) : code;
}

/* ---- the run ---- */

int batch_work(batch_run *r) {
  int code = check_options(r->set);
  if (code == CLI_OK) code = read_inputs(r);
  if (code == CLI_OK) code = analyse(r);
  if (code == CLI_OK && r->set->dry_run) return foresee(r);
  if (code == CLI_OK) code = make_solutions(r);
  if (code == CLI_OK) code = solve(r);
  if (code == CLI_OK) code = check(r);
  return code == CLI_OK ? write_solutions(r) : code;
}

void batch_run_free(batch_run *r) {
  const int64_t count = r->in.factors ? r->in.factors->count : 0;
  for (int64_t i = 0; i < count; i++) {
    if (r->data_of) free(r->data_of[i]);
    if (r->x_paths) free(r->x_paths[i]);
  }
  free(r->data_of);
  free(r->x_paths);
  free(r->array);
  free(r->x_path);
  free(r->status);
  free(r->berr);
  sptrsm_batch_destroy(r->batch);
  sptrsm_context_destroy(r->context);
  batch_free(&r->in);
}
