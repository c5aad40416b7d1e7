/* umfpack.h -- the settings with which sptrsm-factor calls UMFPACK; with them another program gets the same factors. */
#ifndef APPS_FACTOR_UMFPACK_H
#define APPS_FACTOR_UMFPACK_H

#include <umfpack.h>

#include "factor/factor.h"

void factor_umfpack_set_up(double control[UMFPACK_CONTROL], const factor_request *);

#endif
