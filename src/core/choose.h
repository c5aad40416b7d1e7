/* choose.h -- what `auto` means: a pure function from features to a method and the reason for it. */
#ifndef SPTI_CHOOSE_H
#define SPTI_CHOOSE_H

#include <stdbool.h>

#include <sptrsm.h>

enum { SPTI_THIN_LEVEL = 8, SPTI_WIDE_LEVEL = 64 };

typedef struct {
  sptrsm_place place;
  bool deterministic; /* only methods that give the same bits on every run */
  int64_t nrhs;       /* expected right-hand sides, 0: unknown */
  int32_t n;
  /* GPU only: level sets, those of fewer than SPTI_THIN_LEVEL rows, those of SPTI_WIDE_LEVEL or more. */
  int32_t levels, thin_levels, wide_levels;
} spti_features;

typedef struct {
  const char *method; /* name[:variant] */
  const char *reason;
} spti_choice;

spti_choice spti_choose(const spti_features *);

#endif
