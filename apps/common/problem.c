/* problem.c -- options, files and types of a problem. Where the two files differ in type, the narrower one is read again in the wider. */
#include "common/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/sparse_rhs.h"

/* ---- options ---- */

bool problem_parse_io(int key, const char *text, sptrsm_io_options *io) {
  switch (key) {
  case PROBLEM_UPLO: io->uplo = cli_choice("--uplo", text, cli_uplos, 2); return true;
  case PROBLEM_UNIT: io->unit = 1; return true;
  case PROBLEM_TAKE: io->take_triangle = 1; return true;
  case PROBLEM_TIDY: io->tidy = 1; return true;
  case PROBLEM_MEMORY: io->memory_limit = cli_size("--memory-limit", text); return true;
  case PROBLEM_EXTERNAL: io->allow_external = 1; return true;
  case PROBLEM_DTYPE: io->dtype = cli_choice("--dtype", text, cli_dtypes, 4); return true;
  case PROBLEM_ORDER: io->order = cli_choice("--rhs-order", text, cli_orders, 2); return true;
  case PROBLEM_COLS: cli_range("--cols", text, &io->col_begin, &io->col_end); return true;
  default: return false;
  }
}

static void parse_alpha(problem_request *r, const char *text) {
  char *end, *comma;
  r->alpha[0] = strtod(text, &end);
  r->alpha[1] = 0;
  bool wrong = end == text;
  if (!wrong && *end == ',') {
    comma = end;
    r->alpha[1] = strtod(comma + 1, &end);
    wrong = end == comma + 1;
  }
  if (wrong || *end != '\0' || !isfinite(r->alpha[0]) || !isfinite(r->alpha[1]))
    cli_usage("--alpha: '%s' is not a number x or re,im", text);
}

static sptrsm_system parse_system(const char *text) {
  const char *names[SPTRSM_SYS_COUNT];
  sptrsm_system system;
  if (sptrsm_system_from_name(&system, text) == SPTRSM_OK) return system;
  for (int s = 0; s < SPTRSM_SYS_COUNT; s++) names[s] = sptrsm_system_name((sptrsm_system)s);
  cli_usage("--sys: %s%s", sptrsm_last_error(), cli_suggestion(text, strlen(text), names, SPTRSM_SYS_COUNT).text);
}

bool problem_parse(int key, const char *text, problem_request *r) {
  switch (key) {
  case PROBLEM_SYS: r->system = parse_system(text); return true;
  case PROBLEM_TRANS: r->op = (sptrsm_op)cli_choice("--trans", text, cli_ops, 3); return true;
  case PROBLEM_ALPHA: parse_alpha(r, text); return true;
  default: return problem_parse_io(key, text, &r->io);
  }
}

void problem_request_init(problem_request *r) {
  *r = (problem_request){.system = SPTRSM_SYS_A, .op = SPTRSM_N, .alpha = {1, 0}};
  sptrsm_io_options_init(&r->io);
}

/* ---- types ---- */

static bool is_complex(sptrsm_dtype t) { return t == SPTRSM_C64 || t == SPTRSM_C128; }

sptrsm_dtype problem_wider(sptrsm_dtype a, sptrsm_dtype b) {
  bool is_double = a == SPTRSM_F64 || a == SPTRSM_C128 || b == SPTRSM_F64 || b == SPTRSM_C128;
  if (is_complex(a) || is_complex(b)) return is_double ? SPTRSM_C128 : SPTRSM_C64;
  return is_double ? SPTRSM_F64 : SPTRSM_F32;
}

static void free_rhs(problem *p) {
  sptrsm_file_reader_close(p->reader);
  sptrsm_file_block_free(p->whole);
  free(p->b_rows);
  p->reader = NULL;
  p->B = p->whole = NULL;
  p->b_rows = NULL;
}

/* Opens a dense block, which is read later, or reads right-hand sides that are a sparse matrix. */
static sptrsm_status open_rhs(problem *p, int dtype) {
  const problem_request *r = p->request;
  sptrsm_io_options io = r->io;
  sparse_rhs sparse;
  int32_t n = p->factors->L_tri.n;
  free_rhs(p);
  sptrsm_status status = sparse_rhs_find(&sparse, r->rhs, &io);
  if (status != SPTRSM_OK) return status;
  io.dtype = dtype;
  if (sparse.where) status = sparse_rhs_load(&p->whole, r->pack_rhs ? &p->b_rows : NULL, &sparse, n, &io);
  else status = sptrsm_file_reader_open(&p->reader, r->rhs, n, &io);
  p->B = sparse.where ? p->whole : sptrsm_file_reader_block(p->reader);
  sparse_rhs_free(&sparse);
  return status;
}

static sptrsm_status reload_factors(problem *p, sptrsm_dtype dtype) {
  sptrsm_io_options io = p->request->io;
  sptrsm_file_factors_free(p->factors);
  p->factors = NULL;
  io.dtype = (int)dtype;
  return sptrsm_file_factors_load(&p->factors, p->request->factors, &io);
}

static sptrsm_status load(problem *p) {
  const problem_request *r = p->request;
  sptrsm_status status = sptrsm_file_factors_load(&p->factors, r->factors, &r->io);
  if (status == SPTRSM_OK) status = open_rhs(p, r->io.dtype);
  if (status != SPTRSM_OK) return status;
  sptrsm_dtype of_factors = p->factors->L_tri.dtype, of_B = p->B->block.dtype, both = problem_wider(of_factors, of_B);
  if (of_factors == of_B) return SPTRSM_OK;
  snprintf(p->conversion, sizeof p->conversion, "factors are %s, right-hand sides %s: both taken as %s (--dtype chooses)",
           cli_dtypes[of_factors], cli_dtypes[of_B], cli_dtypes[both]);
  if (of_factors != both) status = reload_factors(p, both);
  return status == SPTRSM_OK && of_B != both ? open_rhs(p, (int)both) : status;
}

int problem_read(problem *p) {
  sptrsm_io_options io = p->request->io;
  if (p->reader == NULL) return CLI_OK; /* sparse right-hand sides have been read */
  const int32_t n = p->B->block.n;
  io.dtype = (int)p->B->block.dtype;
  free_rhs(p); /* leaves the file in the cache */
  sptrsm_status status = sptrsm_file_block_load(&p->whole, p->request->rhs, n, &io);
  p->B = p->whole;
  return cli_fail(status);
}

/* ---- the system ---- */

/* A single triangle has no partial systems, but --sys may call it by its own name, L or U. */
int problem_check_system(const problem_request *r, const sptrsm_file_factors *F) {
  if (!F->single && r->io.uplo != SPTRSM_AS_STORED) {
    cli_error("%s: --uplo is for single triangles, this is a factor set; name one triangle of it (FILE:/path) or leave --uplo out",
              r->factors);
    return CLI_USAGE;
  }
  sptrsm_system system = r->system, own = F->L_tri.uplo == SPTRSM_LOWER ? SPTRSM_SYS_L : SPTRSM_SYS_U;
  if (!F->single || system == SPTRSM_SYS_A || system == own) return CLI_OK;
  cli_error("%s: --sys %s needs a factor set, this is one %s triangle; use --trans for its transpose", r->factors,
            sptrsm_system_name(system), cli_uplos[F->L_tri.uplo]);
  return CLI_USAGE;
}

/* Converts alpha to the type of the data. */
int problem_settle_alpha(problem *p, sptrsm_dtype dtype) {
  const double *alpha = p->request->alpha;
  if (alpha[1] != 0 && !is_complex(dtype)) {
    cli_error("--alpha %g,%g is complex, but the data are %s; add --dtype %s", alpha[0], alpha[1], cli_dtypes[dtype],
              dtype == SPTRSM_F32 ? "c64" : "c128");
    return CLI_USAGE;
  }
  for (int i = 0; i < 2; i++) {
    if (dtype == SPTRSM_F32 || dtype == SPTRSM_C64) p->alpha_value.f[i] = (float)alpha[i];
    else p->alpha_value.d[i] = alpha[i];
  }
  p->alpha = alpha[0] == 1 && alpha[1] == 0 ? NULL : &p->alpha_value;
  return CLI_OK;
}

int64_t problem_dropped(const problem *p) {
  const sptrsm_file_factors *F = p->factors;
  return F->L->dropped + (F->U ? F->U->dropped : 0);
}

static int settle(problem *p, sptrsm_status status) {
  const problem_request *r = p->request;
  int code = cli_fail(status);
  if (code == CLI_OK) code = problem_check_system(r, p->factors);
  if (code == CLI_OK) code = problem_settle_alpha(p, p->B->block.dtype);
  if (code == CLI_OK) chain_build(&p->S, p->factors, r->system, r->op);
  if (code == CLI_OK && problem_dropped(p) > 0)
    cli_note("%s: dropped %lld %s outside the triangle (--take-triangle)", r->factors, (long long)problem_dropped(p),
             problem_dropped(p) == 1 ? "entry" : "entries");
  return code;
}

int problem_open(problem *p, const problem_request *r) {
  *p = (problem){.request = r};
  return settle(p, load(p));
}

int problem_open_with(problem *p, const problem_request *r, sptrsm_file_factors *factors) {
  *p = (problem){.request = r, .factors = factors};
  return settle(p, open_rhs(p, (int)factors->L_tri.dtype));
}

int problem_load(problem *p, const problem_request *r) {
  int code = problem_open(p, r);
  return code == CLI_OK ? problem_read(p) : code;
}

void problem_free(problem *p) {
  sptrsm_file_factors_free(p->factors);
  free_rhs(p);
  *p = (problem){0};
}

char *problem_beside_B(const problem *p, const char *name) {
  const char *path = p->B->path, *slash = strrchr(path, '/');
  char *out;
  return asprintf(&out, "%.*s/%s", slash ? (int)(slash - path) : 0, path, name) < 0 ? NULL : out;
}
