/* stream_output.c -- the output of a stream: begun, continued after a kill, or shared with other processes, and finished.
 *
 * A process alone has the partial output for itself. The ranks of mpirun and the jobs of --part join it: they write other columns of the
 * same file, and the journal says which are done. Rank 0 finishes the file, or the job that finds nothing left to do.
 */
#include <stdlib.h>
#include <string.h>

#include "solve/stream.h"

bool stream_keeps(const run *r) {
  const settings *s = r->set;
  return s->resume || s->keep_partial || s->share.parts > 0 || s->share.split || ranks_count() > 1;
}

/* Shares of a solution in several files are whole files. */
void stream_own(const stream *s, int64_t *begin, int64_t *end) {
  const share_request *share = &s->r->set->share;
  const int64_t pieces = sptrsm_file_writer_pieces(s->writer), nrhs = s->r->in.B->block.nrhs;
  int64_t unused;
  share_columns(share, pieces > 0 ? pieces : nrhs, begin, end);
  if (pieces == 0 || *begin == *end) return;
  sptrsm_file_writer_piece(s->writer, *end - 1, &unused, end);
  sptrsm_file_writer_piece(s->writer, *begin, begin, &unused);
}

static void save_options(sptrsm_save_options *o, const run *r) {
  save_options_of(o, r->set, NULL);
  o->path = r->x_path;
  o->keep_partial = stream_keeps(r);
  o->pieces = share_pieces(&r->set->share);
}

static bool has_berr(const run *r) { return r->verified || r->refined.on; }

static void close_writer(stream *s) {
  sptrsm_file_writer_close(s->writer);
  s->writer = NULL;
}

/* Checks that the output of an earlier run is of these inputs. A complete one of others is no concern of this run: it makes way with
 * --force, and is refused without, as any other file in the way. A part joins what is there, so --force does not help it. */
static int check_inputs(stream *s, const char *inputs) {
  const char *out = s->r->set->out;
  const bool is_part = s->r->set->share.parts > 0;
  char *difference = resume_difference(sptrsm_file_writer_inputs(s->writer), inputs);
  int code = CLI_OK;
  if (difference == NULL) return cli_no_memory("what the solution depends on");
  if (difference[0] != '\0' && sptrsm_file_writer_complete(s->writer)) {
    if (is_part || !s->r->set->force) {
      cli_error("%s: exists and %s; %s", out, difference,
                is_part ? "remove it, or choose another --into" : "replace it with --force, or choose another output");
      code = CLI_IO;
    }
    close_writer(s);
  } else if (difference[0] != '\0') {
    cli_error("%s.part: %s; give the same, or %s", out, difference,
              is_part ? "remove it and its journal, or choose another --into" : "begin anew (--force without --resume)");
    code = CLI_INPUT;
  }
  free(difference);
  return code;
}

/* Finds what is left to do, and what was done before. */
static int find_left(stream *s) {
  run *r = s->r;
  const sptrsm_file_columns *done = NULL;
  int64_t count = 0, begin, end;
  stream_own(s, &begin, &end);
  if (sptrsm_file_writer_direct(s->writer)) {
    int code = cli_fail(sptrsm_file_writer_done(s->writer, &done, &count));
    if (code != CLI_OK) return code;
  }
  for (int64_t k = 0; k < count; k++) r->stream.resumed += done[k].end - done[k].first;
  if (!panels_make(&s->left, done, count, begin, end, s->writer)) return cli_no_memory("the panels");
  return CLI_OK;
}

/* Continues the output of an earlier run, which may be complete; s->writer stays NULL if there is none. */
static int resume_output(stream *s, const char *inputs, const sptrsm_save_options *save) {
  run *r = s->r;
  int code = cli_fail(sptrsm_file_writer_resume(&s->writer, r->set->out, &r->in.B->block, has_berr(r), save));
  return code == CLI_OK && s->writer ? check_inputs(s, inputs) : code;
}

static int create_output(stream *s, const char *inputs, const sptrsm_save_options *save) {
  run *r = s->r;
  cli_guard_write(r->set->out);
  sptrsm_status status = sptrsm_file_writer_create(&s->writer, r->set->out, &r->in.B->block, has_berr(r), r->stream.width, inputs, save);
  cli_guard_end();
  return cli_fail(status);
}

/* Joins an output that is begun, or begins it for others. A finished one of other inputs makes way with --force. */
static int join_output(stream *s, const char *inputs, const sptrsm_save_options *save) {
  run *r = s->r;
  cli_guard_write(r->set->out);
  sptrsm_status status = sptrsm_file_writer_join(&s->writer, r->set->out, &r->in.B->block, has_berr(r), inputs, save);
  cli_guard_end();
  int code = cli_fail(status);
  return code == CLI_OK ? check_inputs(s, inputs) : code;
}

static void say_resumed(const stream *s) {
  const run *r = s->r;
  if (sptrsm_file_writer_complete(s->writer)) cli_note("%s: is complete already; nothing is left to do", r->set->out);
  else if (r->set->resume || r->stream.resumed > 0)
    cli_note("%s.part: resumed with %lld of %lld columns done", r->set->out, (long long)r->stream.resumed, (long long)r->in.B->block.nrhs);
}

static int open_part(stream *s, const char *inputs, const sptrsm_save_options *save) {
  int64_t begin, end;
  int code = join_output(s, inputs, save);
  if (code != CLI_OK) return code;
  stream_own(s, &begin, &end);
  return cli_fail(sptrsm_file_writer_claim(s->writer, begin, end));
}

static int open_alone(stream *s, const char *inputs, const sptrsm_save_options *save) {
  int code = s->r->set->resume ? resume_output(s, inputs, save) : CLI_OK;
  return code == CLI_OK && s->writer == NULL ? create_output(s, inputs, save) : code;
}

/* Rank 0 begins or continues the output as a process alone does, then joins it, before the others may. */
static int open_first(stream *s, const char *inputs, const sptrsm_save_options *save) {
  int code = open_alone(s, inputs, save);
  if (code == CLI_OK) code = find_left(s);
  if (code != CLI_OK || sptrsm_file_writer_complete(s->writer)) return code;
  close_writer(s);
  code = join_output(s, inputs, save);
  return code == CLI_OK ? cli_fail(sptrsm_file_writer_claim(s->writer, 0, s->r->in.B->block.nrhs)) : code;
}

/* Joins the output that rank 0 has begun. Rank 0 has it open, so nobody can have it alone; a rank that could, or finds none to continue,
 * sees another file, and its columns would be lost. */
static int join_first(stream *s, const char *inputs, const sptrsm_save_options *save) {
  const run *r = s->r;
  sptrsm_status status = sptrsm_file_writer_resume(&s->writer, r->set->out, &r->in.B->block, has_berr(r), save);
  close_writer(s);
  if (status != SPTRSM_OK && status != SPTRSM_ERR_STRUCTURE) return join_output(s, inputs, save);
  cli_error("%s.part is not that of rank 0 here, or locks do not reach this machine; choose a folder that all machines share", r->set->out);
  return CLI_IO;
}

/* Whether the solution has several files, and which ranges lie in which. False: no memory. */
static bool send_files(panel_list *left) {
  int there = left->file != NULL;
  ranks_send(&there, sizeof there);
  if (there && ranks_own() > 0) left->file = malloc(((size_t)left->count + 1) * sizeof *left->file);
  if (there && left->file == NULL) return false;
  if (there) ranks_send(left->file, (size_t)left->count * sizeof *left->file);
  return true;
}

/* What rank 0 has found is sent to all. */
static int open_shared(stream *s, const char *inputs, const sptrsm_save_options *save) {
  int64_t found[3]; /* columns done, ranges that are left, whether there is anything to join */
  int code = ranks_own() == 0 ? open_first(s, inputs, save) : CLI_OK;
  if (code != CLI_OK) return code;
  found[0] = s->r->stream.resumed;
  found[1] = s->left.count;
  found[2] = !sptrsm_file_writer_complete(s->writer);
  ranks_send(found, sizeof found);
  s->r->stream.resumed = found[0];
  s->left.count = found[1];
  if (ranks_own() > 0) s->left.ranges = malloc(((size_t)found[1] + 1) * sizeof *s->left.ranges);
  if (s->left.ranges == NULL) return cli_no_memory("the panels");
  ranks_send(s->left.ranges, (size_t)found[1] * sizeof *s->left.ranges);
  if (!send_files(&s->left)) return cli_no_memory("the panels");
  return ranks_own() > 0 && found[2] ? join_first(s, inputs, save) : CLI_OK;
}

int stream_open(stream *s) {
  run *r = s->r;
  sptrsm_save_options save;
  save_options(&save, r);
  const char *inputs = resume_inputs(r);
  if (inputs == NULL) return cli_no_memory("what the solution depends on");
  const bool is_part = r->set->share.parts > 0, is_shared = ranks_count() > 1;
  int code = is_part ? open_part(s, inputs, &save) : is_shared ? open_shared(s, inputs, &save) : open_alone(s, inputs, &save);
  r->stream.direct_write = sptrsm_file_writer_direct(s->writer) != 0;
  r->stream.pieces = sptrsm_file_writer_pieces(s->writer);
  if (code == CLI_OK && !is_shared) code = find_left(s);
  if (code != CLI_OK) return code;
  say_resumed(s);
  s->left.width = r->stream.width;
  r->stream.panels = panels_count(&s->left);
  return CLI_OK;
}

/* ---- the end ---- */

/* Adds up what the journal says of columns in [begin, end). */
static int add_journal(stream *s, int64_t begin, int64_t end) {
  const sptrsm_file_columns *done;
  int64_t count;
  int code = cli_fail(sptrsm_file_writer_done(s->writer, &done, &count));
  for (int64_t k = 0; k < count && code == CLI_OK; k++)
    if (done[k].first >= begin && done[k].end <= end) code = findings_take(&s->found, done[k].state, s->r);
  return code;
}

/* Notes for all columns together what was found, so that the finished file keeps it. */
static int note_all(stream *s) {
  char *text = findings_text(&s->found);
  if (text == NULL) return cli_no_memory("the state of the solution");
  const sptrsm_file_columns all = {.first = 0, .end = s->r->in.B->block.nrhs, .state = text};
  int code = cli_fail(sptrsm_file_writer_checkpoint(s->writer, &all));
  free(text);
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

int stream_finish(stream *s) {
  run *r = s->r;
  int64_t begin = 0, end = r->in.B->block.nrhs;
  int code = CLI_OK;
  ranks_wait(); /* for the columns of all ranks */
  if (ranks_own() > 0) return CLI_OK;
  if (r->set->share.parts > 0 || ranks_count() > 1) code = cli_fail(sptrsm_file_writer_left(s->writer, &r->stream.left));
  if (r->stream.left > 0 && ranks_count() > 1) {
    cli_error("%s.part: %lld columns are done by no rank; --resume does them", r->set->out, (long long)r->stream.left);
    return CLI_INTERNAL;
  }
  if (r->stream.left > 0) stream_own(s, &begin, &end);
  if (code == CLI_OK && r->stream.direct_write) code = add_journal(s, begin, end);
  if (code != CLI_OK) return code;
  findings_settle(r, &s->found);
  settle_exit(r);
  if (r->stream.left > 0) return CLI_OK;
  code = r->stream.direct_write ? note_all(s) : CLI_OK;
  return code == CLI_OK ? finish_output(s) : code;
}
