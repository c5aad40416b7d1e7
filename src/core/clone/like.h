/* like.h -- solvers of one host context whose factor sets have one pattern: each has its own values, and all share the lines of the
 * matrices and what the first one's analyses found. For core/batch. */
#ifndef SPTI_CORE_CLONE_LIKE_H
#define SPTI_CORE_CLONE_LIKE_H

#include "core/direct/direct.h"

/* A plan of a matrix with the pattern of the matrix of `from`, which lends it its state; packs the values of the matrix. Methods that can't
 * write down what they found analyse anew. */
sptrsm_status spti_plan_like(sptrsm_plan **out, const sptrsm_matrix *, sptrsm_plan *from);

/* A solver without plans, with copies of the values of `from`. */
sptrsm_status spti_direct_like(sptrsm_direct **out, const sptrsm_direct *from);
/* Gives a solver with the pattern of `from` every plan that this one has and it lacks. */
sptrsm_status spti_direct_like_plans(sptrsm_direct *, const sptrsm_direct *from);

#endif
