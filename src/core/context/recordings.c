/* recordings.c -- see recordings.h. */
#include "core/context/recordings.h"

#include "core/context/alloc.h"

static sptrsm_status record(const void *what, void *stream) {
  const spti_recording *r = what;
  return r->all->queue(r->all->work, &r->transfer, r->all->bound, stream);
}

sptrsm_status spti_recordings_make(spti_recordings *r, int32_t panel) {
  const int32_t widths[SPTI_RECORDINGS_MOST] = {1, panel};
  SPTI_TRY(spti_alloc(r->context, &r->bound, SPTI_TRANSFER_WORDS, sizeof *r->bound, "transfer of recorded launches"));
  for (int i = 0; i < (panel > 1 ? SPTI_RECORDINGS_MOST : 1); i++) {
    spti_recording *one = &r->recorded[i];
    *one = (spti_recording){.all = r, .transfer = {.width = widths[i]}};
    SPTI_TRY(spti_gpu_graph_create(&one->graph, r->context, record, one));
  }
  return SPTRSM_OK;
}

void spti_recordings_free(spti_recordings *r) {
  for (int i = 0; i < SPTI_RECORDINGS_MOST; i++) spti_gpu_graph_free(r->recorded[i].graph);
  if (r->bound) spti_free(r->context, r->bound);
}

sptrsm_status spti_recordings_solve(const spti_recordings *r, const spti_transfer *transfer) {
  for (int i = 0; i < SPTI_RECORDINGS_MOST; i++) {
    const spti_recording *one = &r->recorded[i];
    if (!one->graph || one->transfer.width != transfer->width) continue;
    SPTI_CUDA(spti_bind_launch(transfer, r->bound, r->context->stream));
    return spti_gpu_graph_start(one->graph, r->context);
  }
  return r->queue(r->work, transfer, NULL, r->context->stream);
}
