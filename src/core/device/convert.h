/* convert.h -- offsets between 64 and 32 bits, in device memory: for libraries that take 32-bit offsets. The functions queue on the
 * stream and return a cudaError_t; the caller has checked that the offsets fit. */
#ifndef SPTI_CORE_DEVICE_CONVERT_H
#define SPTI_CORE_DEVICE_CONVERT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int spti_narrow_launch(int32_t *to, const int64_t *from, int64_t count, void *stream);
int spti_widen_launch(int64_t *to, const int32_t *from, int64_t count, void *stream);

#ifdef __cplusplus
}
#endif
#endif
