/* scan_sort.h -- prefix sums and stable sorting of arrays in device memory, by CUB (scan_sort.cu).
 *
 * Each function is called twice: with temporary NULL it only sets *bytes, the size of the temporary device memory that the second
 * call needs. The second call queues on the stream. Both return a cudaError_t as int. */
#ifndef SPTI_CORE_DEVICE_SCAN_SORT_H
#define SPTI_CORE_DEVICE_SCAN_SORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* to[i] = from[0] + ... + from[i-1] for i = 0 .. count. */
int spti_scan_launch(void *temporary, size_t *bytes, const int32_t *from, int64_t *to, int32_t count, void *stream);
int spti_scan_narrow_launch(void *temporary, size_t *bytes, const int32_t *from, int32_t *to, int32_t count, void *stream);

typedef struct {
  const int32_t *keys, *values; /* [count], keys in [0, 2^bits) */
  int32_t *sorted_keys, *sorted_values;
  int32_t count, bits;
} spti_sort_args;

int spti_sort_launch(void *temporary, size_t *bytes, const spti_sort_args *, void *stream); /* stable */

typedef struct {
  const int64_t *keys; /* [count], in [0, 2^bits) */
  const int32_t *values;
  int64_t *sorted_keys;
  int32_t *sorted_values;
  int32_t count, bits;
} spti_sort_long_args;

int spti_sort_long_launch(void *temporary, size_t *bytes, const spti_sort_long_args *, void *stream); /* stable */

/* The number of bits of the keys if these lie in [0, count). */
static inline int spti_sort_bits(int32_t count) {
  int bits = 1;
  while (bits < 31 && count > (int32_t)1 << bits) bits++;
  return bits;
}

#ifdef __cplusplus
}
#endif

#endif
