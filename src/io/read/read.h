/* read.h -- from a file to matrices, dense blocks and factor sets in memory, checked.
 *
 * A load runs in four steps: open the file (src/io/file), match the object against the known forms (src/io/forms), read the arrays
 * that the form names (matrix.c, block.c), and check the pattern (pattern.c, triangle.c).
 */
#ifndef SPTI_IO_READ_READ_H
#define SPTI_IO_READ_READ_H

#include "io/forms/form.h"

/* ---- sparse.c: a sparse matrix in memory ---- */

enum { SPTI_SMALL_ORDER = 1 << 20 }; /* up to this order an empty row is left to the check that names the row */

sptrsm_status spti_io_matrix_new(sptrsm_file_matrix **out, const char *where);
int64_t spti_io_major(const sptrsm_file_matrix *M); /* number of rows (CSR) or columns (CSC) */
bool spti_io_finite(sptrsm_dtype, const void *val, int64_t p);
bool spti_io_all_finite(sptrsm_dtype, const void *val, int64_t first, int64_t end); /* likewise all of [first, end) */
bool spti_io_zero(sptrsm_dtype, const void *val, int64_t p);
sptrsm_status spti_io_matrix_convert(sptrsm_file_matrix *M, sptrsm_dtype to);
/* Refuses (SINGULAR) an order so far beyond the number of entries that the diagonal can't be stored, before memory of that order
 * is allocated. */
sptrsm_status spti_io_check_order_and_count(const sptrsm_file_matrix *M, int64_t nnz, const sptrsm_io_options *);

/* ---- map.c: entries that are mapped from the file (option `map`) ---- */

enum { SPTI_MAP_WINDOW = 1 << 19 }; /* entries: a pass over a mapped matrix keeps about as many in memory */
/* Maps what can be of the indices and, unless `val` is NULL, of the values: where that is not so, the arrays stay NULL. */
void spti_io_map_entries(sptrsm_file_matrix *M, const spti_io_dataset *idx, const spti_io_dataset *val);
void spti_io_free_entries(sptrsm_file_matrix *M);
void spti_io_replace_values(sptrsm_file_matrix *M, void *val);
sptrsm_status spti_io_own(sptrsm_file_matrix *M); /* copies what is mapped, before it is changed */
/* A pass has read the entries [first, end) and goes on behind them: pages of a mapped matrix that it has left are given back. */
static inline void spti_io_passed(const sptrsm_file_matrix *M, int64_t first, int64_t end) {
  const int64_t window = first / SPTI_MAP_WINDOW;
  if ((M->mapped[0] > 0 || M->mapped[1] > 0) && window != end / SPTI_MAP_WINDOW)
    sptrsm_file_matrix_release(M, window * SPTI_MAP_WINDOW, end);
}

/* ---- pattern.c: sorting, duplicates, checks ---- */

typedef struct { /* entries in any order: [nnz] each */
  int64_t nnz;
  int32_t *row, *col;
  void *val;
} spti_io_triplets;

/* Memory for nnz triplets, two permutations while sorting, and the compressed result, whose pointers grow with rows and cols. */
size_t spti_io_triplets_bytes(int64_t rows, int64_t cols, int64_t nnz, sptrsm_dtype);
/* Fills M's arrays from the triplets, sorted within each row (CSR) or column (CSC). */
sptrsm_status spti_io_compress(sptrsm_file_matrix *M, const spti_io_triplets *);
/* Entries in stored order, values copied; to be freed after a failure, too. */
sptrsm_status spti_io_expand(spti_io_triplets *, const sptrsm_file_matrix *M);
void spti_io_triplets_free(spti_io_triplets *);
sptrsm_status spti_io_sort(sptrsm_file_matrix *M);              /* sorts each row (CSR) or column (CSC) */
void spti_io_sum_duplicates(sptrsm_file_matrix *M);             /* of a sorted matrix */
sptrsm_status spti_io_check_order(const sptrsm_file_matrix *M); /* sorted, no duplicates */
/* Finds the first value that is not finite: STRUCTURE off the diagonal, SINGULAR on it (skipped unless `diagonal` is set). */
sptrsm_status spti_io_check_finite(const sptrsm_file_matrix *M, bool diagonal);
/* The last step of every load: sorts and sums duplicates if the options say `tidy`, then checks the order. Values are checked where the
 * matrix becomes a triangle or the A of a factor set: those of right-hand sides may be NaN or infinite. */
sptrsm_status spti_io_finish_matrix(sptrsm_file_matrix *M, const sptrsm_io_options *);

/* ---- mtx.c, matrix.c: loading a sparse matrix ---- */

sptrsm_status spti_io_mtx_load(sptrsm_file_matrix **out, const spti_io_file *, const sptrsm_io_options *);
sptrsm_status spti_io_matrix_load(sptrsm_file_matrix **out, const spti_io_object *, const sptrsm_io_options *);

/* The end of a message about values that are no vector of `length`: what to do where they are those of a batch. Static storage. */
const char *spti_io_batch_hint(const spti_io_dataset *, int64_t length);

/* ---- triangle.c ---- */

typedef enum { SPTI_ALONE, SPTI_L_OF_SET, SPTI_L_WITH_U, SPTI_U_WITH_L } spti_io_role; /* decides what a message can advise */
sptrsm_status spti_io_triangle(sptrsm_sparse *out, sptrsm_file_matrix *M, spti_io_role, const sptrsm_io_options *);

/* ---- list.c ---- */

/* What is in an open HDF5 file, or below its path. */
sptrsm_status spti_io_list(sptrsm_file_listing *out, spti_io_file *);

/* "; there is /L1, /L2: say which, as FILE:/path", or "" where the group holds no matrix. sets: /run1/L counts as /run1. An error: the
 * child of the file has failed. */
sptrsm_status spti_io_name_candidates(char out[400], const spti_io_object *group, bool sets);

/* ---- block.c: dense blocks ---- */

typedef struct { /* where a block comes from */
  spti_io_file *file;
  spti_io_dataset d;
  bool flat; /* a 1-D dataset holds the whole block (Binsparse DMATR, DMATC) */
  int64_t rows, cols;
  int64_t begin; /* first column asked for */
  sptrsm_layout layout;
  const char *rule;
  spti_io_place place;
  bool direct; /* columns are read by span, without HDF5 */
  spti_io_span span;
} spti_io_block_source;
sptrsm_status spti_io_block_new(sptrsm_file_block **out, const char *where);
/* Finds the block and fills X except for its data. The source is to be closed after a failure too. */
sptrsm_status spti_io_block_open(spti_io_block_source *, sptrsm_file_block *X, spti_io_file *, int32_t n, const sptrsm_io_options *);
/* Columns [begin, begin + width) of the dataset, densely in its order. */
sptrsm_status spti_io_block_read(const spti_io_block_source *, int64_t begin, int64_t width, sptrsm_dtype, void *out);
void spti_io_block_close(spti_io_block_source *);
/* Fills rows, cols, layout and rule from the two dimensions in s->d and the order n of the matrix. */
sptrsm_status spti_io_block_order(spti_io_block_source *, int32_t n, int wish);
/* The order that attributes of a 2-D dataset tell, or SPTRSM_AS_STORED. */
sptrsm_status spti_io_block_hint(int *out, const spti_io_dataset *);
/* The columns that the options ask for. */
sptrsm_status spti_io_block_columns(const spti_io_block_source *, const sptrsm_io_options *, int64_t *begin, int64_t *end);
/* Loads the block that the open file's path names. */
sptrsm_status spti_io_block_load(sptrsm_file_block *X, spti_io_file *, int32_t n, const sptrsm_io_options *);

/* ---- strip.c: a few columns at a time of a chunked block ---- */

typedef struct {        /* the columns of one chunk, all rows, dense in the block's order; zeros: nothing to free */
  int64_t width;        /* columns of a chunk; 0: the block is read without a strip */
  int64_t begin, count; /* columns of the dataset that are held now; count 0: none */
  sptrsm_dtype dtype;
  size_t each, bytes; /* of a number, of the strip */
  void *data;         /* allocated by the first reading that needs it */
} spti_io_strip;
/* Whether reading as this type takes a strip, and how large a one. */
void spti_io_strip_plan(spti_io_strip *, const spti_io_block_source *, sptrsm_dtype);
/* As spti_io_block_read(); each chunk is unpacked once where the columns are asked for in their order. */
sptrsm_status spti_io_strip_read(spti_io_strip *, const spti_io_block_source *, int64_t begin, int64_t width, void *out);
void spti_io_strip_free(spti_io_strip *);

/* ---- values.c: the values of a batch ---- */

typedef struct {
  bool uniform;               /* arrays of values may have an axis more */
  int64_t file_count;         /* its length */
  const char *counted;        /* the array that says so, for messages */
  int64_t first, count;       /* items that are read */
  size_t bytes;               /* of the values so far */
  sptrsm_batch_values values; /* the strides, as they become known */
  int64_t A_stride;
} spti_io_batch_reader;
/* Refuses an array that holds neither `length` numbers nor that many for each item. */
sptrsm_status spti_io_check_axes(const spti_io_batch_reader *, const spti_io_dataset *, int64_t length);
/* Reads a vector, or that of each item, with `room` numbers each; the last ones are zero where fewer are stored. *stride: 0 for one
 * vector. */
sptrsm_status spti_io_read_vectors(void **out, int64_t *stride, spti_io_batch_reader *, const spti_io_dataset *, int64_t room,
                                   sptrsm_dtype);
/* Gives M, a pattern whose values are places (spti_io_file.positions), the values of its group for all items. */
sptrsm_status spti_io_take_values(sptrsm_file_matrix *M, int64_t *stride, spti_io_batch_reader *, const spti_io_object *group,
                                  sptrsm_dtype);
sptrsm_status spti_io_stored_type(sptrsm_dtype *out, const spti_io_object *group); /* of the values of a matrix */

/* ---- vectors.c: permutations, scalings and D of a factor set ---- */

typedef struct {
  spti_io_file *file;
  spti_io_object *group;
  sptrsm_file_factors *F;
  spti_io_batch_reader *batch; /* NULL: one factor set, whose values are checked */
  char rule[320];              /* becomes F->rule */
} spti_io_factor_reader;
sptrsm_status spti_io_read_permutations(spti_io_factor_reader *);
sptrsm_status spti_io_read_scalings(spti_io_factor_reader *);
sptrsm_status spti_io_read_diagonal(spti_io_factor_reader *);

/* ---- batch.c: where a batch is ---- */

/* The group that holds the items of a mixed batch; out->id -1: `where` of the file names none. *object: what it names instead, open. */
sptrsm_status spti_io_items_open(spti_io_object *out, spti_io_object *object, spti_io_file *);
/* Refuses a range beyond the items; *end < 0 becomes the last one. */
sptrsm_status spti_io_check_items(int64_t begin, int64_t *end, int64_t count, const char *where);

/* ---- factors.c: a factor set or a triangle in an open file ---- */

/* r->group is open, r->F is new. After a failure, too, r->F is to be freed. */
sptrsm_status spti_io_new_factors(spti_io_factor_reader *r, const char *where);
sptrsm_status spti_io_load_factors(spti_io_factor_reader *r, const sptrsm_io_options *);

#endif
