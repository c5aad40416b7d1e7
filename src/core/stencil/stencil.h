/* stencil.h -- structured problems: rows are the points of a grid, and a row depends on a fixed neighbourhood of its point.
 *
 * Point (x, y, z) of an X x Y x Z grid is row x + y X + z X Y. A lower triangle has the stencil's points before the centre. An upper
 * triangle is its mirror image, so everything here is in terms of positions in solve order: position s is row s, or n-1-s backward.
 *   D3N7   the 6 neighbours at distance 1 along the axes         D3N13  D3N7 and the points at distance 2 along the axes
 *   D3N27  the cube of 3 x 3 x 3 points around the centre        D3N33  D3N27 and the points at distance 2 along the axes
 *   D2N5, D2N9: D3N7 and D3N27 in a plane, Z = 1. */
#ifndef SPTI_CORE_STENCIL_STENCIL_H
#define SPTI_CORE_STENCIL_STENCIL_H

#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_STENCIL_ENTRIES = 16 }; /* the most off-diagonal entries of a row */

typedef struct {
  const char *name; /* NULL: no stencil is known */
  bool cube, far;   /* cube: all points at distance 1, else only those along the axes; far: the points at distance 2 along the axes */
  int32_t grid[3];  /* X, Y, Z; their product is n */
} spti_stencil;

/* The neighbours before the centre, in solve order; returns their number. */
int spti_stencil_offsets(int8_t offsets[SPTI_STENCIL_ENTRIES][3], const spti_stencil *);
/* The most off-diagonal entries that all rows of the grid can have together. */
int64_t spti_stencil_entries(const spti_stencil *);
/* The average width of a level set, if all entries of the stencil are present. */
double spti_stencil_width(const spti_stencil *);
/* The stencil of this name. Fails with ARGUMENT if there is none, if a D2 stencil has a grid with Z > 1, or if the grid has not n
 * points. */
sptrsm_status spti_stencil_named(spti_stencil *out, const char *name, const int64_t grid[3], int32_t n);
/* The stencil that fits the last row in solve order, whose entries have these distances [count] from the diagonal in positions, ascending.
 * False: no stencil fits. The other rows are still to be checked. */
bool spti_stencil_guess(spti_stencil *out, int32_t n, const int32_t *distance, int count);

#ifdef __cplusplus
}
#endif
#endif
