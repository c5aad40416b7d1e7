/* rules.h -- the parameters of syncfree-csr: read from text, filled in from a table of defaults, or tried one after another. */
#ifndef SPTI_TRSV_SYNCFREE_CSR_RULES_H
#define SPTI_TRSV_SYNCFREE_CSR_RULES_H

#include <stdbool.h>

#include "core/base/error.h"

/* The order in which warps take rows, and where the rows are stored. */
typedef enum {
  SPTI_CSR_NATURAL, /* in solve order, in the view */
  SPTI_CSR_LEVEL,   /* by level, in the view */
  SPTI_CSR_PACKED,  /* by level and length, in a copy that is sorted so */
  SPTI_CSR_BLOCK    /* in solve order, 32 consecutive rows for each thread block, in the view */
} spti_csr_order;

/* -1: not set, so the table of defaults decides. */
typedef struct {
  int32_t order;   /* spti_csr_order */
  int32_t lanes;   /* for each row; 0: chosen by the length of packed rows, for others as `average` says */
  int32_t average; /* rows that are not packed, with lanes=0: a warp takes 32 rows with at least this average of entries one after another,
                      with 32 lanes, and other rows side by side, with one lane each */
  int32_t entries; /* packed rows, with lanes=0: a row gets enough lanes, up to 32, that none has more entries */
  int32_t split;   /* packed rows with more entries are divided among several warps, this many entries for each */
  int32_t gate;    /* packed rows: a warp first waits for one row that is this many levels below its own; 0: it does not */
  int32_t warps;   /* of a thread block */
  bool search;     /* time several settings and take the fastest */
} spti_csr_settings;

/* Features of a triangle; entries exclude diagonals. */
typedef struct {
  int32_t n, levels, longest;
  int64_t entries;
} spti_csr_features;

/* From "key=value,key=value". A key that is given outweighs the preset. */
sptrsm_status spti_csr_parse(spti_csr_settings *, const char *variant);
/* Sets all that is -1 from the table of defaults; returns the reason. */
const char *spti_csr_choose(spti_csr_settings *, const spti_csr_features *);
/* Sets the settings that a search tries at step `index`; false: there are no more. */
bool spti_csr_candidate(spti_csr_settings *, int index);
const char *spti_csr_order_name(int32_t order);

#endif
