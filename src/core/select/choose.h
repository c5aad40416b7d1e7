/* choose.h -- what `auto` means: a pure function from features to a method and the reason for it. */
#ifndef SPTI_CORE_SELECT_CHOOSE_H
#define SPTI_CORE_SELECT_CHOOSE_H

#include <stdbool.h>

#include <sptrsm_auto.h>

/* Levels of row panels are looked for only where a panel has PANEL_DENSITY entries or more in each that it needs and in itself: factors and
 * bands 24 to 2000, what gather solves faster 2 to 15. */
enum { SPTI_THIN_LEVEL = 8, SPTI_WIDE_LEVEL = 64, SPTI_PANEL_DENSITY = 16 };

typedef struct {
  sptrsm_place place;
  const char *device; /* for the bounds that were tuned on it (auto_tuned.def); NULL: none */
  bool deterministic; /* only methods that give the same bits on every run */
  int64_t nrhs;       /* expected right-hand sides, 0: unknown */
  int32_t n;
  int64_t nnz;
  /* GPU only: level sets, those of fewer than SPTI_THIN_LEVEL rows, those of SPTI_WIDE_LEVEL or more. */
  int32_t levels, thin_levels, wide_levels;
  int32_t panel_hops; /* of row panels (spti_row_panels_hops), 0: not looked for; levels may then be any number that is enough for them */
  double stencil;     /* GPU only: rows for each level, if the last row is a stencil's on a grid (core/stencil/stencil.h); 0: it is none. Then the
                         * level sets have not been looked for */
  double chained;     /* host only: share of entries in lines like those of supernodes (core/select/chains.h) */
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

/* No row on `device` tells numbers of levels apart from `levels` on, nor levels a hop from `a_hop` on. So where levels of panels have been
 * found, and there are that many levels of rows, no more need be known: rows before that for panels bound nothing else of level sets. */
typedef struct {
  int32_t levels, a_hop;
} spti_choose_limits;
spti_choose_limits spti_choose_limits_on(const char *device);

/* Could it be a row for stencils, were the triangle one? The stencil given is not looked at. */
bool spti_choose_asks_for_stencil(const spti_features *);
/* Could it be a row that goes by how wide levels are? Their widths as given are not looked at. */
bool spti_choose_asks_for_widths(const spti_features *);
/* Is that a row for stencils, which asks for no level sets? Those rows are the first of the table. */
bool spti_choose_by_stencil(const spti_features *);

#endif
