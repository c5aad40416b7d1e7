/* pipeline_gpu.c -- the run on a CUDA device: one panel after another on the context's stream.
 *
 * The first and the last pass read and write blocks in device memory where they are. Blocks in host memory go through
 * staging memory that has their layout: where they have several panels, three slots, so that the copy of the next panel to
 * the device and that of the panel before to the host go on beside a solve; where memory is limited, in parts of a panel.
 * Methods with solve_between read B or write X themselves, in place of the first or the last pass (shortcuts_of). Where X
 * is row-major in device memory and the last pass neither permutes nor scales, X itself is the panel, and there is no last
 * pass. */
#include "core/base/dtype.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/device/transfer.h"
#include "core/plan/method.h"
#include "core/plan/pack.h"
#include "core/plan/pack_kernels.h"

enum {
  NARROW_PANEL = 4, /* panels up to this width are read and written in place whatever their layout */
  SLOT_LEAST = 128, /* columns of a slot, which kernels work well on */
  SLOTS_MOST = 8    /* of a block: the first copy in and the last copy out go beside nothing, and each is an eighth then */
};

/* The columns of B or X that one panel holds: where the device reads or writes them, and the block they belong to. */
typedef struct {
  spti_columns columns; /* in device memory */
  const sptrsm_block *block;
  int64_t first;
  int32_t width;
} side;

/* How the panels of one solve pass through staging memory. */
typedef struct {
  int32_t width; /* columns of a panel */
  int slots;     /* 1: copies and solves take turns */
} passage;

/* Copies of pageable memory go by way of memory of the driver's, and keep the calling thread waiting: they are no faster beside solves. */
static bool copies_by_itself(const sptrsm_block *block) { return block->place == SPTRSM_CUDA || spti_gpu_page_locked(block->data); }

/* Of a row-major block each row is copied in pieces, and pieces that are short beside the distance between them are copied slowly. */
static int64_t columns_to_part(const sptrsm_block *block) {
  return block->place == SPTRSM_HOST && block->layout == SPTRSM_ROW_MAJOR ? block->ld : block->nrhs;
}

/* Slots as wide as a panel at most, so that no method works on more columns than it was planned for. */
static passage choose_passage(const spti_pipeline *pipe, const spti_panels *panels, const sptrsm_block *B, const sptrsm_block *X) {
  const bool staged = B->place == SPTRSM_HOST || X->place == SPTRSM_HOST;
  const int64_t b = columns_to_part(B), x = columns_to_part(X), slot = (((b > x ? b : x) - 1) / SLOTS_MOST / 32 + 1) * 32;
  const int64_t wanted = slot > SLOT_LEAST ? slot : SLOT_LEAST, width = wanted < panels->panel ? wanted : panels->panel;
  if (!staged || panels->limited || B->nrhs <= width || pipe->n == 0 || !copies_by_itself(B) || !copies_by_itself(X))
    return (passage){panels->panel, 1};
  return (passage){(int32_t)width, SPTI_COPY_SLOTS};
}

static sptrsm_status make_staging(const spti_pipeline *pipe, spti_panels *panels, const passage *p) {
  const int64_t values = panels->part > 0 ? panels->part : (int64_t)p->width * p->slots * pipe->n;
  if (p->slots > 1 && !panels->copies) SPTI_TRY(spti_gpu_copies_create(&panels->copies, pipe->context));
  if (panels->staged >= values) return SPTRSM_OK;
  SPTI_TRY(spti_gpu_refuse_capture(pipe->context, "staging memory")); /* before anything is freed */
  spti_free(pipe->context, panels->staging);
  panels->staging = NULL;
  panels->staged = 0;
  SPTI_TRY(spti_alloc(pipe->context, &panels->staging, values, sptrsm_dtype_bytes(pipe->dtype), "staging memory"));
  panels->staged = values;
  return SPTRSM_OK;
}

static side side_of(const spti_pipeline *pipe, const spti_panels *panels, const sptrsm_block *block, int64_t first, int32_t width,
                    int64_t slot) {
  side s = {.block = block, .first = first, .width = width};
  if (block->place == SPTRSM_CUDA) {
    s.columns = spti_block_columns(block, first);
  } else {
    bool rows = block->layout == SPTRSM_ROW_MAJOR;
    char *staging = (char *)panels->staging + (size_t)slot * (size_t)pipe->n * sptrsm_dtype_bytes(pipe->dtype);
    s.columns = (spti_columns){.data = staging, .row_stride = rows ? width : 1, .col_stride = rows ? 1 : pipe->n};
  }
  return s;
}

/* The copy of a block's columns from host memory to the staging memory (SPTI_TO_DEVICE) or back; nothing for a block in device memory. */
static spti_gpu_pitched copy_of(const spti_pipeline *pipe, const side *s, spti_direction direction) {
  if (s->block->place == SPTRSM_CUDA) return (spti_gpu_pitched){0};
  size_t bytes = sptrsm_dtype_bytes(pipe->dtype);
  bool rows = s->block->layout == SPTRSM_ROW_MAJOR;
  size_t vector_bytes = (size_t)(rows ? s->width : pipe->n) * bytes, pitch = (size_t)s->block->ld * bytes;
  void *host = spti_block_columns(s->block, s->first).data;
  spti_gpu_pitched c = {.row_bytes = vector_bytes, .rows = (size_t)(rows ? pipe->n : s->width)};
  const bool in = direction == SPTI_TO_DEVICE;
  c.to = in ? s->columns.data : host;
  c.from = in ? host : s->columns.data;
  c.to_pitch = in ? vector_bytes : pitch;
  c.from_pitch = in ? pitch : vector_bytes;
  return c;
}

/* Copies, and waits for it. */
static sptrsm_status move(const spti_pipeline *pipe, const side *s, spti_direction direction) {
  const spti_gpu_pitched c = copy_of(pipe, s, direction);
  return spti_gpu_copy(pipe->context, c.to, c.to_pitch, c.from, c.from_pitch, c.row_bytes, c.rows, direction);
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
static bool suits_lanes(const spti_columns *c, int32_t width) { return c->col_stride == 1 || width <= NARROW_PANEL; }

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

static sptrsm_status pack(const spti_pipeline *pipe, const side *from, const spti_panel *W, const double alpha[2]) {
  spti_pack_args in = pack_args(pipe, from, W, &pipe->first);
  in.alpha[0] = alpha[0];
  in.alpha[1] = alpha[1];
  bool in_place = W->data == from->columns.data && W->ld == from->columns.row_stride && from->columns.col_stride == 1;
  bool plain = !pipe->first.map && !pipe->first.scale && alpha[0] == 1 && alpha[1] == 0;
  if (!in_place || !plain) SPTI_CUDA(spti_pack_launch(&in, pipe->dtype, pipe->context->stream));
  return SPTRSM_OK;
}

static sptrsm_status unpack(const spti_pipeline *pipe, const side *to, const spti_panel *W) {
  if (W->data == to->columns.data) return SPTRSM_OK;
  const spti_pack_args out = pack_args(pipe, to, W, &pipe->last);
  SPTI_CUDA(spti_unpack_launch(&out, pipe->dtype, pipe->context->stream));
  return SPTRSM_OK;
}

/* ---- blocks in host memory where memory is limited: in parts ---- */

/* Rows [first, first + count) of a side whose block is row-major, or columns of one that is column-major; they go through the staging
 * memory, which the copy before has left when this one begins, to or from W. alpha: of the first pass. */
static sptrsm_status pass_part(const spti_pipeline *pipe, const spti_panels *panels, const side *s, const spti_panel *W, int64_t first,
                               int64_t count, spti_direction direction, const double alpha[2]) {
  const bool rows = s->block->layout == SPTRSM_ROW_MAJOR, in = direction == SPTI_TO_DEVICE;
  const spti_edge *edge = in ? &pipe->first : &pipe->last;
  const int32_t *map = in ? edge->inverse : edge->map; /* the panel's row of each row of the block */
  const size_t bytes = sptrsm_dtype_bytes(pipe->dtype), line = (size_t)(rows ? s->width : pipe->n) * bytes;
  const size_t pitch = (size_t)s->block->ld * bytes;
  char *host = (char *)spti_block_columns(s->block, s->first).data + (size_t)first * pitch;
  spti_pack_args a = pack_args(pipe, s, W, edge);
  a.n = rows ? (int32_t)count : pipe->n;
  a.width = a.padded = rows ? s->width : count;
  a.block = panels->staging;
  a.work = (char *)W->data + (size_t)(!rows ? first : map ? 0 : first * W->ld) * bytes;
  a.map = map && rows ? map + first : map;
  a.scale = edge->scale && rows ? edge->scale + first : edge->scale;
  a.convention = in ? SPTRSM_SCATTER : SPTRSM_GATHER;
  if (!in) {
    SPTI_CUDA(spti_unpack_launch(&a, pipe->dtype, pipe->context->stream));
    return spti_gpu_copy(pipe->context, host, pitch, panels->staging, line, line, (size_t)count, direction);
  }
  a.alpha[0] = alpha[0];
  a.alpha[1] = alpha[1];
  SPTI_TRY(spti_gpu_copy(pipe->context, panels->staging, line, host, pitch, line, (size_t)count, direction));
  SPTI_CUDA(spti_pack_launch(&a, pipe->dtype, pipe->context->stream));
  return SPTRSM_OK;
}

static sptrsm_status pass_in_parts(const spti_pipeline *pipe, const spti_panels *panels, const side *s, const spti_panel *W,
                                   spti_direction direction, const double alpha[2]) {
  const bool rows = s->block->layout == SPTRSM_ROW_MAJOR;
  const int64_t lines = rows ? pipe->n : s->width, most = panels->part / (rows ? s->width : pipe->n > 0 ? pipe->n : 1);
  for (int64_t first = 0; first < lines; first += most)
    SPTI_TRY(pass_part(pipe, panels, s, W, first, lines - first < most ? lines - first : most, direction, alpha));
  return SPTRSM_OK;
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

/* ---- one panel after another ---- */

typedef struct {
  const spti_pipeline *pipe;
  spti_panels *panels;
  double alpha[2];
  const sptrsm_block *B, *X;
  passage passage;
} run;

static bool in_parts(const run *r, const sptrsm_block *block) { return r->panels->part > 0 && block->place == SPTRSM_HOST; }

static sptrsm_status solve_panel(const run *r, const side *from, const side *to) {
  const spti_pipeline *pipe = r->pipe;
  const bool direct = works_in_x(r->pipe, r->B, r->X);
  const int32_t width = from->width;
  const spti_panel W = {.data = direct ? to->columns.data : r->panels->W, .ld = direct ? r->X->ld : width, .width = width, .padded = width};
  const bool parts[2] = {in_parts(r, r->B), in_parts(r, r->X)};
  shortcuts s = shortcuts_of(pipe, from, to, width);
  s.reads = s.reads && !parts[0];
  s.writes = s.writes && !parts[1];
  if (parts[0]) SPTI_TRY(pass_in_parts(pipe, r->panels, from, &W, SPTI_TO_DEVICE, r->alpha));
  else if (!s.reads) SPTI_TRY(pack(pipe, from, &W, r->alpha));
  SPTI_TRY(run_stages(pipe, from, to, &W, r->alpha, s));
  if (parts[1]) return pass_in_parts(pipe, r->panels, to, &W, SPTI_TO_HOST, r->alpha);
  return s.writes ? SPTRSM_OK : unpack(pipe, to, &W);
}

/* The sides of panel k, which begins at column k * passage.width. */
static void sides_of(const run *r, int64_t k, side *from, side *to) {
  const int64_t first = k * r->passage.width, left = r->B->nrhs - first, slot = k % r->passage.slots * r->passage.width;
  const int32_t width = left < r->passage.width ? (int32_t)left : r->passage.width;
  *from = side_of(r->pipe, r->panels, r->B, first, width, slot);
  *to = side_of(r->pipe, r->panels, r->X, first, width, slot);
}

/* Copies and solves take turns. */
static sptrsm_status run_in_turns(const run *r, int64_t count) {
  for (int64_t k = 0; k < count; k++) {
    side from, to;
    sides_of(r, k, &from, &to);
    if (!in_parts(r, r->B)) SPTI_TRY(move(r->pipe, &from, SPTI_TO_DEVICE));
    SPTI_TRY(solve_panel(r, &from, &to));
    if (!in_parts(r, r->X)) SPTI_TRY(move(r->pipe, &to, SPTI_TO_HOST));
  }
  return SPTRSM_OK;
}

static sptrsm_status copy_out(const run *r, int64_t k, const side *to) {
  const spti_gpu_pitched out = copy_of(r->pipe, to, SPTI_TO_HOST);
  return spti_gpu_copy_out(r->panels->copies, (int)(k % r->passage.slots), &out);
}

/* Panel k is copied out when panel k+1 is queued, so that the device has work where the copy keeps this thread waiting. */
static sptrsm_status run_beside_copies(const run *r, int64_t count) {
  const sptrsm_context *context = r->pipe->context;
  side from, to, before = {0};
  for (int64_t k = 0; k < count; k++) {
    const int slot = (int)(k % r->passage.slots);
    sides_of(r, k, &from, &to);
    const spti_gpu_pitched in = copy_of(r->pipe, &from, SPTI_TO_DEVICE);
    SPTI_TRY(spti_gpu_copy_in(r->panels->copies, context, slot, &in));
    SPTI_TRY(solve_panel(r, &from, &to));
    SPTI_TRY(spti_gpu_copies_done(r->panels->copies, context, slot));
    if (k > 0) SPTI_TRY(copy_out(r, k - 1, &before));
    before = to;
  }
  return copy_out(r, count - 1, &before);
}

sptrsm_status spti_pipeline_run_gpu(const spti_pipeline *pipe, spti_panels *panels, const void *alpha, const sptrsm_block *B,
                                    const sptrsm_block *X) {
  const bool staged = B->place == SPTRSM_HOST || X->place == SPTRSM_HOST;
  run r = {.pipe = pipe, .panels = panels, .B = B, .X = X, .passage = choose_passage(pipe, panels, B, X)};
  SPTI_TRY(check_capture(pipe));
  SPTI_TRY(check_places(pipe, panels, B, X));
  spti_split_alpha(r.alpha, alpha, pipe->dtype);
  if (staged) SPTI_TRY(make_staging(pipe, panels, &r.passage));
  const int64_t count = (B->nrhs + r.passage.width - 1) / r.passage.width;
  if (r.passage.slots == 1) return run_in_turns(&r, count);
  SPTI_TRY(spti_gpu_copies_begin(panels->copies, pipe->context));
  const sptrsm_status status = run_beside_copies(&r, count), ended = spti_gpu_copies_end(panels->copies);
  return status != SPTRSM_OK ? status : ended;
}
