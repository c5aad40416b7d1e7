/* interleaved_pattern.c -- the pattern of a uniform batch: checked once, then put in level order on the host for each operation. */
#include <string.h>

#include "core/batch/gpu/interleaved.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/levels/levels.h"

sptrsm_status spti_batch_interleaved_alloc(const sptrsm_batch *b, void *out, int64_t entries, size_t bytes, const char *what) {
  spti_batch_interleaved *s = b->state;
  size_t item_bytes, total;
  void *memory;
  SPTI_TRY(spti_bytes(&item_bytes, entries, bytes, what));
  SPTI_TRY(spti_bytes(&total, s->groups << s->log_group, item_bytes, what));
  SPTI_TRY(spti_alloc(b->context, &memory, (int64_t)total, 1, what));
  memcpy(out, &memory, sizeof memory);
  s->bytes += total;
  return spti_gpu_zero(b->context, memory, total); /* the last group may lack items */
}

/* ---- the caller's pattern ---- */

static sptrsm_status copy_array(void *out, const sptrsm_batch *b, const void *from, sptrsm_place place, int64_t count, size_t bytes) {
  void *copy;
  SPTI_TRY(spti_host_alloc(&copy, count, bytes, "pattern of a batch"));
  const sptrsm_status status = spti_copy_bytes(b->context, copy, SPTRSM_HOST, from, place, (size_t)count * bytes);
  if (status != SPTRSM_OK) {
    spti_host_free(copy);
    return status;
  }
  memcpy(out, &copy, sizeof copy);
  return SPTRSM_OK;
}

/* A part of the pattern in device memory. */
static sptrsm_status upload(void *out, const sptrsm_batch *b, const int32_t *from, int64_t count) {
  spti_batch_interleaved *s = b->state;
  int32_t *memory;
  SPTI_TRY(spti_alloc(b->context, &memory, count, sizeof *memory, "pattern of a batch"));
  memcpy(out, &memory, sizeof memory);
  s->bytes += (size_t)count * sizeof *memory;
  return spti_copy_bytes(b->context, memory, SPTRSM_CUDA, from, SPTRSM_HOST, (size_t)count * sizeof *memory);
}

/* The position of each row's diagonal. */
static sptrsm_status find_diagonal(spti_batch_triangle *t, const sptrsm_batch *b) {
  const sptrsm_sparse *T = &t->T;
  int32_t *position;
  if (t->unit) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&position, T->n, sizeof *position, "diagonal of a batch"));
  for (int32_t i = 0; i < T->n; i++)
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++)
      if (T->idx[p] == i) position[i] = (int32_t)p;
  sptrsm_status status;
  SPTI_TRY_DONE(upload(&t->diagonal, b, position, T->n));
  SPTI_TRY_DONE(spti_batch_interleaved_alloc(b, &t->diag, T->n, sptrsm_dtype_bytes(T->dtype), "diagonals of a batch"));
done:
  spti_host_free(position);
  return status;
}

sptrsm_status spti_batch_triangle_create(spti_batch_triangle *t, sptrsm_batch *b, const sptrsm_sparse *T, const char *name) {
  int64_t nnz;
  *t = (spti_batch_triangle){.present = true, .unit = T->diag == SPTRSM_UNIT, .T = *T, .values_place = T->place};
  t->T.ptr = NULL, t->T.idx = NULL, t->T.val = NULL;
  t->T.place = SPTRSM_HOST;
  nnz = b->lengths[name[0] == 'L' ? SPTI_PART_L : SPTI_PART_U];
  if (nnz > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "%s: %lld entries; a uniform batch on a device has at most %d an item", name, (long long)nnz,
                     INT32_MAX);
  SPTI_TRY(copy_array(&t->T.ptr, b, T->ptr, T->place, (int64_t)T->n + 1, sizeof *T->ptr));
  SPTI_TRY(copy_array(&t->T.idx, b, T->idx, T->place, nnz, sizeof *T->idx));
  SPTI_TRY(spti_name_object(spti_validate_pattern(&t->T), name));
  return find_diagonal(t, b);
}

static void order_free(spti_batch_order_of *o, const sptrsm_context *context) {
  void *const arrays[] = {o->level, o->row, o->start, o->column, o->source, o->val};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) spti_free(context, arrays[i]);
}

void spti_batch_triangle_free(spti_batch_triangle *t, const sptrsm_context *context) {
  spti_host_free((void *)t->T.ptr);
  spti_host_free((void *)t->T.idx);
  spti_host_free(t->place);
  spti_free(context, t->diagonal);
  spti_free(context, t->diag);
  for (int i = 0; i < 2; i++) order_free(&t->of[i], context);
}

/* ---- rows in natural order: the entries that each row needs, without diagonals ---- */

typedef struct {
  int64_t *ptr;
  int32_t *idx, *source;
} rows;

static void rows_free(rows *r) {
  spti_host_free(r->ptr);
  spti_host_free(r->idx);
  spti_host_free(r->source);
}

/* Adds line i, entry p of the triangle to the row that it belongs to. */
static void fill_rows(rows *r, const sptrsm_sparse *T, bool lines_are_rows) {
  int64_t *at = r->ptr + 1; /* at[i]: where the next entry of row i goes; in the end the begin of row i + 1 */
  memset(r->ptr, 0, ((size_t)T->n + 2) * sizeof *r->ptr);
  for (int32_t i = 0; i < T->n; i++)
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++)
      if (T->idx[p] != i) at[(lines_are_rows ? i : T->idx[p]) + 1]++;
  for (int32_t i = 0; i < T->n; i++) at[i + 1] += at[i];
  for (int32_t i = 0; i < T->n; i++)
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) {
      if (T->idx[p] == i) continue;
      const int64_t q = at[lines_are_rows ? i : T->idx[p]]++;
      r->idx[q] = lines_are_rows ? T->idx[p] : i;
      r->source[q] = (int32_t)p;
    }
}

static sptrsm_status make_rows(rows *r, const sptrsm_sparse *T, bool transposed) {
  const int64_t nnz = T->ptr[T->n];
  *r = (rows){0};
  SPTI_TRY(spti_host_alloc(&r->ptr, (int64_t)T->n + 2, sizeof *r->ptr, "pattern of a batch"));
  SPTI_TRY(spti_host_alloc(&r->idx, nnz, sizeof *r->idx, "pattern of a batch"));
  SPTI_TRY(spti_host_alloc(&r->source, nnz, sizeof *r->source, "pattern of a batch"));
  fill_rows(r, T, (T->format == SPTRSM_CSR) != transposed);
  return SPTRSM_OK;
}

/* ---- rows in level order ---- */

typedef struct {
  int32_t *start, *column, *source;
} packed_rows;

static void packed_free(packed_rows *p) {
  spti_host_free(p->start);
  spti_host_free(p->column);
  spti_host_free(p->source);
}

static sptrsm_status pack_rows(packed_rows *out, const rows *r, const spti_levels *levels, int32_t n) {
  *out = (packed_rows){0};
  SPTI_TRY(spti_host_alloc(&out->start, (int64_t)n + 1, sizeof *out->start, "pattern of a batch"));
  SPTI_TRY(spti_host_alloc(&out->column, r->ptr[n], sizeof *out->column, "pattern of a batch"));
  SPTI_TRY(spti_host_alloc(&out->source, r->ptr[n], sizeof *out->source, "pattern of a batch"));
  int32_t q = 0;
  for (int32_t t = 0; t < n; t++) {
    const int32_t i = levels->order[t];
    out->start[t] = q;
    for (int64_t p = r->ptr[i]; p < r->ptr[i + 1]; p++, q++) {
      out->column[q] = r->idx[p];
      out->source[q] = r->source[p];
    }
  }
  out->start[n] = q;
  return SPTRSM_OK;
}

/* Entries that of[0] has already are found there; the values of another order are copied from it. */
static sptrsm_status find_sources(spti_batch_triangle *t, packed_rows *p, int64_t entries, bool first) {
  if (!first) {
    for (int64_t q = 0; q < entries; q++) p->source[q] = t->place[p->source[q]];
    return SPTRSM_OK;
  }
  SPTI_TRY(spti_host_alloc(&t->place, t->T.ptr[t->T.n], sizeof *t->place, "pattern of a batch"));
  for (int64_t q = 0; q < entries; q++) t->place[p->source[q]] = (int32_t)q;
  return SPTRSM_OK;
}

static sptrsm_status upload_order(spti_batch_order_of *o, const sptrsm_batch *b, const spti_levels *levels, const packed_rows *p,
                                  int32_t n) {
  o->levels = levels->count;
  o->entries = p->start[n];
  SPTI_TRY(upload(&o->level, b, levels->ptr, (int64_t)levels->count + 1));
  SPTI_TRY(upload(&o->row, b, levels->order, n));
  SPTI_TRY(upload(&o->start, b, p->start, (int64_t)n + 1));
  SPTI_TRY(upload(&o->column, b, p->column, o->entries));
  SPTI_TRY(upload(&o->source, b, p->source, o->entries));
  return spti_batch_interleaved_alloc(b, &o->val, o->entries, sptrsm_dtype_bytes(b->dtype), "values of a batch");
}

sptrsm_status spti_batch_order_create(spti_batch_triangle *t, const sptrsm_batch *b, bool transposed) {
  spti_batch_order_of *o = &t->of[transposed];
  spti_batch_interleaved *s = b->state;
  const size_t bytes = s->bytes;
  rows r;
  packed_rows p = {0};
  spti_levels levels = {0};
  const int32_t n = t->T.n;
  sptrsm_status status;
  SPTI_TRY_DONE(make_rows(&r, &t->T, transposed));
  const spti_view view = {.n = n,
                          .nnz = r.ptr[n],
                          .dtype = b->dtype,
                          .place = SPTRSM_HOST,
                          .ptr = r.ptr,
                          .idx = r.idx,
                          .pull = true,
                          .backward = (t->T.uplo == SPTRSM_UPPER) != transposed,
                          .unit = true};
  SPTI_TRY_DONE(spti_levels_build(&levels, &view));
  SPTI_TRY_DONE(pack_rows(&p, &r, &levels, n));
  SPTI_TRY_DONE(find_sources(t, &p, p.start[n], !transposed));
  SPTI_TRY_DONE(upload_order(o, b, &levels, &p, n));
  o->made = true;
done:
  if (!o->made) {
    order_free(o, b->context);
    *o = (spti_batch_order_of){0};
    s->bytes = bytes;
  }
  rows_free(&r);
  packed_free(&p);
  spti_levels_free(&levels);
  return status;
}
