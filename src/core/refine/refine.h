/* refine.h -- iterative refinement: the original matrix A, the memory of a refinement, the two passes over a panel on the host, and the
 * error bound. */
#ifndef SPTI_CORE_REFINE_REFINE_H
#define SPTI_CORE_REFINE_REFINE_H

#include <sptrsm_refine.h>

#include "core/matrix/matrix.h"
#include "core/refine/kernels.h"

enum { SPTI_LINES_OF_A, SPTI_LINES_OF_AT }; /* lines are the rows of A, or the rows of A^T */

/* A with all entries of each line. The caller's orientation is copied to the host at creation; the other one, and copies on the device,
 * are made when first needed. */
typedef struct {
  sptrsm_dtype dtype;
  int32_t n;
  int64_t nnz;
  int32_t given;            /* SPTI_LINES_OF_A or _AT */
  int32_t longest[2];       /* entries of the longest line by orientation, -1: not yet counted */
  spti_storage lines[2][2]; /* [orientation][place] */
} spti_original;

/* For factors of order n. */
sptrsm_status spti_original_create(spti_original *out, const sptrsm_context *, const sptrsm_square *A, int32_t n, sptrsm_dtype);
void spti_original_free(spti_original *, const sptrsm_context *);
sptrsm_status spti_original_lines(const spti_storage **out, spti_original *, const sptrsm_context *, int orientation, sptrsm_place);
static inline bool spti_original_given(const spti_original *A) { return A->lines[A->given][SPTRSM_HOST].present; }
/* What op(S) reads of A: A, A^H or A^T for the systems A, At and Aat, and likewise for L, Lt and Lat of a single triangle A. */
spti_op spti_original_op(sptrsm_system, sptrsm_op);

/* For each column of a step: factors, measured values and indices, [panel] each. All arrays lie in one piece of memory (an image), which is
 * copied as a whole between host and device. */
typedef struct {
  double *scale, *unscale;      /* powers of two that bring the residual near 1, and back */
  double *berr, *size, *x_size; /* maxima: see spti_residual_args */
  int32_t *columns, *pick;      /* the column of the panel; the column among the residuals of this step */
} spti_refine_lists;

/* What a direct solver keeps for refinement. Memory for `panel` columns is allocated when it is first needed. */
typedef struct spti_refiner {
  spti_original A;
  int32_t panel;
  void *R, *D;      /* residuals in the type of B, corrections in the type of the factors or weights of the error bound */
  void *staging[2]; /* copies on the device of a B or X in host memory, or NULL */
  void *image[2];   /* of spti_refine_lists on the host, and on the device or NULL */
} spti_refiner;

/* The refiner as an extension of its direct solver (core/direct/direct.h). In a host context *panels is for as many columns as nrhs_hint
 * says, or the most that a panel can have without a hint; on a device it is for `panel` columns, and *rest is A and the lists there. */
sptrsm_status spti_refiner_bytes(size_t *panels, size_t *rest, const sptrsm_direct *, int32_t panel);
void spti_refiner_release(void *refiner, const sptrsm_context *); /* panels, and all of A that is on a device */
void spti_refiner_free(void *refiner, const sptrsm_context *);

/* refine.c: sets growth, tiny and small for a matrix whose longest line has that many entries. Returns the unit roundoff. */
double spti_residual_bounds(spti_residual_args *, sptrsm_dtype, int32_t longest);
/* host.c: the two passes of kernels.h by the threads of a team. */
void spti_residual_host(const spti_residual_args *, sptrsm_dtype, spti_team *);
void spti_move_columns_host(const spti_move_columns_args *, spti_team *);

/* bound.c: out[c] is an estimate of || |op(A)^-1| w(:,c) ||_inf. w: [n,width], column-major, in host memory; it is overwritten. */
sptrsm_status spti_error_bound(double *out, sptrsm_direct *, bool transposed, int32_t width, double *w);

#endif
