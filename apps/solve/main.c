/* main.c -- sptrsm-solve: reads factors and right-hand sides, solves, writes the solution.
 *
 * The phases follow each other: read, analyse, solve, verify, write. Whether the output can be written is checked before the first of them;
 * it gets its name, complete, at the end of the last. Blocks that are too large for memory go through stream.c, sparse right-hand sides and
 * selected rows through rows.c.
 */
#include "solve/schur.h"
#include "solve/stream.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] = "sptrsm-solve factors.h5 rhs.h5                 solve A X = B: rhs.solution.h5\n"
                           "sptrsm-solve f.h5:/L b.h5:/B -o x.h5 --unit    one triangle, unit diagonal\n"
                           "sptrsm-solve f.h5 b.h5 --trans T --cols 0:64   transposed, 64 columns\n"
                           "usage: sptrsm-solve FACTORS RHS [options]    each FILE or FILE:/path/in/file\n"
                           "  -o OUT              RHS.solution.h5;  --force replaces, --resume continues it\n"
                           "  --sys S             A, L, U, D, Lt, LDLt, Pt_L, ...;  --trans N|T|C\n"
                           "  --alpha X           re,im if complex;  --cols a:b, --rows a:b or FILE:/path\n"
                           "  --part I/N --into X  share I of N of the columns; or mpirun -n K sptrsm-solve\n"
                           "  --split-files[=N]   each process has files of its own;  --merge X  makes one\n"
                           "  --items a:b, --mask FILE   of a batch: items a to b-1; those with a 1\n"
                           "  --schur B [--schur-rows C]             without RHS: S = C A^-1 B or B^T A^-1 B\n"
                           "  --dtype f32|f64|c64|c128               compute in this type\n"
                           "  --uplo lower|upper, --unit, --take-triangle, --tidy, --map  how files are read\n"
                           "  --device D          auto, cpu, cuda:1, cuda:all, cuda:0,host;  --threads N\n"
                           "  --method M          auto, or see sptrsm-info --methods;  --panel K\n"
                           "  --grid X,Y,Z --stencil S   rows are a grid's points: D3N7, D3N27, D2N5, ...\n"
                           "  --save-plan FILE    keep the analysis;  --plan FILE  use a kept one\n"
                           "  --memory-limit S, --device-memory S   4G; larger ones stream;  --stream[=N]\n"
                           "  --refine N, --ferr, --precision mixed  refine; error estimates; f32 factors\n"
                           "  --verify, --no-verify  residuals;  --max-berr X  exit code 1 if one is above X\n"
                           "  --json FILE|-       report;  --profile FILE  where time goes;  --dry-run\n"
                           "  -q, -v, --help, --version; more in the man page\n"
                           "exit: 0 ok, 1 above --max-berr or not finite, 2 usage, 3 bad input, 4 singular,\n"
                           "      5 I/O, 6 memory, 7 device, 8 internal error, 130 interrupted\n";

enum {
  KEY_DEVICE = 2000,
  KEY_DEVICE_MEMORY,
  KEY_METHOD,
  KEY_THREADS,
  KEY_PANEL,
  KEY_P,
  KEY_Q,
  KEY_SELECT,
  KEY_COMPRESS,
  KEY_CHECKSUM,
  KEY_VERIFY,
  KEY_NO_VERIFY,
  KEY_MAX_BERR,
  KEY_JSON,
  KEY_FORCE,
  KEY_STREAM,
  KEY_RESUME,
  KEY_KEEP_PARTIAL,
  KEY_DRY_RUN,
  KEY_ROWS,
  KEY_PROFILE,
  KEY_SCHUR,
  KEY_SCHUR_ROWS,
  KEY_PLAN,
  KEY_SAVE_PLAN,
  KEY_MAP
};

static const struct argp_option options[] = {
    MATRIX_OPTIONS,
    BLOCK_OPTIONS,
    SYSTEM_OPTIONS,
    GRID_OPTIONS,
    REFINE_OPTIONS,
    BATCH_OPTIONS,
    SHARE_OPTIONS,
    {"output", 'o', "FILE", 0, "file of the solution", 0},
    {"device", KEY_DEVICE, "auto|cpu|cuda", 0, "where to solve", 0},
    {"device-memory", KEY_DEVICE_MEMORY, "SIZE", 0, "bytes that a CUDA device may use; larger factors stream", 0},
    {"method", KEY_METHOD, "METHOD", 0, "how to solve", 0},
    {"threads", KEY_THREADS, "COUNT", 0, "threads on the host", 0},
    {"panel", KEY_PANEL, "COLUMNS", 0, "columns that are solved at once", 0},
    {"p", KEY_P, "COUNT", 0, "threshold of syncfree-csc", 0},
    {"q", KEY_Q, "COUNT", 0, "threshold of syncfree-csc", 0},
    {"select", KEY_SELECT, "adaptive|rhs|column", 0, "kernel of syncfree-csc", 0},
    {"compress", KEY_COMPRESS, "0|1|2|3|4|5|6|7|8|9", 0, "compression of the output", 0},
    {"checksum", KEY_CHECKSUM, NULL, 0, "store checksums in the output", 0},
    {"verify", KEY_VERIFY, NULL, 0, "compute residuals", 0},
    {"no-verify", KEY_NO_VERIFY, NULL, 0, "compute no residuals", 0},
    {"max-berr", KEY_MAX_BERR, "LIMIT", 0, "backward error that is an error", 0},
    {"json", KEY_JSON, "FILE", 0, "write a report", 0},
    {"rows", KEY_ROWS, "FILE", 0, "rows of X that are wanted, a range or a file", 0},
    {"force", KEY_FORCE, NULL, 0, "replace existing files", 0},
    {"stream", KEY_STREAM, "COLUMNS", OPTION_ARG_OPTIONAL, "pass blocks through in panels", 0},
    {"resume", KEY_RESUME, NULL, 0, "continue a partial solution", 0},
    {"keep-partial", KEY_KEEP_PARTIAL, NULL, 0, "keep a partial solution for --resume", 0},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "neither solve nor write", 0},
    {"schur", KEY_SCHUR, "FILE", 0, "make S = C A^-1 B of these columns B", 0},
    {"schur-rows", KEY_SCHUR_ROWS, "FILE", 0, "rows of C, as columns", 0},
    {"plan", KEY_PLAN, "FILE", 0, "use an analysis that was saved", 0},
    {"save-plan", KEY_SAVE_PLAN, "FILE", 0, "save the analysis", 0},
    {"map", KEY_MAP, NULL, 0, "map factors instead of copying them", 0},
    {"profile", KEY_PROFILE, "FILE", 0, "write what each thread did when", 0},
    {0},
};

/* ---- the command line ---- */

/* Options that shape the solver. */
static bool parse_solver(int key, const char *text, solver_request *r) {
  switch (key) {
  case KEY_DEVICE: r->device = devices_parse(text); return true;
  case KEY_DEVICE_MEMORY: r->device_memory = cli_size("--device-memory", text); return true;
  case KEY_METHOD: r->options.method = text; return true;
  case KEY_THREADS: r->threads = (int)cli_integer("--threads", text, 1, 4096); return true;
  case KEY_PANEL: r->options.panel = (int32_t)cli_integer("--panel", text, 1, INT32_MAX); return true;
  case KEY_P: r->options.p = (int32_t)cli_integer("--p", text, 1, INT32_MAX); break;
  case KEY_Q: r->options.q = (int32_t)cli_integer("--q", text, 1, INT32_MAX); break;
  case KEY_SELECT: r->options.select = (sptrsm_select)cli_choice("--select", text, cli_selects, 3); break;
  default: return false;
  }
  r->tuned_for_gpu = true;
  return true;
}

static error_t parse_rest(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case 'o': s->out = text; return 0;
  case KEY_COMPRESS: s->compress = (int)cli_integer("--compress", text, 0, 9); return 0;
  case KEY_CHECKSUM: s->checksum = true; return 0;
  case KEY_FORCE: s->force = true; return 0;
  case KEY_STREAM: s->stream_columns = text ? cli_integer("--stream", text, 1, INT32_MAX) : -1; return 0;
  case KEY_RESUME: s->resume = true; return 0;
  case KEY_KEEP_PARTIAL: s->keep_partial = true; return 0;
  case KEY_JSON: s->json = text; return 0;
  case KEY_PROFILE: s->profile = text; return 0;
  case KEY_PLAN: s->plan = text; return 0;
  case KEY_SAVE_PLAN: s->save_plan = text; return 0;
  case KEY_MAP: s->problem.io.map = 1; return 0;
  case KEY_SCHUR: s->schur = text; return 0;
  case KEY_SCHUR_ROWS: s->schur_rows = text; return 0;
  case KEY_VERIFY: s->verify = true; return 0;
  case KEY_NO_VERIFY: s->no_verify = true; return 0;
  case KEY_DRY_RUN: s->dry_run = true; return 0;
  case KEY_ROWS:
    row_list_check(text);
    s->rows = text;
    return 0;
  case KEY_MAX_BERR:
    s->max_berr = cli_number("--max-berr", text);
    if (s->max_berr < 0) cli_usage("--max-berr: %s is negative", text);
    return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num >= 2) cli_usage("one argument too many: '%s'; give FACTORS and RHS", text);
    *(state->arg_num == 0 ? &s->problem.factors : &s->problem.rhs) = text;
    return 0;
  case ARGP_KEY_END:
    if (merge_asked(&s->share, s->out, state->arg_num > 0)) return 0;
    if (s->schur_rows && !s->schur) cli_usage("--schur-rows: the rows of C are for S = C A^-1 B; give B as --schur FILE");
    if (s->schur && state->arg_num > 0) schur_check_options(s);
    if (state->arg_num < (s->schur ? 1 : 2)) cli_usage("give FACTORS%s to read", s->schur ? ", the file" : " and RHS, the files");
    grid_check(&s->solver.grid);
    share_check(&s->share, &s->out);
    if (s->rows && s->refine.on) cli_usage("--rows: refinement needs all rows of X; leave --refine, --ferr and --precision out, or --rows");
    if (s->rows && (s->verify || s->max_berr >= 0))
      cli_usage("--rows: a residual needs all rows of X; leave --verify and --max-berr out, or --rows");
    if (s->profile && strcmp(s->profile, "-") == 0) cli_usage("--profile: give a file; stdout is for the summary");
    if (s->no_verify && (s->verify || s->max_berr >= 0)) cli_usage("--no-verify contradicts --verify and --max-berr");
    if ((s->resume || s->keep_partial || s->share.parts > 0 || s->share.split) && (s->compress > 0 || s->checksum))
      cli_usage("--resume, --keep-partial, --part, --split-files: compressed outputs can't be continued; use h5repack on the whole one");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  const bool is_option = key > 0 && key < ARGP_KEY_END; /* not one of argp's own keys */
  if (is_option && key != 'o' && key != KEY_FORCE && key != SHARE_MERGE && key != SHARE_REMOVE) s->share.solves = true;
  return parse_solver(key, text, &s->solver) || share_parse(key, text, &s->share) || batch_parse(key, text, &s->batch) ||
                 grid_parse(key, text, &s->solver.grid) || refine_parse(key, text, &s->refine) || problem_parse(key, text, &s->problem)
             ? 0
             : parse_rest(key, text, state);
}

/* ---- the phases ---- */

static int open_problem(run *r) {
  double start = cli_now();
  cli_phase("reading %s and %s", r->set->problem.factors, r->set->problem.rhs);
  int code = open_files(r);
  r->seconds.read = profile_span(r->profile, "read", start, 0, 0);
  if (code != CLI_OK) return code;
  map_note(r);
  r->x_path = problem_beside_B(&r->in, "X");
  r->part.on = r->set->rows || r->in.b_rows;
  r->verified = !r->set->rows && (r->set->verify || r->set->max_berr >= 0 || (r->in.S.is_original && !r->set->no_verify));
  if (r->x_path == NULL) return cli_no_memory("a name");
  code = plan_check_options(r->set, r->part.on ? "sparse right-hand sides and --rows, for which a part of the factors is used" : NULL);
  if (code == CLI_OK) code = refine_check(&r->set->refine, &r->in, r->part.on);
  if (code != CLI_OK || !r->part.on || (r->set->stream_columns == 0 && !stream_keeps(r))) return code;
  cli_error(
      "--stream, --resume, --keep-partial, --part, --split-files and ranks are for dense right-hand sides and all rows; leave them out");
  return CLI_USAGE;
}

static int read_rhs(run *r) {
  double start = cli_now();
  r->in_place = !r->verified && !r->set->refine.on;
  r->stream.on = stream_wanted(r);
  int code = r->stream.on ? refine_check_stream(&r->set->refine) : problem_read(&r->in);
  sptrsm_file_cache_clear(r->set->problem.io.cache);
  r->seconds.read += profile_span(r->profile, "read", start, 0, 0);
  return code;
}

static int analyse(run *r) {
  const double start = cli_now();
  solver_request request = r->set->solver;
  cli_phase("analysing");
  request.system = r->set->problem.system;
  request.op = r->set->problem.op;
  request.options.nrhs_hint = r->in.B->block.nrhs;
  request.options.memory_limit = r->set->problem.io.memory_limit / 4; /* the rest is for factors, B and X */
  request.options.precision = r->set->refine.mixed ? SPTRSM_MIXED : SPTRSM_WORKING;
  int code = r->set->plan ? plan_map(&r->kept, r->set->plan) : CLI_OK;
  request.plan = r->kept.plan, request.plan_bytes = r->kept.plan_bytes, request.plan_file = r->set->plan;
  if (code == CLI_OK) code = create_solver(r, r->in.factors, &request);
  if (code == CLI_OK) map_release(r);
  if (code == CLI_OK) code = refine_start(&r->refined, &r->set->refine, &r->in, &r->solver, request.options.nrhs_hint);
  if (code == CLI_OK && ranks_count() > 1 && r->stream.on) code = resume_agree(resume_inputs(r)); /* before there is any output */
  if (code == CLI_OK && r->set->save_plan && !r->set->dry_run && ranks_own() == 0) code = plan_save(&r->solver, r->set->save_plan);
  profile_span(r->profile, "analyse", start, 0, 0);
  return code;
}

static int make_solution(run *r) {
  r->X = r->in.B->block;
  if (r->in_place) return CLI_OK;
  size_t count = (size_t)(r->X.layout == SPTRSM_ROW_MAJOR ? r->X.n : r->X.nrhs);          /* of pieces with ld numbers each */
  r->X.data = cli_large_memory(count * (size_t)r->X.ld * sptrsm_dtype_bytes(r->X.dtype)); /* B of this size is in memory: no overflow */
  return r->X.data ? CLI_OK : cli_no_memory("the solution");
}

/* The columns of the first call. Short work is one call. Long work takes several calls, between which progress is shown: each has as many
 * columns as keep all threads busy, and solve() doubles them until a call takes long enough. */
static int64_t first_step(const run *r) {
  static const double short_work = 2e9; /* floating-point operations, which take two seconds at most */
  int64_t busy = (int64_t)(r->solver.plans > 0 ? r->solver.info[0].panel : 64) * cli_threads();
  bool is_short = r->solver.flops_per_rhs * (double)r->X.nrhs < short_work;
  return is_short || busy > r->X.nrhs ? r->X.nrhs : busy;
}

static int solve(run *r) {
  static const double step_seconds = 0.25;
  int64_t nrhs = r->X.nrhs, width = first_step(r);
  sptrsm_status status = SPTRSM_OK;
  cli_progress progress;
  cli_phase("solving for %lld columns", (long long)nrhs);
  cli_progress_begin(&progress, "solving");
  cli_progress_count(&progress, "columns", 0, nrhs);
  for (int64_t begin = 0, end; begin < nrhs && status == SPTRSM_OK; begin = end) {
    double start = cli_now();
    end = nrhs - begin < width ? nrhs : begin + width;
    status = solve_columns(r, 0, &(solver_columns){r->in.alpha, &r->in.B->block, &r->X, begin, end}, 0);
    if (cli_now() - start < step_seconds && width < nrhs) width *= 2;
    cli_progress_step(&progress, end, nrhs);
  }
  cli_progress_end(&progress);
  r->seconds.solve = cli_now() - progress.start;
  return solver_fail(status);
}

static int check(run *r) {
  double start = cli_now();
  if (r->verified) cli_phase("computing residuals");
  r->odd.count = nonfinite_columns(&r->X, r->odd.columns, NAMED_COLUMNS);
  if (r->verified && !residual_compute(&r->residual, &r->in.S, r->in.alpha, &r->in.B->block, &r->X)) return cli_no_memory("the residuals");
  r->seconds.verify = profile_span(r->profile, "judge", start, 0, r->X.nrhs);
  refine_take(&r->refined, r->X.dtype, 0, r->X.nrhs);
  settle_exit(r);
  return CLI_OK;
}

/* ---- the program ---- */

static void warn(const run *r) {
  char list[160] = "";
  for (int64_t i = 0; i < r->odd.count && i < NAMED_COLUMNS; i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%lld", i ? ", " : "", (long long)(r->set->problem.io.col_begin + r->odd.columns[i]));
  }
  if (r->odd.count > 0)
    cli_warning("%lld of %lld solutions are not finite: column%s %s%s; %s", (long long)r->odd.count, (long long)r->in.B->block.nrhs,
                r->odd.count == 1 ? "" : "s", list, r->odd.count > NAMED_COLUMNS ? ", ..." : "", refine_hint(&r->set->refine));
  if (r->odd.count == 0) refine_warn(&r->refined, &r->set->refine, r->in.B->block.nrhs, r->set->problem.io.col_begin);
  double limit = r->set->max_berr;
  if (limit >= 0 && !(r->residual.max_berr <= limit))
    cli_warning("backward error %s of column %lld is above --max-berr %g", cli_error_size(r->residual.max_berr).text,
                (long long)(r->set->problem.io.col_begin + r->residual.worst), limit);
}

static int work(run *r) {
  int code = open_problem(r);
  if (code == CLI_OK && r->part.on) return rows_work(r);
  if (code == CLI_OK) code = read_rhs(r);
  if (code == CLI_OK && !r->stream.on && ranks_own() > 0) return CLI_OK; /* there are no columns */
  if (code == CLI_OK) code = analyse(r);
  if (code == CLI_OK && r->stream.on) code = stream_plan(r);
  if (code != CLI_OK || r->set->dry_run) return code;
  if (r->stream.on) return stream_run(r);
  code = make_solution(r);
  if (code == CLI_OK) code = solve(r);
  if (code == CLI_OK) code = check(r);
  return code == CLI_OK ? write_solution(r) : code;
}

static int report(run *r) {
  const char *json = r->set->json;
  bool json_is_stdout = json && strcmp(json, "-") == 0;
  warn(r);
  if (!cli_quiet()) report_text(r, json_is_stdout ? stderr : stdout);
  int code = cli_flush();
  if (code != CLI_OK) return code;
  if (r->profile) code = profile_write(r->profile, r->set->profile);
  if (json == NULL) return code;
  int last = cli_write_json(report_json(r, false), json);
  return code == CLI_OK ? last : code;
}

/* The report of a run that failed: why, and the exit code. */
static void report_failure(const settings *s, int code) {
  if (!s->json_checked) return;
  (void)cli_json_lacked_memory(); /* this report is a new one */
  cli_write_json(json_pack("{s:s, s:s, s:o, s:o, s:o, s:i}", "program", "sptrsm-solve", "version", sptrsm_version(), "factors",
                           cli_json_text(s->problem.factors), s->schur ? "B" : "rhs", cli_json_text(s->schur ? s->schur : s->problem.rhs),
                           "error", cli_json_error(code), "exit_code", code),
                 s->json);
}

static void run_free(run *r) {
  if (!r->in_place) free(r->X.data); /* streaming: NULL */
  free(r->x_path);
  free(r->inputs);
  row_list_free(&r->part.wanted);
  profile_free(r->profile);
  refinement_free(&r->refined);
  residual_free(&r->residual);
  solver_free(&r->solver);
  sptrsm_reach_destroy(r->part.reach);
  plan_unmap(&r->kept);
  problem_free(&r->in);
}

int main(int argc, char **argv) {
  static const cli_program program = {"sptrsm-solve", help, options, parse};
  settings s = {.max_berr = -1, .refine.max_steps = -1, .solver.device = {.text = "auto", .automatic = true}};
  problem_request_init(&s.problem);
  s.problem.pack_rhs = true;
  sptrsm_options_init(&s.solver.options);
  ranks_start(&argc, &argv);
  cli_start(&program, argc, argv, &s);
  if (s.share.merge) return cli_end(ranks_end(merge_work(&s.share, s.out, s.force), true));
  if (ranks_own() > 0) ranks_begin(), s.json = s.profile = NULL;
  if (s.plan || s.problem.io.map)
    cli_note_bus_error("a file that is mapped (--map, --plan) became shorter while it was in use; run again with one that stays as it is");
  char *default_out = s.out ? NULL : s.schur ? cli_sibling(s.schur, ".schur.h5") : cli_sibling(s.problem.rhs, ".solution.h5");
  if (s.out == NULL) s.out = default_out;
  if (s.out == NULL) return cli_no_memory("a file name");
  run r = {.set = &s};
  double start = cli_now();
  method_check("--method", s.solver.options.method);
  sptrsm_batch_kind kind = SPTRSM_BATCH_NONE;
  batch_run batch = {.set = &s, .worst_item = -1, .worst_column = -1};
  schur_run schur = {.set = &s, .worst = -1};
  int code = ranks_own() == 0 ? check_outputs(&s) : CLI_OK;
  if (code == CLI_OK && s.profile) code = profile_create(&r.profile, s.problem.io.col_begin);
  if (code == CLI_OK) code = device_settle(&s.solver);
  if (code == CLI_OK) code = cli_fail(sptrsm_file_cache_create(&s.problem.io.cache));
  if (code == CLI_OK) code = batch_find(&kind, s.problem.factors, &s.batch, &s.problem.io);
  const bool is_batch = kind != SPTRSM_BATCH_NONE;
  if (code == CLI_OK) code = begin_ranks(&s, is_batch);
  if (code == CLI_OK) code = plan_check_options(&s, s.schur ? "Schur complements" : is_batch ? "a batch" : NULL);
  if (code == CLI_OK) code = s.schur ? schur_work(&schur, kind) : is_batch ? batch_work(&batch) : work(&r);
  r.seconds.total = batch.seconds.total = schur.seconds.total = cli_now() - start;
  bool finished = code == CLI_OK;
  if (!finished) report_failure(&s, code);
  if (finished && ranks_own() == 0) code = s.schur ? schur_report(&schur) : is_batch ? batch_report(&batch) : report(&r);
  finished = code == CLI_OK;
  if (finished) code = s.schur ? schur.exit_code : is_batch ? batch.exit_code : r.exit_code;
  code = ranks_end(code, finished);
  schur_run_free(&schur);
  batch_run_free(&batch);
  run_free(&r);
  sptrsm_file_cache_destroy(s.problem.io.cache);
  free(default_out);
  return cli_end(code);
}
