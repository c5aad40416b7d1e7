/* rules.h -- what syncfree-csr may be told or decides: parameters, presets, and the table of defaults. */
#ifndef SPTI_TRSV_SYNCFREE_CSR_RULES_H
#define SPTI_TRSV_SYNCFREE_CSR_RULES_H

#include <stdbool.h>

#include "core/base/error.h"

/* The order in which warps come to rows, and where they find them. */
typedef enum {
  SPTI_CSR_NATURAL, /* as they are numbered, in the view */
  SPTI_CSR_LEVEL,   /* by level, in the view */
  SPTI_CSR_PACKED,  /* by level and length, in a copy of their own */
  SPTI_CSR_BLOCK    /* 32 consecutive ones a thread block, in the view */
} spti_csr_order;

/* -1: as the table says. */
typedef struct {
  int32_t order;   /* spti_csr_order */
  int32_t lanes;   /* of a row; 0: packed rows by their length, others as `average` says */
  int32_t average; /* of rows not packed, lanes 0: windows of 32 rows with at least so many entries a row go row by row */
  int32_t entries; /* of packed rows, lanes 0: most that a lane gets, up to 32 lanes */
  int32_t split;   /* packed rows of more entries are shared by several warps, so many each */
  int32_t gate;    /* packed rows: a row some so many levels below is polled alone until it is there; 0: none */
  int32_t warps;   /* per thread block */
  bool search;     /* time some settings and take the best */
} spti_csr_settings;

/* Facts about a triangle; entries without diagonals. */
typedef struct {
  int32_t n, levels, longest;
  int64_t entries;
} spti_csr_features;

/* From "key=value,key=value". A key that is given outweighs the preset. */
sptrsm_status spti_csr_parse(spti_csr_settings *, const char *variant);
/* Fills in what is -1; returns the reason. */
const char *spti_csr_choose(spti_csr_settings *, const spti_csr_features *);
/* What a search tries, number `index`; false: no more. */
bool spti_csr_candidate(spti_csr_settings *, int index);
const char *spti_csr_order_name(int32_t order);

#endif
