/* avx512.c -- the kernels of levelset for x86 with AVX-512; compiled with its flags, run only where the CPU has it. */
#define SPTI_LEVELSET_TABLE spti_levelset_avx512
#ifndef __AVX512F__
#error "build this file with -mavx512f"
#endif
#include "trsv/levelset/host/kernels.tmpl.h"
