/* choose.c -- the table behind `auto`: the first row whose condition holds. Each row carries its reason; docs/benchmarks.md has the
 * figures. */
#include "core/choose.h"

#include <stdbool.h>

typedef struct {
  bool (*holds)(const spti_features *);
  spti_choice choice;
} row;

static bool on_gpu(const spti_features *f) { return f->place == SPTRSM_CUDA; }
static bool always(const spti_features *f) {
  (void)f;
  return true;
}

static const row table[] = {
    {on_gpu, {"syncfree-csc", "on a GPU: no barriers between levels, next to no analysis"}},
    {always, {"levelset", "on the host: vector lanes and threads over right-hand sides, threads over wide levels"}},
};

spti_choice spti_choose(const spti_features *features) {
  const row *r = table;
  while (!r->holds(features)) r++;
  return r->choice;
}
