/* storage.c -- compressed lines (CSR or CSC): allocation, copies, transposition by a counting sort, removal of stored unit diagonals;
 * and a matrix's storages on the host and on the device. */
#include "core/matrix/matrix.h"

#include <string.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"

static sptrsm_status get(const sptrsm_context *context, void *out, int64_t count, size_t bytes, const char *what) {
  return context ? spti_alloc(context, out, count, bytes, what) : spti_host_alloc(out, count, bytes, what);
}

static void release(const sptrsm_context *context, void *memory) {
  if (context) spti_free(context, memory);
  else spti_host_free(memory);
}

sptrsm_status spti_storage_alloc(spti_storage *s, const sptrsm_context *context, int32_t n, int64_t nnz, size_t value_bytes) {
  *s = (spti_storage){.owned = true, .present = true};
  sptrsm_status status;
  SPTI_TRY_GOTO(get(context, &s->ptr, (int64_t)n + 1, sizeof *s->ptr, "matrix pointers"));
  SPTI_TRY_GOTO(get(context, &s->idx, nnz, sizeof *s->idx, "matrix indices"));
  SPTI_TRY_GOTO(get(context, &s->val, nnz, value_bytes, "matrix values"));
  return SPTRSM_OK;
fail:
  spti_storage_free(s, context);
  return status;
}

void spti_storage_free(spti_storage *s, const sptrsm_context *context) {
  if (s->owned) release(context, s->val);
  if (s->owned && !s->shared) {
    release(context, s->ptr);
    release(context, s->idx);
  }
  if (!s->shared) spti_host_free(s->source);
  *s = (spti_storage){0};
}

static spti_direction direction(sptrsm_place from, sptrsm_place to) {
  return from == to ? SPTI_ON_DEVICE : to == SPTRSM_CUDA ? SPTI_TO_DEVICE : SPTI_TO_HOST;
}

sptrsm_status spti_copy_bytes(const sptrsm_context *context, void *to, sptrsm_place to_place, const void *from, sptrsm_place from_place,
                              size_t bytes) {
  if (bytes == 0) return SPTRSM_OK;
  if (to_place == SPTRSM_HOST && from_place == SPTRSM_HOST) {
    memcpy(to, from, bytes);
    return SPTRSM_OK;
  }
  return spti_gpu_copy(context, to, bytes, from, bytes, bytes, 1, direction(from_place, to_place));
}

sptrsm_status spti_storage_copy(spti_storage *to, sptrsm_place to_place, const spti_storage *from, sptrsm_place from_place,
                                const sptrsm_context *context, int32_t n, int64_t nnz, size_t value_bytes) {
  const sptrsm_context *owner = to_place == SPTRSM_HOST ? NULL : context;
  SPTI_TRY(spti_storage_alloc(to, owner, n, nnz, value_bytes));
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_copy_bytes(context, to->ptr, to_place, from->ptr, from_place, ((size_t)n + 1) * sizeof *to->ptr));
  SPTI_TRY_GOTO(spti_copy_bytes(context, to->idx, to_place, from->idx, from_place, (size_t)nnz * sizeof *to->idx));
  SPTI_TRY_GOTO(spti_copy_bytes(context, to->val, to_place, from->val, from_place, (size_t)nnz * value_bytes));
  return SPTRSM_OK;
fail:
  spti_storage_free(to, owner);
  return status;
}

sptrsm_status spti_storage_share(spti_storage *out, const spti_storage *from, int64_t nnz, size_t value_bytes) {
  spti_storage s = *from;
  SPTI_TRY(spti_host_alloc(&s.val, nnz, value_bytes, "matrix values"));
  s.owned = s.shared = true;
  *out = s;
  return SPTRSM_OK;
}

void spti_storage_gather(void *to, const void *from, const int64_t *source, int64_t nnz, size_t value_bytes) {
  char *out = to;
  const char *in = from;
  if (!source) {
    if (nnz) memcpy(out, in, (size_t)nnz * value_bytes);
    return;
  }
  switch (value_bytes) { /* with constant sizes a copy becomes one move instruction */
  case 4:
    for (int64_t p = 0; p < nnz; p++) memcpy(out + p * 4, in + source[p] * 4, 4);
    break;
  case 8:
    for (int64_t p = 0; p < nnz; p++) memcpy(out + p * 8, in + source[p] * 8, 8);
    break;
  default:
    for (int64_t p = 0; p < nnz; p++) memcpy(out + p * 16, in + source[p] * 16, 16);
  }
}

sptrsm_status spti_storage_strip_diagonal(spti_storage *out, const spti_storage *in, int32_t n, size_t value_bytes) {
  int64_t kept = 0;
  for (int32_t i = 0; i < n; i++)
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++) kept += in->idx[p] != i;
  SPTI_TRY(spti_storage_alloc(out, NULL, n, kept, value_bytes));
  sptrsm_status status = spti_host_alloc(&out->source, kept, sizeof *out->source, "map of matrix values");
  if (status != SPTRSM_OK) {
    spti_storage_free(out, NULL);
    return status;
  }
  int64_t q = 0;
  out->ptr[0] = 0;
  for (int32_t i = 0; i < n; i++) {
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++) {
      if (in->idx[p] == i) continue;
      out->idx[q] = in->idx[p];
      out->source[q++] = p;
    }
    out->ptr[i + 1] = q;
  }
  spti_storage_gather(out->val, in->val, out->source, kept, value_bytes);
  return SPTRSM_OK;
}

/* Puts all entries, line by line, to the next free positions of the lines of `out`; idx or val of `out` may be NULL. */
static inline void put_entries(const spti_storage *out, int64_t *next, const spti_storage *in, int32_t n, size_t value_bytes) {
  char *to = out->val;
  const char *from = in->val;
  for (int32_t i = 0; i < n; i++)
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++) {
      const int64_t q = next[in->idx[p]]++;
      if (out->idx) out->idx[q] = i;
      if (value_bytes > 0) memcpy(to + (size_t)q * value_bytes, from + (size_t)p * value_bytes, value_bytes);
    }
}

static void put_all(const spti_storage *out, int64_t *next, const spti_storage *in, int32_t n, size_t value_bytes) {
  switch (value_bytes) { /* constant sizes, as above */
  case 0: put_entries(out, next, in, n, 0); break;
  case 4: put_entries(out, next, in, n, 4); break;
  case 8: put_entries(out, next, in, n, 8); break;
  default: put_entries(out, next, in, n, 16);
  }
}

/* A stable counting sort by index. */
sptrsm_status spti_storage_transpose(spti_storage *out, const spti_storage *in, int32_t n, size_t value_bytes) {
  int64_t nnz = in->ptr[n];
  SPTI_TRY(spti_storage_alloc(out, NULL, n, nnz, value_bytes));
  int64_t *next = out->ptr; /* while filling, next[j] is the next free position of line j */
  memset(next, 0, ((size_t)n + 1) * sizeof *next);
  for (int64_t p = 0; p < nnz; p++) next[in->idx[p]]++;
  for (int64_t sum = 0, j = 0; j <= n; j++) {
    int64_t count = next[j];
    next[j] = sum;
    sum += count;
  }
  put_all(out, next, in, n, value_bytes);
  for (int64_t j = n; j > 0; j--) next[j] = next[j - 1];
  next[0] = 0;
  if (value_bytes > 0) return SPTRSM_OK;
  spti_host_free(out->val);
  out->val = NULL;
  return SPTRSM_OK;
}

static sptrsm_status copy_pointers(int64_t **out, const spti_storage *s, int32_t n) {
  SPTI_TRY(spti_host_alloc(out, n, sizeof **out, "matrix pointers"));
  if (n > 0) memcpy(*out, s->ptr, (size_t)n * sizeof **out);
  return SPTRSM_OK;
}

sptrsm_status spti_storage_transpose_values(spti_storage *s, const spti_storage *in, int32_t n, size_t value_bytes) {
  spti_storage values = {0};
  int64_t *next;
  SPTI_TRY(copy_pointers(&next, s, n));
  const sptrsm_status status = spti_host_alloc(&values.val, in->ptr[n], value_bytes, "matrix values");
  if (status == SPTRSM_OK) put_all(&values, next, in, n, value_bytes);
  s->val = values.val;
  spti_host_free(next);
  return status;
}

sptrsm_status spti_storage_map_transposed(spti_storage *s, const spti_storage *in, const int64_t *map, int32_t n) {
  int64_t *next, *source;
  SPTI_TRY(copy_pointers(&next, s, n));
  const sptrsm_status status = spti_host_alloc(&source, in->ptr[n], sizeof *source, "map of matrix values");
  if (status == SPTRSM_OK) {
    for (int64_t p = 0; p < in->ptr[n]; p++) source[next[in->idx[p]]++] = map ? map[p] : p;
    s->source = source;
  }
  spti_host_free(next);
  return status;
}

sptrsm_status spti_matrix_on_host(const spti_storage **out, spti_storage *temporary, const sptrsm_matrix *m) {
  const spti_storage *host = &m->storage[SPTI_NATURAL][SPTRSM_HOST];
  *temporary = (spti_storage){0};
  if (!host->present) {
    const spti_storage *device = &m->storage[SPTI_NATURAL][SPTRSM_CUDA];
    SPTI_TRY(spti_storage_copy(temporary, SPTRSM_HOST, device, SPTRSM_CUDA, m->context, m->T.n, m->nnz, sptrsm_dtype_bytes(m->T.dtype)));
    host = temporary;
  }
  *out = host;
  return SPTRSM_OK;
}

sptrsm_status spti_matrix_need_map(sptrsm_matrix *m) {
  spti_storage *s = &m->storage[SPTI_TRANSPOSED][SPTRSM_HOST], temporary;
  const spti_storage *natural;
  if (!s->present || s->source) return SPTRSM_OK;
  if (s->shared) {
    SPTI_TRY(spti_matrix_need_map(m->pattern_of));
    s->source = m->pattern_of->storage[SPTI_TRANSPOSED][SPTRSM_HOST].source;
    return SPTRSM_OK;
  }
  SPTI_TRY(spti_matrix_on_host(&natural, &temporary, m));
  const sptrsm_status status = spti_storage_map_transposed(s, natural, m->storage[SPTI_NATURAL][m->home].source, m->T.n);
  spti_storage_free(&temporary, NULL);
  return status;
}

unsigned spti_matrix_device_copies(const sptrsm_matrix *m) {
  return (m->storage[SPTI_NATURAL][SPTRSM_CUDA].present ? 1 : 0) | (m->storage[SPTI_TRANSPOSED][SPTRSM_CUDA].present ? 2 : 0);
}

void spti_matrix_drop_device_copies(sptrsm_matrix *m, unsigned kept) {
  for (int kind = 0; kind < 2; kind++)
    if (!(kept >> kind & 1)) spti_storage_free(&m->storage[kind][SPTRSM_CUDA], m->context);
}

static size_t storage_bytes(const sptrsm_matrix *m, const spti_storage *s) {
  const size_t nnz = (size_t)m->nnz, values = s->present && s->owned && s->val ? nnz * sptrsm_dtype_bytes(m->T.dtype) : 0;
  const size_t lines = s->present && s->owned ? ((size_t)m->T.n + 1) * sizeof *s->ptr + nnz * sizeof *s->idx : 0;
  return s->shared ? values : values + lines + (s->source ? nnz * sizeof *s->source : 0);
}

size_t spti_matrix_bytes(const sptrsm_matrix *m) {
  size_t bytes = m->caller_ptr ? ((size_t)m->T.n + 1) * sizeof *m->caller_ptr : 0;
  for (int kind = 0; kind < 2; kind++)
    for (int place = 0; place < 2; place++) bytes += storage_bytes(m, &m->storage[kind][place]);
  return bytes;
}
