/* choose.c -- the table behind `auto`: it takes the method of the first row all of whose bounds hold. Each row
 * carries the reason that the user is told. */
#include "core/select/choose.h"

#include <math.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/sized.h"

/* Bounds of a feature, inclusive; most 0: no upper bound. */
typedef struct {
  double least, most;
} bounds;

#define FEATURE(name, value) FEATURE_##name,
enum {
#include "core/select/auto_features.def"
  FEATURES
};
#undef FEATURE
_Static_assert(FEATURES == SPTRSM_AUTO_FEATURES, "the public header says how many features there are");

#define FEATURE(name, value) #name,
static const char *const feature_names[FEATURES] = {
#include "core/select/auto_features.def"
};
#undef FEATURE

typedef struct {
  const char *name; /* the row's name in auto_tuned.def and in README.md */
  sptrsm_place place;
  bool deterministic; /* the row's method gives the same bits on every run */
  union {
    struct {
#define FEATURE(name, value) bounds name;
#include "core/select/auto_features.def"
#undef FEATURE
    };
    bounds of[FEATURES];
  };
  const char *method, *reason;
} row;

/* In order: the first row that holds is taken. A row without a bound on right-hand sides also serves plans that do
 * not know how many there will be. README.md has the measurements behind each row. */
static const row table[] = {
    /* 500 rows or more, on average, that can be solved at the same time; on a small grid with 349 gather is faster */
    {.name = "stencil",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .stencil = {500, 0},
     .method = "structgrid",
     .reason = "a stencil on a grid: tiles of its lines, or a warp for each line for blocks; no level sets"},
    /* each level is a kernel of its own, which waits for nothing; a few such launches cost less than polling */
    {.name = "few-levels",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .levels = {0, 6},
     .method = "levelset",
     .reason = "few levels: a launch a level, all right-hand sides of a row side by side"},
    /* tiles have zeros, and block computes in double whatever the type; not measured, README.md has the estimate */
    {.name = "slow-doubles",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {256, 0},
     .levels_a_hop = {5, 0},
     .single_to_double = {16, 0},
     .method = "gather",
     .reason = "factors, many right-hand sides, a device with slow double precision: no products with zeros"},
    /* levels of rows for each hop of row panels: factors 9 to 53, memplus U 6; 1.9 and less where block loses */
    {.name = "panels",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .levels_a_hop = {5, 0},
     .method = "block",
     .reason = "factors, bands: few levels of row panels, dense tiles on tensor cores"},
    /* deep triangles that block leaves, whose levels are narrow */
    {.name = "narrow",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 8},
     .wide_levels = {0, 12},
     .thin_share = {0.8, 0},
     .method = "levelset",
     .reason = "deep and narrow: one thread block for each right-hand side walks all levels"},
    /* up to 10 rows a level: at 14 gather is faster */
    {.name = "deep",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 128},
     .rows_a_level = {0, 10},
     .wide_levels = {0, 12},
     .thin_share = {0.8, 0},
     .method = "levelset",
     .reason = "deep, some rows a level: one thread block for a few right-hand sides walks all levels"},
    /* up to 32 entries a level: with 146 and 512 right-hand sides gather is faster */
    {.name = "chains",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .wide_levels = {0, 12},
     .thin_share = {0.8, 0},
     .entries_a_level = {0, 32},
     .method = "levelset",
     .reason = "chains of short rows: one thread block for a few right-hand sides walks all levels"},
    /* factors that block leaves */
    {.name = "thin-columns",
     .place = SPTRSM_CUDA,
     .nrhs = {1, 1},
     .rows_a_level = {0, 140},
     .method = "syncfree-csc",
     .reason = "one right-hand side, factors: columns near each other in one block"},
    /* 900 rows a level or more: with 737 and 5 right-hand sides gather is faster */
    {.name = "very-wide",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 8},
     .rows_a_level = {900, 0},
     .method = "syncfree-csr",
     .reason = "few right-hand sides, very wide levels: rows packed in level order"},
    /* with 4 right-hand sides gather is faster */
    {.name = "wide-few",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 2},
     .method = "syncfree-csr",
     .reason = "few right-hand sides, wide levels: rows packed in level order"},
    /* more right-hand sides, or an unknown number */
    {.name = "rest",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .method = "gather",
     .reason = "on a GPU: rows gathered in level order, lanes over right-hand sides"},
    /* what the methods above refuse: more than 2^31 entries, or no memory for a copy of the matrix; not measured */
    {.name = "uncopied",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .method = "syncfree-csr:order=level",
     .reason = "on a GPU: rows where they stand, in level order"},
    /* one column does not use a value of a supernode again, so supernodes save indices only, and pay for added zeros */
    {.name = "host-one",
     .place = SPTRSM_HOST,
     .deterministic = true,
     .nrhs = {1, 1},
     .chained = {0, 0.75},
     .method = "levelset",
     .reason = "on the host: one right-hand side, not enough entries in supernodes or wide bands"},
    /* share of entries in supernodes and wide bands: at 0.7 both are as fast, at 0.45 levelset is faster */
    {.name = "host-chained",
     .place = SPTRSM_HOST,
     .deterministic = true,
     .chained = {0.7, 0},
     .method = "block",
     .reason = "on the host: a factor with supernodes or a wide band, solved as dense blocks"},
    /* all other triangles, and what block refuses */
    {.name = "host-rest",
     .place = SPTRSM_HOST,
     .deterministic = true,
     .method = "levelset",
     .reason = "on the host: vector lanes and threads over right-hand sides, threads over wide levels"},
};

/* Bounds tuned for a device, which hold there in place of those of the table. */
static const struct {
  const char *device, *row;
  int feature;
  bounds bounds;
} tuned[] = {
#define AUTO_BOUNDS(device, row, feature, least, most) {device, row, FEATURE_##feature, {least, most}},
#include "core/select/auto_tuned.def"
#undef AUTO_BOUNDS
    {0}};
enum { ROWS = sizeof table / sizeof table[0], TUNED = sizeof tuned / sizeof tuned[0] - 1 };

static bounds bounds_of(const row *r, int feature, const char *device) {
  for (int t = 0; device && t < TUNED; t++)
    if (tuned[t].feature == feature && strcmp(tuned[t].device, device) == 0 && strcmp(tuned[t].row, r->name) == 0) return tuned[t].bounds;
  return r->of[feature];
}

static bool within(bounds b, double value) { return value >= b.least && (b.most == 0 || value <= b.most); }

void spti_choose_values(double values[SPTRSM_AUTO_FEATURES], const spti_features *f) {
  const double n = f->n, levels = f->levels > 0 ? f->levels : 1;
#define FEATURE(name, value) values[FEATURE_##name] = value;
#include "core/select/auto_features.def"
#undef FEATURE
}

static bool holds(const row *r, const spti_features *f, const double *values) {
  bool all = r->place == f->place && (r->deterministic || !f->deterministic);
  for (int b = 0; b < FEATURES && all; b++) all = within(bounds_of(r, b, f->device), values[b]);
  return all;
}

/* The least whole number, `from` or more, from which on these bounds hold for all numbers or for none. */
static int32_t same_from(bounds b, int32_t from) {
  double first = b.least > from ? ceil(b.least) : from;
  if (b.most > 0 && b.most >= first) first = floor(b.most) + 1;
  return first < INT32_MAX ? (int32_t)first : INT32_MAX;
}

spti_choose_limits spti_choose_limits_on(const char *device) {
  spti_choose_limits limits = {1, 1};
  for (int r = 0; r < ROWS; r++) {
    limits.levels = same_from(bounds_of(&table[r], FEATURE_levels, device), limits.levels);
    limits.a_hop = same_from(bounds_of(&table[r], FEATURE_levels_a_hop, device), limits.a_hop);
  }
  return limits;
}

bool spti_choose_asks_for_stencil(const spti_features *f) {
  double values[FEATURES];
  bool asks = false;
  spti_choose_values(values, f);
  for (int r = 0; r < ROWS && !asks; r++) {
    const double least = values[FEATURE_stencil] = bounds_of(&table[r], FEATURE_stencil, f->device).least;
    asks = least > 0 && least <= f->n && holds(&table[r], f, values);
  }
  return asks;
}

static bool is_bounded(bounds b) { return b.least != 0 || b.most != 0; }

bool spti_choose_asks_for_widths(const spti_features *f) {
  double values[FEATURES];
  for (int r = 0; r < ROWS; r++) {
    const bounds wide = bounds_of(&table[r], FEATURE_wide_levels, f->device), thin = bounds_of(&table[r], FEATURE_thin_share, f->device);
    spti_choose_values(values, f);
    values[FEATURE_wide_levels] = wide.least;
    values[FEATURE_thin_share] = thin.least;
    if (holds(&table[r], f, values)) return is_bounded(wide) || is_bounded(thin);
  }
  return false;
}

bool spti_choose_by_stencil(const spti_features *f) {
  const spti_choice first = spti_choose(f, 0);
  return first.method && table[first.row].stencil.least > 0;
}

spti_choice spti_choose(const spti_features *features, int from) {
  double values[FEATURES];
  spti_choose_values(values, features);
  for (int r = from; r < ROWS; r++)
    if (holds(&table[r], features, values)) return (spti_choice){table[r].method, table[r].reason, r};
  return (spti_choice){.row = ROWS};
}

/* ---- the table as sptrsm_auto.h shows it ---- */

const char *sptrsm_auto_feature(int index) { return index >= 0 && index < FEATURES ? feature_names[index] : NULL; }

int sptrsm_auto_row_count(void) { return ROWS; }

sptrsm_status sptrsm_auto_row_at(sptrsm_auto_row *out, int index, const char *device) {
  SPTI_TRY(spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_auto_row, most), sizeof *out, "sptrsm_auto_row_at", "sptrsm_auto_row"));
  if (index < 0 || index >= ROWS) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_auto_row_at: index %d is not in 0..%d", index, ROWS - 1);
  const row *r = &table[index];
  sptrsm_auto_row found = {.name = r->name, .method = r->method, .reason = r->reason, .place = r->place, .deterministic = r->deterministic};
  for (int f = 0; f < FEATURES; f++) {
    const bounds b = bounds_of(r, f, device);
    found.least[f] = b.least;
    found.most[f] = b.most;
  }
  spti_sized_write(out, &found, sizeof found);
  return SPTRSM_OK;
}
