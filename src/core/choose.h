/* choose.h -- what `auto` means: a pure function from features to a method and the reason for it. */
#ifndef SPTI_CHOOSE_H
#define SPTI_CHOOSE_H

#include <stdbool.h>

#include <sptrsm_auto.h>

/* Row panels, which cost about a solve to look for, are looked for only where `block` has a chance: not in levels of NO_PANELS rows and
 * more on average (factors have 1 to 120, what gather solves faster 150 and more), nor with fewer than PANEL_LEVELS levels. */
enum { SPTI_THIN_LEVEL = 8, SPTI_WIDE_LEVEL = 64, SPTI_NO_PANELS = 150, SPTI_PANEL_LEVELS = 150 };

typedef struct {
  sptrsm_place place;
  const char *device; /* for the bounds that were tuned on it (auto_tuned.def); NULL: none */
  bool deterministic; /* only methods that give the same bits on every run */
  int64_t nrhs;       /* expected right-hand sides, 0: unknown */
  int32_t n;
  /* GPU only: level sets, those of fewer than SPTI_THIN_LEVEL rows, those of SPTI_WIDE_LEVEL or more. */
  int32_t levels, thin_levels, wide_levels;
  int32_t panel_levels; /* levels of row panels (core/row_panels_gpu.h), 0: not looked for */
  double stencil;       /* GPU only: rows for each level, if the last row is a stencil's on a grid (core/stencil.h); 0: it is none. Then the
                         * level sets have not been looked for */
  double chained;       /* host only: share of entries in lines like those of supernodes (core/chains.h) */
} spti_features;

typedef struct {
  const char *method; /* name[:variant]; NULL: no row is left */
  const char *reason;
  int row; /* of the table */
} spti_choice;

/* What the bounds of the rows are compared with (auto_features.def). */
void spti_choose_values(double values[SPTRSM_AUTO_FEATURES], const spti_features *);

/* The first choice from row `from` on: 0, or the row after that of a method which refused the triangle. */
spti_choice spti_choose(const spti_features *, int from);

/* Is that a row for stencils, which asks for no level sets? Those rows are the first of the table. */
bool spti_choose_by_stencil(const spti_features *);

#endif
