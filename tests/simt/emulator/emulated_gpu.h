/* emulated_gpu.h -- what tests may ask of emulated_gpu.c. */
#ifndef TESTS_SIMT_EMULATOR_EMULATED_GPU_H
#define TESTS_SIMT_EMULATOR_EMULATED_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Facts of the device: shared memory as an H200 has it; few lanes, so that recblock's rule for the depth cuts small triangles too. */
enum { EMULATED_GPU_SHARED_BYTES = 227 << 10, EMULATED_GPU_FP32_LANES = 2 };

extern int emulated_gpu_fail_at;  /* number of allocations that still succeed; -1: all */
extern int emulated_gpu_blocks;   /* allocated and not freed */
extern void *emulated_gpu_latest; /* allocation, and its size */
extern size_t emulated_gpu_latest_bytes;
extern size_t emulated_gpu_total; /* bytes of all allocations so far, freed ones too */
void emulated_gpu_use_schedule(uint64_t seed);
#ifdef __cplusplus
}
#endif
#endif
