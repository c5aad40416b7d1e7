/* factors.h -- a factor set that rank 0 has read, for all ranks. */
#ifndef APPS_SOLVE_RANKS_FACTORS_H
#define APPS_SOLVE_RANKS_FACTORS_H

#include "common/cli.h"

/* *F: of rank 0, as loaded; the others get a copy, to be freed with sptrsm_file_factors_free. Returns an exit code; after a failure the
 * copy must not be touched. */
int ranks_send_factors(sptrsm_file_factors **F);

#endif
