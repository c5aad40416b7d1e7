/* schur.c -- the public calls of Schur complements: checks, what is decided once for a pattern, and many at a time. */
#include "core/schur/schur.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/diagonal_block.h"
#include "core/base/dtype.h"
#include "core/base/overlap.h"
#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/schur/gpu/gpu.h"

void sptrsm_schur_columns_init_sized(sptrsm_schur_columns *columns, size_t size) {
  spti_sized_init(columns, size, &(sptrsm_schur_columns){0}, sizeof *columns);
}

void sptrsm_schur_request_init_sized(sptrsm_schur_request *request, size_t size) {
  spti_sized_init(request, size, &(sptrsm_schur_request){0}, sizeof *request);
}

static bool on_host(const sptrsm_schur *s) { return s->direct->context->place == SPTRSM_HOST; }

/* ---- which forms the factors allow ---- */

static sptrsm_status check_request(const sptrsm_direct *d, const sptrsm_schur_request *q) {
  if (!q->B) return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: the request has no B");
  if (q->op != SPTRSM_N && q->op != SPTRSM_T && q->op != SPTRSM_C)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: unknown op %d", (int)q->op);
  if (q->uplo != SPTRSM_LOWER && q->uplo != SPTRSM_UPPER)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: unknown triangle %d of S", (int)q->uplo);
  if (!d->has_U)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: S = C A^-1 B needs U; the factors have only L (u_kind tells that U is L transposed)");
  if (d->dtype != d->given)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "schur: the factors are kept in single precision; create the solver in working precision");
  return SPTRSM_OK;
}

static sptrsm_status check_symmetric_D(const sptrsm_direct *d) {
  const bool hermitian = d->u_kind == SPTRSM_U_IS_LH;
  if (!d->D.host[0] || !spti_is_complex(d->dtype)) return SPTRSM_OK;
  if (d->D.host[1] && hermitian != d->D.apply.hermitian)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: the 2x2 blocks of D are %s and U is %s, so A is neither; give C",
                     hermitian ? "symmetric" : "Hermitian", hermitian ? "L^H" : "L^T");
  for (int32_t i = 0; hermitian && i < d->n; i++)
    if (cimag(spti_value_at(d->D.host[0], i, d->dtype)) != 0)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: U is L^H and D[%d] is not real, so A is not Hermitian; give C", i);
  return SPTRSM_OK;
}

/* Factor i of a scaling that may be absent. */
static double scale_at(const spti_edge *e, int32_t i) { return !e->scale ? 1 : e->divide ? 1 / e->scale[i] : e->scale[i]; }

/* With left and right edge alike, L^-1 P R b and (Q U^-1)^T C b are one vector. */
static sptrsm_status check_symmetric(const sptrsm_direct *d, const sptrsm_schur_request *q, const spti_edge *right, const spti_edge *left) {
  if (d->u_kind == SPTRSM_U_GIVEN)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: without C, U must be L^T or L^H (u_kind); give C, for instance the description of B");
  if (q->op != SPTRSM_N) return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: without C, op must be N");
  for (int32_t i = 0; i < d->n; i++) {
    const int32_t r = right->map ? right->map[i] : i, l = left->map ? left->map[i] : i;
    if (r != l)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: row %d of L is row %d of A but column %d, so A is not symmetric; give C", i, r, l);
    if (scale_at(right, i) != scale_at(left, i))
      return spti_fail(SPTRSM_ERR_ARGUMENT, "schur: scale_row and scale_col scale row and column %d by %g and %g; give C", i,
                       scale_at(right, i), scale_at(left, i));
  }
  return check_symmetric_D(d);
}

/* ---- creation ---- */

/* pairs[i]: does D couple rows i and i+1? */
static bool couples(const sptrsm_direct *d, int32_t i) { return spti_value_at(d->D.host[1], i, d->dtype) != 0; }

static sptrsm_status find_pairs(sptrsm_schur *s) {
  const sptrsm_direct *d = s->direct;
  if (!d->D.host[1]) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&s->pairs, d->n, sizeof *s->pairs, "2x2 blocks of D"));
  for (int32_t i = 0; i < d->n; i++) s->pairs[i] = couples(d, i);
  return SPTRSM_OK;
}

static sptrsm_status make_side(sptrsm_schur *s, int which, const sptrsm_schur_columns *columns, const char *name) {
  spti_schur_side *side = &s->side[which];
  SPTI_TRY(spti_schur_take_columns(side, columns, s->direct, name));
  SPTI_TRY(spti_direct_plan(&side->plan, s->direct, which == SPTI_SCHUR_RIGHT ? &spti_schur_right_stage : &spti_schur_left_stage));
  side->conj = s->conj;
  return on_host(s) ? spti_schur_group_columns(side, s->pairs) : SPTRSM_OK;
}

/* Copies an array of n values to host memory, unless it is absent or there already. copies: all copies, to be freed. */
static sptrsm_status to_host(const void *at /* const T ** */, void **copy, const sptrsm_schur *s, size_t bytes) {
  const void *from;
  memcpy(&from, at, sizeof from);
  if (!from || on_host(s)) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(copy, s->direct->n, bytes, "permutations and scalings"));
  SPTI_TRY(spti_copy_bytes(s->direct->context, *copy, SPTRSM_HOST, from, SPTRSM_CUDA, (size_t)s->direct->n * bytes));
  memcpy((void *)at, copy, sizeof from);
  return SPTRSM_OK;
}

enum { EDGE_ARRAYS = 6 }; /* of both sides: map, inverse, scale */

static sptrsm_status edges_on_host(sptrsm_schur *s, void *copies[EDGE_ARRAYS]) {
  for (int which = 0; which < 2; which++) {
    spti_edge *e = &s->side[which].edge;
    *e = spti_schur_edge(s->direct, which);
    SPTI_TRY(to_host(&e->map, &copies[3 * which], s, sizeof *e->map));
    SPTI_TRY(to_host(&e->inverse, &copies[3 * which + 1], s, sizeof *e->inverse));
    SPTI_TRY(to_host(&e->scale, &copies[3 * which + 2], s, sizeof *e->scale));
  }
  return SPTRSM_OK;
}

/* The edges of both sides are in host memory. */
static sptrsm_status make_sides(sptrsm_schur *s, const sptrsm_schur_request *q) {
  if (s->symmetric) SPTI_TRY(check_symmetric(s->direct, q, &s->side[SPTI_SCHUR_RIGHT].edge, &s->side[SPTI_SCHUR_LEFT].edge));
  SPTI_TRY(find_pairs(s));
  SPTI_TRY(make_side(s, SPTI_SCHUR_RIGHT, s->transposed ? q->C : q->B, s->transposed ? "C" : "B"));
  if (!s->symmetric) SPTI_TRY(make_side(s, SPTI_SCHUR_LEFT, s->transposed ? q->B : q->C, s->transposed ? "B" : "C"));
  return on_host(s) ? SPTRSM_OK : spti_schur_gpu_create(s);
}

static sptrsm_status least_bytes(size_t *out, sptrsm_schur *s) {
  return on_host(s) ? spti_schur_work_bytes(out, &s, 1, 1) : spti_schur_gpu_work_bytes(out, &s, 1, false);
}

static sptrsm_status fill(sptrsm_schur *s, const sptrsm_schur_request *q) {
  const sptrsm_direct *d = s->direct;
  void *copies[EDGE_ARRAYS] = {NULL};
  s->transposed = q->op != SPTRSM_N;
  s->conj = q->op == SPTRSM_C && spti_is_complex(d->dtype);
  s->symmetric = !q->C;
  s->hermitian = s->symmetric && d->u_kind == SPTRSM_U_IS_LH && spti_is_complex(d->dtype);
  s->uplo = q->uplo;
  s->whole = q->whole != 0;
  sptrsm_status status = edges_on_host(s, copies);
  if (status == SPTRSM_OK) status = make_sides(s, q);
  for (int k = 0; k < EDGE_ARRAYS; k++) spti_host_free(copies[k]);
  if (status != SPTRSM_OK) return status;
  size_t bytes;
  SPTI_TRY(least_bytes(&bytes, s));
  if (d->options.memory_limit > 0 && bytes > d->options.memory_limit)
    return spti_fail(SPTRSM_ERR_MEMORY,
                     "the solved columns of B and C take %zu bytes, the limit is %zu: raise options.memory_limit, or give fewer columns",
                     bytes, d->options.memory_limit);
  return SPTRSM_OK;
}

sptrsm_status sptrsm_schur_create(sptrsm_schur **out, sptrsm_direct *direct, const sptrsm_schur_request *request) {
  if (!out || !direct || !request) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_schur_create: out, direct or request is NULL");
  SPTI_VISIT(direct->context);
  const double start = spti_seconds();
  sptrsm_schur_request q;
  sptrsm_schur *s;
  SPTI_TRY(spti_sized_read(&q, sizeof q, request, SPTI_SIZE_UP_TO(sptrsm_schur_request, uplo), "sptrsm_schur_request"));
  SPTI_TRY(check_request(direct, &q));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "Schur complement"));
  *s = (sptrsm_schur){.direct = direct};
  spti_direct_retain(direct);
  const sptrsm_status status = fill(s, &q);
  if (status != SPTRSM_OK) {
    sptrsm_schur_destroy(s);
    return status;
  }
  s->analysis_seconds = spti_seconds() - start;
  *out = s;
  return SPTRSM_OK;
}

void sptrsm_schur_destroy(sptrsm_schur *s) {
  if (!s) return;
  SPTI_VISIT(s->direct->context);
  spti_schur_gpu_free(s);
  spti_schur_work_free(&s->work);
  for (int which = 0; which < 2; which++) spti_schur_side_free(&s->side[which]);
  spti_host_free(s->pairs);
  sptrsm_direct_destroy(s->direct);
  spti_host_free(s);
}

/* ---- new values ---- */

static int side_named(const sptrsm_schur *s, char name) {
  for (int which = 0; which < 2; which++)
    if (s->side[which].name && s->side[which].name[0] == name) return which;
  return -1;
}

/* The side that gets something new: B for k = 0, C for k = 1. */
static sptrsm_status find_side(int *out, const sptrsm_schur *s, int k, bool dense, const char *call) {
  *out = side_named(s, "BC"[k]);
  if (*out < 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: the symmetric form has no C", call);
  if (s->side[*out].is_dense == dense) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %c is %s", call, "BC"[k],
                   dense ? "sparse; give new values to sptrsm_schur_set_values"
                         : "dense; write into its block, which each solve reads, or set another one by sptrsm_schur_set_blocks");
}

sptrsm_status sptrsm_schur_set_values(sptrsm_schur *s, const void *B_val, const void *C_val) {
  if (!s) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_schur_set_values: schur is NULL");
  SPTI_VISIT(s->direct->context);
  const void *const values[2] = {B_val, C_val};
  int which;
  for (int k = 0; k < 2; k++)
    if (values[k]) SPTI_TRY(find_side(&which, s, k, false, "sptrsm_schur_set_values"));
  for (int k = 0; k < 2; k++) {
    if (!values[k]) continue;
    which = side_named(s, "BC"[k]);
    spti_schur_side *side = &s->side[which];
    memcpy(side->val, values[k], (size_t)side->ptr[side->count] * sptrsm_dtype_bytes(side->dtype));
    if (!on_host(s)) SPTI_TRY(spti_schur_gpu_set_values(s, which));
  }
  return SPTRSM_OK;
}

static sptrsm_status check_new_block(const sptrsm_schur *s, int k, const sptrsm_block *block) {
  const char *name = k ? "C" : "B";
  int which;
  SPTI_TRY(find_side(&which, s, k, true, "sptrsm_schur_set_blocks"));
  SPTI_TRY(spti_schur_check_block(block, s->direct, name));
  if (block->nrhs == s->side[which].count) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s has %lld columns, and the block before it had %lld; create another Schur complement", name,
                   (long long)block->nrhs, (long long)s->side[which].count);
}

sptrsm_status sptrsm_schur_set_blocks(sptrsm_schur *s, const sptrsm_block *B, const sptrsm_block *C) {
  if (!s) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_schur_set_blocks: schur is NULL");
  const sptrsm_block *const blocks[2] = {B, C};
  for (int k = 0; k < 2; k++)
    if (blocks[k]) SPTI_TRY(check_new_block(s, k, blocks[k]));
  for (int k = 0; k < 2; k++)
    if (blocks[k]) s->side[side_named(s, "BC"[k])].dense = *blocks[k];
  return SPTRSM_OK;
}

/* ---- solving ---- */

/* The threads that may work on items: all of the context, or as many as the smallest memory limit of them allows. */
static sptrsm_status fit_threads(int *out, size_t *bytes, sptrsm_schur *const *items, int64_t count) {
  size_t limit = 0;
  for (int64_t i = 0; i < count; i++) {
    const size_t own = items[i]->direct->options.memory_limit;
    if (own > 0 && (limit == 0 || own < limit)) limit = own;
  }
  *out = spti_team_threads(items[0]->direct->context->team);
  SPTI_TRY(spti_schur_work_bytes(bytes, items, count, *out));
  while (*out > 1 && limit > 0 && *bytes > limit) SPTI_TRY(spti_schur_work_bytes(bytes, items, count, --*out));
  return SPTRSM_OK;
}

static int64_t count_of(const sptrsm_schur *s, char name) {
  const int which = side_named(s, name);
  return s->side[which < 0 ? SPTI_SCHUR_RIGHT : which].count;
}

static sptrsm_status check_solve(const sptrsm_schur *s, const sptrsm_block *S) {
  const sptrsm_direct *d = s->direct;
  if (S->n != count_of(s, 'C') || S->nrhs != count_of(s, 'B'))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "S is %d x %lld, but C has %lld rows and B %lld columns", S->n, (long long)S->nrhs,
                     (long long)count_of(s, 'C'), (long long)count_of(s, 'B'));
  SPTI_TRY(spti_block_check(S, d->context, d->dtype, "S"));
  if (S->place == SPTRSM_CUDA) SPTI_TRY(spti_gpu_check_pointer(d->context, S->data, "S"));
  for (int k = 0; k < 2; k++)
    if (s->side[k].is_dense && spti_blocks_overlap(S, &s->side[k].dense))
      return spti_fail(SPTRSM_ERR_ARGUMENT, "S overlaps dense %s, which is read while S is written", s->side[k].name);
  if (s->hermitian) SPTI_TRY(check_symmetric_D(d));
  for (int32_t i = 0; s->pairs && i < d->n; i++)
    if (s->pairs[i] != couples(d, i))
      return spti_fail(SPTRSM_ERR_ARGUMENT,
                       "D_sub[%d] is %s now; create the Schur complement again, since it relies on where the 2x2 blocks are", i,
                       s->pairs[i] ? "zero" : "not zero");
  return SPTRSM_OK;
}

sptrsm_status sptrsm_schur_solve(sptrsm_schur *s, sptrsm_block *S) {
  if (!s || !S) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_schur_solve: schur or S is NULL");
  SPTI_VISIT(s->direct->context);
  int threads;
  size_t bytes;
  SPTI_TRY(check_solve(s, S));
  if (!on_host(s)) return spti_schur_gpu_solve(&s, 1, S);
  SPTI_TRY(fit_threads(&threads, &bytes, &s, 1));
  if (s->work.members < threads) {
    spti_schur_work_free(&s->work);
    SPTI_TRY(spti_schur_work_create(&s->work, &s, 1, threads));
  }
  return spti_schur_compute(s, &s->work, s->direct->context->team, S);
}

typedef struct {
  sptrsm_schur *const *items;
  const sptrsm_block *S;
  const spti_schur_work *works; /* one for each thread */
  atomic_int result;
} many_job;

static void solve_item(void *argument, int64_t item, int member) {
  many_job *j = argument;
  const sptrsm_status status = spti_schur_compute(j->items[item], &j->works[member], NULL, &j->S[item]);
  if (status != SPTRSM_OK) atomic_store(&j->result, status);
}

/* Items go over threads; where there are fewer items than threads, the threads share each of them. */
static sptrsm_status solve_all(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S, spti_schur_work *works, int *made) {
  spti_team *team = items[0]->direct->context->team;
  int threads;
  size_t bytes;
  SPTI_TRY(fit_threads(&threads, &bytes, items, count));
  const bool apart = count >= threads;
  for (*made = 0; *made < (apart ? threads : 1); (*made)++)
    SPTI_TRY(spti_schur_work_create(&works[*made], items, count, apart ? 1 : threads));
  many_job job = {.items = items, .S = S, .works = works};
  atomic_init(&job.result, SPTRSM_OK);
  if (apart) spti_team_run(team, threads, count, solve_item, &job);
  for (int64_t i = 0; !apart && i < count; i++) SPTI_TRY(spti_schur_compute(items[i], works, team, &S[i]));
  return (sptrsm_status)atomic_load(&job.result);
}

static sptrsm_status check_items(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S) {
  for (int64_t i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "item %lld", (long long)i);
    if (!items[i]) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s is NULL", name);
    const sptrsm_context *context = items[i]->direct->context, *first = items[0]->direct->context;
    if (context != first && (context->place == SPTRSM_CUDA || first->place == SPTRSM_CUDA))
      return spti_fail(SPTRSM_ERR_ARGUMENT, "%s has another context than item 0; on a device all items must have one", name);
    SPTI_TRY(spti_name_object(check_solve(items[i], &S[i]), name));
  }
  return spti_schur_check_overlap(items, count, S);
}

sptrsm_status sptrsm_schur_solve_many(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S) {
  if (count < 0 || (count > 0 && (!items || !S)))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_schur_solve_many: %lld items, items or S is NULL", (long long)count);
  if (count == 0) return SPTRSM_OK;
  SPTI_VISIT(items[0] ? items[0]->direct->context : NULL);
  SPTI_TRY(check_items(items, count, S));
  if (!on_host(items[0])) return spti_schur_gpu_solve(items, count, S);
  spti_schur_work *works;
  int made = 0;
  SPTI_TRY(spti_host_alloc(&works, spti_team_threads(items[0]->direct->context->team), sizeof *works, "workspaces of threads"));
  const sptrsm_status status = solve_all(items, count, S, works, &made);
  while (made > 0) spti_schur_work_free(&works[--made]);
  spti_host_free(works);
  return status;
}

/* ---- information ---- */

static void host_facts(sptrsm_schur_facts *out, const sptrsm_schur *s) {
  double rows = 0, all = 0;
  for (int which = 0; which < 2; which++)
    for (int64_t g = 0; g < s->side[which].group_count; g++, out->groups++) {
      rows += (double)s->side[which].groups[g].rows;
      all += s->direct->n;
    }
  out->reached = all > 0 ? rows / all : 0;
}

sptrsm_status sptrsm_schur_info(sptrsm_schur_facts *out, const sptrsm_schur *s) {
  if (!s) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_schur_info: schur is NULL");
  SPTI_TRY(
      spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_schur_facts, analysis_seconds), sizeof *out, "sptrsm_schur_info", "sptrsm_schur_facts"));
  sptrsm_schur_facts facts = {.rows = count_of(s, 'C'), .columns = count_of(s, 'B'), .analysis_seconds = s->analysis_seconds};
  if (on_host(s)) {
    int threads;
    host_facts(&facts, s);
    SPTI_TRY(fit_threads(&threads, &facts.workspace_bytes, (sptrsm_schur *const[]){(sptrsm_schur *)s}, 1));
  } else {
    sptrsm_schur *item = (sptrsm_schur *)s;
    spti_schur_gpu_facts(&facts, s);
    SPTI_TRY(spti_schur_gpu_work_bytes(&facts.workspace_bytes, &item, 1, false));
  }
  spti_sized_write(out, &facts, sizeof facts);
  return SPTRSM_OK;
}
