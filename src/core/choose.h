/* choose.h -- what `auto` means: a pure function from features to a method and the reason for it. */
#ifndef SPTI_CHOOSE_H
#define SPTI_CHOOSE_H

#include <stdbool.h>

#include <sptrsm.h>

/* NO_PANELS: mean rows of a level from which on row panels are not looked for. */
enum { SPTI_THIN_LEVEL = 8, SPTI_WIDE_LEVEL = 64, SPTI_NO_PANELS = 1000 };

typedef struct {
  sptrsm_place place;
  bool deterministic; /* only methods that give the same bits on every run */
  int64_t nrhs;       /* expected right-hand sides, 0: unknown */
  int32_t n;
  /* GPU only: level sets, those of fewer than SPTI_THIN_LEVEL rows, those of SPTI_WIDE_LEVEL or more. */
  int32_t levels, thin_levels, wide_levels;
  int32_t panel_levels; /* levels of row panels (core/row_panels_gpu.h), 0: not looked for */
  double chained; /* host only: share of entries in lines like those of supernodes (core/chains.h) */
} spti_features;

typedef struct {
  const char *method; /* name[:variant] */
  const char *reason;
} spti_choice;

spti_choice spti_choose(const spti_features *);

#endif
