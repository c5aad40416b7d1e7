/* systems.h -- the elementary operators that solve op(S) x = b, for every system S of sptrsm_system. */
#ifndef SPTI_CORE_DIRECT_SYSTEMS_H
#define SPTI_CORE_DIRECT_SYSTEMS_H

#include "core/matrix/view.h"

typedef enum { SPTI_L, SPTI_D, SPTI_U } spti_factor;
typedef enum { SPTI_NO_SIDE, SPTI_ROW_SIDE, SPTI_COL_SIDE } spti_edge_side;

/* A permutation with or without its scaling: P R on the row side, C Q on the column side, or transposed R P' and Q' C. */
typedef struct {
  spti_edge_side side;
  bool transpose, scaled;
} spti_system_edge;

typedef struct {
  spti_factor factor;
  spti_op op;
} spti_system_stage;

/* x = last * stage[count-1]^-1 * ... * stage[0]^-1 * first * b */
typedef struct {
  spti_system_edge first, last;
  int count;
  spti_system_stage stages[3];
} spti_system_steps;

/* Both arguments must be in range. */
spti_system_steps spti_system_solve_steps(sptrsm_system, sptrsm_op);

#endif
