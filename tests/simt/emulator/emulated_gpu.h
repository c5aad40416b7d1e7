/* emulated_gpu.h -- what tests may ask of emulated_gpu.c. */
#ifndef TESTS_SIMT_EMULATOR_EMULATED_GPU_H
#define TESTS_SIMT_EMULATOR_EMULATED_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
extern int emulated_gpu_fail_at;  /* number of allocations that still succeed; -1: all */
extern int emulated_gpu_blocks;   /* allocated and not freed */
extern void *emulated_gpu_latest; /* allocation, and its size */
extern size_t emulated_gpu_latest_bytes;
extern size_t emulated_gpu_total; /* bytes of all allocations so far, freed ones too */
extern int emulated_gpu_shared;   /* bytes that a block may ask for */
void emulated_gpu_use_schedule(uint64_t seed);
#ifdef __cplusplus
}
#endif
#endif
