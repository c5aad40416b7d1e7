/* baseline.c -- the kernels of schur for the instruction set that the library is built for. */
#define SPTI_SCHUR_TABLE spti_schur_baseline
#include "core/schur/kernels.tmpl.h"
