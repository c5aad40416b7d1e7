/* avx512.c -- the kernels of levelset for x86 with AVX-512; compiled with its flags, run only where the CPU has it. */
#ifndef __AVX512F__
#error "build this file with -mavx512f"
#endif
#include "trsv/levelset/host/kernels.h"

#define SPTI_TEMPLATE "trsv/levelset/host/rows.tmpl.h"
#include "core/base/for_each_dtype.h"

spti_levelset_rows *const spti_levelset_avx512[4] = SPTI_BY_DTYPE(rows);
spti_levelset_items *const spti_levelset_items_avx512[4] = SPTI_BY_DTYPE(items);
