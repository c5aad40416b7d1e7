/* tune.c -- see tune.h. The bounds of auto: auto.c. */
#include "bench/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/means.h"
#include "bench/tune/file.h"

static const int grid_p[] = {8, 1, 2, 4, 16, 32, 64}; /* the default first */
static const int grid_q[] = {8192, 64, 256, 1024, 2048, 4096, 16384};
enum { COUNT_P = sizeof grid_p / sizeof *grid_p, COUNT_Q = sizeof grid_q / sizeof *grid_q };
static const double worth_it = 1.01, lost_at_most = 0.9; /* a pair replaces the default from this mean and this least gain on */

/* ---- p and q of syncfree-csc ---- */

static void add_pairs(bench_args *a) {
  static char names[COUNT_P * COUNT_Q][40];
  for (int i = 0; i < COUNT_P * COUNT_Q; i++) {
    snprintf(names[i], sizeof names[i], "syncfree-csc/p=%d,q=%d", grid_p[i / COUNT_Q], grid_q[i % COUNT_Q]);
    a->methods[a->method_count++] = names[i];
  }
  if (a->nrhs_given) return;
  static const int64_t nrhs[] = {2, 4, 8, 16, 32, 128}; /* p matters for few, q for all */
  a->nrhs_count = sizeof nrhs / sizeof *nrhs;
  memcpy(a->nrhs, nrhs, sizeof nrhs);
}

static int report_pairs(const bench_session *s) {
  int best = 0;
  double gain = worth_it;
  for (int m = 1; m < s->args.method_count; m++) {
    bench_mean mean = bench_mean_of(s, m, BENCH_ANY, BENCH_ANY, BENCH_ANY);
    if (mean.cases > 0 && mean.mean > gain && mean.least >= lost_at_most) best = m, gain = mean.mean;
  }
  const int p = grid_p[best / COUNT_Q], q = grid_q[best % COUNT_Q];
  if (best == 0)
    fprintf(s->table, "best on %s: the default, p %d, q %d; no pair gains %.0f %% over it and loses nowhere\n", s->machine.device, p, q,
            100 * (worth_it - 1));
  else fprintf(s->table, "best on %s: p %d, q %d, %.2f times as fast as the default\n", s->machine.device, p, q, gain);
  return s->args.tune_out ? bench_tune_write(s->args.tune_out, s->machine.device, p, q) : CLI_OK;
}

void bench_tune_methods(bench_args *a) {
  if (a->tune == TUNE_AUTO) bench_tune_auto_methods(a);
  else add_pairs(a);
}

int bench_tune_report(const bench_session *s) { return s->args.tune == TUNE_AUTO ? bench_tune_auto_report(s) : report_pairs(s); }

/* ---- the table of devices ---- */

typedef struct {
  char mine[160], row[200];
} pair_row;

/* Copies all rows but the device's old one, and puts the new one before the last row, which is the default. */
static void copy_pairs(FILE *to, FILE *from, const void *what) {
  const pair_row *r = what;
  char *line = NULL;
  size_t room = 0;
  bool is_written = false;
  while (from && getline(&line, &room, from) > 0) {
    const bool is_mine = strncmp(line, r->mine, strlen(r->mine)) == 0, is_last = strncmp(line, "TUNED(\"\",", 9) == 0;
    if (!is_written && (is_mine || is_last)) fputs(r->row, to), is_written = true;
    if (!is_mine) bench_tune_line(to, line);
  }
  free(line);
  if (is_written) return;
  fprintf(to,
          "/* p and q of syncfree-csc by device, made by sptrsm-bench --tune. The last row is for all others. */\n%sTUNED(\"\", 8, 8192)\n",
          r->row);
}

int bench_tune_write(const char *path, const char *device, int p, int q) {
  pair_row r;
  if (!bench_tune_names(device)) return CLI_INTERNAL;
  snprintf(r.mine, sizeof r.mine, "TUNED(\"%s\",", device);
  snprintf(r.row, sizeof r.row, "%s %d, %d)\n", r.mine, p, q);
  return bench_tune_rewrite(path, copy_pairs, &r);
}
