/* cli_progress.c -- how far a program is: a bar on a terminal, a text line for every 10 % elsewhere. */
#include <unistd.h>

#include "common/cli.h"

enum { BAR_CELLS = 40 };
static const double quiet_seconds = 2, redraw_seconds = 0.1;

void cli_progress_begin(cli_progress *p, const char *what) { *p = (cli_progress){.what = what, .start = cli_now()}; }

void cli_progress_count(cli_progress *p, const char *unit, int64_t from, int64_t total) {
  p->unit = unit;
  p->from = from;
  cli_status_count(unit, from, total);
}

/* ", 1200 of 5000 columns, 340/s, 11 s left", or "" without a count. */
static void describe(char *out, size_t room, const cli_progress *p, int64_t done, int64_t total) {
  double seconds = cli_now() - p->start, rate = seconds > 0 ? (double)(done - p->from) / seconds : 0;
  out[0] = '\0';
  if (p->unit == NULL) return;
  int used = snprintf(out, room, ", %lld of %lld %s", (long long)done, (long long)total, p->unit);
  if (rate > 0 && done < total && used > 0 && (size_t)used < room)
    snprintf(out + used, room - (size_t)used, rate < 100 ? ", %.3g/s, %s left" : ", %.0f/s, %s left", rate,
             cli_seconds((double)(total - done) / rate).text);
}

static void draw_bar(cli_progress *p, double part, const char *rest) {
  static const char full[BAR_CELLS + 1] = "########################################";
  int width = p->unit ? BAR_CELLS / 2 : BAR_CELLS, cells = (int)(part * width);
  fprintf(stderr, "\r%s [%.*s%*s] %3d %%%s\033[K", p->what, cells, full, width - cells, "", (int)(100 * part), rest);
  fflush(stderr);
  p->bar = true;
}

void cli_progress_step(cli_progress *p, int64_t done, int64_t total) {
  char rest[120];
  double now = cli_now(), part = total > 0 ? (double)done / (double)total : 1;
  if (p->unit) cli_status_done(done);
  if (cli_quiet() || now - p->start < quiet_seconds) return;
  if (isatty(STDERR_FILENO)) {
    if (done < total && now - p->last < redraw_seconds) return;
    p->last = now;
    describe(rest, sizeof rest, p, done, total);
    draw_bar(p, part, rest);
  } else if ((int)(10 * part) > p->tenths) {
    p->tenths = (int)(10 * part);
    describe(rest, sizeof rest, p, done, total);
    cli_note("%s: %d %%%s", p->what, 10 * p->tenths, rest);
  }
}

void cli_progress_end(cli_progress *p) {
  if (p->bar) fprintf(stderr, "\r\033[K");
  p->bar = false;
}
