/* compare_host.c -- compares two solutions in host memory: equal bits, finite entries, largest difference and largest entry. */
#include <math.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "common/residual/residual.h"

static void compare_float(bench_difference *d, const float *x, const float *y, int64_t count) {
  for (int64_t e = 0; e < count; e++) {
    d->finite = d->finite && isfinite(x[e]);
    d->difference = nan_max(d->difference, fabs((double)x[e] - (double)y[e]));
    d->size = nan_max(d->size, fabs((double)y[e]));
  }
}

static void compare_double(bench_difference *d, const double *x, const double *y, int64_t count) {
  for (int64_t e = 0; e < count; e++) {
    d->finite = d->finite && isfinite(x[e]);
    d->difference = nan_max(d->difference, fabs(x[e] - y[e]));
    d->size = nan_max(d->size, fabs(y[e]));
  }
}

void bench_compare_host(bench_difference *d, const void *x, const void *y, int64_t count, size_t bytes) {
  *d = (bench_difference){.same = memcmp(x, y, (size_t)count * bytes) == 0, .finite = true};
  if (bytes == sizeof(float)) compare_float(d, x, y, count);
  else compare_double(d, x, y, count);
}
