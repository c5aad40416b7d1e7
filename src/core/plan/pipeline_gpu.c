/* pipeline_gpu.c -- the run on a CUDA device: one panel after another on the context's stream.
 *
 * The first and the last pass read and write blocks in device memory where they are. Blocks in host memory go through
 * a staging panel that has their layout. Methods with solve_between read B or write X themselves, in place of the
 * first or the last pass (shortcuts_of). Where X is row-major in device memory and the last pass neither permutes nor
 * scales, X itself is the panel, and there is no last pass. */
#include "core/base/dtype.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/device/transfer.h"
#include "core/plan/method.h"
#include "core/plan/pack.h"
#include "core/plan/pack_kernels.h"

/* Panels up to this width are read and written in place whatever their layout. */
enum { SPTI_NARROW_PANEL = 4 };

/* The columns of B or X that one panel holds: where the device reads or writes them, and the block they belong to. */
typedef struct {
  spti_columns columns; /* in device memory */
  const sptrsm_block *block;
  int64_t first;
  int32_t width;
} side;

static sptrsm_status make_staging(const spti_pipeline *pipe, spti_panels *panels) {
  if (panels->staging) return SPTRSM_OK;
  return spti_alloc(pipe->context, &panels->staging, (int64_t)pipe->n * panels->panel, sptrsm_dtype_bytes(pipe->dtype), "staging panel");
}

static side side_of(const spti_pipeline *pipe, const spti_panels *panels, const sptrsm_block *block, int64_t first, int32_t width) {
  side s = {.block = block, .first = first, .width = width};
  if (block->place == SPTRSM_CUDA) {
    s.columns = spti_block_columns(block, first);
  } else {
    bool rows = block->layout == SPTRSM_ROW_MAJOR;
    s.columns = (spti_columns){.data = panels->staging, .row_stride = rows ? width : 1, .col_stride = rows ? 1 : pipe->n};
  }
  return s;
}

/* Copies the columns of a block in host memory to the staging panel (SPTI_TO_DEVICE) or back. */
static sptrsm_status move(const spti_pipeline *pipe, const side *s, spti_direction direction) {
  if (s->block->place == SPTRSM_CUDA) return SPTRSM_OK;
  size_t bytes = sptrsm_dtype_bytes(pipe->dtype);
  bool rows = s->block->layout == SPTRSM_ROW_MAJOR;
  size_t vector_bytes = (size_t)(rows ? s->width : pipe->n) * bytes, pitch = (size_t)s->block->ld * bytes;
  size_t vectors = (size_t)(rows ? pipe->n : s->width);
  void *host = spti_block_columns(s->block, s->first).data;
  if (direction == SPTI_TO_DEVICE)
    return spti_gpu_copy(pipe->context, s->columns.data, vector_bytes, host, pitch, vector_bytes, vectors, direction);
  return spti_gpu_copy(pipe->context, host, pitch, s->columns.data, vector_bytes, vector_bytes, vectors, direction);
}

void spti_split_alpha(double parts[2], const void *alpha, sptrsm_dtype dtype) {
  parts[0] = 1;
  parts[1] = 0;
  if (!alpha) return;
  bool single = spti_is_single(dtype), complex = spti_is_complex(dtype);
  parts[0] = single ? (double)*(const float *)alpha : *(const double *)alpha;
  if (complex) parts[1] = single ? (double)((const float *)alpha)[1] : ((const double *)alpha)[1];
}

static spti_pack_args pack_args(const spti_pipeline *pipe, const side *s, const spti_panel *W, const spti_edge *edge) {
  return (spti_pack_args){.n = pipe->n,
                          .width = W->width,
                          .padded = W->padded,
                          .block = s->columns.data,
                          .row_stride = s->columns.row_stride,
                          .col_stride = s->columns.col_stride,
                          .work = W->data,
                          .ld = W->ld,
                          .map = edge->map,
                          .convention = SPTRSM_GATHER,
                          .scale = edge->scale,
                          .scale_op = edge->divide ? SPTRSM_DIVIDE : SPTRSM_MULTIPLY,
                          .alpha = {1, 0}};
}

/* Can X itself be the panel? It must be row-major in device memory, with nothing to permute or scale at the end, and
 * a first pass that permutes must not read and write one and the same block. */
static bool works_in_x(const spti_pipeline *pipe, const sptrsm_block *B, const sptrsm_block *X) {
  bool plain = !pipe->last.map && !pipe->last.scale && !(pipe->first.map && B->data == X->data);
  return plain && X->place == SPTRSM_CUDA && X->layout == SPTRSM_ROW_MAJOR;
}

static sptrsm_status apply_diagonal(const spti_pipeline *pipe, const spti_stage *stage, const spti_panel *W) {
  const spti_diagonal *d = stage->diagonal;
  spti_diagonal_args args = {.n = pipe->n,
                             .width = W->width,
                             .work = W->data,
                             .ld = W->ld,
                             .D = d->val,
                             .D_sub = d->sub,
                             .hermitian = d->hermitian,
                             .transpose = stage->op.transpose,
                             .conj = stage->op.conj};
  SPTI_CUDA(spti_diagonal_launch(&args, pipe->dtype, pipe->context->stream));
  return SPTRSM_OK;
}

/* ---- methods that read B or write X themselves ---- */

static bool reads_blocks(const spti_stage *stage) { return stage->plan && stage->plan->method->solve_between; }

static bool writes_to(const spti_stage *stage, const spti_end *to, int32_t width) {
  return reads_blocks(stage) && (!stage->plan->method->writes_to || stage->plan->method->writes_to(stage->plan, to, width));
}

/* Kernels of methods run their lanes along the columns, so a wide column-major block is better transposed by the pack
 * kernel. */
static bool suits_lanes(const spti_columns *c, int32_t width) { return c->col_stride == 1 || width <= SPTI_NARROW_PANEL; }

static spti_end end_of_panel(const spti_panel *W) { return (spti_end){.data = W->data, .row_stride = W->ld, .col_stride = 1}; }

static spti_end end_of_block(const spti_columns *c, const spti_edge *edge, const int32_t *map) {
  return (spti_end){
      .data = c->data, .row_stride = c->row_stride, .col_stride = c->col_stride, .map = map, .scale = edge->scale, .divide = edge->divide};
}

/* May the first stage read B, and the last one write X? If one stage does both within one block, row i's solution
 * must not overwrite a right-hand side that another row has still to read: it does not if both have the same layout
 * and nothing is permuted. */
typedef struct {
  bool reads, writes;
} shortcuts;

static shortcuts shortcuts_of(const spti_pipeline *pipe, const side *from, const side *to, int32_t width) {
  if (pipe->stage_count == 0) return (shortcuts){false, false};
  const spti_columns *b = &from->columns, *x = &to->columns;
  const spti_end end = end_of_block(x, &pipe->last, pipe->last.inverse);
  shortcuts s = {.reads = reads_blocks(&pipe->stages[0]) && suits_lanes(b, width),
                 .writes = suits_lanes(x, width) && writes_to(&pipe->stages[pipe->stage_count - 1], &end, width)};
  bool keeps = b->row_stride == x->row_stride && b->col_stride == x->col_stride && !pipe->first.map && !pipe->last.map;
  if (pipe->stage_count == 1 && s.reads && b->data == x->data && !keeps) s.writes = false;
  return s;
}

static sptrsm_status run_stage(const spti_pipeline *pipe, const spti_stage *stage, const spti_panel *W, const spti_transfer *between) {
  if (!stage->plan) return apply_diagonal(pipe, stage, W);
  const spti_method *method = stage->plan->method;
  return method->solve_between ? method->solve_between(stage->plan, stage->work, between) : method->solve(stage->plan, stage->work, W);
}

static sptrsm_status run_stages(const spti_pipeline *pipe, const side *from, const side *to, const spti_panel *W, const double alpha[2],
                                shortcuts s) {
  for (int i = 0; i < pipe->stage_count; i++) {
    spti_transfer between = {.from = end_of_panel(W), .to = end_of_panel(W), .alpha = {1, 0}, .width = W->width};
    if (i == 0 && s.reads) {
      between.from = end_of_block(&from->columns, &pipe->first, pipe->first.map);
      between.alpha[0] = alpha[0];
      between.alpha[1] = alpha[1];
    }
    if (i == pipe->stage_count - 1 && s.writes) between.to = end_of_block(&to->columns, &pipe->last, pipe->last.inverse);
    SPTI_TRY(run_stage(pipe, &pipe->stages[i], W, &between));
  }
  return SPTRSM_OK;
}

static sptrsm_status run_panel(const spti_pipeline *pipe, const side *from, const side *to, const spti_panel *W, const double alpha[2]) {
  SPTI_TRY(move(pipe, from, SPTI_TO_DEVICE));
  const shortcuts s = shortcuts_of(pipe, from, to, W->width);
  spti_pack_args in = pack_args(pipe, from, W, &pipe->first);
  in.alpha[0] = alpha[0];
  in.alpha[1] = alpha[1];
  bool in_place = W->data == from->columns.data && W->ld == from->columns.row_stride && from->columns.col_stride == 1;
  bool plain = !pipe->first.map && !pipe->first.scale && alpha[0] == 1 && alpha[1] == 0;
  if (!s.reads && (!in_place || !plain)) SPTI_CUDA(spti_pack_launch(&in, pipe->dtype, pipe->context->stream));
  SPTI_TRY(run_stages(pipe, from, to, W, alpha, s));
  if (!s.writes && W->data != to->columns.data) {
    spti_pack_args out = pack_args(pipe, to, W, &pipe->last);
    SPTI_CUDA(spti_unpack_launch(&out, pipe->dtype, pipe->context->stream));
  }
  return move(pipe, to, SPTI_TO_HOST);
}

/* Methods that can't be captured must not spoil a capture. */
static sptrsm_status check_capture(const spti_pipeline *pipe) {
  for (int i = 0; i < pipe->stage_count; i++) {
    const sptrsm_plan *plan = pipe->stages[i].plan;
    if (plan && plan->method->flags & SPTI_FROM_HOST)
      SPTI_TRY(spti_gpu_refuse_capture_but(pipe->context, plan->method->name,
                                           "a factor that streams can't be captured: solve outside of the graph, or give the context a "
                                           "higher memory limit and make the plan anew"));
    else if (plan && !(plan->method->flags & SPTI_CAPTURABLE)) return spti_gpu_refuse_capture(pipe->context, plan->method->name);
  }
  return SPTRSM_OK;
}

/* The blocks of the latest solve are known, because asking CUDA about a pointer takes longer than the rest of the checks. */
static sptrsm_status check_places(const spti_pipeline *pipe, spti_panels *panels, const sptrsm_block *B, const sptrsm_block *X) {
  if (B->place == SPTRSM_CUDA && B->data != panels->known[0]) SPTI_TRY(spti_gpu_check_pointer(pipe->context, B->data, "B"));
  if (X->place == SPTRSM_CUDA && X->data != panels->known[1]) SPTI_TRY(spti_gpu_check_pointer(pipe->context, X->data, "X"));
  panels->known[0] = B->place == SPTRSM_CUDA ? B->data : NULL;
  panels->known[1] = X->place == SPTRSM_CUDA ? X->data : NULL;
  return SPTRSM_OK;
}

sptrsm_status spti_pipeline_run_gpu(const spti_pipeline *pipe, spti_panels *panels, const void *alpha, const sptrsm_block *B,
                                    const sptrsm_block *X) {
  double parts[2];
  SPTI_TRY(check_capture(pipe));
  SPTI_TRY(check_places(pipe, panels, B, X));
  spti_split_alpha(parts, alpha, pipe->dtype);
  if (B->place == SPTRSM_HOST || X->place == SPTRSM_HOST) SPTI_TRY(make_staging(pipe, panels));
  bool direct = works_in_x(pipe, B, X);
  for (int64_t first = 0; first < B->nrhs; first += panels->panel) {
    int32_t width = (int32_t)(B->nrhs - first < panels->panel ? B->nrhs - first : panels->panel);
    side from = side_of(pipe, panels, B, first, width), to = side_of(pipe, panels, X, first, width);
    spti_panel W = {.data = direct ? to.columns.data : panels->W, .ld = direct ? X->ld : width, .width = width, .padded = width};
    SPTI_TRY(run_panel(pipe, &from, &to, &W, parts));
  }
  return SPTRSM_OK;
}
