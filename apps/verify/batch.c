/* batch.c -- sptrsm-verify with a batch: each item is judged as one system; the answer is no where one of them is not within its limit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/verify.h"

enum { NAMED = 10 }; /* the most items that are named in the summary */

typedef struct {
  const settings *set;
  batch_problem in;
  sptrsm_file_blocks *X, *truth; /* truth NULL: there is no X_true */
  int64_t checked, wrong, far;   /* items */
  int64_t worst_item;            /* of the largest figure; -1: none */
  verdict worst;
  double max_berr, max_error;
  json_t *items;
} batch_verdict;

/* ---- the solution and the true one ---- */

/* Where X is if only its file is named: beside B. The caller frees; NULL without memory. */
static char *beside_B(const char *where, const sptrsm_file_blocks *B, const char *name) {
  char *file = cli_file_of(where), *out = NULL;
  const char *slash = B->path ? strrchr(B->path, '/') : NULL, *group = strrchr(B->where, ':');
  if (file == NULL) return NULL;
  const int good = B->path ? asprintf(&out, "%s:%.*s/%s", file, slash ? (int)(slash - B->path) : 0, B->path, name)
                           : asprintf(&out, "%s%s/*", file, group ? group : "");
  free(file);
  return good < 0 ? NULL : out;
}

static sptrsm_status load_columns(sptrsm_file_blocks **out, const batch_verdict *v, const char *where, const char *member, bool all) {
  sptrsm_io_options io = v->set->problem.io;
  io.dtype = (int)v->in.B->block.dtype;
  io.order = SPTRSM_AS_STORED;
  if (all) io.col_begin = 0, io.col_end = -1;
  return sptrsm_file_blocks_load(out, where, member, v->in.factors, &io);
}

/* The first item whose block has not as many columns as its right-hand sides; count: all have. */
static int64_t first_other(const batch_verdict *v, const sptrsm_file_blocks *X) {
  int64_t i = 0;
  while (i < X->count && batch_block_of(&v->in, &X->block, i).nrhs == batch_block_of(&v->in, &v->in.B->block, i).nrhs) i++;
  return i;
}

/* Loads blocks with the columns of B, or with those of B's file, out of which those of --cols are cut. Returns an exit code. */
static int load_blocks(sptrsm_file_blocks **out, const batch_verdict *v, const char *where, const char *member) {
  sptrsm_file_blocks *X = NULL;
  int code = cli_fail(load_columns(&X, v, where, member, true));
  if (code == CLI_OK && first_other(v, X) < X->count && X->file_nrhs == v->in.B->file_nrhs) {
    sptrsm_file_blocks_free(X);
    X = NULL;
    code = cli_fail(load_columns(&X, v, where, member, false));
  }
  const int64_t i = code == CLI_OK ? first_other(v, X) : 0;
  if (code == CLI_OK && i < X->count) {
    cli_error("%s: %s has %lld columns, its right-hand sides %lld; is it the solution of these right-hand sides, or is --cols needed?",
              X->where, batch_name(v->in.factors, i).text, (long long)batch_block_of(&v->in, &X->block, i).nrhs,
              (long long)batch_block_of(&v->in, &v->in.B->block, i).nrhs);
    code = CLI_INPUT;
  }
  if (code == CLI_OK) *out = X;
  else sptrsm_file_blocks_free(X);
  return code;
}

static int load_solution(batch_verdict *v) {
  const settings *s = v->set;
  char *file = cli_file_of(s->solution);
  const bool plain = file && strcmp(file, s->solution) == 0;
  char *where = plain ? beside_B(s->solution, v->in.B, "X") : file ? strdup(s->solution) : NULL;
  free(file);
  if (where == NULL) return cli_no_memory("a name");
  int code = load_blocks(&v->X, v, where, "X");
  free(where);
  return code;
}

/* X_true may lie beside B where B is an array. */
static int load_truth(batch_verdict *v) {
  sptrsm_file_listing list;
  bool found = false;
  if (v->in.B->path == NULL) return CLI_OK;
  char *where = beside_B(v->set->problem.rhs, v->in.B, "X_true"), *file = cli_file_of(v->set->problem.rhs);
  int code = where && file ? cli_fail(sptrsm_file_list(&list, file, &v->set->problem.io)) : cli_no_memory("a name");
  for (int k = 0; code == CLI_OK && k < list.count; k++) found = found || strcmp(list.entries[k].path, where + strlen(file) + 1) == 0;
  if (code == CLI_OK) sptrsm_file_listing_free(&list);
  if (code == CLI_OK && found) code = load_blocks(&v->truth, v, where, "X_true");
  free(where);
  free(file);
  return code;
}

/* ---- judging ---- */

static json_t *json_item(const batch_verdict *b, const verdict *v, int64_t i) {
  const sptrsm_file_batch *f = b->in.factors;
  return json_pack("{s:I, s:o, s:b, s:o, s:f, s:o, s:o, s:o, s:b}", "item", (json_int_t)(f->first + i), "name",
                   cli_json_text(f->names ? f->names[i] : NULL), "within", v->within, "figure", cli_json_number(v->figure), "limit",
                   v->limit, "max_berr", cli_json_number(v->residual.max_berr), "max_normwise", cli_json_number(v->residual.max_normwise),
                   "max_error", v->has_error ? cli_json_number(v->error) : json_null(), "far_off", v->far_off);
}

static void add(batch_verdict *b, const verdict *v, int64_t i) {
  b->checked++;
  b->wrong += !v->within;
  b->far += v->far_off;
  b->max_berr = nan_max(b->max_berr, v->residual.max_berr);
  if (v->has_error) b->max_error = nan_max(b->max_error, v->error);
  if (!v->within && b->wrong <= NAMED)
    cli_warning("%s is not within: %s %s, limit %g", batch_name(b->in.factors, i).text, v->figure_name, cli_error_size(v->figure).text,
                v->limit);
  if (v->far_off && b->far <= NAMED)
    cli_warning("%s solves its system, but is far from X_true: is this the right matrix?", batch_name(b->in.factors, i).text);
  if (b->worst_item < 0 || (!(v->figure <= b->worst.figure) && !isnan(b->worst.figure))) b->worst = *v, b->worst_item = i;
  json_array_append_new(b->items, json_item(b, v, i));
}

static int judge_item(batch_verdict *b, int64_t i) {
  const settings *s = b->set;
  const sptrsm_block B = batch_block_of(&b->in, &b->in.B->block, i), X = batch_block_of(&b->in, &b->X->block, i);
  batch_item item;
  verdict v = {0};
  batch_item_of(&item, b->in.factors, i);
  chain_build(&v.problem.S, &item.F, s->problem.system, s->problem.op);
  if (!residual_of_panel(&v.residual, &v.problem.S, b->in.system.alpha, &B, &X, RESIDUAL_PANEL)) return cli_no_memory("the residuals");
  if (b->truth) {
    const sptrsm_block truth = batch_block_of(&b->in, &b->truth->block, i);
    v.has_error = true;
    v.error = max_difference(&X, &truth);
    v.size = max_entry(&truth);
  }
  judge(&v, s);
  residual_free(&v.residual);
  add(b, &v, i);
  return CLI_OK;
}

/* ---- report ---- */

static int report(batch_verdict *b) {
  const settings *s = b->set;
  const bool within = b->wrong == 0;
  if (s->json)
    return cli_write_json(
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:b, s:I, s:I, s:I, s:o, s:o, s:O}", "program", "sptrsm-verify", "version",
                  sptrsm_version(), "factors", cli_json_text(s->problem.factors), "rhs", cli_json_text(b->in.B->where), "solution",
                  cli_json_text(b->X->where), "system", sptrsm_system_name(s->problem.system), "op", cli_ops[s->problem.op], "within",
                  within, "checked", (json_int_t)b->checked, "not_within", (json_int_t)b->wrong, "far_off", (json_int_t)b->far, "max_berr",
                  cli_json_number(b->max_berr), "max_error", b->truth ? cli_json_number(b->max_error) : json_null(), "items", b->items),
        "-");
  if (cli_quiet()) return CLI_OK;
  printf("%s solves %s with %s: %s, %lld of %lld item%s\n", cli_shown(b->X->where), cli_shown(b->in.B->where),
         cli_shown(s->problem.factors), within ? "yes" : "NO", (long long)(b->checked - b->wrong), (long long)b->checked,
         b->checked == 1 ? "" : "s");
  if (b->worst_item >= 0)
    printf("  worst: %s, %s %s, limit %g\n  largest componentwise backward error %s\n", batch_name(b->in.factors, b->worst_item).text,
           b->worst.figure_name, cli_error_size(b->worst.figure).text, b->worst.limit, cli_error_size(b->max_berr).text);
  if (b->truth) printf("  largest error against X_true: %s\n", cli_error_size(b->max_error).text);
  return cli_flush();
}

int verify_batch(const settings *s) {
  batch_verdict b = {.set = s, .worst_item = -1, .items = json_array()};
  int code = batch_load(&b.in, &s->problem, &s->batch);
  if (code == CLI_OK) code = load_solution(&b);
  if (code == CLI_OK) code = load_truth(&b);
  sptrsm_file_cache_clear(s->problem.io.cache);
  for (int64_t i = 0; code == CLI_OK && i < b.in.factors->count; i++)
    if (b.in.mask == NULL || b.in.mask[i]) code = judge_item(&b, i);
  if (code == CLI_OK) code = report(&b);
  if (code == CLI_OK && (b.wrong > 0 || b.far > 0)) code = CLI_ABOVE;
  json_decref(b.items);
  sptrsm_file_blocks_free(b.X);
  sptrsm_file_blocks_free(b.truth);
  batch_free(&b.in);
  return code;
}
