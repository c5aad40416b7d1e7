/* check_gpu.c -- the checks of validate.c for arrays in device memory, which stay there. The kernel says only whether all is well: if not,
 * the caller copies the arrays to the host, where validate.c finds the first wrong entry and words the message. */
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/matrix/check_kernels.h"
#include "core/matrix/matrix.h"

sptrsm_status spti_gpu_check_lines(spti_line_check *out, const sptrsm_context *context, const sptrsm_sparse *T, int64_t nnz) {
  enum { BAD, DIAGONALS, WORDS };
  int32_t *words, found[WORDS] = {0};
  *out = (spti_line_check){.good = true};
  if (T->n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_alloc(context, &words, WORDS, sizeof *words, "check of a matrix"));
  const spti_check_args args = {.n = T->n,
                                .nnz = nnz,
                                .ptr = T->ptr,
                                .idx = T->idx,
                                .val = T->val,
                                .diagonal_first = (T->format == SPTRSM_CSR) == (T->uplo == SPTRSM_UPPER),
                                .unit = T->diag == SPTRSM_UNIT,
                                .bad = words + BAD,
                                .diagonals = words + DIAGONALS};
  sptrsm_status status;
  SPTI_TRY_DONE(spti_gpu_zero(context, words, sizeof found));
  SPTI_TRY_DONE(spti_gpu_check(spti_check_launch(&args, T->dtype, context->stream), "the check of a matrix"));
  SPTI_TRY_DONE(spti_gpu_fetch(context, found, words, sizeof found));
  *out = (spti_line_check){.good = !found[BAD], .diagonals = found[DIAGONALS]};
done:
  spti_free(context, words);
  return status;
}
