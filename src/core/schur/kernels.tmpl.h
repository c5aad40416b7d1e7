/* kernels.tmpl.h -- the kernels of schur for one instruction set. The including file names the table; its compiler flags decide how wide
 * vectors are and how many registers hold sums. */
#include "core/schur/kernels.h"

#if defined __AVX512F__
#define SUM_VECTORS 16
#else
#define SUM_VECTORS 8
#endif

#define SPTI_TEMPLATE "core/schur/product.tmpl.h"
#include "core/base/for_each_dtype.h"

spti_schur_product *const SPTI_SCHUR_TABLE[4] = SPTI_BY_DTYPE(product);
