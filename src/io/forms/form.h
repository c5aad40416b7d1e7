/* form.h -- the forms of matrices and dense blocks in HDF5 groups, recognised by names and attributes alone.
 *
 * A matcher fills an spti_io_form with the names of the datasets, which src/io/read then reads. It reads no array of entries.
 */
#ifndef SPTI_IO_FORMS_FORM_H
#define SPTI_IO_FORMS_FORM_H

#include "io/file/file.h"

typedef enum { SPTI_NONE, SPTI_COMPRESSED, SPTI_COORDINATE, SPTI_DENSE } spti_io_kind;

typedef struct {
  spti_io_kind kind;
  const char *rule;                        /* name of the form for the user; static storage */
  sptrsm_format format;                    /* of COMPRESSED */
  sptrsm_layout layout;                    /* of DENSE */
  int64_t rows, cols, nnz;                 /* -1: not said, the arrays decide */
  const char *ptr, *idx, *row, *col, *val; /* names of the datasets; val NULL: nnz = 0 and nothing stored */
  bool pairs;                              /* complex values are stored as interleaved reals */
  bool iso;                                /* one stored value stands for all entries */
  bool format_guessed;                     /* CSR was taken because the file names no format */
  sptrsm_symmetry symmetry;
  int uplo, diag; /* sptrsm_uplo and sptrsm_diag, or AS_STORED: not said */
} spti_io_form;

/* ---- detect.c ---- */

/* kind is NONE for a group of no known form. STRUCTURE: the group claims a form and breaks its rules. */
sptrsm_status spti_io_detect(spti_io_form *, const spti_io_object *group);

/* ---- binsparse.c, matlab.c, anndata.c, coo.c: one matcher each; kind stays NONE where the group is of another form ---- */

sptrsm_status spti_io_match_binsparse(spti_io_form *, const spti_io_object *group);
sptrsm_status spti_io_match_matlab(spti_io_form *, const spti_io_object *group);
sptrsm_status spti_io_match_anndata(spti_io_form *, const spti_io_object *group);
sptrsm_status spti_io_match_coo(spti_io_form *, const spti_io_object *group);

/* ---- form.c: what the matchers share ---- */

sptrsm_status spti_io_check_shape(int64_t rows, int64_t cols, const char *where); /* 0 <= rows, cols <= INT32_MAX */
/* Reads attribute shape or h5sparse_shape, or dataset shape. */
sptrsm_status spti_io_read_shape(bool *found, int64_t shape[2], const spti_io_object *group);
sptrsm_status spti_io_form_triangle(spti_io_form *, const json_t *object, const char *where); /* {"uplo", "diag", "structure"} */
sptrsm_status spti_io_set_structure(spti_io_form *, const char *structure, const char *where);

#endif
