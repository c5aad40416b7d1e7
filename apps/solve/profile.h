/* profile.h -- where the time of a run goes, thread by thread, as a trace in Chrome's format (--profile).
 *
 * A profile that is NULL, because none was asked for, keeps nothing.
 */
#ifndef APPS_SOLVE_PROFILE_H
#define APPS_SOLVE_PROFILE_H

#include <sptrsm_inspect.h>

typedef struct profile profile;

/* From now on the pieces of cli_share, which are residuals, are kept, too. Columns get the numbers that they have in the file, of which
 * first_column is the first one taken. Returns an exit code. */
int profile_create(profile **out, int64_t first_column);
void profile_free(profile *);

/* Keeps that the calling thread worked on `what` from `begin` (cli_now) until now, for columns [first, first + nrhs) of those taken, or for
 * none in particular (nrhs 0). `what` is kept by reference. Returns the seconds from `begin`, without a profile, too. */
double profile_span(profile *, const char *what, double begin, int64_t first, int64_t nrhs);
/* The library's spans, until the next call, are of a block whose column 0 is column `first` of those taken; -1: not known. */
void profile_base(profile *, int64_t first);
sptrsm_trace profile_trace; /* for sptrsm_context_set_trace; user: the profile */

/* Writes the trace. Returns an exit code. */
int profile_write(profile *, const char *path);

#endif
