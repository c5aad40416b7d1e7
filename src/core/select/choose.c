/* choose.c -- the table behind `auto`: the first row all of whose bounds hold. Each row carries its reason; docs/benchmarks.md has the
 * figures. */
#include "core/base/sized.h"
#include "core/select/choose.h"

#include <math.h>
#include <string.h>

#include "core/base/error.h"

/* Inclusive; most 0: no upper bound. */
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
  const char *name; /* by which auto_tuned.def knows it */
  sptrsm_place place;
  bool deterministic; /* the row's method is */
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

/* Times in ms on one H200, f64 (docs/benchmarks.md has all); in brackets what the next best takes. Rows without a bound on right-hand
 * sides also serve plans that do not know how many there will be. */
static const row table[] = {
    /* 1: D3N7 64^3 0.12 (syncfree-csr 0.13), D3N27 0.29 (0.39), D3N33 0.35 (0.39), D3N7 192^3 0.41 (0.63), D3N27 0.94 (1.8);
     * 8: D3N7 64^3 0.17 (gather 0.21), D3N27 0.43 (0.46), D3N33 0.35 (0.45), D3N27 128^3 1.1 (1.8); 32: D3N7 64^3 0.18 (0.23),
     * D3N13 0.20 (0.29), D3N27 0.37 (0.48), D3N33 0.38 (0.47), D3N7 128^3 0.85 (1.4), D3N27 1.3 (2.3), D3N33 1.3 (2.4);
     * but D3N7 32^3, 349 rows a level, 8: 0.08 (0.07) */
    {.name = "stencil",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .stencil = {500, 0},
     .method = "structgrid",
     .reason = "a stencil on a grid: tiles of its lines, or a warp for each line for blocks; no level sets"},
    /* 1: boyd2 0.02 (recblock 0.02, syncfree-csr 0.03), a2nnsnsl 0.02 (0.02, 0.03); 8: 0.04 (recblock 0.07,
     * gather 0.36), 0.02 (0.03, 0.11); 32: 0.13 (0.28, 0.34), 0.04 (0.07, 0.09); 128: 0.47 (1.04, 1.03), 0.13 (0.25, 0.23) */
    {.name = "few-levels",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .levels = {0, 6},
     .method = "levelset",
     .reason = "few levels: a launch a level, all right-hand sides of a row side by side"},
    /* levels of rows over hops of panels: factors 9 to 53, bloweya 30; memplus L, 1.9, loses (0.19, gather 0.10), as all below do.
     * 1: cot_armadillo 0.18 (syncfree-csc 0.38), raefsky1 0.14 (levelset 0.27), bloweya 0.66 (1.4), ct2010 0.16 (syncfree-csc 0.28);
     * 32: cot_armadillo 0.18 (gather 0.65), raefsky1 0.08 (levelset 0.45), bloweya 0.83 (1.5), ct2010 0.17 (gather 0.43) */
    {.name = "panels",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .levels_a_hop = {5, 0},
     .method = "block",
     .reason = "factors, bands: few levels of row panels, dense tiles on tensor cores"},
    /* what block leaves: memplus L, 1 right-hand side: 0.05 (syncfree-csc 0.07); 32: 0.17, gather 0.11 */
    {.name = "narrow",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 8},
     .wide_levels = {0, 12},
     .thin_share = {0.8, 0},
     .method = "levelset",
     .reason = "deep and narrow: one thread block for each right-hand side walks all levels"},
    /* where panels are no use: 32: bloweya LU L by UMFPACK, 3 rows a level, 0.53 (gather 4.9), by KLU, 1.5 rows, 0.98 (9.4); and of those
     * that block takes, raefsky1 0.47 (1.2), ex40 1.1 (4.5), sherman5, 8.3 rows, L 0.11 (0.21), U 0.10 (0.22), but bayer10 U, 14 rows,
     * 0.59 (0.52), L 0.24 (0.48); 128: bloweya 0.70 (5.0), 1.2 (9.6), raefsky1 1.0 (1.1), sherman5 L 0.21 (0.24), U 0.11 (0.24) */
    {.name = "deep",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 128},
     .rows_a_level = {0, 10},
     .wide_levels = {0, 12},
     .thin_share = {0.8, 0},
     .method = "levelset",
     .reason = "deep, some rows a level: one thread block for a few right-hand sides walks all levels"},
    /* 512: bloweya L, 9 entries a level, 1.6 (gather 5.3), by KLU, 5, 2.6 (9.8), bloweya_tri, 10, 3.4 (5.1); but sherman5 U, 146,
     * 0.42 (0.25), L, 179, 0.76 (0.25), ex40 U, 221, 8.5 (4.6) */
    {.name = "chains",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .wide_levels = {0, 12},
     .thin_share = {0.8, 0},
     .entries_a_level = {0, 32},
     .method = "levelset",
     .reason = "chains of short rows: one thread block for a few right-hand sides walks all levels"},
    /* Measured on what `panels` takes now. 1: cot_armadillo 0.38 (levelset 0.44), ct2010 0.28 (0.33), bcsstk18 0.20 (0.29),
     * jac_ACTIVSg10k U 0.16 (syncfree-csr 0.20); 4: memplus U 0.23 (gather 0.09) */
    {.name = "thin-columns",
     .place = SPTRSM_CUDA,
     .nrhs = {1, 1},
     .rows_a_level = {0, 140},
     .method = "syncfree-csc",
     .reason = "one right-hand side, factors: columns near each other in one block"},
    /* 5: cit-HepTh U 0.032 (gather 0.036), powerlaw 200000 0.14 (0.21), D3N7 64^3 0.15 (0.22), but cage11, 737 rows a level, 0.059
     * (0.048); 8: 0.035 (0.035), 0.20 (0.23), 0.18 (0.21), 0.059 (0.049) */
    {.name = "very-wide",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 8},
     .rows_a_level = {900, 0},
     .method = "syncfree-csr",
     .reason = "few right-hand sides, very wide levels: rows packed in level order"},
    /* 1: D3N7 192^3 0.79 (recblock 1.4), D3N27 128^3 1.1 (1.4), G2_circuit L 0.53 (0.70), G3_circuit 2.0 (2.5), cage11 L 0.07 (0.09);
     * 4: G3_circuit 2.9 (gather 1.6), delaunay 0.20 (0.17), cit-HepTh L 0.15 (0.13), G2_circuit L 0.42 (0.39) */
    {.name = "wide-few",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 2},
     .method = "syncfree-csr",
     .reason = "few right-hand sides, wide levels: rows packed in level order"},
    /* 32: cot_armadillo 0.67 (levelset 1.14), ct2010 0.44 (1.01), G2_circuit L 0.42 (recblock 0.67), cage11 L 0.07 (0.10);
     * 8: D3N7 192^3 1.9 (recblock 2.8), D3N27 128^3 1.8 (2.5); 512: G2_circuit L 1.8 (2.5), delaunay 0.87 (1.18), cage11 L 0.59 (0.85) */
    {.name = "rest",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .method = "gather",
     .reason = "on a GPU: rows gathered in level order, lanes over right-hand sides"},
    /* What all of these refuse, more than 2^31 entries, and what there is no memory to copy. Not measured. */
    {.name = "uncopied",
     .place = SPTRSM_CUDA,
     .deterministic = true,
     .method = "syncfree-csr:order=level",
     .reason = "on a GPU: rows where they stand, in level order"},
    /* ms of one thread with AVX-512 (docs/benchmarks.md), 8 right-hand sides: wang4 4.5 (levelset 7.7), fem_raptor 1.7 (3.1), G2_circuit
     * 9.6 (12.5), wathen100 2.9 (3.4), raefsky1 L 0.67 (2.0); 1: 2.0 (3.8), 1.0 (1.5), 5.3 (7.1), 1.1 (1.5), 0.57 (1.1). With
     * 16 threads likewise. Shares there are 0.8 to 1; at 0.71 to 0.74 both are as fast (cot_armadillo, sherman5), at 0.45 and less
     * levelset is faster (ct2010, ILU) */
    {.name = "host-chained",
     .place = SPTRSM_HOST,
     .deterministic = true,
     .chained = {0.7, 0},
     .method = "block",
     .reason = "on the host: a factor with supernodes, solved as dense blocks"},
    {.name = "host-rest",
     .place = SPTRSM_HOST,
     .deterministic = true,
     .method = "levelset",
     .reason = "on the host: vector lanes and threads over right-hand sides, threads over wide levels"},
};

/* Those that hold on a device instead. */
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

/* The least whole number, `from` or more, from which on all values are the same to these bounds. */
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

/* ---- shown ---- */

const char *sptrsm_auto_feature(int index) { return index >= 0 && index < FEATURES ? feature_names[index] : NULL; }

int sptrsm_auto_row_count(void) { return ROWS; }

sptrsm_status sptrsm_auto_row_at(sptrsm_auto_row *out, int index, const char *device) {
  SPTI_TRY(spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_auto_row, most), sizeof *out, "sptrsm_auto_row_at", "sptrsm_auto_row"));
  if (index < 0 || index >= ROWS) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_auto_row_at: index %d is not in 0..%d", index, ROWS - 1);
  const row *r = &table[index];
  sptrsm_auto_row found = {
      .name = r->name, .method = r->method, .reason = r->reason, .place = r->place, .deterministic = r->deterministic};
  for (int f = 0; f < FEATURES; f++) {
    const bounds b = bounds_of(r, f, device);
    found.least[f] = b.least;
    found.most[f] = b.most;
  }
  spti_sized_write(out, &found, sizeof found);
  return SPTRSM_OK;
}
