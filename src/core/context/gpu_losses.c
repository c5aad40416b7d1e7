/* gpu_losses.c -- dependencies that never arrived, and who is told of them.
 *
 * Kernels write a lost row to one word of the context. Threads that solve at the same time wait each for itself, and the first of them
 * finds the word. So it notes the loss in a count, and whoever must be told keeps the count that it was told: sptrsm_context_sync has one,
 * and each workspace has one. None takes an error away from another. A loss is told to all workspaces, since the word does not say which
 * solve it was. */
#include "core/context/gpu.h"

static sptrsm_status lost(int64_t row, const char *what) {
  return spti_fail(SPTRSM_ERR_DEVICE, "dependency never arrived (row %lld); %s", (long long)row, what);
}

int64_t spti_gpu_note_losses(sptrsm_context *context) {
  volatile int64_t *word = context->lost;
  if (!word) return 0; /* on the host */
  pthread_mutex_lock(&context->noting);
  if (*word != 0) {
    atomic_store(&context->lost_row, *word - 1);
    *word = 0;
    atomic_fetch_add(&context->losses, 1);
  }
  pthread_mutex_unlock(&context->noting);
  return atomic_load(&context->losses);
}

sptrsm_status spti_gpu_tell(sptrsm_context *context, int64_t *told) {
  SPTI_TRY(spti_gpu_wait(context));
  const int64_t noted = spti_gpu_note_losses(context);
  if (*told == noted) return SPTRSM_OK;
  *told = noted;
  return lost(
      atomic_load(&context->lost_row),
      "solutions that were queued on the context and not waited for are not valid; before replaying a graph, solve once with its workspace "
      "outside of it");
}

sptrsm_status spti_gpu_sync(const sptrsm_context *context) {
  SPTI_TRY(spti_gpu_wait(context));
  volatile int64_t *word = context->lost;
  const int64_t row = *word;
  *word = 0;
  return row == 0 ? SPTRSM_OK : lost(row - 1, "the analysis is not valid");
}
