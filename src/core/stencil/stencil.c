/* stencil.c -- the stencils of structured problems [chen2023structured]: names, offsets, and the stencil that fits a row. */
#include "core/stencil/stencil.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  bool cube, far, plane;
} kinds[] = {{"D2N5", false, false, true},  {"D2N9", true, false, true},   {"D3N7", false, false, false},
             {"D3N13", false, true, false}, {"D3N27", true, false, false}, {"D3N33", true, true, false}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool has_point(const spti_stencil *s, int x, int y, int z) {
  const int axes = (x != 0) + (y != 0) + (z != 0), far = abs(x) > 1 || abs(y) > 1 || abs(z) > 1;
  if (far) return s->far && axes == 1;
  return s->cube || axes == 1;
}

int spti_stencil_offsets(int8_t offsets[SPTI_STENCIL_ENTRIES][3], const spti_stencil *s) {
  int count = 0;
  for (int at = 0; at < 5 * 5 * 2 + 5 * 2 + 2; at++) { /* the points before the centre of a cube of 5 x 5 x 5 */
    const int x = at % 5 - 2, y = at / 5 % 5 - 2, z = at / 25 - 2;
    if (!has_point(s, x, y, z)) continue;
    offsets[count][0] = (int8_t)x;
    offsets[count][1] = (int8_t)y;
    offsets[count++][2] = (int8_t)z;
  }
  return count;
}

static int64_t less(int32_t size, int step) { return size > abs(step) ? size - abs(step) : 0; }

int64_t spti_stencil_entries(const spti_stencil *s) {
  int8_t at[SPTI_STENCIL_ENTRIES][3];
  const int count = spti_stencil_offsets(at, s);
  int64_t sum = 0;
  for (int o = 0; o < count; o++) sum += less(s->grid[0], at[o][0]) * less(s->grid[1], at[o][1]) * less(s->grid[2], at[o][2]);
  return sum;
}

double spti_stencil_width(const spti_stencil *s) {
  const double X = s->grid[0], Y = s->grid[1], Z = s->grid[2], steps = s->cube ? X + 2 * (Y - 1) + 4 * (Z - 1) : X + Y + Z - 2;
  return steps > 0 ? X * Y * Z / steps : 0;
}

/* ---- by name ---- */

static sptrsm_status take_grid(spti_stencil *s, const int64_t grid[3], int32_t n) {
  int64_t points = 1;
  for (int d = 0; d < 3; d++) {
    if (grid[d] < 0 || grid[d] > INT32_MAX)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "grid[%d] is %lld, outside 0..%d", d, (long long)grid[d], INT32_MAX);
    s->grid[d] = (int32_t)grid[d];
    if (__builtin_mul_overflow(points, grid[d], &points)) points = INT64_MAX;
  }
  if (points == n) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "a grid of %lld x %lld x %lld has not %d points, one for each row; mend grid", (long long)grid[0],
                   (long long)grid[1], (long long)grid[2], n);
}

sptrsm_status spti_stencil_named(spti_stencil *out, const char *name, const int64_t grid[3], int32_t n) {
  for (int k = 0; k < KINDS; k++) {
    if (strcmp(kinds[k].name, name) != 0) continue;
    spti_stencil s = {.name = kinds[k].name, .cube = kinds[k].cube, .far = kinds[k].far};
    if (kinds[k].plane && grid[2] != 1)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "stencil %s is for grids with Z = 1, not %lld; use D3N7 or D3N27", name, (long long)grid[2]);
    SPTI_TRY(take_grid(&s, grid, n));
    *out = s;
    return SPTRSM_OK;
  }
  return spti_fail(SPTRSM_ERR_ARGUMENT, "unknown stencil \"%.32s\"; known are D2N5, D2N9, D3N7, D3N13, D3N27, D3N33", name);
}

/* ---- from the last row ---- */

/* Does the last point of the grid have exactly these distances? */
static bool is_last_row(const spti_stencil *s, const int32_t *distance, int count) {
  int8_t at[SPTI_STENCIL_ENTRIES][3];
  const int64_t X = s->grid[0], Y = s->grid[1], Z = s->grid[2];
  int left = count;
  for (int o = 0, offsets = spti_stencil_offsets(at, s); o < offsets; o++) {
    const int x = at[o][0], y = at[o][1], z = at[o][2];
    if (x > 0 || y > 0 || X + x < 1 || Y + y < 1 || Z + z < 1) continue; /* not in the grid */
    if (left == 0 || distance[--left] != -(x + y * X + z * X * Y)) return false;
  }
  return left == 0;
}

/* Takes X and X Y from the distances of the neighbouring grid line and plane, whose positions in the last row are known for each kind. A
 * row too short to have them means a grid of one line or one plane. */
static bool try_kind(spti_stencil *out, int kind, int32_t n, const int32_t *distance, int count) {
  spti_stencil s = {.name = kinds[kind].name, .cube = kinds[kind].cube, .far = kinds[kind].far};
  const int line = s.far ? 2 : 1, plane = s.cube ? (s.far ? 5 : 3) : (s.far ? 4 : 2);
  const int64_t X = count > line ? distance[line] : n, XY = kinds[kind].plane ? n : count > plane ? distance[plane] : n;
  if (X < 1 || XY < X || XY % X != 0 || n % XY != 0) return false;
  s.grid[0] = (int32_t)X;
  s.grid[1] = (int32_t)(XY / X);
  s.grid[2] = (int32_t)(n / XY);
  if (!is_last_row(&s, distance, count)) return false;
  *out = s;
  return true;
}

bool spti_stencil_guess(spti_stencil *out, int32_t n, const int32_t *distance, int count) {
  for (int k = 0; k < KINDS && count > 0; k++)
    if (try_kind(out, k, n, distance, count)) return true;
  return false;
}
