/* inputs.h -- the factors and the right-hand sides of a run, read into one common type. */
#ifndef APPS_INPUTS_H
#define APPS_INPUTS_H

#include "cli.h"

typedef struct {
  sptrsm_file_factors *factors;
  sptrsm_file_block *B;
  char conversion[160]; /* what was converted and why, or "" */
} inputs;

/* Reads both. Without options->dtype the wider type of the two holds for both, complex if one is. Returns an exit code. */
int inputs_load(inputs *, const char *factors, const char *rhs, const sptrsm_io_options *);
void inputs_free(inputs *);
bool is_complex(sptrsm_dtype);

#endif
