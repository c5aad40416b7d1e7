/* gpu.c -- Schur complements on a device: the workspace, and what is queued for one S. */
#include "core/schur/gpu/gpu.h"

#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/context/gpu_dense.h"
#include "core/plan/method.h"
#include "core/plan/pack_kernels.h"
#include "core/plan/pipeline.h"

/* ---- creation ---- */

static int side_count(const sptrsm_schur *s) { return s->symmetric ? 1 : 2; }

static bool has_D(const sptrsm_schur *s) { return s->direct->D.apply.val != NULL; }

sptrsm_status spti_schur_gpu_create(sptrsm_schur *s) {
  sptrsm_context *context = s->direct->context;
  spti_schur_gpu *g;
  bool whole = true;
  SPTI_TRY(spti_gpu_refuse_capture(context, "a Schur complement"));
  SPTI_TRY(spti_gpu_open_dense(context));
  SPTI_TRY(spti_host_alloc(&g, 1, sizeof *g, "Schur complement"));
  *g = (spti_schur_gpu){0};
  s->gpu = g; /* from here on the schur frees it */
  for (int which = 0; which < side_count(s); which++) {
    SPTI_TRY(spti_schur_gpu_side_create(&g->side[which], &s->side[which], context));
    whole = whole && g->side[which].grouped.groups == 0;
  }
  SPTI_TRY(spti_schur_gpu_chunks_create(g, s));
  g->as_solved = whole && !has_D(s);
  return SPTRSM_OK;
}

void spti_schur_gpu_free(sptrsm_schur *s) {
  const sptrsm_context *context = s->direct->context;
  spti_schur_gpu *g = s->gpu;
  if (!g) return;
  for (int which = 0; which < side_count(s); which++) spti_schur_gpu_side_free(&g->side[which], &s->side[which], context);
  spti_free(context, g->lines_memory);
  spti_free(context, g->work.memory);
  spti_host_free(g->chunks);
  spti_host_free(g);
}

sptrsm_status spti_schur_gpu_set_values(sptrsm_schur *s, int which) {
  const spti_schur_side *side = &s->side[which];
  return spti_copy_bytes(s->direct->context, s->gpu->side[which].val, SPTRSM_CUDA, side->val, SPTRSM_HOST,
                         (size_t)side->ptr[side->count] * sptrsm_dtype_bytes(side->dtype));
}

/* ---- the workspace ---- */

/* Elements and bytes of the arrays of a workspace. */
typedef struct {
  int64_t block[2], operand[2], sum, S;
  size_t solve;
  size_t element;
} work_sizes;

static void take_most(int64_t *most, int64_t value) {
  if (value > *most) *most = value;
}

static sptrsm_status add_item(work_sizes *z, const sptrsm_schur *s) {
  const spti_schur_gpu *g = s->gpu;
  const int left = spti_schur_gpu_left(s);
  z->element = sptrsm_dtype_bytes(s->direct->dtype) > z->element ? sptrsm_dtype_bytes(s->direct->dtype) : z->element;
  for (int which = 0; which < side_count(s); which++) {
    size_t bytes = 0;
    take_most(&z->block[which], g->side[which].rows * g->side[which].width);
    if (g->side[which].grouped.groups > 0)
      SPTI_TRY(
          s->side[which].plan->method->grouping->work_bytes(&bytes, &g->side[which].grouped, s->side[which].plan, g->side[which].width));
    if (bytes > z->solve) z->solve = bytes;
  }
  take_most(&z->sum, s->side[SPTI_SCHUR_RIGHT].count * s->side[left].count);
  if (g->as_solved) return SPTRSM_OK;
  take_most(&z->operand[SPTI_SCHUR_RIGHT], g->elements[SPTI_SCHUR_RIGHT]);
  if (!s->symmetric || has_D(s)) take_most(&z->operand[SPTI_SCHUR_LEFT], g->elements[SPTI_SCHUR_LEFT]);
  return SPTRSM_OK;
}

static sptrsm_status find_sizes(work_sizes *z, sptrsm_schur *const *items, int64_t count, bool host_S) {
  enum { MEMORY_MAX_BITS = 46 }; /* more than any machine has, and far from overflow */
  *z = (work_sizes){0};
  for (int64_t i = 0; i < count; i++) SPTI_TRY(add_item(z, items[i]));
  if (host_S) z->S = z->sum;
  const int64_t all[] = {z->block[0], z->block[1], z->operand[0], z->operand[1], z->sum};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (all[k] >> MEMORY_MAX_BITS) return spti_bytes(&z->solve, INT64_MAX, sizeof(double), "solved columns");
  return SPTRSM_OK;
}

static size_t lay_out(spti_schur_gpu_work *w, const work_sizes *z, void *memory) {
  spti_carver c = {.base = memory};
  for (int which = 0; which < 2; which++) {
    w->block[which] = spti_carve(&c, z->block[which], z->element);
    w->operand[which] = spti_carve(&c, z->operand[which], z->element);
  }
  w->solve = spti_carve(&c, (int64_t)z->solve, 1);
  w->sum = spti_carve(&c, z->sum, z->element);
  w->S = spti_carve(&c, z->S, z->element);
  w->memory = memory;
  w->bytes = c.used;
  return c.used;
}

/* Columns that are solved in all rows use the panels of the solver. */
static sptrsm_status solver_bytes(size_t *out, const sptrsm_schur *s) {
  *out = 0;
  for (int which = 0; which < side_count(s); which++)
    if (s->gpu->side[which].grouped.groups == 0 && s->side[which].count > 0) return sptrsm_direct_workspace_bytes(out, s->direct);
  return SPTRSM_OK;
}

sptrsm_status spti_schur_gpu_work_bytes(size_t *out, sptrsm_schur *const *items, int64_t count, bool host_S) {
  work_sizes z;
  spti_schur_gpu_work w;
  size_t most = 0;
  SPTI_TRY(find_sizes(&z, items, count, host_S));
  for (int64_t i = 0; i < count; i++) {
    size_t bytes;
    SPTI_TRY(solver_bytes(&bytes, items[i]));
    if (bytes > most) most = bytes;
  }
  *out = lay_out(&w, &z, NULL) + most;
  return SPTRSM_OK;
}

static sptrsm_status make_work(spti_schur_gpu_work *w, sptrsm_schur *const *items, int64_t count, bool host_S) {
  work_sizes z;
  void *memory;
  SPTI_TRY(find_sizes(&z, items, count, host_S));
  SPTI_TRY(spti_alloc(items[0]->direct->context, &memory, (int64_t)lay_out(w, &z, NULL), 1, "solved columns of B and C"));
  (void)lay_out(w, &z, memory);
  return SPTRSM_OK;
}

/* ---- solved columns ---- */

static sptrsm_status scatter(const sptrsm_schur *s, int which, void *block, const spti_edge *edge) {
  const spti_schur_side *side = &s->side[which];
  const spti_schur_gpu_side *g = &s->gpu->side[which];
  const sptrsm_context *context = s->direct->context;
  const spti_schur_scatter_args args = {.entries = g->entries,
                                        .to = g->to,
                                        .row = g->row,
                                        .val = g->val,
                                        .scale = edge->scale,
                                        .divide = edge->divide,
                                        .conj = side->conj,
                                        .block = block};
  SPTI_TRY(spti_gpu_zero(context, block, (size_t)(g->rows * g->width) * sptrsm_dtype_bytes(side->dtype)));
  SPTI_CUDA(spti_schur_scatter_launch(&args, side->dtype, context->stream));
  return SPTRSM_OK;
}

static sptrsm_block block_of(const sptrsm_schur *s, int which, void *data) {
  return (sptrsm_block){.data = data,
                        .ld = s->gpu->side[which].width,
                        .n = s->direct->n,
                        .nrhs = s->side[which].count,
                        .dtype = s->direct->dtype,
                        .layout = SPTRSM_ROW_MAJOR,
                        .place = SPTRSM_CUDA};
}

/* Puts a dense side into the block: permuted, scaled, and conjugated where that is wanted. */
static sptrsm_status take_dense(const sptrsm_schur *s, int which, const sptrsm_block *block, const spti_edge *edge) {
  sptrsm_direct *d = s->direct;
  const spti_pipeline pack = {.context = d->context, .dtype = d->dtype, .n = d->n, .first = *edge};
  SPTI_TRY(spti_pipeline_run(&pack, &d->panels, NULL, &s->side[which].dense, block));
  if (!s->side[which].conj) return SPTRSM_OK;
  const spti_schur_conjugate_args args = {.count = d->n * block->nrhs, .values = block->data};
  SPTI_CUDA(spti_schur_conjugate_launch(&args, d->dtype, d->context->stream));
  return SPTRSM_OK;
}

/* With all rows, by the panels of the solver. */
static sptrsm_status solve_whole(const sptrsm_schur *s, int which, void *data, const spti_edge *edge) {
  sptrsm_direct *d = s->direct;
  const spti_system_steps steps = {.count = 1, .stages = {which == SPTI_SCHUR_RIGHT ? spti_schur_right_stage : spti_schur_left_stage}};
  const sptrsm_block block = block_of(s, which, data);
  spti_pipeline solve;
  if (block.nrhs == 0 || block.n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_direct_pipeline(&solve, d, &steps));
  if (!d->panels.W) SPTI_TRY(spti_panels_create(&d->panels, d->context, d->n, d->dtype, d->panel, &d->options));
  if (s->side[which].is_dense) SPTI_TRY(take_dense(s, which, &block, edge));
  return spti_pipeline_run(&solve, &d->panels, NULL, &block, &block);
}

static sptrsm_status solve_side(const sptrsm_schur *s, int which, const spti_schur_gpu_work *w) {
  const spti_schur_gpu_side *g = &s->gpu->side[which];
  const sptrsm_plan *plan = s->side[which].plan;
  const spti_edge edge = spti_schur_edge(s->direct, which);
  if (!s->side[which].is_dense) SPTI_TRY(scatter(s, which, w->block[which], &edge));
  if (g->grouped.groups == 0) return solve_whole(s, which, w->block[which], &edge);
  return plan->method->grouping->solve(&g->grouped, plan, w->solve, w->block[which], g->width);
}

/* ---- products ---- */

/* `from`: the side whose columns make the operand `to` (right or left); they differ in the symmetric form. */
static sptrsm_status gather(const sptrsm_schur *s, int from, int to, const spti_schur_gpu_work *w) {
  const spti_schur_gpu *g = s->gpu;
  const spti_grouped *grouped = &g->side[from].grouped;
  const spti_diagonal *D = &s->direct->D.apply;
  spti_schur_gather_args args = {.lines = g->lines, .side = to, .operand = w->operand[to]};
  args.solved = (spti_schur_solved){.block = w->block[from],
                                    .width = g->side[from].width,
                                    .runs = grouped->groups > 0 ? grouped->runs : 0,
                                    .first = grouped->first_on,
                                    .at = grouped->at_on,
                                    .run_of = grouped->run_of,
                                    .n = s->direct->n,
                                    .backward = s->side[from].plan->view.backward};
  if (to == SPTI_SCHUR_RIGHT) args.D = D->val, args.D_sub = D->sub, args.hermitian = D->hermitian;
  SPTI_CUDA(spti_schur_gather_launch(&args, s->direct->dtype, s->direct->context->stream));
  return SPTRSM_OK;
}

typedef struct {
  const char *right, *left;
} operands;

static sptrsm_status make_operands(operands *out, const sptrsm_schur *s, const spti_schur_gpu_work *w) {
  const int left = spti_schur_gpu_left(s);
  if (s->gpu->as_solved) {
    *out = (operands){w->block[SPTI_SCHUR_RIGHT], w->block[left]};
    return SPTRSM_OK;
  }
  const bool one = s->symmetric && !has_D(s);
  *out = (operands){w->operand[SPTI_SCHUR_RIGHT], w->operand[one ? SPTI_SCHUR_RIGHT : SPTI_SCHUR_LEFT]};
  SPTI_TRY(gather(s, SPTI_SCHUR_RIGHT, SPTI_SCHUR_RIGHT, w));
  return one ? SPTRSM_OK : gather(s, left, SPTI_SCHUR_LEFT, w);
}

static sptrsm_status multiply(const sptrsm_schur *s, const operands *o, void *sum) {
  const spti_schur_gpu *g = s->gpu;
  const size_t bytes = sptrsm_dtype_bytes(s->direct->dtype);
  const int64_t ld = s->side[SPTI_SCHUR_RIGHT].count, columns = s->side[spti_schur_gpu_left(s)].count;
  SPTI_TRY(spti_gpu_zero(s->direct->context, sum, (size_t)(ld * columns) * bytes));
  for (int32_t k = 0; k < g->chunk_count; k++) {
    const spti_schur_chunk *c = &g->chunks[k];
    const int64_t to = c->first[SPTI_SCHUR_RIGHT] + c->first[SPTI_SCHUR_LEFT] * ld;
    const spti_gpu_product product = {.form = s->hermitian   ? SPTI_PRODUCT_HERMITIAN
                                              : s->symmetric ? SPTI_PRODUCT_SYMMETRIC
                                                             : SPTI_PRODUCT_GENERAL,
                                      .dtype = s->direct->dtype,
                                      .rows = c->width[SPTI_SCHUR_RIGHT],
                                      .columns = c->width[SPTI_SCHUR_LEFT],
                                      .terms = c->lines,
                                      .right = o->right + (size_t)c->at[SPTI_SCHUR_RIGHT] * bytes,
                                      .left = o->left + (size_t)c->at[SPTI_SCHUR_LEFT] * bytes,
                                      .right_ld = c->width[SPTI_SCHUR_RIGHT],
                                      .left_ld = c->width[SPTI_SCHUR_LEFT],
                                      .sum_ld = (int32_t)ld,
                                      .sum = (char *)sum + (size_t)to * bytes};
    SPTI_TRY(spti_gpu_multiply(s->direct->context, &product));
  }
  return SPTRSM_OK;
}

/* ---- S ---- */

static sptrsm_status finish(const sptrsm_schur *s, const spti_schur_gpu_work *w, const sptrsm_block *S) {
  const bool rows = S->layout == SPTRSM_ROW_MAJOR;
  const spti_schur_finish_args args = {.S = S->data,
                                       .row_stride = rows ? S->ld : 1,
                                       .col_stride = rows ? 1 : S->ld,
                                       .rows = S->n,
                                       .columns = (int32_t)S->nrhs,
                                       .sum = w->sum,
                                       .sum_ld = s->side[SPTI_SCHUR_RIGHT].count,
                                       .right_at = s->gpu->side[SPTI_SCHUR_RIGHT].position,
                                       .left_at = s->gpu->side[spti_schur_gpu_left(s)].position,
                                       .symmetric = s->symmetric,
                                       .hermitian = s->hermitian,
                                       .upper = s->uplo == SPTRSM_UPPER,
                                       .whole = s->whole,
                                       .transposed = s->transposed,
                                       .conj = s->conj};
  SPTI_CUDA(spti_schur_finish_launch(&args, s->direct->dtype, s->direct->context->stream));
  return SPTRSM_OK;
}

/* Copies the lines of a block without gaps to S in host memory, or what the triangle alone has of them. */
static void deliver(const sptrsm_schur *s, const sptrsm_block *S, const char *from) {
  const size_t bytes = sptrsm_dtype_bytes(S->dtype);
  const bool rows = S->layout == SPTRSM_ROW_MAJOR, begins = rows == (s->uplo == SPTRSM_LOWER), part = s->symmetric && !s->whole;
  const int64_t lines = rows ? S->n : S->nrhs, length = rows ? S->nrhs : S->n;
  for (int64_t i = 0; i < lines; i++) {
    const int64_t first = part && !begins ? i : 0, end = part && begins ? i + 1 : length;
    memcpy((char *)S->data + (size_t)(i * S->ld + first) * bytes, from + (size_t)(i * length + first) * bytes,
           (size_t)(end - first) * bytes);
  }
}

/* S in host memory goes through a block without gaps on the device, and another one on the host. Waits. */
static sptrsm_status finish_on_host(const sptrsm_schur *s, const spti_schur_gpu_work *w, const sptrsm_block *S) {
  const size_t bytes = (size_t)S->n * (size_t)S->nrhs * sptrsm_dtype_bytes(S->dtype);
  sptrsm_block on_device = *S;
  void *copy;
  on_device.data = w->S;
  on_device.ld = S->layout == SPTRSM_ROW_MAJOR ? S->nrhs : S->n;
  SPTI_TRY(finish(s, w, &on_device));
  SPTI_TRY(spti_host_alloc(&copy, (int64_t)bytes, 1, "S on its way from the device"));
  const sptrsm_status status = spti_copy_bytes(s->direct->context, copy, SPTRSM_HOST, w->S, SPTRSM_CUDA, bytes);
  if (status == SPTRSM_OK) deliver(s, S, copy);
  spti_host_free(copy);
  return status;
}

static sptrsm_status solve_one(const sptrsm_schur *s, const spti_schur_gpu_work *w, const sptrsm_block *S) {
  operands o;
  if (S->n == 0 || S->nrhs == 0) return SPTRSM_OK;
  for (int which = 0; which < side_count(s); which++) SPTI_TRY(solve_side(s, which, w));
  SPTI_TRY(make_operands(&o, s, w));
  SPTI_TRY(multiply(s, &o, w->sum));
  return S->place == SPTRSM_HOST ? finish_on_host(s, w, S) : finish(s, w, S);
}

/* The item's own workspace, made or made larger if need be. */
static sptrsm_status keep_work(spti_schur_gpu_work *kept, sptrsm_schur *s, bool host_S) {
  size_t bytes;
  work_sizes z;
  spti_schur_gpu_work w;
  SPTI_TRY(find_sizes(&z, &s, 1, host_S));
  bytes = lay_out(&w, &z, NULL);
  if (kept->memory && kept->bytes >= bytes) return SPTRSM_OK;
  SPTI_TRY(spti_gpu_refuse_capture(s->direct->context, "a workspace")); /* before anything is freed */
  spti_free(s->direct->context, kept->memory);
  *kept = (spti_schur_gpu_work){0};
  return make_work(kept, &s, 1, host_S);
}

sptrsm_status spti_schur_gpu_solve(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S) {
  sptrsm_context *context = items[0]->direct->context;
  spti_schur_gpu_work work = {0}, *w = count == 1 ? &items[0]->gpu->work : &work;
  bool host_S = false;
  for (int64_t i = 0; i < count; i++) host_S = host_S || S[i].place == SPTRSM_HOST;
  SPTI_TRY(spti_gpu_open_dense(context));
  SPTI_TRY(count == 1 ? keep_work(w, items[0], host_S) : make_work(w, items, count, host_S));
  sptrsm_status status = SPTRSM_OK;
  for (int64_t i = 0; i < count && status == SPTRSM_OK; i++) status = solve_one(items[i], w, &S[i]);
  spti_free(context, work.memory);
  return status;
}

void spti_schur_gpu_facts(sptrsm_schur_facts *out, const sptrsm_schur *s) {
  double reached = 0, all = 0;
  for (int which = 0; which < side_count(s); which++) {
    const spti_schur_gpu_side *g = &s->gpu->side[which];
    const int32_t groups = g->grouped.groups > 0 ? g->grouped.groups : s->side[which].count > 0;
    out->groups += groups;
    reached += groups > 0 ? (double)g->rows : 0;
    all += (double)groups * s->direct->n;
  }
  out->reached = all > 0 ? reached / all : 0;
}
