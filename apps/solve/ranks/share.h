/* share.h -- how the columns of a solution are shared out: the options --part and --into, and the panels that are left to do. */
#ifndef APPS_SOLVE_RANKS_SHARE_H
#define APPS_SOLVE_RANKS_SHARE_H

#include "common/cli.h"

typedef struct {
  const char *into;   /* --into; NULL: no part of a solution is asked for */
  int64_t own, parts; /* --part own/parts; parts 0: not given */
} share_request;

/* Options for argp. share_parse takes one; false: the key is none of them. */
enum { SHARE_PART = 7000, SHARE_INTO };
#define SHARE_OPTIONS                                                                                                                      \
  {"part", SHARE_PART, "I/N", 0, "solve for the I-th of N shares of the columns", 0}, {                                                    \
    "into", SHARE_INTO, "FILE", 0, "file of the solution that the parts make", 0                                                           \
  }
bool share_parse(int key, const char *text, share_request *);
/* Exits with CLI_USAGE where the two options do not fit each other or -o. *out is set to FILE. */
void share_check(const share_request *, const char **out);
/* The columns [*begin, *end) of the share; all without --part. */
void share_columns(const share_request *, int64_t nrhs, int64_t *begin, int64_t *end);

typedef struct {
  int64_t first, end;
} column_span;

/* Ranges of columns that are left to do, ascending, in panels of `width` columns; the last panel of a range may have fewer. */
typedef struct {
  column_span *ranges;
  int64_t count, width;
} panel_list;
/* The gaps between ranges that are done, in the columns [begin, end). False: no memory. */
bool panels_make(panel_list *, const sptrsm_file_columns *done, int64_t count, int64_t begin, int64_t end);
void panels_free(panel_list *);
int64_t panels_count(const panel_list *);
int64_t panels_columns(const panel_list *);
/* Panel k; past the last one, it has no columns. *before: columns of the panels before it. */
column_span panels_at(const panel_list *, int64_t k, int64_t *before);

#endif
