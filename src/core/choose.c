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
  bounds nrhs, levels, wide_levels, thin_share /* of all levels */, rows_a_level;
  spti_choice choice;
} row;

/* Measured on one H200 (docs/benchmarks.md). A row for 5 or more right-hand sides also takes plans that do not say how many. */
static const row table[] = {
    /* boyd2 0.018 ms and a2nnsnsl 0.017 at one right-hand side, recblock 0.020 and 0.022, syncfree-csr 0.030 and 0.023, cuSPARSE 0.21 and 0.08 */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 4},
     .levels = {0, 6},
     .choice = {"levelset", "few right-hand sides, few levels: a launch a level"}},
    /* ex40 U 0.74 ms, bloweya 1.4, raefsky1 0.30, sherman5 0.08, memplus L 0.05; syncfree-csc 2.0, 3.0, 0.52, 0.12, 0.06 */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 4},
     .wide_levels = {0, 12},
     .thin_share = {0.8, 0},
     .choice = {"levelset", "few right-hand sides, deep and narrow: levels walked by one block"}},
    /* cot_armadillo 0.38 ms, ct2010 0.28, bcsstk18 0.19, jac U 0.15; levelset 0.49, 0.42, 0.32, 0.79; syncfree-csr 0.95, 0.58, 0.59, 0.23 */
    {.place = SPTRSM_CUDA,
     .nrhs = {1, 4},
     .rows_a_level = {0, 140},
     .choice = {"syncfree-csc", "few right-hand sides, factors: columns near each other in one block"}},
    /* D3N7 192^3 0.85 ms, D3N27 128^3 1.25, G2_circuit 0.6, G3_circuit 2.3, cage11 0.07; syncfree-csc 5.1, 2.1, 1.0, 4.7, 0.09 */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .nrhs = {1, 4},
     .choice = {"syncfree-csr", "few right-hand sides, wide levels: rows packed in level order"}},
    /* 3 to 15 times over SpSM at 32 and 128 right-hand sides */
    {.place = SPTRSM_CUDA,
     .deterministic = true,
     .choice = {"gather", "on a GPU: rows gathered in level order, lanes over right-hand sides"}},
    {.place = SPTRSM_HOST,
     .deterministic = true,
     .choice = {"levelset", "on the host: vector lanes and threads over right-hand sides, threads over wide levels"}},
};

static bool within(bounds b, double value) { return value >= b.least && (b.most == 0 || value <= b.most); }

static bool holds(const row *r, const spti_features *f) {
  const double n = f->n, levels = f->levels > 0 ? f->levels : 1;
  return r->place == f->place && (r->deterministic || !f->deterministic) && within(r->nrhs, (double)f->nrhs) &&
         within(r->levels, f->levels) && within(r->wide_levels, f->wide_levels) && within(r->thin_share, f->thin_levels / levels) &&
         within(r->rows_a_level, n / levels);
}

spti_choice spti_choose(const spti_features *features) {
  const int rows = (int)(sizeof table / sizeof *table);
  for (int r = 0; r < rows; r++)
    if (holds(&table[r], features)) return table[r].choice;
  return table[rows - 1].choice; /* the last row of a place has no bounds, so only an unknown place comes here */
}
