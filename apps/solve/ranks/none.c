/* none.c -- one rank, in a build without MPI. Under mpirun each rank would take itself for the only one, so that is refused. */
#include <stdlib.h>

#include "solve/ranks/launcher.h"
#include "solve/ranks/ranks.h"

static int64_t claimed;

void ranks_start(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  if (launcher_ranks() <= 1) return;
  cli_set_program("sptrsm-solve");
  if (launcher_rank() > 0) exit(CLI_USAGE);
  cli_usage(
      "this build has no MPI, and %d processes would write one output; build with -DSPTRSM_MPI=ON, or share columns out by --part I/N",
      launcher_ranks());
}

void ranks_begin(void) {}
int ranks_end(int code, bool finished) { return (void)finished, code; }
int ranks_count(void) { return 1; }
int ranks_own(void) { return 0; }
int ranks_local(void) { return 0; }
int ranks_local_count(void) { return 1; }
int ranks_threads(int library) { return (void)library, 0; }
void ranks_send(void *data, size_t bytes) { (void)data, (void)bytes; }
bool ranks_share(void **data, size_t bytes) { return (void)data, (void)bytes, false; }
int64_t ranks_least(int64_t number) { return number; }
void ranks_wait(void) {}
int64_t ranks_claim(void) { return claimed++; }
