/* ranks.h -- the processes of one run of sptrsm-solve (mpirun -n K): which of them this is, and what they tell each other.
 *
 * mpi.c does it by MPI, and none.c stands in where there is no MPI. Where the program was not started by mpirun or the like, there is one
 * rank, number 0, and all functions return at once. Rank 0 reads the factors, begins and finishes the output and speaks for all; the others
 * print only errors. A function without a comment about one rank is called by all ranks, in the same order.
 */
#ifndef APPS_SOLVE_RANKS_RANKS_H
#define APPS_SOLVE_RANKS_RANKS_H

#include "common/cli.h"

/* Before cli_start. Ranks other than 0 wait until rank 0 calls ranks_begin, and end with it where it ends before that, without a message:
 * what is wrong with a command line is said once. */
void ranks_start(int *argc, char ***argv);
void ranks_begin(void); /* what rank 0 has checked is good; the others call it at once, and are mute from then on */
/* Before the end of main: returns the exit code. A code other than 0 of a rank that failed ends all others. finished: this rank has no part
 * in an error, and the code is only told. */
int ranks_end(int code, bool finished);

int ranks_count(void);
int ranks_own(void);
int ranks_local(void);       /* number of this rank among those of this machine */
int ranks_local_count(void); /* how many they are */
/* How many threads this rank should have, so that the ranks of this machine together have one for each processor; 0: there is one rank.
 * library: threads that a process alone would have. */
int ranks_threads(int library);

void ranks_send(void *data, size_t bytes); /* from rank 0 to all others, in `data` of each */
/* From rank 0 to all others, whose *data becomes the address of bytes that may only be read and that the ranks of a machine share, to be
 * given back by munmap; rank 0 keeps its own. False: not possible, or of no use; nothing is sent. */
bool ranks_share(void **data, size_t bytes);
int64_t ranks_least(int64_t); /* the least of all ranks' numbers */
void ranks_wait(void);        /* until all ranks have come here */
int64_t ranks_claim(void);    /* of any rank at any time: 0, 1, 2, ..., each number once */

#endif
