/* sizes.c -- see sizes.h. */
#include "trsv/tiles/sizes.h"

#include "core/context/alloc.h"

sptrsm_status spti_tile_sizes_open(spti_tile_sizes *s, int32_t tile_rows) {
  for (int i = 0; i < SPTI_TILE_SIZES; i++) {
    SPTI_TRY(spti_host_alloc(&s->running[i], (int64_t)tile_rows + 1, sizeof *s->running[i], "sizes of tile rows"));
    s->running[i][0] = 0;
  }
  return SPTRSM_OK;
}

void spti_tile_sizes_close(spti_tile_sizes *s) {
  for (int i = 0; i < SPTI_TILE_SIZES; i++) spti_host_free(s->running[i]);
}

sptrsm_status spti_tile_check_size(const char *what, int64_t count) {
  if (count <= INT32_MAX) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tiles: more %s than 32 bits count; use a method without tiles", what);
}

sptrsm_status spti_tile_check_blocks(int32_t tile_rows, int64_t parts) {
  if (tile_rows + parts < (int64_t)1 << SPTI_TILE_OUT_BITS) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tiles: %d tile rows and %lld parts of them are too many", tile_rows, (long long)parts);
}

sptrsm_status spti_tile_sizes_add_up(const spti_tile_sizes *s, int32_t tile_rows) {
  static const char *const names[SPTI_TILE_SIZES] = {
      "tiles", "tiles", "COO entries", "position bytes", "values", "diagonal entries", "diagonal bytes", "items", "parts of tile rows"};
  for (int i = 0; i < SPTI_TILE_SIZES; i++) {
    int64_t sum = 0;
    for (int32_t tile_row = 1; tile_row <= tile_rows; tile_row++) {
      sum += s->running[i][tile_row];
      SPTI_TRY(spti_tile_check_size(names[i], i == SPTI_TILE_OTHERS ? spti_tile_shape_bytes(sum) : sum));
      s->running[i][tile_row] = (int32_t)sum;
    }
  }
  return spti_tile_check_blocks(tile_rows, s->running[SPTI_TILE_PARTS][tile_rows]);
}
