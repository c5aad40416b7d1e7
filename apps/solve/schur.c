/* schur.c -- sptrsm-solve --schur: factors and columns are read, S is made by one call for all items, checked, and written.
 *
 * A singular item is no error of the others, as in batch.c. A single factor set is a batch of one item, but its errors end the run.
 */
#include "solve/schur.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */

void schur_check_options(const settings *s) {
  const problem_request *p = &s->problem;
  const struct {
    bool given;
    const char *name;
  } others[] = {{p->rhs != NULL, p->rhs},
                {p->system != SPTRSM_SYS_A, "--sys"},
                {p->alpha[0] != 1 || p->alpha[1] != 0, "--alpha"},
                {p->io.col_begin != 0 || p->io.col_end >= 0, "--cols"},
                {s->rows != NULL, "--rows"},
                {s->stream_columns != 0, "--stream"},
                {s->share.parts > 0, "--part"},
                {s->share.split, "--split-files"},
                {s->resume, "--resume"},
                {s->keep_partial, "--keep-partial"},
                {s->refine.mixed, "--precision mixed"},
                {s->refine.ferr, "--ferr"},
                {s->refine.on, "--refine"},
                {s->profile != NULL, "--profile"},
                {s->solver.grid.has_grid, "--grid"}};
  for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
    if (others[k].given) cli_usage("--schur: there are no right-hand sides and no X; leave %s out", others[k].name);
  if (s->schur_rows == NULL && p->op != SPTRSM_N)
    cli_usage("--trans: S = B^T A^-1 B has no transposed form; leave it out, or give --schur-rows (also the file of --schur)");
}

/* ---- reading ---- */

/* A single factor set as a batch of one item. */
static sptrsm_status load_alone(schur_run *r) {
  const problem_request *p = &r->set->problem;
  sptrsm_status status = sptrsm_file_factors_load(&r->alone, p->factors, &p->io);
  r->one = (sptrsm_file_batch){.kind = SPTRSM_BATCH_MIXED, .count = 1, .file_count = 1, .items = &r->alone, .where = (char *)p->factors};
  r->batch = &r->one;
  return status;
}

static int load_factors(schur_run *r) {
  const settings *s = r->set;
  int code = r->is_batch ? batch_load(&r->in, &s->problem, &s->batch) : cli_fail(load_alone(r));
  if (code != CLI_OK) return code;
  if (r->is_batch) r->batch = r->in.factors;
  const sptrsm_file_factors *F = r->is_batch && r->batch->count == 0 ? NULL : r->batch->items[0];
  if (F && F->single) {
    cli_error("%s: --schur needs a factor set, this is one triangle", s->problem.factors);
    return CLI_USAGE;
  }
  return F && !r->is_batch ? problem_check_system(&s->problem, F) : CLI_OK;
}

static int read_inputs(schur_run *r) {
  const settings *s = r->set;
  const double start = cli_now();
  cli_phase("reading %s and %s", s->problem.factors, s->schur);
  r->B = (schur_input){.option = "--schur", .where = s->schur};
  r->C = (schur_input){.option = "--schur-rows", .where = s->schur_rows};
  int code = load_factors(r);
  if (code == CLI_OK) code = schur_input_load(&r->B, r);
  if (code == CLI_OK) code = schur_input_load(&r->C, r);
  sptrsm_file_cache_clear(s->problem.io.cache);
  r->seconds.read = cli_now() - start;
  return code;
}

/* ---- analysing ---- */

/* The status of an item whose factors were refused as singular, with the row that a batch of the library names. */
static sptrsm_status find_row(schur_run *r, int64_t i) {
  const sptrsm_factors *set = &r->items[i].factors.F.factors;
  sptrsm_batch *batch = NULL;
  sptrsm_status status = sptrsm_batch_create_mixed(&batch, r->context, &set, 1, NULL);
  if (status == SPTRSM_OK) status = sptrsm_batch_item(&r->status[i], batch, 0);
  sptrsm_batch_destroy(batch);
  return status;
}

static sptrsm_status create_item(schur_run *r, int64_t i, const sptrsm_options *given) {
  schur_item *item = &r->items[i];
  sptrsm_options o = *given;
  sptrsm_schur_request request;
  sptrsm_schur_request_init(&request);
  request.op = r->set->problem.op;
  request.whole = 1;
  request.B = &schur_side_of(&r->B, i)->columns;
  if (r->C.where) request.C = &schur_side_of(&r->C, i)->columns;
  o.nrhs_hint = item->S.nrhs + (r->C.where ? item->S.n : 0);
  if (o.nrhs_hint > 0 && o.panel > o.nrhs_hint) o.panel = (int32_t)o.nrhs_hint;
  sptrsm_status status = sptrsm_direct_create(&item->direct, r->context, &item->factors.F.factors, &o);
  if (status == SPTRSM_ERR_SINGULAR && r->is_batch) return find_row(r, i);
  if (status == SPTRSM_OK) status = sptrsm_schur_create(&item->schur, item->direct, &request);
  item->facts.size = sizeof item->facts;
  return status == SPTRSM_OK ? sptrsm_schur_info(&item->facts, item->schur) : status;
}

/* The factors of the item, and the shape of its S. */
static void shape_item(schur_run *r, int64_t i) {
  schur_item *item = &r->items[i];
  const int64_t columns = schur_side_count(schur_side_of(&r->B, i));
  batch_item_of(&item->factors, r->batch, i);
  r->rows[i] = (int32_t)(r->C.where ? schur_side_count(schur_side_of(&r->C, i)) : columns);
  item->S = (sptrsm_block){.ld = columns > 0 ? columns : 1,
                           .n = r->rows[i],
                           .nrhs = columns,
                           .dtype = item->factors.F.L_tri.dtype,
                           .layout = SPTRSM_ROW_MAJOR,
                           .place = SPTRSM_HOST};
}

static int create_items(schur_run *r, const sptrsm_options *o) {
  for (int64_t i = 0; i < r->batch->count; i++) {
    shape_item(r, i);
    if (r->in.mask && !r->in.mask[i]) {
      r->status[i] = (sptrsm_item_status){ITEM_LEFT_OUT, -1};
      continue;
    }
    r->status[i] = (sptrsm_item_status){SPTRSM_OK, -1};
    const sptrsm_status status = create_item(r, i, o);
    if (status == SPTRSM_OK) continue;
    const char *option = ""; /* what the library calls by other names */
    if (status == SPTRSM_ERR_MEMORY) option = " (options.memory_limit is a quarter of --memory-limit)";
    if (status == SPTRSM_ERR_ARGUMENT && r->C.where == NULL) option = " (C: --schur-rows)";
    cli_error("%s%s%s%s", r->is_batch ? batch_name(r->batch, i).text : "", r->is_batch ? ": " : "", sptrsm_last_error(), option);
    return cli_exit_code(status);
  }
  return CLI_OK;
}

/* Counts what the items came to, and takes the method of the first one that is solved. */
static sptrsm_status count_items(schur_run *r) {
  r->method.size = sizeof r->method;
  sptrsm_status status = SPTRSM_OK;
  for (int64_t i = 0; i < r->batch->count; i++) {
    r->left_out += r->status[i].status == ITEM_LEFT_OUT;
    r->singular += r->status[i].status == SPTRSM_ERR_SINGULAR;
    if (r->status[i].status != SPTRSM_OK) continue;
    if (r->solved++ == 0) status = sptrsm_direct_info(&r->method, NULL, r->items[i].direct);
  }
  return status;
}

static int analyse(schur_run *r) {
  const settings *s = r->set;
  const device_choice *d = &s->solver.device;
  const size_t room = (size_t)r->batch->count + 1;
  const double start = cli_now();
  sptrsm_options o = s->solver.options;
  o.memory_limit = s->problem.io.memory_limit / 4; /* the rest is for factors, B, C and S */
  cli_phase("analysing");
  r->items = calloc(room, sizeof *r->items);
  r->rows = calloc(room, sizeof *r->rows);
  r->status = calloc(room, sizeof *r->status);
  if (!r->items || !r->rows || !r->status) return cli_no_memory("the items");
  r->rows[0] = (int32_t)(r->C.where ? r->C.most : r->B.most); /* also where there are no items */
  sptrsm_status status = sptrsm_context_create(&r->context, d->place, d->index, NULL);
  if (status != SPTRSM_OK) return d->place == SPTRSM_CUDA ? (cli_fail(status), CLI_DEVICE) : cli_fail(status);
  if (d->place == SPTRSM_HOST) status = sptrsm_context_set_threads(r->context, s->solver.threads);
  int code = cli_fail(status);
  if (code == CLI_OK) code = create_items(r, &o);
  if (code == CLI_OK) code = cli_fail(count_items(r));
  r->analyse_seconds = cli_now() - start;
  return code;
}

/* ---- solving ---- */

/* Bytes of all S as a double, which holds any sum; they may be more than an object of a file may take. */
static int count_bytes(schur_run *r) {
  const size_t given = r->set->problem.io.memory_limit;
  const double limit = given > 0 ? (double)given : 0.75 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  double bytes = 0;
  for (int64_t i = 0; i < r->batch->count; i++) {
    const sptrsm_block *S = &r->items[i].S;
    bytes += (double)S->n * (double)S->nrhs * (double)sptrsm_dtype_bytes(S->dtype);
  }
  if (bytes <= limit) {
    r->S_bytes = (size_t)bytes;
    return CLI_OK;
  }
  cli_error("S takes %s, more than the limit of %s; take fewer columns%s, or raise the limit (--memory-limit)", cli_bytes(bytes).text,
            cli_bytes(limit).text, r->is_batch ? " or items (--items)" : "");
  return CLI_MEMORY;
}

/* One allocation: S of the items one behind the other. Those without an S are NaN: all bits set is such a number in each type. */
static int make_blocks(schur_run *r) {
  char *at = r->numbers = malloc(r->S_bytes + 1);
  if (at == NULL) return cli_no_memory("S");
  for (int64_t i = 0; i < r->batch->count; i++) {
    sptrsm_block *S = &r->items[i].S;
    const size_t bytes = (size_t)S->n * (size_t)S->nrhs * sptrsm_dtype_bytes(S->dtype);
    memset(at, r->status[i].status == SPTRSM_OK ? 0 : 0xFF, bytes);
    S->data = at;
    at += bytes;
  }
  return CLI_OK;
}

/* Items without a Schur complement are left out of the call. */
static int solve_items(schur_run *r, sptrsm_schur **of, sptrsm_block *S) {
  int64_t count = 0;
  for (int64_t i = 0; i < r->batch->count; i++)
    if (r->status[i].status == SPTRSM_OK) of[count] = r->items[i].schur, S[count++] = r->items[i].S;
  sptrsm_status status = count > 0 ? sptrsm_schur_solve_many(of, count, S) : SPTRSM_OK;
  if (status == SPTRSM_OK) status = sptrsm_context_sync(r->context);
  return solver_fail(status);
}

static int solve(schur_run *r) {
  const double start = cli_now();
  cli_phase("solving %lld Schur complement%s", (long long)r->solved, r->solved == 1 ? "" : "s");
  sptrsm_schur **of = calloc((size_t)r->batch->count + 1, sizeof(void *));
  sptrsm_block *S = calloc((size_t)r->batch->count + 1, sizeof *S);
  int code = of && S ? make_blocks(r) : cli_no_memory("the items");
  if (code == CLI_OK) code = solve_items(r, of, S);
  free((void *)of);
  free(S);
  r->seconds.solve = cli_now() - start;
  return code;
}

/* ---- checking ---- */

static int check_item(schur_run *r, int64_t i) {
  int64_t column;
  double difference;
  if (r->status[i].status != SPTRSM_OK) return CLI_OK;
  if (nonfinite_columns(&r->items[i].S, &column, 1) > 0) {
    if (r->odd < NAMED_COLUMNS) r->odd_items[r->odd] = i;
    r->odd++;
  }
  if (!r->verified) return CLI_OK;
  int code = schur_compare(&difference, r, i);
  if (code == CLI_OK && (r->worst < 0 || (!(difference <= r->difference) && !isnan(r->difference))))
    r->difference = difference, r->worst = i;
  return code;
}

static int check(schur_run *r) {
  const settings *s = r->set;
  const double start = cli_now();
  int code = CLI_OK;
  if (r->verified) cli_phase("checking S");
  for (int64_t i = 0; code == CLI_OK && i < r->batch->count; i++) code = check_item(r, i);
  r->above = r->worst >= 0 && (isnan(r->difference) || (s->max_berr >= 0 && r->difference > s->max_berr));
  r->exit_code = r->singular > 0 ? CLI_SINGULAR : r->odd > 0 || r->above ? CLI_ABOVE : CLI_OK;
  r->seconds.verify = cli_now() - start;
  return code;
}

/* ---- writing ---- */

/* A dataset for each item, in the group of its name. */
static sptrsm_status write_groups(schur_run *r, sptrsm_file_batch_solution *solution, const sptrsm_save_options *save) {
  const int64_t count = r->batch->count;
  const size_t room = (size_t)count + 1;
  char **paths = calloc(room, sizeof *paths);
  void **data_of = calloc(room, sizeof *data_of);
  int64_t *sizes = calloc(2 * room, sizeof *sizes);
  bool good = paths && data_of && sizes;
  for (int64_t i = 0; good && i < count; i++) {
    const sptrsm_block *S = &r->items[i].S;
    data_of[i] = S->data, sizes[i] = S->nrhs, sizes[count + i] = S->ld;
    if (asprintf(&paths[i], "/items/%s/S", r->batch->names[i]) < 0) paths[i] = NULL;
    good = paths[i] != NULL;
  }
  sptrsm_batch_block S = *solution->X;
  S.data_of = data_of, S.nrhs_of = sizes, S.ld_of = sizes + count;
  solution->X = &S;
  solution->paths = (const char *const *)paths;
  sptrsm_status status = good ? sptrsm_file_batch_solution_save(r->set->out, solution, save)
                              : sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for the names of datasets", r->set->out);
  for (int64_t i = 0; paths && i < count; i++) free(paths[i]);
  free(paths);
  free((void *)data_of);
  free(sizes);
  return status;
}

static sptrsm_status write_batch(schur_run *r, const sptrsm_save_options *save) {
  const sptrsm_block *first = r->batch->count > 0 ? &r->items[0].S : NULL;
  sptrsm_batch_block S;
  sptrsm_batch_block_init(&S);
  S.layout = SPTRSM_ROW_MAJOR;
  S.data = r->numbers;
  S.dtype = first ? first->dtype : SPTRSM_F64;
  S.nrhs = first ? first->nrhs : r->B.most;
  S.ld = S.nrhs > 0 ? S.nrhs : 1;
  S.stride = r->rows[0] * S.nrhs;
  sptrsm_file_batch_solution solution = {
      .size = sizeof solution, .count = r->batch->count, .first = r->batch->first, .n = r->rows, .X = &S, .status = r->status};
  return r->B.grouped || r->C.grouped ? write_groups(r, &solution, save) : sptrsm_file_batch_solution_save(r->set->out, &solution, save);
}

static int write_output(schur_run *r) {
  const settings *s = r->set;
  const double start = cli_now();
  sptrsm_save_options save;
  cli_phase("writing %s", s->out);
  char *text = cli_json_dump(schur_json(r, true), JSON_COMPACT);
  if (text == NULL) return cli_no_memory("the report");
  save_options_of(&save, s, text);
  save.path = "/S";
  cli_guard_write(s->out);
  sptrsm_status status = r->is_batch ? write_batch(r, &save) : sptrsm_file_solution_save(s->out, &r->items[0].S, &save);
  cli_guard_end();
  free(text);
  r->seconds.write = cli_now() - start;
  return cli_fail(status);
}

int schur_report(const schur_run *r) {
  const char *json = r->set->json;
  schur_warn(r);
  if (!cli_quiet()) schur_text(r, json && strcmp(json, "-") == 0 ? stderr : stdout);
  int code = cli_flush();
  return code == CLI_OK && json ? cli_write_json(schur_json(r, false), json) : code;
}

/* ---- the run ---- */

int schur_work(schur_run *r, sptrsm_batch_kind kind) {
  r->is_batch = kind != SPTRSM_BATCH_NONE;
  r->verified = !r->set->no_verify;
  int code = read_inputs(r);
  if (code == CLI_OK) code = analyse(r);
  if (code == CLI_OK) code = count_bytes(r);
  if (r->set->dry_run && r->singular > 0) r->exit_code = CLI_SINGULAR;
  if (code != CLI_OK || r->set->dry_run) return code;
  code = solve(r);
  if (code == CLI_OK) code = check(r);
  return code == CLI_OK ? write_output(r) : code;
}

void schur_run_free(schur_run *r) {
  for (int64_t i = 0; r->items && i < r->batch->count; i++) {
    sptrsm_schur_destroy(r->items[i].schur);
    sptrsm_direct_destroy(r->items[i].direct);
  }
  free(r->items);
  free(r->rows);
  free(r->numbers);
  free(r->status);
  schur_input_free(&r->B);
  schur_input_free(&r->C);
  sptrsm_context_destroy(r->context);
  sptrsm_file_factors_free(r->alone);
  batch_free(&r->in);
}
