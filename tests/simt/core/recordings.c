/* recordings.c -- which solves start a recording, what a recording is told, and that nothing is left over (core/context/recordings.h). */
#include <criterion/criterion.h>

#include <string.h>

#include "core/context/recordings.h"
#include "simt/emulator/emulated_gpu.h"

enum { PANEL = 3 };

/* A workspace whose solve queues no kernel, but notes what it was given. */
typedef struct {
  spti_recordings recordings;
  int queued;
  int32_t width;
  void *from;           /* of the transfer that kernels would use */
  const int64_t *bound; /* as it was given */
} workspace;

static sptrsm_status note(const void *work, const spti_transfer *transfer, const int64_t *bound, void *stream) {
  workspace *w = (workspace *)(uintptr_t)work;
  spti_transfer used = *transfer;
  (void)stream;
  if (bound) memcpy(&used, bound, sizeof used);
  cr_assert_eq(used.width, transfer->width, "a recording is given another width than its own");
  w->queued++;
  w->width = transfer->width;
  w->from = used.from.data;
  w->bound = bound;
  return SPTRSM_OK;
}

static workspace *opened(const sptrsm_context *context) {
  static workspace w;
  emulated_gpu_use_schedule(1);
  w = (workspace){.recordings = {.context = context, .queue = note, .work = &w}};
  return &w;
}

static void solve(workspace *w, int32_t width, double *B) {
  const spti_transfer transfer = {.from = {.data = B}, .to = {.data = B}, .alpha = {1, 0}, .width = width};
  const int before = w->queued;
  cr_assert_eq(spti_recordings_solve(&w->recordings, &transfer), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(w->queued, before + 1, "width %d was queued %d times", width, w->queued - before);
  cr_assert_eq(w->width, width);
  cr_assert_eq(w->from, (void *)B, "width %d was given the transfer of another solve", width);
}

Test(simt_recordings, one_and_a_full_panel_are_recorded) {
  static const int32_t widths[] = {1, 2, 3, 1, 4, 3};
  const sptrsm_context context = {.place = SPTRSM_CUDA};
  double blocks[sizeof widths / sizeof *widths];
  workspace *w = opened(&context);
  cr_assert_eq(spti_recordings_make(&w->recordings, PANEL), SPTRSM_OK);
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    solve(w, widths[i], &blocks[i]);
    cr_assert_eq(w->bound != NULL, widths[i] == 1 || widths[i] == PANEL, "width %d", widths[i]);
  }
  spti_recordings_free(&w->recordings);
  cr_assert_eq(emulated_gpu_blocks, 0);
}

Test(simt_recordings, a_panel_of_one_is_recorded_once) {
  const sptrsm_context context = {.place = SPTRSM_CUDA};
  double block;
  workspace *w = opened(&context);
  cr_assert_eq(spti_recordings_make(&w->recordings, 1), SPTRSM_OK);
  cr_assert(w->recordings.recorded[0].graph && !w->recordings.recorded[1].graph);
  solve(w, 1, &block);
  cr_assert(w->bound);
  spti_recordings_free(&w->recordings);
  cr_assert_eq(emulated_gpu_blocks, 0);
}

Test(simt_recordings, without_recordings_all_is_queued) {
  const sptrsm_context context = {.place = SPTRSM_CUDA};
  double block;
  workspace *w = opened(&context);
  for (int32_t width = 1; width <= PANEL; width++) {
    solve(w, width, &block);
    cr_assert_null(w->bound);
  }
  spti_recordings_free(&w->recordings);
}

Test(simt_recordings, no_memory) {
  const sptrsm_context context = {.place = SPTRSM_CUDA};
  workspace *w = opened(&context);
  emulated_gpu_fail_at = 0;
  cr_assert_eq(spti_recordings_make(&w->recordings, PANEL), SPTRSM_ERR_MEMORY);
  emulated_gpu_fail_at = -1;
  spti_recordings_free(&w->recordings);
  cr_assert_eq(emulated_gpu_blocks, 0);
}
