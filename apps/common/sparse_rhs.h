/* sparse_rhs.h -- right-hand sides that are a sparse matrix in their file. */
#ifndef APPS_COMMON_SPARSE_RHS_H
#define APPS_COMMON_SPARSE_RHS_H

#include <sptrsm_io.h>

typedef struct {
  char *where; /* FILE:/path of the matrix; NULL: the right-hand sides are dense */
  char *path;  /* its path in the file, "/B" */
} sparse_rhs;

/* Looks whether FILE:/path is a sparse matrix; for FILE alone, its root or its object B. What can be read, but is no object that a
 * listing knows, counts as dense: the reader of blocks then reports what is wrong with it. Errors: IO, MEMORY. */
sptrsm_status sparse_rhs_find(sparse_rhs *, const char *where, const sptrsm_io_options *);
/* Loads it as a block. n: rows that B must have; rows: as in sptrsm_file_block_of_matrix. */
sptrsm_status sparse_rhs_load(sptrsm_file_block **out, int32_t **rows, const sparse_rhs *, int32_t n, const sptrsm_io_options *);
void sparse_rhs_free(sparse_rhs *);

#endif
