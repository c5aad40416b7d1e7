/* map.c -- --map: factors that are used where they lie in their file. What is read of them in passes is given back after each window. */
#include "solve/solve.h"

static const char *const arrays[] = {"indices", "values"};

static void note(const sptrsm_file_matrix *M) {
  for (int k = 0; M && k < 2; k++)
    if (M->mapped[k] == 0 && M->ptr[M->format == SPTRSM_CSR ? M->rows : M->cols] > 0)
      cli_note("--map: %s: its %s are copied; mapped ones have to be %s, contiguous and aligned: h5repack -l CONTI -f NONE -t 1 -a 64",
               M->where, arrays[k], k == 0 ? "int32" : "of the type that is computed in");
}

void map_note(const run *r) {
  const sptrsm_file_factors *F = r->in.factors;
  if (!r->set->problem.io.map || !cli_verbose()) return;
  note(F->L);
  note(F->U);
  note(F->A);
}

void map_passed(void *context, const sptrsm_sparse *T, int64_t first, int64_t end) {
  const sptrsm_file_factors *F = context;
  if (T->ptr == F->L->ptr) sptrsm_file_matrix_release(F->L, first, end);
  else if (F->U && T->ptr == F->U->ptr) sptrsm_file_matrix_release(F->U, first, end);
}

void map_release(const run *r) {
  const sptrsm_file_factors *F = r->in.factors;
  if (!r->set->problem.io.map) return; /* what ranks have mapped is in memory all the time */
  sptrsm_file_matrix_release(F->L, 0, INT64_MAX);
  if (F->U) sptrsm_file_matrix_release(F->U, 0, INT64_MAX);
}
