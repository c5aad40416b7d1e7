/* cholmod.h -- how sptrsm-factor asks CHOLMOD, for those who want the same factors from it. */
#ifndef APPS_FACTOR_CHOLMOD_H
#define APPS_FACTOR_CHOLMOD_H

#include <cholmod.h>

#include "factor/factor.h"

void factor_cholmod_set_up(cholmod_common *, const factor_request *);
/* The matrix in its own arrays: of both triangles CHOLMOD reads the lower one. */
cholmod_sparse factor_cholmod_view(const factor_matrix *);

#endif
