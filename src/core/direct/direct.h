/* direct.h -- the inside of sptrsm_direct, for direct.c and core/refine/refine.c. */
#ifndef SPTI_CORE_DIRECT_DIRECT_H
#define SPTI_CORE_DIRECT_DIRECT_H

#include "core/direct/parts.h"

struct spti_refiner;

typedef struct {
  sptrsm_plan *plan; /* NULL until a system asks for it */
  void *work;
  bool work_made;
} spti_direct_slot;

struct sptrsm_direct {
  sptrsm_context *context;
  sptrsm_matrix *matrix[2]; /* L, U; no U where it is L transposed, or absent */
  bool has_U;
  sptrsm_u_kind u_kind;
  sptrsm_dtype dtype;    /* that the factors are kept in */
  sptrsm_dtype given;    /* that they were given in */
  sptrsm_place place[2]; /* of the caller's L and U */
  int32_t n;
  spti_side row, col;
  spti_direct_diagonal D;
  sptrsm_options options;
  char method[96];                 /* what options.method points to */
  spti_direct_slot slots[2][2][2]; /* [matrix][transpose][conj] */
  int32_t panel;                   /* what all plans made so far can do */
  spti_panels panels;              /* made at the first solve */
  struct spti_refiner *refiner;    /* NULL without the original matrix */
};

#endif
