/* stencil.h -- structured problems: rows are the points of a grid, and what a row needs is a fixed neighbourhood of its point.
 *
 * Point (x, y, z) of an X x Y x Z grid is row x + y X + z X Y. A lower triangle has of each stencil the points before the centre; an
 * upper one is its mirror image, so all is said for positions in solve order: position s is row s, or n-1-s backward.
 *   D3N7   the 6 neighbours at distance 1 along the axes         D3N13  and those at distance 2 along the axes
 *   D3N27  the cube of 3 x 3 x 3 points around the centre        D3N33  and the points at distance 2 along the axes
 *   D2N5, D2N9: D3N7 and D3N27 of a plane, Z = 1. */
#ifndef SPTI_CORE_STENCIL_STENCIL_H
#define SPTI_CORE_STENCIL_STENCIL_H

#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_STENCIL_ENTRIES = 16 }; /* of a row beside its diagonal, at most */

typedef struct {
  const char *name; /* NULL: no stencil is known */
  bool cube, far;   /* all points at distance 1 in each direction, or those along the axes; the points at distance 2 along the axes */
  int32_t grid[3];  /* X, Y, Z; their product is n */
} spti_stencil;

/* Neighbours before the centre in solve order. Returns their number. */
int spti_stencil_offsets(int8_t offsets[SPTI_STENCIL_ENTRIES][3], const spti_stencil *);
/* Entries beside the diagonal that the grid allows in all rows together. */
int64_t spti_stencil_entries(const spti_stencil *);
/* Rows that one step of the solve has on average, a row being solved a step after the last that it needs. */
double spti_stencil_width(const spti_stencil *);
/* By name and grid; ARGUMENT where there is no such stencil, a D2 grid has Z > 1, or the grid has not n points. */
sptrsm_status spti_stencil_named(spti_stencil *out, const char *name, const int64_t grid[3], int32_t n);
/* From what the last row in solve order needs: `distance` [count], its distances in positions, ascending. False: no stencil has a last row
 * such as this. What it finds has yet to be checked against all other rows. */
bool spti_stencil_guess(spti_stencil *out, int32_t n, const int32_t *distance, int count);

#ifdef __cplusplus
}
#endif
#endif
