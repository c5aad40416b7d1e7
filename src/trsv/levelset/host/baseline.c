/* baseline.c -- the kernels of levelset for the instruction set the library is built for. */
#define SPTI_LEVELSET_TABLE spti_levelset_baseline
#include "trsv/levelset/host/kernels.tmpl.h"
