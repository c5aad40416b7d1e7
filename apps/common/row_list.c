/* row_list.c -- see row_list.h. */
#include "common/row_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

static bool is_range(const char *text) { return text[strspn(text, "0123456789:")] == '\0'; }

bool row_list_is_file(const char *text) { return !is_range(text); }

void row_list_check(const char *text) {
  int64_t begin, end;
  if (is_range(text)) cli_range("--rows", text, &begin, &end);
}

static int take_range(row_list *list, const char *text, int32_t n) {
  int64_t begin, end;
  cli_range("--rows", text, &begin, &end);
  if (end < 0) end = n;
  if (begin > end || end > n) {
    cli_error("--rows %s: X has %d rows; choose within 0:%d", text, n, n);
    return CLI_USAGE;
  }
  list->rows = malloc((size_t)(end - begin) * sizeof *list->rows + 1);
  if (list->rows == NULL) return cli_no_memory("a list of rows");
  for (int64_t i = begin; i < end; i++) list->rows[list->count++] = (int32_t)i;
  return CLI_OK;
}

/* Appends the row number at position p of the file's list. */
static int take_row(row_list *list, const sptrsm_file_block *stored, int64_t p, int32_t n) {
  double row = ((const double *)stored->block.data)[p];
  const char *wrong = !(row == floor(row)) ? "is no whole number" : !(row >= 0 && row < n) ? "is outside of X" : NULL;
  if (wrong) {
    cli_error("%s: [%lld] is %g, which %s; rows are 0 to %d", stored->where, (long long)p, row, wrong, n - 1);
    return CLI_INPUT;
  }
  if (list->count > 0 && list->rows[list->count - 1] >= (int32_t)row) {
    cli_error("%s: [%lld] is %d, after %d; sort the rows and drop duplicates", stored->where, (long long)p, (int32_t)row,
              list->rows[list->count - 1]);
    return CLI_INPUT;
  }
  list->rows[list->count++] = (int32_t)row;
  return CLI_OK;
}

static int take_file(row_list *list, const char *where, int32_t n, const sptrsm_io_options *io) {
  sptrsm_io_options as_numbers = *io;
  sptrsm_file_block *stored = NULL;
  as_numbers.dtype = SPTRSM_F64; /* holds every row number */
  as_numbers.order = SPTRSM_AS_STORED;
  as_numbers.col_begin = 0;
  as_numbers.col_end = -1;
  sptrsm_status status = sptrsm_file_block_load(&stored, where, -1, &as_numbers);
  int code = cli_fail(status);
  if (code == CLI_OK && stored->block.nrhs != 1) {
    cli_error("%s: has %lld columns, a list of rows has one", stored->where, (long long)stored->block.nrhs);
    code = CLI_INPUT;
  }
  if (code == CLI_OK && (list->rows = malloc((size_t)stored->block.n * sizeof *list->rows + 1)) == NULL)
    code = cli_no_memory("a list of rows");
  for (int64_t p = 0; code == CLI_OK && p < stored->block.n; p++) code = take_row(list, stored, p, n);
  sptrsm_file_block_free(stored);
  return code;
}

int row_list_load(row_list *list, const char *text, int32_t n, const sptrsm_io_options *io) {
  *list = (row_list){0};
  return is_range(text) ? take_range(list, text, n) : take_file(list, text, n, io);
}

void row_list_free(row_list *list) {
  free(list->rows);
  *list = (row_list){0};
}
