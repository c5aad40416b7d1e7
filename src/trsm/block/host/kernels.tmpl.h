/* kernels.tmpl.h -- the table of kernels for one instruction set. The including file names the table; its compiler flags decide how wide
 * vectors are and how many registers hold sums. */
#include "trsm/block/host/kernels.h"

#include <math.h>
#include <string.h>

#if defined __AVX512F__
#define ROW_VECTORS 4  /* vectors of a row at most */
#define SUM_VECTORS 16 /* vectors of all rows of a kernel at most */
#else
#define ROW_VECTORS 2
#define SUM_VECTORS 8
#endif

enum { LINE = 64, AHEAD_OF_ONE = 8192, AHEAD_OF_SEVERAL = 4096 }; /* bytes; right-hand sides whose kernel asks for values that far on */

#define SPTI_TEMPLATE "trsm/block/host/solve.tmpl.h"
#include "core/base/for_each_dtype.h"

const spti_block_host_kernels SPTI_BLOCK_HOST_TABLE = {
    .solve = {[SPTRSM_F32] = solve_f32, [SPTRSM_F64] = solve_f64, [SPTRSM_C64] = solve_c64, [SPTRSM_C128] = solve_c128},
    .push = {[SPTRSM_F32] = push_f32, [SPTRSM_F64] = push_f64, [SPTRSM_C64] = push_c64, [SPTRSM_C128] = push_c128},
};
