/* launcher.h -- whether mpirun, srun or the like has started this process, by the variables that they set. */
#ifndef APPS_SOLVE_RANKS_LAUNCHER_H
#define APPS_SOLVE_RANKS_LAUNCHER_H

int launcher_ranks(void); /* how many processes it has started; 0: none of them is known; 1 also where the number is not told */
int launcher_rank(void);  /* number of this one */

#endif
