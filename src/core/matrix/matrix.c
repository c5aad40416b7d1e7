/* matrix.c -- creation of a matrix (validate, then copy or borrow), its views, and new values. */
#include "core/base/dtype.h"
#include "core/matrix/matrix.h"

#include <string.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"

spti_op spti_op_from(sptrsm_op op) { return (spti_op){.transpose = op != SPTRSM_N, .conj = op == SPTRSM_C}; }

/* ---- creation ---- */

/* Copies a T in device memory, which has nnz entries, to the host. */
static sptrsm_status download(spti_storage *out, sptrsm_sparse *host, const sptrsm_sparse *T, int64_t nnz, const sptrsm_context *context) {
  spti_storage device = {.ptr = (int64_t *)T->ptr, .idx = (int32_t *)T->idx, .val = (void *)T->val};
  SPTI_TRY(spti_storage_copy(out, SPTRSM_HOST, &device, SPTRSM_CUDA, context, T->n, nnz, sptrsm_dtype_bytes(T->dtype)));
  *host = *T;
  host->place = SPTRSM_HOST;
  host->ptr = out->ptr;
  host->idx = out->idx;
  host->val = out->val;
  return SPTRSM_OK;
}

static void count_entries(sptrsm_matrix *m, int64_t caller_nnz, int64_t diagonals) {
  m->caller_nnz = caller_nnz;
  m->diagonal_stored = diagonals == m->T.n;
  m->nnz = m->diagonal_stored ? caller_nnz : caller_nnz - diagonals;
}

/* Only some lines store their unit diagonal, so it is dropped everywhere. */
static sptrsm_status adopt_stripped(sptrsm_matrix *m, const spti_storage *given) {
  const sptrsm_place place = m->home;
  const size_t value_bytes = sptrsm_dtype_bytes(m->T.dtype);
  spti_storage *natural = &m->storage[SPTI_NATURAL][place], stripped;
  SPTI_TRY(spti_storage_strip_diagonal(&stripped, given, m->T.n, value_bytes));
  if (place == SPTRSM_HOST) {
    *natural = stripped;
    return SPTRSM_OK;
  }
  const sptrsm_status status = spti_storage_copy(natural, place, &stripped, SPTRSM_HOST, m->context, m->T.n, m->nnz, value_bytes);
  if (status == SPTRSM_OK) {
    natural->source = stripped.source;
    stripped.source = NULL;
  }
  spti_storage_free(&stripped, NULL);
  return status;
}

/* Fills the natural storage of the context's place from the caller's arrays, or borrows them where it may. */
static sptrsm_status adopt(sptrsm_matrix *m, const sptrsm_sparse *T) {
  const sptrsm_place place = m->home;
  spti_storage *natural = &m->storage[SPTI_NATURAL][place];
  const spti_storage given = {.ptr = (int64_t *)T->ptr, .idx = (int32_t *)T->idx, .val = (void *)T->val, .present = true};
  if (m->mode == SPTRSM_BORROW && T->place == place) {
    *natural = given;
    return SPTRSM_OK;
  }
  return spti_storage_copy(natural, place, &given, T->place, m->context, T->n, m->nnz, sptrsm_dtype_bytes(T->dtype));
}

static sptrsm_status check_values(const sptrsm_context *context, const void *val, sptrsm_dtype dtype) {
  return spti_gpu_check_array(context, val, sptrsm_dtype_bytes(dtype), "matrix: val");
}

static sptrsm_status check_pointers(const sptrsm_context *context, const sptrsm_sparse *T) {
  SPTI_TRY(spti_gpu_check_array(context, T->ptr, sizeof *T->ptr, "matrix: ptr"));
  SPTI_TRY(spti_gpu_check_array(context, T->idx, sizeof *T->idx, "matrix: idx"));
  return check_values(context, T->val, T->dtype);
}

/* New values of host arrays are checked by this copy of ptr, instead of one that comes back from the device. */
static sptrsm_status keep_pointers(sptrsm_matrix *m, const int64_t *ptr) {
  if (m->home == SPTRSM_HOST || m->T.diag == SPTRSM_UNIT) return SPTRSM_OK;
  const size_t count = (size_t)m->T.n + 1;
  SPTI_TRY(spti_host_alloc(&m->caller_ptr, (int64_t)count, sizeof *m->caller_ptr, "matrix pointers"));
  memcpy(m->caller_ptr, ptr, count * sizeof *ptr);
  return SPTRSM_OK;
}

static sptrsm_status fill_from_host(sptrsm_matrix *m, const sptrsm_sparse *T) {
  const spti_storage given = {.ptr = (int64_t *)T->ptr, .idx = (int32_t *)T->idx, .val = (void *)T->val};
  int64_t diagonals = 0;
  SPTI_TRY(spti_validate(T, &diagonals));
  count_entries(m, T->ptr[T->n], diagonals);
  SPTI_TRY(keep_pointers(m, T->ptr));
  return m->nnz < m->caller_nnz ? adopt_stripped(m, &given) : adopt(m, T);
}

/* Once it is known that the host is needed: for the message, or to drop unit diagonals. */
static sptrsm_status fill_by_way_of_host(sptrsm_matrix *m, const sptrsm_sparse *T, int64_t nnz) {
  spti_storage copy = {0};
  sptrsm_sparse host;
  SPTI_TRY(download(&copy, &host, T, nnz, m->context));
  const sptrsm_status status = fill_from_host(m, &host);
  spti_storage_free(&copy, NULL);
  return status;
}

/* The number of entries is ptr[n], so that is fetched first. */
static sptrsm_status fill_from_device(sptrsm_matrix *m, const sptrsm_sparse *T) {
  int64_t nnz = 0;
  spti_line_check found;
  SPTI_TRY(spti_validate_description(T));
  SPTI_TRY(check_pointers(m->context, T));
  SPTI_TRY(spti_copy_bytes(m->context, &nnz, SPTRSM_HOST, T->ptr + T->n, SPTRSM_CUDA, sizeof nnz));
  if (nnz > 0 && (!T->idx || !T->val))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: idx or val is NULL with %lld entries", (long long)nnz);
  if (nnz < 0 || nnz > (int64_t)T->n * ((int64_t)T->n + 1) / 2)
    return spti_fail(SPTRSM_ERR_STRUCTURE, "ptr[%d] = %lld is not a number of entries of an n = %d matrix", T->n, (long long)nnz, T->n);
  if (nnz == 0) return fill_by_way_of_host(m, T, nnz);
  SPTI_TRY(spti_gpu_check_lines(&found, m->context, T, nnz));
  count_entries(m, nnz, found.diagonals);
  return found.good && m->nnz == nnz ? adopt(m, T) : fill_by_way_of_host(m, T, nnz);
}

static sptrsm_status fill(sptrsm_matrix *m, const sptrsm_sparse *T) {
  return T->place == SPTRSM_HOST ? fill_from_host(m, T) : fill_from_device(m, T);
}

sptrsm_status sptrsm_matrix_create(sptrsm_matrix **out, sptrsm_context *context, const sptrsm_sparse *T, sptrsm_copy_mode mode) {
  if (!out || !context || !T) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_create: out, context or T is NULL");
  if (mode != SPTRSM_COPY && mode != SPTRSM_BORROW)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_create: unknown copy mode %d", (int)mode);
  if (T->place != SPTRSM_HOST && T->place != SPTRSM_CUDA) return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: unknown place %d", (int)T->place);
  if (T->place == SPTRSM_CUDA && context->place == SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: arrays in device memory need a CUDA context");
  SPTI_VISIT(context);
  sptrsm_matrix *m;
  SPTI_TRY(spti_host_alloc(&m, 1, sizeof *m, "matrix"));
  *m = (sptrsm_matrix){.context = context, .T = *T, .mode = mode, .home = spti_matrix_home(context, T), .lock = PTHREAD_MUTEX_INITIALIZER};
  atomic_init(&m->references, 1);
  spti_context_retain(context);
  sptrsm_status status = fill(m, T);
  if (status != SPTRSM_OK) {
    sptrsm_matrix_destroy(m);
    return status;
  }
  *out = m;
  return SPTRSM_OK;
}

void spti_matrix_retain(sptrsm_matrix *m) { atomic_fetch_add(&m->references, 1); }

void sptrsm_matrix_destroy(sptrsm_matrix *m) {
  if (!m || atomic_fetch_sub(&m->references, 1) > 1) return;
  SPTI_VISIT(m->context);
  for (int kind = 0; kind < 2; kind++) {
    spti_storage_free(&m->storage[kind][SPTRSM_HOST], NULL);
    if (m->context->place == SPTRSM_CUDA) spti_storage_free(&m->storage[kind][SPTRSM_CUDA], m->context);
  }
  sptrsm_matrix_destroy(m->pattern_of);
  spti_host_free(m->caller_ptr);
  sptrsm_context_destroy(m->context);
  spti_host_free(m);
}

/* ---- views ---- */

static spti_lines lines_of(const spti_storage *s) { return (spti_lines){.ptr = s->ptr, .idx = s->idx, .val = s->val}; }

/* From the natural storage in device memory to the transposed one. Also for new values of the same pattern. */
static sptrsm_status transpose_on_device(const sptrsm_matrix *m, const spti_storage *target) {
  spti_lines from = lines_of(&m->storage[SPTI_NATURAL][SPTRSM_CUDA]), to = lines_of(target);
  return spti_gpu_transpose(m->context, m->T.n, m->nnz, m->T.dtype, &from, &to);
}

static sptrsm_status make_transposed_on_device(sptrsm_matrix *m) {
  spti_storage *target = &m->storage[SPTI_TRANSPOSED][SPTRSM_CUDA];
  SPTI_TRY(spti_storage_alloc(target, m->context, m->T.n, m->nnz, sptrsm_dtype_bytes(m->T.dtype)));
  sptrsm_status status = transpose_on_device(m, target);
  if (status != SPTRSM_OK) spti_storage_free(target, m->context);
  return status;
}

/* Transposes on the host, for the host perhaps without values. A storage that goes to a device has its map at once. */
static sptrsm_status make_transposed(sptrsm_matrix *m, sptrsm_place place, bool values) {
  size_t value_bytes = values ? sptrsm_dtype_bytes(m->T.dtype) : 0;
  const spti_storage *natural;
  spti_storage temporary, transposed = {0};
  SPTI_TRY(spti_matrix_on_host(&natural, &temporary, m));
  const int64_t *map = m->storage[SPTI_NATURAL][m->home].source;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_storage_transpose(&transposed, natural, m->T.n, value_bytes));
  spti_storage *target = &m->storage[SPTI_TRANSPOSED][place];
  if (place == SPTRSM_HOST) {
    *target = transposed;
    transposed = (spti_storage){0};
  } else {
    SPTI_TRY_DONE(spti_storage_map_transposed(&transposed, natural, map, m->T.n));
    SPTI_TRY_DONE(spti_storage_copy(target, place, &transposed, SPTRSM_HOST, m->context, m->T.n, m->nnz, value_bytes));
    target->source = transposed.source;
    transposed.source = NULL;
  }
done:
  spti_storage_free(&transposed, NULL);
  spti_storage_free(&temporary, NULL);
  return status;
}

static sptrsm_status ensure(sptrsm_matrix *m, int kind, sptrsm_place place, bool values);

/* The lines that another matrix has, or makes now. */
static sptrsm_status share_transposed(sptrsm_matrix *m) {
  spti_storage *s = &m->storage[SPTI_TRANSPOSED][SPTRSM_HOST];
  SPTI_TRY(ensure(m->pattern_of, SPTI_TRANSPOSED, SPTRSM_HOST, false));
  *s = m->pattern_of->storage[SPTI_TRANSPOSED][SPTRSM_HOST];
  s->val = NULL;
  s->owned = s->shared = true;
  return SPTRSM_OK;
}

static sptrsm_status make_storage(sptrsm_matrix *m, int kind, sptrsm_place place, bool values) {
  if (m->pattern_of && kind == SPTI_TRANSPOSED) return share_transposed(m);
  const bool fits = m->T.n > 0 && m->nnz > 0 && m->nnz <= INT32_MAX, on_device = m->storage[SPTI_NATURAL][SPTRSM_CUDA].present;
  if (kind == SPTI_TRANSPOSED)
    return place == SPTRSM_CUDA && fits && on_device ? make_transposed_on_device(m) : make_transposed(m, place, values);
  const sptrsm_place home = m->home; /* the natural storage in the other place of a CUDA context */
  return spti_storage_copy(&m->storage[SPTI_NATURAL][place], place, &m->storage[SPTI_NATURAL][home], home, m->context, m->T.n, m->nnz,
                           sptrsm_dtype_bytes(m->T.dtype));
}

/* Transposed lines that were made without values get them here. */
static sptrsm_status ensure(sptrsm_matrix *m, int kind, sptrsm_place place, bool values) {
  spti_storage *s = &m->storage[kind][place];
  if (!s->present) SPTI_TRY(make_storage(m, kind, place, values));
  if (s->val || !values || kind == SPTI_NATURAL) return SPTRSM_OK;
  return spti_storage_transpose_values(s, &m->storage[SPTI_NATURAL][SPTRSM_HOST], m->T.n, sptrsm_dtype_bytes(m->T.dtype));
}

static sptrsm_status view(spti_view *out, const sptrsm_matrix *matrix, spti_op op, spti_orientation wanted, sptrsm_place place,
                          bool values) {
  sptrsm_matrix *m = (sptrsm_matrix *)matrix; /* the storages are a cache */
  bool natural_pulls = (m->T.format == SPTRSM_CSR) != op.transpose;
  bool transposed = wanted != SPTI_ANY && natural_pulls != (wanted == SPTI_PULL);
  int kind = transposed ? SPTI_TRANSPOSED : SPTI_NATURAL;
  pthread_mutex_lock(&m->lock);
  const sptrsm_status status = ensure(m, kind, place, values);
  const spti_storage s = m->storage[kind][place];
  pthread_mutex_unlock(&m->lock);
  SPTI_TRY(status);
  bool diagonal_first = ((m->T.format == SPTRSM_CSR) == (m->T.uplo == SPTRSM_UPPER)) != transposed;
  *out = (spti_view){.n = m->T.n,
                     .nnz = m->nnz,
                     .dtype = m->T.dtype,
                     .place = place,
                     .ptr = s.ptr,
                     .idx = s.idx,
                     .val = s.val,
                     .head = m->diagonal_stored && diagonal_first,
                     .tail = m->diagonal_stored && !diagonal_first,
                     .pull = natural_pulls != transposed,
                     .backward = (m->T.uplo == SPTRSM_UPPER) != op.transpose,
                     .conj = op.conj && spti_is_complex(m->T.dtype),
                     .unit = m->T.diag == SPTRSM_UNIT};
  return SPTRSM_OK;
}

sptrsm_status spti_matrix_view(spti_view *out, const sptrsm_matrix *m, spti_op op, spti_orientation wanted, sptrsm_place place) {
  return view(out, m, op, wanted, place, true);
}

sptrsm_status spti_matrix_lines(spti_view *out, const sptrsm_matrix *m, spti_op op, spti_orientation wanted) {
  return view(out, m, op, wanted, SPTRSM_HOST, false);
}

/* ---- new values ---- */

void spti_matrix_add_dependant(sptrsm_matrix *m, spti_dependant *d) {
  pthread_mutex_lock(&m->lock);
  d->next = m->dependants;
  m->dependants = d;
  pthread_mutex_unlock(&m->lock);
}

void spti_matrix_remove_dependant(sptrsm_matrix *m, const spti_dependant *d) {
  pthread_mutex_lock(&m->lock);
  spti_dependant **at = &m->dependants;
  while (*at && *at != d) at = &(*at)->next;
  if (*at) *at = d->next;
  pthread_mutex_unlock(&m->lock);
}

/* The caller's new values. Where they are in device memory, `host` is a copy for what only the host can do, or NULL. */
typedef struct {
  const void *caller, *host;
  void *copy; /* to be freed */
} new_values;

static sptrsm_status bring_to_host(new_values *v, const sptrsm_matrix *m) {
  const size_t value_bytes = sptrsm_dtype_bytes(m->T.dtype);
  if (v->host) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&v->copy, m->caller_nnz, value_bytes, "new matrix values"));
  SPTI_TRY(spti_copy_bytes(m->context, v->copy, SPTRSM_HOST, v->caller, SPTRSM_CUDA, (size_t)m->caller_nnz * value_bytes));
  v->host = v->copy;
  return SPTRSM_OK;
}

static sptrsm_status check_diagonal_on_host(const sptrsm_matrix *m, const void *host_val) {
  const spti_storage *natural;
  spti_storage temporary = {0};
  sptrsm_sparse T = m->T;
  T.ptr = m->caller_ptr;
  if (!T.ptr) {
    SPTI_TRY(spti_matrix_on_host(&natural, &temporary, m));
    T.ptr = natural->ptr;
  }
  const sptrsm_status status = spti_validate_diagonal(&T, host_val);
  spti_storage_free(&temporary, NULL);
  return status;
}

static sptrsm_status check_new_diagonal(const sptrsm_matrix *m, new_values *v) {
  spti_line_check found;
  sptrsm_sparse T = m->T;
  if (m->T.diag == SPTRSM_UNIT) return SPTRSM_OK;
  if (v->host) return check_diagonal_on_host(m, v->host);
  T.ptr = m->storage[SPTI_NATURAL][SPTRSM_CUDA].ptr;
  T.idx = NULL;
  T.val = v->caller;
  SPTI_TRY(spti_gpu_check_lines(&found, m->context, &T, m->nnz));
  if (found.good) return SPTRSM_OK;
  SPTI_TRY(bring_to_host(v, m));
  return check_diagonal_on_host(m, v->host);
}

static sptrsm_status refresh_storage(sptrsm_matrix *m, int kind, sptrsm_place place, new_values *v) {
  spti_storage *s = &m->storage[kind][place];
  size_t value_bytes = sptrsm_dtype_bytes(m->T.dtype);
  const int64_t *source = s->source ? s->source : kind == SPTI_NATURAL ? m->storage[kind][m->home].source : NULL;
  if (!s->present || !s->owned || !s->val) return SPTRSM_OK;
  if (place == SPTRSM_HOST || source) SPTI_TRY(bring_to_host(v, m));
  if (place == SPTRSM_HOST) {
    spti_storage_gather(s->val, v->host, source, m->nnz, value_bytes);
    return SPTRSM_OK;
  }
  if (!source && kind == SPTI_TRANSPOSED) return transpose_on_device(m, s);
  if (!source) return spti_copy_bytes(m->context, s->val, place, v->caller, m->T.place, (size_t)m->nnz * value_bytes);
  void *gathered;
  SPTI_TRY(spti_host_alloc(&gathered, m->nnz, value_bytes, "new matrix values"));
  spti_storage_gather(gathered, v->host, source, m->nnz, value_bytes);
  sptrsm_status status = spti_copy_bytes(m->context, s->val, place, gathered, SPTRSM_HOST, (size_t)m->nnz * value_bytes);
  spti_host_free(gathered);
  return status;
}

/* Every cached storage, then everything made from them. */
static sptrsm_status follow_values(sptrsm_matrix *m, new_values *v) {
  for (int kind = 0; kind < 2; kind++) /* the natural storages first: the device transposes its own */
    for (int place = 0; place < 2; place++) SPTI_TRY(refresh_storage(m, kind, (sptrsm_place)place, v));
  for (spti_dependant *d = m->dependants; d; d = d->next) SPTI_TRY(d->refresh(d->owner));
  return SPTRSM_OK;
}

/* What can fail before anything is changed: the check, and memory for the map of the transposed lines. */
static sptrsm_status prepare_values(const sptrsm_matrix *m, new_values *v) {
  SPTI_TRY(check_new_diagonal(m, v));
  return m->storage[SPTI_TRANSPOSED][SPTRSM_HOST].val ? spti_matrix_need_map((sptrsm_matrix *)m) : SPTRSM_OK;
}

static sptrsm_status replace_values(sptrsm_matrix *m, new_values *v) {
  SPTI_TRY(prepare_values(m, v));
  spti_storage *natural = &m->storage[SPTI_NATURAL][m->home];
  void *old = natural->val;
  if (!natural->owned) natural->val = (void *)v->caller;
  m->hash[1] = 0;
  sptrsm_status status = follow_values(m, v);
  if (status != SPTRSM_OK && !natural->owned) natural->val = old; /* a failed call leaves the old values in place */
  return status;
}

static sptrsm_status take_values(new_values *out, const sptrsm_matrix *m, const void *val) {
  *out = (new_values){.caller = val, .host = m->T.place == SPTRSM_HOST ? val : NULL};
  return m->T.place == SPTRSM_CUDA ? check_values(m->context, val, m->T.dtype) : SPTRSM_OK;
}

sptrsm_status spti_matrix_check_values(const sptrsm_matrix *m, const void *val) {
  new_values v;
  SPTI_TRY(take_values(&v, m, val));
  sptrsm_status status = prepare_values(m, &v);
  spti_host_free(v.copy);
  return status;
}

sptrsm_status sptrsm_matrix_set_values(sptrsm_matrix *m, const void *val) {
  if (!m || (!val && m->caller_nnz > 0)) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_set_values: matrix or val is NULL");
  SPTI_VISIT(m->context);
  new_values v;
  if (m->context->place == SPTRSM_CUDA) SPTI_TRY(spti_gpu_refuse_capture(m->context, "new values"));
  SPTI_TRY(take_values(&v, m, val));
  sptrsm_status status = replace_values(m, &v);
  spti_host_free(v.copy);
  return status;
}
