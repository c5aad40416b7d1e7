/* avx512.c -- the kernels of schur for x86 with AVX-512; compiled with the flags of that set, run only where the CPU has it. */
#define SPTI_SCHUR_TABLE spti_schur_avx512
#if !defined __AVX512F__ || !defined __FMA__
#error "build this file with -mavx512f -mfma"
#endif
#include "core/schur/kernels.tmpl.h"
