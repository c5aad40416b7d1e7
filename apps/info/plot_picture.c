/* plot_picture.c -- pictures of a matrix as files; see plot.h. Each triangle of a factor set is drawn at the right of the one before. */
#include <stdlib.h>

#include "info/plot.h"

enum { SPY_SIZE = 512, SPY_CELLS = 256, MARGIN = 24, TITLE = 40, LABELS = 48, CHART_WIDTH = 640, CHART_HEIGHT = 200, BIN = 40, GAP = 64 };
enum { SHORT_BINS = 14 }; /* bins whose numbers are written out */

/* Takes a strip of the picture; returns its left end. */
static int begin_strip(picture *p, int width, int height) {
  const int left = p->width > 0 ? p->width : MARGIN;
  p->width = left + width + MARGIN;
  if (height > p->height) p->height = height;
  return left;
}

static void frame(picture *p, int x, int y, int width, int height) {
  picture_add(p, (picture_area){x - 1, y - 1, width + 2, 1, PICTURE_LINE});
  picture_add(p, (picture_area){x - 1, y + height, width + 2, 1, PICTURE_LINE});
  picture_add(p, (picture_area){x - 1, y - 1, 1, height + 2, PICTURE_LINE});
  picture_add(p, (picture_area){x + width, y - 1, 1, height + 2, PICTURE_LINE});
}

/* ---- spy ---- */

/* The cells of one shade in a line; those that lie side by side become one area. */
static void add_line(picture *p, const unsigned char *line, int width, int shade, int x, int y, int cell) {
  for (int j = 0, end; j < width; j = end) {
    for (end = j + 1; end < width && line[end] == line[j];) end++;
    if (line[j] == shade) picture_add(p, (picture_area){x + j * cell, y, (end - j) * cell, cell, (picture_colour)shade});
  }
}

static void add_cells(picture *p, const unsigned char *cells, int height, int width, int x, int y, int cell) {
  for (int shade = 1; shade <= PLOT_SHADES; shade++)
    for (int i = 0; i < height; i++) add_line(p, cells + (size_t)i * (size_t)width, width, shade, x, y + i * cell, cell);
}

static void add_legend(picture *p, int x, int y) {
  for (int s = 0; s < PLOT_SHADES; s++) {
    const int left = x + s * (SPY_SIZE / PLOT_SHADES);
    picture_add(p, (picture_area){left, y, 12, 12, (picture_colour)(1 + s)});
    if (s + 1 < PLOT_SHADES) picture_write_words(p, left + 18, y + 11, PICTURE_LEFT, "up to %g %% full", 100 * plot_shade_limits[s + 1]);
    else picture_write_words(p, left + 18, y + 11, PICTURE_LEFT, "fuller");
  }
}

bool spy_picture(picture *p, const plot_pattern *A, const char *title) {
  const int64_t longer = A->rows > A->cols ? A->rows : A->cols, most = longer > SPY_CELLS ? SPY_CELLS : longer;
  const int height = most > 0 ? (int)((A->rows * most + longer - 1) / longer) : 0;
  const int width = most > 0 ? (int)((A->cols * most + longer - 1) / longer) : 0, cell = most > 0 ? SPY_SIZE / (int)most : 1;
  unsigned char *cells = plot_cells(A, height, width);
  if (cells == NULL) return false;
  const int left = begin_strip(p, SPY_SIZE, TITLE + SPY_SIZE + LABELS);
  picture_write_words(p, left, TITLE - 14, PICTURE_LEFT, "%s", title);
  add_cells(p, cells, height, width, left, TITLE, cell);
  frame(p, left, TITLE, width * cell, height * cell);
  add_legend(p, left, TITLE + SPY_SIZE + 20);
  free(cells);
  return !p->lacks_memory;
}

/* ---- levels ---- */

/* Lines across the chart at powers of ten, with their numbers. */
static void add_scale(picture *p, int left, int top, double most) {
  for (double power = 1; power <= most; power *= 10) {
    const int y = top + CHART_HEIGHT - (int)(plot_height(power, most) * CHART_HEIGHT + 0.5);
    picture_add(p, (picture_area){left, y, CHART_WIDTH, 1, PICTURE_LINE});
    picture_write_words(p, left - 6, y + 4, PICTURE_RIGHT, "%.0f", power);
  }
}

static void add_levels(picture *p, const plot_levels *L, int left, int top) {
  const int columns = L->count < CHART_WIDTH ? L->count : CHART_WIDTH, each = columns > 0 ? CHART_WIDTH / columns : 0;
  double most = 0;
  for (int32_t l = 0; l < L->count; l++) most = L->rows[l] > most ? L->rows[l] : most;
  add_scale(p, left, top, most);
  for (int k = 0; k < columns; k++) {
    int32_t from, to;
    plot_range(&from, &to, L->count, k, columns);
    const int height = (int)(plot_height(plot_average(L, from, to), most) * CHART_HEIGHT + 0.5);
    picture_add(p, (picture_area){left + k * each, top + CHART_HEIGHT - height, each > 3 ? each - 1 : each, height, PICTURE_INK_3});
  }
  frame(p, left, top, CHART_WIDTH, CHART_HEIGHT);
  picture_write_words(p, left, top + CHART_HEIGHT + 18, PICTURE_LEFT, "level 0");
  if (columns > 0) picture_write_words(p, left + each * columns, top + CHART_HEIGHT + 18, PICTURE_RIGHT, "%d", L->count - 1);
}

static void add_histogram(picture *p, const plot_levels *L, int left, int top) {
  plot_histogram h;
  int32_t most = 1;
  plot_count(&h, L);
  for (int b = 0; b < h.used; b++) most = h.levels[b] > most ? h.levels[b] : most;
  const int each = h.used * BIN < CHART_WIDTH ? BIN : CHART_WIDTH / (h.used > 0 ? h.used : 1);
  for (int b = 0; b < h.used; b++) {
    const int height = (int)((double)h.levels[b] / most * (CHART_HEIGHT - 20) + 0.999), x = left + b * each;
    picture_add(p, (picture_area){x + 2, top + CHART_HEIGHT - height, each - 4, height, PICTURE_INK_2});
    if (h.levels[b] > 0) picture_write_words(p, x + each / 2, top + CHART_HEIGHT - height - 4, PICTURE_MIDDLE, "%d", h.levels[b]);
    if (b < SHORT_BINS) picture_write_words(p, x + each / 2, top + CHART_HEIGHT + 18, PICTURE_MIDDLE, "%d", 1 << b);
    else picture_write_words(p, x + each / 2, top + CHART_HEIGHT + 18, PICTURE_MIDDLE, "2^%d", b);
  }
  frame(p, left, top, CHART_WIDTH, CHART_HEIGHT);
}

bool levels_picture(picture *p, const plot_levels *L, const char *title) {
  const int top = TITLE + CHART_HEIGHT + GAP + 16;
  const int left = begin_strip(p, GAP + CHART_WIDTH, top + CHART_HEIGHT + LABELS) + GAP;
  picture_write_words(p, left, TITLE - 14, PICTURE_LEFT, "%s: rows of each level, on a scale of logarithms", title);
  add_levels(p, L, left, TITLE);
  picture_write_words(p, left, top - 14, PICTURE_LEFT, "levels by their rows: how many levels have 1, 2 to 3, 4 to 7, ... rows");
  add_histogram(p, L, left, top);
  return !p->lacks_memory;
}
