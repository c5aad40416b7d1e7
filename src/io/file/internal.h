/* internal.h -- what the files of the io library share: the open file, datasets, forms, patterns.
 *
 * A load runs in four steps: open the file (file.c), match the object against the known forms (detect.c and one file
 * per form), which fills an spti_io_form without reading any array, read the arrays that the form names (io/read/matrix.c,
 * io/read/block.c), and check the pattern (io/read/pattern.c). No step allocates by a number from the file before
 * spti_io_check_memory has seen it. `where` is always "FILE:/path", the beginning of every message.
 */
#ifndef SPTI_IO_FILE_INTERNAL_H
#define SPTI_IO_FILE_INTERNAL_H

#include <hdf5.h>
#include <jansson.h>
#include <sptrsm_io.h>

#define SPTI_IO_TRY(call)                                                                                                                  \
  do {                                                                                                                                     \
    sptrsm_status status_ = (call);                                                                                                        \
    if (status_ != SPTRSM_OK) return status_;                                                                                              \
  } while (0)

enum { SPTI_SMALL_ORDER = 1 << 20 }; /* below it, an empty row is left to the check that names it */
enum { SPTI_JSON_BYTES = 1 << 20, SPTI_JSON_DEPTH = 32, SPTI_LIST_DEPTH = 16, SPTI_LIST_ENTRIES = 100000 };
enum { SPTI_IO_CHUNK_CACHE = 64 << 20 }; /* bytes; reading a few columns touches each chunk row by row */

/* ---- file.c: the file, objects in it, memory ---- */

typedef struct {
  hid_t id;   /* the HDF5 file, or -1 for Matrix Market */
  hid_t lapl; /* link access list that refuses external links */
  char *name; /* as given, without the object */
  char *path; /* "/L" as given, or NULL */
  size_t memory_limit;
  int allow_external;
  int lookup_failed; /* set when HDF5 could not even say whether a name exists */
  int met_external;  /* set when an external link was refused */
  int matrix_market;
  H5E_auto2_t old_report; /* the caller's HDF5 error report, put back on close */
  void *old_report_data;
} spti_io_file;

typedef struct {
  hid_t id;
  H5I_type_t type;
  char *where;
  spti_io_file *file;
} spti_io_object;

sptrsm_status spti_io_file_open(spti_io_file *, const char *where, const sptrsm_io_options *);
void spti_io_file_close(spti_io_file *);
size_t spti_io_cache_bytes(const spti_io_file *); /* of HDF5's chunk cache: a part of the memory limit */
/* The end of every load: closes the file; an OK that rests on failed look-ups becomes IO. */
sptrsm_status spti_io_file_end(spti_io_file *, sptrsm_status);
sptrsm_status spti_io_object_open(spti_io_object *, spti_io_file *, hid_t parent, const char *parent_where, const char *name);
/* A part that its group needs: its absence is the file's fault (STRUCTURE), not a wrong name (IO). */
sptrsm_status spti_io_member_open(spti_io_object *, spti_io_file *, const spti_io_object *group, const char *name);
sptrsm_status spti_io_object_open_path(spti_io_object *, spti_io_file *, const char *path); /* from the root; NULL: the root */
void spti_io_object_close(spti_io_object *);
int spti_io_has(const spti_io_object *group, const char *name);              /* a link of that name exists */
int spti_io_has_sound_links(hid_t group);                                    /* names may be listed by index only then */
sptrsm_status spti_io_join(char **out, const char *where, const char *name); /* "f.h5:/" + "L", "f.h5:/L" + "data" */
sptrsm_status spti_io_copy(char **out, const char *text);
sptrsm_status spti_io_check_options(const sptrsm_io_options *);
size_t spti_io_memory_limit(const sptrsm_io_options *); /* what is asked, or the default; NULL: the default */
size_t spti_io_bytes(int64_t count, size_t each);       /* the product, SIZE_MAX if it overflows */
size_t spti_io_add(size_t, size_t);                     /* the sum, likewise */
sptrsm_status spti_io_check_memory(const spti_io_file *, const char *where, size_t bytes, const char *way_out);
void spti_io_size_text(char out[24], size_t bytes);                                                   /* "537 MB" */
sptrsm_status spti_io_allocate(void *out /* a pointer's address */, const char *where, size_t bytes); /* never NULL on success */

/* ---- attr.c: attributes and JSON ---- */

sptrsm_status spti_io_attr_exists(int *found, hid_t object, const char *name, const char *where);
sptrsm_status spti_io_attr_text(char **out, hid_t object, const char *name, const char *where); /* *out NULL: no such attribute */
sptrsm_status spti_io_attr_integers(int *found, int64_t *out, int count, hid_t object, const char *name, const char *where);
sptrsm_status spti_io_text_dataset(char **out, spti_io_file *, const spti_io_object *group, const char *name);
sptrsm_status spti_io_parse_json(json_t **out, const char *text, const char *where, const char *attribute);

/* ---- dataset.c: stored numbers and arrays ---- */

typedef struct {
  int is_integer, is_complex;
  sptrsm_dtype dtype; /* what it becomes in memory unless something else is asked for */
  char re[8], im[8];  /* member names of a complex compound */
  char name[16];      /* "f64", "int32", "c128" */
} spti_io_number;

typedef struct {
  hid_t id;
  char *where;
  int rank;        /* 1 or 2 */
  int64_t dims[2]; /* dims[1] = 1 for rank 1 */
  int64_t count;   /* dims[0] * dims[1] */
  spti_io_number number;
} spti_io_dataset;

typedef struct { /* a rectangle of a dataset: rows [row, row + rows) with stride, columns [col, col + cols) */
  hsize_t start[2], stride[2], blocks[2], size[2];
} spti_io_slab;

/* Opens a numeric dataset of rank 1 or 2 and refuses external storage, virtual datasets and unknown filters. */
sptrsm_status spti_io_dataset_open(spti_io_dataset *, spti_io_file *, const spti_io_object *group, const char *name);
sptrsm_status spti_io_dataset_of(spti_io_dataset *, const spti_io_file *,
                                 const spti_io_object *); /* the same of an open object; takes it over */
void spti_io_dataset_close(spti_io_dataset *);
sptrsm_status spti_io_dataset_guard(const spti_io_file *, hid_t dataset, const char *where);
sptrsm_status spti_io_read_i64(const spti_io_dataset *, int64_t *out);
sptrsm_status spti_io_read_i32(const spti_io_dataset *, int32_t *out);         /* out of range: clipped, so a range check still fails */
void spti_io_stored_integer(char out[24], const spti_io_dataset *, int64_t p); /* element p as stored, for messages */
/* Reads count elements (all, or those of slab) as dtype. pairs: complex numbers stored as interleaved reals. */
sptrsm_status spti_io_read_values(const spti_io_dataset *, const spti_io_slab *slab, int64_t count, int pairs, sptrsm_dtype dtype,
                                  void *out);
/* The HDF5 type that reads such numbers as dtype, both real or both complex; the caller closes it; -1 on failure. */
hid_t spti_io_memory_type(const spti_io_number *, sptrsm_dtype);
int spti_io_is_complex(sptrsm_dtype);
sptrsm_dtype spti_io_complex_of(sptrsm_dtype); /* F32 -> C64, F64 -> C128 */
/* Decides the type in memory: what is asked for, else the stored one. Complex to real is refused. */
sptrsm_status spti_io_choose_dtype(sptrsm_dtype *out, sptrsm_dtype stored, int asked, const char *where);

/* ---- forms: detect.c, binsparse.c, matlab.c, anndata.c, coo.c ---- */

typedef enum { SPTI_NONE, SPTI_COMPRESSED, SPTI_COORDINATE, SPTI_DENSE } spti_io_kind;

typedef struct {
  spti_io_kind kind;
  const char *rule;                        /* static storage */
  sptrsm_format format;                    /* of COMPRESSED */
  sptrsm_layout layout;                    /* of DENSE */
  int64_t rows, cols, nnz;                 /* -1: as the arrays say */
  const char *ptr, *idx, *row, *col, *val; /* names of the datasets; val NULL: nnz = 0 and nothing stored */
  int pairs, iso;                          /* values are interleaved complex, one value for all */
  int format_guessed;                      /* CSR was taken because the file says nothing */
  sptrsm_symmetry symmetry;
  int uplo, diag;
} spti_io_form;

/* kind stays NONE where a group has none of the forms; an error where it claims a form and breaks it. */
sptrsm_status spti_io_detect(spti_io_form *, spti_io_file *, const spti_io_object *group);
sptrsm_status spti_io_match_binsparse(spti_io_form *, spti_io_file *, const spti_io_object *group);
sptrsm_status spti_io_match_matlab(spti_io_form *, spti_io_file *, const spti_io_object *group);
sptrsm_status spti_io_match_anndata(spti_io_form *, spti_io_file *, const spti_io_object *group);
sptrsm_status spti_io_match_coo(spti_io_form *, spti_io_file *, const spti_io_object *group);
/* From attribute shape, h5sparse_shape, or dataset shape. */
sptrsm_status spti_io_read_shape(int *found, int64_t shape[2], spti_io_file *, const spti_io_object *group);
sptrsm_status spti_io_form_triangle(spti_io_form *, const json_t *object, const char *where); /* {"uplo", "diag", "structure"} */
sptrsm_status spti_io_set_structure(spti_io_form *, const char *structure, const char *where);
sptrsm_status spti_io_check_shape(int64_t rows, int64_t cols, const char *where);

/* ---- io/read/matrix.c, io/read/pattern.c, mtx.c ---- */

typedef struct {
  int64_t nnz;
  int32_t *row, *col;
  void *val;
} spti_io_triplets;

sptrsm_status spti_io_matrix_new(sptrsm_file_matrix **out, const char *where);
sptrsm_status spti_io_matrix_load(sptrsm_file_matrix **out, spti_io_file *, const spti_io_object *, const sptrsm_io_options *);
sptrsm_status spti_io_mtx_load(sptrsm_file_matrix **out, const spti_io_file *, const sptrsm_io_options *);
/* Fills M's arrays (CSR) from the triplets, sorted by row, then column. */
sptrsm_status spti_io_compress(sptrsm_file_matrix *M, const spti_io_triplets *);
sptrsm_status spti_io_expand(spti_io_triplets *, const sptrsm_file_matrix *M); /* entries in stored order, values copied */
void spti_io_triplets_free(spti_io_triplets *);
sptrsm_status spti_io_sort(sptrsm_file_matrix *M);              /* sorts each row (CSR) or column (CSC) */
void spti_io_sum_duplicates(sptrsm_file_matrix *M);             /* of a sorted matrix */
sptrsm_status spti_io_check_order(const sptrsm_file_matrix *M); /* sorted, no duplicates */
/* First non-finite entry: STRUCTURE off the diagonal, SINGULAR on it (skipped unless diagonal is set). */
sptrsm_status spti_io_check_finite(const sptrsm_file_matrix *M, int diagonal);
const char *spti_io_precision_note(sptrsm_dtype); /* for messages about such entries, and zeros */
sptrsm_status spti_io_matrix_convert(sptrsm_file_matrix *M, sptrsm_dtype to);
typedef enum { SPTI_ALONE, SPTI_L_OF_SET, SPTI_L_WITH_U, SPTI_U_WITH_L } spti_io_role; /* for what a message can advise */
sptrsm_status spti_io_triangle(sptrsm_sparse *out, sptrsm_file_matrix *M, spti_io_role, const sptrsm_io_options *);
/* An order so far beyond the number of entries that the diagonal can't be there; refused before memory depends on the order. */
sptrsm_status spti_io_check_order_and_count(const sptrsm_file_matrix *M, int64_t nnz, const sptrsm_io_options *);
int64_t spti_io_major(const sptrsm_file_matrix *M); /* number of rows (CSR) or columns (CSC) */
int spti_io_finite(sptrsm_dtype, const void *val, int64_t p);
int spti_io_zero(sptrsm_dtype, const void *val, int64_t p);

/* ---- io/read/block.c: dense blocks ---- */

typedef struct {
  spti_io_file *file;
  spti_io_dataset d;
  int flat; /* a 1-D dataset holds the whole block (Binsparse DMATR, DMATC) */
  int pairs;
  int64_t rows, cols, begin; /* begin: first column asked for */
  sptrsm_layout layout;
  const char *rule;
} spti_io_block_source;
sptrsm_status spti_io_block_new(sptrsm_file_block **out, const char *where);
/* Finds the block and describes it in X, but for its data. To be closed after a failure too. */
sptrsm_status spti_io_block_open(spti_io_block_source *, sptrsm_file_block *X, spti_io_file *, const char *where, int32_t n,
                                 const sptrsm_io_options *);
/* Columns [begin, begin + width) of the dataset, densely in its order. */
sptrsm_status spti_io_block_read(const spti_io_block_source *, int64_t begin, int64_t width, sptrsm_dtype, void *out);
void spti_io_block_close(spti_io_block_source *);

/* ---- direct.c: columns without HDF5, and turns with it ---- */

typedef struct {
  H5E_auto2_t report;
  void *report_data;
} spti_io_turn;
/* Around calls of HDF5 where another thread may make some: one at a time, and without its error report. */
void spti_io_turn_begin(spti_io_turn *);
void spti_io_turn_end(const spti_io_turn *);

typedef struct { /* a contiguous block of the machine's own type in an open file */
  int fd;
  off_t at;
  size_t each;
  int64_t rows, cols;
  sptrsm_layout layout;
} spti_io_span;
/* 1 where the dataset lies in its file as it would in memory. */
int spti_io_span_of(spti_io_span *, const spti_io_block_source *, sptrsm_dtype);
int spti_io_descriptor(const spti_io_block_source *);  /* of the file that the dataset is in; -1: HDF5 reads it in another way */
int spti_io_is_external(const spti_io_block_source *); /* are the numbers, or some, in another file than the one opened? */
/* Columns [first, first + width), densely in memory. */
sptrsm_status spti_io_span_read(const spti_io_span *, int64_t first, int64_t width, void *out, const char *where);
sptrsm_status spti_io_span_write(const spti_io_span *, int64_t first, int64_t width, const void *data, const char *where);

/* ---- io/write/journal.c ---- */

typedef struct {
  int fd;
  char *path;
  char *text; /* opened: the good records, each ended by a NUL */
  size_t bytes;
} spti_io_journal;
/* Each is closed with spti_io_journal_close, after a failure too. */
sptrsm_status spti_io_journal_create(spti_io_journal *, const char *path); /* empties it, if nobody has it open */
sptrsm_status spti_io_journal_open(spti_io_journal *, const char *path);   /* cuts off a torn end */
sptrsm_status spti_io_journal_append(spti_io_journal *, const char *word, const char *text);
int spti_io_journal_busy(const char *path);    /* some process has it open */
int spti_io_journal_foreign(const char *path); /* there, and no journal by its first record */
/* The text of the first record `word`, or of the next one behind that text; NULL: none. */
const char *spti_io_journal_next(const spti_io_journal *, const char *word, const char *after);
void spti_io_journal_close(spti_io_journal *);

/* ---- io/read/list.c ---- */

/* "; there is /L1, /L2: say which, as FILE:/path", or "" where the group holds no matrix. sets: /run1/L counts as /run1. */
void spti_io_name_candidates(char out[400], const spti_io_object *group, int sets);

/* ---- io/read/vectors.c: permutations, scalings, D ---- */

typedef struct {
  spti_io_file *file;
  spti_io_object *group;
  sptrsm_file_factors *F;
  char rule[320];
} spti_io_factor_reader;
sptrsm_status spti_io_read_permutations(spti_io_factor_reader *);
sptrsm_status spti_io_read_scalings(spti_io_factor_reader *);
sptrsm_status spti_io_read_diagonal(spti_io_factor_reader *);

/* ---- driver.c: HDF5 without write errors half-way ---- */

hid_t spti_io_driver_create(const char *name); /* H5Fcreate of an existing, empty file; -1 on failure */
hid_t spti_io_driver_open(const char *name);   /* H5Fopen for writing */
int spti_io_driver_error(void);                /* errno of the first write that failed since, or 0 */

/* ---- io/write/output.c: a file that appears whole or not at all ---- */

typedef struct {
  char *final, *temp, *folder;
  hid_t id;
  int force;
  H5E_auto2_t old_report;
  void *old_report_data;
} spti_io_output;
sptrsm_status spti_io_output_begin(spti_io_output *, const char *path, const sptrsm_save_options *);
sptrsm_status spti_io_output_commit(spti_io_output *);
void spti_io_output_discard(spti_io_output *); /* after a failure; removes the temporary file */
/* Parts of the above, for outputs that take long: final and folder only; flush, close and sync; and which files a failure or an
 * interrupt removes, besides temp: path, if it is the file that is open as fd by then (negative: whatever it is). */
sptrsm_status spti_io_output_names(spti_io_output *, const char *path, const sptrsm_save_options *);
sptrsm_status spti_io_output_close(spti_io_output *);
sptrsm_status spti_io_output_watch(const char *path, int fd);
void spti_io_output_unwatch(int kept);                                   /* all but the first `kept` */
sptrsm_status spti_io_sync_path(const char *path, int flags);            /* fsync; flags: O_DIRECTORY for a folder */
sptrsm_status spti_io_write_failed(const char *where, const char *name); /* says why, if the system did */
sptrsm_status spti_io_write_text(hid_t object, const char *name, const char *text, const char *where);
sptrsm_status spti_io_write_integers(hid_t object, const char *name, const int64_t *values, int count, const char *where);
typedef struct {
  const char *name;
  hid_t type; /* in memory and in the file */
  int rank;
  hsize_t dims[2], chunk[2]; /* chunk[0] = 0: contiguous unless a filter needs chunks */
  int early;                 /* gets its place in the file at once */
} spti_io_array;
/* Creates a dataset with the filters of the options; *out is the caller's to close. */
sptrsm_status spti_io_create_array(hid_t *out, hid_t group, const spti_io_array *, const sptrsm_save_options *, const char *where);
sptrsm_status spti_io_write_array(hid_t group, const spti_io_array *, const void *data, const sptrsm_save_options *, const char *where);
/* save_block.c: a vector beside the solution, `name` in the folder of `path`. */
sptrsm_status spti_io_beside(char **out, const char *path, const char *name, const char *where);
sptrsm_status spti_io_write_beside(spti_io_output *, const char *path, const char *name, hid_t type, int64_t count, const void *data,
                                   const sptrsm_save_options *);
/* save_block.c: dims, order and, for panels of `step` columns, chunks of a block such as X; type stays to be filled. */
spti_io_array spti_io_block_array(const char *name, const sptrsm_block *X, sptrsm_layout, int64_t step);
/* Writes X as columns [first, first + X->nrhs) of a dataset in that order. */
sptrsm_status spti_io_write_columns(hid_t dataset, hid_t type, const sptrsm_block *X, sptrsm_layout, int64_t first, const char *where,
                                    const char *name);
sptrsm_status spti_io_value_type(hid_t *out, sptrsm_dtype, const char *where); /* a float, or the compound {r, i}; the caller closes it */

#endif
