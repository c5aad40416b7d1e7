/* emulated_gpu.h -- what tests may ask of emulated_gpu.c. */
#ifndef SIMT_EMULATED_GPU_H
#define SIMT_EMULATED_GPU_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
extern int emulated_gpu_fail_at;  /* number of allocations that still succeed; -1: all */
extern int emulated_gpu_blocks;   /* allocated and not freed */
extern void *emulated_gpu_latest; /* allocation, and its size */
extern size_t emulated_gpu_latest_bytes;
extern int emulated_gpu_shared; /* bytes that a block may ask for */
#ifdef __cplusplus
}
#endif
#endif
