/* klu.h -- how sptrsm-factor asks KLU, for those who want the same factors from it. */
#ifndef APPS_FACTOR_KLU_H
#define APPS_FACTOR_KLU_H

#include <klu.h>

#include "factor/factor.h"

void factor_klu_set_up(klu_l_common *, const factor_request *);

#endif
