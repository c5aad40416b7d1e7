/* launcher.c -- see launcher.h. Open MPI, MPICH and its kin (PMI), PMIx (srun --mpi=pmix) and MVAPICH. */
#include "solve/ranks/launcher.h"

#include <stddef.h>
#include <stdlib.h>

static const struct {
  const char *rank, *count;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                 {"PMI_RANK", "PMI_SIZE"},
                 {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};

int launcher_ranks(void) {
  for (size_t k = 0; k < sizeof launchers / sizeof launchers[0]; k++) {
    if (getenv(launchers[k].rank) == NULL) continue;
    const char *count = getenv(launchers[k].count);
    return count ? atoi(count) : 1;
  }
  return 0;
}

int launcher_rank(void) {
  for (size_t k = 0; k < sizeof launchers / sizeof launchers[0]; k++)
    if (getenv(launchers[k].rank)) return atoi(getenv(launchers[k].rank));
  return 0;
}
