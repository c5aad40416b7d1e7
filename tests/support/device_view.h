/* device_view.h -- a test system on a device, with views of it in both places. Its functions are static: to be included in one file of a
 * test. */
#ifndef TESTS_SUPPORT_DEVICE_VIEW_H
#define TESTS_SUPPORT_DEVICE_VIEW_H

#include <criterion/criterion.h>

#include "core/plan/plan.h"
#include "support/oracle.h"

#define ok(call)                                                                                                                           \
  do {                                                                                                                                     \
    sptrsm_status status_ = (call);                                                                                                        \
    cr_assert_eq(status_, SPTRSM_OK, "%s: %s", #call, sptrsm_last_error());                                                                \
  } while (0)

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  spti_view host; /* the plan's view in host memory */
} opened;

static inline void take_views(opened *o, spti_orientation orientation) {
  ok(spti_matrix_view(&o->plan->view, o->matrix, spti_op_from(SPTRSM_N), orientation, SPTRSM_CUDA));
  ok(spti_matrix_view(&o->host, o->matrix, spti_op_from(SPTRSM_N), orientation, SPTRSM_HOST));
  cr_assert_eq(o->plan->view.pull, orientation == SPTI_PULL);
}

/* The method does not matter, since the plan's view is replaced by the wanted one. */
static opened open_system(const test_system *system, spti_orientation orientation) {
  opened o;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "syncfree-csc";
  ok(sptrsm_context_create(&o.context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&o.matrix, o.context, &system->T, SPTRSM_COPY));
  ok(sptrsm_plan_create(&o.plan, o.matrix, &options));
  take_views(&o, orientation);
  return o;
}

static void close_system(opened *o) {
  sptrsm_plan_destroy(o->plan);
  sptrsm_matrix_destroy(o->matrix);
  sptrsm_context_destroy(o->context);
}

#endif
