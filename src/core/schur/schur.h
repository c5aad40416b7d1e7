/* schur.h -- the inside of sptrsm_schur: columns in groups with the rows that they reach, and the memory of a solve.
 *
 * Every form becomes S' = left^T D^-1 right, where the right side goes through L and the left one through U^T:
 *   op N   right = B, left = C^T, S = S'        op T   right = C^T, left = B, S = S'^T        op C   the same, B, C and S conjugated
 * In the symmetric form there is one side, and left is right, or its conjugate where U = L^H. */
#ifndef SPTI_CORE_SCHUR_SCHUR_H
#define SPTI_CORE_SCHUR_SCHUR_H

#include <sptrsm_schur.h>

#include "core/direct/direct.h"
#include "core/schur/kernels.h"

typedef struct {
  int32_t row, count;
} spti_schur_run; /* consecutive rows */

/* Columns that are solved together. A solved group is stored in its rows, one run after the other: row-major with leading dimension ld. */
typedef struct {
  int64_t first;     /* its columns are order[first .. first + width) */
  int32_t width, ld; /* ld: width, rounded up for vectors */
  int64_t run, runs; /* its runs in spti_schur_side.runs: the first one, and how many */
  int64_t rows, at;  /* rows of all runs; offset of its values among those of the side */
} spti_schur_group;

typedef struct {
  const char *name; /* "B" or "C" */
  sptrsm_dtype dtype;
  int64_t count;
  bool conj;          /* values are conjugated when they are read */
  sptrsm_block dense; /* the caller's block; data NULL: sparse */
  bool is_dense;
  int64_t *ptr; /* copies of the caller's arrays, where sparse */
  int32_t *idx;
  void *val;
  spti_edge edge;          /* from rows of B or C^T to rows of the factors, in host memory */
  const sptrsm_plan *plan; /* of L or U^T; belongs to the solver */
  int64_t *order;          /* [count] the column at each position */
  spti_schur_group *groups;
  int64_t group_count;
  spti_schur_run *runs;
  int64_t run_count, run_space;
  int64_t stored; /* values of all groups */
} spti_schur_side;

enum { SPTI_SCHUR_RIGHT, SPTI_SCHUR_LEFT };
static const spti_system_stage spti_schur_right_stage = {.factor = SPTI_L},
                               spti_schur_left_stage = {.factor = SPTI_U, .op.transpose = true};

/* Permutation and scaling from rows of B or C^T to rows of the factors, in the memory of the context's place. */
static inline spti_edge spti_schur_edge(const sptrsm_direct *d, int which) {
  const spti_system_edge rows = {.side = SPTI_ROW_SIDE, .scaled = true},
                         columns = {.side = SPTI_COL_SIDE, .transpose = true, .scaled = true};
  return spti_direct_edge(d, which == SPTI_SCHUR_RIGHT ? &rows : &columns);
}

/* For one solve at a time by up to `members` threads: each has a panel [n x SPTI_SCHUR_GROUP] and a list of rows. */
typedef struct {
  void *memory;
  int members;
  int32_t n; /* of the largest item that it is for */
  char *panels;
  size_t panel_bytes;
  int32_t *rows;
  void *solved[2]; /* the groups of both sides after D^-1 on the right; left is not used where it is the same as right */
} spti_schur_work;

struct sptrsm_schur {
  sptrsm_direct *direct; /* retained */
  spti_schur_side side[2];
  bool symmetric, hermitian; /* hermitian: left is the conjugate of right */
  bool transposed, conj;     /* S is S' transposed, conjugated */
  sptrsm_uplo uplo;
  bool whole;                 /* symmetric: both triangles are written */
  unsigned char *pairs;       /* [n] is row i coupled with row i+1 by a 2x2 block of D? NULL: D has none */
  spti_schur_work work;       /* host: made by the first solve */
  struct spti_schur_gpu *gpu; /* CUDA (gpu/gpu.h) */
  double analysis_seconds;
};

/* ---- columns.c ---- */

/* Whether a dense block can be a side. */
sptrsm_status spti_schur_check_block(const sptrsm_block *, const sptrsm_direct *, const char *name);
/* Copies the caller's columns, which must be valid for n rows. The side is to be freed also after a failure. */
sptrsm_status spti_schur_take_columns(spti_schur_side *, const sptrsm_schur_columns *, const sptrsm_direct *, const char *name);
int32_t spti_schur_row_of(const spti_schur_side *, int64_t p); /* row of the factors of entry p */
sptrsm_status spti_schur_sort_columns(spti_schur_side *);      /* by the first row that they reach; sets order */
/* Sorts the columns and finds the groups and their rows; edge and plan are set already. pairs: see
 * sptrsm_schur. */
sptrsm_status spti_schur_group_columns(spti_schur_side *, const unsigned char *pairs);
void spti_schur_side_free(spti_schur_side *);

/* ---- overlap.c ---- */

/* Refuses S[i] that overlaps S or a dense side of another item. Each of them has passed the checks of its own item. */
sptrsm_status spti_schur_check_overlap(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S);

/* ---- solve.c ---- */

/* Memory for solving any of the items, and the bytes that it takes. */
sptrsm_status spti_schur_work_create(spti_schur_work *, sptrsm_schur *const *items, int64_t count, int members);
void spti_schur_work_free(spti_schur_work *);
sptrsm_status spti_schur_work_bytes(size_t *out, sptrsm_schur *const *items, int64_t count, int members);

/* Computes S, which was checked. team NULL: by the calling thread alone. */
sptrsm_status spti_schur_compute(const sptrsm_schur *, const spti_schur_work *, spti_team *, const sptrsm_block *S);

#endif
