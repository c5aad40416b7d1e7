/* solve.c -- the work of sptrsm_schur_solve: groups of columns are solved in the rows that they reach, then every two groups are multiplied
 * in the rows that both reach. Threads claim groups, then pairs of groups; each value is computed by one of them in one order. */
#include <stdatomic.h>
#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/plan/method.h"
#include "core/plan/pack.h"
#include "core/schur/schur.h"

/* Where the tiles of S' go. */
typedef struct {
  const sptrsm_block *S;
  const int64_t *left_order, *right_order;
  bool symmetric, hermitian, transposed, conj, whole;
  sptrsm_uplo uplo;
} spti_schur_target;

#define SPTI_TEMPLATE "core/schur/values.tmpl.h"
#include "core/base/for_each_dtype.h"

spti_schur_product *const *const spti_schur_products[SPTI_ISA_COUNT] = {
#ifdef SPTI_X86_KERNELS
    [SPTI_ISA_AVX512] = spti_schur_avx512,
    [SPTI_ISA_AVX2] = spti_schur_avx2,
#endif
    [SPTI_ISA_BASELINE] = spti_schur_baseline,
};

/* ---- the workspace ---- */

static bool has_D(const sptrsm_schur *s) { return s->direct->D.apply.val != NULL; }

/* The left side's values are kept apart where they differ from the right side's. */
static int64_t left_stored(const sptrsm_schur *s) {
  if (!s->symmetric) return s->side[SPTI_SCHUR_LEFT].stored;
  return has_D(s) ? s->side[SPTI_SCHUR_RIGHT].stored : 0;
}

/* Describes the arrays of w for the largest of the items; returns their size. With w->memory NULL only that. */
static size_t carve(spti_schur_work *w, sptrsm_schur *const *items, int64_t count) {
  spti_carver c = {.base = w->memory};
  int64_t right = 0, left = 0;
  size_t bytes = 0;
  for (int64_t i = 0; i < count; i++) {
    const size_t each = sptrsm_dtype_bytes(items[i]->direct->dtype);
    if (items[i]->direct->n > w->n) w->n = items[i]->direct->n;
    if (items[i]->side[SPTI_SCHUR_RIGHT].stored > right) right = items[i]->side[SPTI_SCHUR_RIGHT].stored;
    if (left_stored(items[i]) > left) left = left_stored(items[i]);
    if (each > bytes) bytes = each;
  }
  w->panel_bytes = (size_t)w->n * SPTI_SCHUR_GROUP * bytes;
  w->panels = spti_carve(&c, w->members, w->panel_bytes);
  w->rows = spti_carve(&c, (int64_t)w->members * w->n, sizeof *w->rows);
  w->solved[SPTI_SCHUR_RIGHT] = spti_carve(&c, right, bytes);
  w->solved[SPTI_SCHUR_LEFT] = spti_carve(&c, left, bytes);
  return c.used;
}

sptrsm_status spti_schur_work_bytes(size_t *out, sptrsm_schur *const *items, int64_t count, int members) {
  enum { MEMORY_MAX_BITS = 46 }; /* more than any machine has, and far from overflow */
  static const char what[] = "solved columns";
  spti_schur_work w = {.members = members};
  for (int64_t i = 0; i < count; i++)
    if (items[i]->side[SPTI_SCHUR_RIGHT].stored >> MEMORY_MAX_BITS || left_stored(items[i]) >> MEMORY_MAX_BITS)
      return spti_bytes(out, INT64_MAX, sizeof(double), what);
  *out = carve(&w, items, count);
  return SPTRSM_OK;
}

sptrsm_status spti_schur_work_create(spti_schur_work *out, sptrsm_schur *const *items, int64_t count, int members) {
  spti_schur_work w = {.members = members};
  size_t bytes;
  SPTI_TRY(spti_schur_work_bytes(&bytes, items, count, members));
  SPTI_TRY(spti_host_alloc(&w.memory, (int64_t)bytes, 1, "solved columns of B and C"));
  (void)carve(&w, items, count);
  *out = w;
  return SPTRSM_OK;
}

void spti_schur_work_free(spti_schur_work *w) {
  spti_host_free(w->memory);
  *w = (spti_schur_work){0};
}

/* ---- one solve ---- */

typedef struct {
  const sptrsm_schur *s;
  const spti_schur_work *work;
  const sptrsm_block *S;
  atomic_int result;
} schur_job;

static const spti_schur_side *left_side(const sptrsm_schur *s) { return &s->side[s->symmetric ? SPTI_SCHUR_RIGHT : SPTI_SCHUR_LEFT]; }

/* The values of a solved group. */
static char *values_of(const schur_job *j, int which, const spti_schur_group *g) {
  const int from = which == SPTI_SCHUR_LEFT && j->s->symmetric && !has_D(j->s) ? SPTI_SCHUR_RIGHT : which;
  return (char *)j->work->solved[from] + (size_t)g->at * sptrsm_dtype_bytes(j->s->direct->dtype);
}

/* Puts the columns of the group into a panel of zeros. */
static void fill_panel(const spti_panel *W, const spti_schur_side *side, const spti_schur_group *g) {
  const int32_t n = side->plan->view.n;
  if (!side->is_dense) {
    SPTI_SWITCH(side->dtype, scatter)(W->data, side, g);
    return;
  }
  const spti_columns columns = spti_block_columns(&side->dense, g->first);
  spti_pack(W, n, side->dtype, &columns, &side->edge, NULL);
  if (side->conj) SPTI_SWITCH(side->dtype, conjugate)(W->data, (int64_t)n * W->ld);
}

/* Moves the rows of the group from the panel to where solved groups are kept, and leaves zeros. */
static void keep(char *to, const spti_panel *W, const spti_schur_side *side, const spti_schur_group *g) {
  const size_t row_bytes = (size_t)g->ld * sptrsm_dtype_bytes(side->dtype);
  for (const spti_schur_run *run = side->runs + g->run; run < side->runs + g->run + g->runs; run++) {
    char *from = (char *)W->data + (size_t)run->row * row_bytes;
    const size_t bytes = (size_t)run->count * row_bytes;
    memcpy(to, from, bytes);
    memset(from, 0, bytes);
    to += bytes;
  }
}

static void apply_D(char *values, const sptrsm_schur *s, const spti_schur_side *side, const spti_schur_group *g) {
  const spti_diagonal *D = &s->direct->D.apply;
  const size_t bytes = sptrsm_dtype_bytes(side->dtype);
  for (const spti_schur_run *run = side->runs + g->run; run < side->runs + g->run + g->runs; run++) {
    const spti_panel part = {.data = values, .ld = g->ld, .width = g->width, .padded = g->ld};
    const size_t skip = (size_t)run->row * bytes;
    const spti_diagonal own = {
        .val = (const char *)D->val + skip, .sub = D->sub ? (const char *)D->sub + skip : NULL, .hermitian = D->hermitian};
    spti_apply_diagonal(&part, run->count, side->dtype, &own, (spti_op){0});
    values += (size_t)run->count * (size_t)g->ld * bytes;
  }
}

/* The group's rows in solve order, which is ascending. */
static void list_rows(int32_t *rows, const spti_schur_side *side, const spti_schur_group *g) {
  for (const spti_schur_run *run = side->runs + g->run; run < side->runs + g->run + g->runs; run++)
    for (int32_t i = 0; i < run->count; i++) *rows++ = run->row + i;
}

/* Piece: a group of the right side, then those of the left one. */
static void solve_group(void *argument, int64_t piece, int member) {
  schur_job *j = argument;
  const sptrsm_schur *s = j->s;
  const int which = piece < s->side[SPTI_SCHUR_RIGHT].group_count ? SPTI_SCHUR_RIGHT : SPTI_SCHUR_LEFT;
  const spti_schur_side *side = &s->side[which];
  const spti_schur_group *g = &side->groups[which == SPTI_SCHUR_RIGHT ? piece : piece - s->side[SPTI_SCHUR_RIGHT].group_count];
  int32_t *rows = j->work->rows + (int64_t)member * j->work->n;
  const spti_panel W = {.data = j->work->panels + (size_t)member * j->work->panel_bytes,
                        .ld = g->ld,
                        .width = g->width,
                        .padded = g->ld,
                        .rows = side->is_dense ? NULL : rows,
                        .row_count = (int32_t)g->rows};
  if (g->rows == 0) return;
  list_rows(rows, side, g);
  fill_panel(&W, side, g);
  const sptrsm_status status = side->plan->method->solve(side->plan, NULL, &W);
  if (status != SPTRSM_OK) atomic_store(&j->result, status);
  char *values = values_of(j, which, g);
  keep(values, &W, side, g);
  if (which == SPTI_SCHUR_LEFT || !has_D(s)) return;
  if (s->symmetric) memcpy(values_of(j, SPTI_SCHUR_LEFT, g), values, (size_t)(g->rows * g->ld) * sptrsm_dtype_bytes(side->dtype));
  apply_D(values, s, side, g);
}

/* ---- products ---- */

enum { SEGMENTS = 64, BATCH_ROWS = 64 /* of both groups stay in the first cache while all parts of a tile go over them */ };

typedef struct {
  const spti_schur_run *run, *end;
  int64_t at; /* rows of the group before the run */
} run_place;

static run_place first_run(const spti_schur_side *side, const spti_schur_group *g) {
  const spti_schur_run *run = side->runs + g->run;
  return (run_place){.run = run, .end = run + g->runs};
}

/* The next rows that both groups have: false if there are none. `done`: rows before this one are done. */
static bool next_common(spti_schur_segment *out, run_place *l, run_place *r, int32_t *done, int32_t most) {
  while (l->run < l->end && r->run < r->end) {
    const int32_t l_end = l->run->row + l->run->count, r_end = r->run->row + r->run->count, end = l_end < r_end ? l_end : r_end;
    int32_t begin = l->run->row > r->run->row ? l->run->row : r->run->row;
    if (begin < *done) begin = *done;
    if (begin < end) {
      const int32_t count = end - begin < most ? end - begin : most;
      *out = (spti_schur_segment){.left = l->at + begin - l->run->row, .right = r->at + begin - r->run->row, .count = count};
      *done = begin + count;
      return true;
    }
    run_place *shorter = l_end < r_end ? l : r;
    shorter->at += shorter->run->count;
    shorter->run++;
  }
  return false;
}

/* Collects segments of up to BATCH_ROWS rows -> how many. */
static int next_batch(spti_schur_segment *batch, run_place *l, run_place *r, int32_t *done) {
  int count = 0;
  for (int32_t rows = 0; count < SEGMENTS && rows < BATCH_ROWS; rows += batch[count++].count)
    if (!next_common(&batch[count], l, r, done, BATCH_ROWS - rows)) break;
  return count;
}

/* Piece: a pair of groups, of which the symmetric form needs half. */
static void multiply_pair(void *argument, int64_t piece, int member) {
  const schur_job *j = argument;
  const sptrsm_schur *s = j->s;
  const spti_schur_side *right = &s->side[SPTI_SCHUR_RIGHT], *left = left_side(s);
  const spti_schur_group *l = &left->groups[piece / right->group_count], *r = &right->groups[piece % right->group_count];
  (void)member;
  if (s->symmetric && l > r) return;
  _Alignas(64) char tile[SPTI_SCHUR_GROUP * SPTI_SCHUR_GROUP * sizeof(double complex)];
  spti_schur_segment batch[SEGMENTS];
  spti_schur_product *product = spti_schur_products[spti_isa_best()][right->dtype];
  run_place at_l = first_run(left, l), at_r = first_run(right, r);
  memset(tile, 0, (size_t)l->ld * (size_t)r->ld * sptrsm_dtype_bytes(right->dtype));
  int32_t done = 0;
  for (int count; (count = next_batch(batch, &at_l, &at_r, &done)) > 0;)
    product(tile, values_of(j, SPTI_SCHUR_LEFT, l), l->ld, values_of(j, SPTI_SCHUR_RIGHT, r), r->ld, batch, count, s->hermitian);
  const spti_schur_target to = {.S = j->S,
                                .left_order = left->order,
                                .right_order = right->order,
                                .symmetric = s->symmetric,
                                .hermitian = s->hermitian,
                                .transposed = s->transposed,
                                .conj = s->conj,
                                .whole = s->whole,
                                .uplo = s->uplo};
  SPTI_SWITCH(right->dtype, write_tile)(&to, tile, l, r);
}

sptrsm_status spti_schur_compute(const sptrsm_schur *s, const spti_schur_work *work, spti_team *team, const sptrsm_block *S) {
  schur_job job = {.s = s, .work = work, .S = S};
  const int ready = spti_team_ready(team), threads = ready < work->members ? ready : work->members;
  const int64_t rights = s->side[SPTI_SCHUR_RIGHT].group_count, lefts = left_side(s)->group_count;
  atomic_init(&job.result, SPTRSM_OK);
  if (rights == 0 || lefts == 0) return SPTRSM_OK;
  if (work->n > 0) memset(work->panels, 0, work->panel_bytes * (size_t)threads);
  spti_team_run(team, threads, s->symmetric ? rights : rights + lefts, solve_group, &job);
  if (atomic_load(&job.result) == SPTRSM_OK) spti_team_run(team, threads, lefts * rights, multiply_pair, &job);
  return (sptrsm_status)atomic_load(&job.result);
}
