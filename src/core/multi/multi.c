/* multi.c -- a solver on each of several contexts (sptrsm_multi.h): how they are made, and their values. Solving: solve.c. */
#include <stdio.h>
#include <string.h>

#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/direct/direct.h"
#include "core/multi/members.h"

enum { MEMBERS_MAX = 1024 };

/* ---- creation ---- */

static sptrsm_status check_contexts(const sptrsm_context *own, sptrsm_context *const *others, int count) {
  if (count < 0 || count >= MEMBERS_MAX || (count > 0 && !others))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create: %d more contexts, 0 to %d are possible", count, MEMBERS_MAX - 1);
  for (int k = 0; k < count; k++) {
    if (!others[k]) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create: context %d is NULL", k);
    for (int e = -1; e < k; e++)
      if (others[k] == (e < 0 ? own : others[e]))
        return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create: context %d is %s, too; make another context for the same device", k,
                         e < 0 ? "that of the solver" : "an earlier one");
  }
  return SPTRSM_OK;
}

static sptrsm_status alloc_multi(sptrsm_multi **out, int count) {
  sptrsm_multi *m;
  SPTI_TRY(spti_host_alloc(&m, 1, sizeof *m, "solver of several contexts"));
  *m = (sptrsm_multi){.count = count};
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_host_alloc(&m->members, count, sizeof *m->members, "solver of several contexts"));
  memset(m->members, 0, (size_t)count * sizeof *m->members);
  SPTI_TRY_GOTO(spti_host_alloc(&m->workers, count, sizeof *m->workers, "solver of several contexts"));
  memset(m->workers, 0, (size_t)count * sizeof *m->workers);
  *out = m;
  return SPTRSM_OK;
fail:
  sptrsm_multi_destroy(m);
  return status;
}

sptrsm_status spti_name_member(sptrsm_status status, const sptrsm_multi *m, int k) {
  char name[160];
  snprintf(name, sizeof name, "context %d (%s)", k, sptrsm_context_describe(m->members[k].context));
  return spti_name_object(status, name);
}

static sptrsm_status clone_plan(sptrsm_plan **out, sptrsm_context *context, const sptrsm_plan *plan) {
  sptrsm_matrix *matrix;
  SPTI_TRY(sptrsm_matrix_clone(&matrix, context, plan->matrix));
  const sptrsm_status status = sptrsm_plan_clone(out, matrix, plan);
  sptrsm_matrix_destroy(matrix); /* the plan keeps it */
  return status;
}

static sptrsm_status clone_member(spti_member *to, const spti_member *own, sptrsm_context *context) {
  to->context = context;
  return own->direct ? sptrsm_direct_clone(&to->direct, context, own->direct) : clone_plan(&to->plan, context, own->plan);
}

/* own: what the caller has, in its context. */
static sptrsm_status create(sptrsm_multi **out, spti_member own, sptrsm_context *const *others, int count) {
  sptrsm_multi *m;
  SPTI_TRY(check_contexts(own.context, others, count));
  SPTI_TRY(alloc_multi(&m, 1 + count));
  if (own.direct) spti_direct_retain(own.direct);
  else spti_plan_retain(own.plan);
  m->members[0] = own;
  sptrsm_status status;
  for (int k = 1; k < m->count; k++) SPTI_TRY_GOTO(spti_name_member(clone_member(&m->members[k], &own, others[k - 1]), m, k));
  *out = m;
  return SPTRSM_OK;
fail:
  sptrsm_multi_destroy(m);
  return status;
}

sptrsm_status sptrsm_multi_create(sptrsm_multi **out, sptrsm_direct *direct, sptrsm_context *const *others, int count) {
  if (!out || !direct) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create: out or direct is NULL");
  return create(out, (spti_member){.context = direct->context, .direct = direct}, others, count);
}

sptrsm_status sptrsm_multi_create_plans(sptrsm_multi **out, const sptrsm_plan *plan, sptrsm_context *const *others, int count) {
  if (!out || !plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_create_plans: out or plan is NULL");
  return create(out, (spti_member){.context = plan->context, .plan = (sptrsm_plan *)plan}, others, count);
}

void sptrsm_multi_destroy(sptrsm_multi *m) {
  if (!m) return;
  for (int k = 0; k < m->count && m->members; k++) {
    sptrsm_direct_destroy(m->members[k].direct);
    sptrsm_plan_destroy(m->members[k].plan);
  }
  spti_host_free(m->members);
  spti_host_free(m->workers);
  spti_host_free(m);
}

/* ---- new values, information ---- */

static bool takes_host_values(const spti_member *m) {
  return m->direct ? m->direct->place[0] == SPTRSM_HOST && m->direct->place[1] == SPTRSM_HOST : m->plan->matrix->T.place == SPTRSM_HOST;
}

sptrsm_status sptrsm_multi_set_values(sptrsm_multi *m, const void *L_val, const void *D, const void *D_sub, const void *U_val) {
  if (!m) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_values: multi is NULL");
  if (m->members[0].plan && (D || D_sub || U_val))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_values: a triangle has neither D nor U; give its values as L_val");
  if (!takes_host_values(&m->members[0]))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_values: the values were given in device memory, which other devices can't "
                                          "read; make the solver of arrays in host memory");
  for (int k = 0; k < m->count; k++) {
    const spti_member *s = &m->members[k];
    SPTI_TRY(spti_name_member(
        s->direct ? sptrsm_direct_set_values(s->direct, L_val, D, D_sub, U_val) : sptrsm_matrix_set_values(s->plan->matrix, L_val), m, k));
  }
  return SPTRSM_OK;
}

sptrsm_status sptrsm_multi_set_original(sptrsm_multi *m, const sptrsm_square *A) {
  if (!m) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_original: multi is NULL");
  if (m->members[0].plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_original: plans have no refinement; use factor sets");
  if (A && A->place != SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_set_original: A is in device memory, which other devices can't read; give it in "
                                          "host memory");
  for (int k = 0; k < m->count; k++) {
    const sptrsm_status status = spti_name_member(sptrsm_direct_set_original(m->members[k].direct, A), m, k);
    if (status == SPTRSM_OK) continue;
    char message[1024];
    snprintf(message, sizeof message, "%s", sptrsm_last_error());
    for (int other = 0; other < m->count; other++) (void)sptrsm_direct_set_original(m->members[other].direct, NULL);
    return spti_fail(status, "%s", message);
  }
  return SPTRSM_OK;
}

int sptrsm_multi_count(const sptrsm_multi *m) { return m ? m->count : 0; }

sptrsm_status sptrsm_multi_member_at(sptrsm_multi_member *out, const sptrsm_multi *m, int index) {
  SPTI_TRY(
      spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_multi_member, columns), sizeof *out, "sptrsm_multi_member_at", "sptrsm_multi_member"));
  if (!m || index < 0 || index >= m->count)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_multi_member_at: index %d is not in 0..%d", index, sptrsm_multi_count(m) - 1);
  const spti_member *s = &m->members[index];
  const sptrsm_multi_member info = {.context = s->context, .direct = s->direct, .plan = s->plan, .columns = m->workers[index].solved};
  spti_sized_write(out, &info, sizeof info);
  return SPTRSM_OK;
}
