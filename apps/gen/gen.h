/* gen.h -- sptrsm-gen: the settings, and the parts of the program by file. */
#ifndef APPS_GEN_GEN_H
#define APPS_GEN_GEN_H

#include "common/cli.h"
#include "common/gen_triangle.h"

enum { SIZES_MAX = 3 };

typedef struct {
  triangle_spec spec;
  int64_t sizes[SIZES_MAX];
  int size_count;
  sptrsm_layout order;
  bool force;
  int64_t nrhs;
  int compress;
  const char *out;
  char *rhs;     /* name of the file with the right-hand sides */
  int64_t count; /* --count: items of a batch; -1: one system */
  bool feti;     /* the subdomains of a cube */
} settings;

/* ---- source.c ---- */

/* source: room for the attribute that the options refer to, "sptrsm-gen random 100, seed 1". */
void save_options(sptrsm_save_options *, char source[160], const settings *);

/* ---- rhs.c: X_true and B = T X_true ---- */

sptrsm_block rhs_block(const settings *); /* zeros; data NULL without memory; the caller frees the data */
/* Fills X with whole numbers that follow from the seed, and B. */
void rhs_fill(const sptrsm_block *B, const sptrsm_block *X, const sptrsm_sparse *T, uint64_t seed);

/* ---- batch.c: one pattern with the values of many items ---- */

int batch_write(const settings *); /* makes and writes both files; returns an exit code */

/* ---- feti.c: subdomains of a cube ---- */

void feti_check(const settings *); /* exits with CLI_USAGE where an option does not suit */
int feti_write(const settings *);  /* as batch_write */

#endif
