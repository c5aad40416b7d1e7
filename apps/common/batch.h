/* batch.h -- a batch of systems, op(S_i) X_i = alpha B_i, as the command line and two files give it. */
#ifndef APPS_COMMON_BATCH_H
#define APPS_COMMON_BATCH_H

#include "common/problem.h"

typedef struct {
  bool has_range; /* --items */
  int64_t begin, end;
  const char *mask; /* --mask, FILE or FILE:/path; NULL: all items */
} batch_request;

typedef struct {
  problem_request request;
  problem system; /* alpha and the sentence about types; its files are not open */
  sptrsm_file_batch *factors;
  sptrsm_file_blocks *B;
  uint8_t *mask; /* [count] of the items that were read; NULL: all */
  int32_t *n;    /* [count] orders */
  int32_t n_least, n_most;
} batch_problem;

/* Options for argp. batch_parse takes one; false: the key is none of them. */
enum { BATCH_ITEMS = 6000, BATCH_MASK };
#define BATCH_OPTIONS                                                                                                                      \
  {"items", BATCH_ITEMS, "RANGE", 0, "items of a batch, first and end", 0}, { "mask", BATCH_MASK, "FILE", 0, "which items of a batch", 0 }
bool batch_parse(int key, const char *text, batch_request *);

/* Whether the factors are a batch. Options for batches are an error where they are not. Returns an exit code. */
int batch_find(sptrsm_batch_kind *kind, const char *factors, const batch_request *, const sptrsm_io_options *);
/* Reads factors, right-hand sides (unless request.rhs is NULL) and mask; types as problem_open. batch_free is due in any case. Returns an
 * exit code. */
int batch_load(batch_problem *, const problem_request *, const batch_request *);
void batch_free(batch_problem *);
/* The number of an item in the file, and its name: "item 3", "item sub3 (3)". */
cli_text batch_name(const sptrsm_file_batch *, int64_t i);

/* Makes the batch of the library. *system: the one asked for; becomes L or U where the items are single triangles. */
sptrsm_status batch_create(sptrsm_batch **out, sptrsm_system *system, sptrsm_context *, const sptrsm_file_batch *, const sptrsm_options *);

/* One item. F.factors and A refer to members, and arrays are those of the batch. */
typedef struct {
  sptrsm_file_factors F;
  sptrsm_file_matrix A;
} batch_item;
void batch_item_of(batch_item *, const sptrsm_file_batch *, int64_t i);
sptrsm_block batch_block_of(const batch_problem *, const sptrsm_batch_block *, int64_t i);

/* The first value that is NaN or infinite, in words: "b.h5:/L: entry (5,3) is nan". False: all are finite. */
enum { BATCH_VALUE_TEXT = 512 };
/* Of the triangles, then of A. Where D or a scaling has such a value, the item is singular. */
bool batch_odd_value(char out[BATCH_VALUE_TEXT], const sptrsm_file_factors *);
bool batch_odd_entry(char out[BATCH_VALUE_TEXT], const sptrsm_file_matrix *);
/* column: the number in the file of the block's first one. */
bool batch_odd_number(char out[BATCH_VALUE_TEXT], const char *where, const sptrsm_block *, int64_t column);

#endif
