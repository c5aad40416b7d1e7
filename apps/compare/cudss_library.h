/* cudss_library.h -- cuDSS, which is loaded at run time from a path that the user gives; the build does not need it. The part of its
 * interface that is used is declared here, as the manual of version 1 describes it. Options that are not set keep their
 * defaults, so there is no iterative refinement. */
#ifndef COMPARE_CUDSS_LIBRARY_H
#define COMPARE_CUDSS_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

enum { CUDSS_R_64F = 1, CUDSS_R_32I = 10, CUDSS_ZERO_BASED = 0 };
enum { CUDSS_GENERAL = 0, CUDSS_POSITIVE_DEFINITE = 3, CUDSS_FULL = 0, CUDSS_UPPER = 2 };
enum { CUDSS_HYBRID_MEMORY_MODE = 11, CUDSS_HYBRID_DEVICE_MEMORY_LIMIT = 12, CUDSS_UBATCH_SIZE = 18 }; /* of a configuration */
enum { CUDSS_LU_NNZ = 1, CUDSS_HYBRID_DEVICE_MEMORY_MIN = 10 };                                        /* of data */

typedef struct {
  void *library;
  int (*property)(int, int *);
  int (*create)(void **), (*destroy)(void *), (*set_stream)(void *, void *);
  int (*config_create)(void **), (*config_destroy)(void *), (*config_set)(void *config, int what, const void *value, size_t bytes);
  int (*data_create)(void *handle, void **), (*data_destroy)(void *handle, void *);
  int (*data_get)(void *handle, void *data, int what, void *value, size_t bytes, size_t *written);
  int (*dense)(void **, int64_t rows, int64_t columns, int64_t ld, const void *, int type, int layout);
  int (*csr)(void **, int64_t rows, int64_t columns, int64_t nnz, const void *begin, const void *end, const void *idx, const void *val,
             int offset_type, int index_type, int value_type, int kind, int view, int base);
  int (*matrix_destroy)(void *);
  int (*execute)(void *handle, int phase, void *config, void *data, void *A, void *X, void *B);
  void *handle, *config, *data, *A, *X, *B;
  void *ptr, *idx, *val; /* device memory of A */
} cudss;

/* All return exit codes and say what failed. The caller makes A from ptr, idx and val, which cudss_close frees. */
int cudss_open(cudss **out, const char *path, void *stream);
int cudss_failed(int status, const char *what);
/* The analysis of A, then its factorisation. B and X are column-major, without gaps, in device memory. */
int cudss_analyse(cudss *, int64_t n, int64_t nrhs, const void *B, void *X);
int cudss_factorise(cudss *);
int cudss_solve(cudss *); /* queued on the stream */
void cudss_close(cudss *);

#endif
