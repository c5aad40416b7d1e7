/* gen_pattern.h -- patterns of synthetic triangles, row by row. Every row follows from its number and the seed alone. */
#ifndef APPS_COMMON_GEN_PATTERN_H
#define APPS_COMMON_GEN_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli.h"

typedef struct pattern pattern;
typedef int32_t (*pattern_row_function)(const pattern *, int32_t row, int32_t *columns);

typedef struct {
  const char *name;
  int dimensions;    /* 2, 3: a stencil on a grid; 0: none */
  int sizes;         /* how many numbers follow the name */
  const char *usage; /* "X Y Z" */
  pattern_row_function row;
  double (*entries)(const pattern *); /* estimate of pattern_entries, in closed form */
} pattern_kind;

enum { STENCIL_OFFSETS = 40 };

struct pattern {
  const pattern_kind *kind;
  int32_t n;
  int64_t grid[3]; /* X, Y, Z of a stencil; else zeros */
  int64_t width;   /* banded */
  double entries;  /* average entries of a row, diagonal included; 0: the default of the kind */
  double density;  /* share of the triangle that is filled; 0: not given */
  uint64_t seed;
  int offset_count; /* stencil: number of neighbours before a point */
  struct {
    int x, y, z;
  } offsets[STENCIL_OFFSETS];
};

const pattern_kind *pattern_find(const char *name); /* NULL: no kind has that name */
const char *pattern_names(void);                    /* "D3N7, D3N13, ..." */
cli_text pattern_suggestion(const char *name);      /* as cli_suggestion, among the kinds */
/* Fills n, grid, width and offsets from the kind's sizes. False: out of range. */
bool pattern_set_sizes(pattern *, const int64_t *sizes);
/* Columns below the diagonal of a row of the lower triangle, ascending; room for [row]. Returns their number. */
int32_t pattern_row(const pattern *, int32_t row, int32_t *columns);
double pattern_entries(const pattern *); /* estimate of the entries below the diagonal, in O(1) */
/* 64 well-mixed bits of (seed, a, b). */
uint64_t mix(uint64_t seed, uint64_t a, uint64_t b);

#endif
