/* plot.c -- the pictures of sptrsm-info: cells, levels, histograms, SVG, and PNG read back by libpng. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "info/plot.h"

/* [x . . .; x x . .; . . x .; x . . x], row by row, and its transpose by the same arrays. */
static const int64_t ptr[] = {0, 1, 3, 4, 6};
static const int32_t idx[] = {0, 0, 1, 2, 0, 3};
static const plot_pattern A = {4, 4, SPTRSM_CSR, ptr, idx}, At = {4, 4, SPTRSM_CSC, ptr, idx};

static void expect_cells(const plot_pattern *pattern, int height, int width, const char *expected) {
  unsigned char *cells = plot_cells(pattern, height, width);
  cr_assert(cells);
  for (int k = 0; k < height * width; k++) cr_assert_eq(cells[k], expected[k] - '0', "cell %d is %d", k, cells[k]);
  free(cells);
}

Test(plot, cells_by_hand) {
  expect_cells(&A, 4, 4, "4000440000404004");
  expect_cells(&At, 4, 4, "4404040000400004");
  expect_cells(&A, 2, 2, "4034");         /* 3 of 4, none, 1 of 4, 2 of 4 */
  expect_cells(&A, 1, 4, "4333");         /* 3 of 4, then 1 of 4 each */
  expect_cells(&A, 4, 3, "400400040404"); /* columns 0 and 1 share a cell */
}

/* One entry in a cell of 400 positions, then of 40 and of 4, and a matrix without rows or columns. */
Test(plot, shades_go_by_powers_of_ten) {
  static const int64_t one[] = {0, 1};
  static const int32_t last[] = {399};
  expect_cells(&(plot_pattern){1, 400, SPTRSM_CSR, one, last}, 1, 1, "1");
  expect_cells(&(plot_pattern){1, 400, SPTRSM_CSR, one, last}, 1, 10, "0000000002");
  expect_cells(&(plot_pattern){1, 400, SPTRSM_CSR, one, last}, 1, 100,
               "0000000000"
               "0000000000"
               "0000000000"
               "0000000000"
               "0000000000"
               "0000000000"
               "0000000000"
               "0000000000"
               "0000000000"
               "0000000003");
  expect_cells(&(plot_pattern){400, 1, SPTRSM_CSC, one, last}, 4, 1, "0002");
  static const int64_t nothing[] = {0};
  expect_cells(&(plot_pattern){0, 0, SPTRSM_CSR, nothing, NULL}, 0, 0, "");
}

Test(plot, levels_are_divided_without_gaps) {
  static const int counts[] = {1, 7, 640, 641, 100000, 2147483647};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    const int columns = counts[c] < 640 ? counts[c] : 640;
    int32_t end = 0;
    for (int k = 0; k < columns; k++) {
      int32_t from, to;
      plot_range(&from, &to, counts[c], k, columns);
      cr_assert(from == end && to > from, "levels %d, column %d: %d to %d", counts[c], k, from, to);
      end = to;
    }
    cr_assert_eq(end, counts[c]);
  }
}

Test(plot, histogram_by_hand) {
  int32_t rows[] = {1, 2, 3, 4, 7, 8, 2147483647};
  plot_histogram h;
  plot_count(&h, &(plot_levels){7, rows});
  cr_assert(h.used == 31 && h.levels[0] == 1 && h.levels[1] == 2 && h.levels[2] == 2 && h.levels[3] == 1 && h.levels[30] == 1);
  cr_assert(h.rows[1] == 5 && h.rows[2] == 11 && h.rows[30] == 2147483647);
  plot_count(&h, &(plot_levels){0, rows});
  cr_assert_eq(h.used, 0);
  cr_assert(plot_average(&(plot_levels){7, rows}, 1, 4) == 3 && plot_average(&(plot_levels){7, rows}, 2, 2) == 0);
  cr_assert(plot_height(0, 8) == 0 && plot_height(8, 8) == 1 && plot_height(0, 0) == 0);
  cr_assert(plot_height(1, 8) > 0.3 && plot_height(1, 8) < 0.4); /* log 2 / log 9 */
}

Test(plot, svg_escapes_words_and_joins_areas) {
  picture p = {.width = 10, .height = 5};
  size_t size;
  picture_add(&p, (picture_area){1, 2, 3, 1, PICTURE_INK_4});
  picture_add(&p, (picture_area){5, 2, 2, 1, PICTURE_INK_4});
  picture_write_words(&p, 3, 4, PICTURE_MIDDLE, "<L & U>\x01\xff");
  char *text = picture_svg(&size, &p);
  cr_assert(text && strlen(text) == size);
  cr_assert(strstr(text, "<path fill=\"#08306b\" d=\"M1 2h3v1h-3zM5 2h2v1h-2z\"/>\n"), "%s", text);
  cr_assert(strstr(text, "<text x=\"3\" y=\"4\" text-anchor=\"middle\">&lt;L &amp; U&gt;?\?</text>"), "%s", text);
  free(text);
  p.lacks_memory = true;
  cr_assert_null(picture_svg(&size, &p));
  picture_free(&p);
}

/* No area leaves the picture: a picture as PNG would be written past its end. */
static void expect_inside(const picture *p) {
  cr_assert(p->area_count > 0 && !p->lacks_memory);
  for (size_t k = 0; k < p->area_count; k++) {
    const picture_area *a = &p->areas[k];
    cr_assert(a->x >= 0 && a->y >= 0 && a->width >= 0 && a->height >= 0 && a->x + a->width <= p->width && a->y + a->height <= p->height,
              "area %zu: %d, %d, %d x %d", k, a->x, a->y, a->width, a->height);
  }
}

Test(plot, areas_lie_inside) {
  static int32_t rows[5000];
  static const int counts[] = {0, 1, 3, 639, 640, 641, 5000};
  for (int l = 0; l < 5000; l++) rows[l] = 1 + (l * 37) % 900;
  rows[2] = 2147483647;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    picture p = {0};
    cr_assert(levels_picture(&p, &(plot_levels){counts[c], rows}, "L") && levels_picture(&p, &(plot_levels){counts[c], rows}, "U"));
    expect_inside(&p);
    picture_free(&p);
  }
  static const int64_t shapes[][2] = {{0, 0}, {1, 1}, {1, 1000}, {1000, 1}, {257, 300}, {0, 9}};
  static int64_t empty[1002];
  for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
    picture p = {0};
    cr_assert(spy_picture(&p, &(plot_pattern){shapes[c][0], shapes[c][1], SPTRSM_CSR, empty, NULL}, "A") && spy_picture(&p, &A, "B"));
    expect_inside(&p);
    picture_free(&p);
  }
}

#ifdef WITH_PNG
#include <png.h>

Test(plot, png_holds_the_areas) {
  picture p = {.width = 4, .height = 3};
  size_t size;
  picture_add(&p, (picture_area){1, 0, 3, 2, PICTURE_INK_1});
  picture_add(&p, (picture_area){2, 1, 1, 2, PICTURE_LINE});
  void *bytes = picture_png(&size, &p);
  png_image image = {.version = PNG_IMAGE_VERSION};
  cr_assert(bytes && png_image_begin_read_from_memory(&image, bytes, size), "%s", image.message);
  cr_assert(image.width == 4 && image.height == 3);
  unsigned char points[3][4][3];
  image.format = PNG_FORMAT_RGB;
  cr_assert(png_image_finish_read(&image, NULL, points, 0, NULL), "%s", image.message);
  static const picture_colour expected[3][4] = {{PICTURE_PAPER, PICTURE_INK_1, PICTURE_INK_1, PICTURE_INK_1},
                                                {PICTURE_PAPER, PICTURE_INK_1, PICTURE_LINE, PICTURE_INK_1},
                                                {PICTURE_PAPER, PICTURE_PAPER, PICTURE_LINE, PICTURE_PAPER}};
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 4; x++) cr_assert_arr_eq(points[y][x], picture_palette[expected[y][x]], 3, "point %d, %d", x, y);
  free(bytes);
  picture_free(&p);
}
#endif
