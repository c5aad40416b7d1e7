/* cut.c -- see reach.h: cuts the part's triangles and D out of the factors. */
#include "core/reach/reach.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/context/alloc.h"

static void put_one(void *values, int64_t p, sptrsm_dtype dtype) {
  int64_t at = spti_is_complex(dtype) ? 2 * p : p;
  if (spti_is_single(dtype)) ((float *)values)[at] = 1;
  else ((double *)values)[at] = 1;
  if (!spti_is_complex(dtype)) return;
  if (spti_is_single(dtype)) ((float *)values)[at + 1] = 0;
  else ((double *)values)[at + 1] = 0;
}

static void copy_values(void *to, int64_t q, const void *from, int64_t p, int64_t count, sptrsm_dtype dtype) {
  size_t bytes = sptrsm_dtype_bytes(dtype);
  memcpy((char *)to + (size_t)q * bytes, (const char *)from + (size_t)p * bytes, (size_t)count * bytes);
}

static void conjugate(void *values, int64_t count, sptrsm_dtype dtype) {
  for (int64_t p = 0; spti_is_complex(dtype) && p < count; p++) {
    if (spti_is_single(dtype)) ((float *)values)[2 * p + 1] = -((float *)values)[2 * p + 1];
    else ((double *)values)[2 * p + 1] = -((double *)values)[2 * p + 1];
  }
}

/* Is entry p of line i copied? Stored diagonal entries of a unit triangle are not: they are never read. */
static bool stays(const sptrsm_sparse *T, const spti_row_set *worked, int32_t i, int64_t p) {
  return worked[T->idx[p]] && !(T->diag == SPTRSM_UNIT && T->idx[p] == i);
}

static void count_lines(int64_t *ptr, const spti_reach_rows *r, const sptrsm_sparse *T, const spti_row_set *worked) {
  ptr[0] = 0;
  for (int32_t k = 0; k < r->m; k++) {
    int32_t i = r->rows[k];
    int64_t kept = 0;
    for (int64_t p = T->ptr[i]; worked[i] && p < T->ptr[i + 1]; p++) kept += stays(T, worked, i, p);
    if (!worked[i]) kept = T->diag == SPTRSM_NONUNIT;
    ptr[k + 1] = ptr[k] + kept;
  }
}

/* Values are copied in runs of consecutive entries, since most entries of a line that is worked on are kept. */
static void fill_lines(int32_t *idx, void *val, const spti_reach_rows *r, const sptrsm_sparse *T, const spti_row_set *worked) {
  int64_t q = 0;
  for (int32_t k = 0; k < r->m; k++) {
    int32_t i = r->rows[k];
    if (!worked[i] && T->diag == SPTRSM_NONUNIT) {
      idx[q] = k;
      put_one(val, q++, T->dtype);
    }
    for (int64_t p = T->ptr[i], end = worked[i] ? T->ptr[i + 1] : p; p < end;) {
      int64_t begin = p;
      for (; p < end && stays(T, worked, i, p); p++) idx[q + p - begin] = r->number[T->idx[p]];
      copy_values(val, q, T->val, begin, p - begin, T->dtype);
      q += p - begin;
      p += p < end; /* skips an entry that is not kept */
    }
  }
}

sptrsm_status spti_reach_cut_triangle(sptrsm_sparse *out, const spti_reach_rows *r, const sptrsm_sparse *T, const spti_row_set *worked,
                                      bool conj) {
  int64_t *ptr;
  int32_t *idx;
  void *val;
  *out = *T;
  out->ptr = NULL, out->idx = NULL, out->val = NULL;
  out->n = r->m;
  SPTI_TRY(spti_host_alloc(&ptr, (int64_t)r->m + 1, sizeof *ptr, "triangle of the reach"));
  out->ptr = ptr;
  count_lines(ptr, r, T, worked);
  SPTI_TRY(spti_host_alloc(&idx, ptr[r->m], sizeof *idx, "triangle of the reach"));
  out->idx = idx;
  SPTI_TRY(spti_host_alloc(&val, ptr[r->m], sptrsm_dtype_bytes(T->dtype), "triangle of the reach"));
  out->val = val;
  fill_lines(idx, val, r, T, worked);
  if (conj) conjugate(val, ptr[r->m], T->dtype);
  return SPTRSM_OK;
}

sptrsm_status spti_reach_cut_diagonal(void **out, const spti_reach_rows *r, const void *values, int part) {
  const spti_row_set *worked = r->worked[SPTI_D];
  sptrsm_dtype dtype = r->f->L->dtype;
  size_t bytes = sptrsm_dtype_bytes(dtype);
  SPTI_TRY(spti_host_alloc(out, r->m, bytes, "D of the reach"));
  for (int32_t k = 0; k < r->m; k++) {
    if (worked[r->rows[k]]) copy_values(*out, k, values, r->rows[k], 1, dtype);
    else if (part == 0) put_one(*out, k, dtype);
    else memset((char *)*out + (size_t)k * bytes, 0, bytes);
  }
  return SPTRSM_OK;
}
