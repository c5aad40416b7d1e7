/* klu.h -- the settings with which sptrsm-factor calls KLU; with them another program gets the same factors. */
#ifndef APPS_FACTOR_KLU_H
#define APPS_FACTOR_KLU_H

#include <klu.h>

#include "factor/factor.h"

void factor_klu_set_up(klu_l_common *, const factor_request *);

#endif
