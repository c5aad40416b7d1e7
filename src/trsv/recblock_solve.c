/* recblock_solve -- workspaces of recblock, and the launches of a solve, one by one or as a graph. */
#include <string.h>

#include "core/alloc.h"
#include "core/gpu.h"
#include "trsv/recblock_state.h"

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

/* Many launches go into a graph as soon as a solve finds the same blocks and width as the one before; else they are queued one by one.
 * That solve alone allocates, beside its work: what the driver needs for a graph. A graph holds addresses and alpha, no values. */
typedef struct {
  void *memory; /* device */
  spti_transfer last;
  void *graph; /* of a solve with `last`, or NULL */
} workspace;

enum { GRAPH_ABOVE = 8 }; /* launches */

sptrsm_status spti_recblock_work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  const spti_recblock_summary *m = &s->summary;
  const int64_t rows = 2 * ((int64_t)plan->view.n + m->syncfree) + m->most_pieces + m->records; /* with no less than the layout has */
  SPTI_TRY(spti_bytes(out, rows, (size_t)panel * sptrsm_dtype_bytes(plan->view.dtype), "recblock workspace"));
  *out = layout_of(plan, panel).bytes;
  return SPTRSM_OK;
}

sptrsm_status spti_recblock_work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  workspace *w;
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "recblock workspace"));
  *w = (workspace){0};
  sptrsm_status status = spti_alloc(plan->context, &w->memory, (int64_t)layout_of(plan, panel).bytes, 1, "recblock workspace");
  if (status == SPTRSM_OK) *work = w;
  else spti_host_free(w);
  return status;
}

void spti_recblock_work_free(void *work, const sptrsm_plan *plan) {
  workspace *w = work;
  spti_recblock_graph_destroy(w->graph);
  spti_free(plan->context, w->memory);
  spti_host_free(w);
}

typedef struct {
  const state *s;
  spti_recblock_step_args args; /* of the first step, but for the step itself */
} queue;

/* A cudaError_t as int. */
static int queue_steps(const void *data, void *stream) {
  const queue *q = data;
  spti_recblock_step_args a = q->args;
  int error = spti_recblock_start_launch(&a.all, stream);
  for (int32_t i = 0; i < q->s->step_count && !error; i++) {
    a.step = q->s->steps[i];
    a.keep = i + 1 < q->s->step_count;
    if (!a.step.syncfree) {
      error = spti_recblock_rows_launch(&a, stream);
      continue;
    }
    error = spti_recblock_syncfree_launch(&a, stream);
    a.sync.control += SPTI_SYNCFREE_CONTROL_WORDS;
  }
  return error;
}

static bool same_end(const spti_end *a, const spti_end *b) {
  return a->data == b->data && a->row_stride == b->row_stride && a->col_stride == b->col_stride && a->map == b->map &&
         a->scale == b->scale && a->divide == b->divide;
}

static bool same_transfer(const spti_transfer *a, const spti_transfer *b) {
  return same_end(&a->from, &b->from) && same_end(&a->to, &b->to) && memcmp(a->alpha, b->alpha, sizeof a->alpha) == 0 &&
         a->width == b->width;
}

static queue queue_of(const sptrsm_plan *plan, char *memory, const spti_transfer *between) {
  const state *s = plan->state;
  const layout l = layout_of(plan, between->width);
  int32_t *counters = (int32_t *)(memory + l.counters);
  return (queue){
      .s = s,
      .args = {.all = {.dtype = plan->view.dtype,
                       .between = *between,
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
               .sync = {.control = counters + l.arrivals, .lost = plan->context->lost_device, .spin_limit = plan->context->spin_limit}}};
}

/* The same blocks again, in a stream that nobody captures? Remembers the blocks if not. */
static sptrsm_status repeats(bool *out, const sptrsm_plan *plan, workspace *w, const spti_transfer *between) {
  int capturing;
  *out = false;
  SPTI_CUDA(spti_recblock_is_capturing(&capturing, plan->context->stream));
  if (capturing) return SPTRSM_OK;
  *out = same_transfer(between, &w->last);
  if (*out) return SPTRSM_OK;
  spti_recblock_graph_destroy(w->graph);
  w->graph = NULL;
  w->last = *between;
  return SPTRSM_OK;
}

sptrsm_status spti_recblock_solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *between) {
  const state *s = plan->state;
  workspace *w = work;
  const queue q = queue_of(plan, w->memory, between);
  bool again = false;
  if (s->step_count + 1 > GRAPH_ABOVE) SPTI_TRY(repeats(&again, plan, w, between));
  if (again && !w->graph) SPTI_CUDA(spti_recblock_graph_record(&w->graph, queue_steps, &q));
  SPTI_CUDA(again ? spti_recblock_graph_launch(w->graph, plan->context->stream) : queue_steps(&q, plan->context->stream));
  return SPTRSM_OK;
}
