/* umfpack.h -- how sptrsm-factor asks UMFPACK, for those who want the same factors from it. */
#ifndef APPS_FACTOR_UMFPACK_H
#define APPS_FACTOR_UMFPACK_H

#include <umfpack.h>

#include "factor/factor.h"

void factor_umfpack_set_up(double control[UMFPACK_CONTROL], const factor_request *);

#endif
