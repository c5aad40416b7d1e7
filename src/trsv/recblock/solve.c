/* solve.c -- workspaces of recblock, and the launches of a solve, one by one or as a CUDA graph. */
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/context/recordings.h"
#include "trsv/recblock/state.h"

typedef spti_recblock_state state;

spti_recblock_lists spti_recblock_lists_of(const state *s) {
  const spti_recblock_summary *m = &s->summary;
  int32_t *apart = s->list_words + m->lists;
  return (spti_recblock_lists){
      .row = s->list_words, .apart = apart, .apart_piece = apart + m->records, .piece_record = apart + 2 * (int64_t)m->records};
}

/* A workspace's memory: values first, for their alignment. */
typedef struct {
  size_t b, partial, counters, bytes; /* offsets; x is at 0 */
  int64_t arrivals, counter_count;
} layout;

static layout layout_of(const sptrsm_plan *plan, int32_t width) {
  const state *s = plan->state;
  const spti_recblock_summary *m = &s->summary;
  const size_t row_bytes = (size_t)width * sptrsm_dtype_bytes(plan->view.dtype), n = (size_t)plan->view.n;
  layout l = {.b = n * row_bytes};
  l.partial = l.b + (n - (n > 0 ? (size_t)m->panel_row : 0)) * row_bytes;
  l.counters = l.partial + (size_t)m->most_pieces * row_bytes;
  l.arrivals = (int64_t)m->records * spti_recblock_tiles(width);
  l.counter_count = l.arrivals + m->syncfree * SPTI_SYNCFREE_CONTROL_WORDS;
  l.bytes = l.counters + (size_t)l.counter_count * sizeof(int32_t);
  return l;
}

typedef struct {
  const sptrsm_plan *plan;
  void *memory; /* device */
  spti_recordings recordings;
} workspace;

enum { GRAPH_ABOVE = 8 }; /* launches */

static bool is_recorded(const state *s) { return s->step_count + 1 > GRAPH_ABOVE; }

sptrsm_status spti_recblock_work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  const spti_recblock_summary *m = &s->summary;
  const int64_t rows = 2 * ((int64_t)plan->view.n + m->syncfree) + m->most_pieces + m->records; /* with no less than the layout has */
  SPTI_TRY(spti_bytes(out, rows, (size_t)panel * sptrsm_dtype_bytes(plan->view.dtype), "recblock workspace"));
  *out = layout_of(plan, panel).bytes + (is_recorded(s) ? SPTI_TRANSFER_WORDS * sizeof(int64_t) : 0);
  return SPTRSM_OK;
}

/* The arguments of the first step, but for the step itself. */
static spti_recblock_step_args args_of(const sptrsm_plan *plan, char *memory, const spti_transfer *between, const int64_t *bound) {
  const state *s = plan->state;
  const layout l = layout_of(plan, between->width);
  int32_t *counters = (int32_t *)(memory + l.counters);
  return (spti_recblock_step_args){.all = {.dtype = plan->view.dtype,
                                           .between = *between,
                                           .bound = bound,
                                           .n = plan->view.n,
                                           .first = s->tree.first,
                                           .order = s->order,
                                           .start = s->start,
                                           .from = s->from,
                                           .val = s->val,
                                           .diag = s->diag,
                                           .lists = spti_recblock_lists_of(s),
                                           .x = memory,
                                           .b = memory + l.b,
                                           .panel_row = s->summary.panel_row,
                                           .partial = memory + l.partial,
                                           .counters = counters,
                                           .counter_count = l.counter_count,
                                           .syncfree_begin = s->summary.syncfree_begin,
                                           .syncfree_end = s->summary.syncfree_end},
                                   .sync = spti_gpu_syncfree(plan->context, counters + l.arrivals)};
}

static sptrsm_status queue_steps(const void *work, const spti_transfer *between, const int64_t *bound, void *stream) {
  const workspace *w = work;
  const state *s = w->plan->state;
  spti_recblock_step_args a = args_of(w->plan, w->memory, between, bound);
  SPTI_CUDA(spti_recblock_start_launch(&a.all, stream));
  for (int32_t i = 0; i < s->step_count; i++) {
    a.step = s->steps[i];
    a.keep = i + 1 < s->step_count;
    SPTI_CUDA(a.step.syncfree ? spti_recblock_syncfree_launch(&a, stream) : spti_recblock_rows_launch(&a, stream));
    if (a.step.syncfree) a.sync.control += SPTI_SYNCFREE_CONTROL_WORDS;
  }
  return SPTRSM_OK;
}

void spti_recblock_work_free(void *work, const sptrsm_plan *plan) {
  workspace *w = work;
  spti_recordings_free(&w->recordings);
  spti_free(plan->context, w->memory);
  spti_host_free(w);
}

sptrsm_status spti_recblock_work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  workspace *w;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "recblock workspace"));
  *w = (workspace){.plan = plan, .recordings = {.context = plan->context, .queue = queue_steps, .work = w}};
  SPTI_TRY_GOTO(spti_alloc(plan->context, &w->memory, (int64_t)layout_of(plan, panel).bytes, 1, "recblock workspace"));
  if (is_recorded(plan->state)) SPTI_TRY_GOTO(spti_recordings_make(&w->recordings, panel));
  *work = w;
  return SPTRSM_OK;
fail:
  spti_recblock_work_free(w, plan);
  return status;
}

sptrsm_status spti_recblock_solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *between) {
  (void)plan;
  return spti_recordings_solve(&((const workspace *)work)->recordings, between);
}
