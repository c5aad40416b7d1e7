/* avx2.c -- the kernels of schur for x86 with AVX2 and FMA; compiled with the flags of that set, run only where the CPU has it. */
#define SPTI_SCHUR_TABLE spti_schur_avx2
#if !defined __AVX2__ || !defined __FMA__
#error "build this file with -mavx2 -mfma"
#endif
#include "core/schur/kernels.tmpl.h"
