/* plan.c -- clones of plans, and plans as bytes (sptrsm_multi.h). Both are one thing: a method writes what its analysis found into a blob,
 * and a plan of another matrix with the same pattern reads it. Only a blob that leaves the process has a frame and hashes. */
#include <sptrsm_multi.h>

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/clone/blobs.h"
#include "core/clone/like.h"
#include "core/context/alloc.h"
#include "core/plan/method.h"

/* What every plan has, beside its options and the state of its method. */
typedef struct {
  char reason[160];
  uint64_t pattern, values; /* hashes of the matrix, if it is `hashed` */
  int32_t n, dtype, transpose, conj, levels, automatic;
} head;

/* ---- memory ---- */

sptrsm_status spti_blob_alloc(void **out, size_t bytes) { return spti_host_alloc(out, (int64_t)bytes, 1, "a plan in memory"); }

sptrsm_status spti_blob_copy(void **out, const void *memory, size_t bytes) {
  SPTI_TRY(spti_blob_alloc(out, bytes));
  memcpy(*out, memory, bytes);
  return SPTRSM_OK;
}

sptrsm_status spti_blob_check(const void *memory, sptrsm_copy_mode mode) {
  if (!memory) return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: memory is NULL");
  if (mode != SPTRSM_COPY && mode != SPTRSM_BORROW) return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: unknown copy mode %d", (int)mode);
  if (mode == SPTRSM_BORROW && (uintptr_t)memory % SPTI_BLOB_ALIGNMENT != 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: memory that is borrowed must begin at a multiple of %d bytes; use SPTRSM_COPY",
                     SPTI_BLOB_ALIGNMENT);
  return SPTRSM_OK;
}

/* ---- writing ---- */

/* A method without analysis has nothing to write. */
static bool carries(const sptrsm_plan *plan) {
  return plan->context->place == SPTRSM_HOST && (plan->method->carry || !plan->method->analyse);
}

sptrsm_status spti_plan_check_export(const sptrsm_plan *plan) {
  if (carries(plan)) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "method %s %scan't be exported; block, levelset and serial of the host can", plan->method->name,
                   plan->context->place == SPTRSM_CUDA ? "of a CUDA device " : "");
}

/* Text from a blob, which ends and has nothing that a terminal would obey. */
static bool is_text(const char *text, size_t size) {
  const char *end = memchr(text, 0, size);
  for (const char *c = text; end && c < end; c++)
    if (*c < ' ' || *c > '~') return false;
  return end != NULL;
}

void spti_options_carry(sptrsm_options *o, char *method, spti_blob *b) {
  int64_t wide[] = {o->nrhs_hint, o->grid[0], o->grid[1], o->grid[2], (int64_t)o->memory_limit};
  int32_t narrow[] = {(int32_t)o->select, o->p, o->q, o->panel, o->deterministic, (int32_t)o->precision};
  spti_blob_value(b, method, SPTI_METHOD_NAME);
  spti_blob_value(b, o->stencil, sizeof o->stencil);
  spti_blob_value(b, wide, sizeof wide);
  spti_blob_value(b, narrow, sizeof narrow);
  if (b->mode != SPTI_BLOB_READ || b->status != SPTRSM_OK) return;
  if (!is_text(method, SPTI_METHOD_NAME)) spti_blob_refuse(b, "plan: the name of its method is no text; make the plan anew");
  o->method = *method ? method : NULL;
  o->nrhs_hint = wide[0], o->grid[0] = wide[1], o->grid[1] = wide[2], o->grid[2] = wide[3], o->memory_limit = (size_t)wide[4];
  o->select = (sptrsm_select)narrow[0], o->p = narrow[1], o->q = narrow[2], o->panel = narrow[3], o->deterministic = narrow[4];
  o->precision = (sptrsm_precision)narrow[5];
}

/* The method with its parameters, as options name it. */
static void name_method(char method[SPTI_METHOD_NAME], const sptrsm_plan *plan) {
  memset(method, 0, SPTI_METHOD_NAME);
  snprintf(method, SPTI_METHOD_NAME, "%s%s%s", plan->method->name, *plan->variant ? ":" : "", plan->variant);
}

void spti_plan_write(const sptrsm_plan *plan, spti_blob *b, bool hashed) {
  head h = {.n = plan->view.n,
            .dtype = plan->view.dtype,
            .transpose = plan->op.transpose,
            .conj = plan->op.conj,
            .levels = plan->levels,
            .automatic = plan->automatic};
  char method[SPTI_METHOD_NAME];
  sptrsm_options options = plan->options;
  name_method(method, plan);
  memcpy(h.reason, plan->reason, strlen(plan->reason));
  if (hashed && b->status == SPTRSM_OK) b->status = spti_matrix_hash(&h.pattern, &h.values, plan->matrix);
  spti_blob_value(b, &h, sizeof h);
  spti_options_carry(&options, method, b);
  if (plan->method->carry) plan->method->carry((sptrsm_plan *)plan, b); /* writes nothing but the blob */
}

/* ---- reading ---- */

static sptrsm_status check_head(const head *h, const sptrsm_matrix *m, bool hashed, bool *same_values) {
  static const char *const types[] = {"f32", "f64", "c64", "c128"};
  uint64_t pattern, values;
  if (h->dtype < SPTRSM_F32 || h->dtype > SPTRSM_C128 || !is_text(h->reason, sizeof h->reason))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: its type or reason is none; make the plan anew");
  if (h->n != m->T.n)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: is of order %d, the matrix of order %d; make the plan anew", h->n, m->T.n);
  if (h->dtype != (int32_t)m->T.dtype)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: has type %s, the matrix type %s; make the plan anew", types[h->dtype], types[m->T.dtype]);
  if (!hashed) return SPTRSM_OK;
  SPTI_TRY(spti_matrix_hash(&pattern, &values, m));
  *same_values = h->values == values;
  if (h->pattern == pattern) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT,
                   "plan: the matrix has another pattern, format or triangle than the one that it was made of; make the plan anew");
}

/* asked: what the caller wants to solve with; NULL: whatever the plan has. */
static sptrsm_status check_method(const sptrsm_options *options, const sptrsm_options *asked) {
  const char *wanted = asked && asked->method && strcmp(asked->method, "auto") != 0 ? asked->method : NULL;
  if (!options->method) return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: has no method; make the plan anew");
  const spti_method *method = spti_method_find(options->method, strcspn(options->method, ":"), SPTRSM_HOST);
  if (wanted && strcmp(wanted, options->method) != 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: is of method %s, the options ask for %s; ask for the same, or make the plan anew",
                     options->method, wanted);
  if (method && method->place == SPTRSM_HOST && (method->carry || !method->analyse)) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "plan: method %s can't be imported; make the plan anew", options->method);
}

sptrsm_status spti_plan_read(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_options *asked, spti_blob *b, bool hashed) {
  head h;
  char method[SPTI_METHOD_NAME];
  sptrsm_options options;
  sptrsm_plan *plan;
  bool same_values = true;
  spti_blob_value(b, &h, sizeof h);
  sptrsm_options_init(&options);
  spti_options_carry(&options, method, b);
  SPTI_TRY(b->status);
  SPTI_TRY(check_head(&h, matrix, hashed, &same_values));
  SPTI_TRY(check_method(&options, asked));
  if (asked) options.nrhs_hint = asked->nrhs_hint, options.panel = asked->panel, options.memory_limit = asked->memory_limit;
  SPTI_TRY(spti_plan_restore(&plan, matrix, (spti_op){.transpose = h.transpose != 0, .conj = h.conj != 0}, &options, b));
  memcpy(plan->reason, h.reason, sizeof plan->reason);
  plan->levels = h.levels;
  plan->automatic = h.automatic != 0;
  const sptrsm_status status = same_values || !plan->method->update_values ? SPTRSM_OK : plan->method->update_values(plan);
  if (status == SPTRSM_OK) *out = plan;
  else sptrsm_plan_destroy(plan);
  return status;
}

/* ---- clones ---- */

/* The plan in memory of its own. */
static sptrsm_status write_state(void **memory, size_t *bytes, const sptrsm_plan *from) {
  spti_blob b = {.mode = SPTI_BLOB_MEASURE};
  spti_plan_write(from, &b, false);
  SPTI_TRY(spti_blob_alloc(memory, b.used));
  *bytes = b.used;
  b = (spti_blob){.mode = SPTI_BLOB_WRITE, .memory = *memory, .bytes = *bytes};
  spti_plan_write(from, &b, false);
  return SPTRSM_OK;
}

static sptrsm_status clone_state(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_plan *from) {
  spti_blob b = {.mode = SPTI_BLOB_READ};
  void *memory;
  SPTI_TRY(write_state(&memory, &b.bytes, from));
  b.memory = memory;
  sptrsm_plan *plan;
  const sptrsm_status status = spti_plan_read(&plan, matrix, NULL, &b, false);
  if (status != SPTRSM_OK) {
    spti_host_free(memory);
    return status;
  }
  plan->blob = memory; /* from here on the plan frees it */
  *out = plan;
  return SPTRSM_OK;
}

/* By the method and the parameters of the plan; what `auto` chose in another place is chosen anew. Where a memory limit has no room for a
 * plan of `block` it streams, which gives the same bits. */
static sptrsm_status analyse_anew(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_plan *from) {
  const bool elsewhere = matrix->context->place != from->context->place;
  char method[SPTI_METHOD_NAME];
  sptrsm_options options = from->options;
  sptrsm_plan *plan;
  name_method(method, from);
  options.method = elsewhere && from->automatic ? NULL : method;
  SPTI_TRY(spti_plan_create_to_fit(&plan, matrix, from->op, &options));
  if (plan->method == from->method) {
    memcpy(plan->reason, from->reason, sizeof plan->reason);
    plan->automatic = from->automatic;
  }
  *out = plan;
  return SPTRSM_OK;
}

static bool same_values(const sptrsm_plan *plan, const sptrsm_plan *from) {
  return !plan->method->update_values || spti_matrix_same_values(plan->matrix, from->matrix);
}

sptrsm_status sptrsm_plan_clone(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_plan *from) {
  if (!out || !matrix || !from) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_clone: out, matrix or plan is NULL");
  SPTI_VISIT(matrix->context);
  if (matrix->T.n != from->view.n || matrix->T.dtype != from->view.dtype)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_clone: the matrix differs from the plan's in order or type; pass a clone of that");
  if (matrix->context->place != SPTRSM_HOST || !carries(from)) return analyse_anew(out, matrix, from);
  if (!spti_matrix_same_pattern(matrix, from->matrix))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_clone: the matrix has another pattern than the plan's; pass a clone of that");
  sptrsm_plan *plan;
  SPTI_TRY(clone_state(&plan, matrix, from));
  const sptrsm_status status = same_values(plan, from) ? SPTRSM_OK : plan->method->update_values(plan);
  if (status == SPTRSM_OK) *out = plan;
  else sptrsm_plan_destroy(plan);
  return status;
}

sptrsm_status spti_plan_like(sptrsm_plan **out, const sptrsm_matrix *matrix, sptrsm_plan *from) {
  sptrsm_plan *plan;
  if (!carries(from)) return analyse_anew(out, matrix, from);
  if (!from->lent) SPTI_TRY(write_state(&from->lent, &from->lent_bytes, from));
  spti_blob b = {.mode = SPTI_BLOB_READ, .memory = from->lent, .bytes = from->lent_bytes};
  SPTI_TRY(spti_plan_read(&plan, matrix, NULL, &b, false));
  plan->lender = from;
  spti_plan_retain(from);
  const double start = spti_seconds();
  const sptrsm_status status = plan->method->update_values ? plan->method->update_values(plan) : SPTRSM_OK;
  plan->analysis_seconds += spti_seconds() - start;
  if (status == SPTRSM_OK) *out = plan;
  else sptrsm_plan_destroy(plan);
  return status;
}

/* ---- bytes ---- */

static sptrsm_status measure(size_t *out, const sptrsm_plan *plan) {
  SPTI_TRY(spti_plan_check_export(plan));
  spti_blob b = {.mode = SPTI_BLOB_MEASURE, .used = sizeof(spti_blob_frame)};
  spti_plan_write(plan, &b, false);
  *out = b.used;
  return b.status;
}

sptrsm_status sptrsm_plan_export_bytes(size_t *out, const sptrsm_plan *plan) {
  if (!out || !plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_export_bytes: out or plan is NULL");
  return measure(out, plan);
}

sptrsm_status sptrsm_plan_export(void *memory, size_t bytes, const sptrsm_plan *plan) {
  size_t needed;
  if (!memory || !plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_export: memory or plan is NULL");
  SPTI_TRY(measure(&needed, plan));
  if (bytes != needed)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_export: the plan takes %zu bytes, %zu are given; ask sptrsm_plan_export_bytes",
                     needed, bytes);
  spti_blob b = {.mode = SPTI_BLOB_WRITE, .memory = memory, .bytes = bytes, .used = sizeof(spti_blob_frame)};
  spti_plan_write(plan, &b, true);
  SPTI_TRY(b.status);
  spti_blob_seal(memory, bytes, SPTI_BLOB_PLAN, plan->context->team);
  return SPTRSM_OK;
}

static sptrsm_status import(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_options *asked, const void *memory, size_t bytes) {
  sptrsm_options options;
  spti_blob b;
  SPTI_TRY(spti_options_read(&options, asked));
  SPTI_TRY(spti_blob_open(&b, memory, bytes, SPTI_BLOB_PLAN, matrix->context->team));
  sptrsm_plan *plan;
  SPTI_TRY(spti_plan_read(&plan, matrix, asked ? &options : NULL, &b, true));
  const spti_op op = spti_op_from(options.op);
  if (!asked || (op.transpose == plan->op.transpose && op.conj == plan->op.conj)) {
    *out = plan;
    return SPTRSM_OK;
  }
  sptrsm_plan_destroy(plan);
  return spti_fail(SPTRSM_ERR_ARGUMENT,
                   "plan: is for another operation than op of the options; set the one that it was made for, or make the plan anew");
}

sptrsm_status sptrsm_plan_import(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_options *options, const void *memory,
                                 size_t bytes, sptrsm_copy_mode mode) {
  void *copy = NULL;
  sptrsm_plan *plan = NULL;
  if (!out || !matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_import: out or matrix is NULL");
  SPTI_TRY(spti_blob_check(memory, mode));
  if (mode == SPTRSM_COPY) SPTI_TRY(spti_blob_copy(&copy, memory, bytes));
  const sptrsm_status status = import(&plan, matrix, options, copy ? copy : memory, bytes);
  if (status != SPTRSM_OK) {
    spti_host_free(copy);
    return status;
  }
  plan->blob = copy;
  *out = plan;
  return SPTRSM_OK;
}
