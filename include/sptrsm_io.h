/* sptrsm_io.h -- files: load and store matrices, factor sets and dense blocks (HDF5, Matrix Market).
 *
 * Objects are named FILE or FILE:/path/in/file. Which of the known forms a group or dataset has is detected and reported
 * in `rule`. Everything is validated before an allocation depends on it; an error names file, object, index, value and
 * the way out (sptrsm_last_error()). Host memory only. Loaded objects are ended with the matching _free, which accepts
 * NULL. Not thread-safe where the HDF5 library is not.
 */
#ifndef SPTRSM_IO_H
#define SPTRSM_IO_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPTRSM_AS_STORED (-1) /* for the enum-valued fields below that are int */

typedef struct {
  size_t size;           /* sizeof(sptrsm_io_options), set by sptrsm_io_options_init */
  size_t memory_limit;   /* bytes one object may take in memory; 0: three quarters of physical memory */
  int allow_external;    /* follow external links, external raw storage and virtual datasets */
  int tidy;              /* sort unsorted rows and sum duplicates instead of refusing them */
  int take_triangle;     /* drop entries outside the triangle instead of refusing them */
  int uplo;              /* sptrsm_uplo, or AS_STORED: as the file says, else as the pattern shows; sets ignore it */
  int unit;              /* take the diagonal as one; of a factor set: that of L */
  int dtype;             /* sptrsm_dtype to convert to, or AS_STORED (integers become F64) */
  int order;             /* sptrsm_layout of a dense block in the file, or AS_STORED: detect */
  int64_t col_begin, col_end; /* columns [begin, end) of a dense block; end < 0: to the last */
} sptrsm_io_options;
SPTRSM_API void sptrsm_io_options_init(sptrsm_io_options *);

/* ---- sparse matrices ---- */

typedef struct {      /* any sparse matrix; sorted, no duplicates; arrays owned by this object */
  sptrsm_format format;
  sptrsm_dtype dtype;
  int64_t rows, cols; /* both <= INT32_MAX */
  int64_t *ptr;       /* [rows+1] (CSR) or [cols+1] (CSC) */
  int32_t *idx;       /* [ptr[last]] */
  void *val;          /* [ptr[last]] of dtype */
  sptrsm_symmetry symmetry;
  int uplo;           /* what the file says: sptrsm_uplo or AS_STORED (nothing) */
  int diag;           /* likewise sptrsm_diag or AS_STORED */
  int64_t grid[3];    /* attribute `grid` of structured problems, else zeros */
  char stencil[16];   /* attribute `stencil`, else "" */
  char *where;        /* "factors.h5:/L", for messages */
  const char *rule;   /* which form matched: "Binsparse CSR", "MATLAB v7.3", ...; static storage */
  int format_guessed; /* nonzero: the file does not say CSR or CSC, and CSR was taken */
  int64_t dropped;    /* entries that take_triangle dropped */
} sptrsm_file_matrix;

/* options NULL: defaults. Errors: IO (can't open or read), STRUCTURE (not one of the forms, or inconsistent), MEMORY. */
SPTRSM_API sptrsm_status sptrsm_file_matrix_load(sptrsm_file_matrix **out, const char *where, const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_matrix_free(sptrsm_file_matrix *);
/* Describes M as a triangle (arrays stay M's; take_triangle may shrink them in place). Decides uplo from options, file and pattern, in this
 * order; refuses symmetric forms, non-square matrices, entries on the wrong side, bad diagonals. */
SPTRSM_API sptrsm_status sptrsm_file_matrix_triangle(sptrsm_sparse *out, sptrsm_file_matrix *M, const sptrsm_io_options *);

/* Adds the other triangle of a symmetric, Hermitian or skew-symmetric matrix, so that it becomes GENERAL; others stay as they are. */
SPTRSM_API sptrsm_status sptrsm_file_matrix_mirror(sptrsm_file_matrix *M);

/* ---- factor sets ---- */

typedef struct {
  sptrsm_file_matrix *L, *U, *A; /* U and A may be NULL; A has L's dtype, and may be symmetric (see sptrsm_file_matrix_mirror) */
  sptrsm_sparse L_tri, U_tri;    /* what factors.L and factors.U point to */
  sptrsm_factors factors;        /* ready for sptrsm_direct_create; points into this object */
  int single;                    /* nonzero: the file holds one triangle only (in L, whatever its uplo); solve it as it is */
  char *source;                  /* root attribute `source`, or NULL */
  char *rule;                    /* how perms and scales were read: "perm_r scatter (SciPy)", ... */
} sptrsm_file_factors;
SPTRSM_API sptrsm_status sptrsm_file_factors_load(sptrsm_file_factors **out, const char *where, const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_factors_free(sptrsm_file_factors *);

typedef struct {
  size_t size;         /* sizeof(sptrsm_save_options), set by sptrsm_save_options_init */
  int force;           /* replace an existing file */
  int compress;        /* deflate level 0..9 */
  int checksum;        /* fletcher32 */
  const char *source;  /* factor sets: root attribute `source`; NULL: none */
  const char *report;  /* solutions: attribute sptrsm_report on X (JSON text); NULL: none */
  const double *berr;  /* solutions: [nrhs] componentwise backward errors, dataset `berr`; NULL: none */
  const char *path;    /* solutions: path of the dataset; NULL: "X" */
  const int32_t *rows; /* solutions: [n] rows of the whole solution that X holds, dataset `rows` beside it; NULL: all of them */
  int layout;          /* solutions: sptrsm_layout to write, or AS_STORED: that of the block */
  const int64_t *grid; /* factor sets: [3], attributes of L; NULL: none */
  const char *stencil;
} sptrsm_save_options;
SPTRSM_API void sptrsm_save_options_init(sptrsm_save_options *);

/* Writes the factor-set layout of docs/formats.md. A may be NULL. L alone with u_kind U_GIVEN is one triangle. The file
 * appears whole under its final name or not at all: temporary file beside it, flush, fsync, rename, fsync of the folder.
 * Errors: IO (exists without force, full disk, ...), ARGUMENT, MEMORY. */
SPTRSM_API sptrsm_status sptrsm_file_factors_save(const char *path, const sptrsm_factors *, const sptrsm_file_matrix *A,
                                                  const sptrsm_save_options *);

/* Removes the temporary file of a save under way. Async-signal-safe: for the handler of SIGINT and the like. */
SPTRSM_API void sptrsm_file_abandon(void);

/* ---- dense blocks ---- */

typedef struct {
  sptrsm_block block;  /* data owned by this object */
  int64_t file_nrhs;   /* columns in the file, before a column range */
  char *where;         /* "rhs.h5:/B" */
  char *path;          /* "/B": where in the file */
  const char *rule;    /* form and order as decided: "2-D dataset, C order (shape)", ...; static storage */
} sptrsm_file_block;
/* n < 0: unknown, take what the file says. Where names no object: B, else the only block in the file. With integer or
 * other real types the values are converted to options->dtype (AS_STORED: F64 for integers). */
SPTRSM_API sptrsm_status sptrsm_file_block_load(sptrsm_file_block **out, const char *where, int32_t n, const sptrsm_io_options *);
/* A sparse matrix as right-hand sides, row-major; col_begin, col_end and memory_limit of the options hold. rows NULL: all rows, zeros
 * filled in. Else only the rows with entries in these columns: row r of the block is row (*rows)[r] of M, ascending; *rows is ended
 * with free(). path: what `path` of the block shall be. ARGUMENT for a symmetric M that is not mirrored yet. */
SPTRSM_API sptrsm_status sptrsm_file_block_of_matrix(sptrsm_file_block **out, int32_t **rows, const sptrsm_file_matrix *M,
                                                     const char *path, const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_block_free(sptrsm_file_block *);
SPTRSM_API sptrsm_status sptrsm_file_solution_save(const char *path, const sptrsm_block *X, const sptrsm_save_options *);
/* Several blocks in one file, e.g. B and X_true of a synthetic system: names[i] is the dataset of blocks[i]. */
SPTRSM_API sptrsm_status sptrsm_file_blocks_save(const char *path, int count, const char *const names[], const sptrsm_block *const blocks[],
                                                 const sptrsm_save_options *);

/* ---- what is in a file ---- */

typedef struct {
  char *path;          /* "/L" */
  const char *kind;    /* "matrix", "block", "vector" or "unknown"; static storage */
  const char *rule;    /* which form matched; static storage */
  int64_t rows, cols, nnz; /* -1 where unknown */
  char type[16];       /* "f64", "c128", "int32", ... as stored */
} sptrsm_file_entry;
typedef struct { sptrsm_file_entry *entries; int count; } sptrsm_file_listing;
SPTRSM_API sptrsm_status sptrsm_file_list(sptrsm_file_listing *out, const char *where, const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_listing_free(sptrsm_file_listing *);

#ifdef __cplusplus
}
#endif
#endif
