/* emulated_gpu.h -- counters and settings of emulated_gpu.c, for tests. */
#ifndef TESTS_SIMT_EMULATOR_EMULATED_GPU_H
#define TESTS_SIMT_EMULATOR_EMULATED_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* The emulated device: few lanes, so that recblock's rule for its depth splits small triangles, too. */
enum { EMULATED_GPU_FP32_LANES = 2 };
/* Shared memory that a thread block may have. A launch that takes more fails; contexts read it when they are created. */
extern size_t emulated_gpu_shared_bytes; /* that of an H200, unless a test sets it */

extern int emulated_gpu_fail_at;      /* the number of allocations until one fails; -1: none fails */
extern int emulated_gpu_fail_copy_at; /* the same of copies between host and device */
extern int emulated_gpu_blocks;       /* allocations that are not freed */
extern void *emulated_gpu_latest;     /* the latest allocation and its size */
extern size_t emulated_gpu_latest_bytes;
extern size_t emulated_gpu_total;          /* bytes of all allocations so far, including freed ones */
extern size_t emulated_gpu_most;           /* the most that a context with a memory limit used; a test sets it back */
extern size_t emulated_gpu_moved;          /* bytes copied between host and device */
extern const void *emulated_gpu_unreached; /* memory that the device does not reach, or NULL */
extern int emulated_gpu_current;           /* the calling thread's current device */
extern int emulated_gpu_strays;            /* calls on the emulated device while another device was the current one */
extern bool emulated_gpu_captures;         /* the stream is being captured */
void emulated_gpu_forget_captured(void);
int emulated_gpu_replay(void); /* what was launched while the stream was captured, once more; 0, or as cudaError_t */
extern int64_t emulated_gpu_writes, emulated_gpu_lose_at; /* that kernels may wait for; the number of one that never arrives */
extern int64_t emulated_gpu_launches;                     /* kernels launched so far */
void emulated_gpu_use_schedule(uint64_t seed);
const char *emulated_gpu_error(void); /* why the latest kernel failed, with the schedule's seed; empty if it did not */
struct sptrsm_context;
size_t emulated_gpu_used(const struct sptrsm_context *); /* bytes that are allocated now */
#ifdef __cplusplus
}
#endif
#endif
