/* mixed_host.c -- to come. */
#include "core/batch/batch.h"

static sptrsm_status create(sptrsm_batch *b, const spti_batch_source *s) {
  (void)b, (void)s;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "mixed batches on the host are not part of this version");
}

const spti_batch_engine spti_batch_mixed_host = {.create = create};
