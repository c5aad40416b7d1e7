/* batch_case.h -- random batches for the tests of sptrsm_batch.h, and the same items solved alone. */
#ifndef TESTS_CORE_BATCH_BATCH_CASE_H
#define TESTS_CORE_BATCH_BATCH_CASE_H

#include <sptrsm_batch.h>

#include "support/factor_set.h"

enum { COUNT_MOST = 40, PARTS = 6 };

/* The items of a batch: one pattern, and the values of each part at a stride; or factor sets of their own. */
typedef struct {
  int64_t count;
  sptrsm_dtype dtype;
  sptrsm_factors pattern; /* uniform */
  sptrsm_batch_values values;
  double *part[PARTS];
  sptrsm_factors items[COUNT_MOST]; /* each item alone */
  sptrsm_sparse L[COUNT_MOST], U[COUNT_MOST];
  bool singular[COUNT_MOST];
} batch_items;

uint32_t draw(uint32_t below); /* a random number; every run draws the same */

/* Draws the values of `count` items with the pattern of a set. Every part is the same for all items now and then. With 2x2 blocks some
 * items have them and some do not. */
void draw_items(batch_items *, const factor_set *, int64_t count);
void free_items(batch_items *);
/* Makes an item singular, by a zero or NaN on the diagonal of U, or of L where there is no U. Returns false if its values are shared or its
 * diagonal is one. */
bool spoil_item(batch_items *, int64_t item);
/* Solvers of single items; those of singular items are NULL. */
void create_alone(sptrsm_direct **, sptrsm_context *, const batch_items *, const char *method);
void destroy_alone(sptrsm_direct **, int64_t count);

/* Blocks B and X of a batch in random shapes, in memory that is filled with numbers. In half of the cases X is B. */
typedef struct {
  sptrsm_batch_block B, X;
  double *memory[2], *expected;
  size_t bytes[2];
  int64_t ld_of[2][COUNT_MOST], nrhs_of[COUNT_MOST];
  void *data_of[2][COUNT_MOST];
  uint8_t mask[COUNT_MOST];
  sptrsm_item_status status[COUNT_MOST];
  sptrsm_batch_run run;
  bool in_place, masked;
} batch_blocks;

/* orders[i]: of item i. */
void draw_blocks(batch_blocks *, const int32_t *orders, int64_t count, sptrsm_dtype);
void free_blocks(batch_blocks *);

/* Solves by the batch and one by one, and compares all memory of X, paddings and items left out included, and the statuses. */
void solve_and_compare(sptrsm_batch *, sptrsm_direct **alone, batch_blocks *, const int32_t *orders, sptrsm_system, sptrsm_op);

#endif
