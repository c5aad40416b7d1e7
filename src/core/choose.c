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
  bounds nrhs, levels, rows_a_level, entries_a_row, longest;
  spti_choice choice;
} row;

static const row table[] = {
    {.place = SPTRSM_CUDA, .choice = {"syncfree-csc", "on a GPU: no barriers between levels, next to no analysis"}},
    {.place = SPTRSM_HOST,
     .deterministic = true,
     .choice = {"levelset", "on the host: vector lanes and threads over right-hand sides, threads over wide levels"}},
};

static bool within(bounds b, double value) { return value >= b.least && (b.most == 0 || value <= b.most); }

static bool holds(const row *r, const spti_features *f) {
  const double n = f->n > 0 ? f->n : 1, levels = f->levels > 0 ? f->levels : 1;
  return r->place == f->place && (r->deterministic || !f->deterministic) && within(r->nrhs, (double)f->nrhs) && within(r->levels, levels) &&
         within(r->rows_a_level, n / levels) && within(r->entries_a_row, (double)f->nnz / n) && within(r->longest, f->longest);
}

spti_choice spti_choose(const spti_features *features) {
  const int rows = (int)(sizeof table / sizeof *table);
  for (int r = 0; r < rows; r++)
    if (holds(&table[r], features)) return table[r].choice;
  return table[rows - 1].choice; /* the last row of a place has no bounds, so only an unknown place comes here */
}
