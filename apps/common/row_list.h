/* row_list.h -- the rows of X that option --rows selects. */
#ifndef APPS_COMMON_ROW_LIST_H
#define APPS_COMMON_ROW_LIST_H

#include <stdbool.h>

#include <sptrsm_io.h>

typedef struct {
  int32_t *rows; /* [count] ascending, no duplicates */
  int64_t count;
} row_list;

void row_list_check(const char *text);   /* exits with CLI_USAGE where a range is wrong */
bool row_list_is_file(const char *text); /* whether the text names a file, not a range */
/* Loads "a:b" as for columns, or a list of row numbers from FILE:/path. n: rows of X. Returns an exit code. */
int row_list_load(row_list *, const char *text, int32_t n, const sptrsm_io_options *);
void row_list_free(row_list *);

#endif
