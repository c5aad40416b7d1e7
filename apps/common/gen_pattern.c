/* gen_pattern.c -- patterns of synthetic triangles: stencils on grids, random, banded, chain, arrow, powerlaw, dense.
 *
 * Stencils of structured grids [chen2023structured]; point (x, y, z) is row x + y X + z X Y. A name counts the points of the whole
 * stencil; the lower triangle has the points before the centre, and the centre as its diagonal:
 *   D2N5, D3N7    neighbours at distance 1 along the axes
 *   D2N9, D3N27   the full square, the full cube around the centre
 *   D3N13, D3N33  D3N7 and D3N27 with the 6 points at distance 2 along the axes (the article shows them only in a picture)
 */
#include "common/gen_pattern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers: a hash of the position, so rows can be made in any order [steele2014splitmix] ---- */

static uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t mix(uint64_t seed, uint64_t a, uint64_t b) { return scramble(scramble(scramble(seed) ^ a) ^ b); }

/* A random number in [0, 1). */
static double uniform(const pattern *p, int32_t row, int32_t draw) {
  return (double)(mix(p->seed, (uint64_t)row, (uint64_t)draw) >> 11) * 0x1p-53;
}

/* ---- stencils ---- */

static void add_offset(pattern *p, int x, int y, int z) {
  bool before = z < 0 || (z == 0 && (y < 0 || (y == 0 && x < 0)));
  if (!before) return;
  p->offsets[p->offset_count].x = x;
  p->offsets[p->offset_count].y = y;
  p->offsets[p->offset_count++].z = z;
}

static bool in_stencil(const char *name, int x, int y, int z) {
  int distance = abs(x) + abs(y) + abs(z), reach = abs(x) > abs(y) ? abs(x) : abs(y);
  if (abs(z) > reach) reach = abs(z);
  bool star = strcmp(name, "D2N5") == 0 || strcmp(name, "D3N7") == 0 || strcmp(name, "D3N13") == 0;
  bool far = strcmp(name, "D3N13") == 0 || strcmp(name, "D3N33") == 0;
  if (reach <= 1) return star ? distance <= 1 : true;
  return far && distance == 2 && reach == 2;
}

static void add_plane(pattern *p, int z) {
  for (int y = -2; y <= 2; y++)
    for (int x = -2; x <= 2; x++)
      if (in_stencil(p->kind->name, x, y, z)) add_offset(p, x, y, z);
}

/* Offsets in the order z, y, x: so the columns of a row are ascending. */
static void make_stencil(pattern *p) {
  int depth = p->kind->dimensions == 3 ? 2 : 0;
  for (int z = -depth; z <= 0; z++) add_plane(p, z);
}

static int32_t stencil_row(const pattern *p, int32_t row, int32_t *columns) {
  int64_t X = p->grid[0], Y = p->grid[1], x = row % X, y = row / X % Y, z = row / (X * Y);
  int32_t count = 0;
  for (int o = 0; o < p->offset_count; o++) {
    int64_t at_x = x + p->offsets[o].x, at_y = y + p->offsets[o].y, at_z = z + p->offsets[o].z;
    if (at_x < 0 || at_x >= X || at_y < 0 || at_y >= Y || at_z < 0) continue;
    columns[count++] = (int32_t)(at_x + X * (at_y + Y * at_z));
  }
  return count;
}

/* ---- random ---- */

static int compare(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static int32_t sort_unique(int32_t *columns, int32_t count) {
  int32_t kept = 0;
  qsort(columns, (size_t)count, sizeof *columns, compare);
  for (int32_t i = 0; i < count; i++)
    if (i == 0 || columns[i] != columns[kept - 1]) columns[kept++] = columns[i];
  return kept;
}

/* Number of off-diagonal entries of a row: `mean` rounded up or down at random so that the average is right, but at most `row`. */
static int32_t draw_count(const pattern *p, int32_t row, double mean) {
  double whole = floor(mean);
  if (uniform(p, row, -1) < mean - whole) whole += 1;
  return whole < row ? (int32_t)whole : row;
}

static int32_t random_row(const pattern *p, int32_t row, int32_t *columns) {
  double mean = p->density > 0 ? p->density * row : (p->entries > 0 ? p->entries : 8) - 1;
  int32_t count = draw_count(p, row, mean), kept = 0;
  if (count <= row / 4) {
    for (int32_t d = 0; d < count; d++) columns[d] = (int32_t)(uniform(p, row, d) * row);
    return sort_unique(columns, count);
  }
  for (int32_t j = 0; j < row; j++) /* most of the columns: take each with probability count / row */
    if (uniform(p, row, j) * row < count) columns[kept++] = j;
  return kept;
}

/* Row lengths follow a power law with exponent 2.5. Columns are drawn with a preference for the front, so some columns are long too. */
static int32_t powerlaw_row(const pattern *p, int32_t row, int32_t *columns) {
  double mean = (p->entries > 0 ? p->entries : 8) - 1, length = mean / 3 * pow(1 - uniform(p, row, -2), -1 / 1.5);
  int32_t count = draw_count(p, row, length < row ? length : row);
  for (int32_t d = 0; d < count; d++) {
    double u = uniform(p, row, d);
    columns[d] = (int32_t)(u * u * u * row);
  }
  return sort_unique(columns, count);
}

/* ---- regular ---- */

static int32_t run_of_columns(int32_t first, int32_t end, int32_t *columns) {
  for (int32_t j = first; j < end; j++) columns[j - first] = j;
  return end - first;
}

static int32_t banded_row(const pattern *p, int32_t row, int32_t *columns) {
  return run_of_columns(row > p->width ? row - (int32_t)p->width : 0, row, columns);
}

static int32_t chain_row(const pattern *p, int32_t row, int32_t *columns) {
  (void)p;
  return run_of_columns(row > 0 ? row - 1 : 0, row, columns);
}

static int32_t dense_row(const pattern *p, int32_t row, int32_t *columns) {
  (void)p;
  return run_of_columns(0, row, columns);
}

/* A dense first column and a dense last row. */
static int32_t arrow_row(const pattern *p, int32_t row, int32_t *columns) {
  return run_of_columns(0, row == p->n - 1 ? row : row > 0, columns);
}

/* ---- numbers of entries, in closed form ---- */

static double half_square(double n) { return n * (n - 1) / 2; }

static double stencil_entries(const pattern *p) { return (double)p->n * p->offset_count; }

/* The sum of min(mean, row) over the rows. */
static double random_entries(const pattern *p) {
  double n = p->n, mean = (p->entries > 0 ? p->entries : 8) - 1;
  if (p->density > 0) return p->density * half_square(n);
  return mean >= n ? half_square(n) : mean * n - half_square(mean + 1);
}

static double banded_entries(const pattern *p) {
  double n = p->n, width = p->width < n ? (double)p->width : n - 1;
  return n > 0 ? width * n - half_square(width + 1) : 0;
}

static double chain_entries(const pattern *p) { return p->n; }

static double arrow_entries(const pattern *p) { return 2.0 * p->n; }

static double dense_entries(const pattern *p) { return half_square(p->n); }

double pattern_entries(const pattern *p) { return p->kind->entries(p); }

/* ---- kinds ---- */

static const pattern_kind kinds[] = {
    {"D3N7", 3, 3, "X Y Z", stencil_row, stencil_entries},  {"D3N13", 3, 3, "X Y Z", stencil_row, stencil_entries},
    {"D3N27", 3, 3, "X Y Z", stencil_row, stencil_entries}, {"D3N33", 3, 3, "X Y Z", stencil_row, stencil_entries},
    {"D2N5", 2, 2, "X Y", stencil_row, stencil_entries},    {"D2N9", 2, 2, "X Y", stencil_row, stencil_entries},
    {"random", 0, 1, "N", random_row, random_entries},      {"banded", 0, 2, "N W", banded_row, banded_entries},
    {"chain", 0, 1, "N", chain_row, chain_entries},         {"arrow", 0, 1, "N", arrow_row, arrow_entries},
    {"powerlaw", 0, 1, "N", powerlaw_row, random_entries},  {"dense", 0, 1, "N", dense_row, dense_entries},
};

const pattern_kind *pattern_find(const char *name) {
  if (strcmp(name, "band") == 0) name = "banded";
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

const char *pattern_names(void) { return "D3N7, D3N13, D3N27, D3N33, D2N5, D2N9, random, banded, chain, arrow, powerlaw, dense"; }

cli_text pattern_suggestion(const char *name) {
  enum { COUNT = sizeof kinds / sizeof kinds[0] };
  const char *names[COUNT];
  for (int i = 0; i < COUNT; i++) names[i] = kinds[i].name;
  return cli_suggestion(name, strlen(name), names, COUNT);
}

bool pattern_set_sizes(pattern *p, const int64_t *sizes) {
  int64_t n = 1;
  p->offset_count = 0;
  if (p->kind->dimensions == 0) {
    n = sizes[0];
    p->width = p->kind->sizes > 1 ? sizes[1] : 0;
  } else {
    for (int d = 0; d < 3; d++) {
      p->grid[d] = d < p->kind->dimensions ? sizes[d] : 1;
      if (__builtin_mul_overflow(n, p->grid[d], &n)) return false;
    }
    make_stencil(p);
  }
  if (n > INT32_MAX) return false;
  p->n = (int32_t)n;
  return true;
}

int32_t pattern_row(const pattern *p, int32_t row, int32_t *columns) { return p->kind->row(p, row, columns); }
