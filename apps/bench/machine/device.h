/* device.h -- sptrsm-bench's own kernels: comparing solutions and measuring the limits of the device. Results are cudaError_t as int. */
#ifndef APPS_BENCH_MACHINE_DEVICE_H
#define APPS_BENCH_MACHINE_DEVICE_H

#include "bench/machine/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

int bench_compare_device(bench_difference *, const void *x, const void *y, int64_t count, size_t bytes);
int bench_device_limits(bench_limits *);

#ifdef __cplusplus
}
#endif
#endif
