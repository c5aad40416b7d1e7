/* choose.c -- the table behind `auto`: the first row all of whose bounds hold. Each row carries its reason; docs/benchmarks.md has the
 * figures. */
#include "core/choose.h"

/* Inclusive; most 0: no upper bound. */
typedef struct {
  double least, most;
} bounds;

typedef struct {
  sptrsm_place place;
  bool deterministic; /* the row's method is */
  bounds nrhs, levels, wide_levels, thin_share /* of all levels */, rows_a_level, levels_a_panel_level, stencil, chained;
  const char *method, *reason;
} row;

/* Times in ms on one H200, f64 (docs/benchmarks.md has all); in brackets what the next best takes. Rows without a bound on right-hand
 * sides also serve plans that do not know how many there will be. */
static const row table[] = {
    /* 1: D3N7 192^3 0.41 (syncfree-csr 0.63), D3N27 0.94 (1.8), D3N33 1.1 (1.8); 64^3 0.12 (0.13), 0.29 (0.39), 0.35 (0.39);
     * 4: D3N27 128^3 0.86 (gather 1.8), D3N7 0.36 (1.3); 8: D3N27 128^3 1.1 (1.7), D3N7 192^3 1.5 (1.8); 32: D3N27 128^3 3.8 (2.2) */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 8},
     .stencil = {500, 0},
     .method = "structgrid",
     .reason = "few right-hand sides, a stencil on a grid: tiles of its lines step by step, no level sets"},
    /* 1 right-hand side: boyd2 0.02 (recblock 0.02, syncfree-csr 0.03), a2nnsnsl 0.02 (0.02, 0.03) */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 4},
     .levels = {0, 6},
     .method = "levelset",
     .reason = "few right-hand sides, few levels: a launch a level"},
    /* 8, 32, 128: boyd2 0.07, 0.28, 1.04 (gather 0.19, 0.35, 1.37), a2nnsnsl 0.03, 0.07, 0.25 (0.06, 0.07, 0.27) */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .levels = {0, 6},
     .method = "recblock",
     .reason = "few levels: almost all work in products without waiting"},
    /* levels of rows over levels of panels: factors 14 to 57, bloweya 32; memplus, 7 and 8, loses (L 0.19, gather 0.10), as all below do.
     * 1: cot_armadillo 0.18 (syncfree-csc 0.38), raefsky1 0.14 (levelset 0.27), bloweya 0.66 (1.4), ct2010 0.16 (syncfree-csc 0.28);
     * 32: cot_armadillo 0.18 (gather 0.65), raefsky1 0.08 (levelset 0.45), bloweya 0.83 (1.5), ct2010 0.17 (gather 0.43) */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .levels_a_panel_level = {10, 0},
     .method = "block",
     .reason = "factors, bands: few levels of row panels, dense tiles on tensor cores"},
    /* what block leaves: memplus L, 1 right-hand side: 0.05 (syncfree-csc 0.07); 32: 0.17, gather 0.11 */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 8},
     .wide_levels = {0, 12},
     .thin_share = {0.8, 0},
     .method = "levelset",
     .reason = "deep and narrow: levels walked by one block a right-hand side"},
    /* 1: cot_armadillo 0.38 (levelset 0.44), ct2010 0.28 (0.33), bcsstk18 0.20 (0.29), jac_ACTIVSg10k U 0.16 (syncfree-csr 0.20) */
    {.place = SPTRSM_CUDA,
     .nrhs = {1, 4},
     .rows_a_level = {0, 140},
     .method = "syncfree-csc",
     .reason = "few right-hand sides, factors: columns near each other in one block"},
    /* 1: D3N7 192^3 0.79 (recblock 1.4), D3N27 128^3 1.1 (1.4), G2_circuit L 0.53 (0.70), G3_circuit 2.0 (2.5), cage11 L 0.07 (0.09) */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 4},
     .method = "syncfree-csr",
     .reason = "few right-hand sides, wide levels: rows packed in level order"},
    /* 32: cot_armadillo 0.67 (levelset 1.14), ct2010 0.44 (1.01), G2_circuit L 0.42 (recblock 0.67), cage11 L 0.07 (0.10);
     * 8: D3N7 192^3 1.9 (recblock 2.8), D3N27 128^3 1.8 (2.5); 512: G2_circuit L 1.8 (2.5), delaunay 0.87 (1.18), cage11 L 0.59 (0.85) */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .method = "gather",
     .reason = "on a GPU: rows gathered in level order, lanes over right-hand sides"},
    /* ms of one thread with AVX-512 (docs/benchmarks.md), 8 right-hand sides: wang4 4.5 (levelset 7.7), fem_raptor 1.7 (3.1), G2_circuit
     * 9.6 (12.5), wathen100 2.9 (3.4), raefsky1 L 0.67 (2.0); 1: 2.0 (3.8), 1.0 (1.5), 5.3 (7.1), 1.1 (1.5), 0.57 (1.1). With
     * 16 threads likewise. Shares there are 0.8 to 1; at 0.71 to 0.74 both are as fast (cot_armadillo, sherman5), at 0.45 and less
     * levelset is faster (ct2010, ILU) */
    {.place = SPTRSM_HOST,
     .deterministic = true,
     .chained = {0.7, 0},
     .method = "block",
     .reason = "on the host: a factor with supernodes, solved as dense blocks"},
    {.place = SPTRSM_HOST,
     .deterministic = true,
     .method = "levelset",
     .reason = "on the host: vector lanes and threads over right-hand sides, threads over wide levels"},
};

static bool within(bounds b, double value) { return value >= b.least && (b.most == 0 || value <= b.most); }

static bool holds(const row *r, const spti_features *f) {
  const double n = f->n, levels = f->levels > 0 ? f->levels : 1;
  return r->place == f->place && (r->deterministic || !f->deterministic) && within(r->nrhs, (double)f->nrhs) &&
         within(r->levels, f->levels) && within(r->wide_levels, f->wide_levels) && within(r->thin_share, f->thin_levels / levels) &&
         within(r->rows_a_level, n / levels) && within(r->levels_a_panel_level, f->panel_levels > 0 ? levels / f->panel_levels : 0) &&
         within(r->stencil, f->stencil) && within(r->chained, f->chained);
}

bool spti_choose_by_stencil(const spti_features *f) {
  const spti_choice first = spti_choose(f, 0);
  return first.method && table[first.row].stencil.least > 0;
}

spti_choice spti_choose(const spti_features *features, int from) {
  const int rows = (int)(sizeof table / sizeof *table);
  for (int r = from; r < rows; r++)
    if (holds(&table[r], features)) return (spti_choice){table[r].method, table[r].reason, r};
  return (spti_choice){.row = rows};
}
