/* isa.h -- the instruction sets that host kernels are compiled for, all from the same source, and which of them this
 * CPU has. */
#ifndef SPTI_CORE_BASE_ISA_H
#define SPTI_CORE_BASE_ISA_H

#include <stdbool.h>

typedef enum {
  SPTI_ISA_AVX512, /* best first */
  SPTI_ISA_AVX2,
  SPTI_ISA_BASELINE, /* the instruction set that the library is built for */
  SPTI_ISA_COUNT
} spti_isa;

extern const char *const spti_isa_names[SPTI_ISA_COUNT + 1]; /* NULL at the end */

bool spti_isa_runs(spti_isa); /* on this CPU */
spti_isa spti_isa_best(void);

#endif
