/* device_call.c -- see device_call.h. */
#include "core/batch/gpu/device_call.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/batch/gpu/errors_kernels.h"
#include "core/batch/gpu/interleaved_kernels.h"
#include "core/context/alloc.h"

void spti_batch_device_free(spti_batch_device *d, const sptrsm_context *context) {
  spti_free(context, d->status);
  for (int t = 0; t < SPTI_TABLES; t++) {
    spti_host_free(d->tables[t].host);
    spti_free(context, d->tables[t].device);
  }
}

static sptrsm_status need_table(const void **out, spti_batch_device *d, const sptrsm_batch *b, int which, const void *from, size_t bytes) {
  spti_batch_table *t = &d->tables[which];
  const size_t total = (size_t)b->count * bytes;
  *out = NULL;
  if (!from) return SPTRSM_OK;
  if (!t->device) SPTI_TRY(spti_alloc(b->context, &t->device, b->count, bytes, "table of blocks"));
  if (!t->host) SPTI_TRY(spti_host_alloc(&t->host, b->count, bytes, "table of blocks"));
  *out = t->device;
  if (t->valid && memcmp(t->host, from, total) == 0) return SPTRSM_OK;
  t->valid = false;
  SPTI_TRY(spti_copy_bytes(b->context, t->device, SPTRSM_CUDA, from, SPTRSM_HOST, total));
  memcpy(t->host, from, total);
  t->valid = true;
  return SPTRSM_OK;
}

static sptrsm_status need_mask(const uint8_t **out, spti_batch_device *d, const sptrsm_batch *b, const sptrsm_batch_run *run) {
  const void *mask = run->mask;
  if (mask && run->mask_place == SPTRSM_CUDA) SPTI_TRY(spti_gpu_check_pointer(b->context, mask, "mask"));
  if (mask && run->mask_place == SPTRSM_HOST) SPTI_TRY(need_table(&mask, d, b, SPTI_TABLE_MASK, run->mask, 1));
  *out = mask;
  return SPTRSM_OK;
}

/* The most columns of any item that has rows. */
static int64_t most_columns(const sptrsm_batch *b, const spti_batch_call *call) {
  int64_t most = 0;
  if (!call->X->nrhs_of) return b->n > 0 ? call->X->nrhs : 0;
  for (int64_t i = 0; i < b->count; i++)
    if (spti_batch_wants(call, i) && spti_batch_order(b, i) > 0 && call->X->nrhs_of[i] > most) most = call->X->nrhs_of[i];
  return most;
}

sptrsm_status spti_batch_device_items(spti_batch_items *out, spti_batch_device *d, sptrsm_batch *b, const spti_batch_call *call) {
  const void *nrhs_of;
  *out = (spti_batch_items){.count = b->count, .nrhs = most_columns(b, call), .status = d->status};
  SPTI_TRY(need_table(&nrhs_of, d, b, SPTI_TABLE_NRHS, call->X->nrhs_of, sizeof(int64_t)));
  out->nrhs_of = nrhs_of;
  return need_mask(&out->mask, d, b, call->run);
}

sptrsm_status spti_batch_device_place(spti_batch_place *out, spti_batch_device *d, sptrsm_batch *b, const sptrsm_batch_block *block,
                                      bool is_X) {
  const void *data_of, *ld_of;
  if (!block->data_of) SPTI_TRY(spti_gpu_check_pointer(b->context, block->data, is_X ? "X" : "B"));
  SPTI_TRY(need_table(&data_of, d, b, is_X ? SPTI_TABLE_X : SPTI_TABLE_B, block->data_of, sizeof(void *)));
  SPTI_TRY(need_table(&ld_of, d, b, is_X ? SPTI_TABLE_X_LD : SPTI_TABLE_B_LD, block->ld_of, sizeof(int64_t)));
  *out = (spti_batch_place){.data = block->data,
                            .data_of = (void *const *)data_of,
                            .stride = block->stride,
                            .ld = block->ld,
                            .ld_of = ld_of,
                            .row_major = block->layout == SPTRSM_ROW_MAJOR};
  return SPTRSM_OK;
}

sptrsm_status spti_batch_device_solved(uint8_t **out, sptrsm_batch *b, const sptrsm_batch_run *run) {
  uint8_t *solved;
  SPTI_TRY(spti_host_alloc(&solved, b->count, 1, "items of a batch"));
  sptrsm_status status = SPTRSM_OK;
  memset(solved, 1, (size_t)b->count);
  if (run->mask) status = spti_copy_bytes(b->context, solved, SPTRSM_HOST, run->mask, run->mask_place, (size_t)b->count);
  if (status != SPTRSM_OK) {
    spti_host_free(solved);
    return status;
  }
  for (int64_t i = 0; i < b->count; i++) solved[i] = solved[i] && b->items[i].status == SPTRSM_OK;
  *out = solved;
  return SPTRSM_OK;
}

static sptrsm_status tell_host(sptrsm_batch *b, const sptrsm_batch_run *run) {
  uint8_t *mask = NULL;
  sptrsm_status status;
  if (run->mask) {
    SPTI_TRY(spti_host_alloc(&mask, b->count, 1, "mask"));
    SPTI_TRY_DONE(spti_copy_bytes(b->context, mask, SPTRSM_HOST, run->mask, run->mask_place, (size_t)b->count));
  }
  for (int64_t i = 0; i < b->count; i++)
    if (!mask || mask[i]) run->status[i] = b->items[i];
  status = SPTRSM_OK;
done:
  spti_host_free(mask);
  return status;
}

sptrsm_status spti_batch_device_tell(spti_batch_device *d, sptrsm_batch *b, const sptrsm_batch_run *run) {
  if (!run->status || b->count == 0) return SPTRSM_OK;
  if (run->status_place == SPTRSM_HOST) return tell_host(b, run);
  spti_batch_status_args args = {.items = b->count, .from = d->status, .status = run->status};
  SPTI_TRY(need_mask(&args.mask, d, b, run));
  SPTI_CUDA(spti_batch_status_launch(&args, b->context->stream));
  return SPTRSM_OK;
}

sptrsm_status spti_batch_device_errors(spti_batch_device *d, sptrsm_batch *b, const spti_batch_call *call) {
  const spti_op op = call->on_original;
  spti_batch_errors_args a = {
      .lines = b->tables[op.transpose ? SPTI_LINES_OF_AT : SPTI_LINES_OF_A], .conj = op.conj, .berr = call->run->berr};
  if (!call->run->berr || b->count == 0 || call->X->place == SPTRSM_HOST) return SPTRSM_OK;
  SPTI_TRY(spti_batch_device_items(&a.items, d, b, call));
  SPTI_TRY(spti_batch_device_place(&a.from, d, b, call->B, false));
  SPTI_TRY(spti_batch_device_place(&a.to, d, b, call->X, true));
  spti_split_alpha(a.alpha, call->alpha, b->dtype);
  SPTI_CUDA(spti_batch_errors_launch(&a, b->dtype, b->context->stream));
  return SPTRSM_OK;
}

sptrsm_status spti_batch_device_move(const sptrsm_batch *b, const sptrsm_batch_block *from, int64_t item, int64_t column, int64_t width,
                                     void *buffer, spti_direction direction) {
  const sptrsm_block block = spti_batch_block_of(b, from, item);
  const size_t bytes = sptrsm_dtype_bytes(b->dtype);
  const bool rows = block.layout == SPTRSM_ROW_MAJOR;
  const int64_t left = spti_batch_is_shared(from) ? width : block.nrhs - column, columns = left < width ? left : width;
  if (columns <= 0) return SPTRSM_OK;
  char *host = (char *)block.data + (size_t)(rows ? column : column * block.ld) * bytes;
  const size_t pitch = (size_t)block.ld * bytes, buffer_pitch = (size_t)(rows ? width : block.n) * bytes;
  const size_t length = (size_t)(rows ? columns : block.n) * bytes, vectors = (size_t)(rows ? block.n : columns);
  if (direction == SPTI_TO_DEVICE) return spti_gpu_copy(b->context, buffer, buffer_pitch, host, pitch, length, vectors, direction);
  return spti_gpu_copy(b->context, host, pitch, buffer, buffer_pitch, length, vectors, direction);
}
