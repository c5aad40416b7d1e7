/* avx2.c -- the kernels of levelset for x86 with AVX2; compiled with its flags, run only where the CPU has it. */
#define SPTI_LEVELSET_TABLE spti_levelset_avx2
#ifndef __AVX2__
#error "build this file with -mavx2"
#endif
#include "trsv/levelset/host/kernels.tmpl.h"
