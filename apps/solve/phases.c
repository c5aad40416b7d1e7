/* phases.c -- steps that a run in memory (main.c), by rows (rows.c) and in panels (stream.c) have in common, and options of all outputs. */
#include <stdlib.h>
#include <string.h>

#include "solve/ranks/factors.h"
#include "solve/ranks/ranks.h"
#include "solve/solve.h"

/* A report beside the solution, if it is asked for: that of --json or --profile. */
static int check_report(const settings *s, const char *option, const char *path, const char *const read[], int count) {
  int code = cli_check_partial(s->out, option, path, read, count);
  if (code != CLI_OK || path == NULL) return code;
  if (strcmp(path, "-") != 0 && cli_same_output(path, s->out)) cli_usage("%s: %s is the output of the solution too", option, path);
  return cli_check_json(option, path, s->force, read, count);
}

int check_outputs(settings *s) {
  const char *read[5] = {s->problem.factors, s->schur ? s->schur : s->problem.rhs};
  int count = 2;
  if (s->schur_rows) read[count++] = s->schur_rows;
  if (s->rows && row_list_is_file(s->rows)) read[count++] = s->rows;
  if (s->batch.mask) read[count++] = s->batch.mask;
  if (s->plan) read[count++] = s->plan;
  int code = check_report(s, "--json", s->json, read, count);
  s->json_checked = code == CLI_OK && s->json;
  if (code == CLI_OK) code = check_report(s, "--profile", s->profile, read, count);
  if (code != CLI_OK) return code;
  code = plan_check_output(s, read, count);
  if (code != CLI_OK) return code;
  if (s->profile && s->json && cli_same_output(s->profile, s->json)) cli_usage("--profile: %s is the report of --json too", s->profile);
  /* What an output to resume is, stream_output.c tells. */
  return cli_check_output(s->out, s->force || s->resume || s->share.parts > 0, read, count);
}

/* Several ranks share the columns of one system. Those of a machine take its devices in turn, and have its processors together. */
int begin_ranks(settings *s, bool is_batch) {
  if (s->share.split && is_batch) {
    cli_error("%s: is a batch, for which there is no --split-files; leave it out, or name one item as FILE:/path", s->problem.factors);
    return CLI_USAGE;
  }
  if (ranks_count() > 1 && (s->schur || is_batch || s->rows || s->share.parts > 0 || s->compress > 0 || s->checksum)) {
    cli_error("several ranks share the columns of one system: %s run without mpirun", s->share.parts > 0 ? "parts"
                                                                                      : s->schur         ? "Schur complements"
                                                                                      : is_batch         ? "batches"
                                                                                                 : "--rows, --compress and --checksum");
    return CLI_USAGE;
  }
  if (ranks_own() == 0) ranks_begin();
  if (s->solver.threads == 0 && getenv("OMP_NUM_THREADS") == NULL) s->solver.threads = ranks_threads(cli_threads());
  cli_use_threads(s->solver.threads);
  if (s->solver.device.place == SPTRSM_CUDA && strchr(s->solver.device.text, ':') == NULL)
    s->solver.device.index = ranks_local() % sptrsm_device_count();
  return CLI_OK;
}

/* Ranks of another version may send and expect other things, so this comes first. */
static int agree_on_version(void) {
  char text[100];
  snprintf(text, sizeof text, "{\"version\": \"%s\"}", sptrsm_version());
  return ranks_count() > 1 ? resume_agree(text) : CLI_OK;
}

/* Rank 0 reads the factors for all, and each rank opens B. Where factors are mapped, each rank opens them itself, and those of a machine
 * have the same pages. Ranks that see another B or have other options part before their ways do, since each would wait for the others
 * somewhere else. */
int open_files(run *r) {
  sptrsm_file_factors *factors = NULL;
  int code = agree_on_version();
  if (code == CLI_OK && ranks_own() == 0) code = problem_open(&r->in, &r->set->problem);
  if (code != CLI_OK || ranks_count() == 1) return code;
  int maps = r->set->problem.io.map; /* of rank 0, whatever the others were told */
  ranks_send(&maps, sizeof maps);
  if (!maps) code = ranks_send_factors(ranks_own() == 0 ? &r->in.factors : &factors);
  if (code == CLI_OK && ranks_own() > 0)
    code = maps ? problem_open(&r->in, &r->set->problem) : problem_open_with(&r->in, &r->set->problem, factors);
  if (code != CLI_OK) return code;
  char *shape = resume_shape(r);
  code = resume_agree(shape);
  free(shape);
  return code;
}

int create_solver(run *r, const sptrsm_file_factors *F, const solver_request *request) {
  int code = solver_create(&r->solver, F, request);
  for (int k = 0; k < r->solver.members && code == CLI_OK && r->profile; k++)
    if (r->solver.place[k] == SPTRSM_HOST) code = cli_fail(profile_watch(r->profile, k, solver_member(&r->solver, k).context));
  return code;
}

sptrsm_status solve_columns(run *r, int member, const solver_columns *c, int64_t first) {
  const double begin = cli_now();
  profile_base(r->profile, member, r->refined.on ? -1 : first + c->begin); /* refinement solves for blocks of its own */
  sptrsm_status status = r->refined.on ? refine_run(&r->refined, &r->solver, member, c, first) : solver_run(&r->solver, member, c);
  profile_span(r->profile, "solve", begin, first + c->begin, c->end - c->begin);
  return status;
}

void settle_exit(run *r) {
  bool above = r->set->max_berr >= 0 && !(r->residual.max_berr <= r->set->max_berr);
  bool unrefined = r->set->refine.mixed && r->refined.unconverged > 0; /* double precision was asked for */
  if (r->odd.count > 0 || above || unrefined) r->exit_code = CLI_ABOVE;
}

/* Whether --resume finds a solution without numbers complete: such a one is never streamed, so its shape is all that it has. */
static bool empty_is_there(const run *r) {
  const sptrsm_block *X = &r->X;
  sptrsm_file_block *old = NULL;
  char *where;
  if ((!r->set->resume && r->set->share.parts == 0) || (X->n > 0 && X->nrhs > 0) || asprintf(&where, "%s:%s", r->set->out, r->x_path) < 0)
    return false;
  bool same = sptrsm_file_block_load(&old, where, X->n, NULL) == SPTRSM_OK && old->block.n == X->n && old->block.nrhs == X->nrhs &&
              old->block.dtype == X->dtype && old->block.layout == X->layout;
  sptrsm_file_block_free(old);
  free(where);
  return same;
}

void save_options_of(sptrsm_save_options *save, const settings *s, const char *report) {
  sptrsm_save_options_init(save);
  save->force = s->force;
  save->compress = s->compress;
  save->checksum = s->checksum;
  save->report = report;
}

int write_solution(run *r) {
  const settings *s = r->set;
  if (s->share.own > 1) {
    cli_note("%s: has no numbers; part 1 writes it", s->out);
    return CLI_OK;
  }
  if (empty_is_there(r)) {
    cli_note("%s: is complete already; nothing is left to do", s->out);
    return CLI_OK;
  }
  double start = cli_now();
  cli_phase("writing %s", s->out);
  sptrsm_save_options save;
  char *text = cli_json_dump(report_json(r, true), JSON_COMPACT);
  if (text == NULL) return cli_no_memory("the report");
  save_options_of(&save, s, text);
  save.berr = r->verified ? r->residual.berr : r->refined.berr;
  save.ferr = r->refined.ferr;
  save.path = r->x_path;
  save.rows = r->part.wanted.rows;
  cli_guard_write(s->out);
  sptrsm_status status = sptrsm_file_solution_save(s->out, &r->X, &save);
  cli_guard_end();
  free(text);
  r->seconds.write = profile_span(r->profile, "write", start, 0, r->X.nrhs);
  return cli_fail(status);
}
