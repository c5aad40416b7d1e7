/* sptrsm_io.h -- files: load and store matrices, factor sets and dense blocks (HDF5, Matrix Market).
 *
 * Objects are named FILE or FILE:/path/in/file. Which of the known forms a group or dataset has is detected and reported
 * in `rule`. Everything is validated before an allocation depends on it; an error names file, object, index, value and
 * the way out (sptrsm_last_error()). Host memory only. Loaded objects are ended with the matching _free, which accepts
 * NULL.
 *
 * HDF5 reads in a child process, which each function that opens an HDF5 file forks and ends again (a reader: when it is
 * closed), unless a cache of files keeps it. Where HDF5 crashes on a damaged file or hangs, this is an error like
 * others: IO. A hang means 10 s of computing without progress; waiting for a disk may take 60 s.
 * SPTRSM_READ_TIMEOUT=SECONDS in the environment replaces the 10. The child has copies of the program's descriptors: a
 * pipe whose writing end the program closes meanwhile ends for its reader when the child has ended. A program that waits
 * for any child, as wait() does, needs Linux 5.4 or later.
 * Threads may read at once, but none may write by HDF5 while another one opens a file, and one saves at a time.
 */
#ifndef SPTRSM_IO_H
#define SPTRSM_IO_H

#include <sptrsm_batch.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPTRSM_AS_STORED (-1) /* for the enum-valued fields below that are int */

/* Files that stay open between calls, each with its child: opening one takes some milliseconds. At most 8 stay; the one that was used
 * least recently is closed first. A file that has changed since is opened anew, and a call that fails closes the file that it had open. As
 * long as a file is open, programs that write by HDF5 can't open it, where HDF5 locks files. A cache is for one thread at a time. A process
 * that is forked later may use it, too, and opens its files itself. A call with another memory_limit or allow_external opens the file once
 * more. Close all readers that were opened with a cache before you destroy it. */
typedef struct sptrsm_file_cache sptrsm_file_cache;

typedef struct {
  size_t size;                /* sizeof(sptrsm_io_options), set by sptrsm_io_options_init */
  size_t memory_limit;        /* bytes one object may take in memory; 0: sptrsm_file_memory_limit() */
  int allow_external;         /* follow external links, external raw storage and virtual datasets */
  int tidy;                   /* sort unsorted rows and sum duplicates instead of refusing them */
  int take_triangle;          /* drop entries outside the triangle instead of refusing them */
  int uplo;                   /* sptrsm_uplo, or AS_STORED: as the file says, else as the pattern shows; ignored for factor sets */
  int unit;                   /* take the diagonal as one; of a factor set: that of L */
  int dtype;                  /* sptrsm_dtype to convert to, or AS_STORED (integers become F64) */
  int order;                  /* sptrsm_layout of a dense block in the file, or AS_STORED: detect */
  int64_t col_begin, col_end; /* columns [begin, end) of a dense block; end < 0: to the last */
  int in_process;             /* call HDF5 here, where forks are forbidden: by one thread at a time, and a damaged file may crash it */
  int reserved;               /* zero */
  int map;                    /* of a matrix or a factor set: use entries where they lie in the file, see sptrsm_file_matrix.mapped */
  sptrsm_file_cache *cache;   /* take the file from here, or open it, and leave it here; NULL: open and close it; ignored with in_process */
} sptrsm_io_options;
SPTRSM_API void sptrsm_io_options_init_sized(sptrsm_io_options *, size_t size);
static inline void sptrsm_io_options_init(sptrsm_io_options *out) { sptrsm_io_options_init_sized(out, sizeof *out); }
SPTRSM_API sptrsm_status sptrsm_file_cache_create(sptrsm_file_cache **out);
SPTRSM_API void sptrsm_file_cache_clear(sptrsm_file_cache *); /* closes the files; it can be used again. NULL is allowed, as below */
SPTRSM_API void sptrsm_file_cache_destroy(sptrsm_file_cache *);
/* Three quarters of physical memory, or of the least limit of a cgroup of this process (of a container, a batch job), in bytes. */
SPTRSM_API size_t sptrsm_file_memory_limit(void);

/* ---- sparse matrices ---- */

typedef struct { /* any sparse matrix; sorted, no duplicates; arrays owned by this object */
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
  size_t mapped[2];   /* option map: bytes of idx and of val that are mapped from the file and may only be read; 0: copied */
} sptrsm_file_matrix;
/* Entries are mapped where they are contiguous in the file, aligned, and of the types that are used here (int32; dtype). The file must
 * not change as long as the matrix lives: it is checked once, and touching what was cut off is a bus error. memory_limit does not count
 * them. */

/* Values may be NaN or infinite. options NULL: defaults. Errors: IO (can't open or read), STRUCTURE (not one of the forms, or
 * inconsistent), MEMORY. */
SPTRSM_API sptrsm_status sptrsm_file_matrix_load(sptrsm_file_matrix **out, const char *where, const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_matrix_free(sptrsm_file_matrix *);
/* Gives back the memory of the entries [first, end) that are mapped, until they are read again; does nothing with those that are copied. */
SPTRSM_API void sptrsm_file_matrix_release(const sptrsm_file_matrix *, int64_t first, int64_t end);
/* Describes M as a triangle (arrays stay M's; take_triangle may shrink them in place). Decides uplo from options, file and pattern, in this
 * order; refuses symmetric forms, non-square matrices, entries on the wrong side, bad diagonals. */
SPTRSM_API sptrsm_status sptrsm_file_matrix_triangle(sptrsm_sparse *out, sptrsm_file_matrix *M, const sptrsm_io_options *);

/* Adds the other triangle of a symmetric, Hermitian or skew-symmetric matrix, so that it becomes GENERAL; others stay as they are. */
SPTRSM_API sptrsm_status sptrsm_file_matrix_mirror(sptrsm_file_matrix *M);

/* ---- factor sets ---- */

typedef struct {
  sptrsm_file_matrix *L, *U, *A; /* U and A may be NULL; A has L's dtype, and may be symmetric (see sptrsm_file_matrix_mirror) */
  sptrsm_sparse L_tri, U_tri;    /* what factors.L and factors.U point to */
  int single;                    /* nonzero: the file holds one triangle only (in L, whatever its uplo); solve it as it is */
  char *source;                  /* root attribute `source`, or NULL */
  char *rule;                    /* how perms and scales were read: "perm_r scatter (SciPy)", ... */
  sptrsm_factors factors;        /* ready for sptrsm_direct_create; points into this object */
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
  const double *ferr;  /* likewise estimates of the forward errors, dataset `ferr` */
  const char *path;    /* solutions: path of the dataset; NULL: "X" */
  const int32_t *rows; /* solutions: [n] rows of the whole solution that X holds, dataset `rows` beside it; NULL: all of them */
  int layout;          /* solutions: sptrsm_layout to write, or AS_STORED: that of the block */
  const int64_t *grid; /* factor sets: [3], attributes of L; NULL: none */
  const char *stencil;
  int keep_partial; /* writers: a failure or an interrupt leaves PATH.part, to be resumed */
  int64_t pieces;   /* writers: files for the numbers, PATH.piece-ID-K, at most 1000, of which no two processes write one; 0: one file */
} sptrsm_save_options;
SPTRSM_API void sptrsm_save_options_init_sized(sptrsm_save_options *, size_t size);
static inline void sptrsm_save_options_init(sptrsm_save_options *out) { sptrsm_save_options_init_sized(out, sizeof *out); }

/* Writes the factor-set layout of docs/formats.md. A may be NULL. L alone with u_kind U_GIVEN is one triangle. The file
 * appears whole under its final name or not at all: temporary file beside it, flush, fsync, rename, fsync of the folder.
 * Errors: IO (exists without force, full disk, ...), ARGUMENT, MEMORY. */
SPTRSM_API sptrsm_status sptrsm_file_factors_save(const char *path, const sptrsm_factors *, const sptrsm_file_matrix *A,
                                                  const sptrsm_save_options *);

/* Removes the temporary file of a save under way. Async-signal-safe: for the handler of SIGINT and the like. */
SPTRSM_API void sptrsm_file_abandon(void);

/* ---- dense blocks ---- */

typedef struct {
  sptrsm_block block; /* data owned by this object */
  int64_t file_nrhs;  /* columns in the file, before a column range */
  char *where;        /* "rhs.h5:/B" */
  char *path;         /* "/B": where in the file */
  const char *rule;   /* form and order as decided: "2-D dataset, C order (shape)", ...; static storage */
} sptrsm_file_block;
/* n < 0: unknown, take what the file says. If `where` names a file only, its dataset B is taken, else its only block. With integer or
 * other real types the values are converted to options->dtype (AS_STORED: F64 for integers). */
SPTRSM_API sptrsm_status sptrsm_file_block_load(sptrsm_file_block **out, const char *where, int32_t n, const sptrsm_io_options *);
/* A sparse matrix as right-hand sides, row-major; col_begin, col_end and memory_limit of the options hold. rows NULL: all rows, zeros
 * filled in. Else only the rows with entries in these columns: row r of the block is row (*rows)[r] of M, ascending; *rows is ended
 * with free(). path: copied to the block's member `path`. ARGUMENT for a symmetric M that is not mirrored yet. */
SPTRSM_API sptrsm_status sptrsm_file_block_of_matrix(sptrsm_file_block **out, int32_t **rows, const sptrsm_file_matrix *M, const char *path,
                                                     const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_block_free(sptrsm_file_block *);
SPTRSM_API sptrsm_status sptrsm_file_solution_save(const char *path, const sptrsm_block *X, const sptrsm_save_options *);
/* Several blocks in one file, e.g. B and X_true of a synthetic system: names[i] is the dataset of blocks[i]. */
SPTRSM_API sptrsm_status sptrsm_file_blocks_save(const char *path, int count, const char *const names[], const sptrsm_block *const blocks[],
                                                 const sptrsm_save_options *);

/* ---- batches: the systems of sptrsm_batch.h ---- */

typedef enum {
  SPTRSM_BATCH_NONE,    /* one factor set or triangle, or something else */
  SPTRSM_BATCH_UNIFORM, /* a factor set or a triangle whose arrays of values have one axis more, [count, length] */
  SPTRSM_BATCH_MIXED    /* the groups below one group, in natural order of their names: a factor set or a triangle each */
} sptrsm_batch_kind;
/* What `where` names. A mixed batch is FILE:/group with a slash and a star behind it, or a group `items`, also where its parent is named,
 * which then has neither L nor U. count: items in the file. */
SPTRSM_API sptrsm_status sptrsm_file_batch_find(sptrsm_batch_kind *kind, int64_t *count, const char *where, const sptrsm_io_options *);

typedef struct {
  sptrsm_batch_kind kind;
  int64_t count, first, file_count; /* items that were read, number of the first one, items in the file */
  sptrsm_file_factors **items;      /* [count] of a mixed batch, [1] of a uniform one: the pattern, and what all items share */
  char **names;                     /* [count] of a mixed batch: the groups, else NULL */
  sptrsm_batch_values values;       /* of a uniform batch: what is not shared, for sptrsm_batch_create_uniform; arrays of items[0] */
  int64_t A_stride;                 /* likewise: A of item i has its values at A->val + i * A_stride elements */
  char *where;
} sptrsm_file_batch;
/* Items [begin, end); end < 0: to the last. All have one dtype. Patterns, permutations and shapes are checked as by
 * sptrsm_file_factors_load, but values are not, so that a bad one harms its item alone: sptrsm_batch_item tells which rows are bad.
 * memory_limit is for all items. */
SPTRSM_API sptrsm_status sptrsm_file_batch_load(sptrsm_file_batch **out, const char *where, int64_t begin, int64_t end,
                                                const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_batch_free(sptrsm_file_batch *);

typedef struct {
  sptrsm_batch_block block; /* for sptrsm_batch_solve; arrays owned by this object */
  int64_t count;            /* items */
  int64_t file_nrhs;        /* most columns of a block in the file, before a column range */
  char *where;              /* "rhs.h5:/B", "rhs.h5:/items" */
  char *path;               /* "/B": of the array or of the block that all items share; NULL: groups */
  char **paths;             /* [count] "/items/item2/B": of each block, in groups; else NULL */
  int members;              /* in groups: the blocks are members of the groups, not these themselves */
  const char *rule;         /* form and order as decided; static storage */
} sptrsm_file_blocks;
/* The blocks of a batch: an array [count, n, nrhs] (C order) or [count, nrhs, n] (F order); the groups of a mixed batch, or those below a
 * group in natural order, each with a dense or sparse block `member`; or one block [n, nrhs] for all items (stride 0). An array has all
 * items of the file, or those that were read. member: "B" or "X". Sparse ones are filled up with zeros. */
SPTRSM_API sptrsm_status sptrsm_file_blocks_load(sptrsm_file_blocks **out, const char *where, const char *member, const sptrsm_file_batch *,
                                                 const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_blocks_free(sptrsm_file_blocks *);

/* Writes a uniform batch: the factor set, but with an axis more for the arrays that `values` has, and attribute `batch`, the count. A part
 * with stride 0 is written once. */
SPTRSM_API sptrsm_status sptrsm_file_batch_save_uniform(const char *path, const sptrsm_factors *pattern, const sptrsm_batch_values *values,
                                                        const sptrsm_save_options *);
/* Writes a mixed batch: /items/NAME for each item. A and B: [count] each or NULL; elements may be NULL. B is stored as a sparse matrix. */
SPTRSM_API sptrsm_status sptrsm_file_batch_save_mixed(const char *path, int64_t count, const char *const names[],
                                                      const sptrsm_factors *const items[], const sptrsm_file_matrix *const A[],
                                                      const sptrsm_file_matrix *const B[], const sptrsm_save_options *);

/* Several arrays of blocks in one file, e.g. B and X_true: dataset names[k] of blocks[k], which has `items` blocks of n rows, one behind
 * the other with the smallest ld. */
SPTRSM_API sptrsm_status sptrsm_file_batch_blocks_save(const char *path, int64_t items, int32_t n, int count, const char *const names[],
                                                       const sptrsm_batch_block *const blocks[], const sptrsm_save_options *);

typedef struct {
  size_t size;                      /* sizeof(sptrsm_file_batch_solution), set by the caller */
  int64_t count, first;             /* items, number of the first one */
  const int32_t *n;                 /* [count] orders */
  const sptrsm_batch_block *X;      /* an array: the blocks lie one behind the other with the smallest ld; count 0: stride / nrhs rows */
  const char *const *paths;         /* [count] the dataset of each item; NULL: one array, named by save_options.path */
  const sptrsm_item_status *status; /* [count] datasets `status` and `row` beside the array, or attributes of the datasets; NULL: none */
  const double *berr;               /* backward errors of all columns, item by item: dataset(s) `berr`; NULL: none */
} sptrsm_file_batch_solution;
/* Writes the solutions of a batch: an array [count, n, nrhs], or [count, nrhs, n] for column-major blocks, with dataset `item`, the
 * numbers of the items; or a dataset for each item. The array, or the first dataset, has the report. */
SPTRSM_API sptrsm_status sptrsm_file_batch_solution_save(const char *path, const sptrsm_file_batch_solution *, const sptrsm_save_options *);

/* ---- dense blocks in parts: those larger than memory ---- */

/* Columns read when asked for. A reader and a writer each belong to one thread at a time, but may work in two at once: their
 * HDF5 calls take turns, and contiguous, plain data of the machine's own type bypass HDF5. After a fork a reader is for the process that
 * opened it. Errors as of sptrsm_file_block_load, and ARGUMENT in the other process. */
typedef struct sptrsm_file_reader sptrsm_file_reader;
SPTRSM_API sptrsm_status sptrsm_file_reader_open(sptrsm_file_reader **out, const char *where, int32_t n, const sptrsm_io_options *);
/* Shape, type, order, names; block.data is NULL. Valid while the reader lives. */
SPTRSM_API const sptrsm_file_block *sptrsm_file_reader_block(const sptrsm_file_reader *);
/* Columns [first, first + to->nrhs), counted from options.col_begin, into a host block of the same type and layout with the smallest ld. */
SPTRSM_API sptrsm_status sptrsm_file_reader_read(sptrsm_file_reader *, int64_t first, const sptrsm_block *to);
SPTRSM_API int sptrsm_file_reader_direct(const sptrsm_file_reader *); /* nonzero: without HDF5 */
/* Bytes that reading takes besides the target: a chunk with filters twice; the columns of a chunk, if they fit a quarter of the limit. */
SPTRSM_API size_t sptrsm_file_reader_bytes(const sptrsm_file_reader *);
/* Nonzero: the numbers lie in other files too, behind an external link, in external storage or of a virtual dataset. */
SPTRSM_API int sptrsm_file_reader_external(const sptrsm_file_reader *);
SPTRSM_API void sptrsm_file_reader_close(sptrsm_file_reader *);

/* A solution written in parts, in any order. Until it is finished it is PATH.part, beside which PATH.part.journal says what was
 * synced: it can be resumed after a kill at any moment, and is recognised when it is complete. With compression or checksums it
 * is a temporary file and cannot be resumed. Do not write columns again that a checkpoint noted as done.
 *
 * Several processes may write columns of one solution. Each of them joins it, claims columns, writes them and notes them as done; the
 * one that finds no columns left finishes the file. They need a file system with locks (fcntl) on which all see the same bytes. */
typedef struct sptrsm_file_writer sptrsm_file_writer;
/* shape: n, nrhs, dtype and layout of the solution, at least 1 x 1. has_berr: each part comes with its backward errors. step:
 * columns per part, which chunks are cut to. inputs: a line that says what the solution depends on, for resuming. */
SPTRSM_API sptrsm_status sptrsm_file_writer_create(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, int has_berr,
                                                   int64_t step, const char *inputs, const sptrsm_save_options *);
/* *out NULL: there is nothing to resume. A finished file of this shape counts as resumed with all columns, if its last checkpoint had
 * them all; finish then changes nothing. STRUCTURE: it has another shape, or it or its journal is damaged. */
SPTRSM_API sptrsm_status sptrsm_file_writer_resume(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, int has_berr,
                                                   const sptrsm_save_options *);
SPTRSM_API int sptrsm_file_writer_complete(const sptrsm_file_writer *);       /* nonzero: resumed, and finished before */
SPTRSM_API const char *sptrsm_file_writer_inputs(const sptrsm_file_writer *); /* resumed: as given to create */
/* Begins PATH.part as sptrsm_file_writer_create does, or joins one that is there, also of a process that was killed: inputs are then those
 * that it was begun with. What is written stays, also after a failure. A finished file as for sptrsm_file_writer_resume. */
SPTRSM_API sptrsm_status sptrsm_file_writer_join(sptrsm_file_writer **out, const char *path, const sptrsm_block *shape, int has_berr,
                                                 const char *inputs, const sptrsm_save_options *);
/* Joined: keeps columns [first, end) for this process until the writer is closed. IO: another process has some of them. */
SPTRSM_API sptrsm_status sptrsm_file_writer_claim(sptrsm_file_writer *, int64_t first, int64_t end);
/* Joined: how many columns are not done by now. 0: the caller finishes the file, and other processes wait for that; or another process
 * has finished it meanwhile, then it is complete and finishing it changes nothing. */
SPTRSM_API sptrsm_status sptrsm_file_writer_left(sptrsm_file_writer *, int64_t *columns);
typedef struct {
  int64_t first, end; /* columns [first, end) */
  const char *state;  /* as given to sptrsm_file_writer_checkpoint */
} sptrsm_file_columns;
/* What checkpoints have noted as done, ascending; of other processes too. Valid until the next call for this writer. */
SPTRSM_API sptrsm_status sptrsm_file_writer_done(sptrsm_file_writer *, const sptrsm_file_columns **ranges, int64_t *count);
SPTRSM_API int sptrsm_file_writer_direct(const sptrsm_file_writer *); /* nonzero: without HDF5 */
/* Pieces that were asked for when the solution was begun; 0: it is one file. Each has columns of its own; a block that is written lies in
 * one. Processes that are not to write into one file claim whole pieces. PATH has virtual datasets over them. */
SPTRSM_API int64_t sptrsm_file_writer_pieces(const sptrsm_file_writer *);
SPTRSM_API void sptrsm_file_writer_piece(const sptrsm_file_writer *, int64_t number, int64_t *first, int64_t *end); /* its columns */
/* X: a host block with the smallest ld; berr [X->nrhs], or NULL without has_berr. */
SPTRSM_API sptrsm_status sptrsm_file_writer_write(sptrsm_file_writer *, int64_t first, const sptrsm_block *X, const double *berr);
/* Syncs, then notes that columns are done, with the caller's state, a line of text about these columns. A range that holds earlier ones
 * takes their place. */
SPTRSM_API sptrsm_status sptrsm_file_writer_checkpoint(sptrsm_file_writer *, const sptrsm_file_columns *);
/* Adds the report (NULL: none) and gives the file its name. Close it after that, too. */
SPTRSM_API sptrsm_status sptrsm_file_writer_finish(sptrsm_file_writer *, const char *report);
/* Not finished: removes what was written, unless options.keep_partial. */
SPTRSM_API void sptrsm_file_writer_close(sptrsm_file_writer *);

typedef struct {
  int64_t pieces, nrhs;
  int32_t n;
  sptrsm_dtype dtype;
} sptrsm_file_merged;
/* Makes one file of a finished solution in pieces: TO, or with NULL in the place of PATH. All else in PATH is kept. options: path, force
 * (of TO). Errors: STRUCTURE (PATH is none, a piece has another shape or is of another run), IO (a piece is missing, ...). */
SPTRSM_API sptrsm_status sptrsm_file_solution_merge(sptrsm_file_merged *, const char *path, const char *to, int remove_pieces,
                                                    const sptrsm_save_options *);

/* ---- what is in a file ---- */

typedef struct {
  char *path;              /* "/L" */
  const char *kind;        /* "matrix", "block", "blocks" (of a batch), "vector" or "unknown"; static storage */
  const char *rule;        /* which form matched; valid until the listing is freed */
  int64_t rows, cols, nnz; /* -1 where unknown */
  char type[16];           /* "f64", "c128", "int32", ... as stored */
} sptrsm_file_entry;
typedef struct {
  sptrsm_file_entry *entries;
  int count;
} sptrsm_file_listing;
SPTRSM_API sptrsm_status sptrsm_file_list(sptrsm_file_listing *out, const char *where, const sptrsm_io_options *);
SPTRSM_API void sptrsm_file_listing_free(sptrsm_file_listing *);

#ifdef __cplusplus
}
#endif
#endif
