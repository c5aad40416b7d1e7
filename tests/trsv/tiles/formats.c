/* formats.c -- formats of tiles at the bounds of their rule, there and back; tile rows, parts and levels of small triangles. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sptrsm_inspect.h>

#include "support/solver.h"
#include "trsv/tiles/tiles.h"

static const char *const names[] = {"COO", "CSR", "ELL", "HYB", "DNS", "DNSROW", "DNSCOL"};

/* Row r has entries in its first lengths[r] columns, cyclically from `shift` r on. */
static spti_tile_mask by_lengths(const int *lengths, int32_t m, int32_t c, int shift) {
  spti_tile_mask t = {.m = m, .c = c};
  for (int r = 0; r < m; r++)
    for (int e = 0; e < lengths[r]; e++) t.rows[r] |= (uint16_t)(1u << (r * shift + e) % c);
  return t;
}

/* The first `count` places of a full tile, row by row. */
static spti_tile_mask filled(int count, int32_t m, int32_t c) {
  spti_tile_mask t = {.m = m, .c = c};
  for (int p = 0; p < count; p++) t.rows[p / c] |= (uint16_t)(1u << p % c);
  return t;
}

static void expect_format(spti_tile_mask t, spti_tile_format format, const char *what) {
  const spti_tile_shape shape = spti_tile_choose(&t);
  cr_assert_eq(shape.format, format, "%s: %s, not %s", what, names[shape.format], names[format]);
}

Test(tile_formats, few_entries) {
  expect_format(by_lengths((int[16]){1}, 16, 16, 1), SPTI_TILE_COO, "one entry");
  expect_format(by_lengths((int[16]){3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 16, 16, 1), SPTI_TILE_COO, "12 entries");
  expect_format(by_lengths((int[16]){2, 2, 2, 1, 1, 1, 1, 1, 1, 1}, 16, 16, 1), SPTI_TILE_CSR, "13 entries");
  expect_format(filled(12, 16, 12), SPTI_TILE_COO, "12 entries, which are a full row");
  expect_format(filled(13, 16, 13), SPTI_TILE_DNSROW, "13 entries, which are a full row");
}

Test(tile_formats, dense) {
  expect_format(filled(256, 16, 16), SPTI_TILE_DNS, "256 entries");
  expect_format(filled(192, 16, 16), SPTI_TILE_DNS, "192 entries");
  expect_format(filled(191, 16, 16), SPTI_TILE_CSR, "191 entries");
  expect_format(filled(1, 1, 1), SPTI_TILE_DNS, "1 of 1");
  expect_format(filled(36, 3, 16), SPTI_TILE_DNS, "36 of 3 x 16");
  expect_format(filled(35, 3, 16), SPTI_TILE_CSR, "35 of 3 x 16");
  expect_format(filled(12, 16, 1), SPTI_TILE_DNS, "12 of 16 x 1");
  expect_format(filled(11, 16, 1), SPTI_TILE_COO, "11 of 16 x 1");
}

Test(tile_formats, full_rows_and_columns) {
  spti_tile_mask rows = {.m = 16, .c = 16}, columns = {.m = 16, .c = 16};
  rows.rows[3] = rows.rows[9] = 0xffff;
  expect_format(rows, SPTI_TILE_DNSROW, "two full rows");
  rows.rows[9] = 0xfffe;
  expect_format(rows, SPTI_TILE_CSR, "one of them without its first entry");
  for (int r = 0; r < 16; r++) columns.rows[r] = 0x8010;
  expect_format(columns, SPTI_TILE_DNSCOL, "two full columns");
  columns.rows[15] = 0x8000;
  expect_format(columns, SPTI_TILE_ELL, "one of them without its last entry: rows of 2 and one of 1");
  for (int r = 0; r < 16; r++) columns.rows[r] = r < 13 ? 0x0004 : 0;
  columns.m = 13;
  expect_format(columns, SPTI_TILE_DNSCOL, "a full column of a tile row with 13 rows");
  columns.m = 14;
  expect_format(columns, SPTI_TILE_CSR, "the same with 14 rows");
}

/* Standard deviation over mean of the rows' lengths. */
Test(tile_formats, variation) {
  expect_format(by_lengths((int[16]){2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}, 16, 16, 1), SPTI_TILE_ELL, "0.2");
  expect_format(by_lengths((int[16]){2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4}, 16, 16, 1), SPTI_TILE_CSR, "just above 0.2");
  expect_format(by_lengths((int[16]){4, 2, 1, 1, 1, 1, 1, 1, 1, 1}, 14, 16, 1), SPTI_TILE_CSR, "1.0, 4 spilled");
  expect_format(by_lengths((int[16]){4, 2, 1, 1, 1, 1, 1, 1, 1, 1}, 15, 16, 1), SPTI_TILE_HYB, "just above 1.0, 4 spilled");
  expect_format(by_lengths((int[16]){5, 1, 1, 1, 1, 1, 1, 1, 1}, 16, 16, 1), SPTI_TILE_HYB, "1.5, 4 spilled");
  expect_format(by_lengths((int[16]){6, 1, 1, 1, 1, 1, 1, 1, 1}, 16, 16, 1), SPTI_TILE_CSR, "1.6, 5 spilled");
}

Test(tile_formats, shape_of_hyb) {
  const spti_tile_mask t = by_lengths((int[16]){5, 1, 1, 1, 1, 1, 1, 1, 1}, 16, 16, 1);
  const spti_tile_shape s = spti_tile_choose(&t);
  cr_assert_eq(s.width, 1, "width %d", s.width);
  cr_assert_eq(s.extra, 4, "%d entries behind the ELL part", s.extra);
  cr_assert_eq(s.values, 20, "%d values", s.values);
}

/* ---- arranged and unpacked ---- */

static unsigned state = 1;
static int draw(int below) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (unsigned)below);
}

/* One of many kinds, so that every format occurs. */
static spti_tile_mask draw_tile(void) {
  spti_tile_mask t = {.m = draw(4) ? 16 : 1 + draw(16), .c = draw(4) ? 16 : 1 + draw(16)};
  const int kind = draw(6), odds = 1 + draw(10), length = 1 + draw(3);
  const uint32_t all = (1u << t.c) - 1, columns = (uint32_t)draw(1 << 16) & all;
  for (int r = 0; r < t.m; r++)
    for (int c = 0; c < t.c; c++) {
      const bool by_kind[] = {draw(odds) == 0, kind == 1 && columns >> (r % t.c) & 1,  columns >> c & 1, (c + r) % t.c < length,
                              draw(16) != 0,   c == r % t.c ? r < 10 : r == 2 && c < 7};
      if (by_kind[kind]) t.rows[r] |= (uint16_t)(1u << c);
    }
  t.rows[0] |= 1;
  return t;
}

Test(tile_formats, there_and_back) {
  int seen[SPTI_TILE_FORMATS] = {0};
  for (int i = 0; i < 20000; i++) {
    const spti_tile_mask t = draw_tile();
    const spti_tile_shape s = spti_tile_choose(&t);
    uint8_t positions[512];
    int16_t order[256], back[256];
    memset(positions, 0xaa, sizeof positions);
    memset(order, 0x55, sizeof order);
    spti_tile_arrange(positions, order, &t, &s);
    cr_assert(s.positions == 512 || positions[s.positions] == 0xaa, "%s: more than %d bytes", names[s.format], s.positions);
    seen[s.format]++;
    uint16_t rows[16] = {0};
    for (int v = 0; v < s.values; v++)
      if (order[v] >= 0) rows[order[v] >> 4] |= (uint16_t)(1u << (order[v] & 15));
    cr_assert_arr_eq(rows, t.rows, sizeof rows, "%s: other entries", names[s.format]);
    if (s.format == SPTI_TILE_COO) {
      for (int v = 0; v < s.values; v++) cr_assert_eq(positions[v], order[v], "COO entry %d", v);
      continue;
    }
    const int32_t first = s.format == SPTI_TILE_HYB ? s.extra : s.entries - 1;
    cr_assert_eq(spti_tile_positions((int32_t)s.format, first, s.width, t.m), s.positions, "%s", names[s.format]);
    cr_assert_eq(spti_tile_values((int32_t)s.format, first, s.width, t.m, t.c), s.values, "%s", names[s.format]);
    spti_tile_unpack(back, positions, s.format, first, s.width, t.m, t.c);
    for (int v = 0; v < s.values; v++)
      cr_assert(back[v] == order[v] || (s.format == SPTI_TILE_DNS && order[v] < 0), "%s: slot %d is %d, not %d", names[s.format], v,
                back[v], order[v]);
  }
  for (int f = 0; f < SPTI_TILE_FORMATS; f++) cr_assert(seen[f] > 20, "only %d tiles are %s", seen[f], names[f]);
}

/* ---- tile rows, parts and levels ---- */

typedef struct {
  int64_t ptr[601];
  int32_t idx[601 * 4 + 601], order[600];
  double val[601 * 4 + 601];
  spti_view view;
} triangle;

/* Lower, by rows: entries in columns i - 1 where `chain`, and all columns in the last row where `last`. */
static void make(triangle *t, int32_t n, bool chain, bool last) {
  int32_t count = 0;
  for (int32_t i = 0; i < n; i++) {
    t->ptr[i] = count;
    t->order[i] = i;
    for (int32_t j = 0; j < i; j++)
      if ((chain && j == i - 1) || (last && i == n - 1)) {
        t->idx[count] = j;
        t->val[count++] = 0.5;
      }
    t->idx[count] = i;
    t->val[count++] = 2;
  }
  t->ptr[n] = count;
  t->view = (spti_view){.n = n, .nnz = count, .dtype = SPTRSM_F64, .ptr = t->ptr, .idx = t->idx, .val = t->val, .tail = 1, .pull = true};
}

static spti_tiles build(const triangle *t, const int32_t *level_ptr, int32_t levels, int32_t most, int32_t align) {
  spti_tiles tiles;
  const spti_tiles_settings set = {.most = most, .align = align};
  cr_assert_eq(spti_tiles_build(&tiles, &t->view, t->order, level_ptr, levels, &set), SPTRSM_OK, "%s", sptrsm_last_error());
  return tiles;
}

Test(tile_formats, last_line) {
  triangle *t = malloc(sizeof *t);
  make(t, 35, true, false);
  spti_tiles tiles = build(t, NULL, 0, 16, 0);
  cr_assert_eq(tiles.tile_rows, 3);
  cr_assert_eq(tiles.used[2], 3, "the last tile row has %d rows", tiles.used[2]);
  cr_assert_eq(tiles.tiles, 2, "%d tiles off the diagonal", tiles.tiles);
  cr_assert_eq(tiles.tiles_in[SPTI_TILE_COO], 2);
  cr_assert_eq(tiles.inner, 32, "%d entries in diagonal tiles", tiles.inner);
  cr_assert_eq(tiles.levels, 3);
  spti_tiles_free(&tiles);
  free(t);
}

Test(tile_formats, wide_levels_begin_with_a_line) {
  static const int32_t level_ptr[] = {0, 20, 52, 53};
  static const struct {
    int32_t align, tile_rows, used[6];
  } cases[] = {{0, 4, {16, 16, 16, 5}}, {32, 5, {16, 4, 16, 16, 1}}, {33, 4, {16, 16, 16, 5}}, {1, 5, {16, 4, 16, 16, 1}}};
  triangle *t = malloc(sizeof *t);
  make(t, 53, false, true);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    spti_tiles tiles = build(t, level_ptr, 3, 16, cases[c].align);
    cr_assert_eq(tiles.tile_rows, cases[c].tile_rows, "align %d: %d tile rows", cases[c].align, tiles.tile_rows);
    for (int32_t l = 0; l < tiles.tile_rows; l++)
      cr_assert_eq(tiles.used[l], cases[c].used[l], "align %d: tile row %d has %d rows", cases[c].align, l, tiles.used[l]);
    spti_tiles_free(&tiles);
  }
  free(t);
}

/* A last row of 36 tiles besides its diagonal one. */
Test(tile_formats, parts_of_a_long_line) {
  static const struct { int32_t most, parts; } cases[] = {{36, 0}, {35, 1}, {18, 1}, {17, 2}, {16, 2}, {1, 35}};
  triangle *t = malloc(sizeof *t);
  make(t, 16 * 36 + 1, false, true);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    spti_tiles tiles = build(t, NULL, 0, cases[c].most, 0);
    cr_assert_eq(tiles.parts, cases[c].parts, "at most %d tiles: %d parts", cases[c].most, tiles.parts);
    cr_assert_eq(tiles.items, tiles.tile_rows + cases[c].parts);
    cr_assert_eq(tiles.tiles_in[SPTI_TILE_DNS], 36, "1 x 16 and full: %d", (int)tiles.tiles_in[SPTI_TILE_DNS]);
    cr_assert_eq(tiles.values, 16 * 36);
    const int32_t *final = tiles.item + (size_t)(tiles.items - 1) * SPTI_TILE_ITEM_WORDS;
    cr_assert_eq(final[SPTI_TILE_ITEM_OUT], 36, "the last item is the tile row's");
    cr_assert_eq(final[SPTI_TILE_ITEM_SUMS], cases[c].parts);
    spti_tiles_free(&tiles);
  }
  free(t);
}

/* The bytes of all formats are those of the arrays that hold tiles; orders and items are counted besides. */
Test(tile_formats, bytes_by_format_and_by_array) {
  triangle *t = malloc(sizeof *t);
  make(t, 16 * 36 + 1, true, true);
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_tile_stats s = {.size = sizeof s};
  sptrsm_plan *plan;
  sptrsm_info info = {.size = sizeof info};
  sptrsm_options options;
  const sptrsm_sparse T = {.dtype = SPTRSM_F64, .n = t->view.n, .ptr = t->ptr, .idx = t->idx, .val = t->val};
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_tiles(&s, matrix, SPTRSM_N), SPTRSM_OK, "%s", sptrsm_last_error());
  int64_t by_format = 0, by_array = 0, tiles = 0, beside = 0;
  for (int f = 0; f < 9; f++) by_format += s.formats[f].bytes;
  for (int f = 0; f < 7; f++) tiles += s.formats[f].tiles;
  for (int a = 0; a < 12; a++) {
    by_array += s.arrays[a].bytes;
    cr_assert(s.arrays[a].tiles == 0 && s.arrays[a].entries == 0, "%s counts no tiles", s.arrays[a].name);
    if (a >= 9) beside += s.arrays[a].bytes; /* items, rows of tile rows, order of rows */
  }
  cr_assert(s.tiles == tiles && s.tiles > 36 && s.bytes == by_array, "%d of %d tiles", (int)tiles, (int)s.tiles);
  cr_assert_eq(by_format + beside, by_array, "%d bytes by format and %d beside, %d by array", (int)by_format, (int)beside, (int)by_array);
  sptrsm_options_init(&options);
  options.method = "tile-levelset";
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_info(&info, plan), SPTRSM_OK);
  cr_assert_eq(info.plan_bytes, sizeof(spti_tiles) + (size_t)by_array, "%zu bytes of a plan", info.plan_bytes);
  sptrsm_plan_destroy(plan);
  cr_assert_eq(sptrsm_matrix_tiles(NULL, matrix, SPTRSM_N), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_matrix_tiles(&s, NULL, SPTRSM_N), SPTRSM_ERR_ARGUMENT);
  s.size = 0;
  cr_assert_eq(sptrsm_matrix_tiles(&s, matrix, SPTRSM_N), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "sizeof(sptrsm_tile_stats)"), "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  free(t);
}

Test(tile_formats, what_a_plan_tells) {
  triangle *t = malloc(sizeof *t);
  make(t, 53, false, true);
  const sptrsm_sparse T = {.dtype = SPTRSM_F64, .n = t->view.n, .ptr = t->ptr, .idx = t->idx, .val = t->val};
  test_solver s = test_solver_open(&T, &(test_choice){.method = "tile-levelset"});
  sptrsm_info info = {.size = sizeof info};
  cr_assert_eq(sptrsm_plan_info(&info, s.plan), SPTRSM_OK);
  cr_assert_str_eq(info.parameters, "tiles=3 tile_rows=4 levels=2");
  test_solver_close(&s);
  free(t);
}
