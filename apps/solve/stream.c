/* stream.c -- blocks larger than memory: columns are read, solved, checked and written panel by panel, four panels at a time.
 *
 * Four stages work on a ring of page-locked buffers (ring.h): panel i+3 is read while i+2 is solved, i+1 is checked and i is written.
 * With several devices each solves a panel of its own, whichever is free the next one; panels are checked and written in order.
 * Memory does not depend on the number of columns. After a panel the partial output may be synced to the disk and the journal extended
 * (a checkpoint), so that a run that is killed can be resumed; checkpoints take at most a twentieth of the time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "solve/ring.h"
#include "solve/solve.h"

enum { READ, SOLVE, CHECK, WRITE };
static const size_t panel_bytes = (size_t)32 << 20, segment_bytes = (size_t)64 << 10, reserve_bytes = (size_t)16 << 20;
static const double sync_share = 0.05; /* of the time, at most, goes into checkpoints */
static const double sync_pause = 0.02; /* seconds between two of them, at least: the journal stays small */

typedef struct {
  run *r;
  void *B[RING_SLOTS_MAX], *X[RING_SLOTS_MAX]; /* X[k] is B[k] where nobody needs B after the solve */
  residual errors[RING_SLOTS_MAX];
  nonfinite odd[RING_SLOTS_MAX];
  sptrsm_file_writer *writer;
  cli_progress progress;
  double synced, sync_seconds; /* when the latest checkpoint ended, and how long it took */
} stream;

/* ---- memory ---- */

/* The number in the first text line of a file of /proc or /sys that fits the format; 0: none does. */
static size_t number_in(const char *file, const char *format) {
  unsigned long long count = 0;
  FILE *f = fopen(file, "r");
  if (f == NULL) return 0;
  char line[200];
  while (count == 0 && fgets(line, sizeof line, f)) (void)sscanf(line, format, &count);
  fclose(f);
  return (size_t)count;
}

static size_t resident_bytes(void) { return number_in("/proc/self/statm", "%*u %llu") * (size_t)sysconf(_SC_PAGESIZE); }

/* Without --memory-limit half of what the system could give without swapping. */
static size_t limit_of(const run *r) {
  size_t asked = r->set->problem.io.memory_limit, available = number_in("/proc/meminfo", "MemAvailable: %llu kB") * 1024;
  size_t container = number_in("/sys/fs/cgroup/memory.max", "%llu");
  if (asked > 0) return asked;
  if (container > 0 && container < available) available = container;
  if (available == 0) available = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2;
  return resident_bytes() + available / 2;
}

static size_t column_bytes(const run *r) { return (size_t)r->in.B->block.n * sptrsm_dtype_bytes(r->in.B->block.dtype); }

static int slots(const run *r) { return ring_slots(1 + r->set->solver.device.others); }

static int copies(const run *r) { return r->in_place ? 1 : 2; }

bool stream_wanted(const run *r) {
  const settings *s = r->set;
  const sptrsm_block *B = &r->in.B->block;
  if (r->in.reader == NULL || B->n == 0 || B->nrhs == 0) return false; /* sparse, or nothing */
  if (s->stream_columns != 0 || s->resume || s->keep_partial || s->solver.device.others > 0) return true;
  double whole = (double)column_bytes(r) * (double)B->nrhs * copies(r);
  return whole + (double)resident_bytes() + (double)sptrsm_file_reader_bytes(r->in.reader) > (double)limit_of(r);
}

/* Memory besides the buffers. */
static size_t overhead(const run *r) {
  size_t bytes = resident_bytes() + reserve_bytes + sptrsm_file_reader_bytes(r->in.reader);
  bool on_host = false;
  for (int k = 0; k < r->solver.members; k++) on_host = on_host || r->solver.place[k] == SPTRSM_HOST;
  if (on_host) bytes += r->solver.workspace_bytes;
  if (r->verified) bytes += residual_bytes(&r->in.S, 1, cli_threads());
  return bytes;
}

/* How many columns the residuals take at a time, with `left` bytes beside those of one column. */
static int residual_width(const run *r, size_t left) {
  int width = RESIDUAL_PANEL, threads = cli_threads();
  while (width > 1 && residual_bytes(&r->in.S, width, threads) > residual_bytes(&r->in.S, 1, threads) + left) width /= 2;
  return width;
}

/* A width of panels that is read and written fast: enough bytes in a panel, in C order also in each of its rows, and enough panels for some
 * rounds of the ring. */
static int64_t good_width(const run *r) {
  const sptrsm_block *B = &r->in.B->block;
  int64_t width = (int64_t)(panel_bytes / column_bytes(r)) + 1, rounds = (B->nrhs - 1) / (2 * slots(r)) + 1;
  int64_t segment = (int64_t)(segment_bytes / sptrsm_dtype_bytes(B->dtype));
  if (B->layout == SPTRSM_ROW_MAJOR && width < segment) width = segment;
  if (width > rounds && B->layout == SPTRSM_COL_MAJOR) width = rounds;
  return width;
}

/* Rounds to whole panels of the solver, else to whole chunks of the output. */
static int64_t round_width(const run *r, int64_t width) {
  const int64_t steps[] = {r->solver.plans > 0 ? r->solver.info[0].panel : 64, 64, 16, 8};
  for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++)
    if (steps[k] > 0 && width >= steps[k]) return width / steps[k] * steps[k];
  return width;
}

int stream_plan(run *r) {
  if ((r->set->resume || r->set->keep_partial) && sptrsm_file_reader_external(r->in.reader)) {
    cli_error("%s: its numbers lie in another file, where changes between runs would go unseen; copy them, or leave --resume and "
              "--keep-partial out",
              r->in.B->where);
    return CLI_INPUT;
  }
  stream_summary *s = &r->stream;
  size_t limit = limit_of(r), taken = overhead(r), each = column_bytes(r) * (size_t)(copies(r) * slots(r));
  int64_t most = limit > taken ? (int64_t)((limit - taken) / each) : 0, asked = r->set->stream_columns;
  if (asked > r->in.B->block.nrhs) asked = r->in.B->block.nrhs;
  if (most < 1 || (asked > most && r->set->problem.io.memory_limit > 0)) {
    double need = (double)taken + (double)each * (double)(asked > 0 ? asked : 1);
    if (!sptrsm_file_reader_direct(r->in.reader)) need *= 4.0 / 3; /* a quarter of the limit may go to the columns of a chunk */
    cli_error("%lld column%s at a time in %d buffers need %s of memory in all, the limit is %s; raise --memory-limit%s",
              (long long)(asked > 0 ? asked : 1), asked > 1 ? "s" : "", slots(r), cli_bytes(need).text, cli_bytes((double)limit).text,
              asked > 1 ? " or give --stream fewer" : "");
    return CLI_MEMORY;
  }
  s->width = asked > 0 ? asked : good_width(r);
  if (s->width > most) s->width = most;
  if (asked <= 0) s->width = round_width(r, s->width);
  if (s->width > r->in.B->block.nrhs) s->width = r->in.B->block.nrhs;
  s->on = true;
  s->slots = slots(r);
  s->bytes = each * (size_t)s->width;
  s->residual_width = residual_width(r, limit - taken - s->bytes);
  s->direct_read = sptrsm_file_reader_direct(r->in.reader) != 0;
  return CLI_OK;
}

static void free_buffers(stream *s) {
  for (int k = 0; k < RING_SLOTS_MAX; k++) {
    if (s->X[k] != s->B[k]) sptrsm_host_free(s->r->solver.context, s->X[k]);
    sptrsm_host_free(s->r->solver.context, s->B[k]);
    residual_free(&s->errors[k]);
  }
}

static sptrsm_status make_buffers(stream *s) {
  run *r = s->r;
  size_t bytes = column_bytes(r) * (size_t)r->stream.width;
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < r->stream.slots && status == SPTRSM_OK; k++) {
    status = sptrsm_host_alloc(&s->B[k], r->solver.context, bytes);
    if (status == SPTRSM_OK && !r->in_place) status = sptrsm_host_alloc(&s->X[k], r->solver.context, bytes);
    else s->X[k] = s->B[k];
  }
  return status;
}

/* ---- the stages ---- */

/* Returns the first column of a panel; *out is its block in the buffer. */
static int64_t panel_of(sptrsm_block *out, const stream *s, int64_t item, void *data) {
  const sptrsm_block *B = &s->r->in.B->block;
  int64_t first = s->r->stream.resumed + item * s->r->stream.width;
  *out = *B;
  out->data = data;
  out->nrhs = B->nrhs - first < s->r->stream.width ? B->nrhs - first : s->r->stream.width;
  out->ld = B->layout == SPTRSM_ROW_MAJOR ? out->nrhs : B->n;
  return first;
}

static sptrsm_status read_panel(void *context, int64_t item, int slot, int server) {
  stream *s = context;
  (void)server;
  sptrsm_block B;
  const double begin = cli_now();
  int64_t first = panel_of(&B, s, item, s->B[slot]);
  sptrsm_status status = sptrsm_file_reader_read(s->r->in.reader, first, &B);
  profile_span(s->r->profile, "read", begin, first, B.nrhs);
  return status;
}

static sptrsm_status solve_panel(void *context, int64_t item, int slot, int server) {
  stream *s = context;
  sptrsm_block B, X;
  int64_t first = panel_of(&B, s, item, s->B[slot]);
  panel_of(&X, s, item, s->X[slot]);
  return solve_columns(s->r, server, &(solver_columns){s->r->in.alpha, &B, &X, 0, B.nrhs}, first);
}

static sptrsm_status check_panel(void *context, int64_t item, int slot, int server) {
  stream *s = context;
  (void)server;
  run *r = s->r;
  sptrsm_block B, X;
  const double begin = cli_now();
  const int64_t first = panel_of(&B, s, item, s->B[slot]);
  panel_of(&X, s, item, s->X[slot]);
  s->odd[slot].count = nonfinite_columns(&X, s->odd[slot].columns, NAMED_COLUMNS);
  residual_free(&s->errors[slot]);
  bool good = !r->verified || residual_of_panel(&s->errors[slot], &r->in.S, r->in.alpha, &B, &X, r->stream.residual_width);
  profile_span(r->profile, "judge", begin, first, B.nrhs);
  return good ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the residuals");
}

static sptrsm_status checkpoint(stream *s, int64_t columns) {
  double start = cli_now();
  char *state = resume_state(s->r);
  if (state == NULL) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the state of the partial solution");
  sptrsm_status status = sptrsm_file_writer_checkpoint(s->writer, columns, state);
  free(state);
  s->sync_seconds = profile_span(s->r->profile, "checkpoint", start, 0, 0);
  s->synced = start + s->sync_seconds;
  return status;
}

static void add_nonfinite(nonfinite *all, const nonfinite *panel, int64_t first) {
  for (int64_t i = 0; i < panel->count && i < NAMED_COLUMNS && all->count + i < NAMED_COLUMNS; i++)
    all->columns[all->count + i] = first + panel->columns[i];
  all->count += panel->count;
}

static sptrsm_status write_panel(void *context, int64_t item, int slot, int server) {
  stream *s = context;
  (void)server;
  run *r = s->r;
  sptrsm_block X;
  const double begin = cli_now();
  int64_t first = panel_of(&X, s, item, s->X[slot]), end = first + X.nrhs, all = r->in.B->block.nrhs;
  const double *berr = r->refined.on && !r->verified ? r->refined.berr + first : s->errors[slot].berr;
  sptrsm_status status = sptrsm_file_writer_write(s->writer, first, &X, berr);
  if (status != SPTRSM_OK) return status;
  refine_take(&r->refined, X.dtype, first, X.nrhs);
  add_nonfinite(&r->odd, &s->odd[slot], first);
  if (r->verified) residual_add(&r->residual, &s->errors[slot], first);
  bool due = cli_now() - s->synced >= fmax(sync_pause, s->sync_seconds / sync_share);
  if (due || end == all) status = checkpoint(s, end);
  profile_span(r->profile, "write", begin, first, X.nrhs);
  cli_progress_step(&s->progress, end, all);
  return status;
}

/* ---- the output ---- */

static void save_options(sptrsm_save_options *o, const run *r) {
  save_options_of(o, r->set, NULL);
  o->path = r->x_path;
  o->keep_partial = r->set->resume || r->set->keep_partial;
}

/* Checks that the output of an earlier run is of these inputs. A complete one of others is no concern of this run: it makes way with
 * --force, and is refused without, as any other file in the way. */
static int check_inputs(stream *s, const char *inputs) {
  const char *out = s->r->set->out;
  char *difference = resume_difference(sptrsm_file_writer_inputs(s->writer), inputs);
  int code = CLI_OK;
  if (difference == NULL) return cli_no_memory("what the solution depends on");
  if (difference[0] != '\0' && sptrsm_file_writer_complete(s->writer)) {
    if (!s->r->set->force) {
      cli_error("%s: exists and %s; replace it with --force, or choose another output", out, difference);
      code = CLI_IO;
    }
    sptrsm_file_writer_close(s->writer);
    s->writer = NULL;
  } else if (difference[0] != '\0') {
    cli_error("%s.part: %s; give the same, or begin anew (--force without --resume)", out, difference);
    code = CLI_INPUT;
  }
  free(difference);
  return code;
}

/* Continues the output of an earlier run, which may be complete; s->writer stays NULL if there is none. */
static int resume_output(stream *s, const char *inputs, const sptrsm_save_options *save) {
  run *r = s->r;
  const char *state;
  int code = cli_fail(sptrsm_file_writer_resume(&s->writer, r->set->out, &r->in.B->block, r->verified || r->refined.on, save));
  if (code == CLI_OK && s->writer) code = check_inputs(s, inputs);
  if (code != CLI_OK || s->writer == NULL) return code;
  r->stream.resumed = sptrsm_file_writer_resumed(s->writer, &state);
  if (r->stream.resumed > 0) code = resume_take(r, state);
  if (code != CLI_OK) return code;
  if (sptrsm_file_writer_complete(s->writer)) cli_note("%s: is complete already; nothing is left to do", r->set->out);
  else
    cli_note("%s.part: resumed with %lld of %lld columns done", r->set->out, (long long)r->stream.resumed, (long long)r->in.B->block.nrhs);
  return CLI_OK;
}

static int open_output(stream *s) {
  run *r = s->r;
  sptrsm_save_options save;
  save_options(&save, r);
  char *inputs = resume_inputs(r);
  if (inputs == NULL) return cli_no_memory("what the solution depends on");
  int code = r->set->resume ? resume_output(s, inputs, &save) : CLI_OK;
  if (code == CLI_OK && s->writer == NULL) {
    cli_guard_write(r->set->out);
    sptrsm_status status =
        sptrsm_file_writer_create(&s->writer, r->set->out, &r->in.B->block, r->verified || r->refined.on, r->stream.width, inputs, &save);
    cli_guard_end();
    code = cli_fail(status);
  }
  free(inputs);
  r->stream.direct_write = sptrsm_file_writer_direct(s->writer) != 0;
  return code;
}

static int finish_output(stream *s) {
  double start = cli_now();
  char *text = cli_json_dump(report_json(s->r, true), JSON_COMPACT);
  if (text == NULL) return cli_no_memory("the report");
  cli_guard_write(s->r->set->out);
  sptrsm_status status = sptrsm_file_writer_finish(s->writer, text);
  cli_guard_end();
  int code = cli_fail(status);
  free(text);
  s->r->seconds.write += profile_span(s->r->profile, "write", start, 0, 0);
  return code;
}

/* ---- the run ---- */

static int run_ring(stream *s) {
  run *r = s->r;
  stream_summary *sum = &r->stream;
  int64_t left = r->in.B->block.nrhs - sum->resumed;
  sum->panels = (left + sum->width - 1) / sum->width;
  ring stages = {.stages = {read_panel, solve_panel, check_panel, write_panel},
                 .home = SOLVE,
                 .servers = r->solver.members,
                 .slots = sum->slots,
                 .items = sum->panels,
                 .context = s};
  cli_phase("streaming %lld columns, %lld at a time", (long long)left, (long long)sum->width);
  cli_progress_begin(&s->progress, "streaming");
  cli_progress_count(&s->progress, "columns", sum->resumed, r->in.B->block.nrhs);
  sptrsm_status status = ring_run(&stages);
  cli_progress_end(&s->progress);
  sum->seconds = cli_now() - s->progress.start;
  r->seconds.read += stages.busy[READ];
  r->seconds.solve = stages.busy[SOLVE];
  r->seconds.verify = stages.busy[CHECK];
  r->seconds.write = stages.busy[WRITE];
  memcpy(sum->server, stages.server, sizeof sum->server);
  return solver_fail(status);
}

int stream_run(run *r) {
  static char note[4400];
  stream s = {.r = r, .synced = cli_now()};
  r->residual.is_triangle = r->in.S.is_triangle;
  r->residual.nrhs = r->in.B->block.nrhs;
  int code = open_output(&s);
  bool kept = (r->set->resume || r->set->keep_partial) && r->stream.direct_write;
  if (kept) {
    snprintf(note, sizeof note, "; %s.part is kept, --resume continues it", r->set->out);
    cli_interrupt_note(note);
  }
  bool is_open = code == CLI_OK;
  if (code == CLI_OK) code = solver_fail(make_buffers(&s));
  if (code == CLI_OK) code = run_ring(&s);
  free_buffers(&s);
  settle_exit(r);
  if (code == CLI_OK) code = finish_output(&s);
  cli_interrupt_note(NULL);
  if (code != CLI_OK && is_open && kept) cli_note("%s.part is kept; --resume continues it", r->set->out);
  sptrsm_file_writer_close(s.writer);
  return code;
}
