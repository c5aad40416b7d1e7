/* sizes.c -- see sizes.h. */
#include "trsv/tiles/sizes.h"

#include "core/context/alloc.h"

sptrsm_status spti_tile_sizes_open(spti_tile_sizes *s, int32_t lines) {
  for (int i = 0; i < SPTI_TILE_SIZES; i++) {
    SPTI_TRY(spti_host_alloc(&s->running[i], (int64_t)lines + 1, sizeof *s->running[i], "sizes of tile lines"));
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

sptrsm_status spti_tile_check_blocks(int32_t lines, int64_t parts) {
  if (lines + parts < (int64_t)1 << SPTI_TILE_OUT_BITS) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tiles: %d lines and %lld parts of them are too many", lines, (long long)parts);
}

sptrsm_status spti_tile_sizes_add_up(const spti_tile_sizes *s, int32_t lines) {
  static const char *const names[SPTI_TILE_SIZES] = {
      "tiles", "tiles", "COO entries", "position bytes", "values", "diagonal entries", "diagonal bytes", "items", "parts of lines"};
  for (int i = 0; i < SPTI_TILE_SIZES; i++) {
    int64_t sum = 0;
    for (int32_t line = 1; line <= lines; line++) {
      sum += s->running[i][line];
      SPTI_TRY(spti_tile_check_size(names[i], i == SPTI_TILE_OTHERS ? spti_tile_shape_bytes(sum) : sum));
      s->running[i][line] = (int32_t)sum;
    }
  }
  return spti_tile_check_blocks(lines, s->running[SPTI_TILE_PARTS][lines]);
}
