/* baseline.c -- the kernels of levelset for the instruction set that the library is built for. */
#include "trsv/levelset/host/kernels.h"

#define SPTI_TEMPLATE "trsv/levelset/host/rows.tmpl.h"
#include "core/base/for_each_dtype.h"

spti_levelset_rows *const spti_levelset_baseline[4] = SPTI_BY_DTYPE(rows);
spti_levelset_items *const spti_levelset_items_baseline[4] = SPTI_BY_DTYPE(items);
