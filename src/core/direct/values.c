/* values.c -- new values of a factor set in its solver, whose plans keep their analyses. */
#include "core/base/dtype.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/direct/direct.h"
#include "core/direct/single.h"
#include "core/plan/method.h"

const char *spti_direct_factor_name(const sptrsm_direct *d, int matrix) {
  if (d->dtype != d->given) return matrix == SPTI_L_MATRIX ? "L in single precision" : "U in single precision";
  return matrix == SPTI_L_MATRIX ? "L" : "U";
}

/* New values of plans that stream need the room of the workspace; the next solve makes a new one. */
static sptrsm_status make_room(sptrsm_direct *d) {
  bool streams = false;
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    const sptrsm_plan *plan = spti_direct_slot_at(d, s)->plan;
    streams = streams || (plan && plan->method->flags & SPTI_FROM_HOST);
  }
  if (!streams) return SPTRSM_OK;
  SPTI_TRY(spti_gpu_refuse_capture(d->context, "new values"));
  spti_direct_free_workspace(d);
  return SPTRSM_OK;
}

/* All new values are checked before any is stored: U first, D while it is copied, and L by sptrsm_matrix_set_values, which changes
 * nothing if it fails. */
static sptrsm_status set_values(sptrsm_direct *d, const void *L_val, const void *D, const void *D_sub, const void *U_val) {
  if (U_val)
    SPTI_TRY(spti_name_object(spti_matrix_check_values(d->matrix[SPTI_U_MATRIX], U_val), spti_direct_factor_name(d, SPTI_U_MATRIX)));
  spti_direct_diagonal fresh = {0};
  if (D || D_sub)
    SPTI_TRY(spti_direct_diagonal_create(&fresh, d->context, d->n, d->dtype, D ? D : d->D.host[0], D_sub ? D_sub : d->D.host[1],
                                         d->D.apply.hermitian));
  sptrsm_status status;
  if (L_val || U_val) SPTI_TRY_GOTO(make_room(d));
  if (L_val)
    SPTI_TRY_GOTO(spti_name_object(sptrsm_matrix_set_values(d->matrix[SPTI_L_MATRIX], L_val), spti_direct_factor_name(d, SPTI_L_MATRIX)));
  if (U_val)
    SPTI_TRY_GOTO(spti_name_object(sptrsm_matrix_set_values(d->matrix[SPTI_U_MATRIX], U_val), spti_direct_factor_name(d, SPTI_U_MATRIX)));
  if (!D && !D_sub) return SPTRSM_OK;
  spti_direct_diagonal_free(&d->D, d->context);
  d->D = fresh;
  return SPTRSM_OK;
fail:
  spti_direct_diagonal_free(&fresh, d->context);
  return status;
}

static sptrsm_status triangle_in_single(void **out, const sptrsm_direct *d, int matrix, const void *val) {
  const sptrsm_matrix *m = d->matrix[matrix];
  const spti_storage *storage;
  spti_storage temporary;
  if (!val) return SPTRSM_OK;
  SPTI_TRY(spti_matrix_on_host(&storage, &temporary, m));
  sptrsm_sparse pattern = m->T;
  pattern.ptr = storage->ptr, pattern.idx = storage->idx;
  sptrsm_status status = spti_single_values(out, d->context, val, d->place[matrix], m->caller_nnz, d->given, &pattern,
                                            matrix == SPTI_L_MATRIX ? "L.val" : "U.val");
  spti_storage_free(&temporary, NULL);
  return status;
}

static sptrsm_status set_values_in_single(sptrsm_direct *d, const void *L_val, const void *D, const void *D_sub, const void *U_val) {
  void *single[4] = {NULL};
  sptrsm_status status;
  SPTI_TRY_DONE(triangle_in_single(&single[0], d, SPTI_L_MATRIX, L_val));
  SPTI_TRY_DONE(spti_single_values(&single[1], d->context, D, SPTRSM_HOST, d->n, d->given, NULL, "D"));
  SPTI_TRY_DONE(spti_single_values(&single[2], d->context, D_sub, SPTRSM_HOST, d->n, d->given, NULL, "D_sub"));
  SPTI_TRY_DONE(triangle_in_single(&single[3], d, SPTI_U_MATRIX, U_val));
  const void *given[2] = {D, D_sub}, *rounded[2] = {D ? single[1] : d->D.host[0], D_sub ? single[2] : d->D.host[1]};
  SPTI_TRY_DONE(spti_single_check_D(given, rounded, d->n, d->given));
  status = set_values(d, single[0], single[1], single[2], single[3]);
done:
  for (int i = 0; i < 4; i++) spti_host_free(single[i]);
  return status;
}

sptrsm_status sptrsm_direct_set_values(sptrsm_direct *d, const void *L_val, const void *D, const void *D_sub, const void *U_val) {
  if (!d) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_set_values: direct is NULL");
  SPTI_VISIT(d->context);
  if (U_val && !d->matrix[SPTI_U_MATRIX])
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_set_values: the factors have no U of their own");
  if ((D && !d->D.host[0]) || (D_sub && !d->D.host[1]))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_set_values: the factors have no %s", D && !d->D.host[0] ? "D" : "D_sub");
  if (d->dtype == d->given) return set_values(d, L_val, D, D_sub, U_val);
  return set_values_in_single(d, L_val, D, D_sub, U_val);
}
