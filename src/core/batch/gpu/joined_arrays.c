/* joined_arrays.c -- items on their way to the device, where each becomes a diagonal block of the joined factors. The items that fit into a
 * half of a page-locked buffer are checked, shifted and copied there by the context's host threads, while the other half is sent. */
#include <stdatomic.h>
#include <string.h>

#include "core/batch/gpu/joined.h"
#include "core/batch/stand_in.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"

/* Bytes of half a buffer, if no item needs more. */
#ifndef SPTI_JOINED_STAGE
#define SPTI_JOINED_STAGE ((size_t)4 << 20)
#endif

/* Arrays with a number for each row: its member, and the maps of both sides. */
enum { ROW_MEMBER, ROW_MAPS, ROW_ARRAYS = ROW_MAPS + 4 };

typedef struct {
  spti_joined_set *set;
  const sptrsm_batch *b;
  const spti_batch_source *source;
  size_t value_bytes;
  int32_t *row_array[ROW_ARRAYS]; /* device, [rows of the set]; NULL: no member has a permutation there */
  int64_t begin, end;             /* the members that are in half a buffer */
  int64_t *ptr[2];                /* where it has their lines' ends, */
  int32_t *idx[2];                /* indices, */
  char *val[2];                   /* values; triangles in device memory have theirs there; */
  int32_t *row[ROW_ARRAYS];       /* and row_array */
  atomic_bool bad;                /* a member on the host has a fault */
} joined_stage;

static const sptrsm_factors *factors_of(const joined_stage *s, int64_t m) { return s->source->items[s->set->item[m]]; }
static const sptrsm_sparse *triangle_of(const joined_stage *s, int64_t m, int t) { return t ? factors_of(s, m)->U : factors_of(s, m)->L; }
static int triangles(const joined_stage *s) { return 1 + s->set->form.has_U; }
static int64_t entries_of(const joined_stage *s, int64_t m, int t) { return s->set->at[t][m + 1] - s->set->at[t][m]; }
static int32_t order_of(const joined_stage *s, int64_t m) { return s->set->first[m + 1] - s->set->first[m]; }

static bool is_on_host(const joined_stage *s, int64_t m) {
  for (int t = 0; t < triangles(s); t++)
    if (triangle_of(s, m, t)->place != SPTRSM_HOST) return false;
  return true;
}

const void *spti_joined_host_part(const sptrsm_factors *f, int part) {
  const void *const parts[SPTI_HOST_PARTS] = {f->D, f->D_sub, f->scale_row, f->scale_col};
  return parts[part];
}

/* ---- one member, from the caller's arrays to the buffer ---- */

/* Checks a pattern in host memory, then copies and shifts it. */
static sptrsm_status stage_pattern(joined_stage *s, int64_t m, int t, const int64_t *ptr, const int32_t *idx) {
  const spti_joined_set *set = s->set;
  const int32_t n = order_of(s, m), first = set->first[m];
  const int64_t at = set->at[t][m], nnz = entries_of(s, m, t);
  sptrsm_sparse T = *triangle_of(s, m, t);
  T.place = SPTRSM_HOST, T.ptr = ptr, T.idx = idx;
  SPTI_TRY(spti_validate_pattern(&T));
  int64_t *to = s->ptr[t] + (first - set->first[s->begin]);
  int32_t *to_idx = s->idx[t] + (at - set->at[t][s->begin]);
  for (int32_t i = 0; i < n; i++) to[i] = ptr[i + 1] + at;
  for (int64_t p = 0; p < nnz; p++) to_idx[p] = idx[p] + first;
  return SPTRSM_OK;
}

/* The pattern of a triangle in device memory is checked on the host, too. */
static sptrsm_status stage_fetched_pattern(joined_stage *s, int64_t m, int t) {
  const sptrsm_sparse *T = triangle_of(s, m, t);
  const int64_t nnz = entries_of(s, m, t), lines = (int64_t)T->n + 1;
  int64_t *ptr = NULL;
  int32_t *idx = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&ptr, lines, sizeof *ptr, "pattern of an item"));
  SPTI_TRY_DONE(spti_host_alloc(&idx, nnz, sizeof *idx, "pattern of an item"));
  SPTI_TRY_DONE(spti_copy_bytes(s->b->context, ptr, SPTRSM_HOST, T->ptr, T->place, (size_t)lines * sizeof *ptr));
  SPTI_TRY_DONE(spti_copy_bytes(s->b->context, idx, SPTRSM_HOST, T->idx, T->place, (size_t)nnz * sizeof *idx));
  status = stage_pattern(s, m, t, ptr, idx);
done:
  spti_host_free(ptr);
  spti_host_free(idx);
  return status;
}

static sptrsm_status stage_triangle(joined_stage *s, int64_t m, int t) {
  const sptrsm_sparse *T = triangle_of(s, m, t);
  const int64_t nnz = entries_of(s, m, t), before = s->set->at[t][m] - s->set->at[t][s->begin];
  SPTI_TRY(T->place == SPTRSM_HOST ? stage_pattern(s, m, t, T->ptr, T->idx) : stage_fetched_pattern(s, m, t));
  if (nnz > 0 && !T->val) return spti_fail(SPTRSM_ERR_ARGUMENT, "val is NULL with %lld entries", (long long)nnz);
  if (T->place == SPTRSM_HOST && nnz > 0) memcpy(s->val[t] + (size_t)before * s->value_bytes, T->val, (size_t)nnz * s->value_bytes);
  return SPTRSM_OK;
}

/* Checks a permutation, and makes both maps of its side. */
static sptrsm_status stage_maps(joined_stage *s, const int32_t *perm, sptrsm_convention convention, int side, int64_t m) {
  const int32_t first = s->set->first[m], n = order_of(s, m), at = first - s->set->first[s->begin];
  const char *name = side ? "perm_col" : "perm_row";
  if (!s->row_array[ROW_MAPS + 2 * side]) return SPTRSM_OK;
  const bool gather = convention == SPTRSM_GATHER;
  int32_t *given = s->row[ROW_MAPS + 2 * side + !gather] + at, *inverse = s->row[ROW_MAPS + 2 * side + gather] + at;
  if (perm && !gather && convention != SPTRSM_SCATTER)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: unknown convention %d of %s", (int)convention, name);
  if (perm) SPTI_TRY(spti_permutation_invert(inverse, perm, n, name)); /* checks it */
  for (int32_t i = 0; i < n; i++) {
    given[i] = first + (perm ? perm[i] : i);
    inverse[i] = first + (perm ? inverse[i] : i);
  }
  return SPTRSM_OK;
}

static sptrsm_status check_scale_ops(const sptrsm_factors *f) {
  const sptrsm_dtype dtype = f->L->dtype;
  if (!f->D && f->D_sub) return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: D_sub without D");
  SPTI_TRY(spti_scale_check(NULL, f->row_op, 0, dtype, dtype, "scale_row"));
  return spti_scale_check(NULL, f->col_op, 0, dtype, dtype, "scale_col");
}

/* What a member has beside its triangles. */
static sptrsm_status stage_rows(joined_stage *s, int64_t m) {
  const sptrsm_factors *f = factors_of(s, m);
  const size_t first = (size_t)s->set->first[m], n = (size_t)order_of(s, m);
  SPTI_TRY(check_scale_ops(f));
  for (size_t i = 0; i < n; i++) s->row[ROW_MEMBER][first - (size_t)s->set->first[s->begin] + i] = (int32_t)m;
  SPTI_TRY(stage_maps(s, f->perm_row, f->row_convention, 0, m));
  SPTI_TRY(stage_maps(s, f->perm_col, f->col_convention, 1, m));
  for (int p = 0; p < SPTI_HOST_PARTS; p++) {
    const size_t bytes = p < 2 ? s->value_bytes : sizeof(double);
    if (s->set->has[p][m] && n > 0) memcpy((char *)s->set->given[p] + first * bytes, spti_joined_host_part(f, p), n * bytes);
  }
  return SPTRSM_OK;
}

/* A member is staged in parts: one for each triangle, and one for the rest. */
static int parts(const joined_stage *s) { return triangles(s) + 1; }
static sptrsm_status stage_part(joined_stage *s, int64_t m, int part) {
  return part < triangles(s) ? spti_name_object(stage_triangle(s, m, part), part ? "U" : "L") : stage_rows(s, m);
}

/* ---- the members that half a buffer holds ---- */

static void stage_on_host(void *argument, int64_t piece, int thread) {
  joined_stage *s = argument;
  const int64_t m = s->begin + piece / parts(s);
  (void)thread;
  if (is_on_host(s, m) && stage_part(s, m, (int)(piece % parts(s))) != SPTRSM_OK) atomic_store(&s->bad, true);
}

/* Host threads take the members in host memory, the caller those on the device. After a fault the caller goes through all members again,
 * since the first one at fault is to be named, and by the caller's thread. */
static sptrsm_status stage_members(joined_stage *s) {
  spti_team *team = s->b->context->team;
  atomic_store(&s->bad, false);
  spti_team_run(team, spti_team_ready(team), (s->end - s->begin) * parts(s), stage_on_host, s);
  const bool bad = atomic_load(&s->bad);
  for (int64_t m = s->begin; m < s->end; m++)
    for (int part = 0; part < parts(s) && (bad || !is_on_host(s, m)); part++)
      SPTI_TRY(spti_batch_name_item(stage_part(s, m, part), s->set->item[m]));
  return SPTRSM_OK;
}

/* Values in device memory go straight to their places. */
static sptrsm_status copy_device_values(const joined_stage *s, int64_t m, int t) {
  const sptrsm_sparse *T = triangle_of(s, m, t);
  const int64_t nnz = entries_of(s, m, t);
  if (T->place == SPTRSM_HOST || nnz == 0) return SPTRSM_OK;
  SPTI_TRY(spti_batch_name_item(spti_gpu_check_pointer(s->b->context, T->val, t ? "U" : "L"), s->set->item[m]));
  return spti_copy_bytes(s->b->context, (char *)s->set->val[t] + (size_t)s->set->at[t][m] * s->value_bytes, SPTRSM_CUDA, T->val,
                         SPTRSM_CUDA, (size_t)nnz * s->value_bytes);
}

static sptrsm_status send_triangle(const joined_stage *s, int t) {
  const spti_joined_set *set = s->set;
  const int32_t row = set->first[s->begin];
  const int64_t at = set->at[t][s->begin];
  const size_t lines = (size_t)(set->first[s->end] - row), entries = (size_t)(set->at[t][s->end] - at);
  const sptrsm_context *context = s->b->context;
  SPTI_TRY(spti_gpu_send(context, set->ptr[t] + row + 1, s->ptr[t], lines * sizeof *s->ptr[t]));
  SPTI_TRY(spti_gpu_send(context, set->idx[t] + at, s->idx[t], entries * sizeof *s->idx[t]));
  SPTI_TRY(spti_gpu_send(context, (char *)set->val[t] + (size_t)at * s->value_bytes, s->val[t], entries * s->value_bytes));
  for (int64_t m = s->begin; m < s->end; m++) SPTI_TRY(copy_device_values(s, m, t));
  return SPTRSM_OK;
}

static sptrsm_status send_rows(const joined_stage *s) {
  const int32_t row = s->set->first[s->begin], rows = s->set->first[s->end] - row;
  for (int a = 0; a < ROW_ARRAYS; a++)
    if (s->row_array[a]) SPTI_TRY(spti_gpu_send(s->b->context, s->row_array[a] + row, s->row[a], (size_t)rows * sizeof *s->row[a]));
  return SPTRSM_OK;
}

/* ---- the buffer ---- */

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* What the members [begin, end) take in a buffer. With a buffer: also says where. */
static size_t lay_out(joined_stage *s, char *buffer, int64_t begin, int64_t end) {
  const size_t lines = (size_t)(s->set->first[end] - s->set->first[begin]);
  size_t used = 0;
  for (int a = 0; a < ROW_ARRAYS; a++) {
    s->row[a] = buffer && s->row_array[a] ? (int32_t *)(buffer + used) : NULL;
    if (s->row_array[a]) used += aligned(lines * sizeof **s->row);
  }
  for (int t = 0; t < triangles(s); t++) {
    const size_t entries = (size_t)(s->set->at[t][end] - s->set->at[t][begin]);
    const size_t bytes[] = {lines * sizeof **s->ptr, entries * sizeof **s->idx, entries * s->value_bytes};
    void *at[3];
    for (int a = 0; a < 3; used += aligned(bytes[a++])) at[a] = buffer ? buffer + used : NULL;
    s->ptr[t] = at[0], s->idx[t] = at[1], s->val[t] = at[2];
  }
  return used;
}

/* Bytes of half a buffer. */
static size_t half_bytes(joined_stage *s) {
  size_t largest = 0;
  for (int64_t m = 0; m < s->set->members; m++) {
    const size_t taken = lay_out(s, NULL, m, m + 1);
    if (taken > largest) largest = taken;
  }
  const size_t all = lay_out(s, NULL, 0, s->set->members), most = all < SPTI_JOINED_STAGE ? all : SPTI_JOINED_STAGE;
  return most > largest ? most : largest;
}

static sptrsm_status send_all(joined_stage *s) {
  const size_t bytes = half_bytes(s);
  char *halves[2] = {NULL, NULL};
  sptrsm_status status;
  SPTI_TRY(spti_gpu_host_alloc(s->b->context, (void **)&halves[0], 2 * bytes + 1));
  halves[1] = halves[0] + bytes;
  int half = 0;
  for (s->begin = 0; s->begin < s->set->members; s->begin = s->end, half = 1 - half) {
    s->end = s->begin + 1;
    while (s->end < s->set->members && lay_out(s, NULL, s->begin, s->end + 1) <= bytes) s->end++;
    lay_out(s, halves[half], s->begin, s->end);
    SPTI_TRY_DONE(stage_members(s));
    SPTI_TRY_DONE(spti_gpu_wait(s->b->context)); /* for the other half */
    for (int t = 0; t < triangles(s); t++) SPTI_TRY_DONE(send_triangle(s, t));
    SPTI_TRY_DONE(send_rows(s));
  }
  status = SPTRSM_OK;
done:
  if (spti_gpu_wait(s->b->context) != SPTRSM_OK) status = SPTRSM_ERR_DEVICE; /* what was queued reads the buffer */
  spti_gpu_host_free(halves[0]);
  return status;
}

/* ---- all members ---- */

/* Room for D and scalings, with identities where members have none. */
static sptrsm_status alloc_given(spti_joined_set *set, const sptrsm_batch *b) {
  const int64_t n = set->first[set->members];
  for (int p = 0; p < SPTI_HOST_PARTS; p++) {
    bool any = false;
    const sptrsm_dtype dtype = p < 2 ? b->dtype : SPTRSM_F64;
    const size_t bytes = sptrsm_dtype_bytes(dtype);
    for (int64_t m = 0; m < set->members; m++) any = any || set->has[p][m];
    if (!any) continue;
    SPTI_TRY(spti_host_alloc(&set->given[p], n, bytes, "joined items"));
    if (p == 1) memset(set->given[p], 0, (size_t)n * bytes);
    else spti_batch_set_ones(set->given[p], n, dtype);
  }
  return SPTRSM_OK;
}

static sptrsm_status alloc_rows(joined_stage *s) {
  bool any[2] = {false};
  for (int64_t m = 0; m < s->set->members; m++) {
    any[0] = any[0] || factors_of(s, m)->perm_row;
    any[1] = any[1] || factors_of(s, m)->perm_col;
  }
  for (int a = 0; a < ROW_ARRAYS; a++)
    if (a < ROW_MAPS || any[(a - ROW_MAPS) / 2])
      SPTI_TRY(spti_alloc(s->b->context, &s->row_array[a], s->set->first[s->set->members], sizeof *s->row_array[a], "joined items"));
  return SPTRSM_OK;
}

static sptrsm_status alloc_triangles(const joined_stage *s) {
  spti_joined_set *set = s->set;
  const sptrsm_context *context = s->b->context;
  for (int t = 0; t < triangles(s); t++) {
    const int64_t nnz = set->at[t][set->members];
    SPTI_TRY(spti_alloc(context, &set->ptr[t], (int64_t)set->first[set->members] + 1, sizeof *set->ptr[t], "joined items"));
    SPTI_TRY(spti_alloc(context, &set->idx[t], nnz, sizeof *set->idx[t], "joined items"));
    SPTI_TRY(spti_alloc(context, &set->val[t], nnz, s->value_bytes, "joined items"));
    SPTI_TRY(spti_gpu_zero(context, set->ptr[t], sizeof *set->ptr[t])); /* the first line begins at 0; the buffer has where lines end */
  }
  return SPTRSM_OK;
}

static sptrsm_status upload(void *out, const sptrsm_batch *b, const void *from, int64_t count, size_t bytes) {
  void *memory;
  SPTI_TRY(spti_alloc(b->context, &memory, count, bytes, "joined items"));
  memcpy(out, &memory, sizeof memory);
  return spti_copy_bytes(b->context, memory, SPTRSM_CUDA, from, SPTRSM_HOST, (size_t)count * bytes);
}

static sptrsm_status upload_members(spti_joined_set *set, const sptrsm_batch *b) {
  SPTI_TRY(upload(&set->rows.first, b, set->first, set->members + 1, sizeof *set->first));
  return upload(&set->rows.item, b, set->item, set->members, sizeof *set->item);
}

static sptrsm_status upload_all(joined_stage *s) {
  SPTI_TRY(alloc_given(s->set, s->b));
  SPTI_TRY(alloc_rows(s));
  SPTI_TRY(alloc_triangles(s));
  SPTI_TRY(send_all(s));
  return upload_members(s->set, s->b);
}

sptrsm_status spti_joined_upload(spti_joined_set *set, spti_side sides[2], const sptrsm_batch *b, const spti_batch_source *source) {
  joined_stage s = {.set = set, .b = b, .source = source, .value_bytes = sptrsm_dtype_bytes(b->dtype)};
  const sptrsm_status status = upload_all(&s);
  set->rows.n = set->first[set->members];
  set->rows.row_member = s.row_array[ROW_MEMBER];
  for (int side = 0; side < 2; side++)
    sides[side] = (spti_side){.map = s.row_array[ROW_MAPS + 2 * side], .inverse = s.row_array[ROW_MAPS + 2 * side + 1]};
  return status;
}
