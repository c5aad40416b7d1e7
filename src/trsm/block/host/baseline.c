/* baseline.c -- the kernels of block for the instruction set that the library is built for. */
#define SPTI_BLOCK_HOST_TABLE spti_block_host_baseline
#include "trsm/block/host/kernels.tmpl.h"
