/* team.h -- the host threads of a context. The calling thread and its helpers claim the pieces of a job one after another. The caller needs
 * no helper: it takes every piece that no helper has claimed, and waits only for helpers that are in the middle of one. So a job ends even
 * where threads can't be created, were lost in a fork, or do not get a core.
 * A team serves one job at a time. A thread that finds it in use, by another thread or by a job around its own, works alone. */
#ifndef SPTI_CORE_CONTEXT_TEAM_H
#define SPTI_CORE_CONTEXT_TEAM_H

#include "core/base/error.h"

typedef struct spti_team spti_team;

/* Does one piece. member: 0 for the thread that called spti_team_run, another number below `threads` for each helper. */
typedef void spti_task(void *argument, int64_t piece, int member);

sptrsm_status spti_team_create(spti_team **out);      /* starts no thread */
void spti_team_destroy(spti_team *);                  /* NULL is accepted */
void spti_team_set_threads(spti_team *, int threads); /* the caller included; 0: as many as spti_cpus_usable found when it was created */
int spti_team_threads(const spti_team *);             /* 1 without a team */

/* How many threads a job should be cut for now: 1 without a team, or while the team rests because helpers kept a caller waiting for
 * longer than they had saved just before, which they do on a machine that has other work for its cores. */
int spti_team_ready(const spti_team *);

/* Calls task(argument, piece, member) once for each piece from 0 to pieces - 1, claimed in this order by up to `threads` threads, which is
 * at most spti_team_threads; returns when all are done. What the pieces wrote is then visible to the caller. Helpers take over the caller's
 * floating-point modes. team NULL: the caller alone. */
void spti_team_run(spti_team *, int threads, int64_t pieces, spti_task *, void *argument);

enum { SPTI_GROUPS_MAX = 32 }; /* more groups are not made */

/* As spti_team_run, but up to `groups` threads do pieces at the same time, and the others are divided among these: task(argument, piece,
 * member, inside) gets the team of its group, for jobs within the piece, and a member below `groups`. With one group, or one piece, the
 * caller does all pieces, and the team itself is inside. Else `inside` is NULL where the team is in use, and with as many groups as
 * threads. */
typedef void spti_group_task(void *argument, int64_t piece, int member, spti_team *inside);
void spti_team_run_groups(spti_team *, int threads, int groups, int64_t pieces, spti_group_task *, void *argument);

#endif
