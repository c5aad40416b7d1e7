/* stats.c -- sptrsm_matrix_tiles: counts of the tiles of a triangle by format, and bytes by array (figure 8 of [lu2023tile]). */
#include <string.h>
#include <sptrsm_inspect.h>

#include "core/base/sized.h"
#include "core/levels/levels.h"
#include "core/matrix/matrix.h"
#include "trsv/tiles/tiles.h"

static int32_t inner_tiles(const spti_tiles *t) {
  int32_t count = 0;
  for (int32_t i = 0; i < t->items; i++) count += t->item[(size_t)i * SPTI_TILE_ITEM_WORDS + SPTI_TILE_ITEM_INNER] >= 0;
  return count;
}

static void count_formats(sptrsm_tile_stats *s, const spti_tiles *t) {
  static const char *const names[] = {"COO", "CSR", "ELL", "HYB", "DNS", "DNSROW", "DNSCOL"};
  const int64_t value = (int64_t)sptrsm_dtype_bytes(t->dtype), csr = inner_tiles(t);
  for (int f = 0; f < SPTI_TILE_FORMATS; f++) {
    const int64_t shape = f == SPTI_TILE_COO ? 0 : 2;
    const int64_t bytes = t->tiles_in[f] * ((int64_t)sizeof *t->word + shape) + t->positions_in[f] + t->values_in[f] * value;
    s->formats[f] = (sptrsm_tile_part){names[f], t->tiles_in[f], t->entries_in[f], bytes};
  }
  s->formats[SPTI_TILE_FORMATS] = (sptrsm_tile_part){"diagonal DIA", t->tile_rows - csr, 0, (int64_t)t->tile_rows * SPTI_TILE * value};
  s->formats[SPTI_TILE_FORMATS + 1] = (sptrsm_tile_part){"diagonal CSR", csr, t->inner, t->inner_bytes + t->inner * value};
}

static void measure_arrays(sptrsm_tile_stats *s, const spti_tiles *t) {
  const int64_t value = (int64_t)sptrsm_dtype_bytes(t->dtype), places = (int64_t)t->tile_rows * SPTI_TILE, word = sizeof(int32_t);
  const sptrsm_tile_part arrays[] = {
      {.name = "tile words", .bytes = t->tiles * word},
      {.name = "tile shapes", .bytes = (int64_t)t->others * 2},
      {.name = "COO positions", .bytes = t->coo},
      {.name = "COO values", .bytes = t->coo * value},
      {.name = "other positions", .bytes = t->positions},
      {.name = "other values", .bytes = t->values * value},
      {.name = "diagonal positions", .bytes = t->inner_bytes},
      {.name = "diagonal tile values", .bytes = t->inner * value},
      {.name = "diagonal", .bytes = places * value},
      {.name = "items", .bytes = (int64_t)t->items * SPTI_TILE_ITEM_WORDS * word},
      {.name = "rows of tile rows", .bytes = t->tile_rows},
      {.name = "order of rows", .bytes = places * word},
  };
  memcpy(s->arrays, arrays, sizeof arrays);
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) s->bytes += arrays[a].bytes;
}

sptrsm_status sptrsm_matrix_tiles(sptrsm_tile_stats *out, const sptrsm_matrix *matrix, sptrsm_op op) {
  if (!out || !matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_tiles: out or matrix is NULL");
  SPTI_VISIT(matrix->context);
  const size_t least = SPTI_SIZE_UP_TO(sptrsm_tile_stats, compressed_bytes);
  SPTI_TRY(spti_sized_check(out, least, sizeof *out, "sptrsm_matrix_tiles", "sptrsm_tile_stats"));
  if (op != SPTRSM_N && op != SPTRSM_T && op != SPTRSM_C)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_tiles: unknown op %d", (int)op);
  spti_tiles_settings set = spti_tiles_defaults();
  set.team = matrix->context->team;
  spti_view v;
  spti_levels levels;
  spti_tiles t;
  SPTI_TRY(spti_matrix_view(&v, matrix, spti_op_from(op), SPTI_PULL, SPTRSM_HOST));
  SPTI_TRY(spti_levels_build(&levels, &v));
  const sptrsm_status status = spti_tiles_build(&t, &v, levels.order, levels.ptr, levels.count, &set);
  spti_levels_free(&levels);
  SPTI_TRY(status);
  sptrsm_tile_stats s = {.size = sizeof s, .n = v.n, .tile_rows = t.tile_rows, .levels = t.levels, .tiles = t.tiles};
  s.parallelism = t.levels ? (double)t.tile_rows / t.levels : 0;
  s.compressed_bytes = v.nnz * (int64_t)(sptrsm_dtype_bytes(v.dtype) + sizeof *v.idx) +
                       ((int64_t)v.n + 1) * (v.nnz <= INT32_MAX ? 4 : (int64_t)sizeof *v.ptr);
  count_formats(&s, &t);
  measure_arrays(&s, &t);
  spti_tiles_free(&t);
  spti_sized_write(out, &s, sizeof s);
  return SPTRSM_OK;
}
