/* recblock_case.h -- recblock's analysis and solve, host part and kernels, on the emulated GPU. */
#ifndef TESTS_SIMT_TRSV_RECBLOCK_CASE_H
#define TESTS_SIMT_TRSV_RECBLOCK_CASE_H

#include "core/device/transfer.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef struct {
  const spti_view *view; /* pull */
  const char *variant;
  const spti_transfer *between;
  const void *other_val; /* analysed with these values, solved after an update to the view's; NULL: no update */
  int solves;            /* how often the same solve is made */
  char parameters[160];  /* out: what the method says of its plan */
  size_t work_bytes;     /* out */
} recblock_case;

sptrsm_status recblock_case_run(recblock_case *);
#ifdef __cplusplus
}
#endif
#endif
