/* alloc.c -- see alloc.h. Sizes are multiplied with a check for overflow. */
#include "core/context/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/context/context.h"
#include "core/context/gpu.h"

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, HUGE_LEAST = 2 * HUGE_PAGE };

sptrsm_status spti_bytes(size_t *out, int64_t count, size_t bytes, const char *what) {
  if (count < 0 || (bytes && (uint64_t)count > (SIZE_MAX / 2) / bytes))
    return spti_fail(SPTRSM_ERR_MEMORY, "%s: %lld elements of %zu bytes do not fit the address space", what, (long long)count, bytes);
  *out = (size_t)count * bytes;
  return SPTRSM_OK;
}

sptrsm_status spti_host_alloc(void *out, int64_t count, size_t bytes, const char *what) {
  size_t total = 0;
  SPTI_TRY(spti_bytes(&total, count, bytes, what));
  void *memory = NULL;
  if (posix_memalign(&memory, total < HUGE_LEAST ? ALIGNMENT : HUGE_PAGE, total ? total : 1) != 0)
    return spti_fail(SPTRSM_ERR_MEMORY, "%s: no host memory for %zu bytes", what, total);
  if (total >= HUGE_LEAST) (void)madvise(memory, total / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
  memcpy(out, &memory, sizeof memory); /* out is a T **: copying the bytes of the pointer keeps to the aliasing rules of C */
  return SPTRSM_OK;
}

void spti_host_free(void *memory) { free(memory); }

sptrsm_status spti_check_alignment(const void *data, size_t bytes, const char *name) {
  const size_t beyond = (size_t)((uintptr_t)data % bytes);
  if (beyond == 0) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT,
                   "%s: the address is %zu bytes beyond a multiple of %zu, the size of an element; in device memory it must be one", name,
                   beyond, bytes);
}

sptrsm_status spti_gpu_check_array(const sptrsm_context *context, const void *data, size_t bytes, const char *name) {
  SPTI_TRY(spti_check_alignment(data, bytes, name));
  return spti_gpu_check_pointer(context, data, name);
}

static sptrsm_status keep_limit(const sptrsm_context *context, size_t bytes, const char *what) {
  size_t room;
  if (context->memory_limit == 0) return SPTRSM_OK;
  SPTI_TRY(spti_gpu_room(&room, context, bytes));
  if (room >= bytes) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_MEMORY, "%s: %zu bytes of device memory are needed, the limit of %zu for this context leaves %zu", what,
                   bytes, context->memory_limit, room);
}

sptrsm_status spti_alloc(const sptrsm_context *context, void *out, int64_t count, size_t bytes, const char *what) {
  if (context->place == SPTRSM_HOST) return spti_host_alloc(out, count, bytes, what);
  size_t total = 0;
  SPTI_TRY(spti_bytes(&total, count, bytes, what));
  void *memory = NULL;
  SPTI_TRY(keep_limit(context, total, what));
  SPTI_TRY(spti_gpu_alloc(context, &memory, total ? total : 1, what));
  memcpy(out, &memory, sizeof memory);
  return SPTRSM_OK;
}

void spti_free(const sptrsm_context *context, void *memory) {
  if (!memory) return;
  if (context->place == SPTRSM_HOST) spti_host_free(memory);
  else spti_gpu_free(context, memory);
}

sptrsm_status spti_scratch_take(spti_scratch *s, void *out, int64_t count, size_t bytes, const char *what) {
  if (s->used == (int)(sizeof s->memory / sizeof s->memory[0]))
    return spti_fail(SPTRSM_ERR_INTERNAL, "%s: no room in a scratch list", what);
  SPTI_TRY(spti_alloc(s->context, out, count, bytes, what));
  memcpy(&s->memory[s->used++], out, sizeof(void *));
  return SPTRSM_OK;
}

void spti_scratch_drop(spti_scratch *s) {
  while (s->used > 0) spti_free(s->context, s->memory[--s->used]);
}
