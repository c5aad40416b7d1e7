/* tiles.c -- the partition into tiles on the host: a first pass over the tile rows measures, a second one writes; threads share the tile
 * rows in both. Deterministic for every number of threads. */
#include "trsv/tiles/tiles.h"

#include <pthread.h>
#include <string.h>

#include "core/context/alloc.h"
#include "trsv/tiles/sizes.h"
#include "trsv/tiles/sort.h"
#include "trsv/tiles/tile_rows.h"
#include "trsv/tiles/write.h"

/* ---- measuring ---- */

static void measure_tile_row(int32_t sizes[SPTI_TILE_SIZES], spti_tiles *count, spti_tile_sorter *s, int32_t tile_row) {
  spti_tile_sort_row(s, tile_row);
  memset(sizes, 0, SPTI_TILE_SIZES * sizeof *sizes);
  for (int32_t t = 0; t < s->tile_count; t++) {
    spti_tile_mask mask;
    const spti_tile_shape shape = spti_tile_shape_of(&mask, s, tile_row, t);
    const bool coo = shape.format == SPTI_TILE_COO;
    sizes[SPTI_TILE_OTHERS] += !coo;
    sizes[SPTI_TILE_COOS] += coo ? shape.entries : 0;
    sizes[SPTI_TILE_POSITIONS] += coo ? 0 : shape.positions;
    sizes[SPTI_TILE_VALUES] += coo ? 0 : shape.values;
    count->tiles_in[shape.format]++;
    count->entries_in[shape.format] += shape.entries;
    count->positions_in[shape.format] += shape.positions;
    count->values_in[shape.format] += shape.values;
  }
  sizes[SPTI_TILE_TILES] = s->tile_count;
  sizes[SPTI_TILE_INNERS] = s->inner_count;
  sizes[SPTI_TILE_INNER_BYTES] = s->inner_count > 0 ? SPTI_TILE + s->inner_count : 0;
  sizes[SPTI_TILE_PARTS] = s->tiles->by_columns ? 0 : spti_tile_parts_of(s->tile_count, s->tiles->most);
  sizes[SPTI_TILE_ITEMS] = sizes[SPTI_TILE_PARTS] + 1;
}

static void add_counts(spti_tiles *to, const spti_tiles *from) {
  for (int f = 0; f < SPTI_TILE_FORMATS; f++) {
    to->tiles_in[f] += from->tiles_in[f];
    to->entries_in[f] += from->entries_in[f];
    to->positions_in[f] += from->positions_in[f];
    to->values_in[f] += from->values_in[f];
  }
}

/* A run of tile rows is measured or written by the sorter of the thread that claimed it. */
typedef struct {
  spti_tiles *counts;   /* NULL, or measuring adds the formats' numbers there, */
  pthread_mutex_t lock; /* under this lock */
  const spti_tile_sizes *sizes;
  int32_t *items; /* only while writing */
  spti_tile_team *team;
} job;

enum { RUN = 64 /* tile rows */ };

static int32_t run_end(const spti_tiles *t, int64_t run) {
  return t->tile_rows - run * RUN < RUN ? t->tile_rows : (int32_t)((run + 1) * RUN);
}

static void for_each_run(job *j, spti_task *task) {
  const spti_tiles *t = j->team->sorters[0].tiles;
  spti_team_run(t->team, j->team->count, ((int64_t)t->tile_rows + RUN - 1) / RUN, task, j);
}

static void measure_run(void *argument, int64_t run, int member) {
  job *j = argument;
  spti_tile_sorter *s = &j->team->sorters[member];
  spti_tiles own = {0};
  for (int32_t tile_row = (int32_t)(run * RUN); tile_row < run_end(s->tiles, run); tile_row++) {
    int32_t of_tile_row[SPTI_TILE_SIZES];
    measure_tile_row(of_tile_row, &own, s, tile_row);
    for (int i = 0; i < SPTI_TILE_SIZES; i++) j->sizes->running[i][tile_row + 1] = of_tile_row[i];
  }
  if (!j->counts) return;
  pthread_mutex_lock(&j->lock);
  add_counts(j->counts, &own);
  pthread_mutex_unlock(&j->lock);
}

/* ---- building ---- */

static sptrsm_status find_places(int32_t **out, int64_t *capacity, const spti_tiles *t, const spti_view *v) {
  int32_t *place;
  SPTI_TRY(spti_host_alloc(&place, t->n, sizeof *place, "places of rows"));
  *capacity = 0;
  for (int32_t tile_row = 0; tile_row < t->tile_rows; tile_row++) {
    int64_t entries = 0;
    for (int32_t q = tile_row * SPTI_TILE; q < tile_row * SPTI_TILE + t->used[tile_row]; q++) {
      place[t->row[q]] = q;
      entries += spti_view_end(v, t->row[q]) - spti_view_begin(v, t->row[q]);
    }
    if (entries > *capacity) *capacity = entries;
  }
  *out = place;
  if (*capacity > INT32_MAX - 2) return spti_fail(SPTRSM_ERR_UNSUPPORTED, "tiles: 16 rows of more than 2^31 entries");
  return SPTRSM_OK;
}

static sptrsm_status allocate(spti_tiles *t, const spti_tile_sizes *s) {
  const size_t bytes = sptrsm_dtype_bytes(t->dtype);
  int32_t *const sizes[SPTI_TILE_SIZES] = {&t->tiles, &t->others,      &t->coo,   &t->positions, &t->values,
                                           &t->inner, &t->inner_bytes, &t->items, &t->parts};
  for (int i = 0; i < SPTI_TILE_SIZES; i++) *sizes[i] = s->running[i][t->tile_rows];
  SPTI_TRY(spti_host_alloc(&t->word, t->tiles, sizeof *t->word, "tiles"));
  SPTI_TRY(spti_host_alloc(&t->shape, t->others, 2, "tile shapes"));
  SPTI_TRY(spti_host_alloc(&t->coo_position, t->coo, 1, "tile positions"));
  SPTI_TRY(spti_host_alloc(&t->coo_value, t->coo, bytes, "tile values"));
  SPTI_TRY(spti_host_alloc(&t->position, t->positions, 1, "tile positions"));
  SPTI_TRY(spti_host_alloc(&t->value, t->values, bytes, "tile values"));
  SPTI_TRY(spti_host_alloc(&t->inner_byte, t->inner_bytes, 1, "diagonal tiles"));
  SPTI_TRY(spti_host_alloc(&t->inner_value, t->inner, bytes, "diagonal tiles"));
  SPTI_TRY(spti_host_alloc(&t->diagonal, (int64_t)t->tile_rows * SPTI_TILE, bytes, "diagonal"));
  SPTI_TRY(spti_host_alloc(&t->item, t->items, SPTI_TILE_ITEM_WORDS * sizeof *t->item, "tile items"));
  return SPTRSM_OK;
}

static void write_run(void *argument, int64_t run, int member) {
  const job *j = argument;
  spti_tile_sorter *s = &j->team->sorters[member];
  for (int32_t tile_row = (int32_t)(run * RUN); tile_row < run_end(s->tiles, run); tile_row++) {
    spti_tile_sort_row(s, tile_row);
    spti_tile_write_row(s->tiles, j->sizes, s, j->items, tile_row);
  }
}

/* t has its tile rows; fresh: it has nothing else yet. */
static sptrsm_status make(spti_tiles *t, const spti_view *v, bool fresh) {
  spti_tile_sizes sizes = {{NULL}};
  spti_tile_team team = {0};
  int32_t *place = NULL, *items = NULL;
  int64_t capacity;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_tile_sizes_open(&sizes, t->tile_rows));
  SPTI_TRY_DONE(find_places(&place, &capacity, t, v));
  SPTI_TRY_DONE(spti_tile_team_open(&team, t, v, place, capacity));
  job j = {.counts = fresh ? t : NULL, .lock = PTHREAD_MUTEX_INITIALIZER, .sizes = &sizes, .team = &team};
  for_each_run(&j, measure_run);
  SPTI_TRY_DONE(spti_tile_sizes_add_up(&sizes, t->tile_rows));
  if (fresh) SPTI_TRY_DONE(allocate(t, &sizes));
  SPTI_TRY_DONE(spti_host_alloc(&items, t->items, SPTI_TILE_ITEM_WORDS * sizeof *items, "tile items"));
  j.items = items;
  for_each_run(&j, write_run);
  if (fresh && t->by_columns) memcpy(t->item, items, (size_t)t->items * SPTI_TILE_ITEM_WORDS * sizeof *items);
  if (fresh && !t->by_columns) SPTI_TRY_DONE(spti_tile_levels(t, &sizes, items));
done:
  spti_tile_team_close(&team);
  spti_tile_sizes_close(&sizes);
  spti_host_free(place);
  spti_host_free(items);
  return status;
}

sptrsm_status spti_tiles_build(spti_tiles *out, const spti_view *v, const int32_t *order, const int32_t *level_ptr, int32_t levels,
                               const spti_tiles_settings *set) {
  spti_tiles t = {
      .n = v->n, .dtype = v->dtype, .by_columns = !v->pull, .most = spti_tiles_most(set, level_ptr ? levels : 0), .team = set->team};
  sptrsm_status status = spti_tile_cut(&t, order, level_ptr, levels, set->align);
  if (status == SPTRSM_OK) status = make(&t, v, true);
  if (status != SPTRSM_OK) {
    spti_tiles_free(&t);
    return status;
  }
  *out = t;
  return SPTRSM_OK;
}

sptrsm_status spti_tiles_update(spti_tiles *t, const spti_view *v) { return make(t, v, false); }

void spti_tiles_free(spti_tiles *t) {
  void *const arrays[] = {t->row,   t->used,       t->word,        t->shape,    t->coo_position, t->coo_value,  t->position,
                          t->value, t->inner_byte, t->inner_value, t->diagonal, t->item,         t->level_item, t->level_tile_row};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) spti_host_free(arrays[i]);
  *t = (spti_tiles){0};
}

size_t spti_tiles_bytes(const spti_tiles *t) {
  const size_t value = sptrsm_dtype_bytes(t->dtype), tile_rows = (size_t)t->tile_rows;
  return tile_rows * SPTI_TILE * (value + sizeof *t->row) + tile_rows + (size_t)t->tiles * sizeof *t->word + 2 * (size_t)t->others +
         (size_t)t->coo * (value + 1) + (size_t)t->positions + (size_t)t->values * value + (size_t)t->inner_bytes +
         (size_t)t->inner * value + (size_t)t->items * SPTI_TILE_ITEM_WORDS * sizeof *t->item;
}
