/* share.h -- how the columns of a solution are shared out: the options for that, panels that are left to do, and one file of several. */
#ifndef APPS_SOLVE_RANKS_SHARE_H
#define APPS_SOLVE_RANKS_SHARE_H

#include "common/cli.h"

typedef struct {
  const char *into;   /* --into; NULL: no part of a solution is asked for */
  int64_t own, parts; /* --part own/parts; parts 0: not given */
  bool split;         /* --split-files */
  int64_t pieces;     /* files that are asked for; 0: the program chooses */
  const char *merge;  /* --merge, a solution in several files; NULL: there is one to make */
  bool remove_pieces;
  bool solves; /* there are options that a merge does not take */
} share_request;

/* Options for argp. share_parse takes one; false: the key is none of them. */
enum { SHARE_PART = 7000, SHARE_INTO, SHARE_SPLIT, SHARE_MERGE, SHARE_REMOVE };
#define SHARE_OPTIONS                                                                                                                      \
  {"part", SHARE_PART, "I/N", 0, "solve for the I-th of N shares of the columns", 0},                                                      \
      {"into", SHARE_INTO, "FILE", 0, "file of the solution that the parts make", 0},                                                      \
      {"split-files", SHARE_SPLIT, "COUNT", OPTION_ARG_OPTIONAL, "write the solution to several files", 0},                                \
      {"merge", SHARE_MERGE, "FILE", 0, "make one file of a solution in several", 0}, {                                                    \
    "remove-pieces", SHARE_REMOVE, NULL, 0, "remove the files that were merged", 0                                                         \
  }
bool share_parse(int key, const char *text, share_request *);
/* Exits with CLI_USAGE where the two options do not fit each other or -o. *out is set to FILE. */
void share_check(const share_request *, const char **out);
/* Files that a new solution is to have if it has as many columns; 0: one. */
int64_t share_pieces(const share_request *);
/* The columns [*begin, *end) of the share; all without --part. */
void share_columns(const share_request *, int64_t nrhs, int64_t *begin, int64_t *end);

typedef struct {
  int64_t first, end;
} column_span;

/* Ranges of columns that are left to do, ascending, in panels of `width` columns; the last panel of a range may have fewer. Where the
 * solution has several files, a range lies in one, and whoever takes a panel takes all that is left in its file. */
typedef struct {
  column_span *ranges;
  int64_t *file; /* [count] number of the file of each range; NULL: there is one file */
  int64_t count, width;
  int64_t next, until; /* panels [next, until) are this process's */
} panel_list;
/* The gaps between ranges that are done, in the columns [begin, end), cut where the files of the writer begin. False: no memory. */
bool panels_make(panel_list *, const sptrsm_file_columns *done, int64_t count, int64_t begin, int64_t end, const sptrsm_file_writer *);
void panels_free(panel_list *);
int64_t panels_count(const panel_list *);
int64_t panels_columns(const panel_list *);
/* Panel k; past the last one, it has no columns. *before: columns of the panels before it. */
column_span panels_at(const panel_list *, int64_t k, int64_t *before);
column_span panels_next(panel_list *, int64_t *before); /* one that no rank has taken */

/* ---- merge.c ---- */

/* Whether --merge is given. Exits with CLI_USAGE where it does not fit the other options. */
bool merge_asked(const share_request *, const char *out, bool has_arguments);
int merge_work(const share_request *, const char *out, bool force); /* out NULL: in the place of the old file; returns an exit code */

#endif
