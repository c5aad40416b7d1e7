/* part_kernels.h -- launchers of the kernels that part a triangle into tiles on the device (part_kernels.cu, write_kernels.cu,
 * values_kernels.cu, scan.cu). Pointers are device pointers; a launcher queues on the stream and returns a cudaError_t as int. partition.c
 * calls them in the order of their declarations. */
#ifndef SPTI_TRSV_TILES_PART_KERNELS_H
#define SPTI_TRSV_TILES_PART_KERNELS_H

#include "trsv/tiles/tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tile's share of each array, or running sums of them over tiles that are sorted by tile row. */
typedef struct {
  int64_t positions, values, inner_bytes;
  int32_t coo, others, inner;
  int32_t tiles; /* off the diagonal: one, or the diagonal tile's none */
} spti_tile_counts;

typedef struct {
  spti_view view;
  int32_t tile_rows;
  int32_t most; /* tiles of an item by rows */
  int32_t by_columns;
  int32_t lanes;         /* that share a line of the view: a power of two up to 32 */
  int32_t tile_row_bits; /* tile rows < 2^tile_row_bits */
  int32_t entries;       /* off-diagonal ones */
  int32_t sorted_tiles;  /* tiles in the order of `begin`, diagonal ones too */

  /* Tile rows. */
  const int32_t *order; /* [n]: row of each place of that order; NULL: as the view is solved */
  const int32_t *first; /* [tile_rows+1]: first place of each tile row in it */
  int32_t *row;         /* [16 tile_rows] */
  uint8_t *used;        /* [tile_rows] */
  int32_t *place;       /* [n]: where each row is among the 16 tile_rows places */

  /* Entries, sorted by own tile row, other tile row, and place in the tile: keys (own << tile_row_bits | other) << 8 | within. */
  int64_t *key;              /* [entries], as the view has them */
  int32_t *source;           /* [entries]: where each one's value is in the view */
  const int64_t *sorted_key; /* [entries] */
  const int32_t *sorted_source;
  int32_t *head;           /* [entries]: is it a tile's first? */
  const int32_t *tiles_to; /* [entries+1]: running sum of head: entry e is of tile tiles_to[e+1] - 1 */

  /* Tiles, diagonal ones too. */
  int32_t *begin;           /* [sorted_tiles+1]: first entry */
  int32_t *shape;           /* [sorted_tiles]: format | first << 8 | width << 16 */
  spti_tile_counts *counts; /* [sorted_tiles+1]: of tile t at t + 1, then their running sums */
  int32_t others;
  int32_t *other_tile; /* [others]: the tiles that are not COO */

  /* Tile rows again. */
  int32_t *tile_row_begin; /* [tile_rows+1]: first tile */
  int32_t *parts;          /* [tile_rows] */
  const int64_t *parts_to; /* [tile_rows+1]: running sum */
  int64_t *tile_row_ptr; /* [tile_rows+1]: first tile, without diagonal ones; with tile_row_idx the pattern of tile rows as a view has it */
  int32_t *tile_row_idx; /* [tiles] */
  const int32_t *tile_row_order; /* [tile_rows]: by level; NULL: by number */
  int32_t *items;                /* [tile_rows]: items of each tile row, in that order */
  const int32_t *item_to;        /* [tile_rows+1]: running sum */
  const int32_t *level_ptr;      /* [levels+1]: tile rows before each level, in that order */
  int32_t *level_item;           /* [levels+1]: items likewise */
  int32_t levels;

  /* The tiles as they are stored (trsv/tiles/tiles.h). */
  int32_t *word;
  uint8_t *tile_shape, *coo_position, *position, *inner_byte;
  int32_t *item;
  int32_t *coo_source, *value_source, *inner_source; /* where each stored value is in the view; -1: no entry */
} spti_tile_part_args;

int spti_tile_rows_launch(const spti_tile_part_args *, void *stream);   /* order, first -> row, used */
int spti_tile_places_launch(const spti_tile_part_args *, void *stream); /* row -> place */
int spti_tile_keys_launch(const spti_tile_part_args *, void *stream);   /* place -> key, source; then spti_sort_long_launch */
int spti_tile_heads_launch(const spti_tile_part_args *, void *stream);  /* sorted_key -> head; then spti_scan_narrow_launch */
int spti_tile_shapes_launch(const spti_tile_part_args *, void *stream); /* tiles_to -> begin, tile_row_begin, shape, counts[1..] */
int spti_tile_scan_launch(void *temporary, size_t *bytes, spti_tile_counts *counts, int32_t count, void *stream); /* counts -> sums */
int spti_tile_pattern_launch(const spti_tile_part_args *, void *stream);         /* sums -> tile_row_ptr, tile_row_idx, parts, other_tile */
int spti_tile_items_of_rows_launch(const spti_tile_part_args *, void *stream);   /* tile_row_order, parts -> items */
int spti_tile_items_of_levels_launch(const spti_tile_part_args *, void *stream); /* item_to, level_ptr -> level_item */
int spti_tile_write_launch(const spti_tile_part_args *, void *stream);           /* all that is stored but values and items */
int spti_tile_items_launch(const spti_tile_part_args *, void *stream);           /* item_to, parts_to -> item */

/* Values to where they are stored. */
typedef struct {
  spti_view view;
  int32_t places, coo, values, inner; /* sizes */
  const int32_t *row, *coo_source, *value_source, *inner_source;
  void *diagonal, *coo_value, *value, *inner_value;
} spti_tile_values_args;

int spti_tile_values_launch(const spti_tile_values_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
