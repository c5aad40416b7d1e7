/* clone.c -- a matrix in another context, copied without a second validation, or in the same one, with shared lines; and what tells
 * matrices apart. */
#include <sptrsm_multi.h>

#include <string.h>

#include "core/base/dtype.h"
#include "core/blob/blob.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/matrix/matrix.h"

/* ---- copies ---- */

sptrsm_status spti_copy_between(const sptrsm_context *to_context, void *to, sptrsm_place to_place, const sptrsm_context *from_context,
                                const void *from, sptrsm_place from_place, size_t bytes) {
  const bool from_device = from_place == SPTRSM_CUDA, to_device = to_place == SPTRSM_CUDA;
  SPTI_VISIT(to_device ? to_context : from_context);
  if (from_device && to_device) return spti_gpu_copy_peer(to_context, to, from_context, from, bytes);
  return spti_copy_bytes(from_device ? from_context : to_context, to, to_place, from, from_place, bytes);
}

static sptrsm_status copy_source(spti_storage *to, const spti_storage *from, int64_t nnz) {
  if (!from->source) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&to->source, nnz, sizeof *to->source, "map of matrix values"));
  if (nnz > 0) memcpy(to->source, from->source, (size_t)nnz * sizeof *to->source);
  return SPTRSM_OK;
}

static sptrsm_status copy_array(const sptrsm_matrix *m, void *to, const sptrsm_matrix *from, const void *array, size_t bytes) {
  return spti_copy_between(m->context, to, m->home, from->context, array, from->home, bytes);
}

/* A storage of `from` where m is at home. Fails with the storage half made, for sptrsm_matrix_destroy to free. */
static sptrsm_status copy_storage(sptrsm_matrix *m, const sptrsm_matrix *from, int kind) {
  const spti_storage *s = &from->storage[kind][from->home];
  spti_storage *t = &m->storage[kind][m->home];
  const size_t value_bytes = sptrsm_dtype_bytes(m->T.dtype);
  SPTI_TRY(spti_storage_alloc(t, m->home == SPTRSM_HOST ? NULL : m->context, m->T.n, m->nnz, value_bytes));
  SPTI_TRY(copy_array(m, t->ptr, from, s->ptr, ((size_t)m->T.n + 1) * sizeof *t->ptr));
  SPTI_TRY(copy_array(m, t->idx, from, s->idx, (size_t)m->nnz * sizeof *t->idx));
  SPTI_TRY(copy_array(m, t->val, from, s->val, (size_t)m->nnz * value_bytes));
  return copy_source(t, s, m->nnz);
}

/* Arrays that the caller lent are lent to the clone as well, where it can reach them. */
static bool may_borrow(const sptrsm_matrix *m, const sptrsm_matrix *from) {
  const bool same_memory = m->home == from->home && (m->home == SPTRSM_HOST || m->context->device == from->context->device);
  const spti_storage *natural = &from->storage[SPTI_NATURAL][from->home];
  return same_memory && !natural->owned && !natural->source;
}

/* New values on the host of a CUDA context are checked by the pointers of the caller's arrays. */
static sptrsm_status copy_pointers(sptrsm_matrix *m, const sptrsm_matrix *from) {
  const int64_t count = (int64_t)m->T.n + 1;
  if (m->home == SPTRSM_HOST || m->T.place == SPTRSM_CUDA || m->T.diag == SPTRSM_UNIT) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&m->caller_ptr, count, sizeof *m->caller_ptr, "matrix pointers"));
  const int64_t *known = from->caller_ptr ? from->caller_ptr : from->storage[SPTI_NATURAL][SPTRSM_HOST].ptr;
  memcpy(m->caller_ptr, known, (size_t)count * sizeof *known);
  return SPTRSM_OK;
}

/* The transposed storage comes along between contexts of one kind; a device makes its own faster than it is sent. */
static sptrsm_status copy_all(sptrsm_matrix *m, const sptrsm_matrix *from) {
  const sptrsm_place place = m->home;
  if (may_borrow(m, from)) m->storage[SPTI_NATURAL][place] = from->storage[SPTI_NATURAL][place];
  else SPTI_TRY(copy_storage(m, from, SPTI_NATURAL));
  if (place == from->home && from->storage[SPTI_TRANSPOSED][place].val) SPTI_TRY(copy_storage(m, from, SPTI_TRANSPOSED));
  return copy_pointers(m, from);
}

/* A matrix without storages. */
static sptrsm_status begin(sptrsm_matrix **out, sptrsm_context *context, const sptrsm_matrix *from) {
  sptrsm_matrix *m;
  SPTI_TRY(spti_host_alloc(&m, 1, sizeof *m, "matrix"));
  *m = (sptrsm_matrix){.context = context,
                       .T = from->T,
                       .nnz = from->nnz,
                       .caller_nnz = from->caller_nnz,
                       .diagonal_stored = from->diagonal_stored,
                       .hash = {from->hash[0], from->hash[1]},
                       .lock = PTHREAD_MUTEX_INITIALIZER};
  if (context->place == SPTRSM_HOST) m->T.place = SPTRSM_HOST;
  m->home = spti_matrix_home(context, &m->T);
  atomic_init(&m->references, 1);
  spti_context_retain(context);
  *out = m;
  return SPTRSM_OK;
}

sptrsm_status sptrsm_matrix_clone(sptrsm_matrix **out, sptrsm_context *context, const sptrsm_matrix *from) {
  if (!out || !context || !from) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_clone: out, context or matrix is NULL");
  SPTI_VISIT(context);
  sptrsm_matrix *m;
  SPTI_TRY(begin(&m, context, from));
  const sptrsm_status status = copy_all(m, from);
  if (status != SPTRSM_OK) {
    sptrsm_matrix_destroy(m);
    return status;
  }
  *out = m;
  return SPTRSM_OK;
}

/* ---- shared lines ---- */

sptrsm_status spti_matrix_like(sptrsm_matrix **out, sptrsm_matrix *from) {
  const spti_storage *lines = &from->storage[SPTI_NATURAL][SPTRSM_HOST];
  sptrsm_matrix *m;
  if (lines->source) return sptrsm_matrix_clone(out, from->context, from);
  SPTI_TRY(begin(&m, from->context, from));
  m->pattern_of = from;
  spti_matrix_retain(from);
  spti_storage *natural = &m->storage[SPTI_NATURAL][SPTRSM_HOST];
  const size_t value_bytes = sptrsm_dtype_bytes(m->T.dtype);
  const sptrsm_status status = spti_storage_share(natural, lines, m->nnz, value_bytes);
  if (status != SPTRSM_OK) {
    sptrsm_matrix_destroy(m);
    return status;
  }
  spti_storage_gather(natural->val, lines->val, NULL, m->nnz, value_bytes);
  *out = m;
  return SPTRSM_OK;
}

/* ---- comparisons ---- */

static const spti_storage *natural_of(const sptrsm_matrix *m) { return &m->storage[SPTI_NATURAL][SPTRSM_HOST]; }

sptrsm_status spti_matrix_hash(uint64_t *pattern, uint64_t *values, const sptrsm_matrix *matrix) {
  sptrsm_matrix *m = (sptrsm_matrix *)matrix; /* the hashes are a cache */
  const spti_storage *s = natural_of(m);
  spti_team *team = m->context->team;
  if (m->context->place != SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "plans of a CUDA device are not exported or imported; make the plan anew");
  if (m->hash[0] == 0) {
    const int64_t shape[] = {m->T.n, m->nnz, m->T.format, m->T.uplo, m->T.diag, m->diagonal_stored};
    const uint64_t ptr = spti_hash(team, s->ptr, ((size_t)m->T.n + 1) * sizeof *s->ptr);
    const uint64_t idx = spti_hash(team, s->idx, (size_t)m->nnz * sizeof *s->idx);
    m->hash[0] = spti_hash_join(spti_hash(NULL, shape, sizeof shape), spti_hash_join(ptr, idx)) | 1;
  }
  if (m->hash[1] == 0) m->hash[1] = spti_hash(team, s->val, (size_t)m->nnz * sptrsm_dtype_bytes(m->T.dtype)) | 1;
  *pattern = m->hash[0];
  *values = m->hash[1];
  return SPTRSM_OK;
}

static bool same_bytes(const void *a, const void *b, size_t bytes) { return a == b || bytes == 0 || memcmp(a, b, bytes) == 0; }

bool spti_matrix_same_pattern(const sptrsm_matrix *a, const sptrsm_matrix *b) {
  const spti_storage *s = natural_of(a), *t = natural_of(b);
  if (a->T.n != b->T.n || a->nnz != b->nnz || a->T.dtype != b->T.dtype || a->T.format != b->T.format || a->T.uplo != b->T.uplo ||
      a->T.diag != b->T.diag || a->diagonal_stored != b->diagonal_stored)
    return false;
  return same_bytes(s->ptr, t->ptr, ((size_t)a->T.n + 1) * sizeof *s->ptr) && same_bytes(s->idx, t->idx, (size_t)a->nnz * sizeof *s->idx);
}

bool spti_matrix_same_values(const sptrsm_matrix *a, const sptrsm_matrix *b) {
  return same_bytes(natural_of(a)->val, natural_of(b)->val, (size_t)a->nnz * sptrsm_dtype_bytes(a->T.dtype));
}
