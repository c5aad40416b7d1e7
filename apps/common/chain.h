/* chain.h -- the matrix S of a system as a product of the parts of a factor set, for residuals.
 *
 * sptrsm_direct solves S x = b. Here S itself is the product S = M[0] M[1] ... M[count-1], where each link is a sparse matrix, D, a
 * permutation or a scaling, transposed or not. Nothing of the solver is used, because residuals check it.
 */
#ifndef APPS_COMMON_CHAIN_H
#define APPS_COMMON_CHAIN_H

#include <stdbool.h>
#include <sptrsm_io.h>

typedef enum { LINK_SPARSE, LINK_DIAGONAL, LINK_PERMUTE, LINK_SCALE } link_kind;

typedef struct {
  link_kind kind;
  bool transposed, conjugated;
  /* SPARSE */
  sptrsm_format format;
  const int64_t *ptr;
  const int32_t *idx;
  const void *val;
  bool unit;                /* the diagonal is one, stored diagonal entries are not read */
  sptrsm_symmetry symmetry; /* not GENERAL: the other triangle mirrors the stored one */
  /* DIAGONAL: 1x1 blocks d, and sub[i] != 0 couples i and i+1 */
  const void *d, *sub;
  bool hermitian;
  /* PERMUTE: y[i] = x[map[i]] */
  const int32_t *map;
  /* SCALE */
  const double *scale;
  bool divide;
} chain_link;

enum { CHAIN_LINKS = 8 };

typedef struct {
  sptrsm_dtype dtype;
  int32_t n;
  int count;
  chain_link links[CHAIN_LINKS];
  bool is_triangle; /* one triangular matrix and nothing else */
  bool is_original; /* A itself, as stored beside its factors */
  const char *name; /* "A", "T", "the product of the factors"; static storage */
} chain;

bool chain_has(sptrsm_system, char factor); /* whether 'L', 'D' or 'U' is part of the system */
/* Builds op(S) of a system. Where the file holds A and the system is A, At or Aat, A itself is taken. The arrays stay those of the set. */
void chain_build(chain *, const sptrsm_file_factors *, sptrsm_system, sptrsm_op);

#endif
