/* plot.c -- numbers behind the pictures of a matrix; see plot.h. */
#include "info/plot.h"

#include <math.h>
#include <stdlib.h>

/* A cell of a sparse matrix is far from full, so shades go by powers of ten. */
const double plot_shade_limits[PLOT_SHADES] = {0, 0.003, 0.03, 0.3};

plot_pattern pattern_of_triangle(const sptrsm_sparse *T) { return (plot_pattern){T->n, T->n, T->format, T->ptr, T->idx}; }

plot_pattern pattern_of_matrix(const sptrsm_file_matrix *M) { return (plot_pattern){M->rows, M->cols, M->format, M->ptr, M->idx}; }

/* ---- spy ---- */

/* The first of `count` positions that lies in part `k` of `parts`; position i lies in part i * parts / count. */
static int64_t first_of(int64_t k, int64_t count, int64_t parts) { return (k * count + parts - 1) / parts; }

static unsigned char shade_of(int64_t entries, double positions) {
  const double share = (double)entries / positions;
  unsigned char shade = 0;
  while (shade < PLOT_SHADES && share > plot_shade_limits[shade]) shade++;
  return shade;
}

static void count_entries(int64_t *entries, const plot_pattern *A, int height, int width) {
  const bool by_rows = A->format == SPTRSM_CSR;
  const int64_t lines = by_rows ? A->rows : A->cols;
  for (int64_t l = 0; l < lines; l++)
    for (int64_t p = A->ptr[l]; p < A->ptr[l + 1]; p++) {
      const int64_t i = by_rows ? l : A->idx[p], j = by_rows ? A->idx[p] : l;
      entries[i * height / A->rows * width + j * width / A->cols]++;
    }
}

unsigned char *plot_cells(const plot_pattern *A, int height, int width) {
  const size_t count = (size_t)height * (size_t)width;
  int64_t *entries = calloc(count + 1, sizeof *entries);
  unsigned char *cells = calloc(count + 1, 1);
  if (entries == NULL || cells == NULL) {
    free(entries);
    free(cells);
    return NULL;
  }
  count_entries(entries, A, height, width);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const int64_t rows = first_of(y + 1, A->rows, height) - first_of(y, A->rows, height);
      const int64_t cols = first_of(x + 1, A->cols, width) - first_of(x, A->cols, width);
      cells[y * width + x] = shade_of(entries[y * width + x], (double)rows * (double)cols);
    }
  free(entries);
  return cells;
}

/* ---- levels ---- */

void plot_range(int32_t *from, int32_t *to, int32_t levels, int column, int columns) {
  *from = (int32_t)((int64_t)column * levels / columns);
  *to = (int32_t)((int64_t)(column + 1) * levels / columns);
}

double plot_average(const plot_levels *L, int32_t from, int32_t to) {
  double rows = 0;
  for (int32_t l = from; l < to; l++) rows += L->rows[l];
  return to > from ? rows / (to - from) : 0;
}

double plot_height(double rows, double most) { return most > 0 ? log1p(rows) / log1p(most) : 0; }

void plot_count(plot_histogram *out, const plot_levels *L) {
  *out = (plot_histogram){0};
  for (int32_t l = 0; l < L->count; l++) {
    int b = 0;
    while (L->rows[l] >> (b + 1) > 0) b++;
    out->levels[b]++;
    out->rows[b] += L->rows[l];
    if (b >= out->used) out->used = b + 1;
  }
}
