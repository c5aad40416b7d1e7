/* auto.c -- the bounds of auto's table for a device: from the times of all methods of the table, by bounds.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tune/bounds.h"
#include "bench/tune/file.h"
#include "bench/tune/tune.h"

enum { MOST_MOVES = 32 };

typedef struct {
  sptrsm_auto_row rows[BENCH_AUTO_ROWS];
  int methods[BENCH_AUTO_ROWS]; /* of each row: its index in args.methods */
  int count;
} table;

static int find_method(const bench_args *a, const char *name) {
  for (int m = 0; m < a->method_count; m++)
    if (strcmp(a->methods[m], name) == 0) return m;
  return -1;
}

void bench_tune_auto_methods(bench_args *a) {
  if (a->nrhs_given) return;
  static const int64_t nrhs[] = {1, 4, 8, 32, 128};
  a->nrhs_count = sizeof nrhs / sizeof *nrhs;
  memcpy(a->nrhs, nrhs, sizeof nrhs);
}

/* ---- the measured cases ---- */

/* Fills the cases that have all features and times, and the number of the first measurement of each; returns their number. */
static int collect(tune_case *cases, int *firsts, const bench_session *s, const table *t) {
  int count = 0;
  for (int first = 0; first < s->count; first += s->args.method_count) {
    const bench_id id = bench_id_of(&s->args, first);
    tune_case *c = &cases[count];
    c->triangle = id.input;
    memcpy(c->features, bench_features_of(s, first)->known[s->args.ops[id.op]], sizeof c->features);
    bool is_known = true; /* without a feature no bound can be compared with the case */
    for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++) {
      if (strcmp(sptrsm_auto_feature(f), "nrhs") == 0) c->features[f] = (double)s->args.nrhs[id.nrhs];
      is_known = is_known && !isnan(c->features[f]);
    }
    for (int r = 0; r < BENCH_AUTO_ROWS; r++) c->ms[r] = NAN;
    for (int r = 0; r < t->count; r++) {
      const int at = bench_sibling(s, first, t->methods[r]);
      if (bench_is_ok(s, at)) c->ms[r] = s->results[at].solve_ms;
    }
    firsts[count] = first;
    count += is_known && isfinite(tune_loss_of(t->rows, t->count, c));
  }
  return count;
}

static int count_triangles(const tune_case *cases, int count) {
  int triangles = 0;
  for (int c = 0; c < count; c++) triangles += c == 0 || cases[c].triangle != cases[c - 1].triangle;
  return triangles;
}

/* The number of cases in which auto, which was measured too, took another method than the table says: there should be none. */
static int count_strange(const bench_session *s, const table *t, const tune_case *cases, const int *firsts, int count) {
  int strange = 0;
  for (int c = 0; c < count; c++) {
    const int at = bench_sibling(s, firsts[c], find_method(&s->args, "auto"));
    strange += bench_is_ok(s, at) && strcmp(s->results[at].chosen, t->rows[tune_row_of(t->rows, t->count, &cases[c])].method) != 0;
  }
  return strange;
}

/* ---- output ---- */

static void print_rows(const bench_session *s, const table *t, const tune_case *cases, int count) {
  fprintf(s->table, "\n%-16s %-14s %6s %12s %8s\n", "row of auto", "method", "cases", "over best", "most");
  for (int r = 0; r < t->count; r++) {
    double sum = 0, most = 0;
    int taken = 0;
    for (int c = 0; c < count; c++) {
      if (tune_row_of(t->rows, t->count, &cases[c]) != r) continue;
      const double loss = tune_loss_of(t->rows, t->count, &cases[c]);
      sum += log(loss), most = fmax(most, loss), taken++;
    }
    fprintf(s->table, "%-16s %-14s %6d", t->rows[r].name, t->rows[r].method, taken);
    if (taken > 0) fprintf(s->table, " %12.3f %8.2f", exp(sum / taken), most);
    fprintf(s->table, "\n");
  }
}

static void print_moves(const bench_session *s, const table *t, const tune_move *moves, int count) {
  for (int m = 0; m < count; m++) {
    const tune_move *v = &moves[m];
    fprintf(s->table, "%s: %s %s %g instead of %g, %.0f %% faster in %d cases of %d triangles\n", t->rows[v->row].name,
            sptrsm_auto_feature(v->feature), v->is_upper ? "<=" : ">=", v->to, v->from, 100 * (v->gain - 1), v->cases, v->triangles);
  }
}

/* ---- the file ---- */

typedef struct {
  const char *device;
  const bench_auto_bounds *bounds;
  int count;
} device_bounds;

static void copy_bounds(FILE *to, FILE *from, const void *what) {
  const device_bounds *d = what;
  char *line = NULL;
  size_t room = 0;
  while (from && getline(&line, &room, from) > 0) {
    bool is_old = false;
    for (int b = 0; b < d->count && !is_old; b++) {
      char mine[400];
      snprintf(mine, sizeof mine, "AUTO_BOUNDS(\"%s\", \"%s\", %s,", d->device, d->bounds[b].row, d->bounds[b].feature);
      is_old = strncmp(line, mine, strlen(mine)) == 0;
    }
    if (!is_old) bench_tune_line(to, line);
  }
  free(line);
  for (int b = 0; b < d->count; b++) {
    const bench_auto_bounds *n = &d->bounds[b];
    if (n->is_default) continue;
    fprintf(to, "AUTO_BOUNDS(\"%s\", \"%s\", %s, %.15g, %.15g) /* %s */\n", d->device, n->row, n->feature, n->least, n->most, n->why);
  }
}

int bench_tune_auto_write(const char *path, const char *device, const bench_auto_bounds *bounds, int count) {
  const device_bounds d = {device, bounds, count};
  return bench_tune_names(device) ? bench_tune_rewrite(path, copy_bounds, &d) : CLI_INTERNAL;
}

/* A text line of the file has both bounds of a row's feature; its comment is about the last move of either. */
static int list_bounds(bench_auto_bounds *bounds, const table *t, const tune_move *moves, int count) {
  sptrsm_auto_row own[BENCH_AUTO_ROWS];
  int listed = 0;
  (void)bench_auto_rows(own, t->rows[0].place, NULL);
  for (int m = count - 1; m >= 0; m--) {
    const tune_move *v = &moves[m];
    const sptrsm_auto_row *row = &t->rows[v->row], *plain = &own[v->row];
    bench_auto_bounds b = {
        .row = row->name, .feature = sptrsm_auto_feature(v->feature), .least = row->least[v->feature], .most = row->most[v->feature]};
    b.is_default = b.least == plain->least[v->feature] && b.most == plain->most[v->feature];
    snprintf(b.why, sizeof b.why, "%.0f %% faster in %d cases of %d triangles than with %g", 100 * (v->gain - 1), v->cases, v->triangles,
             v->from);
    int known = 0;
    while (known < listed && (strcmp(bounds[known].row, b.row) != 0 || strcmp(bounds[known].feature, b.feature) != 0)) known++;
    if (known == listed) bounds[listed++] = b;
  }
  return listed;
}

/* ---- the whole ---- */

static int tune(const bench_session *s, table *t, tune_case *cases, int *firsts) {
  tune_move moves[MOST_MOVES];
  bench_auto_bounds bounds[MOST_MOVES];
  const char *device = s->machine.tuned;
  const int count = collect(cases, firsts, s, t), triangles = count_triangles(cases, count);
  if (triangles < BENCH_TUNE_TRIANGLES) {
    cli_error("--tune=auto needs %d triangles or more; %d could be measured", BENCH_TUNE_TRIANGLES, triangles);
    return CLI_ABOVE;
  }
  const int strange = count_strange(s, t, cases, firsts, count);
  print_rows(s, t, cases, count);
  if (strange > 0)
    fprintf(s->table, "in %d cases auto took another method than its table says, which did not work a second time\n", strange);
  const double before = tune_loss(t->rows, t->count, cases, count);
  fprintf(s->table, "auto on %s: %.3f times the best of its methods in %d cases of %d triangles (geometric mean)\n", device, before, count,
          triangles);
  const int made = tune_bounds(t->rows, t->count, cases, count, moves, MOST_MOVES);
  print_moves(s, t, moves, made);
  fprintf(s->table, made > 0 ? "with these: %.3f times the best\n" : "no bound gains by moving\n",
          tune_loss(t->rows, t->count, cases, count));
  if (!s->args.tune_out) return CLI_OK;
  return bench_tune_auto_write(s->args.tune_out, device, bounds, list_bounds(bounds, t, moves, made));
}

int bench_tune_auto_report(const bench_session *s) {
  table t;
  t.count = bench_auto_rows(t.rows, s->machine.place, s->machine.tuned);
  for (int r = 0; r < t.count; r++) t.methods[r] = find_method(&s->args, t.rows[r].method);
  const size_t room = (size_t)(s->count / s->args.method_count) + 1;
  tune_case *cases = calloc(room, sizeof *cases);
  int *firsts = calloc(room, sizeof *firsts);
  const int code = cases && firsts ? tune(s, &t, cases, firsts) : cli_no_memory("the cases to tune by");
  free(cases);
  free(firsts);
  return code;
}
