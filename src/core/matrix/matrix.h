/* matrix.h -- a validated triangle, its storages in host and device memory, stored and transposed, and what depends
 * on its values. */
#ifndef SPTI_CORE_MATRIX_MATRIX_H
#define SPTI_CORE_MATRIX_MATRIX_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/context/context.h"
#include "core/matrix/view.h"

/* Compressed lines (CSR or CSC) in host or device memory. source[p]: the caller's position of the value at position
 * p; NULL: the same position, or, of transposed lines, not needed yet (spti_matrix_need_map). */
typedef struct {
  int64_t *ptr;
  int32_t *idx;
  void *val;       /* NULL: of transposed lines, not needed yet (spti_matrix_lines) */
  int64_t *source; /* host memory */
  bool present, owned;
  bool shared; /* ptr, idx and source are another matrix's (sptrsm_matrix.pattern_of) */
} spti_storage;

enum { SPTI_NATURAL, SPTI_TRANSPOSED }; /* lines as the caller stores them, or transposed */

/* Something made from the values of a matrix, a plan for instance, that follows them when they change. The owner
 * keeps it, and has it removed before it ends. */
typedef struct spti_dependant {
  void *owner;
  sptrsm_status (*refresh)(void *owner); /* the matrix has new values, and all its storages have them */
  struct spti_dependant *next;
} spti_dependant;

struct sptrsm_matrix {
  atomic_int references;
  sptrsm_context *context;
  sptrsm_sparse T;            /* the caller's description; the arrays are in `storage` */
  sptrsm_copy_mode mode;      /* as given to sptrsm_matrix_create; not set in a clone */
  int64_t nnz;                /* entries in the storages */
  int64_t caller_nnz;         /* entries in the caller's arrays: more where stored unit diagonals were dropped */
  bool diagonal_stored;       /* true: in every line; false: in none */
  sptrsm_place home;          /* where the natural storage is: the context's place, or the host of a CUDA context with a memory limit */
  spti_storage storage[2][2]; /* [natural, transposed][host, device] */
  int64_t *caller_ptr;        /* of a matrix at home on a device and given in host memory: a copy of ptr on the host, else NULL */
  pthread_mutex_t lock;       /* of storage and dependants, while two plans of the matrix are made at the same time (core/direct) */
  spti_dependant *dependants; /* that follow set_values, latest first */
  uint64_t hash[2];           /* spti_matrix_hash; 0: not made */
  sptrsm_matrix *pattern_of;  /* retained: the matrix with which this one shares its lines; NULL: they are its own */
};

static inline sptrsm_place spti_matrix_home(const sptrsm_context *context, const sptrsm_sparse *T) {
  return context->memory_limit > 0 && T->place == SPTRSM_HOST ? SPTRSM_HOST : context->place;
}

/* The view of op(T) in the wanted orientation and place, made at the first request and cached. */
sptrsm_status spti_matrix_view(spti_view *out, const sptrsm_matrix *, spti_op, spti_orientation, sptrsm_place);
/* Likewise in a host context, for methods that read only ptr and idx: val may be NULL. */
sptrsm_status spti_matrix_lines(spti_view *out, const sptrsm_matrix *, spti_op, spti_orientation);
/* storage.c: the natural storage in host memory. Where only the device has one, `temporary` holds the copy, which the caller
 * frees. */
sptrsm_status spti_matrix_on_host(const spti_storage **out, spti_storage *temporary, const sptrsm_matrix *);
/* storage.c: the map of the transposed storage in host memory, if there is one without: where new values come, and for the places of
 * values in batches. Not while plans of the matrix are made by several threads. */
sptrsm_status spti_matrix_need_map(sptrsm_matrix *);
/* The errors of set_values, before it is called; makes the map that it needs. */
sptrsm_status spti_matrix_check_values(const sptrsm_matrix *, const void *val);
/* Which storages are in device memory, a bit each; and frees those that are not among `kept`, which no plan uses. */
unsigned spti_matrix_device_copies(const sptrsm_matrix *);
void spti_matrix_drop_device_copies(sptrsm_matrix *, unsigned kept);
size_t spti_matrix_bytes(const sptrsm_matrix *); /* of the arrays that it owns */
void spti_matrix_retain(sptrsm_matrix *);        /* sptrsm_matrix_destroy releases */
void spti_matrix_add_dependant(sptrsm_matrix *, spti_dependant *);
void spti_matrix_remove_dependant(sptrsm_matrix *, const spti_dependant *); /* one that was not added is ignored */

/* clone.c: a matrix with the lines of another one in the same host context, which it shares, and a copy of its values. The transposed
 * storage is shared, too, once it is asked for. Lines of which stored unit diagonals were dropped are copied. */
sptrsm_status spti_matrix_like(sptrsm_matrix **out, sptrsm_matrix *from);

/* clone.c: hashes of the pattern, with triangle and format, and of the values. Host contexts only. */
sptrsm_status spti_matrix_hash(uint64_t *pattern, uint64_t *values, const sptrsm_matrix *);
/* Have two matrices of host contexts the same type, triangle and pattern; and the same values, too? */
bool spti_matrix_same_pattern(const sptrsm_matrix *, const sptrsm_matrix *);
bool spti_matrix_same_values(const sptrsm_matrix *, const sptrsm_matrix *);

/* validate.c: checks everything that kernels rely on. T is in host memory. *diagonals: how many lines store their
 * diagonal. */
sptrsm_status spti_validate(const sptrsm_sparse *T, int64_t *diagonals);
sptrsm_status spti_validate_pattern(const sptrsm_sparse *T);     /* the same but for the values, which are not read */
sptrsm_status spti_validate_description(const sptrsm_sparse *T); /* its first part, which does not look into the arrays */
sptrsm_status spti_validate_frame(const sptrsm_sparse *T);       /* and its second part, about ptr */
sptrsm_status spti_validate_lines(const sptrsm_sparse *T, int32_t first, int32_t end); /* what remains of spti_validate, for some lines */
sptrsm_status spti_validate_diagonal(const sptrsm_sparse *T, const void *val);
/* The first row in which new values of a matrix in host memory have a bad diagonal entry, without a message; -1: none. */
int32_t spti_diagonal_fault(const sptrsm_matrix *, const void *val);

/* Copies between host and device memory, or within one. Waits for the device where the copy goes to the host. */
sptrsm_status spti_copy_bytes(const sptrsm_context *, void *to, sptrsm_place to_place, const void *from, sptrsm_place from_place,
                              size_t bytes);

/* The same between the memory of two contexts, each in device or host memory; they may be of different devices. Waits for both. */
sptrsm_status spti_copy_between(const sptrsm_context *to_context, void *to, sptrsm_place to_place, const sptrsm_context *from_context,
                                const void *from, sptrsm_place from_place, size_t bytes);

/* storage.c: compressed lines and their transposes. */
sptrsm_status spti_storage_alloc(spti_storage *, const sptrsm_context * /* NULL: host */, int32_t n, int64_t nnz, size_t value_bytes);
void spti_storage_free(spti_storage *, const sptrsm_context * /* NULL: host */);
/* A copy of `from` in another place, or in the same one. */
sptrsm_status spti_storage_copy(spti_storage *to, sptrsm_place to_place, const spti_storage *from, sptrsm_place from_place,
                                const sptrsm_context *, int32_t n, int64_t nnz, size_t value_bytes);
/* Host: the lines of `from`, which has to outlive it, with values of its own, which are still to be written. */
sptrsm_status spti_storage_share(spti_storage *out, const spti_storage *from, int64_t nnz, size_t value_bytes);
sptrsm_status spti_storage_strip_diagonal(spti_storage *out, const spti_storage *, int32_t n, size_t value_bytes);
/* The lines of `in`, transposed, without a map, and for value_bytes 0 without values. */
sptrsm_status spti_storage_transpose(spti_storage *out, const spti_storage *in, int32_t n, size_t value_bytes);
/* Values for lines that were made without; they stay NULL if there is no memory. */
sptrsm_status spti_storage_transpose_values(spti_storage *, const spti_storage *in, int32_t n, size_t value_bytes);
/* The map of transposed lines to the caller's values. map: that of `in`, or NULL. */
sptrsm_status spti_storage_map_transposed(spti_storage *, const spti_storage *in, const int64_t *map, int32_t n);
void spti_storage_gather(void *to, const void *from, const int64_t *source, int64_t nnz, size_t value_bytes);

#endif
