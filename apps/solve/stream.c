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
#include "solve/stream.h"

static const size_t panel_bytes = (size_t)32 << 20, segment_bytes = (size_t)64 << 10, reserve_bytes = (size_t)16 << 20;
static const double sync_share = 0.05; /* of the time, at most, goes into checkpoints */
static const double sync_pause = 0.02; /* seconds between two of them, at least: the journal stays small */

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

/* Without --memory-limit half of what the system could give without swapping, and not more than half of what one object may take. */
static size_t limit_of(const run *r) {
  size_t asked = r->set->problem.io.memory_limit, available = number_in("/proc/meminfo", "MemAvailable: %llu kB") * 1024;
  const size_t most = sptrsm_file_memory_limit();
  if (asked > 0) return asked;
  if (available == 0 || available > most) available = most;
  return resident_bytes() + available / 2 / (size_t)ranks_local_count();
}

static size_t column_bytes(const run *r) { return (size_t)r->in.B->block.n * sptrsm_dtype_bytes(r->in.B->block.dtype); }

static int slots(const run *r) { return ring_slots(1 + r->set->solver.device.others); }

static int copies(const run *r) { return r->in_place ? 1 : 2; }

bool stream_wanted(const run *r) {
  const settings *s = r->set;
  const sptrsm_block *B = &r->in.B->block;
  if (r->in.reader == NULL || B->n == 0 || B->nrhs == 0) return false; /* sparse, or nothing */
  if (s->stream_columns != 0 || s->resume || s->keep_partial || s->share.parts > 0 || s->share.split || ranks_count() > 1) return true;
  if (s->solver.device.others > 0) return true;
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

/* Columns of this run, with all its ranks. */
static int64_t own_columns(const run *r) {
  int64_t begin, end;
  share_columns(&r->set->share, r->in.B->block.nrhs, &begin, &end);
  return end - begin;
}

/* Room for one column also where the run has none. A panel lies in one file of the solution. */
static int64_t most_width(const run *r) {
  const int64_t nrhs = r->in.B->block.nrhs, pieces = share_pieces(&r->set->share), own = own_columns(r);
  const int64_t most = pieces > 0 && (nrhs - 1) / pieces + 1 < own ? (nrhs - 1) / pieces + 1 : own;
  return most > 0 ? most : 1;
}

/* A width of panels that is read and written fast: enough bytes in a panel, in C order also in each of its rows, and enough panels for some
 * rounds of the ring, two for each device of each rank where there are several. */
static int64_t good_width(const run *r) {
  const sptrsm_block *B = &r->in.B->block;
  int64_t width = (int64_t)(panel_bytes / column_bytes(r)) + 1, segment = (int64_t)(segment_bytes / sptrsm_dtype_bytes(B->dtype));
  const int64_t columns = own_columns(r) > 0 ? own_columns(r) : 1, ranks = ranks_count(),
                devices = ranks * (1 + r->set->solver.device.others);
  const int64_t rounds = (columns - 1) / (2 * slots(r) * ranks) + 1, shared = (columns - 1) / (2 * devices) + 1;
  if (B->layout == SPTRSM_ROW_MAJOR && width < segment) width = segment;
  if (width > rounds && B->layout == SPTRSM_COL_MAJOR) width = rounds;
  return devices > 1 && width > shared ? shared : width;
}

/* Rounds to whole panels of the solver, else to whole chunks of the output. */
static int64_t round_width(const run *r, int64_t width) {
  const int64_t steps[] = {r->solver.plans > 0 ? r->solver.info[0].panel : 64, 64, 16, 8};
  for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++)
    if (steps[k] > 0 && width >= steps[k]) return width / steps[k] * steps[k];
  return width;
}

int stream_plan(run *r) {
  if ((r->set->resume || r->set->keep_partial || r->set->share.parts > 0) && sptrsm_file_reader_external(r->in.reader)) {
    cli_error("%s: its numbers lie in another file, where changes between runs would go unseen; copy them, or leave --resume, "
              "--keep-partial and --part out",
              r->in.B->where);
    return CLI_INPUT;
  }
  stream_summary *s = &r->stream;
  size_t limit = limit_of(r), taken = overhead(r), each = column_bytes(r) * (size_t)(copies(r) * slots(r));
  int64_t most = limit > taken ? (int64_t)((limit - taken) / each) : 0, asked = r->set->stream_columns;
  if (asked > r->in.B->block.nrhs) asked = r->in.B->block.nrhs;
  if (most < 1 || (asked > most && r->set->problem.io.memory_limit > 0)) {
    /* At least: with a higher limit more may be taken for chunks. */
    double need = (double)taken + (double)each * (double)(asked > 0 ? asked : 1);
    cli_error("%lld column%s at a time in %d buffers need at least %s of memory in all, the limit is %s; raise --memory-limit%s",
              (long long)(asked > 0 ? asked : 1), asked > 1 ? "s" : "", slots(r), cli_bytes(need).text, cli_bytes((double)limit).text,
              asked > 1 ? " or give --stream fewer" : "");
    return CLI_MEMORY;
  }
  s->width = asked > 0 ? asked : good_width(r);
  if (s->width > most) s->width = most;
  if (asked <= 0) s->width = round_width(r, s->width);
  if (s->width > most_width(r)) s->width = most_width(r);
  s->width = ranks_least(s->width);
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

/* The panel in a slot, as a block in one of its buffers. */
static sptrsm_block block_of(const stream *s, int slot, void *data) {
  sptrsm_block block = s->r->in.B->block;
  block.data = data;
  block.nrhs = s->panel[slot].end - s->panel[slot].first;
  block.ld = block.layout == SPTRSM_ROW_MAJOR ? block.nrhs : block.n;
  return block;
}

static bool is_empty(const void *context, int slot) {
  const stream *s = context;
  return s->panel[slot].first == s->panel[slot].end;
}

/* Takes the next panel that no rank has taken. Where none is left, the slot passes through the ring empty. */
static sptrsm_status read_panel(void *context, int64_t item, int slot, int server) {
  stream *s = context;
  (void)server;
  const double begin = cli_now();
  const bool was_last = item > 0 && is_empty(s, (int)((item - 1) % s->r->stream.slots));
  s->panel[slot] = was_last ? (column_span){0, 0} : panels_next(&s->left, &s->before[slot]);
  if (is_empty(s, slot)) return SPTRSM_OK;
  sptrsm_block B = block_of(s, slot, s->B[slot]);
  sptrsm_status status = sptrsm_file_reader_read(s->r->in.reader, s->panel[slot].first, &B);
  profile_span(s->r->profile, "read", begin, s->panel[slot].first, B.nrhs);
  return status;
}

static sptrsm_status solve_panel(void *context, int64_t item, int slot, int server) {
  stream *s = context;
  (void)item;
  if (is_empty(s, slot)) return SPTRSM_OK;
  sptrsm_block B = block_of(s, slot, s->B[slot]), X = block_of(s, slot, s->X[slot]);
  return solve_columns(s->r, server, &(solver_columns){s->r->in.alpha, &B, &X, 0, B.nrhs}, s->panel[slot].first);
}

static sptrsm_status check_panel(void *context, int64_t item, int slot, int server) {
  stream *s = context;
  (void)server;
  run *r = s->r;
  (void)item;
  if (is_empty(s, slot)) return SPTRSM_OK;
  const double begin = cli_now();
  sptrsm_block B = block_of(s, slot, s->B[slot]), X = block_of(s, slot, s->X[slot]);
  s->odd[slot].count = nonfinite_columns(&X, s->odd[slot].columns, NAMED_COLUMNS);
  residual_free(&s->errors[slot]);
  bool good = !r->verified || residual_of_panel(&s->errors[slot], &r->in.S, r->in.alpha, &B, &X, r->stream.residual_width);
  profile_span(r->profile, "judge", begin, s->panel[slot].first, B.nrhs);
  return good ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the residuals");
}

static sptrsm_status note_done(const stream *s, const unsynced_range *u) {
  char *text = findings_text(&u->found);
  if (text == NULL) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the state of the partial solution");
  sptrsm_status status =
      sptrsm_file_writer_checkpoint(s->writer, &(sptrsm_file_columns){.first = u->columns.first, .end = u->columns.end, .state = text});
  free(text);
  return status;
}

static sptrsm_status checkpoint(stream *s) {
  double start = cli_now();
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < s->unsynced_count && status == SPTRSM_OK; k++) {
    if (!s->r->stream.direct_write) findings_add(&s->found, &s->unsynced[k].found);
    else status = note_done(s, &s->unsynced[k]);
  }
  s->unsynced_count = 0;
  s->sync_seconds = profile_span(s->r->profile, "checkpoint", start, 0, 0);
  s->synced = start + s->sync_seconds;
  return status;
}

/* Adds what was found about a panel to the range of columns that it continues, or begins another range. */
static void add_unsynced(stream *s, int slot) {
  run *r = s->r;
  const column_span panel = s->panel[slot];
  unsynced_range *u = s->unsynced_count > 0 ? &s->unsynced[s->unsynced_count - 1] : NULL;
  findings found;
  findings_none(&found, r);
  found.odd.count = s->odd[slot].count;
  for (int64_t i = 0; i < found.odd.count && i < NAMED_COLUMNS; i++) found.odd.columns[i] = panel.first + s->odd[slot].columns[i];
  if (r->verified) residual_add(&found.residual, &s->errors[slot], panel.first);
  refine_take(&found.refined, r->in.B->block.dtype, panel.first, panel.end - panel.first);
  if (u && u->columns.end == panel.first) {
    findings_add(&u->found, &found);
    u->columns.end = panel.end;
  } else s->unsynced[s->unsynced_count++] = (unsynced_range){panel, found};
}

static sptrsm_status write_panel(void *context, int64_t item, int slot, int server) {
  stream *s = context;
  (void)server;
  run *r = s->r;
  const double begin = cli_now();
  const bool is_last = item + 1 == r->stream.panels;
  if (is_empty(s, slot)) return s->unsynced_count > 0 ? checkpoint(s) : SPTRSM_OK;
  sptrsm_block X = block_of(s, slot, s->X[slot]);
  const column_span panel = s->panel[slot];
  const double *berr = r->refined.on && !r->verified ? r->refined.berr + panel.first : s->errors[slot].berr;
  sptrsm_status status = sptrsm_file_writer_write(s->writer, panel.first, &X, berr);
  if (status != SPTRSM_OK) return status;
  r->stream.solved += X.nrhs;
  add_unsynced(s, slot);
  bool due = cli_now() - s->synced >= fmax(sync_pause, s->sync_seconds / sync_share);
  if (due || is_last || s->unsynced_count == UNSYNCED) status = checkpoint(s);
  profile_span(r->profile, "write", begin, panel.first, X.nrhs);
  cli_progress_step(&s->progress, r->stream.resumed + s->before[slot] + X.nrhs, r->in.B->block.nrhs);
  return status;
}

/* ---- the run ---- */

static int run_ring(stream *s) {
  run *r = s->r;
  stream_summary *sum = &r->stream;
  ring stages = {.stages = {read_panel, solve_panel, check_panel, write_panel},
                 .home = SOLVE,
                 .servers = r->solver.members,
                 .slots = sum->slots,
                 .items = sum->panels,
                 .is_empty = is_empty,
                 .context = s};
  bool has_device = false;
  for (int k = 0; k < r->solver.members; k++) has_device = has_device || r->solver.place[k] != SPTRSM_HOST;
  for (int k = 0; k < r->solver.members; k++) stages.doubted[k] = has_device && r->solver.place[k] == SPTRSM_HOST;
  cli_phase("streaming %lld columns, %lld at a time", (long long)panels_columns(&s->left), (long long)sum->width);
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
  stream *s = calloc(1, sizeof *s);
  if (s == NULL) return cli_no_memory("the stream");
  s->r = r;
  s->synced = cli_now();
  findings_none(&s->found, r);
  r->residual.nrhs = r->in.B->block.nrhs;
  int code = stream_open(s);
  bool is_open = code == CLI_OK, kept = stream_keeps(r) && r->stream.direct_write;
  if (kept) {
    snprintf(note, sizeof note, "; %s.part is kept, --resume continues it", r->set->out);
    cli_interrupt_note(note);
  }
  if (code == CLI_OK) code = solver_fail(make_buffers(s));
  if (code == CLI_OK) code = run_ring(s);
  free_buffers(s);
  if (code == CLI_OK) code = stream_finish(s);
  if (r->stream.left > 0) { /* of the others nothing was found */
    int64_t begin, end;
    stream_own(s, &begin, &end);
    r->residual.nrhs = end - begin;
  }
  cli_interrupt_note(NULL);
  if (code != CLI_OK && is_open && kept) cli_note("%s.part is kept; --resume continues it", r->set->out);
  sptrsm_file_writer_close(s->writer);
  panels_free(&s->left);
  free(s);
  return code;
}
