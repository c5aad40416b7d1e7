/* refine.c -- see refine.h */
#include "solve/refine.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sptrsm_refine.h>

#include "common/residual/residual.h"

static const char *const precisions[] = {"working", "mixed"};

/* ---- the request ---- */

bool refine_parse(int key, const char *text, refine_request *r) {
  switch (key) {
  case REFINE_STEPS: r->max_steps = (int32_t)cli_integer("--refine", text, 0, 1000); break;
  case REFINE_FERR: r->ferr = true; break;
  case REFINE_PRECISION: r->mixed = cli_choice("--precision", text, precisions, 2) == SPTRSM_MIXED; return r->on = r->on || r->mixed, true;
  default: return false;
  }
  return r->on = true;
}

static const char *asked_by(const refine_request *r) { return r->mixed ? "--precision mixed" : r->ferr ? "--ferr" : "--refine"; }

int refine_check(const refine_request *r, const problem *p, bool on_part) {
  const sptrsm_file_factors *F = p->factors;
  const char *file = p->request->factors;
  sptrsm_system system = p->request->system;
  if (!r->on) return CLI_OK;
  if (on_part) {
    cli_error("%s: %s is for dense right-hand sides; a sparse B is solved by a part of the factors, of which there is no A",
              p->request->rhs, asked_by(r));
    return CLI_USAGE;
  }
  if (F->single) {
    cli_error("%s: %s is for factor sets with A; this is one triangle, which is solved to a small backward error anyway", file,
              asked_by(r));
    return CLI_USAGE;
  }
  if (system != SPTRSM_SYS_A && system != SPTRSM_SYS_At && system != SPTRSM_SYS_Aat) {
    cli_error("%s is for the systems A, At and Aat, not %s, of which there is no original", asked_by(r), sptrsm_system_name(system));
    return CLI_USAGE;
  }
  if (F->A == NULL) {
    cli_error("%s: there is no A, against which %s works; add it as group A (sptrsm-factor --keep-a)", file, asked_by(r));
    return CLI_INPUT;
  }
  if (F->A->diag == SPTRSM_UNIT) {
    cli_error("%s: A is said to have a diagonal of ones; %s needs them stored, or the word \"unit\" taken out", F->A->where, asked_by(r));
    return CLI_INPUT;
  }
  sptrsm_dtype t = F->L_tri.dtype;
  if (r->mixed && (t == SPTRSM_F32 || t == SPTRSM_C64)) {
    cli_error("%s: --precision mixed is for double precision, this is %s; leave it out, or give --dtype %s", file, cli_dtypes[t],
              t == SPTRSM_F32 ? "f64" : "c128");
    return CLI_USAGE;
  }
  return CLI_OK;
}

int refine_check_stream(const refine_request *r) {
  if (!r->ferr) return CLI_OK;
  cli_error("--ferr is for right-hand sides in memory, these are streamed; leave it out, or raise --memory-limit, or take fewer --cols, or "
            "one device, without mpirun, --part, --stream, --resume and --keep-partial");
  return CLI_USAGE;
}

int refine_start(refinement *out, const refine_request *r, const problem *p, solver *s, int64_t nrhs) {
  if (!r->on) return CLI_OK;
  const sptrsm_file_matrix *M = p->factors->A;
  sptrsm_square A = {.format = M->format,
                     .dtype = M->dtype,
                     .symmetry = M->symmetry,
                     .place = SPTRSM_HOST,
                     .n = p->factors->L_tri.n,
                     .ptr = M->ptr,
                     .idx = M->idx,
                     .val = M->val};
  *out = (refinement){.on = true, .max_steps = r->max_steps, .worst = -1};
  out->berr = calloc((size_t)nrhs + 1, sizeof *out->berr);
  out->steps = calloc((size_t)nrhs + 1, sizeof *out->steps);
  if (r->ferr) out->ferr = calloc((size_t)nrhs + 1, sizeof *out->ferr);
  if (out->berr == NULL || out->steps == NULL || (r->ferr && out->ferr == NULL)) return cli_no_memory("the errors of the columns");
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < s->members && status == SPTRSM_OK; k++) {
    const sptrsm_multi_member m = solver_member(s, k);
    size_t bytes = 0;
    status = sptrsm_direct_set_original(m.direct, &A);
    if (status == SPTRSM_OK) status = sptrsm_direct_workspace_bytes(&bytes, m.direct);
    s->workspace_bytes = k == 0 ? bytes : s->workspace_bytes + bytes;
  }
  if (status == SPTRSM_OK) status = solver_tell_plans(s); /* with a memory limit there may be others now */
  return solver_fail(status);
}

void refinement_free(refinement *R) {
  free(R->berr);
  free(R->ferr);
  free(R->steps);
  *R = (refinement){0};
}

/* ---- the columns ---- */

sptrsm_status refine_run(refinement *R, solver *s, int member, const solver_columns *c, int64_t first) {
  sptrsm_block from = block_columns(c->B, c->begin, c->end), to = block_columns(c->X, c->begin, c->end);
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
  options.solve = 1;
  options.max_steps = R->max_steps;
  sptrsm_refine_result result = {.size = sizeof result, .berr = R->berr + first + c->begin, .steps = R->steps + first + c->begin};
  if (R->ferr) result.ferr = R->ferr + first + c->begin;
  return sptrsm_direct_refine(solver_member(s, member).direct, s->system, s->op, c->alpha, &from, &to, &options, &result);
}

void refine_take(refinement *R, sptrsm_dtype dtype, int64_t first, int64_t count) {
  double ten_units = 5 * (dtype == SPTRSM_F32 || dtype == SPTRSM_C64 ? (double)FLT_EPSILON : DBL_EPSILON);
  for (int64_t k = first; R->on && k < first + count; k++) {
    R->unconverged += !(R->berr[k] <= ten_units);
    if (R->worst < 0 || (!(R->berr[k] <= R->max_berr) && !isnan(R->max_berr))) R->max_berr = R->berr[k], R->worst = k;
    if (R->steps[k] > R->most_steps) R->most_steps = R->steps[k];
    if (R->ferr && !(R->ferr[k] <= R->max_ferr) && !isnan(R->max_ferr)) R->max_ferr = R->ferr[k];
  }
}

void refine_add(refinement *R, const refinement *part) {
  if (part->worst < 0) return;
  R->unconverged += part->unconverged;
  if (R->worst < 0 || residual_above(part->max_berr, part->worst, R->max_berr, R->worst))
    R->max_berr = part->max_berr, R->worst = part->worst;
  if (part->most_steps > R->most_steps) R->most_steps = part->most_steps;
}

void refine_none(refinement *R) {
  R->unconverged = 0;
  R->worst = -1;
  R->max_berr = R->max_ferr = 0;
  R->most_steps = 0;
}

/* ---- results ---- */

const char *refine_hint(const refine_request *r) {
  return r->mixed ? "look for NaN or infinity in the right-hand side, else the range of single precision may be too small: "
                    "--precision working"
                  : "look for NaN or infinity in the right-hand side, or for a tiny diagonal";
}

void refine_warn(const refinement *R, const refine_request *r, int64_t nrhs, int64_t first_column) {
  if (R->unconverged == 0) return;
  enum { STEPS_OF_DGERFS = 5 };
  int32_t limit = r->max_steps < 0 && !r->mixed ? STEPS_OF_DGERFS : r->max_steps;
  cli_warning("%lld of %lld columns were not refined to full accuracy: backward error %s of column %lld; %s", (long long)R->unconverged,
              (long long)nrhs, cli_error_size(R->max_berr).text, (long long)(first_column + R->worst),
              !isfinite(R->max_berr)   ? refine_hint(r)
              : R->most_steps == limit ? "more steps may help: --refine N"
              : r->mixed               ? "the matrix may be too ill-conditioned for factors in single precision: --precision working"
                                       : "the factors may be too inaccurate");
}

void refine_text(const refinement *R, const refine_request *r, int64_t first_column, FILE *f) {
  if (R->worst < 0) return;
  fprintf(f, "refined  componentwise %s (column %lld), at most %d step%s, factors in %s precision", cli_error_size(R->max_berr).text,
          (long long)(first_column + R->worst), (int)R->most_steps, R->most_steps == 1 ? "" : "s", r->mixed ? "single" : "working");
  if (R->ferr) fprintf(f, "\n         forward error about %s or less", cli_error_size(R->max_ferr).text);
  fputc('\n', f);
}

json_t *refine_json(const refinement *R, const refine_request *r, int64_t nrhs, int64_t first_column, bool per_column) {
  if (!R->on) return json_null();
  json_t *o = json_pack("{s:s, s:i, s:i, s:o, s:I, s:I}", "precision", precisions[r->mixed], "max_steps", (int)r->max_steps, "most_steps",
                        (int)R->most_steps, "max_berr", cli_json_number(R->max_berr), "worst_column",
                        (json_int_t)(R->worst < 0 ? -1 : first_column + R->worst), "unconverged", (json_int_t)R->unconverged);
  if (R->ferr) json_object_set_new(o, "max_ferr", cli_json_number(R->max_ferr));
  if (!per_column) return o;
  json_t *berr = json_array(), *ferr = json_array(), *steps = json_array();
  for (int64_t k = 0; k < nrhs; k++) {
    json_array_append_new(berr, cli_json_number(R->berr[k]));
    json_array_append_new(steps, json_integer(R->steps[k]));
    if (R->ferr) json_array_append_new(ferr, cli_json_number(R->ferr[k]));
  }
  json_object_set_new(o, "berr", berr);
  json_object_set_new(o, "steps", steps);
  if (R->ferr) json_object_set_new(o, "ferr", ferr);
  else json_decref(ferr);
  return o;
}

json_t *refine_state(const refinement *R) {
  char max_berr[40]; /* all bits, NaN and infinity too */
  snprintf(max_berr, sizeof max_berr, "%a", R->max_berr);
  return json_pack("{s:I, s:I, s:i, s:s}", "unconverged", (json_int_t)R->unconverged, "worst", (json_int_t)R->worst, "most_steps",
                   (int)R->most_steps, "max_berr", max_berr);
}

bool refine_resume(refinement *R, const json_t *state) {
  json_int_t unconverged, worst;
  int most_steps;
  const char *max_berr;
  if (json_unpack((json_t *)state, "{s:I, s:I, s:i, s:s}", "unconverged", &unconverged, "worst", &worst, "most_steps", &most_steps,
                  "max_berr", &max_berr) != 0)
    return false;
  R->unconverged = unconverged;
  R->worst = worst;
  R->most_steps = most_steps;
  R->max_berr = strtod(max_berr, NULL);
  return true;
}
