/* columns.c -- the columns of B, or the rows of C: checks, the order in which they are solved, and the rows that groups of them reach.
 *
 * A column is nonzero after the solve in the rows that its own rows reach in the graph of the triangle [gilbert1988]. Columns are sorted by
 * their first row; after a postorder of the elimination tree, columns with neighbouring first rows lie in the same subtrees, so that the
 * union of their reaches is hardly larger than one of them. One sweep over the lines of the triangle finds the union for a group: a pass
 * over pattern alone, where the group's solve makes up to 32 products for each entry. */
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/schur/schur.h"

/* ---- checks and copies ---- */

sptrsm_status spti_schur_check_block(const sptrsm_block *block, const sptrsm_direct *d, const char *name) {
  if (block->n != d->n) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s has %d rows, the factors have order %d", name, block->n, d->n);
  SPTI_TRY(spti_block_check(block, d->context, d->dtype, name));
  if (block->nrhs > INT32_MAX)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s has %lld columns; S has at most %d rows and columns", name, (long long)block->nrhs,
                     INT32_MAX);
  return SPTRSM_OK;
}

static sptrsm_status check_dense(const sptrsm_schur_columns *c, const sptrsm_direct *d, const char *name) {
  if (c->count != 0 || c->ptr || c->idx || c->val)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s is given both dense and sparse; leave count, ptr, idx and val out, or dense", name);
  return spti_schur_check_block(c->dense, d, name);
}

static sptrsm_status check_column(const sptrsm_schur_columns *c, int64_t k, int32_t n, const char *name) {
  for (int64_t p = c->ptr[k]; p < c->ptr[k + 1]; p++) {
    if (c->idx[p] < 0 || c->idx[p] >= n)
      return spti_fail(SPTRSM_ERR_STRUCTURE, "%s: idx[%lld] = %d in column %lld is not in 0..%d", name, (long long)p, c->idx[p],
                       (long long)k, n - 1);
    if (p > c->ptr[k] && c->idx[p] <= c->idx[p - 1])
      return spti_fail(SPTRSM_ERR_STRUCTURE, "%s: idx[%lld] = %d in column %lld comes after %d; sort the rows and add up duplicates", name,
                       (long long)p, c->idx[p], (long long)k, c->idx[p - 1]);
  }
  return SPTRSM_OK;
}

static sptrsm_status check_sparse(const sptrsm_schur_columns *c, int32_t n, const char *name) {
  if (c->count < 0 || c->count > INT32_MAX)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: count = %lld is not in 0..%d", name, (long long)c->count, INT32_MAX);
  if (c->count == 0) return SPTRSM_OK;
  if (!c->ptr) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: ptr is NULL", name);
  if (c->ptr[0] != 0) return spti_fail(SPTRSM_ERR_STRUCTURE, "%s: ptr[0] = %lld is not 0", name, (long long)c->ptr[0]);
  for (int64_t k = 0; k < c->count; k++)
    if (c->ptr[k + 1] < c->ptr[k])
      return spti_fail(SPTRSM_ERR_STRUCTURE, "%s: ptr[%lld] = %lld is less than the one before, %lld", name, (long long)k + 1,
                       (long long)c->ptr[k + 1], (long long)c->ptr[k]);
  if (c->ptr[c->count] > 0 && (!c->idx || !c->val)) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: idx or val is NULL", name);
  for (int64_t k = 0; k < c->count; k++) SPTI_TRY(check_column(c, k, n, name));
  return SPTRSM_OK;
}

static sptrsm_status copy_array(void *out /* T ** */, const void *from, int64_t count, size_t bytes) {
  void *copy;
  SPTI_TRY(spti_host_alloc(&copy, count, bytes, "columns of B and C"));
  if (count > 0) memcpy(copy, from, (size_t)count * bytes);
  memcpy(out, &copy, sizeof copy);
  return SPTRSM_OK;
}

sptrsm_status spti_schur_take_columns(spti_schur_side *side, const sptrsm_schur_columns *given, const sptrsm_direct *d, const char *name) {
  sptrsm_schur_columns c;
  SPTI_TRY(spti_sized_read(&c, sizeof c, given, SPTI_SIZE_UP_TO(sptrsm_schur_columns, val), "sptrsm_schur_columns"));
  side->name = name;
  side->dtype = d->dtype;
  if (c.dense) {
    SPTI_TRY(check_dense(&c, d, name));
    side->is_dense = true;
    side->dense = *c.dense;
    side->count = c.dense->nrhs;
    return SPTRSM_OK;
  }
  SPTI_TRY(check_sparse(&c, d->n, name));
  side->count = c.count;
  const int64_t none = 0, entries = c.count > 0 ? c.ptr[c.count] : 0;
  SPTI_TRY(copy_array(&side->ptr, c.count > 0 ? c.ptr : &none, c.count + 1, sizeof *c.ptr));
  SPTI_TRY(copy_array(&side->idx, c.idx, entries, sizeof *c.idx));
  return copy_array(&side->val, c.val, entries, sptrsm_dtype_bytes(d->dtype));
}

void spti_schur_side_free(spti_schur_side *side) {
  spti_host_free(side->ptr);
  spti_host_free(side->idx);
  spti_host_free(side->val);
  spti_host_free(side->order);
  spti_host_free(side->groups);
  spti_host_free(side->runs);
}

/* ---- order ---- */

int32_t spti_schur_row_of(const spti_schur_side *side, int64_t p) {
  return side->edge.inverse ? side->edge.inverse[side->idx[p]] : side->idx[p];
}

typedef struct {
  int32_t first; /* row of the factors */
  int64_t column;
} sort_key;

static int compare(const void *a, const void *b) {
  const sort_key *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return x->column < y->column ? -1 : x->column > y->column;
}

/* The first row of column k, INT32_MAX if it has none. */
static int32_t first_row(const spti_schur_side *side, int64_t k) {
  int32_t first = INT32_MAX;
  if (side->is_dense) return 0;
  for (int64_t p = side->ptr[k]; p < side->ptr[k + 1]; p++)
    if (spti_schur_row_of(side, p) < first) first = spti_schur_row_of(side, p);
  return first;
}

sptrsm_status spti_schur_sort_columns(spti_schur_side *side) {
  sort_key *keys;
  SPTI_TRY(spti_host_alloc(&side->order, side->count, sizeof *side->order, "order of columns"));
  SPTI_TRY(spti_host_alloc(&keys, side->count, sizeof *keys, "order of columns"));
  for (int64_t k = 0; k < side->count; k++) keys[k] = (sort_key){.first = first_row(side, k), .column = k};
  if (side->count > 0) qsort(keys, (size_t)side->count, sizeof *keys, compare);
  for (int64_t k = 0; k < side->count; k++) side->order[k] = keys[k].column;
  spti_host_free(keys);
  return SPTRSM_OK;
}

/* ---- reach ---- */

/* Adds to the set the rows that its rows from `first` on reach. */
static void close_set(unsigned char *set, const spti_view *v, int32_t first) {
  for (int32_t i = first; i < v->n; i++) {
    const int64_t end = spti_view_end(v, i);
    int64_t p = spti_view_begin(v, i);
    if (v->pull) {
      while (!set[i] && p < end) set[i] = set[v->idx[p++]];
      continue;
    }
    if (!set[i]) continue;
    for (; p < end; p++) set[v->idx[p]] = 1;
  }
}

/* Rows that a 2x2 block of D couples become nonzero together; what they hold before D^-1 are zeros, which reach nothing. */
static void close_pairs(unsigned char *set, const unsigned char *pairs, int32_t n) {
  for (int32_t i = 0; pairs && i + 1 < n; i++)
    if (pairs[i]) set[i] = set[i + 1] = set[i] | set[i + 1];
}

static sptrsm_status append_run(spti_schur_side *side, spti_schur_group *g, int32_t row, int32_t count) {
  if (side->run_count == side->run_space) {
    spti_schur_run *more;
    const int64_t space = 2 * side->run_space + 64;
    SPTI_TRY(spti_host_alloc(&more, space, sizeof *more, "rows of groups"));
    if (side->run_count > 0) memcpy(more, side->runs, (size_t)side->run_count * sizeof *more);
    spti_host_free(side->runs);
    side->runs = more;
    side->run_space = space;
  }
  side->runs[side->run_count++] = (spti_schur_run){.row = row, .count = count};
  g->runs++;
  g->rows += count;
  return SPTRSM_OK;
}

/* Turns the set into the runs of the group and empties it. */
static sptrsm_status take_runs(spti_schur_side *side, spti_schur_group *g, unsigned char *set, int32_t first) {
  const int32_t n = side->plan->view.n;
  for (int32_t i = first; i < n; i++) {
    if (!set[i]) continue;
    const int32_t begin = i;
    for (; i < n && set[i]; i++) set[i] = 0;
    SPTI_TRY(append_run(side, g, begin, i - begin));
  }
  return SPTRSM_OK;
}

static sptrsm_status find_rows(spti_schur_side *side, spti_schur_group *g, const unsigned char *pairs, unsigned char *set) {
  const int32_t n = side->plan->view.n;
  g->run = side->run_count;
  if (side->is_dense) return n > 0 ? append_run(side, g, 0, n) : SPTRSM_OK;
  int32_t first = n;
  for (int64_t k = g->first; k < g->first + g->width; k++)
    for (int64_t p = side->ptr[side->order[k]]; p < side->ptr[side->order[k] + 1]; p++) {
      const int32_t row = spti_schur_row_of(side, p);
      set[row] = 1;
      if (row < first) first = row;
    }
  close_set(set, &side->plan->view, first);
  close_pairs(set, pairs, n);
  return take_runs(side, g, set, first > 0 ? first - 1 : 0); /* the row before may have come in as the first of a pair */
}

static int32_t padded(int32_t width) { return (width + SPTI_SCHUR_VECTOR - 1) / SPTI_SCHUR_VECTOR * SPTI_SCHUR_VECTOR; }

sptrsm_status spti_schur_group_columns(spti_schur_side *side, const unsigned char *pairs) {
  unsigned char *set;
  sptrsm_status status = SPTRSM_OK;
  SPTI_TRY(spti_schur_sort_columns(side));
  side->group_count = (side->count + SPTI_SCHUR_GROUP - 1) / SPTI_SCHUR_GROUP;
  side->run_space = side->group_count;
  SPTI_TRY(spti_host_alloc(&side->groups, side->group_count, sizeof *side->groups, "groups of columns"));
  SPTI_TRY(spti_host_alloc(&side->runs, side->run_space, sizeof *side->runs, "rows of groups"));
  SPTI_TRY(spti_host_alloc(&set, side->plan->view.n, sizeof *set, "set of rows"));
  if (side->plan->view.n > 0) memset(set, 0, (size_t)side->plan->view.n);
  for (int64_t g = 0; g < side->group_count && status == SPTRSM_OK; g++) {
    const int64_t first = g * SPTI_SCHUR_GROUP, left = side->count - first;
    const int32_t width = left < SPTI_SCHUR_GROUP ? (int32_t)left : SPTI_SCHUR_GROUP;
    spti_schur_group *group = &side->groups[g];
    *group = (spti_schur_group){.first = first, .width = width, .ld = padded(width), .at = side->stored};
    status = find_rows(side, group, pairs, set);
    side->stored += group->rows * group->ld;
  }
  spti_host_free(set);
  return status;
}
