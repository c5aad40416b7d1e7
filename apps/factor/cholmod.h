/* cholmod.h -- the settings with which sptrsm-factor calls CHOLMOD; with them another program gets the same factors. */
#ifndef APPS_FACTOR_CHOLMOD_H
#define APPS_FACTOR_CHOLMOD_H

#include <cholmod.h>

#include "factor/factor.h"

void factor_cholmod_set_up(cholmod_common *, const factor_request *);
/* The matrix, not copied; CHOLMOD reads its lower triangle only. */
cholmod_sparse factor_cholmod_view(const factor_matrix *);

#endif
