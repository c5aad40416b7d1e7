/* emulated_gpu.h -- what tests may ask of emulated_gpu.c. */
#ifndef SIMT_EMULATED_GPU_H
#define SIMT_EMULATED_GPU_H

#ifdef __cplusplus
extern "C" {
#endif
extern int emulated_gpu_fail_at; /* number of allocations that still succeed; -1: all */
extern int emulated_gpu_blocks;  /* allocated and not freed */
#ifdef __cplusplus
}
#endif
#endif
