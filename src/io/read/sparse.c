/* sparse.c -- the object sptrsm_file_matrix: creation and end, tests and conversion of its values. */
#include "io/read/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t spti_io_major(const sptrsm_file_matrix *M) { return M->format == SPTRSM_CSR ? M->rows : M->cols; }

sptrsm_status spti_io_matrix_new(sptrsm_file_matrix **out, const char *where) {
  sptrsm_file_matrix *M;
  SPTI_IO_TRY(spti_io_allocate(&M, where, sizeof *M));
  *M = (sptrsm_file_matrix){.uplo = SPTRSM_AS_STORED, .diag = SPTRSM_AS_STORED, .rule = ""};
  sptrsm_status status = spti_io_copy(&M->where, where);
  if (status != SPTRSM_OK) {
    free(M);
    return status;
  }
  *out = M;
  return SPTRSM_OK;
}

void sptrsm_file_matrix_free(sptrsm_file_matrix *M) {
  if (M == NULL) return;
  free(M->ptr);
  spti_io_free_entries(M);
  free(M->where);
  free(M);
}

sptrsm_status spti_io_check_order_and_count(const sptrsm_file_matrix *M, int64_t nnz, const sptrsm_io_options *o) {
  bool unit = M->diag == SPTRSM_UNIT || o->unit;
  int64_t least = M->symmetry == SPTRSM_GENERAL ? M->rows : M->rows / 2; /* one entry may stand for two rows */
  if (unit || M->rows != M->cols || M->rows <= SPTI_SMALL_ORDER || nnz >= least) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_SINGULAR,
                          "%s: order %lld, but only %lld entries: rows are empty; correct the shape or the indices, or use --unit if the "
                          "diagonal is one and not stored",
                          M->where, (long long)M->rows, (long long)nnz);
}

/* ---- values ---- */

bool spti_io_finite(sptrsm_dtype dtype, const void *val, int64_t p) {
  switch (dtype) {
  case SPTRSM_F32: return isfinite(((const float *)val)[p]);
  case SPTRSM_F64: return isfinite(((const double *)val)[p]);
  case SPTRSM_C64: return isfinite(((const float *)val)[2 * p]) && isfinite(((const float *)val)[2 * p + 1]);
  default: return isfinite(((const double *)val)[2 * p]) && isfinite(((const double *)val)[2 * p + 1]);
  }
}

/* An exponent of ones, which NaN and infinity have, carries into the sign when one is added to it. */
bool spti_io_all_finite(sptrsm_dtype dtype, const void *val, int64_t first, int64_t end) {
  const int64_t words = spti_is_complex(dtype) ? 2 : 1;
  uint64_t carried = 0;
  uint32_t carried_single = 0;
  for (int64_t w = first * words; w < end * words; w++) {
    if (spti_is_single(dtype)) {
      uint32_t bits;
      memcpy(&bits, (const float *)val + w, sizeof bits);
      carried_single |= (bits & 0x7f800000u) + 0x00800000u;
    } else {
      uint64_t bits;
      memcpy(&bits, (const double *)val + w, sizeof bits);
      carried |= (bits & 0x7ff0000000000000u) + 0x0010000000000000u;
    }
  }
  return carried >> 63 == 0 && carried_single >> 31 == 0;
}

bool spti_io_zero(sptrsm_dtype dtype, const void *val, int64_t p) {
  switch (dtype) {
  case SPTRSM_F32: return ((const float *)val)[p] == 0;
  case SPTRSM_F64: return ((const double *)val)[p] == 0;
  case SPTRSM_C64: return ((const float *)val)[2 * p] == 0 && ((const float *)val)[2 * p + 1] == 0;
  default: return ((const double *)val)[2 * p] == 0 && ((const double *)val)[2 * p + 1] == 0;
  }
}

static double word(const void *val, sptrsm_dtype dtype, int64_t w) {
  return spti_is_single(dtype) ? (double)((const float *)val)[w] : ((const double *)val)[w];
}

sptrsm_status spti_io_matrix_convert(sptrsm_file_matrix *M, sptrsm_dtype to) {
  if (M->dtype == to) return SPTRSM_OK;
  sptrsm_dtype chosen;
  SPTI_IO_TRY(spti_io_choose_dtype(&chosen, M->dtype, (int)to, M->where));
  int64_t nnz = M->ptr[spti_io_major(M)];
  int from_words = spti_is_complex(M->dtype) ? 2 : 1, words = spti_is_complex(to) ? 2 : 1;
  void *val;
  SPTI_IO_TRY(spti_io_allocate(&val, M->where, spti_io_bytes(nnz, sptrsm_dtype_bytes(to))));
  for (int64_t p = 0; p < nnz; spti_io_passed(M, p, p + 1), p++)
    for (int w = 0; w < words; w++) {
      double x = w < from_words ? word(M->val, M->dtype, p * from_words + w) : 0;
      if (spti_is_single(to)) ((float *)val)[p * words + w] = (float)x;
      else ((double *)val)[p * words + w] = x;
    }
  spti_io_replace_values(M, val);
  M->dtype = to;
  return SPTRSM_OK;
}
