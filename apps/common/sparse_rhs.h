/* sparse_rhs.h -- right-hand sides that a file stores as a sparse matrix. */
#ifndef APPS_COMMON_SPARSE_RHS_H
#define APPS_COMMON_SPARSE_RHS_H

#include <sptrsm_io.h>

typedef struct {
  char *where; /* FILE:/path of the matrix; NULL: the right-hand sides are no sparse matrix */
  char *path;  /* "/B" */
} sparse_rhs;

/* Is what FILE or FILE:/path names a sparse matrix? FILE: its root or its B. What can't be listed counts as dense: the
 * reader of blocks says what is wrong with it. Errors: MEMORY. */
sptrsm_status sparse_rhs_find(sparse_rhs *, const char *where, const sptrsm_io_options *);
/* n: rows that B must have. rows as in sptrsm_file_block_of_matrix. */
sptrsm_status sparse_rhs_load(sptrsm_file_block **out, int32_t **rows, const sparse_rhs *, int32_t n, const sptrsm_io_options *);
void sparse_rhs_free(sparse_rhs *);

#endif
