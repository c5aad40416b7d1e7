/* file.h -- the lowest layer of the file library: an open file, the objects, datasets and attributes in it, and the memory limit.
 *
 * Functions that need HDF5 run in the child process of their file (child.h) if it has one, else in this process. Identifiers of HDF5
 * (hid_t) are those of the process that calls HDF5; the other one only hands them on.
 * `where` is always "FILE:/path" and begins every message. Nothing is allocated by a number from a file before
 * spti_io_check_memory() has compared it with the limit. Strings and arrays that a function returns belong to the caller (free).
 */
#ifndef SPTI_IO_FILE_FILE_H
#define SPTI_IO_FILE_FILE_H

#include <hdf5.h>
#include <jansson.h>
#include <sptrsm_io.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/base/dtype.h"

#define SPTI_IO_TRY(call)                                                                                                                  \
  do {                                                                                                                                     \
    sptrsm_status status_ = (call);                                                                                                        \
    if (status_ != SPTRSM_OK) return status_;                                                                                              \
  } while (0)

enum { SPTI_JSON_BYTES = 1 << 20, SPTI_JSON_DEPTH = 32 }; /* caps on text and JSON in a file */
enum { SPTI_IO_CHUNK_CACHE = 64 << 20 };                  /* bytes; reading a few columns touches each chunk row by row */

/* ---- report.c: HDF5's error report ---- */

typedef struct {
  H5E_auto2_t handler;
  void *data;
  bool taken;
  bool lacked_memory; /* what was seen before */
} spti_io_report;
/* Silences HDF5's error report in this thread until it is given back. False: HDF5 can't even start, and its report stays as it is. */
bool spti_io_take_report(spti_io_report *old);
void spti_io_give_report(const spti_io_report *old);
bool spti_io_lacked_memory(void); /* whether an allocation, of HDF5 or noted, has failed in this thread since the report was taken */
void spti_io_note_lack(void);
void spti_io_clear_lack(void); /* before a read whose file has a child: HDF5's report is not taken then */
/* The status of reading `where`. It becomes MEMORY if an allocation has failed, because then neither an error nor a success can be trusted:
 * what could not be looked up may count as absent. */
sptrsm_status spti_io_settle(sptrsm_status, const char *where);

/* ---- file.c: the open file, its objects, memory ---- */

typedef struct spti_io_child spti_io_child;

typedef struct {
  spti_io_child *child; /* the process that calls HDF5 for this file; NULL: this one */
  hid_t id;             /* the HDF5 file, or -1 for Matrix Market */
  hid_t lapl;           /* link access list that refuses external links */
  char *name;           /* as given, without the object */
  char *path;           /* "/L" as given, or NULL */
  size_t memory_limit;
  bool allow_external;
  bool lookup_failed; /* set when HDF5 could not say whether a name exists */
  bool met_external;  /* set when an external link was refused */
  bool matrix_market;
  bool positions;     /* values are not read with a pattern: each entry holds its place in the values array, from 1 on (read/batch.c) */
  bool lacked_before; /* memory was missing before, in the load that this one is a part of */
  struct stat seen;   /* the file, before it was opened */
  sptrsm_file_cache *cache;  /* where the file stays when it is closed; NULL: nowhere */
  spti_io_report old_report; /* the caller's, given back on close; not taken where the file has a child */
} spti_io_file;

typedef struct { /* an open group or dataset */
  hid_t id;
  H5I_type_t type;
  char *where;
  spti_io_file *file;
} spti_io_object;

/* The options' cache may have the file. spti_io_file_close() leaves it there if the status, that of what was done with it, is OK. */
sptrsm_status spti_io_file_open(spti_io_file *, const char *where, const sptrsm_io_options *);
void spti_io_file_close(spti_io_file *, sptrsm_status);
sptrsm_status spti_io_file_found(const spti_io_file *); /* an error if HDF5 could not say of a name whether it exists */
/* Ends a load: closes the file. A status of OK becomes that of spti_io_file_found, and then that of spti_io_settle. */
sptrsm_status spti_io_file_end(spti_io_file *, sptrsm_status);
size_t spti_io_cache_bytes(const spti_io_file *); /* size of HDF5's chunk cache, a part of the memory limit */
/* taken = the caller's options after a check, or the defaults for NULL; *options then points to it. For every public function that takes
 * options: the caller's struct may be shorter or longer than this library's. */
sptrsm_status spti_io_take_options(sptrsm_io_options *taken, const sptrsm_io_options **options);

sptrsm_status spti_io_object_open(spti_io_object *, const spti_io_object *parent, const char *name);
/* Opens an object that its group must contain: where it is missing, the file is wrong (STRUCTURE) and not the name given (IO). */
sptrsm_status spti_io_member_open(spti_io_object *, const spti_io_object *group, const char *name);
sptrsm_status spti_io_object_open_path(spti_io_object *, spti_io_file *, const char *path); /* from the root; NULL: the root */
void spti_io_object_close(spti_io_object *);
void spti_io_id_close(spti_io_file *, hid_t);                    /* of an object or dataset; -1 is allowed */
bool spti_io_has(const spti_io_object *group, const char *name); /* does a link of that name exist? */

sptrsm_status spti_io_copy(char **out, const char *text);
sptrsm_status spti_io_join(char **out, const char *where, const char *name); /* "f.h5:/" + "L", "f.h5:/L" + "data" */
size_t spti_io_memory_limit(const sptrsm_io_options *);                      /* 0 in the options: the default */
/* The least of `physical` and the memory limits of the cgroups below ROOT, see cgroup.h. */
size_t spti_io_memory_of(const char *root, size_t physical);
size_t spti_io_bytes(int64_t count, size_t each); /* the product, SIZE_MAX if it overflows */
size_t spti_io_add(size_t, size_t);               /* the sum, likewise */
sptrsm_status spti_io_check_memory(size_t limit, const char *where, size_t bytes, const char *way_out);
void spti_io_size_text(char out[24], size_t bytes);                                                   /* "537 MB" */
sptrsm_status spti_io_allocate(void *out /* a pointer's address */, const char *where, size_t bytes); /* never NULL on success */
/* Makes room for one element more: doubles an array that is full. The old array stays valid on failure. */
sptrsm_status spti_io_grow(void *array /* a pointer's address */, size_t *room, size_t count, size_t each, const char *where);

/* ---- cache.c: files that stay open ---- */

bool spti_io_cache_take(spti_io_file *);      /* gives it the child and the identifier of the same file, if its cache has that */
void spti_io_cache_give_back(spti_io_file *); /* leaves them in its cache, with the name; does nothing where they can't be used again */

/* ---- links.c: the names in a group ---- */

typedef struct {
  char **names; /* sorted */
  size_t count;
} spti_io_names;
sptrsm_status spti_io_names_read(spti_io_names *, hid_t group, const char *where);
/* The same of an open group, in natural order: numbers in names count as numbers, so item2 comes before item10. */
sptrsm_status spti_io_names_of(spti_io_names *, const spti_io_object *group);
void spti_io_names_free(spti_io_names *);

/* ---- attr.c: attributes, text and JSON ---- */

sptrsm_status spti_io_attr_exists(bool *found, const spti_io_object *, const char *name);
sptrsm_status spti_io_attr_text(char **out, const spti_io_object *, const char *name); /* *out NULL: no such attribute */
sptrsm_status spti_io_attr_integers(bool *found, int64_t *out, int count, const spti_io_object *, const char *name); /* count <= 3 */
sptrsm_status spti_io_text_dataset(char **out, const spti_io_object *group, const char *name);                       /* *out NULL: none */
sptrsm_status spti_io_parse_json(json_t **out, const char *text, const char *where, const char *attribute);

/* ---- guard.c: whether a dataset may be read ---- */

typedef struct {  /* the chunks with filters of a dataset, or of all sources of a virtual one, which HDF5 keeps open */
  size_t largest; /* bytes, as numbers; 0: there are none */
  size_t kept;    /* bytes that caches for at least one chunk of each source may hold */
} spti_io_unpacked;
/* Refuses external storage, virtual datasets and unknown filters; allowed external data that are not there. Comes before any other
 * query of a dataset: even asking for its dataspace may open other files. */
sptrsm_status spti_io_dataset_guard(spti_io_unpacked *, const spti_io_file *, hid_t dataset, const char *where);

/* ---- dataset.c: stored numbers and arrays ---- */

typedef struct { /* the type of a stored number */
  bool is_integer, is_complex;
  sptrsm_dtype dtype; /* type in memory unless the caller asks for another one */
  char re[8], im[8];  /* member names of a complex compound */
  char name[16];      /* "f64", "int32", "c128" */
} spti_io_number;

typedef struct {
  hid_t id;
  char *where;
  spti_io_file *file;
  int rank;        /* 1, 2 or 3 */
  int64_t dims[2]; /* dims[1] = 1 for rank 1; of rank 3: the first two axes joined, and the last one */
  int64_t axes[2]; /* of rank 3: the first two axes, else zeros */
  int64_t count;   /* dims[0] * dims[1] */
  spti_io_number number;
  bool pairs;          /* complex values stored as interleaved reals; only a form says so, hence set by the caller after opening */
  int64_t chunk[2];    /* as dims; zeros: not in chunks */
  size_t chunk_bytes;  /* as stored numbers */
  size_t filter_bytes; /* memory that HDF5 takes besides its cache for a chunk with filters, also of a source, as stored and as numbers */
} spti_io_dataset;

/* A selection of a dataset, as H5Sselect_hyperslab takes it; of rank 3: of its joined axes. There, blocks of rows must not reach beyond an
 * item, unless there is one block. */
typedef struct {
  hsize_t start[2], stride[2], blocks[2], size[2];
} spti_io_slab;

/* Opens a numeric dataset of rank 1 to 3, after spti_io_dataset_guard(). */
sptrsm_status spti_io_dataset_open(spti_io_dataset *, const spti_io_object *group, const char *name);
/* The same of a vector, which may be stored as one row or one column (MATLAB); to be closed after a failure, too. */
sptrsm_status spti_io_vector_open(spti_io_dataset *, const spti_io_object *group, const char *name);
bool spti_io_is_vector(const spti_io_dataset *);
void spti_io_shape_text(char out[72], const spti_io_dataset *); /* "4 x 2" */
/* As spti_io_dataset_open() of an open object, which belongs to the dataset afterwards, also after a failure. */
sptrsm_status spti_io_dataset_of(spti_io_dataset *, const spti_io_object *);
void spti_io_dataset_close(spti_io_dataset *);
spti_io_object spti_io_object_of(const spti_io_dataset *); /* for its attributes; borrowed */
/* The HDF5 type that reads such numbers as dtype, both real or both complex; the caller closes it; -1 on failure. */
hid_t spti_io_memory_type(const spti_io_number *, sptrsm_dtype);
sptrsm_dtype spti_io_complex_of(sptrsm_dtype); /* F32 -> C64, F64 -> C128 */
/* Chooses the type in memory: `asked`, or the stored type for AS_STORED. Complex to real is refused. */
sptrsm_status spti_io_choose_dtype(sptrsm_dtype *out, sptrsm_dtype stored, int asked, const char *where);
const char *spti_io_precision_note(sptrsm_dtype); /* end of messages about zeros and infinities that a conversion may have made */

/* ---- numbers.c: reading the numbers of a dataset ---- */

enum { SPTI_AS_I32 = 16, SPTI_AS_I64 }; /* types in memory beside those of sptrsm_dtype */

typedef struct { /* where the numbers lie */
  int fd;        /* descriptor of the dataset's file, which the caller closes; -1: there is none, as without /proc */
  off_t at;      /* byte offset of numbers that lie in that file exactly as they would in memory; -1: they do not */
  bool external; /* some of the numbers are in another file than the one opened */
  dev_t device;  /* with inode: which file fd is */
  ino_t inode;
} spti_io_place;
/* as: sptrsm_dtype or one of the above. */
void spti_io_find_place(spti_io_place *, const spti_io_dataset *, int as);
sptrsm_status spti_io_read_i64(const spti_io_dataset *, int64_t *out);
sptrsm_status spti_io_read_i32(const spti_io_dataset *, int32_t *out);         /* clips values out of range: range checks still fail */
void spti_io_stored_integer(char out[24], const spti_io_dataset *, int64_t p); /* element p as stored, for messages */
/* Reads count numbers (all, or those of slab) as dtype. */
sptrsm_status spti_io_read_values(const spti_io_dataset *, const spti_io_slab *slab, int64_t count, sptrsm_dtype dtype, void *out);

/* ---- direct.c: columns read and written without HDF5, and the lock around HDF5 ---- */

/* Around calls of HDF5 while another thread may call it too: lets one thread in at a time and takes its error report. */
void spti_io_lock_hdf5(spti_io_report *old);
void spti_io_unlock_hdf5(const spti_io_report *old);
/* Between them no thread of this library is in HDF5. They do not call it themselves. */
void spti_io_exclude_hdf5(void);
void spti_io_include_hdf5(void);

/* Read and write bytes at an offset of an open file. */
sptrsm_status spti_io_bytes_read(int fd, off_t at, size_t bytes, void *out, const char *where);
sptrsm_status spti_io_bytes_write(int fd, off_t at, size_t bytes, const void *data, const char *where);

typedef struct { /* a dense block that lies contiguously in an open file, in the machine's own number type */
  int fd;
  off_t at;    /* byte offset of the first element */
  size_t each; /* bytes of an element */
  int64_t rows, cols;
  sptrsm_layout layout;
  int64_t before; /* columns of the whole that lie before these, in other files: messages count them */
} spti_io_span;
/* Columns [first, first + width), densely in memory. */
sptrsm_status spti_io_span_read(const spti_io_span *, int64_t first, int64_t width, void *out, const char *where);
sptrsm_status spti_io_span_write(const spti_io_span *, int64_t first, int64_t width, const void *data, const char *where);

/* ---- driver.c: an HDF5 file driver that survives failed writes ---- */

hid_t spti_io_driver_create(const char *name); /* H5Fcreate of an existing, empty file; -1 on failure */
hid_t spti_io_driver_open(const char *name);   /* H5Fopen for writing; -1 on failure */
int spti_io_driver_error(void);                /* errno of the first write that failed since then, or 0 */

#endif
