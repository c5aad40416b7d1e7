/* errors.c -- backward errors of items, from the matrices that their factors were made from. Each item keeps a copy of its matrix as
 * sptrsm_direct_set_original does, by rows of the matrix or of its transpose, as solves ask for. Blocks in host memory are compared here,
 * by threads that take items; blocks in device memory by a kernel (gpu/errors_kernels.h), which gets a table of all matrices. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/batch/batch.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/pack.h"

/* ---- the matrices ---- */

static void drop_tables(sptrsm_batch *b) {
  for (int orientation = 0; orientation < 2; orientation++) {
    spti_free(b->context, b->tables[orientation]);
    b->tables[orientation] = NULL;
    for (int place = 0; place < 2; place++) b->has_lines[orientation][place] = false;
  }
}

sptrsm_status sptrsm_batch_set_original(sptrsm_batch *b, int64_t item, const sptrsm_square *A) {
  if (!b) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_batch_set_original: batch is NULL");
  SPTI_TRY(spti_batch_check_number(b, item, "sptrsm_batch_set_original"));
  SPTI_VISIT(b->context);
  if (b->context->place == SPTRSM_CUDA) SPTI_TRY(spti_gpu_refuse_capture(b->context, "new matrices"));
  if (!b->originals) {
    SPTI_TRY(spti_host_alloc(&b->originals, b->count, sizeof *b->originals, "matrices of the items"));
    for (int64_t i = 0; i < b->count; i++) b->originals[i] = (spti_original){0};
  }
  spti_original fresh = {0};
  if (A) SPTI_TRY(spti_batch_name_item(spti_original_create(&fresh, b->context, A, spti_batch_order(b, item), b->dtype), item));
  drop_tables(b);
  spti_original_free(&b->originals[item], b->context);
  b->originals[item] = fresh;
  return SPTRSM_OK;
}

void spti_batch_free_originals(sptrsm_batch *b) {
  drop_tables(b);
  for (int64_t i = 0; b->originals && i < b->count; i++) spti_original_free(&b->originals[i], b->context);
  spti_host_free(b->originals);
}

/* What the kernel reads of all matrices. */
static sptrsm_status make_table(sptrsm_batch *b, int orientation) {
  spti_residual_lines *lines;
  const size_t bytes = (size_t)b->count * sizeof *lines;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&lines, b->count, sizeof *lines, "matrices of the items"));
  for (int64_t i = 0; i < b->count; i++) {
    const spti_original *A = &b->originals[i];
    const spti_storage *at = &A->lines[orientation][SPTRSM_CUDA];
    lines[i] = (spti_residual_lines){at->ptr, at->idx, at->val, A->n, A->longest[orientation]};
  }
  SPTI_TRY_DONE(spti_alloc(b->context, &b->tables[orientation], b->count, sizeof *lines, "matrices of the items"));
  status = spti_copy_bytes(b->context, b->tables[orientation], SPTRSM_CUDA, lines, SPTRSM_HOST, bytes);
done:
  spti_host_free(lines);
  return status;
}

/* place: of the blocks. Errors of blocks in host memory read nothing on a device. */
static sptrsm_status need_lines(sptrsm_batch *b, int orientation, sptrsm_place place) {
  if (b->has_lines[orientation][place]) return SPTRSM_OK;
  if (b->context->place == SPTRSM_CUDA) SPTI_TRY(spti_gpu_refuse_capture(b->context, "the first backward errors of a batch"));
  for (int64_t i = 0; i < b->count; i++) {
    const spti_storage *lines;
    if (spti_original_given(&b->originals[i]))
      SPTI_TRY(spti_batch_name_item(spti_original_lines(&lines, &b->originals[i], b->context, orientation, place), i));
  }
  if (place == SPTRSM_CUDA) {
    spti_free(b->context, b->tables[orientation]);
    b->tables[orientation] = NULL;
    SPTI_TRY(make_table(b, orientation));
  }
  b->has_lines[orientation][place] = true;
  return SPTRSM_OK;
}

/* ---- checks ---- */

static sptrsm_status check_item(const sptrsm_batch *b, const spti_batch_call *call, int64_t item) {
  const sptrsm_block B = spti_batch_block_of(b, call->B, item), X = spti_batch_block_of(b, call->X, item);
  if (!b->originals || !spti_original_given(&b->originals[item]))
    return spti_fail(SPTRSM_ERR_ARGUMENT,
                     "run: berr of item %lld needs the matrix that its factors were made from: call "
                     "sptrsm_batch_set_original, or leave the item out by a mask in host memory",
                     (long long)item);
  const sptrsm_block berr = {
      .data = call->run->berr, .ld = b->count, .n = 1, .nrhs = b->count, .dtype = SPTRSM_F64, .place = call->X->place};
  if (spti_blocks_overlap(&berr, &X) || spti_blocks_overlap(&berr, &B))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "run: berr overlaps %s of item %lld", spti_blocks_overlap(&berr, &X) ? "X" : "B",
                     (long long)item);
  if (B.data == X.data && B.n > 0 && B.nrhs > 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "run: berr of item %lld needs B after the solve: X must be another block", (long long)item);
  return SPTRSM_OK;
}

sptrsm_status spti_batch_check_errors(sptrsm_batch *b, const spti_batch_call *call, sptrsm_system system) {
  const bool of_A = system == SPTRSM_SYS_A || system == SPTRSM_SYS_At || system == SPTRSM_SYS_Aat;
  const bool of_L = system == SPTRSM_SYS_L || system == SPTRSM_SYS_Lt || system == SPTRSM_SYS_Lat;
  if (!call->run->berr) return SPTRSM_OK;
  if (!of_A && !of_L)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "run: berr is for the systems A, At, Aat, L, Lt and Lat, not %s", sptrsm_system_name(system));
  if (call->B->place != call->X->place)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "run: berr needs B and X in one place; one is in host memory, the other one on the device");
  if (b->count == 0) return SPTRSM_OK;
  if (call->X->place == SPTRSM_CUDA) SPTI_TRY(spti_gpu_check_array(b->context, call->run->berr, sizeof *call->run->berr, "run: berr"));
  for (int64_t i = 0; i < b->count; i++)
    if (spti_batch_wants(call, i)) SPTI_TRY(check_item(b, call, i));
  return need_lines(b, call->on_original.transpose ? SPTI_LINES_OF_AT : SPTI_LINES_OF_A, call->X->place);
}

/* ---- blocks in host memory ---- */

enum { AT_ONCE = 64 /* columns */ };

typedef struct {
  const sptrsm_batch *b;
  const spti_batch_call *call;
  const uint8_t *mask; /* in host memory, or NULL */
} errors_job;

/* NaN stays. */
static void note(double *most, double error) {
  if (!isnan(*most) && !(error <= *most)) *most = error;
}

static spti_refine_block columns_from(const sptrsm_block *block, int64_t first) {
  const spti_columns c = spti_block_columns(block, first);
  return (spti_refine_block){.data = c.data, .row_stride = c.row_stride, .col_stride = c.col_stride};
}

/* The largest backward error of columns [first, first + width). */
static double largest_error(const errors_job *job, int64_t item, int64_t first, int32_t width) {
  const sptrsm_batch *b = job->b;
  const spti_op op = job->call->on_original;
  const int orientation = op.transpose ? SPTI_LINES_OF_AT : SPTI_LINES_OF_A;
  const spti_storage *lines = &b->originals[item].lines[orientation][SPTRSM_HOST];
  const sptrsm_block B = spti_batch_block_of(b, job->call->B, item), X = spti_batch_block_of(b, job->call->X, item);
  double berr[AT_ONCE] = {0}, size[AT_ONCE] = {0}, x_size[AT_ONCE] = {0}, most = 0;
  int32_t columns[AT_ONCE];
  spti_residual_args a = {.n = B.n, .width = width, .ptr = lines->ptr, .idx = lines->idx, .val = lines->val, .conj = op.conj};
  for (int32_t c = 0; c < width; c++) columns[c] = c;
  a.columns = columns, a.berr = berr, a.size = size, a.x_size = x_size;
  a.b = columns_from(&B, first), a.x = columns_from(&X, first);
  spti_split_alpha(a.alpha, job->call->alpha, b->dtype);
  spti_residual_bounds(&a, b->dtype, b->originals[item].longest[orientation]);
  spti_residual_host(&a, b->dtype, b->context->team);
  for (int32_t c = 0; c < width; c++) note(&most, berr[c]);
  return most;
}

static void judge_item(void *argument, int64_t item, int member) {
  const errors_job *job = argument;
  double *out = &job->call->run->berr[item], most = 0;
  (void)member;
  if (job->mask && !job->mask[item]) return;
  if (job->b->items[item].status != SPTRSM_OK) {
    *out = NAN;
    return;
  }
  const sptrsm_block X = spti_batch_block_of(job->b, job->call->X, item);
  for (int64_t k = 0; k < X.nrhs && X.n > 0; k += AT_ONCE)
    note(&most, largest_error(job, item, k, (int32_t)(X.nrhs - k < AT_ONCE ? X.nrhs - k : AT_ONCE)));
  *out = most;
}

/* One item after the other, with all threads for its rows, or many at once. */
static void judge_items(const errors_job *job) {
  spti_team *team = job->b->context->team;
  errors_job own = *job;
  const int threads = spti_team_ready(team);
  if (job->b->count >= threads) spti_team_run(team, threads, job->b->count, judge_item, &own);
  else
    for (int64_t i = 0; i < job->b->count; i++) judge_item(&own, i, 0);
}

sptrsm_status spti_batch_errors_host(const sptrsm_batch *b, const spti_batch_call *call) {
  const sptrsm_batch_run *run = call->run;
  errors_job job = {.b = b, .call = call, .mask = run->mask};
  uint8_t *copy = NULL;
  if (!run->berr || call->X->place != SPTRSM_HOST) return SPTRSM_OK;
  if (run->mask && run->mask_place == SPTRSM_CUDA) {
    SPTI_TRY(spti_host_alloc(&copy, b->count, 1, "mask"));
    sptrsm_status status = spti_copy_bytes(b->context, copy, SPTRSM_HOST, run->mask, SPTRSM_CUDA, (size_t)b->count);
    if (status != SPTRSM_OK) {
      spti_host_free(copy);
      return status;
    }
    job.mask = copy;
  }
  judge_items(&job);
  spti_host_free(copy);
  return SPTRSM_OK;
}
