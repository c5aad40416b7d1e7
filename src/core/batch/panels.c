/* panels.c -- the workspace of a batch on the host: a panel for each thread. */
#include "core/batch/batch.h"
#include "core/context/alloc.h"

int spti_batch_slabs(const sptrsm_batch *b, size_t bytes) {
  const size_t limit = b->options.memory_limit;
  const int threads = spti_team_threads(b->context->team);
  return limit > 0 && bytes > 0 && limit / bytes < (size_t)threads ? (int)(limit / bytes) : threads;
}

sptrsm_status spti_batch_need_panels(spti_batch_panels *p, size_t bytes, int slabs) {
  if (p->data && slabs == p->slabs && bytes == p->bytes) return SPTRSM_OK;
  spti_host_free(p->data);
  p->data = NULL;
  SPTI_TRY(spti_host_alloc(&p->data, slabs, bytes, "panels of right-hand sides"));
  p->bytes = bytes;
  p->slabs = slabs;
  return SPTRSM_OK;
}
