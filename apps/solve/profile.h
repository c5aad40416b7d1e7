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
/* The library's spans of a member of the solver, until its next call, are of a block whose column 0 is column `first` of those taken; -1:
 * not known. Members solve at the same time. */
void profile_base(profile *, int member, int64_t first);
/* From now on the library's spans of this member are kept, if it is on the host, where steps are not queued. */
sptrsm_status profile_watch(profile *, int member, sptrsm_context *);

/* Writes the trace. Returns an exit code. */
int profile_write(profile *, const char *path);

#endif
