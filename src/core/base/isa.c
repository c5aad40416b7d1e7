/* isa.c -- see isa.h. SPTI_X86_KERNELS is defined where the kernels for the x86 instruction sets were built. */
#include "core/base/isa.h"

#include <stddef.h>

const char *const spti_isa_names[SPTI_ISA_COUNT + 1] = {"avx512", "avx2", "baseline", NULL};

bool spti_isa_runs(spti_isa isa) {
#ifdef SPTI_X86_KERNELS
  if (isa == SPTI_ISA_AVX512) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
  if (isa == SPTI_ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return isa == SPTI_ISA_BASELINE;
}

spti_isa spti_isa_best(void) {
  spti_isa isa = SPTI_ISA_AVX512;
  while (!spti_isa_runs(isa)) isa++;
  return isa;
}
