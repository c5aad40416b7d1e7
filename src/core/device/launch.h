/* launch.h -- kernels of the core as C functions: argument structs, passed by value to the kernels, and their launchers.
 * Pointers are device pointers. A launcher queues on the stream and returns a cudaError_t as int; it allocates nothing. */
#ifndef SPTI_CORE_DEVICE_LAUNCH_H
#define SPTI_CORE_DEVICE_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include <sptrsm.h>

#ifdef __CUDACC__
#define SPTI_ANYWHERE __host__ __device__
#else
#define SPTI_ANYWHERE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the dependency protocol's shared state (core/device/syncfree.cuh) ---- */

enum { SPTI_SYNCFREE_TICKET, SPTI_SYNCFREE_ABORT, SPTI_SYNCFREE_PROGRESS, SPTI_SYNCFREE_CONTROL_WORDS };

typedef struct {
  int32_t *control;   /* [SPTI_SYNCFREE_CONTROL_WORDS], zero when the kernel starts */
  int64_t *lost;      /* mapped host memory: set to 1 + row by the first wait that gives up */
  int32_t spin_limit; /* polls without any progress after which a wait gives up */
} spti_syncfree;

/* For a context's spin_limit: about 0.2 s of polls on an H200, while real waits see progress within milliseconds. */
#define SPTI_SPIN_LIMIT (1 << 19)

/* ---- two work blocks that refill each other (core/two_blocks/two_blocks.cuh) ---- */

/* Control words behind those of the protocol: columns of each of the two that may hold values. */
enum { SPTI_TWO_BLOCKS_DIRTY = SPTI_SYNCFREE_CONTROL_WORDS, SPTI_TWO_BLOCKS_CONTROL_WORDS = SPTI_TWO_BLOCKS_DIRTY + 2 };

typedef struct {
  int32_t *control; /* [SPTI_TWO_BLOCKS_CONTROL_WORDS] */
  int64_t *work;    /* [words]: both blocks, of values of any type */
  int64_t words;
} spti_two_blocks_args;

int spti_two_blocks_start_launch(const spti_two_blocks_args *, void *stream); /* makes them ready for the first solve */

/* ---- moving a panel between a block of any layout and a row-major work block ---- */

typedef struct {
  int32_t n;
  int64_t width;  /* columns of the panel */
  int64_t padded; /* pack writes zeros to columns [width, padded) of the work block; width: none */
  void *block;    /* element (i,k) at i * row_stride + k * col_stride, in elements; k counts from the panel's first column */
  int64_t row_stride, col_stride;
  void *work; /* element (i,k) at i * ld + k */
  int64_t ld;
  const int32_t *map;           /* [n] or NULL: rows stay in place */
  sptrsm_convention convention; /* of map, for "to = from": GATHER to[i] = from[map[i]], SCATTER to[map[i]] = from[i] */
  const double *scale;          /* [n] or NULL, indexed by the block's row */
  sptrsm_scale_op scale_op;
  double alpha[2]; /* pack only: real and imaginary part, 1 and 0 for none */
} spti_pack_args;

int spti_pack_launch(const spti_pack_args *, sptrsm_dtype, void *stream);   /* work = alpha scale block, rows mapped */
int spti_unpack_launch(const spti_pack_args *, sptrsm_dtype, void *stream); /* block = scale work, rows mapped */

/* ---- right-hand sides where the caller has them (core/device/transfer.cuh) ---- */

/* One end of a solve: element (i,k) of the panel is element (r,k) of a block, r = map ? map[i] : i, times scale[r] or divided by it. */
typedef struct {
  void *data; /* element (r,k) at r * row_stride + k * col_stride; k counts from the panel's first column */
  int64_t row_stride, col_stride;
  const int32_t *map;  /* [n] or NULL */
  const double *scale; /* [n] or NULL */
  int32_t divide;
} spti_end;

/* What a method reads and writes that takes its right-hand sides from a block and leaves its solutions in one. The two may be one block:
 * then their strides are the same, neither has a map, and row i's owner reads all it needs of row i before anything is written there. */
typedef struct {
  spti_end from, to;
  double alpha[2]; /* B is multiplied by it: real and imaginary part */
  int32_t width;   /* right-hand sides */
} spti_transfer;

/* Do columns 2 j and 2 j + 1 stand side by side at both ends, aligned together, so that one access moves two values of so many bytes? */
static inline int spti_transfer_in_twos(const spti_transfer *t, size_t value_bytes) {
  const spti_end *ends[2] = {&t->from, &t->to};
  for (int e = 0; e < 2; e++)
    if (ends[e]->col_stride != 1 || ends[e]->row_stride % 2 != 0 || (uintptr_t)ends[e]->data % (2 * value_bytes) != 0) return 0;
  return t->width % 2 == 0;
}

/* A transfer in device memory, where launches find it that were recorded before it was known. */
enum { SPTI_TRANSFER_WORDS = (sizeof(spti_transfer) + 7) / 8 };
int spti_bind_launch(const spti_transfer *, int64_t *to, void *stream); /* to: [SPTI_TRANSFER_WORDS] */

/* ---- offsets between 32 and 64 bits ---- */

int spti_narrow_launch(int32_t *to, const int64_t *from, int64_t count, void *stream);
int spti_widen_launch(int64_t *to, const int32_t *from, int64_t count, void *stream);

/* ---- W = op(D)^-1 W for the diagonal of an LDL' factorisation ---- */

typedef struct {
  int32_t n;
  int64_t width;
  void *work; /* element (i,k) at i * ld + k */
  int64_t ld;
  const void *D;           /* [n] */
  const void *D_sub;       /* [n] or NULL: entry i != 0 is element (i+1,i) of a 2x2 block */
  int32_t hermitian;       /* element (i,i+1) is conj(D_sub[i]), else D_sub[i] */
  int32_t transpose, conj; /* op: either, both or none */
} spti_diagonal_args;

int spti_diagonal_launch(const spti_diagonal_args *, sptrsm_dtype, void *stream);

#ifdef __cplusplus
}
#endif
#endif
