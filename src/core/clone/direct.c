/* direct.c -- clones of solvers of factor sets, and all plans of such a solver as bytes (sptrsm_multi.h). */
#include <sptrsm_multi.h>

#include <string.h>

#include "core/clone/blobs.h"
#include "core/clone/like.h"
#include "core/context/alloc.h"
#include "core/direct/direct.h"
#include "core/plan/method.h"

enum { MATRICES = 2, SLOTS_OF_MATRIX = SPTI_DIRECT_SLOTS / MATRICES };

static const sptrsm_plan *plan_at(const sptrsm_direct *d, int slot) { return spti_direct_slot_at((sptrsm_direct *)d, slot)->plan; }

/* Names the factor of a slot in front of the latest message. */
static sptrsm_status name_factor(sptrsm_status status, const sptrsm_direct *d, int slot) {
  return spti_name_object(status, spti_direct_factor_name(d, slot / SLOTS_OF_MATRIX));
}

/* ---- clones ---- */

static sptrsm_status clone_diagonal_and_sides(sptrsm_direct *d, const sptrsm_direct *from) {
  SPTI_TRY(spti_direct_diagonal_create(&d->D, d->context, d->n, d->dtype, from->D.host[0], from->D.host[1], from->D.apply.hermitian));
  SPTI_TRY(spti_side_clone(&d->row, d->context, &from->row, from->context, d->n));
  return spti_side_clone(&d->col, d->context, &from->col, from->context, d->n);
}

static sptrsm_status clone_parts(sptrsm_direct *d, const sptrsm_direct *from) {
  for (int m = 0; m < MATRICES; m++)
    if (from->matrix[m]) SPTI_TRY(sptrsm_matrix_clone(&d->matrix[m], d->context, from->matrix[m]));
  return clone_diagonal_and_sides(d, from);
}

static sptrsm_status clone_plans(sptrsm_direct *d, const sptrsm_direct *from) {
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    sptrsm_plan *plan;
    if (!plan_at(from, s)) continue;
    SPTI_TRY(name_factor(sptrsm_plan_clone(&plan, d->matrix[s / SLOTS_OF_MATRIX], plan_at(from, s)), d, s));
    SPTI_TRY(spti_direct_adopt_plan(d, s, plan));
  }
  return SPTRSM_OK;
}

/* Plans of `block` have the same bits when they stream; those that `auto` chose in another place have others in any case. */
static bool may_stream(const sptrsm_direct *d, const sptrsm_direct *from) {
  const bool elsewhere = d->context->place != from->context->place;
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    const sptrsm_plan *plan = plan_at(from, s);
    if (plan && !(elsewhere && plan->automatic) && strcmp(plan->method->name, "block") != 0) return false;
  }
  return spti_plan_may_stream(d->context, d->options.method);
}

/* Where the memory limit has no room for all plans, they stream, as those of a new solver would. */
static sptrsm_status clone_to_fit(sptrsm_direct *d, const sptrsm_direct *from) {
  SPTI_TRY(clone_parts(d, from));
  const sptrsm_status status = clone_plans(d, from);
  return status == SPTRSM_ERR_MEMORY && may_stream(d, from) ? spti_direct_begin_to_stream(d, from) : status;
}

/* A solver without factors. */
static sptrsm_status begin(sptrsm_direct **out, sptrsm_context *context, const sptrsm_direct *from) {
  sptrsm_direct *d;
  SPTI_TRY(spti_host_alloc(&d, 1, sizeof *d, "direct solver"));
  *d = (sptrsm_direct){.context = context,
                       .has_U = from->has_U,
                       .u_kind = from->u_kind,
                       .dtype = from->dtype,
                       .given = from->given,
                       .n = from->n,
                       .options = from->options};
  atomic_init(&d->references, 1);
  for (int m = 0; m < MATRICES; m++) d->place[m] = context->place == SPTRSM_HOST ? SPTRSM_HOST : from->place[m];
  memcpy(d->method, from->method, sizeof d->method);
  if (from->options.method) d->options.method = d->method;
  spti_context_retain(context);
  *out = d;
  return SPTRSM_OK;
}

typedef sptrsm_status copy_parts(sptrsm_direct *, const sptrsm_direct *from);

static sptrsm_status make(sptrsm_direct **out, sptrsm_context *context, const sptrsm_direct *from, copy_parts *copy) {
  sptrsm_direct *d;
  SPTI_TRY(begin(&d, context, from));
  const sptrsm_status status = copy(d, from);
  if (status == SPTRSM_OK) *out = d;
  else sptrsm_direct_destroy(d);
  return status;
}

sptrsm_status sptrsm_direct_clone(sptrsm_direct **out, sptrsm_context *context, const sptrsm_direct *from) {
  if (!out || !context || !from) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_clone: out, context or direct is NULL");
  SPTI_VISIT(context);
  return make(out, context, from, clone_to_fit);
}

/* ---- one pattern, other values ---- */

static sptrsm_status share_parts(sptrsm_direct *d, const sptrsm_direct *from) {
  for (int m = 0; m < MATRICES; m++)
    if (from->matrix[m]) SPTI_TRY(spti_matrix_like(&d->matrix[m], from->matrix[m]));
  return clone_diagonal_and_sides(d, from);
}

sptrsm_status spti_direct_like(sptrsm_direct **out, const sptrsm_direct *from) { return make(out, from->context, from, share_parts); }

sptrsm_status spti_direct_like_plans(sptrsm_direct *d, const sptrsm_direct *from) {
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    sptrsm_plan *plan;
    if (!plan_at(from, s) || plan_at(d, s)) continue;
    SPTI_TRY(name_factor(spti_plan_like(&plan, d->matrix[s / SLOTS_OF_MATRIX], (sptrsm_plan *)plan_at(from, s)), d, s));
    SPTI_TRY(spti_direct_adopt_plan(d, s, plan));
  }
  return SPTRSM_OK;
}

/* ---- bytes ---- */

/* What the solver is, for the import to compare with the factors; then its options, and `plans` times a slot and its plan. */
typedef struct {
  int32_t n, given, u_kind, has_U, plans, unused;
} head;

static head head_of(const sptrsm_direct *d) {
  head h = {.n = d->n, .given = d->given, .u_kind = d->u_kind, .has_U = d->has_U};
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) h.plans += plan_at(d, s) != NULL;
  return h;
}

/* Of the solver, as the caller gave them: the options of plans have working precision. */
static sptrsm_options options_of(const sptrsm_direct *d) {
  sptrsm_options options = d->options;
  if (d->dtype != d->given) options.precision = SPTRSM_MIXED;
  return options;
}

static void write_solver(const sptrsm_direct *d, spti_blob *b, bool hashed) {
  head h = head_of(d);
  sptrsm_options options = options_of(d);
  char method[SPTI_METHOD_NAME] = "";
  memcpy(method, d->method, sizeof d->method);
  spti_blob_value(b, &h, sizeof h);
  spti_options_carry(&options, method, b);
  for (int64_t s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    if (!plan_at(d, (int)s)) continue;
    spti_blob_value(b, &s, sizeof s);
    spti_plan_write(plan_at(d, (int)s), b, hashed);
  }
}

static sptrsm_status measure(size_t *out, const sptrsm_direct *d) {
  spti_blob b = {.mode = SPTI_BLOB_MEASURE, .used = sizeof(spti_blob_frame)};
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++)
    if (plan_at(d, s)) SPTI_TRY(name_factor(spti_plan_check_export(plan_at(d, s)), d, s));
  write_solver(d, &b, false);
  *out = b.used;
  return b.status;
}

sptrsm_status sptrsm_direct_export_bytes(size_t *out, const sptrsm_direct *d) {
  if (!out || !d) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_export_bytes: out or direct is NULL");
  return measure(out, d);
}

sptrsm_status sptrsm_direct_export(void *memory, size_t bytes, const sptrsm_direct *d) {
  size_t needed;
  if (!memory || !d) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_export: memory or direct is NULL");
  SPTI_TRY(measure(&needed, d));
  if (bytes != needed)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_export: the plans take %zu bytes, %zu are given; ask sptrsm_direct_export_bytes",
                     needed, bytes);
  spti_blob b = {.mode = SPTI_BLOB_WRITE, .memory = memory, .bytes = bytes, .used = sizeof(spti_blob_frame)};
  write_solver(d, &b, true);
  SPTI_TRY(b.status);
  spti_blob_seal(memory, bytes, SPTI_BLOB_SOLVER, d->context->team);
  return SPTRSM_OK;
}

typedef struct {
  spti_blob blob;
  head head;
} source;

static sptrsm_status check_head(const head *h, const sptrsm_direct *d) {
  const head own = head_of(d);
  if (h->n != own.n)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: is of a factor set of order %d, these have order %d; make the plan anew", h->n, own.n);
  if (h->given != own.given) return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: is of factors of another type than these; make the plan anew");
  if (h->has_U != own.has_U)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: is of a factor set %s a stored U, these factors are %s; make the plan anew",
                     h->has_U ? "with" : "without", own.has_U ? "with" : "without");
  if (h->u_kind != own.u_kind)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: is of a factor set with another u_kind than these factors; make the plan anew");
  return SPTRSM_OK;
}

static sptrsm_status read_plans(sptrsm_direct *d, void *argument) {
  source *s = argument;
  SPTI_TRY(check_head(&s->head, d));
  for (int32_t k = 0; k < s->head.plans; k++) {
    int64_t slot = -1;
    sptrsm_plan *plan;
    spti_blob_value(&s->blob, &slot, sizeof slot);
    SPTI_TRY(s->blob.status);
    if (slot < 0 || slot >= SPTI_DIRECT_SLOTS || !d->matrix[slot / SLOTS_OF_MATRIX] || plan_at(d, (int)slot))
      return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: has a plan number %lld, which can't be; make the plan anew", (long long)slot);
    SPTI_TRY(name_factor(spti_plan_read(&plan, d->matrix[slot / SLOTS_OF_MATRIX], &d->options, &s->blob, true), d, (int)slot));
    if (plan->op.transpose != (slot >> 1 & 1) || plan->op.conj != (slot & 1)) {
      sptrsm_plan_destroy(plan);
      return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: plan number %lld is for another operation; make the plan anew", (long long)slot);
    }
    SPTI_TRY(spti_direct_adopt_plan(d, (int)slot, plan));
  }
  return SPTRSM_OK;
}

static sptrsm_status import(sptrsm_direct **out, sptrsm_context *context, const sptrsm_factors *factors, const sptrsm_options *asked,
                            const void *memory, size_t bytes) {
  char method[SPTI_METHOD_NAME];
  sptrsm_options options, taken;
  source s;
  SPTI_TRY(spti_options_read(&taken, asked));
  SPTI_TRY(spti_blob_open(&s.blob, memory, bytes, SPTI_BLOB_SOLVER, context->team));
  spti_blob_value(&s.blob, &s.head, sizeof s.head);
  sptrsm_options_init(&options);
  spti_options_carry(&options, method, &s.blob);
  SPTI_TRY(s.blob.status);
  if (asked && taken.precision != options.precision)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: was made in %s precision; ask for that, or make the plan anew",
                     options.precision == SPTRSM_MIXED ? "mixed" : "working");
  return spti_direct_create(out, context, factors, asked ? &taken : &options, read_plans, &s);
}

sptrsm_status sptrsm_direct_import(sptrsm_direct **out, sptrsm_context *context, const sptrsm_factors *factors,
                                   const sptrsm_options *options, const void *memory, size_t bytes, sptrsm_copy_mode mode) {
  void *copy = NULL;
  sptrsm_direct *d = NULL;
  if (!out || !context || !factors) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_import: out, context or factors is NULL");
  SPTI_VISIT(context);
  SPTI_TRY(spti_blob_check(memory, mode));
  if (mode == SPTRSM_COPY) SPTI_TRY(spti_blob_copy(&copy, memory, bytes));
  const sptrsm_status status = import(&d, context, factors, options, copy ? copy : memory, bytes);
  if (status != SPTRSM_OK) {
    spti_host_free(copy);
    return status;
  }
  d->blob = copy;
  *out = d;
  return SPTRSM_OK;
}
