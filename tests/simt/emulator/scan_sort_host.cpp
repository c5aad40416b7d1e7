/* scan_sort_host.cpp -- the functions of core/device/scan_sort.cu and trsv/tiles/gpu/scan.cu on the host, for the emulator. */
#include <algorithm>
#include <vector>

#include "core/device/scan_sort.h"
#include "trsv/tiles/gpu/part_kernels.h"

template <typename Sum> static int scan(void *temporary, size_t *bytes, const int32_t *from, Sum *to, int32_t count) {
  *bytes = 1;
  if (!temporary) return 0;
  to[0] = 0;
  for (int32_t i = 0; i < count; i++) to[i + 1] = to[i] + from[i];
  return 0;
}

extern "C" int spti_scan_launch(void *temporary, size_t *bytes, const int32_t *from, int64_t *to, int32_t count, void *) {
  return scan(temporary, bytes, from, to, count);
}

extern "C" int spti_scan_narrow_launch(void *temporary, size_t *bytes, const int32_t *from, int32_t *to, int32_t count, void *) {
  return scan(temporary, bytes, from, to, count);
}

template <typename Args> static int sort(void *temporary, size_t *bytes, const Args *a) {
  *bytes = 1;
  if (!temporary) return a->count < 0; /* as on the device, where the count says how much memory */
  std::vector<int32_t> at(static_cast<size_t>(a->count));
  for (int32_t i = 0; i < a->count; i++) at[size_t(i)] = i;
  /* As on the device, only the lowest bits count. */
  const uint64_t mask = (uint64_t(1) << a->bits) - 1;
  std::stable_sort(at.begin(), at.end(),
                   [&](int32_t x, int32_t y) { return (uint64_t(a->keys[x]) & mask) < (uint64_t(a->keys[y]) & mask); });
  for (int32_t i = 0; i < a->count; i++) {
    a->sorted_keys[i] = a->keys[at[size_t(i)]];
    a->sorted_values[i] = a->values[at[size_t(i)]];
  }
  return 0;
}

extern "C" int spti_sort_launch(void *temporary, size_t *bytes, const spti_sort_args *a, void *) { return sort(temporary, bytes, a); }

extern "C" int spti_sort_long_launch(void *temporary, size_t *bytes, const spti_sort_long_args *a, void *) {
  return sort(temporary, bytes, a);
}

extern "C" int spti_tile_scan_launch(void *temporary, size_t *bytes, spti_tile_counts *counts, int32_t count, void *) {
  *bytes = 1;
  if (!temporary) return 0;
  counts[0] = {};
  for (int32_t t = 0; t < count; t++) {
    const spti_tile_counts &a = counts[t], &b = counts[t + 1];
    counts[t + 1] = {a.positions + b.positions, a.values + b.values, a.inner_bytes + b.inner_bytes, a.coo + b.coo, a.others + b.others,
                     a.inner + b.inner,         a.tiles + b.tiles};
  }
  return 0;
}
