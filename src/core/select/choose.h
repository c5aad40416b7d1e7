/* choose.h -- the choice of `auto`: a pure function from features of a triangle to a method and the reason for it
 * (README.md). */
#ifndef SPTI_CORE_SELECT_CHOOSE_H
#define SPTI_CORE_SELECT_CHOOSE_H

#include <stdbool.h>

#include <sptrsm_auto.h>

/* Thin levels have fewer rows than SPTI_THIN_LEVEL, wide ones SPTI_WIDE_LEVEL or more. Levels of row panels are
 * looked for only where a panel has SPTI_PANEL_DENSITY entries or more, on average, in each panel that it needs and
 * in itself. */
enum { SPTI_THIN_LEVEL = 8, SPTI_WIDE_LEVEL = 64, SPTI_PANEL_DENSITY = 16 };

/* What is known of a triangle and of the solves to come. */
typedef struct {
  sptrsm_place place;
  const char *device; /* whose tuned bounds hold (auto_tuned.def); NULL: none */
  bool deterministic; /* take only methods that give the same bits on every run */
  int64_t nrhs;       /* expected right-hand sides; 0: unknown */
  int32_t n;
  int64_t nnz;
  int32_t levels;                   /* GPU: number of level sets; where row panels have levels, a lower bound is enough */
  int32_t thin_levels, wide_levels; /* GPU: how many of them are thin, and wide */
  int32_t panel_hops;               /* GPU: length of the chain of row panels (spti_row_panels_hops); 0: not looked for */
  /* GPU: rows for each step if the last row is a stencil's on a grid (core/stencil/stencil.h), else 0. Where it is not 0, the level sets
   * may not have been looked for. */
  double stencil;
  double single_to_double; /* GPU: operations in single precision in the time of one in double: 2, or 32 and more */
  double chained;          /* host: share of the entries in lines like those of supernodes (core/select/chains.h) */
} spti_features;

typedef struct {
  const char *method; /* name[:variant]; NULL: no row is left */
  const char *reason;
  int row; /* its index in the table */
} spti_choice;

/* The numbers that the bounds of the rows are compared with (auto_features.def). */
void spti_choose_values(double values[SPTRSM_AUTO_FEATURES], const spti_features *);

/* The first row from index `from` on that holds. from: 0, or the index after the row of a method that refused the
 * triangle. */
spti_choice spti_choose(const spti_features *, int from);

/* From how many level sets on, and from how many level sets for each hop of row panels on, their number no longer
 * changes the choice on that device. Where row panels have levels, and both limits are reached, the search for level
 * sets may end: the rows of the table up to that for panels bound nothing else of level sets. */
typedef struct {
  int32_t levels, a_hop;
} spti_choose_limits;
spti_choose_limits spti_choose_limits_on(const char *device);

/* Would a row for stencils hold if the triangle were one with a suitable grid? f->stencil is not looked at. */
bool spti_choose_asks_for_stencil(const spti_features *f);
/* Does the first row that could hold go by the widths of levels? f->thin_levels and f->wide_levels are not looked at. */
bool spti_choose_asks_for_widths(const spti_features *f);
/* Is the first row that holds one for stencils? Those are the first of the table and need no level sets. */
bool spti_choose_by_stencil(const spti_features *f);

#endif
