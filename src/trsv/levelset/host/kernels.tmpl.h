/* kernels.tmpl.h -- one instruction set's table of kernels. The including file names the table; its compiler flags
 * decide how wide vectors are and how many bytes of sums fit into registers. */
#include "trsv/levelset/host/kernels.h"

#if defined __AVX512F__
#define SUM_VECTORS 16
#else
#define SUM_VECTORS 8
#endif

#define SPTI_TEMPLATE "trsv/levelset/host/solve.tmpl.h"
#include "core/base/for_each_dtype.h"

const spti_levelset_kernels SPTI_LEVELSET_TABLE = {
    .rows = {[SPTRSM_F32] = rows_f32, [SPTRSM_F64] = rows_f64, [SPTRSM_C64] = rows_c64, [SPTRSM_C128] = rows_c128},
};
